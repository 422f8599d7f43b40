"""What every policy shares: parameters, compiled state, a generator of its own, saving and loading."""

from __future__ import annotations

import copy
import functools
import hashlib
import inspect
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np

from rankloop.checks import check_seed
from rankloop.kernels import choose, entry, learn, shuffle, single_step, stream
from rankloop.kernels.arrays import Array, Clicks, Floats, Ints, Items, Notes, Stream
from rankloop.kernels.states import defined_at
from rankloop.storage import read_archive, write_archive

Method = TypeVar("Method", bound=Callable[..., Any])


@single_step
def choose_once(state: Any, items: Items, notes: Notes) -> None:
    """One choice, for a caller in Python."""
    choose(state, items, notes)


@single_step
def learn_once(state: Any, items: Items, notes: Notes, feedback: bool | Clicks) -> None:
    """One update, for a caller in Python."""
    learn(state, items, notes, feedback)


def serialised(method: Method) -> Method:
    """A method that only one thread at a time is in: it holds the lock of the object it belongs to."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        with self._lock:
            return method(self, *args, **named)

    return cast(Method, call)


class Policy:
    """Base of all compiled policies.

    A subclass stores each constructor argument but the seed under its own name and sets `state`, a NamedTuple of
    arrays (and of numbers that never change) for which the module has registered the steps `choose` and `learn`. The
    generator's array is called `rng`.

    Threads may share a policy: each has a lock, which every public method and property of a subclass holds.
    """

    state: Any
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    """Constructor arguments of small instances, on which the generic checks are run."""

    identity: str
    """Marks this policy's choices as its own; it is saved with the policy."""

    known: ClassVar[dict[str, type[Policy]]] = {}
    """Every policy class by name, those of other packages included once they are imported."""

    _lock: threading.RLock

    def __new__(cls, *_args: Any, **_named: Any) -> Self:
        """A policy with a lock and an identity, whether or not its class calls another constructor."""
        policy = super().__new__(cls)
        policy._lock = threading.RLock()
        policy.identity = secrets.token_hex(8)
        return policy

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not cls.__name__.startswith("_"):
            Policy.known[cls.__name__] = cls
        for name, member in list(vars(cls).items()):
            if name.startswith("_"):
                continue
            if inspect.isfunction(member):
                setattr(cls, name, serialised(member))
            elif isinstance(member, property) and member.fget is not None:
                setattr(cls, name, member.getter(serialised(member.fget)))

    def __getstate__(self) -> dict[str, Any]:
        """What pickles and deep copies hold: all but the lock, copied while no other thread changes it."""
        with self._lock:
            return copy.deepcopy({name: value for name, value in vars(self).items() if name != "_lock"})

    def __copy__(self) -> Self:
        """A shallow copy shares the state, and therefore the lock."""
        twin = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        return twin

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments, without the seed."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: self._stored(name) for name in names if name not in ("self", "seed")}

    def _stored(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise ValueError(
                f"{type(self).__module__}.{type(self).__qualname__} takes {name} but does not store it: "
                f"add self.{name} = {name} to __init__, at {defined_at(type(self).__init__)}"
            ) from None

    def fresh(self, seed: int | None = None) -> Self:
        """A policy with the same parameters that has seen nothing yet."""
        arguments: dict[str, Any] = {**self.parameters, "seed": seed}
        return type(self)(**arguments)

    def warm_up(self) -> None:
        """Compile the policy, or load it from the cache, before traffic arrives.

        Only a copy chooses and learns: the policy and its random numbers stay as they are.
        """
        twin = copy.deepcopy(self)
        for (_, own), (_, copied) in zip(_arrays(self.state), _arrays(twin.state), strict=True):
            copied.flags.writeable = own.flags.writeable  # compiled code tells arrays apart by it
        twin._practise()

    def _practise(self) -> None:
        """Make each call once."""
        raise NotImplementedError

    @serialised
    def reseed(self, seed: int | None = None) -> None:
        """Take random numbers of its own from now on: for a process that has got a copy of another's policy.

        They depend on the seed and on all that the policy has learned, so that a copy made later goes other ways with
        the same seed. Without a seed they come from the operating system.
        """
        self._take_stream(own_stream(seed, self.snapshot()))

    def _take_stream(self, rng: Stream) -> None:
        self.state.rng[:] = rng

    @serialised
    def snapshot(self) -> dict[str, Array]:
        """A copy of everything the policy has learned, the state of its generator included."""
        return {name: array.copy() for name, array in _arrays(self.kept)}

    @property
    def kept(self) -> Any:
        """The part of the state that is saved: all that cannot be worked out anew from the parameters."""
        return self.state

    @serialised
    def save(self, path: str | Path) -> None:
        """Write the whole policy to one file; `rankloop.load` reads it, and it continues bit for bit."""
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


def _short(value: Floats) -> str:
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
    saved, needed = ({key: (v.shape, v.dtype) for key, v in arrays.items()} for arrays in (state, expected))
    if saved != needed:
        differ = sorted(key for key in saved.keys() | needed.keys() if saved.get(key) != needed.get(key))
        raise ValueError(
            f"{path} holds a {name} of another version of rankloop, whose state has another {', '.join(differ)}: "
            "continue with the version of rankloop that wrote it, or start again"
        )
    for field, array in _arrays(policy.kept):
        array[...] = state[field]
    policy.identity = header["identity"] or policy.identity
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
    return stream(None if seed is None else check_seed(seed))


def own_stream(seed: int | None, learned: Mapping[str, Array]) -> Stream:
    """A generator for one of several copies of a policy, which depends on the seed and on what was learned."""
    if seed is None:
        return new_stream(None)
    digest = hashlib.blake2b(digest_size=16)
    for name, array in learned.items():
        digest.update(name.encode())
        digest.update(array.tobytes())
    return stream(check_seed(seed), int.from_bytes(digest.digest(), "little"))


@entry
def _shuffle(rng: Stream, values: Ints) -> None:
    shuffle(rng, values)


def shuffled(rng: Stream, n: int) -> Ints:
    """The numbers from 0 to n - 1 in random order."""
    values = np.arange(n)
    _shuffle(rng, values)
    return values
