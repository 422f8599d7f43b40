"""Experiments, run for as long as it takes: kept on disk, gone on with, watched, in any executor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from rankloop.experiments.declare import Experiment, Outcome, Scale
from rankloop.experiments.store import Store
from rankloop.experiments.watch import Silent, Watcher
from rankloop.experiments.work import Players, Work


def run_experiment(
    experiment: Experiment,
    scale: Scale,
    data: Any,
    folder: str | Path,
    *,
    seed: int = 0,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Watcher | None = None,
    players: Players = (),
) -> Outcome:
    """Run one experiment; see `run_experiments`."""
    return run_experiments(
        [experiment],
        scale,
        data,
        folder,
        seed=seed,
        executor=executor,
        workers=workers,
        progress=progress,
        players=players,
    )[0]


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

    Units of work that the folder already holds are taken over, whoever computed them and however many there were; the
    files are the same bytes after an interrupt, a second call, or in another executor. A unit that fails is told in
    `Outcome.failures`, and tried again next time.

    Parameters
    ----------
    experiments
        What to run. All of them are compiled first, and the last units of one run beside the first of the next.
    scale
        How much of it.
    data
        Where environments come from; handed to the experiments.
    folder
        Where runs are kept.
    seed
        Of everything random.
    executor
        Who plays the units: any `concurrent.futures.Executor`, `rankloop.experiments.cluster.connect(address)` for
        example; threads if not given. It is not shut down.
    workers
        How many units are played at once; as many as there are cores, or as the executor has workers, if not given.
    progress
        Who is told how far the work is.
    players
        More players for every panel: labels, each with an import path (`my_module:MyPolicy`), a policy class, a
        function that makes a policy, or a policy.
    finished
        Called with the outcome of each experiment as soon as it is complete, in order.

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
    return Work(experiments, scale, Store(folder), progress or Silent(), executor, workers, finished).run(
        data, seed, players
    )
