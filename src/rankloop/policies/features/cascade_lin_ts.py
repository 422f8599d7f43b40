"""CascadeLinTS: CascadeLinUCB that explores by Thompson sampling."""

from __future__ import annotations

from rankloop.policies.features.cascade_lin_ucb import CascadeLinUCB


class CascadeLinTS(CascadeLinUCB):
    """Learns what CascadeLinUCB learns, and shows the items that are best for weights drawn from the posterior.

    Parameters
    ----------
    features, n_positions, ridge
        As in `CascadeLinUCB`.
    gamma, seed
        As in `CascadeHybridTS`.

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
