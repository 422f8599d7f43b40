"""The environment of dueling bandits: a matrix of the probabilities with which one arm beats another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankloop.checks import check_choice
from rankloop.environments.assumptions import Assumptions, check_assumptions
from rankloop.kernels import regret, respond, step, uniform
from rankloop.kernels.arrays import Flags, Floats, Items, Stream
from rankloop.storage import replacing

TOLERANCE = 1e-6
"""How far p_ij + p_ji may be from 1: what rounding to six digits does to it."""


class PreferenceState(NamedTuple):
    preferences: Floats
    loss: Floats


@step(respond, PreferenceState)
def _respond(environment: PreferenceState, rng: Stream, items: Items, feedback: Items) -> bool:
    return uniform(rng) < environment.preferences[items[0], items[1]]


@step(regret, PreferenceState)
def _regret(environment: PreferenceState, items: Items) -> float:
    return 0.5 * (environment.loss[items[0]] + environment.loss[items[1]])


class PreferenceMatrix:
    """A dueling bandit problem: `preferences[i, j]` is the probability that arm i beats arm j.

    Regret is counted against the Condorcet winner, the arm that beats every other; where there is none, against the
    Copeland winners, the arms that beat most others.

    Parameters
    ----------
    preferences
        Square, in [0, 1], with p_ij + p_ji = 1.
    name
        Name of the problem in tables and plots.
    names
        Names of the arms; `ranker 0` and so on if not given.

    Examples
    --------
    >>> problem = PreferenceMatrix([[0.5, 0.6, 0.9], [0.4, 0.5, 0.7], [0.1, 0.3, 0.5]])
    >>> problem.condorcet_winner
    0
    >>> problem.borda_scores
    array([2. , 1.6, 0.9])
    >>> round(problem.regret(1, 2), 3)
    0.25
    >>> problem.assumptions.met  # those of the theorem on MergeDTS
    True
    """

    offers = ("n_arms",)

    def __init__(self, preferences: npt.ArrayLike, *, name: str = "matrix", names: Sequence[str] | None = None) -> None:
        try:
            given = np.array(preferences, np.float64)
        except (TypeError, ValueError):
            raise ValueError("a preference matrix must be a square table of numbers") from None
        if given.ndim != 2 or given.shape[0] != given.shape[1]:
            raise ValueError(f"a preference matrix must be square, not of shape {given.shape}")
        if len(given) < 2:
            raise ValueError(f"a preference matrix needs at least 2 arms, not {len(given)}")
        _refuse_first(~np.isfinite(given), given, "is not a finite number")
        _refuse_first((given < 0) | (given > 1), given, "is not a probability: it must lie in [0, 1]")
        _refuse_first(np.abs(given + given.T - 1) > TOLERANCE, given, "must be 1 - p[{j}, {i}]")
        exact = np.triu(given, 1)
        self.preferences: Floats = exact + np.tril(1 - exact.T, -1) + np.diag(np.full(len(given), 0.5))
        self.preferences.flags.writeable = False
        self.name = name
        self._given_names = None if names is None else tuple(str(each) for each in names)
        if self._given_names is not None and len(self._given_names) != len(given):
            raise ValueError(f"there must be {len(given)} names, one for each arm, not {len(self._given_names)}")

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.preferences)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arms."""
        return self._given_names or tuple(f"ranker {arm}" for arm in range(self.n_arms))

    @cached_property
    def condorcet_winner(self) -> int | None:
        """The arm that beats every other with probability above 1/2, if there is one."""
        best = int(self.copeland_scores.argmax())
        return best if self.copeland_scores[best] == 1 else None

    @cached_property
    def copeland_scores(self) -> Floats:
        """The share of the other arms that each arm beats."""
        return (self.preferences > 0.5).sum(axis=1) / (self.n_arms - 1)

    @property
    def copeland_winners(self) -> list[int]:
        """The arms that beat most others."""
        return np.flatnonzero(self.copeland_scores == self.copeland_scores.max()).tolist()

    @property
    def winners(self) -> list[int]:
        """The arms without regret: the Condorcet winner, else the Copeland winners."""
        return self.copeland_winners if self.condorcet_winner is None else [self.condorcet_winner]

    @cached_property
    def borda_scores(self) -> Floats:
        """The sum of each arm's preferences, that over itself (1/2) included."""
        return self.preferences.sum(axis=1)

    @property
    def smallest_gap(self) -> float:
        """The smallest |p_ij - 1/2| of two arms that can be told apart."""
        gaps = np.abs(self.preferences - 0.5)
        return float(gaps[gaps > 0].min()) if (gaps > 0).any() else 0.0

    @cached_property
    def assumptions(self) -> Assumptions:
        """What the theorem on MergeDTS asks for: a Condorcet winner, and assumptions 2.1 and 2.2 of the thesis.

        >>> print(PreferenceMatrix([[0.5, 0.6, 0.6], [0.4, 0.5, 0.5], [0.4, 0.5, 0.5]]).assumptions)
        Condorcet winner: met, ranker 0 beats every other
        assumption 2.1: met, any two rankers differ, unless both are uninformative
        assumption 2.2: not met, 2 of 3 rankers are uninformative, more than a third: 1; 2
        """
        return check_assumptions(self.preferences)

    @cached_property
    def losses(self) -> Floats:
        """The regret of each arm against itself; that of a duel is the mean of its two arms'."""
        if self.condorcet_winner is None:
            return self.copeland_scores.max() - self.copeland_scores
        return self.preferences[self.condorcet_winner] - 0.5

    def regret(self, left: int, right: int) -> float:
        """The expected regret of one duel."""
        return float(self.losses[left] + self.losses[right]) / 2

    def relabelled(self, order: npt.ArrayLike) -> PreferenceMatrix:
        """The same problem with arm `order[i]` called i."""
        order = np.asarray(order)
        return PreferenceMatrix(self.preferences[np.ix_(order, order)], name=self.name)

    @cached_property
    def state(self) -> PreferenceState:
        """What the compiled loop needs."""
        return PreferenceState(np.array(self.preferences), np.array(self.losses))

    def save(self, path: str | Path) -> None:
        """Write the matrix as CSV, or as npz where the path ends so; with the arms' names, where they were given."""
        with replacing(path) as file:
            if Path(path).suffix == ".npz":
                names: dict[str, Any] = {} if self._given_names is None else {"names": np.array(self._given_names)}
                np.savez_compressed(file, preferences=self.preferences, **names)
            else:
                header = "" if self._given_names is None else ",".join(self._given_names)
                np.savetxt(file, self.preferences, fmt="%.17g", delimiter=",", header=header, comments="")

    @classmethod
    def read(cls, path: str | Path) -> PreferenceMatrix:
        """Read a matrix from CSV, text with blanks or tabs between the numbers, npy, or npz (array `preferences`).

        The first line of a text may be a header with the arms' names; the rows may then begin with names too. In an npz
        file they are the array `names`.
        """
        path = Path(path)
        table, names = _read_binary(path) if path.suffix in (".npz", ".npy") else _read_text(path)
        try:
            return cls(table, name=path.stem, names=names)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    @classmethod
    def cycle(cls) -> PreferenceMatrix:
        """The thesis' Cycle: 20 arms, a winner by a hair, and 19 that beat each other in a ring with certainty."""
        return cls(_ring(20, winner_margin=0.01, ring_margin=0.5), name="cycle")

    @classmethod
    def cycle2(cls) -> PreferenceMatrix:
        """The thesis' Cycle2: 20 arms, a winner by a clear margin, and 19 that beat each other in a ring by a hair."""
        return cls(_ring(20, winner_margin=0.1, ring_margin=0.01), name="cycle2")

    @classmethod
    def from_utilities(cls, utilities: Sequence[float] | Floats, *, link: str = "logistic") -> PreferenceMatrix:
        """Arms with a worth each: p_ij grows with u_i - u_j by a `logistic` or `linear` link, (1 + u_i - u_j) / 2.

        >>> PreferenceMatrix.from_utilities([1, 0], link="linear").preferences
        array([[0.5, 1. ],
               [0. , 0.5]])
        """
        worth = np.asarray(utilities, np.float64)
        if worth.ndim != 1 or not np.isfinite(worth).all():
            raise ValueError("utilities must be a sequence of finite numbers, one for each arm")
        check_choice("link", link, ("logistic", "linear"))
        difference = worth[:, None] - worth[None, :]
        if link == "logistic":
            return cls(1 / (1 + np.exp(-difference.clip(-700, 700))), name="utilities")
        if np.abs(difference).max(initial=0) > 1:
            raise ValueError("with the linear link utilities may differ by at most 1")
        return cls((1 + difference) / 2, name="utilities")

    @classmethod
    def like_features(
        cls, n_arms: int = 136, *, uninformative: float = 0.1, group_size: int = 5, seed: int = 0
    ) -> PreferenceMatrix:
        """A large problem that looks like the rankers that a LETOR dataset's features make.

        Arms stand in groups of near-duplicates, as "BM25 of the title, of the body, ..." do; groups differ far more
        than their members; preferences are not quite transitive; and a share of the arms is uninformative: they tie
        among themselves and lose to all others. The winner is unique, by a small margin.

        The spreads are those of the 136 rankers of MSLR-WEB30K under a navigational user.
        """
        if n_arms < 2 or group_size < 1:
            raise ValueError(f"n_arms must be at least 2 and group_size at least 1, not {n_arms} and {group_size}")
        if not 0 <= uninformative < 1:
            raise ValueError(f"the share of uninformative arms must lie in [0, 1), not be {uninformative!r}")
        draw = np.random.default_rng(seed)
        n_idle = min(n_arms - 1, math.floor(uninformative * n_arms))
        n_useful = n_arms - n_idle
        group = np.arange(n_useful) // group_size
        # Logits are bounded above and tail off below: many rankers are nearly as good as the best, some far worse.
        level = 0.45 - draw.gamma(1.3, 0.28, size=group[-1] + 1)
        worth = level[group] + draw.normal(0, 0.03, n_useful)
        logits = worth[:, None] - worth[None, :]
        noise = np.triu(draw.normal(0, 0.04, (n_useful, n_useful)), 1)
        logits += noise - noise.T
        best = int(worth.argmax())
        margin = np.maximum(logits[best], 0.02 + draw.exponential(0.03, n_useful))
        logits[best], logits[:, best] = margin, -margin
        logits[best, best] = 0
        full = np.zeros((n_arms, n_arms))
        full[:n_useful, :n_useful] = logits
        # Random lists lose to every informative ranker, by the more the better that one is.
        against_idle = np.maximum(0.01, worth - worth.min() + 0.05)
        full[:n_useful, n_useful:] = against_idle[:, None]
        full[n_useful:, :n_useful] = -against_idle[None, :]
        return cls(1 / (1 + np.exp(-full)), name=f"features:{n_arms}")

    def __repr__(self) -> str:
        return f"PreferenceMatrix({self.n_arms} arms, name={self.name!r})"


def _refuse_first(wrong: Flags, table: Floats, complaint: str) -> None:
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        pair = f", p[{j}, {i}] = {table[j, i]:g}" if i != j else ""
        raise ValueError(f"p[{i}, {j}] = {table[i, j]:g}{pair}: p[{i}, {j}] {complaint.format(i=i, j=j)}")


def _ring(n_arms: int, winner_margin: float, ring_margin: float) -> Floats:
    """Arm 0 beats all; each other arm beats the half of the ring to its left and loses to the half to its right."""
    preferences = np.full((n_arms, n_arms), 0.5)
    preferences[0, 1:] += winner_margin
    preferences[1:, 0] -= winner_margin
    seats = n_arms - 1
    for seat in range(seats):
        for distance in range(1, seats // 2 + 1):
            left = (seat + distance) % seats
            preferences[1 + seat, 1 + left] += ring_margin
            preferences[1 + left, 1 + seat] -= ring_margin
    return preferences


def _read_binary(path: Path) -> tuple[Floats, list[str] | None]:
    try:
        with path.open("rb") as file:  # NumPy leaves files open that it cannot read
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded, None
            arrays = loaded.files
            if "preferences" in arrays:
                return np.asarray(loaded["preferences"]), loaded["names"].tolist() if "names" in arrays else None
    except FileNotFoundError:
        raise ValueError(f"no file {path}") from None
    except Exception as error:  # NumPy raises a different one for each way a file can be broken
        raise ValueError(f"{path} is not a NumPy file, or is damaged ({error})") from None
    raise ValueError(f"{path} has no array 'preferences', only {', '.join(arrays) or 'nothing'}")


def _read_text(path: Path) -> tuple[list[list[float]], list[str] | None]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise ValueError(f"no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as text ({error})") from None
    table: list[list[float]] = []
    names: list[str] | None = None
    for number, line in enumerate(lines, 1):
        content = line.split("#")[0].strip()
        if not content:
            continue
        fields = [field.strip().strip('"') for field in content.split(",")] if "," in content else content.split()
        if not table and names is None and not any(_is_number(field) for field in fields):
            names = fields
            continue
        if names is not None and not _is_number(fields[0]):
            fields = fields[1:]  # the name of the row
        row = [_number(field, f"{path}, line {number}") for field in fields]
        if table and len(row) != len(table[0]):
            raise ValueError(f"{path}, line {number}: {len(row)} numbers, where the first row has {len(table[0])}")
        table.append(row)
    if not table:
        raise ValueError(f"{path} is empty: it must hold a row of numbers for each arm")
    if names is not None and len(names) == len(table[0]) + 1:
        names = names[1:]  # above the names of the rows
    return table, names


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _number(field: str, place: str) -> float:
    try:
        return float(field)
    except ValueError:
        raise ValueError(f"{place}: {field!r} is not a number") from None
