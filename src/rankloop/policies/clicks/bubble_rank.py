"""BubbleRank: improve a production list by exchanging neighbours, without ever making it much worse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_between, check_whole
from rankloop.kernels import choose, draw_index, entry, inlined, learn, next_word, step
from rankloop.kernels.arrays import Clicks, Flags, Floats, Ints, Items, Notes, Stream
from rankloop.policies.base import learn_once
from rankloop.policies.clicks.base import ClickPolicy, Ranking
from rankloop.policies.clicks.draws import Draws, fingerprint, is_fingerprint, no_draws, repeats
from rankloop.policies.clicks.initial import check_initial
from rankloop.policies.clicks.safety import Exchange, PairEvidence, SafetyReceipt

TURN, OBSERVED, HORIZON, N_EXCHANGES, UNSORTED, EPOCH, REPEATED, EVER = range(8)
FIRST_HORIZON = 1024
"""Where doubling starts when the horizon is unknown."""


class BubbleRankState(NamedTuple):
    rng: Stream
    initial: Ints
    base: Ints
    lead: Ints
    duels: Ints
    better: Flags
    undecided: Flags
    counts: Ints
    exchanges: Ints
    log_inverse_delta: Floats
    draws: Draws
    doubling: bool


@inlined
def _refresh(base: Ints, better: Flags, undecided: Flags) -> None:
    """Note which neighbours of the base list may still be exchanged at random."""
    for k in range(len(base) - 1):
        undecided[k] = not better[base[k], base[k + 1]]


@step(choose, BubbleRankState, counted=False)
def _choose(state: BubbleRankState, items: Items, notes: Notes) -> None:
    base, undecided, counts = state.base, state.undecided, state.counts
    n = len(items)
    counts[TURN] += 1
    if state.doubling and counts[OBSERVED] >= counts[HORIZON]:
        _double(state)
    for k in range(n):
        items[k] = base[k]
        notes[k] = 0.0
    h = counts[TURN] & 1
    bits = next_word(state.rng)
    for k in range(h, n - 1, 2):
        if undecided[k]:
            notes[k] = 1.0
            exchanged = np.int64(bits & np.uint64(1))  # without a branch: nobody could predict it
            items[k] = base[k + exchanged]
            items[k + 1] = base[k + 1 - exchanged]
            bits >>= np.uint64(1)
            if k & 127 >= 126:
                bits = next_word(state.rng)
    if (n - h) & 1 and n < len(base):
        _offer_hidden(state, items, notes)


@inlined
def _offer_hidden(state: BubbleRankState, items: Items, notes: Notes) -> None:
    """Set a random item that is not shown, and may be better, against the last one that is."""
    base, better = state.base, state.better
    last = len(items) - 1
    open_ = 0
    for q in range(last + 1, len(base)):
        open_ += int(not better[base[last], base[q]])
    if open_ == 0:
        return
    skip = draw_index(state.rng, open_)
    for q in range(last + 1, len(base)):
        if not better[base[last], base[q]]:
            if skip == 0:
                shown_now = next_word(state.rng) & np.uint64(1)
                items[last] = base[q] if shown_now else base[last]
                notes[last] = 1.0 + (base[last] if shown_now else base[q])
                return
            skip -= 1


@step(learn, BubbleRankState, counted=False)
def _learn(state: BubbleRankState, items: Items, notes: Notes, clicks: Clicks) -> None:
    n, n_seen = len(items), len(clicks)
    state.counts[OBSERVED] += 1
    for k in range(n_seen - 1):
        if notes[k] != 0.0 and clicks[k] != clicks[k + 1]:
            _compare(state, items[k], items[k + 1], clicks[k] > clicks[k + 1])
    if n_seen == n and notes[n - 1] != 0.0 and clicks[n - 1]:
        _compare(state, items[n - 1], int(notes[n - 1]) - 1, True)
    if state.counts[UNSORTED]:
        _improve(state, n)


@inlined
def _compare(state: BubbleRankState, i: int, j: int, first_clicked: bool) -> None:
    """Learn from a click on one of two exchanged items; a pair once decided stays as it is."""
    if state.better[i, j] or state.better[j, i]:
        return
    gain = 1 if first_clicked else -1
    state.lead[i, j] += gain
    state.lead[j, i] -= gain
    state.duels[i, j] += 1
    state.duels[j, i] += 1
    bound = 4.0 * state.duels[i, j] * state.log_inverse_delta[0]
    if float(state.lead[i, j]) * state.lead[i, j] > bound:
        ahead = state.lead[i, j] > 0
        state.better[i, j] = ahead
        state.better[j, i] = not ahead
        state.counts[UNSORTED] = 1
        _refresh(state.base, state.better, state.undecided)


@inlined
def _improve(state: BubbleRankState, n: int) -> None:
    """One pass down the base list: exchange neighbours that were found to stand in the wrong order."""
    base, better = state.base, state.better
    before = state.counts[N_EXCHANGES]
    for k in range(n - 1):
        if better[base[k + 1], base[k]]:
            _exchange(state, k, k + 1)
    for q in range(n, len(base)):
        if better[base[q], base[n - 1]]:
            _exchange(state, n - 1, q)
    state.counts[UNSORTED] = int(state.counts[N_EXCHANGES] > before)
    _refresh(base, better, state.undecided)


@entry
def _sort(state: BubbleRankState, n: int) -> None:
    """Exchange until no neighbours are known to stand in the wrong order."""
    state.counts[UNSORTED] = 1
    for _ in range(len(state.base)):  # enough to sort any list; evidence that runs in a circle never would be
        if state.counts[UNSORTED]:
            _improve(state, n)


@inlined
def _exchange(state: BubbleRankState, k: int, q: int) -> None:
    base, counts = state.base, state.counts
    base[k], base[q] = base[q], base[k]
    row = counts[N_EXCHANGES] % len(state.exchanges)
    state.exchanges[row, 0] = counts[OBSERVED]
    state.exchanges[row, 1] = base[k]
    state.exchanges[row, 2] = base[q]
    counts[N_EXCHANGES] += 1


@inlined
def _double(state: BubbleRankState) -> None:
    """The guess of the horizon was passed: double it, go back to the initial list, and keep the statistics."""
    counts = state.counts
    counts[HORIZON] *= 2
    state.log_inverse_delta[0] = 4.0 * math.log(counts[HORIZON])
    for i in range(len(state.base)):
        state.base[i] = state.initial[i]
        for j in range(len(state.base)):
            bound = 4.0 * state.duels[i, j] * state.log_inverse_delta[0]
            state.better[i, j] = state.lead[i, j] > 0 and float(state.lead[i, j]) * state.lead[i, j] > bound
    counts[UNSORTED] = 1
    _refresh(state.base, state.better, state.undecided)


class BubbleRank(ClickPolicy):
    """Improves a production list by exchanging neighbours at random until the better one is known.

    What it shows differs from its base list by exchanged neighbours only, and the base list changes only when a lower
    item is proven more attractive. With high probability, no list has more than K/2 pairs in the wrong order beyond
    those of the initial list. It learns in the cascade, dependent click and position-based models alike, from pairs of
    which both positions were seen.

    The guarantee requires that exchanges are drawn independently, list by list. Each list carries a fingerprint of its
    draw. If lists repeat the draws of earlier ones, as they do when several processes load one file without random
    numbers of their own, the receipt promises nothing.

    Parameters
    ----------
    initial
        The production list, best first: an order of the items 0 to L - 1.
    horizon
        Number of lists that will be shown, from which delta = horizon^-4 is computed. If it is not given, a horizon of
        1024 is assumed, and doubled whenever it is passed; the base list then returns to the initial one, and the
        statistics are kept.
    n_positions
        Number of items shown; all if not given.
    delta
        Confidence level in place of horizon^-4: at each list, a pair is judged wrongly with probability at most
        sqrt(delta).
    seed
        Seed of the policy's random numbers.

    Examples
    --------
    >>> policy = BubbleRank([0, 1, 2], horizon=1000, seed=1)
    >>> for _ in range(500):
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[item == 2 for item in ranking])  # everybody wants item 2
    >>> policy.base
    [2, 0, 1]

    References
    ----------
    C. Li, B. Kveton, T. Lattimore, I. Markov, M. de Rijke, C. Szepesvári, M. Zoghi. BubbleRank: Safe Online Learning
    to Re-Rank via Implicit Click Feedback. UAI 2019.
    """

    state: BubbleRankState
    examples = (
        {"initial": [4, 3, 2, 1, 0], "horizon": 10_000},
        {"initial": [2, 0, 1, 3]},
        {"initial": [5, 3, 4, 1, 0, 2], "horizon": 10_000, "n_positions": 3},
    )
    takes_seen = True

    def __init__(
        self,
        initial: Sequence[int],
        *,
        horizon: int | None = None,
        n_positions: int | None = None,
        delta: float | None = None,
        seed: int | None = None,
    ) -> None:
        self.initial = check_initial(initial)
        n_items = len(self.initial)
        super().__init__(n_items, n_items if n_positions is None else n_positions, seed)
        self.n_notes = self.n_positions + 1  # the last is the fingerprint of the draw
        self.horizon = None if horizon is None else check_whole("horizon", horizon, 1)
        self.delta = None if delta is None else check_between("delta", delta, 0, 1)
        first_horizon = FIRST_HORIZON if self.horizon is None else max(2, self.horizon)
        log_inverse_delta = 4 * math.log(first_horizon) if self.delta is None else -math.log(self.delta)
        self.state = BubbleRankState(
            rng=self._rng,
            initial=np.array(self.initial),
            base=np.array(self.initial),
            lead=np.zeros((n_items, n_items), np.int64),
            duels=np.zeros((n_items, n_items), np.int64),
            better=np.zeros((n_items, n_items), np.bool_),
            undecided=np.ones(n_items - 1, np.bool_),
            counts=np.array([0, 0, first_horizon, 0, 0, 0, 0, n_items]),
            exchanges=np.zeros((n_items * n_items, 3), np.int64),
            log_inverse_delta=np.array([log_inverse_delta]),
            draws=no_draws(),
            doubling=self.horizon is None and self.delta is None,
        )

    def rank(self) -> Ranking:
        """The list to show next."""
        draw = fingerprint(self.state.rng)
        ranking = super().rank()
        return Ranking(ranking.items, notes=(*ranking.notes[:-1], draw), policy=ranking.policy)

    def _learns_from(self, ranking: Ranking) -> None:
        self.state.counts[REPEATED] += repeats(self.state.draws, ranking.notes[-1])

    @property
    def base(self) -> list[int]:
        """The best list now."""
        return self.state.base.tolist()

    @property
    def best(self) -> list[int]:
        """The best list now, as far as it is shown."""
        return self.base[: self.n_positions]

    @property
    def _tag(self) -> str:
        """Lists from before a revert are not answered after it."""
        return f"{self.identity}.{self.state.counts[EPOCH]}"

    def _check_ranking(self, ranking: Ranking) -> Ints:
        items = super()._check_ranking(ranking)
        *exchanged, hidden, draw = ranking.notes
        twice = any(upper and lower for upper, lower in pairwise((*exchanged, hidden)))
        rivals = [0, *(1 + item for item in range(self.n_items) if item not in ranking.items)]
        if twice or hidden not in rivals or any(note not in (0, 1) for note in exchanged) or not is_fingerprint(draw):
            raise self._wrong_notes(ranking)
        return items

    def _take_over(self, before: BubbleRank, new: Ints, old: Ints) -> None:
        """Keep all evidence about pairs that stay, and the exchanges that it has already decided.

        Today's list is the initial one from now on, and what is known to stand in the wrong order in it is exchanged
        at once: each such exchange brings it nearer to the best list, so the guarantee speaks of today's list.
        """
        state, other = self.state, before.state
        for mine, theirs in ((state.lead, other.lead), (state.duels, other.duels), (state.better, other.better)):
            mine[np.ix_(new, new)] = theirs[np.ix_(old, old)]
        for count in (TURN, OBSERVED, HORIZON, EPOCH, REPEATED):
            state.counts[count] = other.counts[count]
        state.counts[EVER] = other.counts[EVER] + self.n_items - len(new)
        if state.draws.shape == other.draws.shape:
            state.draws[...] = other.draws
        state.log_inverse_delta[:] = other.log_inverse_delta
        _sort(state, self.n_positions)

    def update_outdated(
        self, items: Sequence[int | None], notes: Sequence[float], clicks: Sequence[int], seen: int | None = None
    ) -> bool:
        """Learn from the exchanged pairs of an earlier list of which both items are still there."""
        n_seen = len(items) if seen is None else seen
        pairs: list[tuple[int, int]] = []
        observed: list[int] = []
        for k in range(min(n_seen, len(items)) - 1):
            upper, lower = items[k], items[k + 1]
            room = 2 * len(pairs) + 2 <= self.n_positions
            if notes[k] and upper is not None and lower is not None and room:
                pairs.append((upper, lower))
                observed += clicks[k : k + 2]
        if n_seen:
            shown, noted = np.zeros(self.n_positions, np.int64), np.zeros(self.n_positions)
            shown[: len(observed)] = np.array(pairs, np.int64).ravel()
            noted[: len(observed) : 2] = 1.0
            learn_once(self.state, shown, noted, np.array(observed or [0], np.uint8))
        return True

    def revert(self) -> None:
        """Go back to the initial list, forget all evidence, and refuse the feedback to lists shown before."""
        state = self.state
        state.base[:] = state.initial
        for array in (state.lead, state.duels, state.better, state.draws):
            array[...] = 0
        state.undecided[:] = True
        state.counts[EPOCH] += 1
        state.counts[N_EXCHANGES] = 0
        state.counts[REPEATED] = 0

    @property
    def n_decisions(self) -> int:
        """How many exchanges there were."""
        return int(self.state.counts[N_EXCHANGES])

    def exchanges(self, first: int = 0) -> list[tuple[int, int, int]]:
        """The exchanges from one of them on, as far as they are remembered.

        Each is the number of lists that had been learned from, the item that was raised, and the one that was lowered.
        """
        rows, total = self.state.exchanges, self.n_decisions
        return [tuple(rows[n % len(rows)].tolist()) for n in range(max(first, total - len(rows)), total)]

    def receipt(self) -> SafetyReceipt:
        """What was decided so far, on what evidence, and what is guaranteed."""
        state = self.state
        level = float(state.log_inverse_delta[0])
        pairs = [
            PairEvidence(
                upper=i,
                lower=j,
                lead=int(state.lead[i, j]),
                observations=int(state.duels[i, j]),
                threshold=2 * math.sqrt(int(state.duels[i, j]) * level),
                decided=bool(state.better[i, j] or state.better[j, i]),
            )
            for k, i in enumerate(self.base)
            for j in self.base[k + 1 :]
            if state.duels[i, j]
        ]
        return SafetyReceipt(
            initial=self.initial,
            base=self.base,
            n_positions=self.n_positions,
            lists_learned_from=int(state.counts[OBSERVED]),
            horizon=int(state.counts[HORIZON]),
            delta=math.exp(-level),
            pairs=pairs,
            exchanges=[Exchange(after=after, raised=up, lowered=down) for after, up, down in self.exchanges()],
            first_horizon=FIRST_HORIZON if state.doubling else None,
            repeated_draws=int(state.counts[REPEATED]),
            n_items_ever=int(state.counts[EVER]),
        )
