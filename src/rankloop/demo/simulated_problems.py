"""The problems of the demo that are simulated: built-in ones, and the policies that are compared on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from rankloop.datasets import synthetic_ratings
from rankloop.demo.simulated_answers import Results, compared, safety, settled
from rankloop.environments import PreferenceMatrix, hybrid_problems
from rankloop.environments.synthetic_queries import N_EPOCHS, built_in, drifting
from rankloop.experiments.chapter3 import TOP
from rankloop.policies import (
    BubbleRank,
    CascadeDUCB,
    CascadeHybrid,
    CascadeKLUCB,
    CascadeLinUCB,
    CascadeLSB,
    CascadeSWUCB,
    FixedRanking,
    MergeDTS,
    MergeRUCB,
    SelfSparring,
    TopRank,
)
from rankloop.policies.making import Maker
from rankloop.simulation.checkpoints import evenly, from_the_first

N_QUERIES = 3
"""Queries of the parts on lists."""

N_USERS = 24
"""Users of the part on diversity: enough to see a ratio of 1.5 of two policies, at a level of 1 %, 9 times in 10."""

FEWER_LISTS = 20
"""How many times fewer lists are shown where policies learn by features: they learn faster, and take longer to rank."""


class Part(NamedTuple):
    """One problem of the demo: its policies, each to be simulated in one environment, or for each of several."""

    title: str
    text: str
    """What the problem is about, and what a run of this length can show."""
    policies: Sequence[Any]
    environment: Any
    facts: dict[str, str]
    horizon: int
    runs: int
    answer: Callable[[Results], str]
    """What the results say, in words."""
    records: Sequence[str] = ("regret",)
    log: bool = False
    top: int | None = None
    unit: str = "lists"

    def checkpoints(self) -> list[int] | None:
        """When to record: lists at the end of every epoch too, and after the first hundred."""
        if self.unit != "lists":
            return None
        return from_the_first(self.horizon, 60) if self.log else evenly(self.horizon, 200)


def live_evaluation(horizon: int | None, runs: int | None) -> Iterator[Part]:
    """Which of many rankers is best?"""
    steps, n_runs = horizon or 1_000_000, runs or 6
    problems = (
        (
            "Which of 64 rankers is best?",
            """64 rankers are compared two at a time, by interleaving their lists and counting clicks. One of them beats
            every other by a little. A comparison of two bad rankers is a bad page for a user; regret adds up these
            costs.

            What this can show: within a million comparisons MergeDTS and MergeRUCB eliminate all rankers but one, and
            from then on they cost nothing. SelfSparring never stops exploring, so its regret never stops growing.""",
            PreferenceMatrix.like_features(64),
            settled,
        ),
        (
            "Twenty rankers with cyclic preferences",
            """One ranker beats the 19 others by a small margin, while these beat each other in a cycle, with certainty.
            The best ranker is not the one that wins most often, but the one that loses to no other.

            What this can show: a hundred thousand comparisons are enough for MergeDTS and MergeRUCB to find that ranker
            with certainty, so the rest of the million shows what it costs not to be certain.""",
            PreferenceMatrix.cycle(),
            lambda results: compared(results["MergeDTS"], results["SelfSparring"]),
        ),
    )
    for title, text, problem, answer in problems:
        policies = [policy(problem.n_arms) for policy in (MergeDTS, MergeRUCB, SelfSparring)]
        facts = {
            "problem": problem.name,
            "rankers": f"{problem.n_arms}",
            "the winner's closest rival": _closest(problem),
        }
        yield Part(title, text, policies, problem, facts, steps, n_runs, answer, unit="comparisons")


def _closest(problem: PreferenceMatrix) -> str:
    """How often the winner beats the ranker that comes nearest to it."""
    [winner] = problem.winners
    return f"beaten {sorted(problem.preferences[winner])[1]:.1%} of the time"


def safe_reranking(horizon: int | None, runs: int | None) -> Iterator[Part]:
    """How to improve a list without ever breaking it?"""
    steps, problems = horizon or 1_000_000, built_in(N_QUERIES, "PBM")
    yield Part(
        "Improve a list, never break it",
        """A search engine already shows a good list for each query, and clicks tell how to improve it. Most policies
        begin by trying all kinds of lists, including bad ones. BubbleRank only exchanges neighbours. The price of this
        safety is that it learns more slowly.

        What this can show: unsafe lists are shown early or never, so a million lists per query show how many there are.
        They also show whether the safe policy improves on production's list, which FixedRanking always shows.""",
        _makers(problems[0].n_items, steps, BubbleRank, TopRank, FixedRanking),
        problems,
        {
            "problem": f"{N_QUERIES} built-in queries, PBM",
            "items": f"{problems[0].n_items}",
            "counted": f"top {TOP}",
        },
        steps,
        runs or 5,
        safety,
        records=("violations", "ndcg", "regret"),
        log=True,
        top=TOP,
    )


def changing_preferences(horizon: int | None, runs: int | None) -> Iterator[Part]:
    """What to do when tastes change?"""
    steps = horizon or 100_000
    if steps < N_EPOCHS:
        return
    users = drifting(built_in(N_QUERIES, "CM"), steps, 0)
    yield Part(
        "Follow users whose tastes change",
        f"""In every second epoch, grey in the picture, three items that nobody wanted become what everybody wants, and
        fall back at its end. A policy that remembers everything trusts old clicks. CascadeSWUCB uses only the latest
        lists, and CascadeDUCB discounts old ones: they lose a little after each change, and then recover.

        What this can show: ten epochs of {steps // N_EPOCHS:,} lists, so nine changes. What counts is the regret after
        the first of them; in the first epoch nothing has changed yet, and CascadeKLUCB is best there.""",
        _makers(3, steps, CascadeSWUCB, CascadeDUCB, CascadeKLUCB),
        users,
        {"problem": f"{N_QUERIES} built-in queries, CM, drifting", "items": f"{users[0].n_items}", "shown": "3"},
        steps,
        runs or 5,
        lambda results: " ".join(
            compared(results[name], results["CascadeKLUCB"], "regret after the first change", after_change=True)
            for name in ("CascadeSWUCB", "CascadeDUCB")
        ),
    )


def relevance_and_diversity(horizon: int | None, runs: int | None) -> Iterator[Part]:
    """How to show what is relevant, but not ten of the same?"""
    steps = max(1, (horizon or 100_000) // FEWER_LISTS)
    users = hybrid_problems(synthetic_ratings(), trade_off=0.5, n_users=N_USERS if runs is None else N_QUERIES)
    others = ("CascadeLSB", "CascadeLinUCB")
    yield Part(
        "Show relevant items, but not ten of the same kind",
        f"""There are a thousand films with genres. Users like a film for its relevance, and for topics that the list
        still lacks: a second crime story attracts less than the first. CascadeLinUCB learns relevance and ignores
        topics; CascadeLSB covers topics and ignores relevance; CascadeHybrid learns both at once.

        What this can show: policies are paired by user, and {N_USERS} users are enough to see one policy have 1.5 times
        the regret of another. Smaller differences need more users.""",
        _makers(10, steps, CascadeHybrid, CascadeLinUCB, CascadeLSB),
        users,
        {"problem": f"{len(users)} users of a generated catalogue", "items": f"{users[0].n_items:,}", "shown": "10"},
        steps,
        runs or 1,
        lambda results: " ".join(compared(results["CascadeHybrid"], results[name]) for name in others),
    )


def _makers(n_positions: int, horizon: int, *policies: Callable[..., Any]) -> list[Maker]:
    """What makes each of these policies for a query or a user."""
    return [Maker(policy, n_positions=n_positions, horizon=horizon) for policy in policies]


PARTS: tuple[Callable[[int | None, int | None], Iterator[Part]], ...] = (
    live_evaluation,
    safe_reranking,
    changing_preferences,
    relevance_and_diversity,
)
"""Each problem that the package solves adds one or more parts."""
