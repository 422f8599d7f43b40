"""Optimised interleaving: lists that either ranker could stand behind, with probabilities that make credit fair.

A list is allowed if each of its items is the best one not shown yet of one of the rankers. The first positions follow
the distribution over all allowed lists that a linear programme finds best. What has been shown is the union of a prefix
of each list, so the allowed lists are the paths through a small lattice: position k has at most k + 1 states. Further
positions need only one probability for each state, that of taking the first ranker's item.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_whole
from rankloop.interleaving.base import Interleaver, Preference, blank
from rankloop.interleaving.drafts import OVER, STAMP, begin, draw, open_draft, place, prepare, score_clicks, top_item
from rankloop.interleaving.lists import Lists
from rankloop.interleaving.programme import TIE, lead_of_item, move, solve
from rankloop.kernels import compiled, step, uniform
from rankloop.kernels.arrays import Floats, Ints, Ints32, Stream

FAIR, DEPTH, SOLVED, CHOSEN = range(4)
"""Where positions stop being fair, how many the programme covers, whether its solution is known already, which of its
lists is being shown."""
LONGEST = 12
MOST_KEPT = 1024
STEEPEST = 1e6
HALVINGS = 60


class OptimisedDraft(NamedTuple):
    """List c of the programme's solution is `choices[c]`, its probability `weights[c]`.

    State (k, i): k items are shown, the first ranker's top is at rank i, the second's at `second[k, i]`.
    `mass[k, i]` is the chance of being there, `take[k, i]` that of then taking the first ranker's item. Positions from
    `fair[FAIR]` on cannot be made fair and earn nothing.
    """

    order: Ints32
    rank: Ints32
    sizes: Ints
    shown: Ints
    counters: Ints
    top: Ints
    notes: Floats
    mass: Floats
    second: Ints
    take: Floats
    fair: Ints
    choices: Ints
    weights: Floats


@compiled
def _chance(tilt: float, difference: float) -> float:
    exponent = tilt * difference
    if exponent > 700.0:
        return 0.0
    return 1.0 / (1.0 + math.exp(exponent))


@compiled
def _expected_lead(order: Ints32, rank: Ints32, sizes: Ints, mass: Floats, second: Ints, k: int, tilt: float) -> float:
    """The expected lead of the first ranker from a click on position k, if items are preferred by `tilt`."""
    lead = 0.0
    for i in range(min(k, sizes[0]) + 1):
        if mass[k, i] == 0.0:
            continue
        j = second[k, i]
        one = order[0, i] if i < sizes[0] else order[1, j]
        other = order[1, j] if j < sizes[1] else one
        lead_one = lead_of_item(rank, sizes, one)
        lead_other = lead_of_item(rank, sizes, other)
        chance = _chance(tilt, lead_one - lead_other)
        lead += mass[k, i] * (chance * lead_one + (1.0 - chance) * lead_other)
    return lead


@compiled
def _fair_tilt(order: Ints32, rank: Ints32, sizes: Ints, mass: Floats, second: Ints, k: int) -> float:
    """The tilt nearest to none at which position k favours nobody; NaN if there is none."""
    lead = _expected_lead(order, rank, sizes, mass, second, k, 0.0)
    if abs(lead) < TIE:
        return 0.0
    low, high = -STEEPEST, STEEPEST  # the lead falls as the tilt grows
    if _expected_lead(order, rank, sizes, mass, second, k, low) < -TIE:
        return math.nan
    if _expected_lead(order, rank, sizes, mass, second, k, high) > TIE:
        return math.nan
    near = 1.0 if lead > 0 else -1.0
    while abs(near) < STEEPEST and _expected_lead(order, rank, sizes, mass, second, k, near) * near > 0:
        near *= 4.0
    low, high = min(near, 0.0), max(near, 0.0)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if _expected_lead(order, rank, sizes, mass, second, k, middle) > 0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@compiled
def _lay_out_choices(draft: OptimisedDraft, depth: int) -> None:
    """Fill the lattice down to `depth` with what the programme's lists do there."""
    order, rank, sizes = draft.order, draft.rank, draft.sizes
    np.asarray(draft.mass)[:] = 0.0
    np.asarray(draft.take)[:] = 0.0
    for c in range(len(draft.weights)):
        weight = draft.weights[c]
        if weight == 0.0:
            continue
        i, j = 0, 0
        for k in range(depth):
            item = draft.choices[c, k]
            draft.mass[k, i] += weight
            draft.second[k, i] = j
            draft.take[k, i] += weight if item == (order[0, i] if i < sizes[0] else order[1, j]) else 0.0
            i, j = move(order, rank, sizes, i, j, item)
        draft.mass[depth, i] += weight
        draft.second[depth, i] = j
    for k in range(depth):
        for i in range(draft.mass.shape[1]):
            if draft.mass[k, i] > 0.0:
                draft.take[k, i] /= draft.mass[k, i]


@compiled
def _lay_out_rest(
    order: Ints32, rank: Ints32, sizes: Ints, mass: Floats, second: Ints, take: Floats, depth: int
) -> int:
    """Fill the lattice from `depth` on; return the number of positions that are fair."""
    n_positions = len(take)
    fair = n_positions
    for k in range(depth, n_positions):
        tilt = 0.0
        if k < fair:
            tilt = _fair_tilt(order, rank, sizes, mass, second, k)
            if math.isnan(tilt):
                fair = k
                tilt = 0.0
        for i in range(min(k, sizes[0]) + 1):
            if mass[k, i] == 0.0:
                continue
            j = second[k, i]
            if i >= sizes[0] and j >= sizes[1]:
                continue
            one = order[0, i] if i < sizes[0] else order[1, j]
            other = order[1, j] if j < sizes[1] else one
            lead_one = lead_of_item(rank, sizes, one)
            lead_other = lead_of_item(rank, sizes, other)
            chance = _chance(tilt, lead_one - lead_other)
            take[k, i] = chance
            next_i, next_j = move(order, rank, sizes, i, j, one)
            mass[k + 1, next_i] += mass[k, i] * chance
            second[k + 1, next_i] = next_j
            next_i, next_j = move(order, rank, sizes, i, j, other)
            mass[k + 1, next_i] += mass[k, i] * (1.0 - chance)
            second[k + 1, next_i] = next_j
    return fair


@step(prepare, OptimisedDraft)
def _prepare(draft: OptimisedDraft) -> None:
    if draft.fair[SOLVED] == 0:
        draft.fair[DEPTH] = solve(draft.order, draft.rank, draft.sizes, draft.choices, draft.weights)
    depth = min(draft.fair[DEPTH], len(draft.take))
    _lay_out_choices(draft, depth)
    draft.fair[FAIR] = _lay_out_rest(draft.order, draft.rank, draft.sizes, draft.mass, draft.second, draft.take, depth)


@step(begin, OptimisedDraft)
def _begin(draft: OptimisedDraft, rng: Stream) -> None:
    draft.counters[STAMP] += 1
    draft.counters[OVER] = 0
    draft.top[0] = 0
    draft.top[1] = 0
    u = uniform(rng)
    for c in range(len(draft.weights)):
        if draft.weights[c] > 0.0 and u >= 0.0:
            draft.fair[CHOSEN] = c
            u -= draft.weights[c]


@step(place, OptimisedDraft)
def _place(draft: OptimisedDraft, k: int, item: int, team: int) -> None:
    draft.shown[item] = draft.counters[STAMP]
    if k < draft.fair[DEPTH] and item != draft.choices[draft.fair[CHOSEN], k]:
        draft.counters[OVER] = 1  # the lists have changed since the first page: nothing is known to be fair
    earns = k < draft.fair[FAIR] and draft.counters[OVER] == 0
    for ranker in range(2):
        at = draft.rank[ranker, item]
        draft.notes[k, ranker] = 1.0 / (at + 1.0) if earns and at < draft.sizes[ranker] else 0.0


@step(draw, OptimisedDraft)
def _draw(draft: OptimisedDraft, rng: Stream, k: int) -> int:
    if k < draft.fair[DEPTH] and draft.counters[OVER] == 0:
        item = draft.choices[draft.fair[CHOSEN], k]
        place(draft, k, item, 0)
        return item
    one = top_item(draft, 0)
    other = top_item(draft, 1)
    if one < 0 and other < 0:
        return -1
    i = draft.top[0]
    chance = 0.5
    if draft.counters[OVER] == 0 and i <= k and draft.mass[k, i] > 0.0 and draft.second[k, i] == draft.top[1]:
        chance = draft.take[k, i]
    else:
        draft.counters[OVER] = 1  # lists that changed below the first page
    item = one if other < 0 or (one >= 0 and uniform(rng) < chance) else other
    place(draft, k, item, 0)
    return item


@step(score_clicks, OptimisedDraft)
def _score_clicks(draft: OptimisedDraft, clicked: Ints, n_clicked: int, sampled: bool) -> float:
    lead = 0.0
    for m in range(n_clicked):
        lead += draft.notes[clicked[m], 0] - draft.notes[clicked[m], 1]
    return 0.5 * (1 + (lead > TIE) - (lead < -TIE))


class Optimised(Interleaver):
    """Optimised interleaving: the fair lists whose clicks tell most, each item being some ranker's best left.

    A clicked item earns each ranker 1 / rank, so a click tells the more the more the rankers disagree about the item,
    and nothing where they agree. The probabilities of the allowed lists solve the linear programme of Radlinski and
    Craswell: at every position a click that does not look at the item earns both rankers the same *in expectation*,
    and among all such distributions this one has the greatest expected sensitivity, the entropy of who wins by one
    click that falls on position k in proportion to 1 / k (times the chance that somebody wins). It has at most
    `horizon` + 1 lists.

    The programme covers the first `horizon` positions whatever the length of a page, so that several short pages are
    distributed as one long one. Positions after those are laid out one by one: fair given all before, with the
    probabilities nearest to fair coins. The same is done from the first position on at which no distribution is fair,
    as when one list is much shorter; if there are no fair probabilities either, the rest earns nobody credit.

    Give `extend` the lists of the first page: where lists have grown or changed since, the solution is another, and
    what follows a page that is not part of it earns nobody credit.

    Up to 1,024 solutions are kept in the object, then it starts afresh.

    Parameters
    ----------
    horizon
        Number of positions that the programme covers, at most 12: best the length of a page. Further pages need the
        same as the first.

    Examples
    --------
    >>> page = Optimised().interleave([["a", "b", "c"], ["b", "c", "a"]], length=3, seed=3)
    >>> page.items
    ('b', 'c', 'a')
    >>> [round(credit, 3) for credit in page.credit([1, 0, 0])]
    [0.5, 1.0]

    References
    ----------
    Radlinski, Craswell (2013). Optimized interleaving for online retrieval evaluation. WSDM.
    """

    name = "optimised"

    def __init__(self, horizon: int = 10) -> None:
        self.horizon = check_whole("horizon", horizon, 1, LONGEST)
        self._solutions: dict[bytes, tuple[Ints, Floats, int]] = {}

    def draft(self, lists: Lists, n_positions: int) -> OptimisedDraft:
        """The state that compiled code draws a list of up to `n_positions` items with."""
        shape = (n_positions + 1, n_positions + 2)
        return OptimisedDraft(
            **blank(lists, n_positions),
            mass=np.zeros(shape),
            second=np.zeros(shape, np.int64),
            take=np.zeros((n_positions, n_positions + 2)),
            fair=np.zeros(4, np.int64),
            choices=np.zeros((self.horizon + 1, self.horizon), np.int64),
            weights=np.zeros(self.horizon + 1),
        )

    def _open(self, draft: OptimisedDraft, rng: Stream) -> None:
        """Solve the programme, or take the solution for lists that look the same down to the horizon."""
        tops = [draft.order[r, : min(self.horizon, size)] for r, size in enumerate(draft.sizes)]
        seen = [draft.rank[r, top] for top in tops for r in range(2)]
        key = b"".join(part.tobytes() for part in (draft.sizes, *tops, *seen))
        known = self._solutions.get(key)
        if known is not None:
            draft.choices[:], draft.weights[:], draft.fair[DEPTH] = known
            draft.fair[SOLVED] = 1
        open_draft(draft, rng)
        if known is None:
            if len(self._solutions) >= MOST_KEPT:
                self._solutions = {}  # not one by one: other threads may be reading
            self._solutions[key] = draft.choices, draft.weights, int(draft.fair[DEPTH])

    def __repr__(self) -> str:
        return f"Optimised(horizon={self.horizon})"

    @classmethod
    def preference(cls, notes: Floats, clicked: Ints, left: int, right: int) -> Preference:
        """The ranker with more credit wins."""
        lead = float(notes[clicked, left].sum() - notes[clicked, right].sum())
        return Preference.of_lead(0.0 if abs(lead) <= TIE else lead)
