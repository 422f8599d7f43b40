"""What every policy shares: parameters, compiled state, a generator of its own, saving and loading."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from rankloop.kernels import Stream, choose, entry, learn, shuffle, single_step, stream
from rankloop.policies.checks import check_whole
from rankloop.storage import read_archive, write_archive

Array = npt.NDArray[Any]


@single_step
def choose_once(state: Any, items: Any, notes: Any) -> None:
    """One choice, for a caller in Python."""
    choose(state, items, notes)


@single_step
def learn_once(state: Any, items: Any, notes: Any, feedback: Any) -> None:
    """One update, for a caller in Python."""
    learn(state, items, notes, feedback)


class Policy:
    """Base of all compiled policies.

    A subclass stores each constructor argument but the seed under its own name and sets `state`, a NamedTuple of
    arrays (and of numbers that never change) for which the module has registered `choose`, `learn` and `settled`.
    """

    state: Any
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    """Constructor arguments of small instances, on which the generic checks are run."""

    identity: str = ""
    """Tells this policy's choices from those of another, where that matters; kept when it is saved."""

    known: ClassVar[dict[str, type[Policy]]] = {}
    """Every policy class by name, those of other packages included once they are imported."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not cls.__name__.startswith("_"):
            Policy.known[cls.__name__] = cls

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments, without the seed."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name not in ("self", "seed")}

    def fresh(self, seed: int | None = None) -> Self:
        """A policy with the same parameters that has seen nothing yet."""
        arguments: dict[str, Any] = {**self.parameters, "seed": seed}
        return type(self)(**arguments)

    def snapshot(self) -> dict[str, Array]:
        """A copy of everything the policy has learned, the state of its generator included."""
        return {name: array.copy() for name, array in _arrays(self.kept)}

    @property
    def kept(self) -> Any:
        """The part of the state that is saved: all that cannot be worked out anew from the parameters."""
        return self.state

    def save(self, path: str | Path) -> None:
        """Write the whole policy to one file; `rankloop.load` brings it back to go on bit for bit."""
        arrays = {f"state.{name}": value for name, value in self.snapshot().items()}
        parameters = {}
        for name, value in self.parameters.items():
            if isinstance(value, np.ndarray):
                arrays[f"parameter.{name}"] = value
            else:
                parameters[name] = value
        header = {"class": type(self).__name__, "identity": self.identity, "parameters": parameters}
        write_archive(path, "policy", header, arrays)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={_short(value)}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({arguments})"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<array {' x '.join(map(str, value.shape))}>"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def load_policy(path: str | Path) -> Policy:
    """Read a policy written by `Policy.save`."""
    header, arrays = read_archive(path, "policy")
    name = header.get("class")
    if name not in Policy.known:
        raise ValueError(f"{path} holds a policy of class {name!r}, which is not known here: import its module first")
    parameters = dict(header["parameters"])
    state: dict[str, Array] = {}
    for key, value in arrays.items():
        group, _, field = key.partition(".")
        (parameters if group == "parameter" else state)[field] = value
    policy = Policy.known[name](**parameters)
    expected = policy.snapshot()
    if {k: (v.shape, v.dtype) for k, v in state.items()} != {k: (v.shape, v.dtype) for k, v in expected.items()}:
        raise ValueError(f"{path} does not hold the state of a {name} of this version of rankloop: save it anew")
    for field, array in _arrays(policy.kept):
        array[...] = state[field]
    policy.identity = header["identity"]
    return policy


def _arrays(state: Any, prefix: str = "") -> Iterator[tuple[str, Array]]:
    """The arrays of a state by name, those of the states inside it by dotted name."""
    for name, value in state._asdict().items():
        if isinstance(value, np.ndarray):
            yield prefix + name, value
        elif isinstance(value, tuple):
            yield from _arrays(value, f"{prefix}{name}.")


def new_stream(seed: int | None) -> Stream:
    """The generator of a policy, from the seed its user gives (None: from the operating system)."""
    return stream(None if seed is None else check_whole("seed", seed, 0))


@entry
def _shuffle(rng: Any, values: Any) -> None:
    shuffle(rng, values)


def shuffled(rng: Stream, n: int) -> npt.NDArray[np.int64]:
    """The numbers from 0 to n - 1 in random order."""
    values = np.arange(n)
    _shuffle(rng, values)
    return values
