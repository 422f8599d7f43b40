"""What the theory of safe re-ranking says: the bounds of chapter 3.

Three numbers make a problem hard for BubbleRank. |V_0| (`initial_inversions`) counts the pairs of items that stand in
the wrong order in the production list. chi_min and chi_max (`examinations`) are the probabilities that the last and the
first position of the best list are looked at. Delta_min (`smallest_difference`) is the smallest difference between the
attractions of two items next to each other in the best list.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rankloop.arrays import Floats, check_probabilities
from rankloop.checks import check_between, check_whole
from rankloop.theory.checks import check_steps


def bubble_rank_bound(
    steps: npt.ArrayLike,
    *,
    n_items: int,
    initial_inversions: int,
    gap: float,
    chi_min: float,
    chi_max: float = 1.0,
    delta: float | None = None,
) -> Floats:
    """An upper bound on the expected regret of BubbleRank, after each of the numbers of lists.

    180 K (chi_max / chi_min) (K - 1 + 2 |V_0|) / Delta_min ln(1/delta) + sqrt(delta) K^3 n^2, of the theorem in chapter
    3. It holds in the cascade model, in the position-based model where lower positions are looked at less, and wherever
    else the assumptions of the chapter do; for lists of all K items, regret counted over all positions.

    Parameters
    ----------
    steps
        Number of lists n: one number or many.
    n_items
        Number of items K.
    initial_inversions
        Number of pairs in the wrong order in the initial list, |V_0|.
    gap
        Smallest gap between two items, Delta_min.
    chi_min, chi_max
        The smallest and the largest examination probability.
    delta
        Delta of the policy, which is horizon^-4 where it has a horizon. If not given, each number of lists is its own
        horizon.

    Examples
    --------
    >>> float(bubble_rank_bound(1000, n_items=2, initial_inversions=1, gap=0.5, chi_min=0.5, delta=1e-12).round(1))
    119374.0
    """
    given = check_steps(steps)
    n_items = check_whole("n_items", n_items, 2)
    wrong = check_whole("initial_inversions", initial_inversions, 0)
    if wrong > n_items * (n_items - 1) // 2:
        raise ValueError(f"initial_inversions = {wrong} is more than all pairs of {n_items} items")
    gap = check_between("gap", gap, 0, 1, closed=True)
    chi_max = check_between("chi_max", chi_max, 0, 1, closed=True)
    chi_min = check_between("chi_min", chi_min, 0, chi_max, closed=True)
    hardness = 180 * n_items * chi_max / chi_min * (n_items - 1 + 2 * wrong) / gap
    return hardness * _log_inverse(delta, given) + n_items**3 * _slips(delta, given) * given


def safety_probability(steps: npt.ArrayLike, *, n_items: int, delta: float | None = None) -> Floats:
    """A lower bound on the probability that none of these lists has more than |V_0| + K/2 pairs in the wrong order.

    1 - sqrt(delta) K^2 n, which is 1 - K^2 / n for the default delta = n^-4; 0 where that is negative.

    >>> safety_probability([50, 1000, 1_000_000], n_items=10).tolist()
    [0.0, 0.9, 0.9999]
    """
    given = check_steps(steps)
    return np.maximum(0, 1 - check_whole("n_items", n_items, 2) ** 2 * _slips(delta, given))


def initial_inversions(initial: Sequence[int], attraction: npt.ArrayLike) -> int:
    """|V_0|: the number of pairs of items in the wrong order, the less attractive one above.

    >>> initial_inversions([2, 0, 1], [0.9, 0.5, 0.1])
    2
    """
    attractions = check_probabilities("attraction", attraction)
    if sorted(initial) != list(range(len(attractions))):
        raise ValueError(f"initial must be an order of the items 0 to {len(attractions) - 1}, not {initial!r}")
    shown = attractions[list(initial)]
    return int(np.triu(shown[:, None] < shown[None, :], 1).sum())


def smallest_difference(attraction: npt.ArrayLike) -> float:
    """Delta_min: the smallest difference of the attractions of two items.

    >>> round(smallest_difference([0.5, 0.9, 0.2]), 3)
    0.3
    """
    attractions = check_probabilities("attraction", attraction)
    if len(attractions) < 2:
        raise ValueError("one item alone has no difference to another")
    smallest = float(np.diff(np.sort(attractions)).min())
    if smallest == 0:
        raise ValueError("two items are equally attractive: their order is never found, and the bound is infinite")
    return smallest


def examinations(attraction: npt.ArrayLike, abandonment: npt.ArrayLike | None = None) -> Floats:
    """The probability that users look at each position of the best list, in the cascade or dependent click model.

    The last and the first are chi_min and chi_max. In the position-based model they are given.

    Parameters
    ----------
    attraction
        Attraction of the items.
    abandonment
        Probability of leaving after a click, by position; 1 everywhere, which is the cascade model, if not given.

    Examples
    --------
    >>> examinations([0.2, 0.5]).tolist()
    [1.0, 0.5]
    """
    best = -np.sort(-check_probabilities("attraction", attraction))
    leaving = np.ones(len(best)) if abandonment is None else check_probabilities("abandonment", abandonment)
    if len(leaving) < len(best):
        raise ValueError(f"abandonment must have one probability for each of {len(best)} positions, not {len(leaving)}")
    stays = 1 - leaving[: len(best)] * best
    return np.concatenate([[1.0], np.cumprod(stays)[:-1]])


def _log_inverse(delta: float | None, steps: Floats) -> Floats:
    return 4 * np.log(steps) if delta is None else np.asarray(-math.log(check_between("delta", delta, 0, 1)))


def _slips(delta: float | None, steps: Floats) -> Floats:
    """sqrt(delta) n."""
    return 1 / steps if delta is None else math.sqrt(check_between("delta", delta, 0, 1)) * steps
