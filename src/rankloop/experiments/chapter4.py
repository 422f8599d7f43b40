"""Chapter 4, cascading non-stationary bandits: CascadeDUCB and CascadeSWUCB."""

from __future__ import annotations

from rankloop.environments.synthetic_queries import drifting
from rankloop.experiments.data import Data
from rankloop.experiments.declare import Amount, Experiment, Panel, Player
from rankloop.experiments.parts import even, player
from rankloop.policies import BatchRank, BubbleRank, CascadeDUCB, CascadeKLUCB, CascadeSWUCB, RankedEXP3

SHOWN = 3
"""Positions, of ten items."""

SINGLE_QUERIES = 20

SEED = 0
"""Seed for the choice of the items that rise; the number of the query is added to it."""


def _forgetting(horizon: int) -> list[Player]:
    """With the memory that section 4.5 takes: gamma = 1 - 1 / (4 sqrt n) and tau = 2 sqrt(n ln n)."""
    return [
        player("CascadeDUCB", CascadeDUCB, SHOWN, horizon=horizon, epsilon=0.5),
        player("CascadeSWUCB", CascadeSWUCB, SHOWN, horizon=horizon, epsilon=0.5),
    ]


def _average(data: Data, amount: Amount) -> list[Panel]:
    problems, source = data.queries("CM", amount.problems or 1)
    players = [
        *_forgetting(amount.horizon),
        player("RankedEXP3", RankedEXP3, SHOWN, horizon=amount.horizon),
        player("CascadeKL-UCB", CascadeKLUCB, SHOWN),
        player("BatchRank", BatchRank, SHOWN, horizon=amount.horizon),
    ]
    users = drifting(problems, amount.horizon, SEED)
    return [Panel("all queries", users, source, players, checkpoints=even(amount.horizon))]


def _single(data: Data, amount: Amount) -> list[Panel]:
    problems, source = data.queries("CM", SINGLE_QUERIES)
    players = [
        *_forgetting(amount.horizon),
        player("RankedEXP3", RankedEXP3, SHOWN, horizon=amount.horizon),
        player("CascadeKL-UCB", CascadeKLUCB, SHOWN),
        player("BubbleRank", BubbleRank, SHOWN, horizon=amount.horizon),
    ]
    return [
        Panel(f"query {problem.query}", users, source, players, checkpoints=even(amount.horizon))
        for problem, users in zip(problems, drifting(problems, amount.horizon, SEED), strict=True)
    ]


REGRET = Experiment(
    name="drift-regret",
    chapter=4,
    section="4.5, figure 4.1",
    title="Users who change their minds",
    text="""Three of ten items are shown. In every second of ten epochs three random items that nobody wanted rise to an
    attraction of 0.9, and fall back at its end; the three best stay.""",
    panels=_average,
    amounts={
        "smoke": Amount(horizon=10**5, runs=1, problems=10),
        "laptop": Amount(horizon=10**5, runs=10, problems=100),
        "paper": Amount(horizon=10**5, runs=10, problems=100),
    },
    log=False,
)

SINGLE = Experiment(
    name="drift-single-queries",
    chapter=4,
    section="4.8, figure 4.2",
    title="Users who change their minds, query by query",
    text="The same for each of 20 queries, with BubbleRank in place of BatchRank, as the thesis' caption has it.",
    panels=_single,
    amounts={
        "smoke": Amount(horizon=10**5, runs=3),
        "laptop": Amount(horizon=10**5, runs=20),
        "paper": Amount(horizon=10**5, runs=20),
    },
    log=False,
)

EXPERIMENTS = (REGRET, SINGLE)
