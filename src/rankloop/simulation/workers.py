"""Threads that play runs, and stop soon when they are asked to."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

from rankloop.simulation.progress import Advance
from rankloop.simulation.result import Run


class Workers:
    """Play runs in parallel; iterate to hear of each that is finished.

    An interrupt can come between any two instructions of the main thread, so what the threads need is never behind a
    lock that the main thread takes in Python (as waiting for many futures does: interrupted there, it never returns).
    """

    def __init__(
        self, play: Callable[[int, Advance], Run], runs: Sequence[int], n_threads: int, advance: Advance
    ) -> None:
        self.finished: dict[int, Run] = {}
        self._play = play
        self._advance = advance
        self._waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for run in runs:
            self._waiting.put(run)
        self._left = len(runs)
        self._ended: queue.SimpleQueue[int | BaseException] = queue.SimpleQueue()
        self._stopping = False
        self._threads = [threading.Thread(target=self._work) for _ in range(min(n_threads, len(runs)))]

    def __enter__(self) -> Self:
        try:
            for thread in self._threads:
                thread.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __iter__(self) -> Iterator[int]:
        while self._left:
            try:
                ended = self._ended.get(timeout=0.2)
            except queue.Empty:
                continue
            if isinstance(ended, BaseException):
                raise ended
            self._left -= 1
            yield ended

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Give up the runs that are not finished, and wait for the threads to end."""
        self._stopping = True
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _work(self) -> None:
        while not self._stopping:
            try:
                run = self._waiting.get_nowait()
            except queue.Empty:
                return
            try:
                self.finished[run] = self._play(run, self._report)
            except _Stopped:
                return
            except BaseException as error:
                self._ended.put(error)
                return
            self._ended.put(run)

    def _report(self, steps: int) -> None:
        self._advance(steps)
        if self._stopping:
            raise _Stopped


class _Stopped(Exception):
    """Raised inside a run that is asked to stop before its horizon."""
