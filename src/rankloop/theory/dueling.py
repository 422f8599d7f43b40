"""What the theory of dueling bandits says: constants and bounds of chapter 2."""

from __future__ import annotations


def merge_constant(alpha: float, n_arms: int, epsilon: float) -> float:
    """C(epsilon) of MergeDTS and MergeRUCB: the winner then survives with probability 1 - epsilon.

    >>> round(merge_constant(alpha=1.01, n_arms=136, epsilon=0.01))
    4066005
    """
    if alpha <= 0.5:
        raise ValueError(f"C(epsilon) is only defined for alpha above 1/2, not for alpha = {alpha!r}: give c itself")
    if not 0 < epsilon < 1:
        raise ValueError(f"epsilon must lie between 0 and 1, not be {epsilon!r}")
    return float(((4 * alpha - 1) * n_arms**2 / ((2 * alpha - 1) * epsilon)) ** (1 / (2 * alpha - 1)))
