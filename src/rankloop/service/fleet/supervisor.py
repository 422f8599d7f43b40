"""The process that starts the workers of one machine, replaces those that die, and ends them in good order.

It holds the socket that all workers take connections from: a worker that has died or hangs leaves no connection
waiting that another could take.
"""

from __future__ import annotations

import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rankloop.live import StoreError
from rankloop.live.directory import Directory
from rankloop.service.fleet.telling import Orders, Word
from rankloop.service.logs import logger

SECONDS_TO_START = 120.0
SECONDS_TO_END = 30.0
"""How long a worker may take to hand everything over; it is killed then, and others take over from it."""
SHORT_LIFE = 10.0
"""Seconds; a worker that died sooner is started again later and later."""
LONGEST_PAUSE = 10.0

_COMMAND = [sys.executable, "-m", "rankloop.service.fleet.worker"]


@dataclass(eq=False)
class _Process:
    """A worker as the supervisor sees it."""

    slot: int
    popen: subprocess.Popen[bytes]
    started: float = field(default_factory=time.monotonic)
    worker: str = ""
    ready: bool = False
    ended: bool = False
    wanted: bool = True
    """Whether another is started when it ends."""


class Supervisor:
    """Starts and replaces workers.

    Parameters
    ----------
    orders
        What each worker is told; its name is followed by the worker's number.
    listening
        The socket to take connections from.
    when_ready
        Called once, when all workers are ready.
    """

    def __init__(self, orders: Orders, listening: socket.socket, when_ready: Callable[[], None]) -> None:
        self._orders, self._listening, self._when_ready = orders, listening, when_ready
        self._happened: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._slots: list[_Process | None] = [None] * orders.workers
        self._old: set[_Process] = set()
        """Those that are being replaced."""
        self._short_lives = 0
        self._restart_at: dict[int, float] = {}
        self._ending = self._greeted = False
        self._failure = ""

    def run(self) -> None:
        """Serve until SIGTERM or Ctrl-C; SIGHUP replaces all workers, one after the other."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, _: self._happened.put(("signal", number)))
        try:
            self._slots[0] = self._start(0)  # it compiles what the others load
            self._until(lambda: self._ending or self._is_ready(0), SECONDS_TO_START)
            for slot in range(1, len(self._slots)):
                self._slots[slot] = self._start(slot)
            self._until(lambda: self._ending or all(map(self._is_ready, range(len(self._slots)))), SECONDS_TO_START)
            if not self._ending:
                self._greeted = True
                self._when_ready()
                self._until(lambda: self._ending, None)
        finally:
            self._end()
        if self._failure:
            raise StoreError(self._failure)

    def _is_ready(self, slot: int) -> bool:
        process = self._slots[slot]
        return process is not None and process.ready and not process.ended

    # -- processes -----------------------------------------------------------------------------------------------

    def _start(self, slot: int) -> _Process:
        orders = msgspec.structs.replace(self._orders, name=f"{self._orders.name}/{slot}")
        popen = subprocess.Popen(
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[orders.listening], start_new_session=True
        )
        process = _Process(slot, popen)
        assert popen.stdin is not None
        with suppress(OSError):  # it has died already, which is heard of in another way
            popen.stdin.write(msgspec.json.encode(orders) + b"\n")
            popen.stdin.flush()
        threading.Thread(target=self._watch, args=(process,), daemon=True).start()
        return process

    def _watch(self, process: _Process) -> None:
        """What a worker says, and that it has ended; in a thread."""
        assert process.popen.stdout is not None
        for line in process.popen.stdout:
            with suppress(msgspec.MsgspecError):
                self._happened.put(("word", (process, msgspec.json.decode(line, type=Word))))
        process.popen.wait()
        self._happened.put(("ended", process))

    def _until(self, done: Callable[[], bool], seconds: float | None) -> bool:
        """Take in what happens until something is so; whether it is."""
        until = None if seconds is None else time.monotonic() + seconds
        while not done():
            waits = [at - time.monotonic() for at in (*self._restart_at.values(), until) if at is not None]
            try:
                what, about = self._happened.get(timeout=max(0.0, min(waits)) if waits else None)
            except queue.Empty:
                if until is not None and time.monotonic() >= until:
                    return False
            else:
                self._take(what, about)
            self._restart()
        return True

    def _take(self, what: str, about: Any) -> None:
        if what == "signal":
            if about == signal.SIGHUP:
                if self._greeted and not self._ending:
                    self._replace_all()
            else:
                self._ending = True
        elif what == "word":
            process, word = about
            process.worker, process.ready = word.worker, process.ready or word.what == "ready"
            if word.what == "failed" and not self._greeted:
                self._failure, self._ending = word.why, True
        else:
            self._ended(about)

    def _ended(self, process: _Process) -> None:
        process.ended = True
        self._old.discard(process)
        code = process.popen.returncode
        if process.worker:
            threading.Thread(target=self._bury, args=(process.worker,), daemon=True).start()
        if self._ending or not process.wanted:
            return
        logger.error("worker %d has ended (%s): another is started", process.slot, code)
        self._short_lives = self._short_lives + 1 if time.monotonic() - process.started < SHORT_LIFE else 0
        pause = min(LONGEST_PAUSE, 0.25 * 2**self._short_lives) if self._short_lives else 0.0
        self._restart_at[process.slot] = time.monotonic() + pause

    def _restart(self) -> None:
        for slot, at in list(self._restart_at.items()):
            if time.monotonic() >= at and not self._ending:
                del self._restart_at[slot]
                self._slots[slot] = self._start(slot)

    def _bury(self, worker: str) -> None:
        """Let others take over at once from a worker that has died: its lease need not be waited for."""
        directory = Directory(self._orders.store)
        try:
            directory.open()
            directory.bury(worker)
        except StoreError as error:
            logger.warning("the leases of a worker that has died end by themselves: %s", error)
        finally:
            directory.close()

    def _replace_all(self) -> None:
        """Replace each worker by a new one, which is ready before the old one is told to end."""
        for slot in range(len(self._slots)):
            new, old = self._start(slot), self._slots[slot]
            self._until(lambda new=new: self._ending or new.ready or new.ended, SECONDS_TO_START)  # type: ignore[misc]
            if self._ending or not new.ready or new.ended:
                logger.error("worker %d could not be replaced: the old one goes on", slot)
                new.wanted = False
                new.popen.kill()
                return
            self._slots[slot] = new
            if old is not None and not old.ended:
                self._let_end([old])

    def _let_end(self, processes: list[_Process]) -> None:
        for process in processes:
            process.wanted = False
            self._old.add(process)
            process.popen.terminate()
        if not self._until(lambda: all(process.ended for process in processes), SECONDS_TO_END):
            for process in processes:
                process.popen.kill()
            self._until(lambda: all(process.ended for process in processes), SECONDS_TO_END)

    def _end(self) -> None:
        self._ending = True
        self._let_end([process for process in self._slots if process is not None and not process.ended])
