"""CascadeHybridTS: CascadeHybrid that explores by Thompson sampling."""

from __future__ import annotations

from rankloop.policies.features.cascade_hybrid import CascadeHybrid


class CascadeHybridTS(CascadeHybrid):
    """Learns what CascadeHybrid learns, and shows the list that is best for weights drawn from its posterior.

    The thesis names this as the step to take next. For each list, theta and beta are drawn from a normal distribution
    around their estimates, with `gamma`² times the inverse of the precision as covariance.

    Parameters
    ----------
    relevance
        The relevance features of the items, one row each.
    topics
        How much each item covers of each topic, from 0 to 1, one row each.
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
    >>> policy = CascadeHybridTS([[1, 0], [1, 0], [0, 1]], [[0.9, 0], [0.9, 0], [0, 0.9]], n_positions=2, seed=1)
    >>> for _ in range(300):
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[0, int(2 in ranking)])
    >>> 2 in policy.best
    True

    References
    ----------
    C. Li, H. Feng, M. de Rijke. Cascading Hybrid Bandits: Online Learning to Rank for Relevance and Diversity.
    RecSys 2020.
    S. Agrawal, N. Goyal. Thompson Sampling for Contextual Bandits with Linear Payoffs. ICML 2013.
    """

    sampled = True
