"""RecurRank: parts of the list that split, phase by phase, where a linear model tells their items apart."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankloop.arrays import check_features
from rankloop.checks import check_between, check_whole
from rankloop.kernels import allocating, choose, compiled, draw_index, entry, learn, rare, step
from rankloop.kernels.arrays import Clicks, Floats, Ints, Items, Notes, Stream
from rankloop.policies.base import shuffled
from rankloop.policies.clicks.base import ClickPolicy, Ranking
from rankloop.policies.features.design import g_optimal, least_squares

END, STAMP, PHASE, N_TRIED, RANK, MISSING = range(6)
QUOTA, SEEN, CLICKED = range(3)
NEWEST_STAMP, N_OPEN = range(2)

LAST_PHASE = 20
"""It takes more lists than will ever be shown."""


class RecurRankState(NamedTuple):
    rng: Stream
    features: Floats
    members: Ints
    tried: Ints
    part: Ints
    tally: Ints
    counts: Ints
    log_parts: float
    """Of 2 n_positions / delta."""


# A part of the list has positions and items from some first one on: the row of `part` at its first position tells the
# END of its items (only the last part can have more of them than it has positions), the STAMP of its phase, 0 once
# nothing is left to learn, the N_TRIED items (in `tried`, from the first position on) that the design of the phase has
# at the first position, the RANK of their features, and how many observations are MISSING. No other row of a part is
# ever read: a position that is first in a part stays so.


@step(choose, RecurRankState, counted=False)
def _choose(state: RecurRankState, items: Items, notes: Notes) -> None:
    part, members, tried, tally = state.part, state.members, state.tried, state.tally
    n = len(items)
    for k in range(n):
        items[k] = members[k]
        notes[k] = part[k, STAMP]
    for k in range(n):
        if part[k, STAMP] > 0:
            # The observations that are missing are made in random order.
            skipped = draw_index(state.rng, part[k, MISSING])
            x = k
            while skipped >= tally[tried[x], QUOTA] - tally[tried[x], SEEN]:
                skipped -= tally[tried[x], QUOTA] - tally[tried[x], SEEN]
                x += 1
            item = tried[x]
            following = item
            for p in range(k, min(part[k, END], n)):
                following, items[p] = items[p], following
                if following == item:
                    break


@step(learn, RecurRankState)
def _learn(state: RecurRankState, items: Items, notes: Notes, clicks: Clicks) -> None:
    part, tally = state.part, state.tally
    finished = False
    for k in range(len(clicks)):
        if notes[k] > 0.0 and notes[k] == part[k, STAMP]:
            item = items[k]
            if tally[item, SEEN] < tally[item, QUOTA]:
                tally[item, SEEN] += 1
                tally[item, CLICKED] += clicks[k]
                part[k, MISSING] -= 1
                finished |= part[k, MISSING] == 0
    if finished:
        _end_phases(state.features, state.members, state.tried, part, tally, state.counts, state.log_parts)


@compiled
def _end_phases(
    features: Floats, members: Ints, tried: Ints, part: Ints, tally: Ints, counts: Ints, log_parts: float
) -> None:
    """Order the items of parts that have been observed enough, split them where gaps are wide, and look closer."""
    n = len(part)
    for first in range(n):
        if part[first, STAMP] == 0 or part[first, MISSING] > 0:
            continue
        end, phase = part[first, END], part[first, PHASE] + 1
        last = min(end, n)
        gap = 2.0 * 0.5 ** part[first, PHASE]
        attraction = _estimate(features, members, tried, tally, first, end, part[first, N_TRIED], part[first, RANK])
        _sort(members, attraction, first, end)
        while end > last and attraction[members[last - 1]] - attraction[members[end - 1]] >= gap:
            end -= 1
        counts[N_OPEN] -= 1
        start = first
        for k in range(first + 1, last + 1):
            if k == last or attraction[members[k - 1]] - attraction[members[k]] >= gap:
                stop = end if k == last else k
                _start_phase(features, members, tried, part, tally, counts, log_parts, start, stop, phase)
                start = k


@rare
def _estimate(
    features: Floats, members: Ints, tried: Ints, tally: Ints, first: int, end: int, n_tried: int, rank: int
) -> Floats:
    """What each item of a part is estimated to attract, given that users look at its first position."""
    width = features.shape[1]
    rows = np.zeros((n_tried, width))
    seen = np.zeros(n_tried)
    clicked = np.zeros(n_tried)
    theta = np.zeros(width)
    for x in range(n_tried):
        item = tried[first + x]
        seen[x] = tally[item, SEEN]
        clicked[x] = tally[item, CLICKED]
        for c in range(width):
            rows[x, c] = features[item, c]
    least_squares(rows, seen, clicked, rank, theta)
    attraction = np.zeros(len(features))
    for x in range(first, end):
        for c in range(width):
            attraction[members[x]] += theta[c] * features[members[x], c]
    return attraction


@rare
def _sort(members: Ints, attraction: Floats, first: int, end: int) -> None:
    """Put the items of a part in order, best first; equals stay as they were. Runs of doubling size are merged."""
    merged = np.asarray(members).copy()
    size = 1
    while size < end - first:
        for start in range(first, end, 2 * size):
            middle, stop = min(start + size, end), min(start + 2 * size, end)
            left, right = start, middle
            for x in range(start, stop):
                if right == stop or (left < middle and attraction[members[left]] >= attraction[members[right]]):
                    merged[x] = members[left]
                    left += 1
                else:
                    merged[x] = members[right]
                    right += 1
        for x in range(first, end):
            members[x] = merged[x]
        size *= 2


@allocating
def _start_phase(
    features: Floats,
    members: Ints,
    tried: Ints,
    part: Ints,
    tally: Ints,
    counts: Ints,
    log_parts: float,
    first: int,
    end: int,
    phase: int,
) -> None:
    part[first, END] = end
    part[first, STAMP] = 0
    n, width = end - first, features.shape[1]
    rows = np.zeros((n, width))
    alike = True
    for x in range(n):
        for c in range(width):
            rows[x, c] = features[members[first + x], c]
            alike &= rows[x, c] == rows[0, c]
    if alike:
        return
    weights = np.zeros(n)
    rank, leverage = g_optimal(rows, weights)
    if rank == 0:  # next to the features of other parts, these are nothing
        return
    counts[NEWEST_STAMP] += 1
    counts[N_OPEN] += 1
    part[first, STAMP] = counts[NEWEST_STAMP]
    part[first, PHASE] = phase
    part[first, RANK] = rank
    part[first, N_TRIED] = 0
    part[first, MISSING] = 0
    needed = leverage * math.ldexp(0.5, 2 * min(phase, LAST_PHASE)) * (log_parts + math.log(n * phase * (phase + 1.0)))
    for x in range(n):
        if weights[x] > 0.0:
            item = members[first + x]
            tried[first + part[first, N_TRIED]] = item
            tally[item, QUOTA] = math.ceil(weights[x] * needed)
            tally[item, SEEN] = 0
            tally[item, CLICKED] = 0
            part[first, N_TRIED] += 1
            part[first, MISSING] += tally[item, QUOTA]


@entry
def _begin(state: RecurRankState) -> None:
    _start_phase(
        state.features,
        state.members,
        state.tried,
        state.part,
        state.tally,
        state.counts,
        state.log_parts,
        0,
        len(state.members),
        1,
    )


def _scaled(features: Floats) -> Floats:
    """Features whose squares are numbers still: no design depends on their scale, nor does a power of two round."""
    scaled = np.ldexp(features, -np.frexp(np.abs(features).max())[1])
    scaled.flags.writeable = False
    return scaled


class RecurRank(ClickPolicy):
    """Splits the list where a linear model of the items' features tells those above from those below.

    It learns in any click model where users look at a position more or less, depending on what stands above it, and
    click what they see by its attraction, a linear function of its features: the cascade, dependent click and
    position-based models among them. Only the first position of each part of the list is learned from, where an
    optimal design says which items to try, and how often. What this takes grows with the number of features, not with
    that of items; but it is much, and CascadeLinUCB learns faster where users look down to their first click only.

    A phase of a part, the l-th, makes out attractions to within 2^-l, and ends with the part split where the estimates
    of two items next to each other are 2^(1-l) apart; items that far behind the last one that can be shown are dropped.
    Clicks on lists of a phase that has ended teach nothing. Items cannot be added: a new one would have to go through
    all phases.

    Parameters
    ----------
    features
        Features of the items, one row for each item. They need not be independent, nor of any length or scale.
    n_positions
        Number of items shown.
    horizon
        Number of lists that will be shown, from which delta is computed.
    delta
        Probability that any estimate is ever too far off; 1 / sqrt(horizon) if not given.
    seed
        Seed of the policy's random numbers: the order in which items start, and in which they are tried.

    Examples
    --------
    >>> policy = RecurRank([[1, 0], [1, 0.5], [1, 1]], n_positions=2, horizon=2000, seed=1)
    >>> for _ in range(2000):  # the user cares for the second feature
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[int(ranking[0] == 2), int(ranking[1] == 2)])
    >>> policy.best[0]
    2

    Notes
    -----
    The paper leaves the following open. The design's largest leverage g is at most 1 % above its bound, the dimension
    of the span of the features of a part's items. Both are computed for each part, and the item of weight w is tried
    `ceil(g w 4^l / 2 log(n / delta_l))` times in a part of n items. With `delta_l = delta / (2 K l (l + 1))`,
    Hoeffding's inequality holds on both sides, for K parts and all phases, with probability 1 - delta. Trials come in
    random order, so that those of one part meet every state of another part equally. Items of equal estimates keep
    their order, which is random at first. A part whose items all have the same features, or features whose squares
    vanish next to those of others, has nothing to learn and is left as it is.

    References
    ----------
    S. Li, T. Lattimore, C. Szepesvári. Online Learning to Rank with Features. ICML 2019.
    """

    state: RecurRankState
    examples = (
        {"features": np.eye(5), "n_positions": 2, "horizon": 5000},
        {"features": np.eye(7)[:, :1] - [[0.0, 1.0, 2.0]], "n_positions": 3, "horizon": 5000, "delta": 0.2},
    )
    takes_seen = True

    def __init__(
        self,
        features: ArrayLike,
        n_positions: int,
        *,
        horizon: int,
        delta: float | None = None,
        seed: int | None = None,
    ) -> None:
        self.features = check_features("features", features)
        super().__init__(len(self.features), n_positions, seed)
        self.n_notes = self.n_positions
        self.horizon = check_whole("horizon", horizon, 1)
        self.delta = None if delta is None else check_between("delta", delta, 0, 1)
        self.state = RecurRankState(
            rng=self._rng,
            features=_scaled(self.features),
            members=shuffled(self._rng, self.n_items),
            tried=np.zeros(self.n_items, np.int64),
            part=np.zeros((self.n_positions, 6), np.int64),
            tally=np.zeros((self.n_items, 3), np.int64),
            counts=np.zeros(2, np.int64),
            log_parts=math.log(2 * self.n_positions / (self.delta or 1 / math.sqrt(self.horizon))),
        )
        _begin(self.state)

    @property
    def kept(self) -> RecurRankState:
        """What is saved: all but the features, which are a parameter."""
        return self.state._replace(features=None)  # type: ignore[arg-type]  # nothing to save

    def _check_ranking(self, ranking: Ranking) -> Ints:
        items = super()._check_ranking(ranking)
        newest = int(self.state.counts[NEWEST_STAMP])
        for k, (item, note) in enumerate(zip(ranking, ranking.notes, strict=True)):
            row = self.state.part[k]
            known = note == int(note) and 0 <= note <= newest
            if not known or (0 < note == row[STAMP] and item not in self.state.tried[k : k + row[N_TRIED]]):
                raise self._wrong_notes(ranking)
        return items

    @property
    def parts(self) -> list[list[int]]:
        """The items that may still be shown, best part first; inside a part, best first as far as is known."""
        parts: list[list[int]] = []
        first = 0
        while first < self.n_positions:
            end = int(self.state.part[first, END])
            parts.append(self.state.members[first:end].tolist())
            first = end
        return parts

    @property
    def settled(self) -> bool:
        """Whether every later list is known to be the next one: no part has anything left to try."""
        return bool(self.state.counts[N_OPEN] == 0)

    @property
    def best(self) -> list[int]:
        """The list that looks best now, by the phases that have ended."""
        return self.state.members[: self.n_positions].tolist()
