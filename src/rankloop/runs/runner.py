"""The runner: it sends the units of jobs to workers, keeps what comes back, and stops when it is asked to.

A unit goes through four hands: `Job.next_task` packs it into a task, `Runner._send` gives the task to the executor,
`do` does its units on a worker, and `Runner._receive` adds their runs to the store.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from types import FrameType, TracebackType
from typing import Any, NamedTuple, Self

from rankloop.runs.job import Counter, Finished, Job, Task, do, explain_error
from rankloop.runs.store import Store
from rankloop.runs.watcher import Silent, Status, Watcher

POLL = 0.2
"""Seconds between two looks at the progress."""

GRACE = 2.0
"""Seconds that tasks have to end when the work is interrupted."""

TASKS_PER_WORKER = 3
"""Tasks that are sent out for each worker, so that none has to wait for the next one."""


class _Sent(NamedTuple):
    job: Job
    task: Task
    counter: Counter


class Runner:
    """Does the units of jobs in any executor, and keeps them in a store.

    Inside its `with` statement, the first Ctrl-C only sets `stopping`; a second one ends the work at once. Either way
    the `with` statement ends without an exception, what was finished is in the store, and `stopping` tells.

    Parameters
    ----------
    store
        Store of the finished units; memory if not given.
    watcher
        Watcher that is told the progress.
    executor
        Executor that does the units; threads if not given. It is not shut down.
    workers
        Number of units done at once; as many as there are cores, or as the executor has workers, if not given.
    strict
        Whether an error in a unit ends the work and is raised; it is collected in `failed` otherwise. Strict work is
        for threads.

    Examples
    --------
    >>> import numpy as np
    >>> from rankloop.runs import Job, Run
    >>> job = Job("key", "Squares", 4, lambda units: lambda unit, advance: Run({"square": np.array([unit**2.0])}))
    >>> with Runner() as runner:
    ...     runner.prepare([job])
    ...     runner.run([job])
    >>> [float(run.records["square"][0]) for _, run in sorted(runner.store.runs("key").items())]
    [0.0, 1.0, 4.0, 9.0]
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        watcher: Watcher | None = None,
        executor: Executor | None = None,
        workers: int | None = None,
        strict: bool = False,
    ) -> None:
        self.store = store or Store()
        self.watcher = watcher or Silent()
        self.workers = workers or _capacity(executor)
        self.failed: dict[tuple[str, int], str] = {}
        """Why a unit gave no run, by the key of its job and its number."""
        self.stopping = False
        self.place = ("", 1, 1)
        """Title, number and total number of the parts of the work, for the watcher."""
        self.units = "runs"
        """What a unit is called, for the watcher."""
        self._executor = executor
        self._fixed_workers = workers is not None
        self._strict = strict
        self._prepared: set[tuple[str, int]] = set()
        self._sent: dict[Future[list[Finished]], _Sent] = {}
        # Filled by the executor's threads. Waiting for many futures would take their locks here, where an interrupt
        # may strike at any moment and leave them taken.
        self._ended: queue.SimpleQueue[Future[list[Finished]]] = queue.SimpleQueue()
        self._deferring = False
        self._shown = self._looked = 0.0

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        # Where somebody else handles Ctrl-C, it is theirs.
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._deferring = True
            signal.signal(signal.SIGINT, self._ask_to_stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        try:
            self.store.flush()
        finally:
            if self._deferring:
                signal.signal(signal.SIGINT, signal.default_int_handler)
        if isinstance(error, KeyboardInterrupt):
            self.stopping = True
            return True
        return False

    def _ask_to_stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def prepare(self, jobs: Sequence[Job]) -> None:
        """Find out which units of the jobs are missing; one that several jobs share is missing in the first only."""
        for job in jobs:
            job.begin(self.store.runs(job.key))
            job.missing = [unit for unit in job.missing if (job.key, unit) not in self._prepared]
            job.left = len(job.missing)
            self._prepared.update((job.key, unit) for unit in job.missing)
        for note in self.store.notes:
            self.watcher.note(note)
        self.store.notes.clear()

    def run(self, jobs: Sequence[Job], after: Callable[[Job, int], None] | None = None) -> None:
        """Do the missing units of jobs that are prepared, in order, and call `after` for each unit that has ended."""
        waiting = [job for job in jobs if job.missing]
        missing = sum(len(job.missing) for job in waiting)
        if not missing:
            return
        own = ThreadPoolExecutor(min(self.workers, missing), "rankloop") if self._executor is None else None
        executor: Any = own or self._executor
        try:
            while (waiting or self._sent) and not self.stopping:
                while waiting and len(self._sent) < TASKS_PER_WORKER * self.workers:
                    self._send(executor, waiting[0], after)
                    if not waiting[0].missing:
                        waiting.pop(0)
                self._collect(POLL, after)
                self.store.flush(now=False)
                self._look(jobs)
        finally:
            self._give_up()
            if own is not None:
                own.shutdown(wait=True, cancel_futures=True)
        self._look(jobs, now=True)

    def _send(self, executor: Executor, job: Job, after: Callable[[Job, int], None] | None) -> None:
        sent = _Sent(job, job.next_task(self.workers), Counter())
        try:
            future = executor.submit(do, sent.task, sent.counter, self._strict)
        except Exception as error:  # a broken pool takes nothing any more
            self._receive(sent, [Finished(unit, error=explain_error(error)) for unit in sent.task.units], after)
            return
        self._sent[future] = sent
        future.add_done_callback(self._ended.put)

    def _collect(self, patience: float, after: Callable[[Job, int], None] | None) -> None:
        """Take in what has ended, and wait a little for the first."""
        try:
            self._take(self._ended.get(timeout=patience), after)
            while True:
                self._take(self._ended.get_nowait(), after)
        except queue.Empty:
            return

    def _take(self, future: Future[list[Finished]], after: Callable[[Job, int], None] | None) -> None:
        sent = self._sent.pop(future, None)
        if sent is None:
            return
        try:
            finished = future.result()
        except KeyboardInterrupt:
            self.stopping = True
            return
        except (Exception, SystemExit) as error:
            if sent.counter.stopping:
                return  # given up
            if self._strict:
                raise
            finished = [Finished(unit, error=explain_error(error)) for unit in sent.task.units]
        self._receive(sent, finished, after)

    def _receive(self, sent: _Sent, finished: Sequence[Finished], after: Callable[[Job, int], None] | None) -> None:
        job = sent.job
        ended = []
        for unit, run, error in finished:
            if run is not None:
                self.store.add(job.key, unit, run)
            elif error:
                self.failed[job.key, unit] = error
            else:
                self.stopping = True
                continue
            job.left -= 1
            ended.append(unit)
        job.learn([each.run for each in finished if each.run is not None])
        if after is not None:
            for unit in ended:
                after(job, unit)

    def _give_up(self) -> None:
        """Ask the tasks that were sent to end, and take in what they have finished."""
        for future, sent in list(self._sent.items()):
            sent.counter.stopping = True
            future.cancel()
        until = time.monotonic() + GRACE
        while self._sent and time.monotonic() < until:
            self._collect(POLL, None)

    def _look(self, jobs: Sequence[Job], now: bool = False) -> None:
        moment = time.monotonic()
        if not now and moment - self._shown < POLL:
            return
        self._shown = moment
        if not self._fixed_workers and moment - self._looked > 5:
            self._looked, self.workers = moment, _capacity(self._executor)
        unfinished = [job for job in jobs if job.left]
        left = sum(job.left for job in unfinished)
        total = sum(job.n_units for job in jobs)
        begun = [(sent.counter.steps / sent.job.n_steps, sent.job) for sent in self._sent.values()]
        seconds = sum(job.left * job.unit_seconds for job in unfinished)
        seconds = max(0.0, seconds - sum(share * job.unit_seconds for share, job in begun))
        seconds_left = seconds / max(1, min(left, self.workers))
        self.show("running", total - left, total, seconds_left, sum(share for share, _ in begun))

    def show(self, doing: str, done: int, total: int, seconds: float | None = None, begun: float = 0.0) -> None:
        """Tell the watcher how far the work is."""
        self.watcher.show(Status(*self.place, doing, done, total, seconds, len(self.failed), begun, self.units))


def _capacity(executor: Executor | None) -> int:
    """How many units are done at once, as far as the executor tells."""
    told = getattr(executor, "n_workers", None) or getattr(executor, "_max_workers", None)
    return int(told or os.cpu_count() or 1)
