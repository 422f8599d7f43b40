"""What an experiment is: policies, environments, how long and how often, declared as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

from rankloop.environments.problems import each_of, is_several
from rankloop.simulation import Result

Scale = Literal["smoke", "laptop", "paper", "own"]
"""How much of an experiment is run: three scales for those of the thesis, and `own` for an experiment of one's own."""

SCALES: tuple[Scale, ...] = ("smoke", "laptop", "paper")
"""The scales of the thesis' experiments."""


class Amount(NamedTuple):
    """How much of an experiment is run: everything that a scale may change.

    >>> amount = Amount(10**8, 50, others={"Yahoo-*: DTS": Amount(10**5, 4), "*: DTS": Amount(10**7, 6)})
    >>> amount.of("MSLR-Perfect", "DTS")
    Amount(horizon=10000000, runs=6, problems=None, others={})
    >>> amount.of("MSLR-Perfect", "RMED1").runs
    50
    """

    horizon: int
    runs: int
    """Number of runs of each policy in each problem."""
    problems: int | None = None
    """Number of queries or users, each of which has runs of its own; None where there is one environment."""
    others: Mapping[str, Amount] = {}
    """Other amounts for some players: patterns of `panel: player`, of which the first that fits counts."""

    def of(self, panel: str, player: str) -> Amount:
        """How much one player is run in one panel."""
        name = f"{panel}: {player}"
        found = next((amount for pattern, amount in self.others.items() if fnmatchcase(name, pattern)), self)
        return found._replace(others={})


class Source(NamedTuple):
    """Where an environment comes from: the real dataset, or a stand-in for it."""

    text: str
    real: bool


@dataclass(frozen=True)
class Player:
    """A policy as one picture names it."""

    label: str
    policy: Any
    """A policy, or a function that makes one for an environment (as `simulate` takes it)."""


@dataclass(frozen=True)
class Panel:
    """One picture of a figure: an environment, or a list of them, and the players compared in it."""

    name: str
    environment: Any
    source: Source
    players: Sequence[Player]
    value: float | None = None
    """Value of the parameter that is studied, where an experiment has one panel for each value."""
    top: int | None = None
    checkpoints: int | Sequence[int] | None = None
    """Steps at which to record. A player with a shorter horizon records at those within it, and at its end, half and
    tenth."""


@dataclass(frozen=True)
class Experiment:
    """A comparison of policies: a figure, table or parameter study of the thesis, or an experiment of one's own."""

    name: str
    chapter: int
    section: str
    """Section of the thesis, with the figure or table: "2.6.1, figure 2.1"; empty where it is not of the thesis."""
    title: str
    text: str
    panels: Callable[[Any, Amount], Sequence[Panel]]
    """Function that makes the panels from data (`rankloop.experiments.data.Data`) and the amount, of which it uses only
    the horizon and the number of problems."""
    amounts: Mapping[Scale, Amount]
    records: Sequence[str] = ("regret",)
    """Records that are drawn."""
    parameter: str = ""
    """Name of the studied parameter, whose values the panels have, for the axis; empty where nothing is studied."""
    log: bool = True
    """Whether time is drawn on a logarithmic axis."""


def met_by(environment: Any, amount: Amount) -> Any:
    """The environment of a panel, or as many of its queries or users as an amount takes, from the first on."""
    return environment[: amount.problems] if is_several(environment) else environment


class Failure(NamedTuple):
    """A run that could not be done, and why."""

    panel: str
    player: str
    run: int
    """Number of the run; -1 where the player, or without names the whole experiment, could not begin."""
    error: str


@dataclass
class Outcome:
    """All results of an experiment at one scale."""

    experiment: Experiment
    scale: Scale
    panels: Sequence[Panel]
    results: dict[tuple[str, str], Result]
    """Results by the name of the panel and the label of the player."""
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    """Time of all runs together: what one core would take."""

    @property
    def amount(self) -> Amount:
        """How much was asked for, of most players."""
        return self.experiment.amounts[self.scale]

    def amount_of(self, panel: str, player: str) -> Amount:
        """How much was asked for of one player in one panel."""
        return self.amount.of(panel, player)

    def n_problems(self, panel: str, player: str) -> int:
        """How many queries or users a player met, the first of the panel; 1 where there is one environment."""
        [found] = [each for each in self.panels if each.name == panel]
        return len(each_of(met_by(found.environment, self.amount_of(panel, player))))

    def result(self, panel: str, player: str) -> Result:
        """The runs of one player in one panel."""
        return self.results[panel, player]


Verdict = Literal["holds", "fails", "undecided"]

Rule = Literal["all", "most"]
"""How the verdicts of comparisons make that of a claim; see `rankloop.experiments.statistics`."""


class Compared(NamedTuple):
    """One comparison that a claim makes, with its own verdict."""

    text: str
    verdict: Verdict
    effect: float
    error: float
    claimed: str
    """What the thesis says the effect is: "above 1"."""
    panels: tuple[str, ...] = ()
    real: bool = True
    """Whether all data behind it are real."""
    decides: bool = True
    """Whether the claim's verdict rests on it."""
    waits: str = ""
    """What would decide it, where it is undecided."""


class Finding(NamedTuple):
    """The result of a claim's test: the verdict, the effect, and the standard error of that effect."""

    verdict: Verdict
    effect: float
    error: float
    text: str
    """The effect in words and numbers, for the scorecard."""
    comparisons: tuple[Compared, ...] = ()
    waits: str = ""
    """What would decide the claim, where it is undecided."""
    rule: Rule = "all"

    @property
    def on_stand_ins(self) -> bool:
        """Whether the verdict rests on stand-ins alone."""
        return bool(self.comparisons) and not any(one.real for one in self.comparisons if one.decides)


@dataclass(frozen=True)
class Claim:
    """A sentence of the thesis that an experiment can support or contradict."""

    name: str
    experiment: str
    section: str
    text: str
    """The claim in our own words."""
    test: Callable[[Outcome], Finding]
    changed: str = ""
    """What was changed after results had been seen, and why; "" where nothing was."""
