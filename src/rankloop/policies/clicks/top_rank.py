"""TopRank: order the items that are proven to differ, and shuffle the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_between, check_whole
from rankloop.kernels import allocating, choose, compiled, draw_index, entry, inlined, learn, step
from rankloop.kernels.arrays import Clicks, Flags, Floats, Ints, Items, Notes, Stream
from rankloop.policies.clicks.base import ClickPolicy, Ranking

CONSTANT = 4 * math.sqrt(2 / math.pi) / math.erf(math.sqrt(2))
DECIDED = np.iinfo(np.int64).max
BITS = 52
"""How many items one note can tell of: a float64 holds whole numbers of so many bits exactly."""


class TopRankState(NamedTuple):
    rng: Stream
    order: Ints
    end: Ints
    noted: Floats
    wins: Ints
    needed: Ints
    better: Flags
    block: Ints
    was_clicked: Flags
    n_open: Ints
    scale: float


@step(choose, TopRankState)
def _choose(state: TopRankState, items: Items, notes: Notes) -> None:
    order, end = state.order, state.end
    for k in range(len(items)):
        open_ = end[k] - k
        if open_ > 1:
            j = k + draw_index(state.rng, open_)
            order[k], order[j] = order[j], order[k]
        items[k] = order[k]
    for k in range(len(notes)):
        notes[k] = state.noted[k]


@step(learn, TopRankState)
def _learn(state: TopRankState, items: Items, notes: Notes, clicks: Clicks) -> None:
    n, n_seen = len(items), len(clicks)
    changed = False
    for k in range(n_seen):
        if not clicks[k]:
            continue
        end = notes[k]
        if end > n:
            changed |= _learn_from_hidden(state, items, notes, clicks, k)
            continue
        first = k
        while first > 0 and notes[first - 1] == end:
            first -= 1
        for m in range(first, min(int(end), n_seen)):
            if not clicks[m]:
                changed |= _count_win(state.wins, state.needed, state.better, state.scale, items[k], items[m])
    if changed:
        _arrange(state.better, state.block, state.order, state.end, state.noted)
        state.n_open[0] = 0
        for k in range(n):
            state.n_open[0] += int(state.end[k] > k + 1)


@inlined
def _learn_from_hidden(state: TopRankState, items: Items, notes: Notes, clicks: Clicks, k: int) -> bool:
    """A click inside the block that goes on below the list: its hidden items were there to be shown, too.

    Items of the list that nobody saw are set aside, as those that were clicked are.
    """
    n = len(items)
    changed = False
    for m in range(n):
        state.was_clicked[items[m]] = m >= len(clicks) or clicks[m] != 0
    for word in range(len(notes) - n):
        members = np.int64(notes[n + word])
        for bit in range(BITS):
            j = word * BITS + bit
            if members & (np.int64(1) << bit) and not state.was_clicked[j]:
                changed |= _count_win(state.wins, state.needed, state.better, state.scale, items[k], j)
    for m in range(n):
        state.was_clicked[items[m]] = False
    return changed


@inlined
def _count_win(wins: Ints, needed: Ints, better: Flags, scale: float, i: int, j: int) -> bool:
    """Count that i was clicked and j was not, and decide the pair where that is enough evidence.

    The threshold grows with the number of observations: until the lead reaches its last value nothing is computed.
    """
    wins[i, j] += 1
    lead = wins[i, j] - wins[j, i]
    if lead < needed[i, j]:
        return False
    return _decide(wins, needed, better, scale, i, j)


@compiled
def _decide(wins: Ints, needed: Ints, better: Flags, scale: float, i: int, j: int) -> bool:
    lead = wins[i, j] - wins[j, i]
    observations = wins[i, j] + wins[j, i]
    threshold = math.sqrt(2.0 * observations * math.log(scale * math.sqrt(observations)))
    if lead < threshold:
        needed[i, j] = math.ceil(threshold)
        return False
    # What is above i is thereby above what is below j: no pair is ever decided twice, and no cycle can arise.
    for a in range(len(better)):
        if a == i or better[a, i]:
            for b in range(len(better)):
                if b == j or better[j, b]:
                    better[a, b] = True
                    needed[a, b] = needed[b, a] = DECIDED
    return True


@allocating
def _arrange(better: Flags, block: Ints, order: Ints, end: Ints, noted: Floats) -> None:
    """Sort the items into blocks: first those that none is better than, and so on."""
    n_items, n_positions = len(block), len(end)
    above = np.zeros(n_items, np.int64)
    for i in range(n_items):
        block[i] = -1
        for j in range(n_items):
            above[j] += int(better[i, j])
    placed = 0
    number = 0
    while placed < n_items:
        start = placed
        for i in range(n_items):
            if block[i] < 0 and above[i] == 0:
                block[i] = number
                order[placed] = i
                placed += 1
        for k in range(start, min(placed, n_positions)):
            end[k] = placed
            noted[k] = placed
        for x in range(start, placed):
            for j in range(n_items):
                above[j] -= int(better[order[x], j])
        number += 1
    for word in range(len(noted) - n_positions):
        members = np.int64(0)
        for i in range(word * BITS, min(n_items, (word + 1) * BITS)):
            if block[i] == block[order[n_positions - 1]]:
                members |= np.int64(1) << (i - word * BITS)
        noted[n_positions + word] = members


@entry
def _arrange_anew(state: TopRankState, n: int) -> None:
    """Lay out the blocks that the decided pairs make."""
    _arrange(state.better, state.block, state.order, state.end, state.noted)
    state.n_open[0] = 0
    for k in range(n):
        state.n_open[0] += int(state.end[k] > k + 1)


@entry
def _count_one(state: TopRankState, i: int, j: int) -> bool:
    """Count that i was clicked and j was not."""
    return _count_win(state.wins, state.needed, state.better, state.scale, i, j)


class TopRank(ClickPolicy):
    """Shuffles items that it cannot yet tell apart, below those that it knows to be better.

    It learns fast in the cascade, dependent click and position-based models alike, but begins with random lists: where
    a good list is already in use, BubbleRank is the safe choice. Two items are compared when both were seen, or when
    chance left one of them out of the list, which counts as no click on it.

    Parameters
    ----------
    n_items, n_positions
        Number of items to choose from, and of items shown.
    horizon
        Number of lists that will be shown, from which delta = 1 / horizon is computed.
    delta
        Probability of being wrong about a pair, where the horizon is not known.
    seed
        Seed of the policy's random numbers.

    Examples
    --------
    >>> policy = TopRank(n_items=4, n_positions=2, horizon=1000, seed=1)
    >>> for _ in range(300):
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[item == 2 for item in ranking])  # everybody wants item 2
    >>> policy.blocks
    [[2], [0, 1, 3]]

    References
    ----------
    T. Lattimore, B. Kveton, S. Li, C. Szepesvári. TopRank: A Practical Algorithm for Online Stochastic Ranking.
    NeurIPS 2018.
    """

    state: TopRankState
    examples = (
        {"n_items": 5, "n_positions": 5, "horizon": 10_000},
        {"n_items": 7, "n_positions": 3, "delta": 0.001},
    )
    takes_seen = True

    def __init__(
        self, n_items: int, n_positions: int, *, horizon: int | None = None, delta: float | None = None,
        seed: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(n_items, n_positions, seed)
        if (horizon is None) == (delta is None):
            raise ValueError(f"give horizon or delta, one of the two, not {horizon!r} and {delta!r}")
        self.horizon = None if horizon is None else check_whole("horizon", horizon, 1)
        self.delta = None if delta is None else check_between("delta", delta, 0, 1)
        hidden = self.n_items > self.n_positions
        all_items = [float(2 ** min(BITS, n_items - i) - 1) for i in range(0, n_items, BITS)] if hidden else []
        noted = np.array([float(n_items)] * n_positions + all_items)
        self.n_notes = len(noted)
        pairs = (n_items, n_items)
        self.state = TopRankState(
            rng=self._rng,
            order=np.arange(n_items),
            end=np.full(n_positions, n_items),
            noted=noted,
            wins=np.zeros(pairs, np.int64),
            needed=np.zeros(pairs, np.int64),
            better=np.zeros(pairs, np.bool_),
            block=np.zeros(n_items, np.int64),
            was_clicked=np.zeros(n_items, np.bool_),
            n_open=np.array([min(n_items - 1, n_positions)]),
            scale=CONSTANT * (self.horizon or 1) / (self.delta or 1),
        )

    def _check_ranking(self, ranking: Ranking) -> Ints:
        items = super()._check_ranking(ranking)
        ends, members = ranking.notes[: self.n_positions], ranking.notes[self.n_positions :]
        in_order = all(
            end == int(end) and k < end <= self.n_items and (k == 0 or ends[k - 1] in (end, k))
            for k, end in enumerate(ends)
        )
        whole = all(
            word == int(word) and 0 <= word < 2 ** min(BITS, self.n_items - BITS * w) for w, word in enumerate(members)
        )
        if not in_order or not whole:
            raise self._wrong_notes(ranking)
        return items

    def _take_over(self, before: TopRank, new: Ints, old: Ints) -> None:
        """Keep the wins of pairs that stay, and what they have decided; a new item joins the first block."""
        state, other = self.state, before.state
        for mine, theirs in ((state.wins, other.wins), (state.needed, other.needed), (state.better, other.better)):
            mine[np.ix_(new, new)] = theirs[np.ix_(old, old)]
        _arrange_anew(state, self.n_positions)

    def update_outdated(
        self, items: Sequence[int | None], notes: Sequence[float], clicks: Sequence[int], seen: int | None = None
    ) -> bool:
        """Learn from the pairs of an earlier list, within its blocks, of which both items are still there.

        Hidden items of its last block are not counted: their numbers have changed.
        """
        observed = clicks[: len(items) if seen is None else seen]
        changed = False
        for k, item in enumerate(items[: len(observed)]):
            for m, other in enumerate(items[: len(observed)]):
                together = notes[k] == notes[m] and clicks[k] and not clicks[m]
                if together and item is not None and other is not None:
                    changed |= _count_one(self.state, item, other)
        if changed:
            _arrange_anew(self.state, self.n_positions)
        return True

    @property
    def blocks(self) -> list[list[int]]:
        """The items, best block first; the order inside a block is not known yet."""
        block = self.state.block
        return [np.flatnonzero(block == b).tolist() for b in range(block.max() + 1)]

    @property
    def settled(self) -> bool:
        """Whether every later list is known to be the next one: the order of all that is shown is decided."""
        return bool(self.state.n_open[0] == 0)

    @property
    def best(self) -> list[int]:
        """The list that looks best now: the blocks, and inside each the items that win most comparisons first."""
        lead = self.state.wins - self.state.wins.T
        ranked = [sorted(block, key=lambda i: (-lead[i, block].sum(), i)) for block in self.blocks]
        return [item for block in ranked for item in block][: self.n_positions]
