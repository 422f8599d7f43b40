"""What the thesis' chapter 5 observes of the feature policies, observed here on a few users.

Seeds are fixed, so these tests always end alike. Differences are paired over users, and must be more than two standard
errors; the reference of the issue that asked for them saw gaps of at least a third in the same direction.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from shared_data import SHARED

import rankloop as rl
from rankloop.datasets import read_ratings, synthetic_ratings

MOVIELENS = SHARED / "movielens"

MAKE = {
    "hybrid": lambda problem: rl.CascadeHybrid(problem.relevance, problem.topics, 10),
    "linear": lambda problem: rl.CascadeLinUCB(problem.relevance, 10),
    "linear full": lambda problem: rl.CascadeLinUCBFull(problem.relevance, problem.topics, 10),
    "topics": lambda problem: rl.CascadeLSB(problem.topics, 10),
}


@pytest.fixture(scope="module", params=["made-up", "movielens"])
def ratings(request):
    if request.param == "made-up":
        return synthetic_ratings()
    if not MOVIELENS.exists():
        pytest.skip("needs ../shared/data")
    return movielens()


@cache
def movielens():
    return read_ratings(MOVIELENS)


def regrets(ratings, trade_off: float, names: list[str], steps: int) -> dict[str, np.ndarray]:
    problems = rl.hybrid_problems(ratings, trade_off=trade_off, n_users=6)
    return {
        name: rl.simulate(MAKE[name], problems, horizon=steps, checkpoints=[steps], progress=False).regret[:, 0]
        for name in names
    }


def gap(more: np.ndarray, less: np.ndarray) -> float:
    """By how many standard errors."""
    difference = more - less
    return float(difference.mean() / (difference.std(ddof=1) / np.sqrt(len(difference))))


@pytest.mark.skipif(not MOVIELENS.exists(), reason="needs ../shared/data")
def test_the_hybrid_is_best_where_users_want_both() -> None:
    """The linear policy that is told topics keeps up for some thousand lists, and falls behind then.

    With fewer films than the thousand of the thesis it does so sooner.
    """
    films = movielens().most_active(n_items=400)
    found = regrets(films, 0.2, ["hybrid", "linear", "linear full", "topics"], steps=10_000)
    for name in ("linear", "linear full", "topics"):
        assert gap(found[name], found["hybrid"]) > 2, (name, {k: v.mean() for k, v in found.items()})


def test_the_specialist_is_best_where_users_want_diversity_alone(ratings) -> None:
    found = regrets(ratings, 0.0, ["hybrid", "topics", "linear"], steps=1000)
    assert gap(found["hybrid"], found["topics"]) > 2
    assert gap(found["linear"], found["hybrid"]) > 2


def test_topics_alone_are_hopeless_where_users_want_relevance_alone(ratings) -> None:
    found = regrets(ratings, 1.0, ["hybrid", "topics", "linear"], steps=2000)
    assert gap(found["topics"], found["hybrid"]) > 2
    assert found["hybrid"].mean() < 2 * found["linear"].mean()  # behind the specialist, but not by much
