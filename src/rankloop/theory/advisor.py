"""How long until a decision, and with which parameters: the theory turned into days.

Each piece of advice gives two times. "At most" is what a theorem or its proof allows, a worst case. "About" is a
sample size: how many observations the policy's own stopping rule needs when every estimate is at its mean, counted one
decision after another. What was measured beside it stands in the documentation.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from rankloop.checks import check_between, check_number, check_positive, check_whole
from rankloop.theory.advice import Advice, Plan
from rankloop.theory.diversity import hybrid_bound, hybrid_gamma
from rankloop.theory.drift import best_discount, best_window
from rankloop.theory.dueling import merge_constant, merge_dts_bound, merge_duels
from rankloop.theory.reranking import safety_probability

TUNED_ALPHA, TUNED_BATCH, TUNED_C = 0.8**6, 16, 4_000_000
"""MergeDTS as the thesis tuned it: best in its experiments, and outside its theorem."""

PROVEN_ALPHA, PROVEN_BATCH = 1.01, 4
"""MergeDTS within its theorem, with the thesis' values."""


def advise_rankers(traffic: float, *, n_rankers: int, gap: float, epsilon: float = 0.01) -> Advice:
    """How long MergeDTS takes to find the best of many rankers.

    Parameters
    ----------
    traffic
        Comparisons per day: interleaved lists with a winner.
    n_rankers
        Number of rankers.
    gap
        The smallest difference that matters: two rankers of which one wins 1/2 + gap of the comparisons.
    epsilon
        Probability with which the best ranker may be lost, where that is guaranteed.

    Examples
    --------
    >>> print(advise_rankers(100_000, n_rankers=136, gap=0.05))  # doctest: +ELLIPSIS
    Which of 136 rankers is best, at 100,000 comparisons per day?
    <BLANKLINE>
    MergeDTS: alpha=0.262144, batch_size=16, c=4000000
      about     2.2 days (215,938 comparisons)
    ...
    """
    traffic = _check_traffic(traffic)
    n_rankers = check_whole("n_rankers", n_rankers, 2)
    gap = check_between("gap", gap, 0, 0.5, closed=True)
    c = merge_constant(PROVEN_ALPHA, n_rankers, epsilon)

    def eliminations(alpha: float, constant: float) -> float:
        return _settle(lambda t: (n_rankers - 1) * merge_duels(t, gap=gap, alpha=alpha, c=constant))

    def allowed(t: float) -> float:
        bound = merge_dts_bound(
            t, n_arms=n_rankers, gap=gap, alpha=PROVEN_ALPHA, batch_size=PROVEN_BATCH, epsilon=epsilon
        )
        return float(bound)

    sample_size = (
        f"{n_rankers - 1} rankers are eliminated, each after the n duels at which alpha ln(t + C) / n falls to gap²"
    )
    return Advice(
        f"Which of {n_rankers} rankers is best, at {traffic:,.0f} comparisons per day?",
        traffic,
        "comparisons",
        (
            Plan(
                "MergeDTS",
                {"alpha": TUNED_ALPHA, "batch_size": TUNED_BATCH, "c": TUNED_C},
                eliminations(TUNED_ALPHA, TUNED_C),
                sample_size,
                None,
                "the theorem needs alpha above 1/2; these are the thesis' tuned parameters",
            ),
            Plan(
                "MergeDTS",
                {"alpha": PROVEN_ALPHA, "batch_size": PROVEN_BATCH, "c": c},
                eliminations(PROVEN_ALPHA, c),
                sample_size,
                _settle(allowed),
                f"the theorem's number of comparisons before one is left, with probability {1 - epsilon:g}",
            ),
        ),
        (
            f"any two rankers differ from 1/2 by {gap:g} or more; smaller gaps take longer, as 1/gap²",
            "one ranker beats every other; interleavings that end in a draw are not counted",
        ),
    )


def advise_reranking(
    traffic: float,
    *,
    n_items: int,
    gap: float,
    attraction: float,
    examination: float,
    wrong_pairs: int | None = None,
) -> Advice:
    """How long BubbleRank takes to sort a production list.

    Parameters
    ----------
    traffic
        Lists per day for the query.
    n_items
        Number of items of the list.
    gap
        The smallest difference in attraction that matters.
    attraction
        Attraction of the better of two such items.
    examination
        Probability that the lowest position is looked at.
    wrong_pairs
        |V_0|, the number of pairs of the production list in the wrong order; all pairs if not given.

    Examples
    --------
    >>> advice = advise_reranking(10_000, n_items=10, gap=0.1, attraction=0.5, examination=0.5, wrong_pairs=5)
    >>> round(advice.plans[0].about), round(advice.plans[0].at_most)
    (342565, 6072795)
    """
    traffic = _check_traffic(traffic)
    n_items = check_whole("n_items", n_items, 2)
    attraction = check_between("attraction", attraction, 0, 1, closed=True)
    gap = check_between("gap", gap, 0, attraction, closed=True)
    examination = check_between("examination", examination, 0, 1, closed=True)
    pairs = n_items * (n_items - 1) // 2
    if wrong_pairs is not None and check_whole("wrong_pairs", wrong_pairs, 0) > pairs:
        raise ValueError(f"wrong_pairs = {wrong_pairs} is more than all {pairs} pairs of {n_items} items")
    wrong = pairs if wrong_pairs is None else wrong_pairs
    worse = attraction - gap
    most_told = examination * (attraction + worse - min(1, 2 * examination) * attraction * worse)
    least_told = examination * (attraction + worse - 2 * attraction * worse)
    rounds = min(1 + wrong, n_items - 1)
    sample_size = 2 * rounds * 4 * most_told / (examination * gap) ** 2
    worst_case = 2 * min(1 + wrong, n_items) * 25 * ((attraction + worse) / gap) ** 2 / least_told

    def lists(needed: float) -> float:
        return _settle(lambda n: needed * 4 * math.log(n))

    horizon = lists(sample_size)
    safe = float(safety_probability(horizon, n_items=n_items))
    return Advice(
        f"What is the best order of {n_items} items, at {traffic:,.0f} lists per day?",
        traffic,
        "lists",
        (
            Plan(
                "BubbleRank",
                {"horizon": math.ceil(horizon)},
                horizon,
                f"{rounds} round{'s' * (rounds > 1)} of exchanges, each until the lead of the better item, which grows "
                f"by {examination * gap:.3g} per list, exceeds 2 sqrt(n ln(1/delta)) after n clicks on only one of the "
                "two; every second list exchanges a pair",
                lists(worst_case),
                "by the theorem's lemma on such clicks, with 5 in place of 2 and the smallest share of them",
            ),
        ),
        (
            f"neighbours differ in attraction by {gap:g} or more; smaller gaps take longer, as 1/gap²",
            f"with this horizon, no list has more than {n_items / 2:g} pairs in the wrong order beyond those of the "
            f"production list, with probability at least {safe:.6g}",
            "rounds follow one another, all as slow as the slowest pair at the lowest position: most lists are sorted "
            "sooner",
        ),
    )


def advise_drift(
    traffic: float,
    *,
    n_items: int,
    n_positions: int,
    gap: float,
    days: float,
    changes: float,
    epsilon: float = 0.5,
) -> Advice:
    """How long CascadeSWUCB and CascadeDUCB take to follow a change, and how long they should remember.

    Parameters
    ----------
    traffic
        Lists per day for the query.
    n_items, n_positions
        Number of items, and of items shown.
    gap
        The smallest difference in attraction that matters.
    days
        Number of days that this will run.
    changes
        Number of times that preferences change in these days.
    epsilon
        Width of the policies' bounds.

    Examples
    --------
    >>> advice = advise_drift(10_000, n_items=10, n_positions=3, gap=0.3, days=100, changes=9)
    >>> advice.plans[0].parameters["window"], round(advice.plans[0].about)
    (2478, 188)
    """
    traffic = _check_traffic(traffic)
    n_items = check_whole("n_items", n_items, 2)
    if not check_whole("n_positions", n_positions, 1) < n_items:
        raise ValueError(f"n_positions must be less than the {n_items} items, not {n_positions}: else all are shown")
    gap = check_between("gap", gap, 0, 1, closed=True)
    epsilon = check_between("epsilon", epsilon, 0, 1, closed=True)
    days = check_positive("days", days)
    horizon = max(2, math.ceil(traffic * days))
    window, gamma = best_window(horizon, changes), best_discount(horizon, changes)
    memory = 1 / (1 - gamma)
    looks = 4 * epsilon * math.log(window) / gap**2
    told = math.sqrt(4 * epsilon * math.log(window) * (n_items - n_positions) / window)
    return Advice(
        f"Which {n_positions} of {n_items} items, at {traffic:,.0f} lists per day, when tastes change {changes:g} "
        f"times in {days:g} days? Time until a change is followed:",
        traffic,
        "lists",
        (
            Plan(
                "CascadeSWUCB",
                {"window": window, "epsilon": epsilon},
                min(float(window), window / looks + looks),
                f"an item that rose is tried every {window / looks:,.3g} lists, and {looks:,.3g} views of it outweigh "
                "as many old ones",
                float(window),
                "then no list from before the change is remembered",
            ),
            Plan(
                "CascadeDUCB",
                {"gamma": gamma, "epsilon": epsilon},
                memory,
                "then lists from before the change have 1/e of their weight",
                float(math.ceil(math.log((1 - gamma) * epsilon) / math.log(gamma))),
                "the theorem's time after which the old lists bias no estimate by more than half its bound",
            ),
        ),
        (
            f"changes are sudden, and the window can distinguish items that differ by {min(told, 1):.2g}; closer items "
            "are tried again and again, since what is known about them is forgotten too soon",
            "users look at one item or more of each list",
            "gamma and the window are the thesis' values for so many lists and changes, which minimise the order of "
            "regret",
        ),
    )


def advise_diversity(traffic: float, *, n_features: int, n_positions: int, gap: float, looks: float = 1.0) -> Advice:
    """How long CascadeHybrid takes to learn what a user likes.

    Parameters
    ----------
    traffic
        Lists per day for users with the same preferences.
    n_features
        Features of relevance and topics together.
    n_positions
        Number of items shown.
    gap
        The smallest difference in attraction that matters; for the worst case, the clicks per list that may be lost.
    looks
        Number of items of a list that a user looks at, on average; at least 1.

    Examples
    --------
    >>> advice = advise_diversity(1000, n_features=30, n_positions=10, gap=0.1)
    >>> round(advice.plans[0].about)
    12000
    """
    traffic = _check_traffic(traffic)
    n_features = check_whole("n_features", n_features, 1)
    n_positions = check_whole("n_positions", n_positions, 1)
    gap = check_between("gap", gap, 0, 1, closed=True)
    looks = check_number("looks", looks, 1, n_positions)

    def least_gamma(n: float) -> float:
        return float(hybrid_gamma(n, n_features=n_features, n_positions=n_positions))

    def loses_less(n: float) -> bool:
        return float(hybrid_bound(n, n_features=n_features, n_positions=n_positions)) / n <= gap

    at_most = _first(loses_less)
    sample_size = 4 * n_features / (gap**2 * looks)
    gamma = least_gamma(at_most)
    how = "the number n of views at which 2 gamma sqrt(features / n), the mean width of the bounds, falls to the gap"
    return Advice(
        f"Which {n_positions} items, by {n_features} features and topics, at {traffic:,.0f} lists per day?",
        traffic,
        "lists",
        (
            Plan(
                "CascadeHybrid",
                {"gamma": 1.0},
                sample_size,
                how,
                None,
                "the theorem needs a larger gamma; 1 is what the thesis' experiments use",
            ),
            Plan(
                "CascadeHybrid",
                {"gamma": round(gamma, 2)},
                sample_size * gamma**2,
                how,
                at_most,
                f"the theorem's scaled regret is then below {gap:g} per list on average",
            ),
        ),
        (
            f"attractions are linear in the features, and users look at {looks:g} items of a list on average",
            "views are spread over all features as the items are; a feature that few items have takes longer",
        ),
    )


def _check_traffic(traffic: float) -> float:
    return check_positive("traffic", traffic)


def _settle(needed: Callable[[float], float]) -> float:
    """The n at which n steps are as many as n steps need, where the need grows like a logarithm."""
    n = max(math.e, needed(math.e))
    for _ in range(200):
        n = max(math.e, needed(n))
    return n


def _first(reached: Callable[[float], bool]) -> float:
    """The least number of steps from which on something is reached."""
    high = 1.0
    while not reached(high):
        high *= 2
    low = high / 2
    while high > 1 and high - low > 0.5:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
        if high / low < 1 + 1e-9:
            break
    return float(math.ceil(high))
