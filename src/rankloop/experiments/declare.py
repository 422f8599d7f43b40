"""What an experiment is: policies, environments, how long and how often, declared as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rankloop.simulation import Result

if TYPE_CHECKING:
    from rankloop.experiments.data import Data

Scale = Literal["smoke", "laptop", "paper"]
SCALES: tuple[Scale, ...] = ("smoke", "laptop", "paper")


class Amount(NamedTuple):
    """How much is run; all that a scale may change.

    >>> amount = Amount(10**8, 50, others={"Yahoo-*: DTS": Amount(10**5, 4), "*: DTS": Amount(10**7, 6)})
    >>> amount.of("MSLR-Perfect", "DTS")
    Amount(horizon=10000000, runs=6, problems=None, others={})
    >>> amount.of("MSLR-Perfect", "RMED1").runs
    50
    """

    horizon: int
    runs: int
    """Of each policy in each problem."""
    problems: int | None = None
    """How many queries or users, each of which is a run of its own; None where there is one environment."""
    others: Mapping[str, Amount] = {}
    """Who is run another amount: patterns of `panel: player`, of which the first that fits counts."""

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
    """One picture of a figure: an environment, or a list of them, and who plays in it."""

    name: str
    environment: Any
    source: Source
    players: Sequence[Player]
    value: float | None = None
    """Of the parameter that is studied, where the panels of an experiment are its values."""
    top: int | None = None
    checkpoints: int | Sequence[int] | None = None
    """When to record; of those beyond a player's horizon, only that horizon, its half and its tenth."""


@dataclass(frozen=True)
class Experiment:
    """A figure, table or parameter study of the thesis."""

    name: str
    chapter: int
    section: str
    """Of the thesis, with the figure or table: "2.6.1, figure 2.1"."""
    title: str
    text: str
    panels: Callable[[Data, Amount], Sequence[Panel]]
    """Makes the panels for some data and amount; the amount only tells the horizon and how many problems to take."""
    amounts: Mapping[Scale, Amount]
    records: Sequence[str] = ("regret",)
    """What is drawn."""
    parameter: str = ""
    """What the panels' values are of: the studied parameter, as the axis is labelled; "" where it is no such study."""
    log: bool = True
    """Whether time is drawn on a logarithmic axis."""


def met_by(environment: Any, amount: Amount) -> Any:
    """The environment of a panel, or as many of its queries or users as an amount takes, from the first on."""
    return environment[: amount.problems] if isinstance(environment, list) else environment


class Failure(NamedTuple):
    """A unit of work that could not be done, and why."""

    panel: str
    player: str
    run: int
    """Its number; -1 where the player (or, with no names, the whole experiment) could not begin."""
    error: str


@dataclass
class Outcome:
    """What an experiment gave at one scale."""

    experiment: Experiment
    scale: Scale
    panels: Sequence[Panel]
    results: dict[tuple[str, str], Result]
    """By the name of the panel and the label of the player."""
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    """Of computation, over all units: what one core would take."""

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
        met = met_by(found.environment, self.amount_of(panel, player))
        return len(met) if isinstance(met, list) else 1

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
    """What a claim's test says: the verdict, the effect it rests on, and the standard error of that effect."""

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
    """In our own words."""
    test: Callable[[Outcome], Finding]
    changed: str = ""
    """What was changed after results had been seen, and why; "" where nothing was."""
