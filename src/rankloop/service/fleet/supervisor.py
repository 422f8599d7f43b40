"""The process that starts the workers of one machine, replaces those that die, and ends them in good order.

It holds the socket that all workers take connections from: a worker that has died or hangs leaves no connection
waiting that another could take.
"""

from __future__ import annotations

import itertools
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rankloop.live import StoreError
from rankloop.live.directory import Directory
from rankloop.service.fleet.worker_messages import Orders, Word
from rankloop.service.logs import logger

SECONDS_TO_START = 120.0
SECONDS_TO_END = 30.0
"""How long a worker may take to hand everything over; it is killed then, and others take over from it."""
SHORT_LIFE = 10.0
"""Seconds; a worker that died sooner is started again later and later."""
LONGEST_PAUSE = 10.0

WORKER = (sys.executable, "-m", "rankloop.service.fleet.worker")


@dataclass(eq=False)
class _Process:
    """A worker as the supervisor sees it."""

    number: int
    """No other has the same number as long as it runs."""
    popen: subprocess.Popen[bytes]
    started: float = field(default_factory=time.monotonic)
    worker: str = ""
    ready: bool = False
    ended: bool = False
    told_to_end: bool = False


class Supervisor:
    """Starts and replaces workers.

    Parameters
    ----------
    orders
        What each worker is told; the worker's number is added to its name, and to the port for other workers.
    listening
        The socket that workers take connections from; it is closed in the end.
    when_ready
        Called once, when all workers are ready.
    command
        Program that a worker runs.
    """

    def __init__(
        self, orders: Orders, listening: socket.socket, when_ready: Callable[[], None], *,
        command: Sequence[str] = WORKER,
    ) -> None:  # fmt: skip
        self._orders, self._listening, self._when_ready, self._command = orders, listening, when_ready, command
        self._happened: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._running: set[_Process] = set()
        """All processes that have not ended: those in the slots, their replacements, and those told to end."""
        self._slots: list[_Process | None] = [None] * orders.workers
        """The workers that there should be; one that ends here is started again."""
        self._restart_at: dict[int, float] = {}
        self._short_lives = 0
        self._ending = self._greeted = self._asked_to_replace = False
        self._failure = ""

    def run(self) -> None:
        """Serve until SIGTERM or Ctrl-C; SIGHUP replaces all workers, one after the other."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, lambda number, _: self.hear(number))
        try:
            self._fill(0)  # it compiles what the others load
            self._wait_until_ready([0])
            for slot in range(1, len(self._slots)):
                if not self._ending:
                    self._fill(slot)
            self._wait_until_ready(range(len(self._slots)))
            if not self._ending:
                self._greeted = True
                self._when_ready()
            while not self._ending:
                self._until(lambda: self._ending or self._asked_to_replace, None)
                if self._asked_to_replace:
                    self._asked_to_replace = False
                    self._replace_all()
        finally:
            self._end()
        if self._failure:
            raise StoreError(self._failure)

    def hear(self, number: int) -> None:
        """Take in a signal."""
        self._happened.put(("signal", number))

    def _wait_until_ready(self, slots: Collection[int]) -> None:
        def ready() -> bool:
            found = [self._slots[slot] for slot in slots]
            return all(process is not None and process.ready and not process.ended for process in found)

        if not self._until(lambda: self._ending or ready(), SECONDS_TO_START):
            self._fail(f"the workers were not ready within {SECONDS_TO_START:g} s: their log says what they did")

    def _fail(self, why: str) -> None:
        self._failure = why
        self._begin_to_end()

    def _begin_to_end(self) -> None:
        self._ending = True
        self._restart_at.clear()

    # -- what happens --------------------------------------------------------------------------------------------

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
                self._asked_to_replace = True
            else:
                self._begin_to_end()
        elif what == "word":
            process, word = about
            process.worker, process.ready = word.worker, process.ready or word.what == "ready"
            if word.what == "failed" and not self._greeted:
                self._fail(word.why)
        else:
            self._ended(about)

    def _ended(self, process: _Process) -> None:
        process.ended = True
        self._running.discard(process)
        if process.worker:
            threading.Thread(target=self._bury, args=(process.worker,), daemon=True).start()
        if process in self._slots and not self._ending:
            logger.error("worker %d has ended (%s): another is started", process.number, process.popen.returncode)
            self._short_lives = self._short_lives + 1 if time.monotonic() - process.started < SHORT_LIFE else 0
            pause = min(LONGEST_PAUSE, 0.25 * 2**self._short_lives) if self._short_lives else 0.0
            self._restart_at[self._slots.index(process)] = time.monotonic() + pause

    def _restart(self) -> None:
        for slot, at in list(self._restart_at.items()):
            if time.monotonic() >= at:
                del self._restart_at[slot]
                self._fill(slot)

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

    # -- processes -----------------------------------------------------------------------------------------------

    def _fill(self, slot: int) -> None:
        self._slots[slot] = self._start()

    def _start(self) -> _Process:
        taken = {process.number for process in self._running}
        number = next(number for number in itertools.count() if number not in taken)
        name, port = f"{self._orders.name}/{number}", self._orders.peer_port
        orders = msgspec.structs.replace(self._orders, name=name, peer_port=port + number if port else 0)
        popen = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[orders.listening],
            start_new_session=True,
        )  # fmt: skip
        process = _Process(number, popen)
        self._running.add(process)
        assert popen.stdin is not None
        with suppress(OSError):  # it has died already, which is heard of in another way
            popen.stdin.write(msgspec.json.encode(orders) + b"\n")
            popen.stdin.flush()
        threading.Thread(target=self._watch, args=(process,), daemon=True).start()
        return process

    def _watch(self, process: _Process) -> None:
        """What a worker says, and that it has ended; in a thread."""
        popen = process.popen
        assert popen.stdin is not None
        assert popen.stdout is not None
        with popen.stdout as words:
            for line in words:
                with suppress(msgspec.MsgspecError):
                    self._happened.put(("word", (process, msgspec.json.decode(line, type=Word))))
        popen.wait()
        with suppress(OSError):  # what it was told has never been read
            popen.stdin.close()
        self._happened.put(("ended", process))

    def _replace_all(self) -> None:
        """Replace each worker by a new one, which is ready before the old one is told to end."""
        for slot in range(len(self._slots)):
            if self._ending or not self._replace(slot):
                return

    def _replace(self, slot: int) -> bool:
        """Replace one worker; whether there is a new one."""
        new = self._start()
        self._until(lambda: self._ending or new.ready or new.ended, SECONDS_TO_START)
        if self._ending:
            return False
        if new.ended or not new.ready:
            logger.error("no worker is replaced any more, because the new one did not get ready: the old ones go on")
            new.popen.kill()
            return False
        old, self._slots[slot] = self._slots[slot], new  # whoever is there by now: one that died was started again
        self._restart_at.pop(slot, None)
        if old is not None and not old.ended:
            self._let_end({old}, lambda: self._ending or old.ended)
        return True

    def _let_end(self, processes: Collection[_Process], done: Callable[[], bool]) -> None:
        for process in processes:
            if not process.told_to_end:  # a second SIGTERM would not let it finish
                process.told_to_end = True
                process.popen.terminate()
        if not self._until(done, SECONDS_TO_END):
            for process in processes:
                process.popen.kill()
            self._until(done, SECONDS_TO_END)

    def _end(self) -> None:
        self._begin_to_end()
        self._listening.close()  # else connections would still be made, and nobody would take them
        self._let_end(set(self._running), lambda: not self._running)
