"""Simulated users who read a list from the top, click by graded relevance, and may click several times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rankloop.checks import check_choice
from rankloop.kernels import entry, inlined, uniform
from rankloop.kernels.arrays import Floats, Ints, Stream

TABLE = {
    ("perfect", 5): ((0.0, 0.2, 0.4, 0.8, 1.0), (0.0, 0.0, 0.0, 0.0, 0.0)),
    ("navigational", 5): ((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
    ("informational", 5): ((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
    ("perfect", 2): ((0.0, 1.0), (0.0, 0.0)),
    ("navigational", 2): ((0.05, 0.95), (0.2, 0.9)),
    ("informational", 2): ((0.4, 0.9), (0.1, 0.5)),
}
"""Click and stop probabilities for each grade."""

USERS = ("perfect", "navigational", "informational")


@inlined
def clicks_on(rng: Stream, click: Floats, grade: int) -> bool:
    """Whether the user clicks an item of this grade."""
    return uniform(rng) < click[grade]


@inlined
def stops_after(rng: Stream, stop: Floats, grade: int) -> bool:
    """Whether the user leaves after having clicked it."""
    return uniform(rng) < stop[grade]


@entry
def _read_list(rng: Stream, click: Floats, stop: Floats, grades: Ints, clicks: Ints) -> None:
    for k in range(len(grades)):
        if clicks_on(rng, click, grades[k]):
            clicks[k] = 1
            if stops_after(rng, stop, grades[k]):
                return


class User:
    """A user who reads from the top, clicks an item by its grade, and after a click leaves by its grade.

    Parameters
    ----------
    click
        Probability of clicking an item that is read, for each grade from 0.
    stop
        Probability of leaving after a click, for each grade.
    name
        Name of the user in tables.

    Examples
    --------
    >>> user = User.named("perfect")
    >>> user
    User('perfect', 5 grades)
    >>> from rankloop.kernels import stream
    >>> user.clicks([4, 0, 4], stream(0))
    array([1, 0, 1])

    References
    ----------
    Hofmann, Whiteson, de Rijke (2013). Fidelity, soundness, and efficiency of interleaved comparison methods. TOIS.
    """

    def __init__(self, click: Sequence[float], stop: Sequence[float], *, name: str = "user") -> None:
        self.click = _probabilities("click", click)
        self.stop = _probabilities("stop", stop)
        if len(self.click) != len(self.stop):
            raise ValueError(
                f"click and stop need one value for each grade, not {len(self.click)} and {len(self.stop)}"
            )
        self.name = name

    @classmethod
    def named(cls, name: str, n_grades: int = 5) -> User:
        """The *perfect*, *navigational* or *informational* user, for grades 0 to 4 or 0 to 1."""
        check_choice("user", name, USERS)
        if (name, n_grades) not in TABLE:
            raise ValueError(f"named users know 5 or 2 grades, not {n_grades!r}: give click and stop for each grade")
        click, stop = TABLE[name, n_grades]
        return cls(click, stop, name=name)

    @property
    def n_grades(self) -> int:
        """How many grades the user tells apart, the lowest being 0."""
        return len(self.click)

    def clicks(self, grades: npt.ArrayLike, rng: Stream) -> Ints:
        """One reading of a list of items with these grades: 1 where the user clicked."""
        given = np.asarray(grades)
        if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
            raise ValueError(f"grades must be a list of whole numbers, not {grades!r}")
        if given.size and not 0 <= given.min() <= given.max() < self.n_grades:
            raise ValueError(f"grades must lie between 0 and {self.n_grades - 1}, not be {grades!r}")
        clicks = np.zeros(len(given), np.int64)
        _read_list(rng, self.click, self.stop, given.astype(np.int64), clicks)
        return clicks

    def __repr__(self) -> str:
        return f"User({self.name!r}, {self.n_grades} grades)"


def _probabilities(name: str, values: Sequence[float]) -> Floats:
    given = np.array(values, np.float64)
    if given.ndim != 1 or len(given) < 2:
        raise ValueError(f"{name} must hold a probability for each of at least two grades, not {values!r}")
    if not ((given >= 0) & (given <= 1)).all():
        raise ValueError(f"{name} must hold probabilities, not {values!r}")
    return given
