"""BatchRank: batches of items that share a range of positions, split where a gap is proven."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_whole
from rankloop.kernels import choose, compiled, draw_index, inlined, learn, step
from rankloop.kernels.arrays import Clicks, Ints, Items, Notes, Stream
from rankloop.policies.clicks.base import ClickPolicy, Ranking

FIRST, END, STAMP, QUOTA, STAGE, UNFINISHED = range(6)
NEWEST_STAMP, N_OPEN = range(2)
SEEN, CLICKED, SEEN_BEFORE, CLICKED_BEFORE = range(4)
LEAST_HORIZON = 3
"""The least number whose logarithm has a positive logarithm."""

LAST_STAGE = 24
"""Its quota is beyond any number of lists that will ever be shown."""

ENDLESS = np.iinfo(np.int64).max


class BatchRankState(NamedTuple):
    rng: Stream
    members: Ints
    batch: Ints
    tally: Ints
    counts: Ints
    pool: Ints
    log_horizon: float


# A row of `batch` belongs to a position and tells of its batch: the positions and items from FIRST, the items up to END
# (only the last batch can have more of them than it has positions), the STAMP of its stage, 0 once one item is all that
# is left, and the QUOTA of observations of each item in that stage. STAGE, and UNFINISHED, the items below the quota,
# are kept in the batch's first row.


@step(choose, BatchRankState)
def _choose(state: BatchRankState, items: Items, notes: Notes) -> None:
    batch, members = state.batch, state.members
    n = len(items)
    for k in range(n):
        items[k] = members[k]
        notes[k] = batch[k, STAMP]
    surplus = batch[n - 1, END] > n
    exact = batch[n - 1, FIRST] if surplus else n
    for k in range(exact):
        _draw(state.rng, items, k, batch[k, END])
    if surplus:
        _show_least_seen(state, items, notes, exact)


@inlined
def _draw(rng: Stream, values: Ints, k: int, end: int) -> None:
    """Exchange the k-th value with a random one of those from it to the end."""
    if end - k > 1:
        j = k + draw_index(rng, end - k)
        values[k], values[j] = values[j], values[k]


@inlined
def _show_least_seen(state: BatchRankState, items: Items, notes: Notes, first: int) -> None:
    """Fill the list from a batch that has more items than positions: the least seen items, in random order.

    Only items that no other is behind learn from the clicks.
    """
    members, tally, pool = state.members, state.tally, state.pool
    n, end = len(items), state.batch[first, END]
    least = tally[members[first], SEEN]
    for x in range(first, end):
        least = min(least, tally[members[x], SEEN])
    filled = first
    seen = least
    while filled < n:
        size = 0
        following = ENDLESS
        for x in range(first, end):
            count = tally[members[x], SEEN]
            if count == seen:
                pool[size] = members[x]
                size += 1
            elif count > seen:
                following = min(following, count)
        for x in range(min(size, n - filled)):
            _draw(state.rng, pool, x, size)
            items[filled + x] = pool[x]
        filled += size
        seen = following
    for k in range(first, n):
        _draw(state.rng, items, k, n)
        if tally[items[k], SEEN] > least:
            notes[k] = 0.0


@step(learn, BatchRankState)
def _learn(state: BatchRankState, items: Items, notes: Notes, clicks: Clicks) -> None:
    batch, tally = state.batch, state.tally
    finished = False
    for k in range(len(clicks)):
        if notes[k] > 0.0 and notes[k] == batch[k, STAMP]:
            item = items[k]
            if tally[item, SEEN] < batch[k, QUOTA]:
                tally[item, SEEN] += 1
                tally[item, CLICKED] += clicks[k]
                if tally[item, SEEN] == batch[k, QUOTA]:
                    first = batch[k, FIRST]
                    batch[first, UNFINISHED] -= 1
                    finished |= batch[first, UNFINISHED] == 0
    if finished:
        _end_stages(batch, state.members, tally, state.counts, state.log_horizon)


@compiled
def _end_stages(batch: Ints, members: Ints, tally: Ints, counts: Ints, log_horizon: float) -> None:
    """Split the batches whose items have all been seen enough, drop what is not good enough, or look closer."""
    n = len(batch)
    for first in range(n):
        if batch[first, FIRST] != first or batch[first, STAMP] == 0 or batch[first, UNFINISHED] > 0:
            continue
        end = batch[first, END]
        last = min(end, n)
        _sort_by_clicks(members, tally, first, end)
        seen = batch[first, QUOTA]
        level = (log_horizon + 3.0 * math.log(log_horizon)) / seen
        split = first
        for k in range(first + 1, last):
            # All were seen equally often: where these two bounds part, those of all above and all below them do.
            worst_above = _bound(tally[members[k - 1], CLICKED] / seen, 0.0, level)
            if worst_above > _bound(tally[members[k], CLICKED] / seen, 1.0, level):
                split = k
        stage = batch[first, STAGE] + 1
        if split > first:
            _start_stage(batch, members, tally, counts, log_horizon, first, split, 0)
            _start_stage(batch, members, tally, counts, log_horizon, split, end, 0)
            continue
        if end > n:
            enough = _bound(tally[members[n - 1], CLICKED] / seen, 0.0, level)
            while _bound(tally[members[end - 1], CLICKED] / seen, 1.0, level) < enough:
                end -= 1
        _start_stage(batch, members, tally, counts, log_horizon, first, end, stage)


@compiled
def _start_stage(
    batch: Ints, members: Ints, tally: Ints, counts: Ints, log_horizon: float, first: int, end: int, stage: int
) -> None:
    counts[NEWEST_STAMP] += 1
    for k in range(first, min(end, len(batch))):
        batch[k, FIRST] = first
        batch[k, END] = end
        batch[k, STAMP] = counts[NEWEST_STAMP] if end - first > 1 else 0
        batch[k, QUOTA] = math.ceil(16.0 * 4.0 ** min(stage, LAST_STAGE) * log_horizon)
    if end - first == 1:
        counts[N_OPEN] -= 1
    batch[first, STAGE] = stage
    batch[first, UNFINISHED] = end - first
    for x in range(first, end):
        item = members[x]
        tally[item, SEEN_BEFORE] += tally[item, SEEN]
        tally[item, CLICKED_BEFORE] += tally[item, CLICKED]
        tally[item, SEEN] = 0
        tally[item, CLICKED] = 0


@compiled
def _sort_by_clicks(members: Ints, tally: Ints, first: int, end: int) -> None:
    for x in range(first + 1, end):
        item = members[x]
        y = x
        while y > first and tally[members[y - 1], CLICKED] < tally[item, CLICKED]:
            members[y] = members[y - 1]
            y -= 1
        members[y] = item


@compiled
def _bound(mean: float, outer: float, level: float) -> float:
    """The rate furthest from the mean, towards `outer` (0 or 1), whose KL divergence from it is at most `level`."""
    inner = mean
    for _ in range(60):
        rate = 0.5 * (inner + outer)
        divergence = 0.0
        if mean > 0.0:
            divergence += mean * math.log(mean / rate)
        if mean < 1.0:
            divergence += (1.0 - mean) * math.log((1.0 - mean) / (1.0 - rate))
        if divergence <= level:
            inner = rate
        else:
            outer = rate
    return inner


class BatchRank(ClickPolicy):
    """Splits the list where all items above are proven to be better than all items below, and shuffles each part.

    It learns in the cascade, dependent click and position-based models alike. Evidence is gathered in stages, each of
    which can detect half the gap of the one before. A stage lasts until each of its items has been seen often enough;
    clicks on lists of an earlier stage are ignored.

    Parameters
    ----------
    n_items, n_positions
        Number of items to choose from, and of items shown.
    horizon
        Number of lists that will be shown, which sets the length of the stages and the width of the bounds.
    seed
        Seed of the policy's random numbers.

    Examples
    --------
    >>> policy = BatchRank(n_items=4, n_positions=2, horizon=1000, seed=1)
    >>> for _ in range(300):
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[item == 2 for item in ranking])  # everybody wants item 2
    >>> policy.batches
    [[2], [0, 1, 3]]

    References
    ----------
    M. Zoghi, T. Tunys, M. Ghavamzadeh, B. Kveton, C. Szepesvári, Z. Wen. Online Learning to Rank in Stochastic Click
    Models. ICML 2017.
    """

    state: BatchRankState
    examples = (
        {"n_items": 5, "n_positions": 5, "horizon": 10_000},
        {"n_items": 7, "n_positions": 3, "horizon": 10_000},
    )
    takes_seen = True

    def __init__(self, n_items: int, n_positions: int, *, horizon: int, seed: int | None = None) -> None:
        super().__init__(n_items, n_positions, seed)
        self.n_notes = n_positions
        self.horizon = check_whole("horizon", horizon, 1)
        log_horizon = math.log(max(self.horizon, LEAST_HORIZON))
        batch = np.zeros((n_positions, 6), np.int64)
        batch[:] = [0, n_items, int(n_items > 1), math.ceil(16 * log_horizon), 0, n_items]
        self.state = BatchRankState(
            rng=self._rng,
            members=np.arange(n_items),
            batch=batch,
            tally=np.zeros((n_items, 4), np.int64),
            counts=np.array([1, n_positions if n_items > 1 else 0]),
            pool=np.zeros(n_items, np.int64),
            log_horizon=log_horizon,
        )

    def _check_ranking(self, ranking: Ranking) -> Ints:
        items = super()._check_ranking(ranking)
        members, newest = self.state.members.tolist(), int(self.state.counts[NEWEST_STAMP])
        for item, note, row in zip(ranking, ranking.notes, self.state.batch.tolist(), strict=True):
            known = note == int(note) and 0 <= note <= newest
            if not known or (0 < note == row[STAMP] and item not in members[row[FIRST] : row[END]]):
                raise self._wrong_notes(ranking)
        return items

    @property
    def batches(self) -> list[list[int]]:
        """The items that may still be shown, best batch first; the order inside a batch is not known yet."""
        batch, members = self.state.batch, self.state.members
        return [sorted(members[first : batch[first, END]].tolist()) for first in np.unique(batch[:, FIRST])]

    @property
    def settled(self) -> bool:
        """Whether every later list is known to be the next one: each batch that is shown is down to one item."""
        return bool(self.state.counts[N_OPEN] == 0)

    @property
    def best(self) -> list[int]:
        """The list that looks best now: the batches, and inside each the most clicked items first."""
        tally = self.state.tally
        rate = (tally[:, CLICKED] + tally[:, CLICKED_BEFORE]) / np.maximum(1, tally[:, SEEN] + tally[:, SEEN_BEFORE])
        ranked = [sorted(batch, key=lambda i: (-rate[i], i)) for batch in self.batches]
        return [item for batch in ranked for item in batch][: self.n_positions]
