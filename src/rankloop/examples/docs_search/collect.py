"""Everything in Python's standard library that has a docstring: a program of its own, since it imports all of it.

    python -I collect.py documents.jsonl

Each line of the file is a document: its id (`collections.OrderedDict.move_to_end`), module, name, signature, docstring.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import pkgutil
import signal
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

SKIPPED = frozenset({
    "__main__", "antigravity", "distutils", "encodings", "ensurepip", "idlelib", "lib2to3", "msilib", "ntpath", "pip",
    "pydoc_data", "site", "sitecustomize", "test", "tests", "this", "tkinter", "turtle", "turtledemo", "usercustomize",
})  # fmt: skip
"""Modules that open a window or a browser, print, change the interpreter, or hold nothing that anybody looks for."""

SECONDS = 5
"""How long one module may take to import."""

KNOWN_AS = {"posixpath": "os.path"}
"""Modules that people know by another name."""

ROUTINES = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.ClassMethodDescriptorType,
    types.GetSetDescriptorType, classmethod, staticmethod, property,
)  # fmt: skip

Document = dict[str, str]


def modules() -> Iterator[types.ModuleType]:
    """All modules of the standard library that can be imported here, by name."""
    for name in sorted(sys.stdlib_module_names):
        yield from _with_submodules(name)


def _with_submodules(name: str) -> Iterator[types.ModuleType]:
    last = name.rpartition(".")[2]
    if last in SKIPPED or last.startswith("_"):
        return
    try:
        with _time_limit():
            module = importlib.import_module(name)
    except (Exception, SystemExit):  # it is for another system, or takes too long: then it has no documents
        return
    yield module
    for found in sorted(pkgutil.iter_modules(getattr(module, "__path__", ())), key=lambda each: each.name):
        yield from _with_submodules(f"{name}.{found.name}")


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise TimeoutError

    if not hasattr(signal, "setitimer"):  # as on Windows: then the limit for all of it is left
        yield
        return
    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def documents() -> Iterator[Document]:
    """All documents, in the order of their modules and names, each object once."""
    seen: set[int] = set()
    for module in modules():
        title = KNOWN_AS.get(module.__name__, module.__name__)
        yield from _document(title, "", module)
        for name, value in sorted(vars(module).items()):
            if name.startswith("_") or id(value) in seen or not _belongs(value, name, module):
                continue
            seen.add(id(value))
            yield from _document(title, name, value)
            if inspect.isclass(value):
                for member, what in sorted(vars(value).items()):
                    if not member.startswith("_") and isinstance(what, ROUTINES):
                        yield from _document(title, f"{name}.{member}", what)


def _belongs(value: Any, name: str, module: types.ModuleType) -> bool:
    """Whether this module is where people look for a class or a function, rather than one that has imported it."""
    if not (inspect.isclass(value) or isinstance(value, types.FunctionType | types.BuiltinFunctionType)):
        return False
    owner = getattr(value, "__module__", None) or "_"
    return owner == module.__name__ or owner.startswith("_") or name in getattr(module, "__all__", ())


def _document(module: str, name: str, value: Any) -> Iterator[Document]:
    text = getattr(value, "__doc__", None)
    if not isinstance(text, str) or not text.strip():
        return
    id_ = f"{module}.{name}" if name else module
    yield {"id": id_, "module": module, "name": name, "signature": _signature(value), "text": inspect.cleandoc(text)}


def _signature(value: Any) -> str:
    """Names of the parameters, without defaults: these may hold addresses, which differ from run to run."""
    if isinstance(value, types.ModuleType | property):
        return ""
    try:
        named = inspect.signature(getattr(value, "__func__", value)).parameters
    except Exception:  # some have a signature that cannot be evaluated
        return ""
    return ", ".join(name for name in named if name not in ("self", "cls"))


def main(path: str) -> None:
    """Write all documents to a file."""
    warnings.simplefilter("ignore")
    with open(path, "w", encoding="utf-8") as file:
        for document in {document["id"]: document for document in documents()}.values():
            file.write(json.dumps(document) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
    sys.stdout.flush()
    os._exit(0)  # whatever a module has registered to be done at the end is not done
