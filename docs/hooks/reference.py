"""The reference, one page a room, made of the docstrings while the site is built."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

FOLDER = "reference"

ROOMS = {
    "live": ("Live", "rankloop.live"),
    "client": ("Client", "rankloop.client"),
    "policies": ("Policies", "rankloop.policies"),
    "environments": ("Environments", "rankloop.environments"),
    "simulation": ("Simulation", "rankloop.simulation"),
    "testing": ("Testing", "rankloop.testing"),
    "interleaving": ("Interleaving", "rankloop.interleaving"),
    "preferences": ("Preferences", "rankloop.preferences"),
    "click-models": ("Click models", "rankloop.click_models"),
    "datasets": ("Datasets", "rankloop.datasets"),
    "theory": ("Theory", "rankloop.theory"),
    "experiments": ("Experiments", "rankloop.experiments"),
    "runs": ("Long work", "rankloop.runs"),
    "files": ("Files", "rankloop.files"),
}


def on_config(config: Any) -> Any:
    """Add the reference to the navigation."""
    config.nav.append({"Reference": [{title: f"{FOLDER}/{page}.md"} for page, (title, _) in ROOMS.items()]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the reference."""
    from mkdocs.structure.files import File

    for page, (title, module) in ROOMS.items():
        files.append(File.generated(config, f"{FOLDER}/{page}.md", content=room(title, module)))
    return files


def room(title: str, module: str) -> str:
    """The page of one room: each public name with its signature and docstring."""
    found = importlib.import_module(module)
    public = {name: getattr(found, name) for name in _public(found)}
    documented = {name: value for name, value in public.items() if inspect.isclass(value) or inspect.isroutine(value)}
    table = ["| name | |", "|---|---|"]
    for name, value in documented.items():
        first = _doc(value).partition("\n")[0].replace("|", "\\|")
        table.append(f"| [`{name}`](#{name.lower()}) | {first} |")
    parts = [f"# {title}", f"`{module}`: {_doc(found).partition(chr(10))[0]}", "\n".join(table)]
    parts += [_entry(name, value) for name, value in documented.items()]
    return "\n\n".join(parts) + "\n"


def _public(module: Any) -> list[str]:
    names = getattr(module, "__all__", None)
    if names is None:
        own = (name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__)
        names = [name for name in own if not name.startswith("_")]
    return sorted(names, key=str.lower)


def _entry(name: str, value: Any) -> str:
    parts = [f"## {name} {{: #{name.lower()} }}", f"```python\n{name}{_signature(value)}\n```", _sections(_doc(value))]
    if inspect.isclass(value):
        members = [line for key in dir(value) if (line := _member(value, key))]
        if members:
            parts.append("\n".join(["| member | |", "|---|---|", *members]))
    return "\n\n".join(part for part in parts if part)


def _signature(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _member(cls: type, name: str) -> str:
    """A row for a public method or property that the package itself documents."""
    if name.startswith("_"):
        return ""
    home = next((base for base in cls.__mro__ if name in vars(base)), object)
    value = inspect.getattr_static(cls, name)
    member = getattr(value, "__func__", None) or getattr(value, "fget", None) or getattr(value, "func", None) or value
    if not home.__module__.startswith("rankloop") or not inspect.isroutine(member) or not _doc(member):
        return ""
    call = "" if member is not value and not hasattr(value, "__func__") else _signature(member).replace("self, ", "")
    first = _doc(member).partition("\n")[0].replace("|", "\\|")
    return f"| `{name}{call.replace('(self)', '()').replace('(cls, ', '(').replace('(cls)', '()')}` | {first} |"


def _sections(text: str) -> str:
    """A numpydoc docstring as Markdown."""
    head, *rest = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.MULTILINE)
    parts = [_prose(head)]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        known = title in ("Parameters", "Attributes")
        parts.append(f"**{title}**\n\n{_definitions(body) if known else _prose(body)}")
    return "\n\n".join(parts)


def _definitions(body: str) -> str:
    """Names with their indented explanations, as a table."""
    rows = ["| | |", "|---|---|"]
    for block in re.split(r"\n(?=\S)", body.strip("\n")):
        names, _, explained = block.partition("\n")
        rows.append(f"| `{names}` | {' '.join(explained.split()).replace('|', chr(92) + '|')} |")
    return "\n".join(rows)


def _prose(body: str) -> str:
    """Paragraphs, with examples and their output as code."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", body.strip("\n")):
        code = paragraph.lstrip().startswith(">>>")
        parts.append(f"```pycon\n{inspect.cleandoc(paragraph)}\n```" if code else paragraph)
    return "\n\n".join(parts)


def _doc(value: Any) -> str:
    return inspect.getdoc(value) or ""
