"""Compile every pair of policy and environment before the work starts, in several processes where that pays.

The compiler holds Python's lock, so threads cannot share its work; processes can, through the cache on disk, from
which this process then loads what they compiled.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import pickle
import platform
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.kernels.compiler import cache_directory
from rankloop.policies import Policy
from rankloop.runs.job import Counter, Task, do
from rankloop.simulation.jobs import SimulationWork
from rankloop.simulation.simulation import Simulation

FEW = 2
"""Number of pairs that are compiled in this process, since starting others would take as long."""

SHORT = 100
"""Steps of the run that makes the compiler compile."""


def kind(simulation: Simulation) -> str:
    """What the compiler compiles a loop for: the types of a policy's and an environment's state.

    Empty where nothing is compiled: for policies that run at Python's speed.
    """
    if not isinstance(simulation.policy, Policy):
        return ""
    return f"{_types(simulation.policy.state)} in {_types(simulation.environment_state())}"


def warm_up(
    pairs: Mapping[str, Simulation], workers: int, tell: Callable[[int], None], stopping: Callable[[], bool]
) -> None:
    """Compile the pairs, given by their kinds, that are not in the cache, in as many processes as there are workers.

    Only what helpers compiled for the cache is done when this returns: the first use of each pair still loads it, and
    compiles it if need be. `tell` hears how many pairs are done.
    """
    directory = cache_directory()
    if directory is None:
        return
    cold = {name: pair for name, pair in pairs.items() if _cachable(pair) and not _marker(directory, name).exists()}
    done = len(pairs) - len(cold)
    tell(done)
    if len(cold) <= FEW or workers < 2:
        return
    # A policy's second environment compiles in a quarter of the time, in the same process.
    groups: dict[str, list[tuple[str, Simulation]]] = {}
    for name, pair in cold.items():
        groups.setdefault(name.partition(" in ")[0], []).append((name, pair))
    waiting: queue.SimpleQueue[list[tuple[str, Simulation]]] = queue.SimpleQueue()
    for group in sorted(groups.values(), key=len, reverse=True):
        waiting.put(group)
    ended: queue.SimpleQueue[bool] = queue.SimpleQueue()
    helpers = [_Helper(waiting, ended, directory) for _ in range(min(workers, len(groups)))]
    working = len(helpers)
    try:
        while working and not stopping():
            try:
                one_more = ended.get(timeout=0.2)
            except queue.Empty:
                continue
            done += one_more
            working -= not one_more
            tell(done)
    finally:
        for helper in helpers:
            helper.end()


def remember(name: str, simulation: Simulation) -> None:
    """Note that a pair is in the cache, since this process has compiled it."""
    directory = cache_directory()
    if directory is not None and name and _cachable(simulation):
        with suppress(OSError):
            _marker(directory, name).touch()


class _Helper:
    """A process that compiles one pair after the other, and the thread that hands them to it.

    It is a plain process and none of `multiprocessing`, which would run the user's script in it once more.
    """

    def __init__(self, waiting: Any, ended: Any, directory: Path) -> None:
        self._waiting, self._ended, self._directory = waiting, ended, directory
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import help_out; help_out()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._thread = threading.Thread(target=self._hand_out, daemon=True)
        self._thread.start()

    def _hand_out(self) -> None:
        with suppress(queue.Empty, OSError):
            while True:
                for name, pair in self._waiting.get_nowait():
                    self._compile(name, pair)
                    self._ended.put(True)
        self._ended.put(False)

    def _compile(self, name: str, pair: Simulation) -> None:
        """Where a pair cannot be sent or compiled there, this process will meet the same trouble and tell."""
        into, out = self._process.stdin, self._process.stdout
        assert into is not None
        assert out is not None
        try:
            message = pickle.dumps(Task((0,), SimulationWork({0: pair}, 1, 0, np.array([SHORT]), SHORT)))
        except Exception:
            return
        into.write(message)
        into.flush()
        answer = out.readline()
        if not answer:
            raise BrokenPipeError("the helper has ended")
        if answer == b"done\n":
            _marker(self._directory, name).touch()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._thread.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def help_out() -> None:
    """Compile what comes in on standard input, until there is no more."""
    answers, sys.stdout = sys.stdout, sys.stderr
    while True:
        try:
            finished = do(pickle.load(sys.stdin.buffer), Counter())
        except EOFError:
            return
        except Exception:
            finished = []
        print("done" if all(each.run for each in finished) and finished else "failed", file=answers, flush=True)


def _cachable(simulation: Simulation) -> bool:
    """Whether the compiled loop is kept on disk: what other packages define is compiled anew in each process."""
    parts: Sequence[Any] = (simulation.policy, getattr(simulation.policy, "state", None), simulation.environment)
    return all(type(part).__module__.startswith("rankloop.") for part in parts)


def _marker(directory: Path, name: str) -> Path:
    """A file that says that a pair is in the cache for this compiler and machine."""
    build = (importlib.metadata.version("numba"), sys.version, platform.machine(), platform.node())
    text = "\n".join((name, *build))
    return directory / f"warm-{hashlib.blake2b(text.encode(), digest_size=12).hexdigest()}"


def _types(state: Any) -> str:
    if isinstance(state, np.ndarray):
        return (
            f"{state.dtype}{state.ndim}{'C' if state.flags.c_contiguous else 'A'}{'' if state.flags.writeable else 'r'}"
        )
    if isinstance(state, tuple):
        return f"{type(state).__module__}.{type(state).__qualname__}({', '.join(map(_types, state))})"
    return type(state).__name__
