"""The runner of long work, on jobs that need no policy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rankloop.runs import Advance, Job, Run, Runner, Status, Store
from rankloop.runs.job import MOST_UNITS, Counter, Task, do


def squares(n_units: int, key: str = "squares", fails: Sequence[int] = ()) -> Job:
    def work(unit: int, advance: Advance) -> Run:
        advance(1)
        if unit in fails:
            raise ZeroDivisionError(f"unit {unit}")
        return Run({"square": np.array([unit**2.0])}, seconds=1e-4)

    return Job(key, key, n_units, lambda _units: work)


def run(*jobs: Job, after: Callable[[Job, int], None] | None = None, **options: object) -> Runner:
    with Runner(**options) as runner:  # type: ignore[arg-type]
        runner.prepare(jobs)
        runner.run(jobs, after)
    return runner


def values(runner: Runner, key: str = "squares") -> dict[int, float]:
    return {unit: float(run.records["square"][0]) for unit, run in sorted(runner.store.runs(key).items())}


@pytest.mark.parametrize("workers", [1, 3])
def test_every_unit_is_done_once_and_told_of_in_the_calling_thread(workers: int) -> None:
    ended: list[int] = []
    threads = set()

    def after(_job: Job, unit: int) -> None:
        ended.append(unit)
        threads.add(threading.current_thread())

    runner = run(squares(1000), after=after, workers=workers)
    assert values(runner) == {unit: unit**2 for unit in range(1000)}
    assert sorted(ended) == list(range(1000))
    assert threads == {threading.current_thread()}
    assert not runner.stopping


def test_what_the_store_holds_is_not_done_again() -> None:
    store = Store()
    store.add("squares", 1, Run({"square": np.array([-1.0])}))
    ended: list[int] = []
    job = squares(3)
    runner = run(job, store=store, after=lambda _job, unit: ended.append(unit))
    assert sorted(ended) == [0, 2]
    assert values(runner) == {0: 0, 1: -1, 2: 4}
    assert job.left == 0


def test_jobs_with_the_same_key_share_their_units() -> None:
    ended: list[str] = []
    first, second = squares(3), squares(5)
    first.label, second.label = "first", "second"
    run(first, second, after=lambda job, _unit: ended.append(job.label))
    assert sorted(ended) == ["first"] * 3 + ["second"] * 2


def test_errors_are_collected_or_raised() -> None:
    runner = run(squares(6, fails=[1, 4]), workers=1)
    assert values(runner) == {0: 0, 2: 4, 3: 9, 5: 25}
    assert {unit for _, unit in runner.failed} == {1, 4}
    assert runner.failed["squares", 4].startswith("ZeroDivisionError: unit 4 (test_runner.py, line")
    with pytest.raises(ZeroDivisionError, match="unit 2"):
        run(squares(10, fails=[2]), strict=True)


def test_an_interrupt_keeps_what_is_finished_and_ends_without_an_exception() -> None:
    def after(_job: Job, unit: int) -> None:
        if unit == 2:
            raise KeyboardInterrupt

    job = squares(10_000)
    runner = run(job, after=after, workers=1)
    assert runner.stopping
    assert 0 < len(values(runner)) == 10_000 - job.left < 10_000


def test_units_end_early_when_they_are_asked_to() -> None:
    def endless(_unit: int, advance: Advance) -> Run:
        while True:
            time.sleep(0.001)
            advance(1)

    job = Job("endless", "endless", 4, lambda _units: endless, n_steps=10**9)
    with Runner(workers=2) as runner:
        runner.prepare([job])

        class Impatient:
            def show(self, status: Status) -> None:
                assert 0 <= status.begun < 1
                runner.stopping = True

            def note(self, text: str) -> None:
                raise AssertionError(text)

        runner.watcher = Impatient()
        runner.run([job])
    assert job.left == 4
    assert not runner.store.runs("endless")


def test_an_executor_of_ones_own_is_not_shut_down() -> None:
    with ThreadPoolExecutor(2) as executor:
        assert values(run(squares(20), executor=executor)) == {unit: unit**2 for unit in range(20)}
        assert executor.submit(int, "3").result() == 3


def test_tasks_hold_as_many_units_as_take_a_quarter_of_a_second() -> None:
    job = squares(10_000)
    job.begin({})
    assert len(job.next_task(1).units) == 1, "nothing is known of them yet"
    job.learn([Run({}, seconds=0.01)])
    assert len(job.next_task(1).units) == 25
    job.learn([Run({}, seconds=1e-9)] * 9)
    job.seconds_per_step = 1e-9
    assert len(job.next_task(1).units) == MOST_UNITS
    job.missing = job.missing[:16]
    assert len(job.next_task(2).units) == 2, "the last ones are shared out evenly"


def test_an_interrupted_worker_reports_what_it_has_finished() -> None:
    def work(unit: int, _advance: Advance) -> Run:
        if unit == 2:
            raise KeyboardInterrupt
        return Run({})

    finished = do(Task((0, 1, 2, 3), work), Counter())
    assert [(each.unit, each.run is None, each.error) for each in finished] == [
        (0, False, ""), (1, False, ""), (2, True, ""),
    ]  # fmt: skip
