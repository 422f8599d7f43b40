"""What compiled code asks of every interleaver, and the tally they share.

An interleaver keeps a *draft*: a NamedTuple of arrays with at least the fields of `Lists`, `shown`, `counters` and
`notes`. It registers the five steps below for it. The live interleavers and the preference matrices draw lists with
the same steps.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from rankloop.kernels import compiled, entry, inlined
from rankloop.kernels.arrays import Floats, Ints, Ints32, Items, Stream


class _Draft(Protocol):
    """The fields that every draft has."""

    @property
    def order(self) -> Ints32: ...

    @property
    def sizes(self) -> Ints: ...

    @property
    def shown(self) -> Ints: ...

    @property
    def counters(self) -> Ints: ...

    @property
    def top(self) -> Ints: ...


STAMP, OVER, TAKEN, FIRST = range(4)
"""Counters of a draft: the stamp of items in the current list, whether credit has ended, places taken in this round,
who began."""
N_COUNTERS = 4

NO_TEAM = -1


def prepare(draft: Any) -> None:
    """Do what new lists need once, before any drawing from them."""


def begin(draft: Any, rng: Stream) -> None:
    """Start an empty list."""


def place(draft: Any, k: int, item: int, team: int) -> None:
    """Put an item at position k on behalf of a ranker, and note what it will be worth if clicked."""


def draw(draft: Any, rng: Stream, k: int) -> int:  # type: ignore[empty-body]
    """Draw the item of position k and place it; -1 if every item is shown."""


def score_clicks(draft: Any, clicked: Ints, n_clicked: int, sampled: bool) -> float:  # type: ignore[empty-body]
    """The score of ranker 0 against ranker 1: the probability of a win plus half of that of a tie.

    `clicked` holds the clicked positions from the top; `sampled` asks for the outcome of the teams as drawn where the
    expected one over all teams is known.
    """


@inlined
def is_shown(draft: _Draft, item: int) -> bool:
    """Whether the current list has the item already."""
    return draft.shown[item] == draft.counters[STAMP]


@inlined
def top_item(draft: _Draft, ranker: int) -> int:
    """The ranker's best item that is not shown yet, or -1; `draft.top` remembers how far down it stands."""
    at = draft.top[ranker]
    size = draft.sizes[ranker]
    while at < size and draft.shown[draft.order[ranker, at]] == draft.counters[STAMP]:
        at += 1
    draft.top[ranker] = at
    return draft.order[ranker, at] if at < size else -1


@compiled
def lead_distribution(left: Floats, right: Floats, n: int, lead: Floats) -> None:
    """The distribution of "clicks of left minus clicks of right" over n clicks whose teams are independent.

    Click m belongs to left with probability left[m], to right with right[m], else to neither. Probabilities go to
    lead[0 ... 2n], for leads from -n to n; `lead` has room for 2n + 1.
    """
    for at in range(2 * n + 1):
        lead[at] = 0.0
    lead[n] = 1.0
    for m in range(n):
        none = 1.0 - left[m] - right[m]
        below = 0.0  # the old value one place down, which is overwritten on the way up
        for at in range(n - m - 1, n + m + 2):
            here = lead[at]
            above = lead[at + 1] if at < 2 * n else 0.0
            lead[at] = below * left[m] + here * none + above * right[m]
            below = here


@entry
def draw_page(draft: Any, rng: Stream, start: int, stop: int, items: Items) -> int:
    """Fill positions start to stop of a list; return where it ended, which is earlier if items ran out."""
    for k in range(start, stop):
        item = draw(draft, rng, k)
        if item < 0:
            return k
        items[k] = item
    return stop


@entry
def open_draft(draft: Any, rng: Stream) -> None:
    """Prepare a draft and begin a list, for a caller in Python."""
    prepare(draft)
    begin(draft, rng)


@entry
def place_again(draft: Any, items: Items, teams: Ints) -> None:
    """Put the items of earlier pages where they were."""
    for k in range(len(items)):
        place(draft, k, items[k], teams[k])


@entry
def lead_of(left: Floats, right: Floats) -> Floats:
    """`lead_distribution`, for a caller in Python."""
    n = len(left)
    lead = np.zeros(2 * n + 1)
    lead_distribution(left, right, n, lead)
    return lead
