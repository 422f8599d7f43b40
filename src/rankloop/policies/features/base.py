"""What the bandits that rank by features share: a catalogue, a model of the user, and the list that looks best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Sized
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from rankloop.arrays import check_features, check_topics
from rankloop.checks import check_number, is_finite, is_index, is_whole
from rankloop.kernels.arrays import Array, Bytes, Clicks, Floats, Ints, Stream
from rankloop.policies.base import choose_once, learn_once
from rankloop.policies.clicks.base import ClickPolicy, Ranking
from rankloop.policies.features.catalogue import (
    Catalogue,
    check_items,
    n_columns,
    new_catalogue,
    stack,
)
from rankloop.policies.features.greedy import new_desk
from rankloop.policies.features.learned import _LearnedFeatures
from rankloop.policies.features.ridge import Ridge, new_ridge
from rankloop.policies.features.steps import AnyState, FeatureState, SampledState

LARGEST = 1e9
"""Largest gamma and largest ridge; the smallest ridge is 1 / LARGEST."""

LONGEST = 1e6
"""Largest absolute value of a feature, in units of sqrt(ridge): beyond it, rounding hides the differences of items."""

MOST_TIMES_SMALLER = 8
"""For candidates that are at most one in so many items, a catalogue of their own is made: that is faster."""


Feedback = tuple[Ranking, Sequence[int] | Array] | tuple[Ranking, Sequence[int] | Array, int | None]
"""A list with its clicks and, where only its first positions were seen, how many."""


class Kept(NamedTuple):
    """What a policy has learned, and which items may be shown."""

    rng: Stream
    model: Ridge
    eligible: Bytes


class FeaturePolicy(_LearnedFeatures):
    """Base of the policies that rank items by their features.

    Items are the rows of the features, from 0 on. The catalogue may grow and shrink: numbers are never given twice, and
    items that were removed keep their features, since clicks on lists that show them may still come.
    """

    cascade: ClassVar[bool] = True
    """Whether users are taken to look down to their first click only."""

    sampled: ClassVar[bool] = False
    """Whether the policy explores by Thompson sampling."""

    takes_seen = True
    may_be_shorter = True

    _least_coverage: ClassVar[float] = 0.0
    """What a topic covers at least."""

    _names: ClassVar[tuple[str | None, str | None]] = ("relevance", "topics")
    """What the constructor calls relevance features and topics; None for those it does not take."""

    ridge: float

    segment: str = ""
    """Whose model this is, where there are several over one catalogue."""

    def __init__(
        self,
        relevance: ArrayLike | None,
        topics: ArrayLike | None,
        n_positions: int,
        gamma: float,
        ridge: float,
        seed: int | None,
    ) -> None:
        self.gamma = check_number("gamma", gamma, 0, LARGEST)
        self.ridge = check_number("ridge", ridge, 1 / LARGEST, LARGEST)
        self._widths: tuple[int, int] | None = None
        self._features = self._check_new(relevance, topics)
        self._widths = n_columns(relevance), n_columns(topics)
        super().__init__(len(self._features[0]), n_positions, seed)
        model = new_ridge(self._n_topics + self._n_relevance, self.ridge)
        self.state = self._state_with(new_catalogue(*self._features), self._rng, model)

    def _state_with(self, catalogue: Catalogue, rng: Stream, model: Ridge) -> AnyState:
        n_items = len(catalogue.eligible)
        squares = (catalogue.relevance**2).sum(axis=1)
        np.add.at(squares, catalogue.topic_items, catalogue.topic_coverage**2)
        kind = SampledState if self.sampled else FeatureState
        return kind(
            rng=rng,
            model=model,
            widths=np.sqrt(squares / self.ridge),  # of a model that has seen nothing, and so a bound for any other
            catalogue=catalogue,
            desk=new_desk(
                n_items, len(catalogue.topics), self._n_topics, self._n_topics + self._n_relevance, self.n_positions
            ),
            gamma=self.gamma,
            cascade=self.cascade,
            literal=self._literal,
        )

    # -- ranking and learning ------------------------------------------------------------------------------------

    def _rank(self, candidates: Iterable[int] | None, relevance: ArrayLike | None, topics: ArrayLike | None) -> Ranking:
        if candidates is None and relevance is None and topics is None:
            return ClickPolicy.rank(self)
        eligible = self.state.catalogue.eligible
        chosen = np.flatnonzero(eligible) if candidates is None else check_items(candidates, self.n_items)
        gone = chosen[eligible[chosen] == 0]
        if len(gone):
            raise ValueError(f"item {gone[0]} has been removed: leave it out of the candidates")
        given = self._check_given(relevance, topics)
        n_shown = self._shown_of(len(chosen) + len(given[0]))
        if not len(given[0]) and len(chosen) * MOST_TIMES_SMALLER > self.n_items:
            allowed = np.zeros(self.n_items, np.uint8)
            allowed[chosen] = 1
            state = self.state._replace(catalogue=self.state.catalogue._replace(eligible=allowed))
            return self._choose_from(state, np.arange(self.n_items), self._features, n_shown)
        features = stack([own[chosen] for own in self._features], given)
        names = np.concatenate([chosen, -1 - np.arange(len(given[0]))])
        state = self._state_with(new_catalogue(*features), self.state.rng, self.state.model)
        return self._choose_from(state, names, features, n_shown)

    def _choose_from(
        self,
        state: AnyState,
        names: Ints,
        features: tuple[Floats, Floats],
        n_shown: int,
    ) -> Ranking:
        items = np.zeros(n_shown, np.int64)
        choose_once(state, items, np.zeros(0))
        brought = items[names[items] < 0]
        notes = np.concatenate([each[brought] for each in features], axis=1)
        return Ranking(names[items].tolist(), notes=notes.ravel().tolist(), policy=self._tag)

    @property
    def n_shown(self) -> int:
        """How many items the next list has: fewer than `n_positions` where the catalogue has fewer."""
        return self._shown_of(int(self.state.catalogue.eligible.sum()))

    def update(self, ranking: Ranking, clicks: Sequence[int] | Array, *, seen: int | None = None) -> None:
        """Learn from the clicks on a list of this policy: 1 or 0 for each position, the first `seen` of them seen."""
        self.learn(*self.check_update(ranking, clicks, seen))

    def update_many(self, feedback: Iterable[Feedback]) -> None:
        """Learn from many lists at once, each with its clicks and, where only its first positions were seen, how many.

        Where one of them is refused, none is learned from.
        """
        for checked in [self.check_update(*each) for each in check_feedback(feedback)]:
            self.learn(*checked)

    def check_update(
        self, ranking: Ranking, clicks: Sequence[int] | Array, seen: int | None = None
    ) -> tuple[Ints, Floats, Clicks]:
        """What `learn` needs, or why it cannot be learned from."""
        items = self._check_ranking(ranking)
        return items, np.array(ranking.notes, np.float64), self._check_clicks(clicks, len(items), seen)

    def learn(self, items: Ints, notes: Floats, clicks: Clicks) -> None:
        """Learn from what was checked: the clicks are those on the positions that were seen."""
        if not len(clicks):
            return
        state = self.state
        if len(notes):
            state = self._state_with(new_catalogue(*self._rows(items, notes)), self.state.rng, self.state.model)
            items = np.arange(len(items))
        learn_once(state, items, np.zeros(0), clicks)

    def _practise(self) -> None:
        self.state.catalogue.eligible[:] = 1  # of a copy: however few items may be shown now
        super()._practise()

    # -- the catalogue -------------------------------------------------------------------------------------------

    def _add(self, relevance: ArrayLike | None, topics: ArrayLike | None) -> list[int]:
        self._check_own_catalogue()
        given = self._check_given(relevance, topics)
        if not len(given[0]):
            raise ValueError("there are no items to add: give the features of at least one")
        first = self.n_items
        self._features = stack(self._features, given)
        eligible = np.concatenate([self.state.catalogue.eligible, np.ones(len(given[0]), np.uint8)])
        self.n_items = len(eligible)
        self.state = self._state_with(new_catalogue(*self._features, eligible), self.state.rng, self.state.model)
        return list(range(first, self.n_items))

    def adopt_catalogue(self, other: FeaturePolicy) -> None:
        """Share the catalogue of another policy of this kind: this one's own with some items added."""
        widths = other.state.widths.copy()  # bounds of a model that has seen nothing hold for any other
        self.state = self.state._replace(catalogue=other.state.catalogue, desk=other.state.desk, widths=widths)
        self._features = other._features
        self.n_items = other.n_items

    def remove_items(self, items: Iterable[int]) -> None:
        """Show these items no more; clicks on lists that hold them are still learned from."""
        self._check_own_catalogue()
        removed = check_items(items, self.n_items)
        eligible = self.state.catalogue.eligible
        gone = removed[eligible[removed] == 0]
        if len(gone):
            raise ValueError(f"item {gone[0]} has been removed before")
        eligible[removed] = 0

    def _check_own_catalogue(self) -> None:
        if self.segment:
            raise ValueError("all segments share one catalogue: add and remove items of the Segments")

    def save(self, path: str | Path) -> None:
        """Write the whole policy to one file; `rankloop.load` reads it, and it continues bit for bit."""
        if self.segment:
            raise ValueError("a segment is saved with all others: save the Segments")
        super().save(path)

    @property
    def items(self) -> list[int]:
        """The items that may be shown."""
        return np.flatnonzero(self.state.catalogue.eligible).tolist()

    # -- what was learned ----------------------------------------------------------------------------------------

    @property
    def best(self) -> list[int]:
        """The list that looks best now, with nothing shown for the sake of learning."""
        items = np.zeros(self.n_shown, np.int64)
        choose_once(self.state_without_exploring, items, np.zeros(0))
        return items.tolist()

    @property
    def state_without_exploring(self) -> AnyState:
        """The state with random numbers of its own, for lists in which nothing is shown for the sake of learning."""
        state = self.state._replace(rng=self.state.rng.copy(), gamma=0.0)
        return FeatureState(*state) if isinstance(state, SampledState) else state

    @property
    def kept(self) -> Kept:
        """What is saved: the features are parameters, and all else is worked out anew."""
        return Kept(self.state.rng, self.state.model, self.state.catalogue.eligible)

    def fresh(self, seed: int | None = None) -> Self:
        """A policy with the same parameters and items that has seen nothing yet."""
        policy = super().fresh(seed)
        policy.state.catalogue.eligible[:] = self.state.catalogue.eligible
        return policy

    @property
    def _tag(self) -> str:
        return f"{self.identity}/{self.segment}" if self.segment else self.identity

    # -- checks --------------------------------------------------------------------------------------------------

    def _check_new(self, relevance: ArrayLike | None, topics: ArrayLike | None) -> tuple[Floats, Floats]:
        """The features of a new catalogue; of those that the policy does not take, no columns."""
        for name, given in zip(self._names, (relevance, topics), strict=True):
            if name is not None and isinstance(given, Sized) and getattr(given, "ndim", 1) > 0 and len(given) == 0:
                raise ValueError(f"{name} has no rows: there must be at least one item")
        return self._check_rows(relevance, topics)

    def _check_given(self, relevance: ArrayLike | None, topics: ArrayLike | None) -> tuple[Floats, Floats]:
        """The features of items that are added or given with a call."""
        for name, given in zip(self._names, (relevance, topics), strict=True):
            if name is None and given is not None:
                raise ValueError(f"{type(self).__name__} takes no such features: give {self._takes}")
            if name is not None and given is None and (relevance is not None or topics is not None):
                raise ValueError(f"{name} of the new items are missing: give {self._takes}")
        if relevance is None and topics is None:
            return np.zeros((0, self._n_relevance)), np.zeros((0, self._n_topics))
        return self._check_rows(relevance, topics)

    @property
    def _takes(self) -> str:
        return " and ".join(name for name in self._names if name)

    def _check_rows(self, relevance: ArrayLike | None, topics: ArrayLike | None) -> tuple[Floats, Floats]:
        z_name, x_name = self._names
        z_width, x_width = self._widths or (None, None)
        z = None if z_name is None else check_features(z_name, relevance, z_width)
        x = None if x_name is None else check_topics(x_name, topics, x_width, least=self._least_coverage)
        if z is not None and x is not None and len(z) != len(x):
            raise ValueError(f"{z_name} has {len(z)} rows and {x_name} {len(x)}: both need one for each item")
        if z is not None and z_name is not None:
            self._check_length(z_name, z)
        n_items = len(z) if z is not None else len(x) if x is not None else 0
        return self._arrange(np.zeros((n_items, 0)) if z is None else z, np.zeros((n_items, 0)) if x is None else x)

    def _check_length(self, name: str, features: Floats) -> None:
        longest = LONGEST * math.sqrt(self.ridge)
        wrong = np.argwhere(np.abs(features) > longest)
        if len(wrong):
            item, column = wrong[0]
            value = features[item, column]
            raise ValueError(f"{name}[{item}, {column}] = {value:g} is beyond {longest:g}: scale features to about 1")

    def _split(self, side_by_side: Floats) -> tuple[Floats, Floats]:
        """Relevance features and topics of a table that has the topics first."""
        assert self._widths is not None
        n_topics = self._widths[1]
        return side_by_side[:, n_topics:], side_by_side[:, :n_topics]

    def _arrange(self, relevance: Floats, topics: Floats) -> tuple[Floats, Floats]:
        """What the model takes for relevance features and for topics of what it is given."""
        return relevance, topics

    def _shown_of(self, n_candidates: int) -> int:
        """How many of so many candidates a list has."""
        if n_candidates < 1:
            raise ValueError("there are no candidates to choose from: give at least one")
        return min(self.n_positions, n_candidates)

    def _check_ranking(self, ranking: Ranking) -> Ints:
        notes = getattr(ranking, "notes", ())
        if not notes:
            return super()._check_ranking(ranking)
        # Strangers: numbered from -1 down, with their features in the notes.
        if ranking.policy != self._tag:
            raise ValueError(f"{ranking!r} is not a list of this policy: feedback belongs to the policy that chose it")
        if not all(map(is_finite, notes)):
            raise self._wrong_notes(ranking)
        brought = [item for item in ranking if is_whole(item) and -(2**63) <= item < 0]
        width = self._n_relevance + self._n_topics
        if len(notes) != len(brought) * width or not brought:
            raise self._wrong_notes(ranking)
        if not all(item in brought or is_index(item, self.n_items) for item in ranking):
            raise ValueError(f"items go from 0 to {self.n_items - 1}, not as in {ranking!r}")
        self._check_different(ranking)
        given = np.reshape(np.array(notes, np.float64), (len(brought), width))
        covered = given[:, self._n_relevance :]
        too_long = np.abs(given[:, : self._n_relevance]).max(initial=0.0) > LONGEST * math.sqrt(self.ridge)
        if too_long or ((covered < self._least_coverage) | (covered > 1.0)).any():
            raise self._wrong_notes(ranking)
        return np.array(ranking.items, np.int64)


def check_feedback(feedback: Any) -> list[tuple[Any, Any, Any]]:
    """Lists, each with its clicks and how many positions were seen (None: all); they are checked later."""
    try:
        return [(*each, None) if len(each) == 2 else (each[0], each[1], each[2]) for each in feedback]
    except (TypeError, ValueError, IndexError, KeyError):
        raise ValueError(
            f"feedback must be pairs of a ranking and its clicks, or triples with how much was seen, not {feedback!r}"
        ) from None
