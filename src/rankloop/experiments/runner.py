"""Runs experiments: prepares their jobs, compiles their policies, and gives them to the runner of long work."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from rankloop.experiments.declare import Experiment, Outcome, Scale
from rankloop.experiments.prepare import PlayerJob, Prepared, prepare
from rankloop.experiments.warm_up import remember, warm_up
from rankloop.runs import Folder, Job, Runner, Watcher

Players = Sequence[tuple[str, Any]]


class Interrupted(KeyboardInterrupt):
    """The work was interrupted; what was finished is kept, and the same call continues from there."""

    def __init__(self, outcomes: Sequence[Outcome], left: int) -> None:
        super().__init__(f"interrupted with {left:,} runs left: the same command continues where it stopped")
        self.outcomes = outcomes
        """Outcomes of the experiments, as far as they came."""
        self.left = left


def run_experiment(experiment: Experiment, scale: Scale, data: Any, folder: str | Path, **options: Any) -> Outcome:
    """Run one experiment; the options are those of `run_experiments`."""
    return run_experiments([experiment], scale, data, folder, **options)[0]


def run_experiments(
    experiments: Sequence[Experiment],
    scale: Scale,
    data: Any,
    folder: str | Path,
    *,
    seed: int = 0,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Watcher | None = None,
    players: Players = (),
    finished: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Run experiments, one after the other, and keep every run on disk.

    Runs that the folder already holds are taken over. The files have the same bytes after an interrupt, after a second
    call, and in another executor. A run that fails is listed in `Outcome.failures`, and tried again next time.

    Parameters
    ----------
    experiments
        Experiments to run. All of them are compiled first, and the last runs of one are done beside the first of the
        next.
    scale
        Scale of the experiments: how long and how often policies run.
    data
        Source of the environments; it is handed to the experiments.
    folder
        Folder in which runs are kept.
    seed
        Seed of all random numbers.
    executor
        Executor that does the runs: any `concurrent.futures.Executor`, for example
        `rankloop.experiments.cluster.connect(address)`; threads if not given. It is not shut down.
    workers
        Number of runs done at once; as many as there are cores, or as the executor has workers, if not given.
    progress
        Watcher that is told how far the work is (`rankloop.runs.Watcher`).
    players
        More players for every panel: labels, each with an import path (`my_module:MyPolicy`), a policy class, a
        function that makes a policy, or a policy.
    finished
        Function that is called with the outcome of each experiment as soon as it is complete, in order.

    Raises
    ------
    Interrupted
        On Ctrl-C, after what is finished was saved. A second Ctrl-C ends at once.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}")
    for experiment in experiments:
        if scale not in experiment.amounts:
            raise ValueError(f"{experiment.name} has no scale {scale!r}, only {', '.join(experiment.amounts)}")
    prepared: list[Prepared] = []
    outcomes: list[Outcome] = []

    def place(at: int) -> None:
        at = min(at, len(experiments) - 1)
        runner.place = (experiments[at].name, at + 1, len(experiments))

    def hand_over() -> None:
        """Hand over the experiments of which every run has ended."""
        while len(outcomes) < len(prepared) and not prepared[len(outcomes)].left:
            runner.store.flush()
            outcomes.append(prepared[len(outcomes)].outcome(runner.store, runner.failed))
            if finished is not None:
                finished(outcomes[-1])
        place(len(outcomes))

    def after(job: Job, _unit: int) -> None:
        if not job.left:
            hand_over()

    with Runner(Folder(folder), watcher=progress, executor=executor, workers=workers) as runner:
        for number, experiment in enumerate(experiments):
            if runner.stopping:
                break
            place(number)
            runner.show("preparing", number, len(experiments))
            made = prepare(experiment, scale, data, seed, players)
            for note in made.notes:
                runner.watcher.note(note)
            runner.prepare(made.jobs)
            prepared.append(made)
        place(0)
        _compile(runner, [job for each in prepared for job in each.jobs if job.left])
        if not runner.stopping:
            hand_over()
            runner.run([job for each in prepared for job in _longest_first(each.jobs)], after)
    if len(prepared) == len(experiments) and not any(each.left for each in prepared):
        hand_over()  # an interrupt came when all was done
    elif runner.stopping:
        rest = prepared[len(outcomes) :]
        so_far = [*outcomes, *(each.outcome(runner.store, runner.failed) for each in rest)]
        raise Interrupted(so_far, sum(each.left for each in rest))
    return outcomes


def _longest_first(jobs: Sequence[PlayerJob]) -> list[PlayerJob]:
    """The jobs with the longest runs first, so that no long run is left for the end.

    Times are compared by powers of two, and equal ones stay as declared: the order hardly depends on the machine.
    """
    return sorted(jobs, key=lambda job: -round(math.log2(max(job.unit_seconds, 1e-9))))


def _compile(runner: Runner, jobs: Sequence[PlayerJob]) -> None:
    """Compile the policies of jobs that have runs to do, and measure those that were never measured."""
    first: dict[str, PlayerJob] = {}
    for job in jobs:
        if job.kind:
            first.setdefault(job.kind, job)
    pairs = {name: job.simulations()[0] for name, job in first.items()}
    for job in first.values():
        job.let_go()
    compiled = 0

    def tell(done: int) -> None:
        nonlocal compiled
        compiled = max(compiled, done)
        runner.show("compiling", compiled, len(pairs))

    if jobs:
        warm_up(pairs, runner.workers, tell, lambda: runner.stopping)
    warm: set[str] = set()
    for job in jobs:
        if runner.stopping:
            return
        known = job.seconds_per_step
        if known and (not job.kind or job.kind in warm):
            continue
        tell(len(warm))
        try:
            job.measure()
        except Exception:
            continue  # its runs will tell
        job.seconds_per_step = known or job.seconds_per_step
        if job.kind and job.kind not in warm:
            remember(job.kind, pairs[job.kind])
            warm.add(job.kind)
