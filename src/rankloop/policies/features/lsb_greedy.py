"""LSBGreedy: diverse lists for users who look at everything they are shown."""

from __future__ import annotations

from rankloop.policies.features.cascade_lsb import CascadeLSB


class LSBGreedy(CascadeLSB):
    """Uses the model of CascadeLSB, but assumes that users look at every item, and learns from every click.

    It suits short lists that users see at a glance. Where they leave after the first click, it takes the items below
    for unattractive although nobody looked at them; CascadeLSB does not make that mistake.

    Parameters
    ----------
    topics, n_positions, gamma, ridge, seed
        As in `CascadeLSB`.

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
