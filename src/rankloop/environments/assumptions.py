"""What the thesis' theorem on MergeDTS asks of a preference matrix, and whether a matrix has it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankloop.kernels.arrays import Flags, Floats, Ints

MOST_NAMED = 5
"""Rankers or pairs that a sentence names before it only counts the others."""


class Assumption(NamedTuple):
    """One thing that the theorem asks for."""

    name: str
    met: bool
    because: str
    """Why it is met, or why not."""
    rankers: tuple[int, ...] = ()
    """The rankers that stand in its way."""

    def __str__(self) -> str:
        return f"{self.name}: {'met' if self.met else 'not met'}, {self.because}"


class Assumptions(NamedTuple):
    """What the thesis' theorem on MergeDTS asks of a preference matrix.

    Assumption 2.1: no two rankers tie (p_ij = 1/2), unless both are uninformative: rankers that show random lists and
    beat nobody. Assumption 2.2: at most a third of the rankers are uninformative. A matrix does not say who shows
    random lists. Here those rankers are taken for uninformative that beat nobody and tie with another that beats
    nobody; so a single worst ranker is informative, as long as it loses to every other.

    Examples
    --------
    >>> from rankloop.environments import PreferenceMatrix
    >>> table = [[0.5, 0.7, 0.8, 0.9], [0.3, 0.5, 0.5, 0.8], [0.2, 0.5, 0.5, 0.6], [0.1, 0.2, 0.4, 0.5]]
    >>> problem = PreferenceMatrix(table)
    >>> print(problem.assumptions)
    Condorcet winner: met, ranker 0 beats every other
    assumption 2.1: not met, rankers 1 and 2 tie and are not both uninformative
    assumption 2.2: met, no ranker is uninformative
    >>> problem.assumptions.met, problem.assumptions.distinguishable.rankers
    (False, (1, 2))
    """

    winner: Assumption
    """That one ranker beats every other."""
    distinguishable: Assumption
    """Assumption 2.1."""
    informative: Assumption
    """Assumption 2.2."""

    @property
    def met(self) -> bool:
        """Whether the theorem covers the matrix."""
        return all(each.met for each in self)

    @property
    def failure(self) -> str:
        """The first assumption that is not met and why, in one line; empty where all are met."""
        return next((f"{each.name} is not met: {each.because}" for each in self if not each.met), "")

    def __str__(self) -> str:
        return "\n".join(map(str, self))


def check_assumptions(preferences: Floats) -> Assumptions:
    """What holds of a matrix whose entries p_ij and p_ji add up to 1."""
    n_arms = len(preferences)
    wins = (preferences > 0.5).sum(axis=1)
    ties = preferences == 0.5
    np.fill_diagonal(ties, False)
    beats_nobody = wins == 0
    uninformative = beats_nobody & (ties & beats_nobody).any(axis=1)
    return Assumptions(
        _winner(wins, n_arms),
        _distinguishable(ties & ~(uninformative[:, None] & uninformative)),
        _informative(np.flatnonzero(uninformative), n_arms),
    )


def _winner(wins: Ints, n_arms: int) -> Assumption:
    best = int(wins.argmax())
    if wins[best] == n_arms - 1:
        return Assumption("Condorcet winner", True, f"ranker {best} beats every other")
    most = f"ranker {best} beats most, {wins[best]} of {n_arms - 1}"
    return Assumption("Condorcet winner", False, f"no ranker beats every other; {most}")


def _distinguishable(wrong: Flags) -> Assumption:
    name = "assumption 2.1"
    pairs = np.argwhere(np.triu(wrong)).tolist()
    if not pairs:
        return Assumption(name, True, "any two rankers differ, unless both are uninformative")
    rankers = tuple(np.flatnonzero(wrong.any(axis=1)).tolist())
    if len(pairs) == 1:
        return Assumption(
            name, False, "rankers {} and {} tie and are not both uninformative".format(*pairs[0]), rankers
        )
    named = _shortened([f"{i} and {j}" for i, j in pairs])
    return Assumption(name, False, f"{len(pairs):,} pairs tie and are not both uninformative: {named}", rankers)


def _informative(uninformative: Ints, n_arms: int) -> Assumption:
    name, n = "assumption 2.2", len(uninformative)
    if n == 0:
        return Assumption(name, True, "no ranker is uninformative")
    if 3 * n <= n_arms:
        return Assumption(name, True, f"{n} of {n_arms} rankers are uninformative, at most a third")
    rankers = uninformative.tolist()
    listed = _shortened([str(ranker) for ranker in rankers])
    return Assumption(
        name, False, f"{n} of {n_arms} rankers are uninformative, more than a third: {listed}", tuple(rankers)
    )


def _shortened(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return "; ".join(names[:MOST_NAMED]) + (f"; and {more:,} more" if more > 0 else "")
