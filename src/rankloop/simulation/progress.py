"""Progress of long work, on the terminal."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self

PATIENCE = 2.0
"""Seconds before a bar appears: short work needs none."""


class Bar:
    """A progress bar on standard error, shown only to a person and only when the work takes long.

    Safe to call from several threads.
    """

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = total
        self._done = 0
        self._begin = time.perf_counter()
        self._lock = threading.Lock()
        self._bar: object = None

    def __enter__(self) -> Self:
        return self

    def advance(self, steps: int) -> None:
        """Count steps as done."""
        with self._lock:
            self._done += steps
            if self._bar is None and time.perf_counter() - self._begin > PATIENCE and sys.stderr.isatty():
                self._start()
            if self._bar is not None:
                self._bar.update(self._task, completed=self._done)  # type: ignore[attr-defined]

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = bar.add_task(self._label, total=self._total)
        bar.start()
        self._bar = bar

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()  # type: ignore[attr-defined]


class Silence:
    """Progress that nobody wants to see."""

    def __enter__(self) -> Self:
        return self

    def advance(self, steps: int) -> None:
        """Do nothing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass
