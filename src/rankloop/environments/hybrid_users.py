"""Chapter 5's simulated users, whose tastes are estimated from ratings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankloop.checks import check_seed, check_whole
from rankloop.datasets import Attractive, Ratings
from rankloop.environments.hybrid_cascade import HybridCascade
from rankloop.environments.problems import HybridProblem
from rankloop.kernels.arrays import Floats


def hybrid_problems(
    ratings: Ratings | Attractive,
    *,
    trade_off: float,
    n_topics: int | None = None,
    n_features: int = 10,
    n_users: int | None = None,
    seed: int = 0,
    scaled: bool = True,
) -> list[HybridProblem]:
    """One problem for each of some users, whose tastes follow from ratings as in chapter 5.

    Users are split evenly at random. The first half is what a recommender knows: relevance features are the item side
    of the singular value decomposition of who found what attractive, and topic coverage the share of users who found
    an item attractive among those who found anything in the topic attractive. The second half are the users to be
    simulated: `beta` is the least-squares fit of what the user found attractive by the relevance features, scaled to
    length 1; `theta` the share of each topic in what the user found attractive; and the coverage that the users
    perceive is the one of their half. Those who found nothing attractive are left out.

    Attractions below 0 are common, since `z'beta` often is: they are clipped without a warning, and
    `problem.environment.clipped` counts them.

    Parameters
    ----------
    ratings
        Ratings, of which the thousand most active users and the thousand most rated items are taken; or what
        `most_active` returned, for other numbers.
    trade_off
        The thesis' lambda, from 0 (only topics count) to 1 (only relevance counts).
    n_topics
        Number of topics: those with the most items. All if not given, or as `most_active` chose.
    n_features
        Number of relevance features.
    n_users
        Number of users, of the second half in random order; all if not given.
    seed
        Seed of the split.
    scaled
        Whether singular vectors are multiplied by their singular values before each item's features are scaled to
        length 1, which gives the first ones more weight. That is our choice: the thesis only says that it takes the
        features from the decomposition and its 10 largest singular values. Without, features are the vectors alone.
        Items that nobody in the first half found attractive have features 0.

    Examples
    --------
    >>> from rankloop.datasets import synthetic_ratings
    >>> problems = hybrid_problems(synthetic_ratings(200, 100), trade_off=0.5, n_topics=10, n_users=3)
    >>> problem = problems[0]
    >>> problem.environment
    HybridCascade(100 items, name='user 154')
    >>> problem.relevance.shape, problem.topics.shape, problem.titles[0]
    ((100, 10), (100, 10), 'The Distant Circus (1966)')
    """
    if not isinstance(ratings, Ratings | Attractive):
        raise ValueError(f"ratings must be Ratings, or what their most_active gave, not {ratings!r}")
    if isinstance(ratings, Ratings):
        matrices = ratings.most_active(n_topics=n_topics)
    elif n_topics is None or n_topics == ratings.item_topics.shape[1]:
        matrices = ratings
    else:
        raise ValueError(f"n_topics = {n_topics!r}, but most_active chose {ratings.item_topics.shape[1]}: say it there")
    liked, belongs = matrices.attractive.astype(np.float64), matrices.item_topics.astype(np.float64)
    half = len(liked) // 2
    check_whole("n_features", n_features, 1, min(half, liked.shape[1]))
    check_seed(seed)
    if n_users is not None:
        check_whole("n_users", n_users, 1)
    order = np.random.default_rng(seed).permutation(len(liked))
    known, tested = order[:half], order[half:]
    relevance = relevance_features(liked[known], n_features, scaled=scaled)
    told, perceived = topic_coverage(liked[known], belongs), topic_coverage(liked[tested], belongs)
    for shared in (relevance, told, perceived):
        shared.flags.writeable = False
    tested = tested[liked[tested].any(axis=1)][:n_users]
    if not len(tested):
        raise ValueError("no user of the second half found anything attractive")
    problems = []
    for user in tested:
        environment = HybridCascade(
            relevance,
            perceived,
            _unit(np.linalg.lstsq(relevance, liked[user], rcond=None)[0]),
            topic_preferences(liked[user], belongs),
            trade_off,
            name=f"user {matrices.users[user]}",
            warn=False,
        )
        problems.append(
            HybridProblem(int(matrices.users[user]), environment, relevance, told, matrices.titles, matrices.topics)
        )
    return problems


def relevance_features(attractive: npt.ArrayLike, n_features: int = 10, *, scaled: bool = True) -> Floats:
    """The item side of a singular value decomposition of users by items, each item's features scaled to length 1.

    The sign of each feature is such that its largest entry is positive. With `scaled`, singular vectors are multiplied
    by their singular values first. Items that nobody found attractive have features 0.
    """
    _, strength, items = np.linalg.svd(np.asarray(attractive, np.float64), full_matrices=False)
    # Vectors that go with a singular value of 0 are arbitrary.
    weight = np.where(strength > 1e-10 * strength[0], strength if scaled else 1.0, 0.0)
    features = items[:n_features].T * weight[:n_features]
    features *= np.sign(features[np.abs(features).argmax(axis=0), np.arange(features.shape[1])])
    return np.ascontiguousarray(_unit(features))


def topic_coverage(attractive: npt.ArrayLike, item_topics: npt.ArrayLike) -> Floats:
    """How much of each topic an item covers (the thesis' x).

    Of the users who found something in the topic attractive, the share that found this item so; 0 for topics that are
    not the item's or that nobody liked.
    """
    liked, belongs = np.asarray(attractive, np.float64), np.asarray(item_topics, np.float64)
    fans = (liked @ belongs > 0).sum(axis=0)
    return np.asarray(liked.sum(axis=0)[:, None] * belongs / np.maximum(fans, 1))


def topic_preferences(attractive: npt.ArrayLike, item_topics: npt.ArrayLike) -> Floats:
    """The share of each topic in what one user found attractive (the thesis' theta); 0 if no such item has a topic."""
    counts = np.asarray(attractive, np.float64) @ np.asarray(item_topics, np.float64)
    return np.asarray(counts / max(counts.sum(), 1.0))


def _unit(vectors: Floats) -> Floats:
    """Scaled to length 1, but for those of length 0 up to rounding."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(np.where(length > 1e-12, vectors / np.maximum(length, 1e-12), 0.0))
