"""All experiments, in the order of the thesis, and how to find one."""

from __future__ import annotations

from collections.abc import Iterable

from rankloop.experiments import chapter2, chapter3, chapter4, chapter5
from rankloop.experiments.declare import Experiment
from rankloop.wording import suggestion

EXPERIMENTS: tuple[Experiment, ...] = (
    *chapter2.EXPERIMENTS,
    *chapter3.EXPERIMENTS,
    *chapter4.EXPERIMENTS,
    *chapter5.EXPERIMENTS,
)


def find(names: Iterable[str]) -> list[Experiment]:
    """The experiments of these names, in the order of the thesis; all of them where no name is given.

    >>> [experiment.name for experiment in find(["duels-noise", "duels-cycle"])]
    ['duels-noise', 'duels-cycle']
    >>> find(["duel-noise"])
    Traceback (most recent call last):
    ValueError: no experiment 'duel-noise': did you mean duels-noise?
    """
    known = [experiment.name for experiment in EXPERIMENTS]
    wanted = list(names) or known
    for name in wanted:
        if name not in known:
            raise ValueError(f"no experiment {name!r}{suggestion(name, known)}")
    return [experiment for experiment in EXPERIMENTS if experiment.name in wanted]
