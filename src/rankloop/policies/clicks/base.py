"""Rankings, and what all click bandits share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, overload

import numpy as np

from rankloop.checks import check_whole, is_finite, is_index
from rankloop.kernels.arrays import Array, Clicks, Ints, Stream
from rankloop.policies.base import Policy, choose_once, learn_once, new_stream
from rankloop.policies.checks import check_kept


class Ranking(Sequence[int]):
    """A list to show, which remembers what its policy needs to learn from the clicks on it.

    Clicks may come late, or never, or to another process, so a ranking travels as plain JSON.

    >>> ranking = Ranking([3, 1, 2], notes=[0.0, 1.0], policy="5f2a")
    >>> list(ranking), ranking[0], len(ranking)
    ([3, 1, 2], 3, 3)
    >>> Ranking.from_json(ranking.to_json()) == ranking
    True
    """

    __slots__ = ("items", "notes", "policy")

    def __init__(self, items: Sequence[int], *, notes: Sequence[float] = (), policy: str = "") -> None:
        try:
            self.items, self.notes = tuple(items), tuple(notes)
        except TypeError:
            raise ValueError(
                f"a ranking needs a sequence of items and one of notes, not {items!r}, {notes!r}"
            ) from None
        self.policy = policy

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...

    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[int]:
        return iter(self.items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ranking):
            return NotImplemented
        return (self.items, self.notes, self.policy) == (other.items, other.notes, other.policy)

    def __hash__(self) -> int:
        return hash((self.items, self.notes, self.policy))

    def __repr__(self) -> str:
        return f"Ranking({list(self.items)})"

    def to_json(self) -> str:
        """The ranking as a JSON object."""
        return json.dumps({"items": list(self.items), "notes": list(self.notes), "policy": self.policy})

    @classmethod
    def from_json(cls, text: str | bytes | Mapping[str, Any]) -> Ranking:
        """The ranking of a JSON text, or of the mapping such a text holds."""
        try:
            fields = text if isinstance(text, Mapping) else json.loads(text)
            items, policy = list(fields["items"]), fields.get("policy", "")
            notes = [float(note) for note in fields.get("notes", ())]
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ValueError(f"not a ranking: {text!r} ({error})") from None
        if not isinstance(policy, str) or any(isinstance(item, bool) or not isinstance(item, int) for item in items):
            raise ValueError(f"not a ranking: items must be whole numbers and the policy a text, in {text!r}")
        return cls(items, notes=notes, policy=policy)


class ClickPolicy(Policy):
    """Base of the click bandits: `rank` returns a list to show, `update` learns from the clicks on it.

    Clicks may come late, in any order, or never. Each call of `update` is one more observation: where a queue may
    deliver the same clicks twice, drop the second ones before they get here.
    """

    n_items: int
    n_positions: int
    n_notes: int = 0
    """Number of notes that the policy makes about each list."""

    learns: ClassVar[bool] = True
    """Whether clicks change what is shown, so that the generic checks can ask for it."""

    takes_seen: ClassVar[bool] = False
    """Whether the `learn` step knows of lists seen in part, which have fewer clicks than items: those on the positions
    that were seen. Where this is False, `update` refuses such lists."""

    may_be_shorter: ClassVar[bool] = False
    """Whether a list may have fewer items than `n_positions`, where there are too few to choose from."""

    def __init__(self, n_items: int, n_positions: int, seed: int | None) -> None:
        self.n_items = check_whole("n_items", n_items, 1)
        self.n_positions = check_whole("n_positions", n_positions, 1)
        if self.n_positions > self.n_items:
            raise ValueError(f"n_positions = {n_positions} is more than the {n_items} items there are to show")
        self._rng: Stream = new_stream(seed)

    @property
    def n_shown(self) -> int:
        """How many items the next list has."""
        return self.n_positions

    def rank(self) -> Ranking:
        """The list to show next."""
        items = np.zeros(self.n_shown, np.int64)
        notes = np.zeros(self.n_notes)
        choose_once(self.state, items, notes)
        return Ranking(items.tolist(), notes=notes.tolist(), policy=self._tag)

    @property
    def _tag(self) -> str:
        """What a list carries to show that it is this policy's."""
        return self.identity

    def update(self, ranking: Ranking, clicks: Sequence[int] | Array, *, seen: int | None = None) -> None:
        """Learn from the clicks on a list of this policy.

        Parameters
        ----------
        ranking
            List, as returned by `rank`.
        clicks
            1 or 0 for each position of the list.
        seen
            Number of positions that came into view, from the top; all if not given. Positions below are not
            observations: that they were not clicked says nothing. A list of which nothing was seen (0) changes nothing,
            and counts for no step.
        """
        items = self._check_ranking(ranking)
        observed = self._check_clicks(clicks, len(items), seen)
        if len(observed):
            self._learns_from(ranking)
            learn_once(self.state, items, np.array(ranking.notes, np.float64), observed)

    def _learns_from(self, ranking: Ranking) -> None:
        """What a policy notes about a list that was found to be in order, before it learns from the clicks on it."""

    def _practise(self) -> None:
        self.update(self.rank(), [0] * self.n_shown)
        _ = self.best

    # -- lists that change ---------------------------------------------------------------------------------------

    def relisted(self, kept: Sequence[int | None], *, n_positions: int | None = None) -> Self:
        """The policy over another list of items, with what it knows of those that stay.

        Its random numbers continue. What each policy keeps is said in its documentation; one that says nothing begins
        anew.

        Parameters
        ----------
        kept
            Former number of each item of the new list, in production's order; None for a new item.
        n_positions
            Number of items to show; as before, or fewer where there are fewer items, if not given.
        """
        numbers = check_kept(kept, self.n_items)
        positions = min(self.n_positions, len(numbers)) if n_positions is None else n_positions
        given = dict(self.parameters)
        given.update({"initial": list(range(len(numbers)))} if "initial" in given else {"n_items": len(numbers)})
        policy = type(self)(**{**given, "n_positions": positions})
        policy.identity = self.identity
        policy.state.rng[:] = self.state.rng
        old = np.array([-1 if item is None else item for item in numbers], np.int64)
        stays = np.flatnonzero(old >= 0)
        policy._take_over(self, stays, old[stays])
        return policy

    def _take_over(self, before: Self, new: Ints, old: Ints) -> None:
        """Take over what is known of items that had the numbers `old` and now have the numbers `new`."""
        del before, new, old

    def update_outdated(
        self, items: Sequence[int | None], notes: Sequence[float], clicks: Sequence[int], seen: int | None = None
    ) -> bool:
        """Learn from a list that was shown before the policy was relisted; False if the policy cannot.

        Parameters
        ----------
        items
            Items of the list, by their present numbers; None for items that are gone.
        notes
            Notes of the list.
        clicks, seen
            As in `update`.
        """
        del items, notes, clicks, seen
        return False

    @property
    def best(self) -> list[int]:
        """The list that looks best now, as far as it is shown."""
        raise NotImplementedError

    def _check_ranking(self, ranking: Ranking) -> Ints:
        if not isinstance(ranking, Ranking):
            raise ValueError(f"update needs the ranking that rank() gave (or Ranking.from_json), not {ranking!r}")
        if ranking.policy != self._tag:
            raise ValueError(f"{ranking!r} is not a list of this policy: feedback belongs to the policy that chose it")
        if not all(is_index(item, self.n_items) for item in ranking):
            raise ValueError(f"items go from 0 to {self.n_items - 1}, not as in {ranking!r}")
        self._check_different(ranking)
        if len(ranking.notes) != self.n_notes or not all(map(is_finite, ranking.notes)):
            raise self._wrong_notes(ranking)
        return np.array(ranking.items, np.int64)

    def _check_different(self, ranking: Ranking) -> None:
        least = 1 if self.may_be_shorter else self.n_positions
        if not least <= len(ranking) <= self.n_positions or len(set(ranking.items)) != len(ranking):
            most = f"at most {self.n_positions}" if self.may_be_shorter else f"{self.n_positions}"
            raise ValueError(f"a list of this policy has {most} different items, not {ranking!r}")

    def _wrong_notes(self, ranking: Ranking) -> ValueError:
        return ValueError(f"the notes of {ranking!r} are not those of a {type(self).__name__}: {ranking.notes}")

    def _check_clicks(self, clicks: Sequence[int] | Array, n_shown: int, seen: int | None) -> Clicks:
        """The clicks on the positions that were seen."""
        try:
            given = np.asarray(clicks)
        except (TypeError, ValueError, OverflowError):
            given = np.asarray("not numbers")
        if given.dtype.kind not in "biuf":
            raise ValueError(f"clicks must be 0 or 1 for each position, not {clicks!r}")
        if given.shape != (n_shown,):
            raise ValueError(f"there are {n_shown} positions, but clicks are {clicks!r}")
        if not ((given == 0) | (given == 1)).all():
            raise ValueError(f"clicks must be 0 or 1 for each position, not {clicks!r}")
        observed = given.astype(np.uint8)
        if seen is None:
            return observed
        if not is_index(seen, n_shown + 1):
            raise ValueError(f"seen must be a whole number from 0 to {n_shown}, the length of the list, not {seen!r}")
        if observed[seen:].any():
            raise ValueError(f"only the first {seen} positions were seen, but clicks are {clicks!r}")
        if seen < n_shown and not self.takes_seen:
            raise ValueError(
                f"{type(self).__name__} cannot learn from lists seen in part (seen = {seen} of {n_shown}): "
                "its `learn` step must stop at the end of the clicks, and its class say takes_seen = True"
            )
        return observed[:seen]
