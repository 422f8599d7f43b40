"""Chapter 2, large-scale online ranker evaluation: MergeDTS and other dueling bandits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rankloop.environments import PreferenceMatrix
from rankloop.experiments.data import ISTELLA, MSLR, USERS, YAHOO, Data, Dataset
from rankloop.experiments.declare import Amount, Experiment, Panel, Player, Scale, Source
from rankloop.experiments.parts import duelist, logarithmic
from rankloop.policies import DTS, REX3, RMED1, MergeDTS, MergeRUCB, SelfSparring

DEFAULT_C = 4_726_908
"""C(epsilon) as section 2.5.6 gives it for alpha = 1.01 and 136 rankers."""

DEFAULT_BATCH = 4

ALPHAS = {f"0.8^{k}": 0.8**k for k in range(10)}
BATCHES = (2, 4, 8, 16)
CONSTANTS = (400, 4_000, 40_000, 400_000, 4_000_000, DEFAULT_C)

DAYS: Mapping[str, Mapping[str, float]] = {
    "MSLR-Navigational": {
        "MergeDTS": 0.08, "MergeRUCB": 0.08, "Self-Sparring": 0.18, "DTS": 5.23, "RMED1": 0.36, "REX3": 0.25
    },
    "ISTELLA-Navigational": {
        "MergeDTS": 0.03, "MergeRUCB": 0.03, "Self-Sparring": 0.22, "DTS": 9.88, "RMED1": 0.19, "REX3": 0.11
    },
    "Yahoo-Navigational": {
        "MergeDTS": 0.11, "MergeRUCB": 0.11, "Self-Sparring": 0.90, "DTS": 100.27, "RMED1": 18.39, "REX3": 0.27
    },
}  # fmt: skip
"""Table 2.2: days that the thesis' own programs took for 10^8 steps, by panel and player."""


def duelists(horizon: int) -> list[Player]:
    """The policies that chapter 2 compares, with the parameters that section 2.5.6 found best."""
    return [
        duelist("MergeDTS", MergeDTS, alpha=0.8**6, batch_size=16, c=4_000_000),
        duelist("MergeRUCB", MergeRUCB, alpha=0.8**6, batch_size=8, c=400_000),
        duelist("DTS", DTS, alpha=0.8**7),
        duelist("RMED1", RMED1),
        duelist("Self-Sparring", SelfSparring),
        duelist("REX3", REX3, horizon=horizon),
    ]


def _panel(sourced: tuple[PreferenceMatrix, Source], players: Sequence[Player], horizon: int, **more: Any) -> Panel:
    matrix, source = sourced
    return Panel(**{"name": matrix.name, **more}, environment=matrix, source=source, players=players,
                 checkpoints=logarithmic(horizon))  # fmt: skip


def _competitors(dataset: Dataset, horizon: int) -> list[Player]:
    """All, but those that the thesis leaves out among the 700 rankers of Yahoo for the time they take."""
    slow = ("DTS", "RMED1") if dataset is YAHOO else ()
    return [player for player in duelists(horizon) if player.label not in slow]


def _large_scale(data: Data, amount: Amount) -> list[Panel]:
    return [
        _panel(data.preferences(dataset, "navigational"), _competitors(dataset, amount.horizon), amount.horizon)
        for dataset in (MSLR, ISTELLA, YAHOO)
    ]


def _running_time(data: Data, amount: Amount) -> list[Panel]:
    return [
        _panel(data.preferences(dataset, "navigational"), duelists(amount.horizon), amount.horizon)
        for dataset in (MSLR, ISTELLA, YAHOO)
    ]


def _noise(data: Data, amount: Amount) -> list[Panel]:
    return [
        _panel(data.preferences(dataset, user), _competitors(dataset, amount.horizon), amount.horizon)
        for dataset in (MSLR, ISTELLA, YAHOO)
        for user in USERS
    ]


def _cycles(data: Data, amount: Amount) -> list[Panel]:
    source = Source("the thesis' own, by its definition", True)
    return [
        _panel((PreferenceMatrix(matrix.preferences, name=name), source), duelists(amount.horizon), amount.horizon)
        for name, matrix in (("Cycle", PreferenceMatrix.cycle()), ("Cycle2", PreferenceMatrix.cycle2()))
    ]


def _non_condorcet(data: Data, amount: Amount) -> list[Panel]:
    return [_panel(data.non_condorcet(), duelists(amount.horizon), amount.horizon)]


def _study(settings: Mapping[str, tuple[float, dict[str, Any]]], data: Data, amount: Amount) -> list[Panel]:
    """One panel for each setting of MergeDTS: its name, the value studied, and the parameters."""
    sourced = data.preferences(MSLR, "navigational")
    return [
        _panel(sourced, [duelist("MergeDTS", MergeDTS, **parameters)], amount.horizon, name=name, value=value)
        for name, (value, parameters) in settings.items()
    ]


LARGE_SCALE = Experiment(
    name="duels-large-scale",
    chapter=2,
    section="2.6.1, figure 2.1",
    title="Which of hundreds of rankers is best?",
    text="""Every feature of a learning-to-rank dataset is a ranker; two at a time are interleaved before navigational
    users. As in the thesis, DTS and RMED1 are left out among the 700 rankers of Yahoo.""",
    panels=_large_scale,
    amounts={
        "smoke": Amount(horizon=10**5, runs=4),
        "laptop": Amount(horizon=5 * 10**6, runs=6),
        "paper": Amount(horizon=10**8, runs=50),
    },
)

RUNNING_TIME = Experiment(
    name="duels-running-time",
    chapter=2,
    section="2.6.2, table 2.2",
    title="How long does a step take?",
    text="""Seconds of computation on the same problems. A policy that has settled on one ranker computes nothing more.
    For DTS and RMED1 among 700 rankers, and DTS among 220, the thesis extrapolated from shorter runs.""",
    panels=_running_time,
    amounts={
        "smoke": Amount(horizon=10**4, runs=4),
        "laptop": Amount(horizon=3 * 10**5, runs=4),
        "paper": Amount(horizon=10**8, runs=50),
    },
    records=(),
)

NOISE = Experiment(
    name="duels-noise",
    chapter=2,
    section="2.6.3, figure 2.2",
    title="Users whose clicks say less",
    text="""The same rankers before three kinds of users: the perfect one looks at everything and clicks by relevance,
    the navigational one stops early, the informational one clicks on much that is not relevant.""",
    panels=_noise,
    amounts={**LARGE_SCALE.amounts, "laptop": Amount(horizon=5 * 10**6, runs=4)},
)

CYCLE = Experiment(
    name="duels-cycle",
    chapter=2,
    section="2.6.4, figure 2.3",
    title="Rankers that run in a circle",
    text="""One of 20 rankers beats all others, and these beat each other in a ring: in Cycle with certainty, while the
    winner wins by a hair; in Cycle2 by a hair, while the winner wins clearly.""",
    panels=_cycles,
    amounts={
        "smoke": Amount(horizon=10**5, runs=6),
        "laptop": Amount(horizon=3 * 10**6, runs=30),
        "paper": Amount(horizon=10**7, runs=100),
    },
)

WITHOUT_CONDORCET = Experiment(
    name="duels-non-condorcet",
    chapter=2,
    section="2.6.5, figure 2.3",
    title="Without a ranker that beats all others",
    text="""32 rankers of MSLR, two of which beat 30 others each. Regret is the shortfall of a ranker's Copeland score,
    the share of other rankers that it beats.""",
    panels=_non_condorcet,
    amounts={
        "smoke": Amount(horizon=10**5, runs=6),
        "laptop": Amount(horizon=2 * 10**6, runs=60),
        "paper": Amount(horizon=10**7, runs=100),
    },
)

_SENSITIVITY: dict[Scale, Amount] = {
    "smoke": Amount(horizon=10**5, runs=4),
    "laptop": Amount(horizon=10**7, runs=40),
    "paper": Amount(horizon=10**7, runs=100),
}

ALPHA = Experiment(
    name="duels-alpha",
    chapter=2,
    section="2.6.6, figure 2.4",
    title="How much MergeDTS should explore",
    text="""alpha sets the width of the confidence bounds, above 1/2 in theory; batches of 4, as few as the theory
    allows, and the thesis' C = 4,726,908 (its formula gives 4,066,005 for alpha = 1.01 and epsilon = 0.01).""",
    panels=partial(
        _study,
        {
            f"alpha = {name}": (alpha, {"alpha": alpha, "batch_size": DEFAULT_BATCH, "c": DEFAULT_C})
            for name, alpha in ALPHAS.items()
        },
    ),
    amounts=_SENSITIVITY,
    parameter="alpha",
)

BATCH_SIZE = Experiment(
    name="duels-batch-size",
    chapter=2,
    section="2.6.6, figure 2.4",
    title="How large the batches of MergeDTS should be",
    text="M rankers are compared among themselves at a time; alpha = 0.8^6, C = 4,726,908.",
    panels=partial(
        _study,
        {f"M = {size}": (size, {"alpha": 0.8**6, "batch_size": size, "c": DEFAULT_C}) for size in BATCHES},
    ),
    amounts=_SENSITIVITY,
    parameter="M",
)

CONSTANT = Experiment(
    name="duels-c",
    chapter=2,
    section="2.6.6, figure 2.4",
    title="How early MergeDTS may trust its bounds",
    text="C is added to the step in the confidence bounds; alpha = 0.8^6, batches of 16.",
    panels=partial(_study, {f"C = {c:,}": (c, {"alpha": 0.8**6, "batch_size": 16, "c": c}) for c in CONSTANTS}),
    amounts=_SENSITIVITY,
    parameter="C",
)

EXPERIMENTS = (LARGE_SCALE, RUNNING_TIME, NOISE, CYCLE, WITHOUT_CONDORCET, ALPHA, BATCH_SIZE, CONSTANT)
