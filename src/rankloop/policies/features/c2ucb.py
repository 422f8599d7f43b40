"""C2UCB: the items whose features might attract most, for users who look at everything they are shown."""

from __future__ import annotations

from rankloop.policies.features.cascade_lin_ucb import CascadeLinUCB


class C2UCB(CascadeLinUCB):
    """Shows what CascadeLinUCB would show, but takes every item shown as seen, and learns from each click.

    A contextual combinatorial bandit whose reward is the number of clicks. Where users leave after the first click,
    items below it are taken for unattractive though nobody looked; CascadeLinUCB does not make that mistake.

    Parameters
    ----------
    features
        Of the items, one row each.
    n_positions
        How many items are shown.
    gamma
        How much to explore.
    ridge
        How many observations the belief that nothing matters is worth.
    seed
        Of the policy's own random numbers, which only break ties.

    Examples
    --------
    >>> policy = C2UCB([[1, 0], [0, 1], [0.7, 0.7]], n_positions=2)
    >>> for _ in range(200):
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[int(item > 0) for item in ranking])
    >>> sorted(policy.best)
    [1, 2]

    References
    ----------
    L. Qin, S. Chen, X. Zhu. Contextual Combinatorial Bandit and its Application on Diversified Online Recommendation.
    SDM 2014.
    """

    cascade = False
