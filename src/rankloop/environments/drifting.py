"""What the click environments whose preferences change share: a schedule of epochs, and its clock."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from rankloop.arrays import check_probabilities
from rankloop.checks import check_whole
from rankloop.environments.checks import check_list
from rankloop.environments.click_environment import ClickEnvironment, click_once
from rankloop.kernels import gains, regret, respond, step, stream
from rankloop.kernels.arrays import Clicks, Floats, Ints, Items, Stream

EPOCH, STEP = range(2)


class DriftingState(NamedTuple):
    """`now` is the stationary state of this epoch; `clock` holds the epoch and how many lists it has answered."""

    now: Any
    attractions: Floats
    optimal: Floats
    epoch_length: Ints
    clock: Ints


@step(respond, DriftingState)
def _respond(environment: DriftingState, rng: Stream, items: Items, feedback: Clicks) -> None:
    now, clock = environment.now, environment.clock
    respond(now, rng, items, feedback)
    clock[STEP] += 1
    if clock[STEP] == environment.epoch_length[clock[EPOCH]]:
        epoch = 0 if clock[EPOCH] + 1 == len(environment.epoch_length) else clock[EPOCH] + 1
        clock[STEP] = 0
        clock[EPOCH] = epoch
        for i in range(len(now.attraction)):
            now.attraction[i] = environment.attractions[epoch, i]
        for n in range(len(now.optimal)):
            now.optimal[n] = environment.optimal[epoch, n]


@step(regret, DriftingState)
def _regret(environment: DriftingState, items: Items) -> float:
    return regret(environment.now, items)


@step(gains, DriftingState, counted=True)
def _gains(environment: DriftingState) -> Floats:
    return gains(environment.now)


class DriftingEnvironment:
    """Base of the environments in which one click model follows another, without notice to policies.

    Each list that is answered takes one step. After the last epoch the first one begins again. The regret of a list is
    measured against the best list at that step.

    A subclass makes the users of an epoch from its attractions (`_users`).
    """

    name: str
    epochs: list[ClickEnvironment]
    """The users of each epoch."""
    offers = ClickEnvironment.offers

    def __init__(self, attractions: npt.ArrayLike, epoch_length: int | Sequence[int], name: str) -> None:
        self.attractions = _check_rows(attractions)
        self.epoch_length = _check_lengths(epoch_length, len(self.attractions))
        self.epochs = [self._users(row) for row in self.attractions]
        self.name = name

    def _users(self, attraction: Floats) -> ClickEnvironment:
        """The users of an epoch in which items have these attractions."""
        raise NotImplementedError

    @classmethod
    def chapter4(
        cls,
        attraction: npt.ArrayLike,
        *positions: npt.ArrayLike,
        stay: int = 3,
        raised: int = 3,
        raised_to: float = 0.9,
        raised_for: int = 10_000,
        default_for: int = 10_000,
        breakpoints: int = 10,
        seed: int | None = None,
        **more: Any,
    ) -> Self:
        """The drift of the reference's experiments, which surprises a policy that has settled on a list.

        Epochs with the default attraction, which come first, alternate with epochs in which random items rise.

        Parameters
        ----------
        attraction
            Default attraction of each item.
        positions
            Parameters of positions, where the click model has any: abandonment, or examination.
        stay
            Number of the most attractive items that never change.
        raised
            Number of the other items, drawn anew each time, that are raised.
        raised_to
            Attraction to which they are raised.
        raised_for, default_for
            Number of lists that the two kinds of epochs last.
        breakpoints
            Number of changes; the last one is at the end, where the first epoch begins again.
        seed
            Seed of the draws of the raised items.
        more
            Further arguments of the environment: its name.

        Examples
        --------
        >>> from rankloop import DriftingCascade, DriftingPositionBasedModel
        >>> default = [0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.02]
        >>> users = DriftingCascade.chapter4(default, seed=3)
        >>> users.n_epochs, users.n_steps
        (10, 100000)
        >>> users.attractions[1].tolist()
        [0.3, 0.2, 0.15, 0.9, 0.9, 0.05, 0.9]
        >>> DriftingPositionBasedModel.chapter4(default, [1.0, 0.5, 0.2], seed=3, name="q7")
        DriftingPositionBasedModel(7 items, 10 epochs, name='q7')
        """
        default = check_probabilities("attraction", attraction)
        for what, value, least in (("stay", stay, 0), ("raised", raised, 0), ("breakpoints", breakpoints, 1)):
            check_whole(what, value, least)
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
        make: Any = cls  # subclasses take what they know of positions between the two
        return make(rows, *positions, epoch_length=lengths, **more)

    @property
    def n_items(self) -> int:
        """The number of items that can be shown."""
        return int(self.attractions.shape[1])

    @property
    def n_positions(self) -> int | None:
        """Length of the longest list that the model can answer; None where there is no limit."""
        return self.epochs[0].n_positions

    @property
    def n_epochs(self) -> int:
        """The number of epochs."""
        return len(self.epochs)

    @property
    def n_steps(self) -> int:
        """How many lists all epochs together answer, before the first one comes again."""
        return int(self.epoch_length.sum())

    def epoch_at(self, at: int) -> int:
        """The epoch in which the list number `at`, counted from 0, is answered."""
        check_whole("at", at, 0)
        return int(np.searchsorted(self.epoch_length.cumsum(), at % self.n_steps, side="right"))

    def users_at(self, at: int) -> ClickEnvironment:
        """The users who answer the list number `at`."""
        return self.epochs[self.epoch_at(at)]

    def attraction_at(self, at: int) -> Floats:
        """The attraction of each item at the list number `at`."""
        return self.users_at(at).attraction

    def optimal_list(self, n_positions: int | None = None, at: int = 0) -> list[int]:
        """The list of that length with the highest reward at the list number `at`."""
        return self.users_at(at).optimal_list(n_positions)

    def reward(self, ranking: Any, top: int | None = None, at: int = 0) -> float:
        """The expected reward of a list, or of its first `top` positions, as the list number `at`."""
        return self.users_at(at).reward(ranking, top)

    def regret(self, ranking: Any, top: int | None = None, at: int = 0) -> float:
        """How much less reward a list has than the best one of its length at the list number `at`."""
        return self.users_at(at).regret(ranking, top)

    def click(self, ranking: Any, seed: int | Stream | None = None) -> list[int]:
        """Draw one user's clicks on a list, 0 or 1 for each position, and go on to the next user.

        `seed` is a number, or a stream of random numbers to draw from, which then moves on.
        """
        items = check_list(ranking, self.n_items, self.n_positions)
        clicks = np.zeros(len(items), np.uint8)
        click_once(self.state, seed if isinstance(seed, np.ndarray) else stream(seed), items, clicks)
        return clicks.tolist()

    @cached_property
    def state(self) -> DriftingState:
        """What the compiled loop needs; its regret counts all positions, and its clock goes on with every click."""
        return self.state_at(None)

    def state_at(self, top: int | None) -> DriftingState:
        """A new state at the first step, to count regret over the first `top` positions (None: over all)."""
        now = self.epochs[0].state_at(top)
        return DriftingState(
            now=now._replace(attraction=np.array(now.attraction), optimal=np.array(now.optimal)),
            attractions=np.array(self.attractions),
            optimal=np.array([users.optimal_rewards for users in self.epochs]),
            epoch_length=np.array(self.epoch_length),
            clock=np.zeros(2, np.int64),
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_items} items, {self.n_epochs} epochs, name={self.name!r})"


def _check_rows(given: Any) -> Floats:
    rows = list(given) if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) else None
    if not rows:
        raise ValueError(f"attractions must be one row of numbers for each epoch, at least one, not {given!r}")
    checked = [check_probabilities(f"attractions[{epoch}]", row) for epoch, row in enumerate(rows)]
    for epoch, row in enumerate(checked):
        if len(row) != len(checked[0]):
            raise ValueError(
                f"every epoch has the same items, but attractions[0] has {len(checked[0])} and "
                f"attractions[{epoch}] has {len(row)}"
            )
    result = np.array(checked)
    result.flags.writeable = False
    return result


def _check_lengths(given: int | Sequence[int], n_epochs: int) -> Ints:
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
        lengths = list(given)
    else:
        lengths = [given] * n_epochs
    if len(lengths) != n_epochs:
        raise ValueError(f"there are {n_epochs} epochs, but {len(lengths)} epoch lengths: {given!r}")
    for length in lengths:
        check_whole("epoch_length", length, 1)
    return np.array(lengths, np.int64)
