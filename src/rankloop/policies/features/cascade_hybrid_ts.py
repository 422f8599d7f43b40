"""CascadeHybridTS: CascadeHybrid that explores by Thompson sampling."""

from __future__ import annotations

from rankloop.policies.features.cascade_hybrid import CascadeHybrid


class CascadeHybridTS(CascadeHybrid):
    """Learns what CascadeHybrid learns, and shows the list that is best for weights drawn from the posterior.

    The thesis suggests it as future work. For each list, theta and beta are drawn from a normal distribution
    around their estimates, with `gamma`² times the inverse of the precision as covariance.

    Parameters
    ----------
    relevance, topics, n_positions, ridge
        As in `CascadeHybrid`.
    gamma
        Scale of the draws. Theory suggests the standard deviation of a click given the features, which is at most 1/2;
        1 explores as widely as the confidence bounds of the same gamma.
    seed
        Seed of the policy's random numbers.

    Examples
    --------
    >>> policy = CascadeHybridTS([[1, 0], [1, 0], [0, 1]], [[0.9, 0], [0.9, 0], [0, 0.9]], n_positions=2, seed=1)
    >>> for ranking in (policy.rank() for _ in range(300)):
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
