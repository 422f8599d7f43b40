"""The one place that touches the compiler, together with `states`.

A policy or an environment keeps its state in a NamedTuple of arrays and registers compiled steps for that type with
`step`. A loop marked `entry` calls the generic steps, and the compiler picks the implementation by the type of the
state, so that one loop serves every policy in every environment at the speed of a loop written by hand.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import Any, cast

import numba
from numba.core import config

from rankloop.kernels.lean import LeanCompiler, RareCompiler, compile_less, without_collecting
from rankloop.kernels.states import OPTIONS, Function, explain_failure, helper, lasting, type_of

try:
    import fcntl
except ImportError:  # Windows, where processes that compile at once may still compile a loop twice
    fcntl = None  # type: ignore[assignment]

ENTRY = {**OPTIONS, "no_cfunc_wrapper": True, "pipeline_class": LeanCompiler}

_PACKAGE = Path(__file__).resolve().parents[1]
_UNUSED_CACHES_ARE_KEPT_FOR = 30 * 24 * 3600.0

_LONGEST_WAIT = 60.0
"""Seconds to wait for another process that compiles the same: far longer than it takes."""

ROOMS_WITHOUT_COMPILED_CODE = frozenset(
    {"cli", "client", "demo", "examples", "experiments", "live", "report", "service"}
)
"""Rooms whose sources cannot change compiled code, so that an edit there does not mean compiling everything anew."""


compile_less()


@cache
def cache_directory() -> Path | None:
    """Where compiled code is kept between processes, or None where no directory can be written.

    Numba's cache only notices changes in the file of the loop itself, and a loop here compiles steps from many files.
    The directory is therefore named after a hash of every source file in the rooms that compile: an edited policy never
    runs stale.
    """
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(_PACKAGE.rglob("*.py")):
        if path.relative_to(_PACKAGE).parts[0] in ROOMS_WITHOUT_COMPILED_CODE:
            continue
        digest.update(str(path.relative_to(_PACKAGE)).encode())
        digest.update(path.read_bytes())
    home = os.environ.get("RANKLOOP_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "rankloop"
    )
    directory = Path(home) / digest.hexdigest()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
        os.utime(directory)
    except OSError:
        return None
    _remove_unused_caches(directory)
    return directory


def _remove_unused_caches(current: Path) -> None:
    """Each edit of the package starts a new cache, so those of sources long gone are cleared away."""
    oldest = time.time() - _UNUSED_CACHES_ARE_KEPT_FOR
    for other in current.parent.iterdir():
        try:
            if other != current and other.is_dir() and other.stat().st_mtime < oldest:
                shutil.rmtree(other, ignore_errors=True)
        except OSError:
            continue


def compiled(function: Function) -> Function:
    """Compile a helper that is only called from other compiled code (its machine code is cached with its caller's).

    From Python it is an ordinary function, which nothing compiles. References to arrays are not counted in it, so it
    must neither make nor return an array: see `allocating`.
    """
    return helper(function, {"_nrt": False, "forceinline": False})


def allocating(function: Function) -> Function:
    """Compile a helper as `compiled` does, but one that makes or returns arrays."""
    return helper(function, {"_nrt": True, "forceinline": False})


def rare(function: Function) -> Function:
    """Compile a helper as `allocating` does, but one that rarely runs: less time to compile, and more to run."""
    return helper(function, {"_nrt": True, "forceinline": False}, RareCompiler)


def inlined(function: Function) -> Function:
    """Compile a helper as `compiled` does, but into each of its callers: for what runs in every step.

    A call passes every array of a state by value; inlined code does not. It is compiled anew at each place that calls
    it, so rare branches are better left to `compiled`.
    """
    return helper(function, {"_nrt": False, "forceinline": True})


def entry(function: Function, *, nogil: bool = True) -> Function:
    """Compile a loop or step that Python calls, and keep its machine code between processes.

    Steps of a policy defined outside this package are compiled anew in each process, since nothing tells the cache
    when their source has changed. With `nogil`, other threads run Python meanwhile.
    """
    dispatcher = _dispatcher(function, cache_directory(), {**ENTRY, "nogil": nogil})

    @wraps(function)
    def call(*args: Any) -> Any:
        try:
            return dispatcher(*args)
        except Exception as error:
            explain_failure(error, function, dispatcher.overloads, args)

    return cast(Function, call)


def single_step(function: Function) -> Function:
    """Compile a short step that Python calls: it keeps the GIL, since to give it away takes longer than the step."""
    return entry(function, nogil=False)


def _dispatcher(function: Callable[..., Any], directory: Path | None, options: dict[str, Any]) -> Any:
    if directory is None:
        dispatcher = numba.njit(**options)(function)
    else:
        before = config.CACHE_DIR
        config.CACHE_DIR = str(directory)
        try:
            dispatcher = numba.njit(cache=True, **options)(function)
        finally:
            config.CACHE_DIR = before
        _keep_what_lasts(dispatcher._cache, directory)
        name = f"{function.__module__}.{function.__qualname__}"
        dispatcher.compile = _compile_once(dispatcher.compile, name, directory)
    dispatcher.compile = without_collecting(dispatcher.compile)
    dispatcher.typeof_pyval = type_of
    return dispatcher


def _keep_what_lasts(kept: Any, directory: Path) -> None:
    """Keep no code of states that may change, and let no two processes write the index of a loop at once.

    Numba reads the index, chooses the next file name and writes the index back: two processes that do so at the same
    time lose an entry, or worse, one's entry names the file with the other's machine code.
    """
    load, save = kept.load_overload, kept.save_overload

    def load_lasting(types: Any, context: Any) -> Any:
        return load(types, context) if lasting(types) else None

    def save_alone(types: Any, code: Any) -> None:
        if lasting(types):
            with _alone(directory / "lock"):
                save(types, code)

    kept.load_overload, kept.save_overload = load_lasting, save_alone


def _compile_once(compile_for: Callable[..., Any], name: str, directory: Path) -> Callable[..., Any]:
    """Let processes that need the same code at once wait for the first of them, and then load it from the cache."""

    def compile_or_wait(types: Any) -> Any:
        if not lasting(types):
            return compile_for(types)
        digest = hashlib.blake2b(f"{name}{types}".encode(), digest_size=8).hexdigest()
        with _alone(directory / f"{digest}.lock", _LONGEST_WAIT):
            return compile_for(types)

    return compile_or_wait


@contextmanager
def _alone(path: Path, longest: float = math.inf) -> Iterator[None]:
    """Run the block while no other process is in it, or, after so many seconds, all the same: one may stand still."""
    if fcntl is None:
        yield
        return
    until = time.monotonic() + longest
    with path.open("wb") as file:  # closing it lets the next one in
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    break
                time.sleep(0.02)
        yield
