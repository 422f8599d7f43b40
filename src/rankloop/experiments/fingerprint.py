"""What defines the results of a policy in an environment: the key under which they are kept."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import pickle
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from rankloop.policies import Policy
from rankloop.simulation import Result
from rankloop.simulation.simulation import Simulation
from rankloop.version import __version__

FORMAT = 3
"""Version of the files and of the meaning of runs: raising it makes every result be computed again."""


def definition(found: Sequence[Simulation], blank: Result) -> str:
    """All that the runs of a policy depend on, as JSON: the same text, the same results.

    The number of runs is not part of it, so that runs can be added; nor are names, which change no result.
    """
    first = found[0].policy
    setting = {
        "format": FORMAT,
        "rankloop": __version__,
        "policy": f"{type(first).__module__}:{type(first).__qualname__}",
        "parameters": blank.setting["parameters"],
        "policies": _hash(*(_policy(each.policy) for each in found)),
        "source": _hash(*sorted({text for each in found for text in _sources(type(each.policy))})),
        "problem": blank.setting["problem"],
        "problems": len(found),
        "horizon": blank.setting["horizon"],
        "seed": blank.setting["seed"],
        "top": found[0].top,
        "initial": _hash(*(as_bytes(each.initial) for each in found)),
        "steps": blank.steps.tolist(),
    }
    return json.dumps(setting, sort_keys=True)


def as_bytes(value: Any) -> bytes:
    """A value as bytes that are the same in every process, as far as that can be.

    >>> as_bytes({"b": 1, "a": np.zeros(2)}) == as_bytes({"a": np.zeros(2), "b": 1})
    True
    >>> as_bytes(1) == as_bytes(True), as_bytes([1, 2]) == as_bytes([2, 1])
    (False, False)
    """
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return f"{type(value).__name__} {value!r}".encode()
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        return f"array {value.dtype} {value.shape} ".encode() + value.tobytes()
    if isinstance(value, Mapping):
        return b"map " + _joined(sorted(_joined([as_bytes(key), as_bytes(value[key])]) for key in value))
    if isinstance(value, set | frozenset):
        return b"set " + _joined(sorted(as_bytes(each) for each in value))
    if isinstance(value, list | tuple | range):
        return b"list " + _joined([as_bytes(each) for each in value])
    if isinstance(value, functools.partial):
        return b"partial " + _joined([as_bytes(part) for part in (value.func, value.args, value.keywords)])
    if isinstance(value, type) or inspect.isroutine(value):
        name = f"{value.__module__}:{value.__qualname__} ".encode()
        return name + (_code(value.__code__) if inspect.isfunction(value) else b"")
    if type(value).__module__.partition(".")[0] not in ("numpy", "random") and hasattr(value, "__dict__"):
        return f"{type(value).__module__}:{type(value).__qualname__} ".encode() + as_bytes(vars(value))
    return pickle.dumps(value, protocol=4)  # generators of random numbers, dates and the like


def _policy(policy: Any) -> bytes:
    try:
        return as_bytes(policy.parameters if isinstance(policy, Policy) else policy)
    except RecursionError:  # it holds itself
        return pickle.dumps(policy, protocol=4)


def _sources(cls: type) -> list[bytes]:
    """The source of the module of a policy, and of the modules of its package that it uses."""
    seen: dict[str, bytes] = {}
    for base in cls.__mro__[:-1]:
        if _package(base.__module__) == _package(cls.__module__) or not base.__module__.startswith("rankloop."):
            _read(sys.modules.get(base.__module__), seen)
    code = [value.__code__ for value in vars(cls).values() if inspect.isfunction(value)]
    return [*seen.values()] or [_code(each) for each in code]  # what was typed in has no file


def _code(code: CodeType) -> bytes:
    constants = [_code(each) if isinstance(each, CodeType) else as_bytes(each) for each in code.co_consts]
    return _joined([code.co_code, as_bytes(code.co_names), *constants])


def _read(module: ModuleType | None, seen: dict[str, bytes]) -> None:
    if module is None or module.__name__ in seen or not str(getattr(module, "__file__", None)).endswith(".py"):
        return
    assert module.__file__ is not None
    try:
        seen[module.__name__] = Path(module.__file__).read_bytes()
    except OSError:
        return
    for value in list(vars(module).values()):
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and _package(name) and _package(name) == _package(module.__name__):
            _read(sys.modules.get(name), seen)


def _package(module: str) -> str:
    return module.rpartition(".")[0]


def _hash(*parts: bytes) -> str:
    return hashlib.blake2b(_joined(parts), digest_size=16).hexdigest()


def _joined(parts: Sequence[bytes]) -> bytes:
    """The parts, told apart by their lengths."""
    return b"".join(b"%d:%b" % (len(part), part) for part in parts)
