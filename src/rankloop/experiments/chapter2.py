"""Chapter 2, large-scale online ranker evaluation: MergeDTS and other dueling bandits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from rankloop.click_models.users import USERS
from rankloop.environments import PreferenceMatrix
from rankloop.experiments.data import ISTELLA, MSLR, YAHOO, Data, Dataset
from rankloop.experiments.declare import Amount, Experiment, Panel, Player, Scale, Source
from rankloop.experiments.parts import logarithmic, player
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


def duelists(amount: Amount, panel: str) -> list[Player]:
    """The policies that chapter 2 compares, with the parameters that section 2.5.6 found best."""
    return [
        player("MergeDTS", MergeDTS, alpha=0.8**6, batch_size=16, c=4_000_000),
        player("MergeRUCB", MergeRUCB, alpha=0.8**6, batch_size=8, c=400_000),
        player("DTS", DTS, alpha=0.8**7),
        player("RMED1", RMED1),
        player("Self-Sparring", SelfSparring),
        player("REX3", REX3, horizon=amount.of(panel, "REX3").horizon),
    ]


def _panel(sourced: tuple[PreferenceMatrix, Source], amount: Amount, *, without: Sequence[str] = ()) -> Panel:
    matrix, source = sourced
    players = [player for player in duelists(amount, matrix.name) if player.label not in without]
    return Panel(matrix.name, matrix, source, players, checkpoints=logarithmic(amount.horizon))


def _feasible(data: Data, dataset: Dataset, user: str, amount: Amount) -> Panel:
    """All, but those that the thesis leaves out among the 700 rankers of Yahoo for the time they take."""
    without = ("DTS", "RMED1") if dataset is YAHOO else ()
    return _panel(data.preferences(dataset, user), amount, without=without)


def _large_scale(data: Data, amount: Amount) -> list[Panel]:
    return [_feasible(data, dataset, "navigational", amount) for dataset in (MSLR, ISTELLA, YAHOO)]


def _running_time(data: Data, amount: Amount) -> list[Panel]:
    return [_panel(data.preferences(dataset, "navigational"), amount) for dataset in (MSLR, ISTELLA, YAHOO)]


def _noise(data: Data, amount: Amount) -> list[Panel]:
    return [_feasible(data, dataset, user, amount) for dataset in (MSLR, ISTELLA, YAHOO) for user in USERS]


def _cycles(data: Data, amount: Amount) -> list[Panel]:
    """With both rules by which RMED1 may choose an opponent: the published one, and that of the thesis' author."""
    source = Source("the thesis' own, by its definition", True)
    authors = player("RMED1-strongest", RMED1, opponent="strongest")
    found = []
    for name, matrix in (("Cycle", PreferenceMatrix.cycle()), ("Cycle2", PreferenceMatrix.cycle2())):
        panel = _panel((PreferenceMatrix(matrix.preferences, name=name), source), amount)
        found.append(replace(panel, players=[*panel.players, authors]))
    return found


def _non_condorcet(data: Data, amount: Amount) -> list[Panel]:
    return [_panel(data.non_condorcet(), amount)]


def _study(
    label: str, policy: Callable[..., Any], settings: Mapping[str, tuple[float, dict[str, Any]]],
    data: Data, amount: Amount,
) -> list[Panel]:  # fmt: skip
    """One panel for each setting of a policy: its name, the value studied, and the parameters."""
    matrix, source = data.preferences(MSLR, "navigational")
    steps = logarithmic(amount.horizon)
    return [
        Panel(name, matrix, source, [player(label, policy, **parameters)], value=value, checkpoints=steps)
        for name, (value, parameters) in settings.items()
    ]


_SMOKE = Amount(horizon=10**5, runs=4)

_LARGE: dict[Scale, Amount] = {
    "smoke": _SMOKE,
    "laptop": Amount(
        horizon=10**8,
        runs=20,
        others={
            "MSLR-*: Merge*": Amount(10**8, 100),
            "MSLR-Navigational: Self-Sparring": Amount(10**8, 6),
            "MSLR-*: Self-Sparring": Amount(10**8, 4),
            "ISTELLA-*: Self-Sparring": Amount(5 * 10**6, 4),
            "Yahoo-*: Self-Sparring": Amount(3 * 10**6, 4),
            "MSLR-Navigational: DTS": Amount(10**7, 4),
            "MSLR-*: DTS": Amount(3 * 10**6, 4),
            "ISTELLA-*: DTS": Amount(5 * 10**5, 4),
            "Yahoo-*: DTS": Amount(10**5, 4),
            "Yahoo-*: RMED1": Amount(10**6, 4),
            "*: RMED1": Amount(10**7, 4),
            "MSLR-*: REX3": Amount(10**8, 4),
            "*: REX3": Amount(10**7, 4),
        },
    ),
    "paper": Amount(
        horizon=10**8,
        runs=50,
        others={
            "ISTELLA-*: DTS": Amount(10**7, 50),
            "Yahoo-*: DTS": Amount(10**5, 50),
            "Yahoo-*: RMED1": Amount(10**5, 50),
        },
    ),
}
"""The same for all that play on these matrices, since where their settings coincide experiments share results.

MergeDTS and MergeRUCB settle, and compute nothing from there on: 10^8 steps of them cost no more than some millions.
"""

LARGE_SCALE = Experiment(
    name="duels-large-scale",
    chapter=2,
    section="2.6.1, figure 2.1",
    title="Which of hundreds of rankers is best?",
    text="""Every feature of a learning-to-rank dataset is a ranker; two at a time are interleaved before navigational
    users. As in the thesis, DTS and RMED1 are left out among the 700 rankers of Yahoo, and at its scale DTS plays a
    tenth of the steps among the 220 of ISTELLA.""",
    panels=_large_scale,
    amounts=_LARGE,
)

RUNNING_TIME = Experiment(
    name="duels-running-time",
    chapter=2,
    section="2.6.2, table 2.2",
    title="How long does a step take?",
    text="""Seconds of computation of the same runs. A policy that has settled on one ranker computes nothing more.
    For DTS and RMED1 among 700 rankers, and DTS among 220, the thesis extrapolated from shorter runs.""",
    panels=_running_time,
    amounts={**_LARGE, "smoke": Amount(horizon=10**4, runs=4)},
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
    amounts=_LARGE,
)

CYCLE = Experiment(
    name="duels-cycle",
    chapter=2,
    section="2.6.4, figure 2.3",
    title="Rankers that run in a circle",
    text="""One of 20 rankers beats all others, and these beat each other in a ring: in Cycle with certainty, while the
    winner wins by a hair; in Cycle2 by a hair, while the winner wins clearly. RMED1 chooses opponents by the rule that
    was published, RMED1-strongest by that of the thesis' author: always the strongest.""",
    panels=_cycles,
    amounts={
        "smoke": Amount(horizon=10**5, runs=6),
        "laptop": Amount(
            horizon=10**7,
            runs=30,
            others={
                "*: Merge*": Amount(10**7, 400),
                "*: RMED1*": Amount(10**7, 30),
                "*": Amount(3 * 10**6, 20),
            },
        ),
        "paper": Amount(horizon=10**7, runs=100),
    },
)

WITHOUT_CONDORCET = Experiment(
    name="duels-non-condorcet",
    chapter=2,
    section="2.6.5, figure 2.3",
    title="Without a ranker that beats all others",
    text="""32 rankers of MSLR, two of which beat 30 others each. The thesis does not name its 32: these are our own
    choice from a matrix of all. Regret is the shortfall of a ranker's Copeland score, the share of other rankers that
    it beats.""",
    panels=_non_condorcet,
    amounts={
        "smoke": Amount(horizon=10**5, runs=6),
        "laptop": Amount(
            horizon=10**7,
            runs=10,
            others={"*: MergeDTS": Amount(10**7, 400), "*: MergeRUCB": Amount(10**7, 100)},
        ),
        "paper": Amount(horizon=10**7, runs=100),
    },
)


def _sensitivity(runs: int, **others: int) -> dict[Scale, Amount]:
    """The amounts of a study of policies that settle: runs at laptop scale, of some panels more."""
    more = {f"{panel}: *": Amount(10**7, number) for panel, number in others.items()}
    return {
        "smoke": _SMOKE,
        "laptop": Amount(horizon=10**7, runs=runs, others=more),
        "paper": Amount(horizon=10**7, runs=100),
    }


def _alphas(**more: Any) -> dict[str, tuple[float, dict[str, Any]]]:
    return {f"alpha = {name}": (alpha, {"alpha": alpha, **more}) for name, alpha in ALPHAS.items()}


def _batch_sizes(**more: Any) -> dict[str, tuple[float, dict[str, Any]]]:
    return {f"M = {size}": (size, {"batch_size": size, **more}) for size in BATCHES}


def _constants(**more: Any) -> dict[str, tuple[float, dict[str, Any]]]:
    return {f"C = {c:,}": (c, {"c": c, **more}) for c in CONSTANTS}


ALPHA = Experiment(
    name="duels-alpha",
    chapter=2,
    section="2.6.6, figure 2.4",
    title="How much MergeDTS should explore",
    text="""alpha sets the width of the confidence bounds, above 1/2 in theory; batches of 4, as few as the theory
    allows, and the thesis' C = 4,726,908 (its formula gives 4,066,005 for alpha = 1.01 and epsilon = 0.01). The least
    values have more runs, to count those that lose the winner.""",
    panels=partial(_study, "MergeDTS", MergeDTS, _alphas(batch_size=DEFAULT_BATCH, c=DEFAULT_C)),
    amounts=_sensitivity(16, **{f"alpha = 0.8^{k}": 300 for k in (7, 8, 9)}),
    parameter="alpha",
)

BATCH_SIZE = Experiment(
    name="duels-batch-size",
    chapter=2,
    section="2.6.6, figure 2.4",
    title="How large the batches of MergeDTS should be",
    text="M rankers are compared among themselves at a time; alpha = 0.8^6, C = 4,726,908.",
    panels=partial(_study, "MergeDTS", MergeDTS, _batch_sizes(alpha=0.8**6, c=DEFAULT_C)),
    amounts=_sensitivity(30),
    parameter="M",
)

CONSTANT = Experiment(
    name="duels-c",
    chapter=2,
    section="2.6.6, figure 2.4",
    title="How early MergeDTS may trust its bounds",
    text="""C is added to the step in the confidence bounds; alpha = 0.8^6, batches of 16. The least value has more
    runs, to count those that lose the winner.""",
    panels=partial(_study, "MergeDTS", MergeDTS, _constants(alpha=0.8**6, batch_size=16)),
    amounts=_sensitivity(100, **{"C = 400": 800}),
    parameter="C",
)

ALPHA_MERGE_RUCB = Experiment(
    name="duels-alpha-merge-rucb",
    chapter=2,
    section="2.5.6",
    title="How much MergeRUCB should explore",
    text="""The study of MergeDTS repeated for MergeRUCB. The thesis only tells what it chose: alpha = 0.8^6.""",
    panels=partial(_study, "MergeRUCB", MergeRUCB, _alphas(batch_size=DEFAULT_BATCH, c=DEFAULT_C)),
    amounts=_sensitivity(20),
    parameter="alpha",
)

BATCH_SIZE_MERGE_RUCB = Experiment(
    name="duels-batch-size-merge-rucb",
    chapter=2,
    section="2.5.6",
    title="How large the batches of MergeRUCB should be",
    text="""The study of MergeDTS repeated for MergeRUCB; alpha = 0.8^6, C = 4,726,908. The thesis only tells what it
    chose: M = 8.""",
    panels=partial(_study, "MergeRUCB", MergeRUCB, _batch_sizes(alpha=0.8**6, c=DEFAULT_C)),
    amounts=_sensitivity(40),
    parameter="M",
)

CONSTANT_MERGE_RUCB = Experiment(
    name="duels-c-merge-rucb",
    chapter=2,
    section="2.5.6",
    title="How early MergeRUCB may trust its bounds",
    text="""The study of MergeDTS repeated for MergeRUCB; alpha = 0.8^6, batches of 8. The thesis only tells what it
    chose: C = 400,000.""",
    panels=partial(_study, "MergeRUCB", MergeRUCB, _constants(alpha=0.8**6, batch_size=8)),
    amounts=_sensitivity(60),
    parameter="C",
)

ALPHA_DTS = Experiment(
    name="duels-alpha-dts",
    chapter=2,
    section="2.5.6",
    title="How much DTS should explore",
    text="""The study of MergeDTS repeated for DTS. The thesis only tells what it chose: alpha = 0.8^7.""",
    panels=partial(_study, "DTS", DTS, _alphas()),
    amounts={
        "smoke": Amount(horizon=10**4, runs=4),
        "laptop": Amount(horizon=5 * 10**5, runs=4),
        "paper": Amount(horizon=10**7, runs=100),
    },
    parameter="alpha",
)

EXPERIMENTS = (
    LARGE_SCALE,
    RUNNING_TIME,
    NOISE,
    CYCLE,
    WITHOUT_CONDORCET,
    ALPHA,
    BATCH_SIZE,
    CONSTANT,
    ALPHA_MERGE_RUCB,
    BATCH_SIZE_MERGE_RUCB,
    CONSTANT_MERGE_RUCB,
    ALPHA_DTS,
)
