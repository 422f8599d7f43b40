"""The hybrid cascade model: users who look for what is relevant and, the further down, for what is new."""

from __future__ import annotations

import math
import warnings
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankloop.arrays import SLACK, check_features, check_topics, refuse_any
from rankloop.checks import check_probability, check_whole
from rankloop.environments.checks import check_list
from rankloop.environments.click_environment import ClickEnvironment
from rankloop.environments.hybrid_lists import find_best_list, find_greedy_list
from rankloop.kernels import gains, inlined, regret, respond, step, uniform
from rankloop.kernels.arrays import Clicks, Floats, Ints, Items, Stream

LONGEST_LIST = 1000
MOST_LISTS = 10**8
"""How many lists are compared one by one at most; it takes about a second."""


class HybridClippingWarning(UserWarning):
    """Some attractions lie outside [0, 1] and are clipped, so that they are no longer linear in the features."""


class HybridState(NamedTuple):
    relevant: Floats  # trade_off z'beta of each item
    begin: Ints  # where the topics of each item begin in the three arrays that follow
    topic: Ints
    coverage: Floats
    worth: Floats  # what that coverage adds to the attraction where nothing above covers the topic
    uncovered: Floats  # room to work in: how much of each topic the items above leave open
    attraction: Floats
    benchmark: Floats
    top: int


@inlined
def _attract(environment: HybridState, item: int) -> float:
    """The attraction of the next item of a list, before it is clipped; its topics are then covered."""
    uncovered = environment.uncovered
    attraction = environment.relevant[item]
    for s in range(environment.begin[item], environment.begin[item + 1]):
        topic = environment.topic[s]
        attraction += environment.worth[s] * uncovered[topic]
        uncovered[topic] *= 1.0 - environment.coverage[s]
    return attraction


@inlined
def _uncover(uncovered: Floats) -> None:
    for j in range(len(uncovered)):
        uncovered[j] = 1.0


@step(respond, HybridState, counted=False)
def _respond(environment: HybridState, rng: Stream, items: Items, feedback: Clicks) -> None:
    _uncover(environment.uncovered)
    for k in range(len(items)):
        feedback[k] = 0
    for k in range(len(items)):
        if uniform(rng) < _attract(environment, items[k]):
            feedback[k] = 1
            break


@step(regret, HybridState, counted=False)
def _regret(environment: HybridState, items: Items) -> float:
    _uncover(environment.uncovered)
    n = min(len(items), environment.top)
    unclicked = 1.0
    for k in range(n):
        unclicked *= 1.0 - min(max(_attract(environment, items[k]), 0.0), 1.0)
    return environment.benchmark[n] - (1.0 - unclicked)


@step(gains, HybridState, counted=True)
def _gains(environment: HybridState) -> Floats:
    return environment.attraction


class Clipped(NamedTuple):
    """How many items' attraction at the first position was below 0, and above 1, before it was clipped."""

    below: int
    above: int


class AttractionParts(NamedTuple):
    """Why each item of a list attracts: arrays with one entry, or row, for each position.

    Attributes
    ----------
    attraction
        The probability of a click on the item once it is seen: `relevance + novelty`, clipped to [0, 1].
    relevance
        Contribution of its relevance, `trade_off z'beta`.
    novelty
        Contribution of the topics that it adds to the items above it, `(1 - trade_off) omega'theta`.
    gain
        Amount of each topic that it adds, `omega`.
    """

    attraction: Floats
    relevance: Floats
    novelty: Floats
    gain: Floats


class HybridCascade(ClickEnvironment):
    """Users of the cascade model who want lists that are relevant and cover the topics they like.

    They scan a list from the top, click the first item that attracts them, and leave. An item with relevance features z
    and topic coverage x attracts with probability `trade_off z'beta + (1 - trade_off) omega'theta`, clipped to [0, 1],
    where `omega = x * prod (1 - x_b)` over the items b above it is what it adds to each topic. The reward of a list is
    the probability of a click. Regret is counted against the greedy list, since the best one cannot be found
    efficiently.

    Parameters
    ----------
    relevance
        Relevance features z, one row for each item.
    topics
        Coverage of each topic, from 0 to 1, one row for each item.
    beta
        Weight that the user gives to each relevance feature.
    theta
        Weight that the user gives to each topic.
    trade_off
        The thesis' lambda, from 0 (only topics count) to 1 (only relevance counts).
    name
        Name of the problem in tables and plots.
    warn
        Whether to warn, with a `HybridClippingWarning`, if attractions at the first position are clipped.

    Attributes
    ----------
    attraction
        The attraction of each item at the first position.
    clipped
        Number of these that were below 0, and above 1, before they were clipped. At lower positions, where items are
        less novel, more of them can be below 0.

    Examples
    --------
    >>> users = HybridCascade([[1, 0], [1, 0], [0, 1]], [[0.8, 0], [0.9, 0], [0, 0.5]], [0.4, 0.3], [0.6, 0.4], 0.5)
    >>> users.greedy_list(2), users.optimal_list(2)
    ([1, 2], [1, 2])
    >>> round(users.regret([0, 1]), 4)
    0.0203
    >>> why = users.explain([0, 1])
    >>> why.relevance.round(3).tolist(), why.novelty.round(3).tolist()
    ([0.2, 0.2], [0.24, 0.054])
    >>> users.click([1, 2], seed=3)
    [1, 0]

    References
    ----------
    C. Li, H. Feng, M. de Rijke. Cascading Hybrid Bandits: Online Learning to Rank for Relevance and Diversity.
    RecSys 2020.
    """

    offers = (*ClickEnvironment.offers, "relevance", "topics")

    def __init__(
        self,
        relevance: npt.ArrayLike,
        topics: npt.ArrayLike,
        beta: npt.ArrayLike,
        theta: npt.ArrayLike,
        trade_off: float,
        *,
        name: str = "hybrid CM",
        warn: bool = True,
    ) -> None:
        self.relevance = check_features("relevance", relevance)
        self.topics = check_topics("topics", topics)
        if not len(self.relevance):
            raise ValueError(f"relevance must have a row for each item, and not be of shape {self.relevance.shape}")
        if len(self.relevance) != len(self.topics):
            raise ValueError(
                f"relevance has {len(self.relevance)} rows and topics {len(self.topics)}: give one an item"
            )
        self.beta = _check_weights("beta", beta, self.relevance.shape[1])
        self.theta = _check_weights("theta", theta, self.topics.shape[1])
        self.trade_off = check_probability("trade_off", trade_off)
        items, topic = np.nonzero(self.topics)
        coverage = self.topics[items, topic]
        self._relevant = self.trade_off * (self.relevance @ self.beta)
        self._begin = np.searchsorted(items, np.arange(len(self.topics) + 1)).astype(np.int64)
        self._topic = topic.astype(np.int64)
        self._coverage = coverage
        self._worth = (1.0 - self.trade_off) * coverage * self.theta[topic]
        first = self._relevant + np.bincount(items, self._worth, len(self.topics))
        super().__init__(np.clip(first, 0.0, 1.0), name)
        self.n_positions = min(self.n_items, LONGEST_LIST)
        self.clipped = Clipped(int((first < -SLACK).sum()), int((first > 1.0 + SLACK).sum()))
        if warn and any(self.clipped):
            warnings.warn(
                f"the attraction of {sum(self.clipped)} of {self.n_items} items at the first position is clipped to "
                f"[0, 1]: {self.clipped.below} below 0, {self.clipped.above} above 1 (they run from {first.min():.3g} "
                f"to {first.max():.3g})",
                HybridClippingWarning,
                stacklevel=2,
            )

    def explain(self, ranking: Any) -> AttractionParts:
        """The attraction of each item of a list, and what relevance and novelty contribute to it."""
        items = check_list(ranking, self.n_items, self.n_positions)
        covers = self.topics[items]
        above = np.ones_like(covers)
        np.cumprod(1.0 - covers[:-1], axis=0, out=above[1:])
        gain = covers * above
        relevance, novelty = self._relevant[items], (1.0 - self.trade_off) * (gain @ self.theta)
        return AttractionParts(np.clip(relevance + novelty, 0.0, 1.0), relevance, novelty, gain)

    def reward(self, ranking: Any, top: int | None = None) -> float:
        """The probability of a click on a list, or on its first `top` positions."""
        return self._reward(self.explain(ranking).attraction[: self._check_top(top)])

    def regret(self, ranking: Any, top: int | None = None) -> float:
        """How much less reward the list has than the greedy list of its length, over the first `top` positions.

        It is below 0 for lists that are better than the greedy one.
        """
        n = min(len(check_list(ranking, self.n_items, self.n_positions)), self._check_top(top))
        return float(self.optimal_rewards[n]) - self.reward(ranking, top)

    def greedy_list(self, n_positions: int) -> list[int]:
        """The list that has, at each position, the item which attracts most below those above it.

        Attractions are compared before they are clipped: of several that are clipped to 1, or to 0, the largest comes
        first. Only those that are equal even then go by number, the lower one first.
        """
        return self._greedy(self._check_length(n_positions))[0].tolist()

    def optimal_list(self, n_positions: int | None = None) -> list[int]:
        """The best of all lists of that length, found by trying each; refused where there are more than 10^8."""
        n = self._check_length(self.n_items if n_positions is None else n_positions)
        n_lists = math.perm(self.n_items, n)
        if n_lists > MOST_LISTS:
            raise ValueError(
                f"there are {_about(n_lists)} lists of {n} out of {self.n_items} items, too many to try them all (at "
                f"most {_about(MOST_LISTS)}): use greedy_list"
            )
        return find_best_list(*self._sparse, np.ones((n + 1, len(self.theta))), n).tolist()

    def eta(self, n_positions: int) -> float:
        """The share of the best list's reward that the greedy list is certain to have, if no `theta` is negative.

        It is `(1 - 1/e) max(1/K, 1 - (K - 1)/2 alpha)`, with `alpha` the largest attraction at the first position.
        """
        n = self._check_length(n_positions)
        return (1.0 - 1.0 / math.e) * max(1.0 / n, 1.0 - (n - 1) / 2.0 * float(self.attraction.max()))

    def scaled_regret(self, ranking: Any) -> float:
        """The regret of the theorem, `eta` times the reward of the best list, less the reward of this one.

        Where there are too many lists to find the best one, its reward is replaced by a bound on it, the reward it
        would have if every item were as attractive as at the first position: the result is then an upper bound.
        """
        n = len(check_list(ranking, self.n_items, self.n_positions))
        return self.eta(n) * self._most_reward(n) - self.reward(ranking) if n else 0.0

    @cached_property
    def optimal_rewards(self) -> Floats:
        """What regret is counted against: the reward of the greedy list of each length, from 0 on."""
        return np.concatenate([[0.0], self._greedy(min(self.n_items, LONGEST_LIST))[1]])

    def _greedy(self, n_positions: int) -> tuple[Ints, Floats]:
        """The greedy list, and its reward after each of its items."""
        ranking, rewards = np.zeros(n_positions, np.int64), np.zeros(n_positions)
        find_greedy_list(*self._sparse, np.ones(len(self.theta)), np.arange(self.n_items), ranking, rewards)
        return ranking, rewards

    @property
    def state(self) -> HybridState:
        """What the compiled loop needs, with room to work in that no other thread uses."""
        return self.state_at(None)

    def state_at(self, top: int | None) -> HybridState:
        """What the compiled loop needs to count regret over the first `top` positions (None: over all).

        Each call gives it room of its own to work in: threads must not share one.
        """
        return HybridState(
            *self._sparse,
            np.ones(len(self.theta)),
            np.array(self.attraction),
            self.optimal_rewards,
            min(self._check_top(top), len(self.optimal_rewards) - 1),
        )

    @property
    def _sparse(self) -> tuple[Floats, Ints, Ints, Floats, Floats]:
        return self._relevant, self._begin, self._topic, self._coverage, self._worth

    def _reward(self, attraction: Floats) -> float:
        return 1.0 - float(np.prod(1.0 - attraction))

    def _most_reward(self, n: int) -> float:
        """The reward of the best list of `n` items, or a bound on it."""
        if n not in self._most_rewards:
            if math.perm(self.n_items, n) <= MOST_LISTS:
                self._most_rewards[n] = self.reward(self.optimal_list(n))
            else:
                liked = (1.0 - self.trade_off) * (self.topics @ np.maximum(self.theta, 0.0))
                self._most_rewards[n] = self._reward(np.sort(np.clip(self._relevant + liked, 0.0, 1.0))[-n:])
        return self._most_rewards[n]

    @cached_property
    def _most_rewards(self) -> dict[int, float]:
        return {}

    def _check_length(self, n_positions: Any) -> int:
        return check_whole("n_positions", n_positions, 1, min(self.n_items, LONGEST_LIST))


def _check_weights(name: str, given: Any, n: int) -> Floats:
    """A read-only copy of a user's weights, one for each feature."""
    try:
        values = np.array(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a sequence of {n} numbers, not {given!r}") from None
    if values.shape != (n,):
        raise ValueError(f"{name} must be a sequence of {n} numbers, not of shape {values.shape}")
    refuse_any(name, values, ~np.isfinite(values), "must be finite")
    values.flags.writeable = False
    return values


def _about(number: int) -> str:
    return f"{number:,}" if number < 10**7 else f"10^{len(str(number)) - 1}"
