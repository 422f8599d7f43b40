"""LSBGreedy: diverse lists for users who look at everything they are shown."""

from __future__ import annotations

from rankloop.policies.features.cascade_lsb import CascadeLSB


class LSBGreedy(CascadeLSB):
    """Shows what CascadeLSB would show, but takes every item shown as seen, and every click as a vote for its topics.

    Right for short lists that users see at a glance. Where they leave after the first click, items below it are taken
    for unattractive though nobody looked; CascadeLSB does not make that mistake.

    Parameters
    ----------
    topics
        How much each item covers of each topic, one row each.
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
    >>> policy = LSBGreedy([[0.9, 0], [0.9, 0], [0, 0.8]], n_positions=2)
    >>> for _ in range(300):
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[int(item == 2) for item in ranking])
    >>> policy.best[0]
    2

    References
    ----------
    Y. Yue, C. Guestrin. Linear Submodular Bandits and their Application to Diversified Retrieval. NIPS 2011.
    """

    cascade = False
