"""Chapter 3, safe online learning to re-rank: BubbleRank and other click bandits."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np

from rankloop.environments import ClickProblem, PositionBasedModel
from rankloop.environments.synthetic_queries import N_ITEMS
from rankloop.experiments.data import Data
from rankloop.experiments.declare import Amount, Experiment, Panel, Player, Scale, Source
from rankloop.experiments.parts import logarithmic, player
from rankloop.policies import BatchRank, BubbleRank, CascadeKLUCB, FixedRanking, TopRank

CLICK_MODELS = ("CM", "DCM", "PBM")
TOP = 5
"""Positions that count, of the ten that are shown."""

WRONG_PAIRS = tuple(range(9, 37, 3))
"""|V_0| of the ten initial lists of a query: nearly all random lists of ten items lie between the outer two."""

HALVINGS = range(1, 6)

STEPS = 5 * 10**6
"""Horizon of the thesis: policies are given it even where only their first steps are played."""


def rerankers(horizon: int) -> list[Player]:
    """The policies that chapter 3 compares; all show ten of ten items and are told the horizon."""
    return [
        player("BubbleRank", BubbleRank, N_ITEMS, horizon=horizon),
        player("CascadeKL-UCB", CascadeKLUCB, N_ITEMS),
        player("BatchRank", BatchRank, N_ITEMS, horizon=horizon),
        player("TopRank", TopRank, N_ITEMS, horizon=horizon),
        player("Production", FixedRanking, N_ITEMS),
    ]


def _click_models(labels: tuple[str, ...], data: Data, amount: Amount) -> list[Panel]:
    found = []
    for click_model in CLICK_MODELS:
        problems, source = data.queries(click_model, amount.problems or 1)
        players = [player for player in rerankers(amount.horizon) if player.label in labels]
        found.append(Panel(click_model, problems, source, players, top=TOP, checkpoints=logarithmic(amount.horizon)))
    return found


def _initial_lists(click_model: str, data: Data, amount: Amount) -> list[Panel]:
    problems, source = data.queries(click_model, amount.problems or 1)
    [bubble_rank] = [player for player in rerankers(amount.horizon) if player.label == "BubbleRank"]
    return [
        Panel(
            name=f"|V_0| = {wrong}",
            environment=[_with_wrong_pairs(problem, wrong, number) for number, problem in enumerate(problems)],
            source=source,
            players=[bubble_rank],
            value=wrong,
            top=TOP,
            checkpoints=logarithmic(amount.horizon),
        )
        for wrong in WRONG_PAIRS
    ]


def _with_wrong_pairs(problem: ClickProblem, wrong: int, number: int) -> ClickProblem:
    """The query with a random initial list that has so many pairs in the wrong order."""
    best_first = np.argsort(-problem.environment.attraction, kind="stable")
    order = with_inversions(len(best_first), wrong, np.random.default_rng((number, wrong)))
    return replace(problem, initial=best_first[order].tolist())


def with_inversions(n: int, inversions: int, draw: np.random.Generator) -> list[int]:
    """A random order of 0..n-1 with that many inversions, each such order as likely as any other.

    >>> with_inversions(4, 6, np.random.default_rng(0))
    [3, 2, 1, 0]
    """
    ways = _orders(n, inversions)
    if not ways[n][inversions]:
        raise ValueError(f"no order of {n} items has {inversions} inversions")
    left, jumps = inversions, []
    for m in range(n, 0, -1):  # the number m - 1 jumps over so many of those before it
        nth = draw.integers(ways[m][left])
        jump = 0
        while nth >= ways[m - 1][left - jump]:
            nth -= ways[m - 1][left - jump]
            jump += 1
        jumps.append(jump)
        left -= jump
    order: list[int] = []
    for number, jump in enumerate(reversed(jumps)):
        order.insert(number - jump, number)
    return order


@cache
def _orders(n: int, inversions: int) -> list[list[int]]:
    """How many orders of m numbers have k inversions, for all m up to n and k up to `inversions`."""
    ways = [[1] + [0] * inversions]
    for m in range(1, n + 1):
        ways.append([sum(ways[-1][max(0, k - m + 1) : k + 1]) for k in range(inversions + 1)])
    return ways


def _examination(data: Data, amount: Amount) -> list[Panel]:
    best_last = [*range(1, N_ITEMS), 0]
    policy = player("BubbleRank", BubbleRank, N_ITEMS, horizon=amount.horizon)
    return [
        Panel(
            name=f"chi_min = 0.5^{i}",
            environment=[ClickProblem(
                "synthetic",
                PositionBasedModel([0.9] + [0.5] * 9, [0.9] * 8 + [0.5**i] * 2, name=f"0.5^{i}"),
                best_last,
                [str(item) for item in range(N_ITEMS)],
            )],
            source=Source("the thesis' own, by its definition", True),
            players=[policy],
            value=0.5**i,
            top=TOP,
            checkpoints=logarithmic(amount.horizon),
        )
        for i in HALVINGS
    ]  # fmt: skip


def _first_lists(data: Data, amount: Amount) -> list[Panel]:
    found = []
    for click_model in CLICK_MODELS:
        problems, source = data.queries(click_model, amount.problems or 1)
        steps = (*range(1, 10), *logarithmic(amount.horizon))
        found.append(Panel(click_model, problems, source, rerankers(STEPS), top=TOP, checkpoints=sorted(set(steps))))
    return found


_AMOUNTS: dict[Scale, Amount] = {
    "smoke": Amount(horizon=2 * 10**5, runs=1, problems=8),
    "laptop": Amount(horizon=STEPS, runs=2, problems=20),
    "paper": Amount(horizon=STEPS, runs=10, problems=100),
}

REGRET = Experiment(
    name="rerank-regret",
    chapter=3,
    section="3.5.2, figure 3.1",
    title="Improve a list, at what cost",
    text="""Ten items a query, all shown; the first five positions count. Users click by one of three models, fitted to
    a log of Yandex. Production's list is where BubbleRank starts, and where Production stays.""",
    panels=partial(_click_models, ("BubbleRank", "CascadeKL-UCB", "BatchRank", "TopRank", "Production")),
    amounts=_AMOUNTS,
)

VIOLATIONS = Experiment(
    name="rerank-violations",
    chapter=3,
    section="3.5.3, figure 3.2",
    title="Improve a list, never break it",
    text="""A list violates safety if it has over K/2 more pairs in the wrong order than production's. Lists so far that
    did.""",
    panels=partial(_click_models, ("BubbleRank", "CascadeKL-UCB", "BatchRank", "TopRank")),
    amounts=_AMOUNTS,
    records=("violations",),
)

NDCG = Experiment(
    name="rerank-ndcg",
    chapter=3,
    section="3.5.5, figure 3.4",
    title="How good the lists are that users see",
    text="NDCG of the first five positions of the list at each step, the attraction of an item being its gain.",
    panels=partial(_click_models, ("BubbleRank", "BatchRank", "TopRank", "Production")),
    amounts=_AMOUNTS,
    records=("ndcg",),
)


FIRST_LISTS = Experiment(
    name="rerank-first-lists",
    chapter=3,
    section="3.5.2 to 3.5.5",
    title="The first thousand lists",
    text="""The beginning of the same runs, of more queries and with more runs than whole ones allow: policies expect
    five million steps, as in the thesis, but play the first thousand. What the thesis says of early steps is judged
    here.""",
    panels=_first_lists,
    amounts={
        "smoke": Amount(horizon=1000, runs=5, problems=8),
        "laptop": Amount(horizon=1000, runs=50, problems=100),
        "paper": Amount(horizon=1000, runs=100, problems=100),
    },
    records=("violations", "regret", "ndcg"),
)


def _initial_lists_of(click_model: str) -> Experiment:
    return Experiment(
        name=f"rerank-initial-{click_model.lower()}",
        chapter=3,
        section="3.5.4, figure 3.3",
        title=f"Where the list starts, {click_model}",
        text="""BubbleRank from ten random lists of each query. Where the thesis draws them from all lists, these have a
        given number |V_0| of pairs in the wrong order, so that each number has as many lists.""",
        panels=partial(_initial_lists, click_model),
        amounts={
            "smoke": Amount(horizon=10**5, runs=1, problems=6),
            "laptop": Amount(horizon=STEPS, runs=2, problems=15),
            "paper": Amount(horizon=STEPS, runs=2, problems=100),
        },
        parameter="|V_0|",
    )


INITIAL_LISTS = tuple(_initial_lists_of(click_model) for click_model in CLICK_MODELS)

EXAMINATION = Experiment(
    name="rerank-examination",
    chapter=3,
    section="3.5.4, figure 3.3",
    title="A good item where few look",
    text="""One item of attraction 0.9 stands last, behind nine of 0.5; the last two positions are seen with probability
    chi_min, the others with 0.9. The thesis does not say how many runs it made.""",
    panels=_examination,
    amounts={
        "smoke": Amount(horizon=10**6, runs=4),
        "laptop": Amount(horizon=10**6, runs=50),
        "paper": Amount(horizon=10**6, runs=100),
    },
    parameter="chi_min",
)

EXPERIMENTS = (REGRET, VIOLATIONS, FIRST_LISTS, *INITIAL_LISTS, EXAMINATION, NDCG)
