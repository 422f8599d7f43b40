"""CascadeLinTS: CascadeLinUCB that explores by Thompson sampling."""

from __future__ import annotations

from rankloop.policies.features.cascade_lin_ucb import CascadeLinUCB


class CascadeLinTS(CascadeLinUCB):
    """Learns what CascadeLinUCB learns, and shows the items that are best for weights drawn from its posterior.

    Parameters
    ----------
    features
        Of the items, one row each.
    n_positions
        How many items are shown.
    gamma
        How widely to draw: the standard deviation of a click given the features is what theory suggests, at most 1/2;
        1 explores as widely as the bonus of the same gamma.
    ridge
        How many observations the belief that nothing matters is worth.
    seed
        Of the policy's own random numbers.

    Examples
    --------
    >>> policy = CascadeLinTS([[1, 0], [0, 1], [0.7, 0.7]], n_positions=1, seed=1)
    >>> for _ in range(200):
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[int(ranking[0] == 1)])
    >>> policy.best
    [1]

    References
    ----------
    S. Zong, H. Ni, K. Sung, N. R. Ke, Z. Wen, B. Kveton. Cascading Bandits for Large-Scale Recommendation Problems.
    UAI 2016.
    """

    sampled = True
