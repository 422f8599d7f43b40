"""Units on their way from missing to kept: compiled, sent out in order, watched, and given up when asked to stop."""

from __future__ import annotations

import math
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from rankloop.experiments.declare import Experiment, Outcome, Scale
from rankloop.experiments.plan import Curve, Plan, plan
from rankloop.experiments.store import Store
from rankloop.experiments.units import Errand, Played, Pulse, explain, play
from rankloop.experiments.warm_up import remember, warm_up
from rankloop.experiments.watch import Status, Watcher

POLL = 0.2
"""Seconds between looks at the progress."""

GRACE = 2.0
"""Seconds that errands on their way have to end when the work is interrupted."""

Players = Sequence[tuple[str, Any]]


class Interrupted(KeyboardInterrupt):
    """The work was interrupted; what was finished is kept, and the same call goes on from there."""

    def __init__(self, outcomes: Sequence[Outcome], left: int) -> None:
        super().__init__(f"interrupted with {left:,} units left: the same command continues where it stopped")
        self.outcomes = outcomes
        """Of the experiments, as far as they came."""
        self.left = left


class _Flight(NamedTuple):
    curve: Curve
    errand: Errand
    pulse: Pulse


class Work:
    """All units of some experiments, in order."""

    def __init__(
        self,
        experiments: Sequence[Experiment],
        scale: Scale,
        store: Store,
        watcher: Watcher,
        executor: Executor | None,
        workers: int | None,
        finished: Callable[[Outcome], None] | None,
    ) -> None:
        self.experiments = experiments
        self.scale = scale
        self.store = store
        self.watcher = watcher
        self.executor = executor
        self.workers = workers or _capacity(executor)
        self.fixed_workers = workers is not None
        self.finished = finished
        self.plans: list[Plan] = []
        self.outcomes: list[Outcome] = []
        self.failed: dict[tuple[str, int], str] = {}
        self.flying: dict[Future[Any], _Flight] = {}
        # Filled by the executor's threads. Waiting for many futures would take their locks here, where an interrupt
        # may strike at any moment and leave them taken.
        self.ended: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self.stopping = False
        self._shown = self._looked = 0.0

    def run(self, data: Any, seed: int, players: Players) -> list[Outcome]:
        """Do it all."""
        with self._deferring_interrupts():
            try:
                self._plan(data, seed, players)
                self._compile()
                self._play()
            except KeyboardInterrupt:  # from a second Ctrl-C, or another thread's doing
                self.stopping = True
            finally:
                self.store.flush()
            if self.stopping:
                rest = self.plans[len(self.outcomes) :]
                so_far = [*self.outcomes, *(each.outcome(self.store, self.failed) for each in rest)]
                raise Interrupted(so_far, sum(each.left for each in rest))
        return self.outcomes

    def _plan(self, data: Any, seed: int, players: Players) -> None:
        planned: set[tuple[str, int]] = set()
        for experiment in self.experiments:
            if self.stopping:
                return
            self._show("preparing", len(self.plans), len(self.experiments), None)
            made = plan(experiment, self.scale, data, seed, players, self.store)
            for note in (*made.notes, *self.store.damaged):
                self.watcher.note(note)
            self.store.damaged.clear()
            for curve in made.curves:
                curve.missing = [unit for unit in curve.missing if (curve.definition, unit) not in planned]
                curve.left = len(curve.missing)
                planned.update((curve.definition, unit) for unit in curve.missing)
            self.plans.append(made)

    def _compile(self) -> None:
        """Compile what has units to play, and measure what was never measured."""
        todo = [curve for each in self.plans for curve in each.curves if curve.left]
        if not todo:
            return
        first: dict[str, Curve] = {}
        for curve in todo:
            if curve.kind:
                first.setdefault(curve.kind, curve)
        pairs = {name: curve.problem(0) for name, curve in first.items()}
        for curve in first.values():
            curve.let_go()
        warm_up(
            pairs, self.workers, lambda done: self._show("compiling", done, len(pairs), None), lambda: self.stopping
        )
        warm: set[str] = set()
        for curve in todo:
            if self.stopping:
                return
            known = curve.seconds_per_step
            if known and (not curve.kind or curve.kind in warm):
                continue
            self._show("compiling", len(warm), len(first), None)
            try:
                curve.measure()
            except Exception:
                continue  # its units will tell
            curve.seconds_per_step = known or curve.seconds_per_step
            if curve.kind and curve.kind not in warm:
                remember(curve.kind, pairs[curve.kind])
                warm.add(curve.kind)

    def _play(self) -> None:
        own = ThreadPoolExecutor(self.workers, "rankloop") if self.executor is None else None
        waiting = self._in_order()
        try:
            self._complete()
            while (waiting or self.flying) and not self.stopping:
                while waiting and len(self.flying) < 3 * self.workers:
                    self._send(own or self.executor, waiting[0])
                    if not waiting[0].missing:
                        waiting.pop(0)
                self._collect(POLL)
                self.store.flush(now=False)
                self._complete()
                self._look()
        finally:
            self._give_up()
            if own is not None:
                own.shutdown(wait=True, cancel_futures=True)

    def _in_order(self) -> list[Curve]:
        """The experiments in turn, in each the longest units first, so that no long one is left for the end.

        Times are compared by powers of two, and equal ones stay as declared: the order hardly depends on the weather.
        """

        def size(curve: Curve) -> int:
            return -round(math.log2(max(curve.unit_seconds, 1e-9)))

        return [curve for each in self.plans for curve in sorted(each.curves, key=size) if curve.missing]

    def _send(self, executor: Executor | None, curve: Curve) -> None:
        assert executor is not None
        errand, pulse = curve.next_errand(self.workers), Pulse()
        flight = _Flight(curve, errand, pulse)
        try:
            future = executor.submit(play, errand, pulse)
        except Exception as error:  # a broken pool takes nothing any more
            self._keep(flight, [Played(unit, None, explain(error)) for unit in errand.units])
            return
        self.flying[future] = flight
        future.add_done_callback(self.ended.put)

    def _collect(self, patience: float) -> None:
        """Take in what has ended; wait for the first a little."""
        try:
            self._take(self.ended.get(timeout=patience))
            while True:
                self._take(self.ended.get_nowait())
        except queue.Empty:
            return

    def _take(self, future: Future[Any]) -> None:
        flight = self.flying.pop(future, None)
        if flight is None:
            return
        try:
            played = future.result()
        except (Exception, CancelledError) as error:
            if isinstance(error, CancelledError) and flight.pulse.stopping:
                return
            played = [Played(unit, None, explain(error)) for unit in flight.errand.units]
        except KeyboardInterrupt:  # the terminal sends it to worker processes as well
            self.stopping = True
            return
        self._keep(flight, played)

    def _keep(self, flight: _Flight, played: Sequence[Played]) -> None:
        curve = flight.curve
        for unit, run, error in played:
            curve.left -= 1
            if run is None:
                self.failed[curve.definition, unit] = error
            else:
                self.store.add(curve.definition, unit, run)
        took = [run.seconds for _, run, _ in played if run is not None]
        if took:  # what was measured last counts for half: the first guess is soon forgotten
            now = sum(took) / len(took) / curve.horizon
            curve.seconds_per_step = (curve.seconds_per_step + now) / 2 if curve.seconds_per_step else now

    def _complete(self) -> None:
        """Hand over the experiments of which every unit has ended."""
        while len(self.outcomes) < len(self.plans) and not self.plans[len(self.outcomes)].left:
            self.store.flush()
            self.outcomes.append(self.plans[len(self.outcomes)].outcome(self.store, self.failed))
            if self.finished is not None:
                self.finished(self.outcomes[-1])

    def _give_up(self) -> None:
        """Ask what is on its way to end, and take in what it has finished."""
        for future, flight in list(self.flying.items()):
            flight.pulse.stopping = True
            future.cancel()
        until = time.monotonic() + GRACE
        while self.flying and time.monotonic() < until:
            self._collect(POLL)

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._shown < POLL:
            return
        self._shown = now
        if not self.fixed_workers and now - self._looked > 5:
            self._looked, self.workers = now, _capacity(self.executor)
        curves = [curve for each in self.plans for curve in each.curves if curve.left]
        seconds = sum(curve.left * curve.unit_seconds for curve in curves)
        seconds -= sum(flight.pulse.steps * flight.curve.seconds_per_step for flight in self.flying.values())
        left = sum(curve.left for curve in curves)
        total = sum(each.n_units for each in self.plans)
        self._show("running", total - left, total, max(0.0, seconds) / max(1, min(left, self.workers)))

    def _show(self, doing: str, done: int, total: int, seconds: float | None) -> None:
        at = min(len(self.plans) if doing == "preparing" else len(self.outcomes), len(self.experiments) - 1)
        name = self.experiments[at].name
        status = Status(name, at + 1, len(self.experiments), doing, done, total, seconds, len(self.failed))
        self.watcher.show(status)

    @contextmanager
    def _deferring_interrupts(self) -> Iterator[None]:
        """Let Ctrl-C only set a flag, the first time, where nobody else has other plans for it."""
        ours = threading.current_thread() is threading.main_thread()
        if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def ask(_number: int, _frame: FrameType | None) -> None:
            self.stopping = True
            signal.signal(signal.SIGINT, signal.default_int_handler)

        signal.signal(signal.SIGINT, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _capacity(executor: Executor | None) -> int:
    """How many units are played at once, as far as the executor tells."""
    told = getattr(executor, "n_workers", None) or getattr(executor, "_max_workers", None)
    return int(told or os.cpu_count() or 1)
