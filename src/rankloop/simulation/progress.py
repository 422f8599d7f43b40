"""Progress of long work, on the terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

Advance = Callable[[int], None]
"""Tells that so many more steps are done; may be called from several threads."""

Progress = Callable[[str, int], AbstractContextManager[Advance]]
"""How to show the progress of some work, given its name and its number of steps."""

PATIENCE = 2.0
"""Seconds before a bar appears: short work needs none."""


@contextmanager
def bar(label: str, total: int) -> Iterator[Advance]:
    """A bar on standard error, shown only to a person and only when the work takes long."""
    begin = time.perf_counter()
    lock = threading.Lock()
    done = 0
    update: Advance | None = None
    with ExitStack() as stack:

        def advance(steps: int) -> None:
            nonlocal done, update
            with lock:
                done += steps
                if update is None and time.perf_counter() - begin > PATIENCE and sys.stderr.isatty():
                    update = _start(stack, label, total)
                if update is not None:
                    update(done)

        yield advance


def _start(stack: ExitStack, label: str, total: int) -> Advance:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    shown = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = shown.add_task(escape(label), total=total)
    stack.enter_context(shown)
    return lambda done: shown.update(task, completed=done)


@contextmanager
def silence(label: str, total: int) -> Iterator[Advance]:
    """Progress that nobody wants to see."""
    yield lambda _steps: None
