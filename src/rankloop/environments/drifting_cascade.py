"""The cascade model with preferences that change: one row of attractions an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from rankloop.kernels import Stream, entry, gains, regret, respond, step, stream, uniform

Floats = npt.NDArray[np.float64]
EPOCH, STEP = range(2)


class DriftingCascadeState(NamedTuple):
    """`clock` holds the epoch and how many lists it has answered; `optimal` the best reward by epoch and length."""

    attractions: Floats
    epoch_length: npt.NDArray[np.int64]
    optimal: Floats
    clock: npt.NDArray[np.int64]
    top: int


@step(respond, DriftingCascadeState)
def _respond(environment: Any, rng: Any, items: Any, feedback: Any) -> None:
    attractions, clock = environment.attractions, environment.clock
    epoch = clock[EPOCH]
    for k in range(len(items)):
        feedback[k] = 0
    for k in range(len(items)):
        if uniform(rng) < attractions[epoch, items[k]]:
            feedback[k] = 1
            break
    clock[STEP] += 1
    if clock[STEP] == environment.epoch_length[epoch]:
        clock[STEP] = 0
        clock[EPOCH] = 0 if epoch + 1 == len(attractions) else epoch + 1


@step(regret, DriftingCascadeState)
def _regret(environment: Any, items: Any) -> Any:
    attractions, epoch = environment.attractions, environment.clock[EPOCH]
    n = min(len(items), environment.top)
    unclicked = 1.0
    for k in range(n):
        unclicked *= 1.0 - attractions[epoch, items[k]]
    return environment.optimal[epoch, n] - (1.0 - unclicked)


@step(gains, DriftingCascadeState)
def _gains(environment: Any) -> Any:
    return environment.attractions[environment.clock[EPOCH]]


@entry
def _click_once(environment: Any, rng: Any, items: Any, clicks: Any) -> None:
    respond(environment, rng, items, clicks)


class DriftingCascade:
    """Users of the cascade model whose preferences change from epoch to epoch, at moments no policy is told.

    Each list that is answered takes one step. After the last epoch the first one comes again. The regret of a list is
    counted against the best list at that step.

    Parameters
    ----------
    attractions
        One row for each epoch: the probability with which each item, once seen, is clicked.
    epoch_length
        How many lists an epoch answers: one number for all epochs, or one for each.
    name
        What tables and plots call the problem.

    Examples
    --------
    >>> users = DriftingCascade([[0.5, 0.2, 0.1], [0.1, 0.2, 0.5]], epoch_length=[1000, 500])
    >>> users.epoch_at(999), users.epoch_at(1000), users.epoch_at(1500)
    (0, 1, 0)
    >>> users.optimal_list(2, at=0), users.optimal_list(2, at=1000)
    ([0, 1], [2, 1])
    >>> round(users.regret([0, 1], at=1000), 2)
    0.32

    References
    ----------
    C. Li, M. de Rijke. Cascading Non-Stationary Bandits: Online Learning to Rank in the Non-Stationary Cascade Model.
    IJCAI 2019.
    """

    n_positions: int | None = None
    """The longest list it knows how to answer: any will do."""

    def __init__(
        self, attractions: npt.ArrayLike, epoch_length: int | Sequence[int], *, name: str = "drifting CM"
    ) -> None:
        self.attractions = _check_attractions(attractions)
        self.epoch_length = _check_lengths(epoch_length, len(self.attractions))
        self.name = name

    @classmethod
    def chapter4(
        cls,
        attraction: npt.ArrayLike,
        *,
        stay: int = 3,
        raised: int = 3,
        raised_to: float = 0.9,
        raised_for: int = 10_000,
        default_for: int = 10_000,
        breakpoints: int = 10,
        seed: int | None = None,
        name: str = "drifting CM",
    ) -> Self:
        """The drift of the reference's experiments, which surprises a policy that had settled.

        Epochs with the default attraction, the first one among them, alternate with epochs in which random items rise.

        Parameters
        ----------
        attraction
            The default attraction of each item.
        stay
            How many of the most attractive items never change.
        raised
            How many of the others, drawn anew each time, are raised.
        raised_to
            The attraction they are raised to.
        raised_for, default_for
            How many lists the two kinds of epochs last.
        breakpoints
            How often the attraction changes; the last time at the end, where the first epoch comes again.
        seed
            Of the draws of the raised items.

        Examples
        --------
        >>> users = DriftingCascade.chapter4([0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.02], seed=3)
        >>> users.n_epochs, users.n_steps
        (10, 100000)
        >>> users.attractions[1].tolist()
        [0.3, 0.2, 0.15, 0.9, 0.9, 0.05, 0.9]
        """
        default = _check_attractions([attraction])[0]
        for what, value in (("stay", stay), ("raised", raised), ("breakpoints", breakpoints)):
            if not _is_whole(value) or value < (what == "breakpoints"):
                raise ValueError(
                    f"{what} must be a whole number of at least {int(what == 'breakpoints')}, not {value!r}"
                )
        if stay + raised > len(default):
            raise ValueError(
                f"{stay} items that stay and {raised} that rise are more than the {len(default)} there are"
            )
        draw = np.random.default_rng(seed)
        others = np.argsort(-default, kind="stable")[stay:]
        rows = np.tile(default, (breakpoints, 1))
        for row in rows[1::2]:
            row[draw.choice(others, raised, replace=False)] = raised_to
        lengths = [raised_for if epoch % 2 else default_for for epoch in range(breakpoints)]
        return cls(rows, lengths, name=name)

    @property
    def n_items(self) -> int:
        """The number of items that can be shown."""
        return int(self.attractions.shape[1])

    @property
    def n_epochs(self) -> int:
        """The number of epochs."""
        return len(self.attractions)

    @property
    def n_steps(self) -> int:
        """How many lists all epochs together answer, before the first one comes again."""
        return int(self.epoch_length.sum())

    def epoch_at(self, at: int) -> int:
        """The epoch in which the list number `at`, counted from 0, is answered."""
        if not _is_whole(at) or at < 0:
            raise ValueError(f"at must be a whole number of at least 0, not {at!r}")
        return int(np.searchsorted(self.epoch_length.cumsum(), at % self.n_steps, side="right"))

    def attraction_at(self, at: int) -> Floats:
        """The attraction of each item at the list number `at`."""
        return self.attractions[self.epoch_at(at)]

    def optimal_list(self, n_positions: int, at: int = 0) -> list[int]:
        """The list of that length with the highest reward at the list number `at`."""
        if not _is_whole(n_positions) or not 1 <= n_positions <= self.n_items:
            raise ValueError(f"n_positions must be a whole number from 1 to {self.n_items}, not {n_positions!r}")
        return np.argsort(-self.attraction_at(at), kind="stable")[:n_positions].tolist()

    def reward(self, ranking: Any, top: int | None = None, at: int = 0) -> float:
        """The probability of a click on a list, or on its first `top` positions, as the list number `at`."""
        items = self._check_list(ranking)[: self._check_top(top)]
        return 1.0 - float(np.prod(1.0 - self.attraction_at(at)[items]))

    def regret(self, ranking: Any, top: int | None = None, at: int = 0) -> float:
        """How much less reward a list has than the best one of its length at the list number `at`."""
        n = min(len(self._check_list(ranking)), self._check_top(top))
        return self.reward(self.optimal_list(n, at), at=at) - self.reward(ranking, n, at=at)

    def click(self, ranking: Any, seed: int | Stream | None = None) -> list[int]:
        """Draw one user's clicks on a list, 0 or 1 for each position, and go on to the next user.

        `seed` is a number, or the stream of random numbers to draw from, which is then used up a little.
        """
        items = self._check_list(ranking)
        clicks = np.zeros(len(items), np.uint8)
        _click_once(self.state, seed if isinstance(seed, np.ndarray) else stream(seed), items, clicks)
        return clicks.tolist()

    @cached_property
    def state(self) -> DriftingCascadeState:
        """What the compiled loop needs; its regret counts all positions, and its clock goes on with every click."""
        return self.state_at(None)

    def state_at(self, top: int | None) -> DriftingCascadeState:
        """A new state at the first step, to count regret over the first `top` positions (None: over all)."""
        descending = -np.sort(-self.attractions, axis=1)
        optimal = np.zeros((self.n_epochs, self.n_items + 1))
        optimal[:, 1:] = 1.0 - np.cumprod(1.0 - descending, axis=1)
        return DriftingCascadeState(
            attractions=np.array(self.attractions),
            epoch_length=np.array(self.epoch_length),
            optimal=optimal,
            clock=np.zeros(2, np.int64),
            top=self._check_top(top),
        )

    def _check_top(self, top: int | None) -> int:
        if top is None:
            return self.n_items
        if not _is_whole(top) or top < 1:
            raise ValueError(f"top must be a whole number of at least 1, not {top!r}")
        return int(top)

    def _check_list(self, ranking: Any) -> npt.NDArray[np.int64]:
        items = list(ranking) if isinstance(ranking, Sequence | np.ndarray) else None
        if not items or not all(_is_whole(item) for item in items):
            raise ValueError(f"a list must be a sequence of item numbers, not {ranking!r}")
        if len(set(items)) < len(items) or min(items) < 0 or max(items) >= self.n_items:
            raise ValueError(f"a list holds different items from 0 to {self.n_items - 1}, unlike {ranking!r}")
        return np.array(items, np.int64)

    def __repr__(self) -> str:
        return f"DriftingCascade({self.n_items} items, {self.n_epochs} epochs, name={self.name!r})"


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _check_attractions(given: Any) -> Floats:
    try:
        rows = np.array(given, np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"attractions must be rows of numbers in [0, 1], all of one length and one for each epoch, not {given!r}"
        ) from None
    if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] == 0:
        raise ValueError(
            f"attractions must be one row for each epoch, at least one, of one number for each item, not {given!r}"
        )
    wrong = np.argwhere(~((rows >= 0) & (rows <= 1)))
    if len(wrong):
        epoch, item = wrong[0]
        raise ValueError(
            f"the attraction of item {item} in epoch {epoch} is {rows[epoch, item]:g}, "
            "which is not a probability: it must lie in [0, 1]"
        )
    rows.flags.writeable = False
    return rows


def _check_lengths(given: int | Sequence[int], n_epochs: int) -> npt.NDArray[np.int64]:
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
        lengths = list(given)
    else:
        lengths = [given] * n_epochs
    if len(lengths) != n_epochs:
        raise ValueError(f"there are {n_epochs} epochs, but {len(lengths)} epoch lengths: {given!r}")
    for length in lengths:
        if not _is_whole(length) or length < 1:
            raise ValueError(f"an epoch must last a whole number of lists, at least 1, not {length!r}")
    return np.array(lengths, np.int64)
