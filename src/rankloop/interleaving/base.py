"""Interleaved lists, and what all interleavers share."""

from __future__ import annotations

import json
import math
import secrets
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankloop.checks import check_seed, check_whole
from rankloop.interleaving.drafts import N_COUNTERS, NO_TEAM, draw_page, open_draft, place_again
from rankloop.interleaving.lists import Item, Lists, arrange, plain_item
from rankloop.kernels import stream
from rankloop.kernels.arrays import Floats, Ints, Stream


class Preference(NamedTuple):
    """How one ranker did against another: probabilities of a win, a tie and a loss, given the list and its clicks."""

    win: float
    tie: float
    loss: float

    @property
    def score(self) -> float:
        """Wins plus half of the ties: what a preference matrix counts."""
        return self.win + self.tie / 2

    @classmethod
    def of_lead(cls, lead: float) -> Preference:
        """The certain outcome of a lead that is positive, zero or negative."""
        return cls(float(lead > 0), float(lead == 0), float(lead < 0))


@dataclass(frozen=True)
class Interleaving:
    """A list made of several rankers' lists, with all that is needed to give credit for clicks on it later.

    It goes to plain JSON and back, so clicks may come late and to another process.

    Parameters
    ----------
    method
        Name of the interleaver that made it.
    items
        Items to show, from the top, of all pages so far.
    notes
        One number for each position and ranker, from which the method computes credit.
    seed
        Seed of the draft, which further pages continue.

    Examples
    --------
    >>> from rankloop.interleaving import TeamDraft
    >>> page = TeamDraft().interleave([["a", "b", "c"], ["b", "d", "a"]], length=3, seed=4)
    >>> page.items
    ('b', 'a', 'd')
    >>> page.credit([0, 1, 0])
    (1.0, 0.0)
    >>> page.preference([0, 1, 0])
    Preference(win=1.0, tie=0.0, loss=0.0)
    >>> Interleaving.from_json(page.to_json()) == page
    True
    """

    method: str
    items: tuple[Item, ...]
    notes: tuple[tuple[float, ...], ...]
    seed: int

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    @property
    def n_rankers(self) -> int:
        """How many lists went into this one."""
        return len(self.notes[0])

    def credit(self, clicks: Sequence[int | bool]) -> tuple[float, ...]:
        """Each ranker's credit for the clicks, one 0 or 1 for each position."""
        return tuple(self._rule().credit(self._notes(), self._clicked(clicks)).tolist())

    def outcome(self, clicks: Sequence[int | bool], left: int = 0, right: int = 1) -> Preference:
        """Former name of `preference`."""
        warnings.warn("outcome is called preference now", DeprecationWarning, stacklevel=2)
        return self.preference(clicks, left, right)

    def preference(self, clicks: Sequence[int | bool], left: int = 0, right: int = 1) -> Preference:
        """How ranker `left` did against ranker `right`."""
        for ranker in (left, right):
            if isinstance(ranker, bool) or not isinstance(ranker, int) or not 0 <= ranker < self.n_rankers:
                raise ValueError(f"rankers go from 0 to {self.n_rankers - 1}: there is no {ranker!r}")
        return self._rule().preference(self._notes(), self._clicked(clicks), left, right)

    def to_json(self) -> str:
        """The list as a JSON object."""
        return json.dumps({"method": self.method, "items": self.items, "notes": self.notes, "seed": self.seed})

    @classmethod
    def from_json(cls, text: str | bytes | Mapping[str, Any]) -> Interleaving:
        """The list of a JSON text, or of the mapping such a text holds."""
        try:
            fields = text if isinstance(text, Mapping) else json.loads(text)
            method, seed = fields["method"], fields["seed"]
            items = tuple(plain_item(item) for item in fields["items"])
            notes = tuple(tuple(float(note) for note in row) for row in fields["notes"])
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise ValueError(f"not an interleaving: {text!r} ({error})") from None
        if not isinstance(method, str) or method not in Interleaver.known:
            raise ValueError(f"not an interleaving: no method {method!r}, only {', '.join(sorted(Interleaver.known))}")
        widths = {len(row) for row in notes}
        if not items or len(notes) != len(items) or len(widths) != 1 or min(widths) < 2:
            raise ValueError(f"not an interleaving: {len(items)} items need as many notes, each for all rankers")
        if len(set(items)) < len(items) or not all(math.isfinite(note) for row in notes for note in row):
            raise ValueError("not an interleaving: an item appears twice or a note is not a finite number")
        return cls(method, items, notes, check_seed(seed))

    def _rule(self) -> type[Interleaver]:
        return Interleaver.known[self.method]

    def _notes(self) -> Floats:
        return np.array(self.notes, np.float64)

    def _clicked(self, clicks: Sequence[int | bool]) -> Ints:
        given = _as_list("clicks", clicks)
        if len(given) != len(self.items):
            raise ValueError(
                f"clicks must be one 0 or 1 for each of the {len(self.items)} items, not {len(given)} values"
            )
        for k, click in enumerate(given):
            if not isinstance(click, int | np.integer | np.bool_) or click not in (0, 1):
                raise ValueError(f"clicks[{k}] must be 0 or 1, not {click!r}")
        return np.flatnonzero(np.array(given, np.int64))


class Interleaver:
    """Base of the interleavers: `interleave` makes a list, `extend` its next page."""

    name: ClassVar[str]
    most_rankers: ClassVar[int | None] = 2
    known: ClassVar[dict[str, type[Interleaver]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" in vars(cls):
            Interleaver.known[cls.name] = cls

    def interleave(self, lists: Sequence[Sequence[Item]], length: int = 10, seed: int | None = None) -> Interleaving:
        """Make one list of several, up to `length` items long.

        Parameters
        ----------
        lists
            Items of each ranker, best first. The lists may differ in length and in their items; an item that a list
            repeats counts at its first place.
        length
            Number of items to show; fewer if the lists together have fewer.
        seed
            Seed of the random numbers: the same seed and lists give the same result. None takes one from the operating
            system.
        """
        return self._page(lists, length, secrets.randbits(63) if seed is None else check_seed(seed), None)

    def extend(self, page: Interleaving, lists: Sequence[Sequence[Item]], length: int = 10) -> Interleaving:
        """The list with up to `length` more items: `items[len(page):]` is the next page, in the same draft.

        The lists are those of the first page, grown or not; items shown already are not shown again.
        """
        if not isinstance(page, Interleaving):
            raise ValueError(f"extend needs the list that interleave() gave (or Interleaving.from_json), not {page!r}")
        lists = _as_list("lists", lists)
        if page.method != self.name:
            raise ValueError(f"a list of method {page.method!r} cannot be extended by {self.name!r}")
        if page.n_rankers != len(lists):
            raise ValueError(f"the list was made of {page.n_rankers} lists, not {len(lists)}")
        return self._page(lists, length, page.seed, page)

    def _page(
        self, lists: Sequence[Sequence[Item]], length: int, seed: int, before: Interleaving | None
    ) -> Interleaving:
        check_whole("length", length, 1)
        lists = _as_list("lists", lists)
        n = len(lists)
        if n < 2 or (self.most_rankers is not None and n > self.most_rankers):
            wanted = "two" if self.most_rankers == 2 else "at least two"
            raise ValueError(f"{self.name} interleaves {wanted} lists, not {n}")
        shown = () if before is None else before.items
        start = len(shown)
        items, arranged = arrange(lists, shown)
        number = {item: d for d, item in enumerate(items)}
        draft = self.draft(arranged, min(start + length, len(items)))
        self._open(draft, stream(seed, 0))
        if before is not None:
            old = before._notes()
            teams = np.where(old.max(axis=1) > 0, old.argmax(axis=1), NO_TEAM)
            place_again(draft, np.array([number[item] for item in shown], np.int64), teams)
            draft.notes[:start] = old
        drawn = np.zeros(len(draft.notes), np.int64)
        stop = draw_page(draft, stream(seed, 1, start), start, len(drawn), drawn)
        return Interleaving(
            self.name,
            (*shown, *(items[d] for d in drawn[start:stop])),
            tuple(tuple(row) for row in draft.notes[:stop].tolist()),
            seed,
        )

    def draft(self, lists: Lists, n_positions: int) -> Any:
        """The state that compiled code draws a list of up to `n_positions` items with."""
        raise NotImplementedError

    def _open(self, draft: Any, rng: Stream) -> None:
        """Begin a list; an interleaver may bring what it knows about these lists already."""
        open_draft(draft, rng)

    @classmethod
    def credit(cls, notes: Floats, clicked: Ints) -> Floats:
        """Each ranker's credit: by default the sum of its notes at the clicked positions."""
        total: Floats = notes[clicked].sum(axis=0)
        return total

    @classmethod
    def preference(cls, notes: Floats, clicked: Ints, left: int, right: int) -> Preference:
        """How one ranker did against another: by default, who has more credit."""
        credit = cls.credit(notes, clicked)
        return Preference.of_lead(credit[left] - credit[right])

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def blank(lists: Lists, n_positions: int) -> dict[str, Any]:
    """The fields that every draft has."""
    n_rankers, n_items = lists.order.shape
    return {
        **lists._asdict(),
        "shown": np.zeros(n_items, np.int64),
        "counters": np.zeros(N_COUNTERS, np.int64),
        "top": np.zeros(n_rankers, np.int64),
        "notes": np.zeros((n_positions, n_rankers)),
    }


def _as_list(name: str, given: Any) -> list[Any]:
    try:
        return list(given)
    except TypeError:
        raise ValueError(f"{name} must be a sequence, not {given!r}") from None
