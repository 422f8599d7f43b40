"""Lists that change: what each policy keeps of items and arms that stay, against plain books kept by name."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import rankloop as rl
from rankloop.policies.clicks.cascade_ducb import GAMMA, WEIGHT
from rankloop.policies.clicks.cascade_kl_ucb import _level, kl_index
from rankloop.policies.dueling.batches import GONE, OBSERVED, SEVERAL

UNIVERSE = "abcdefgh"
Seen = int | None


def examined(clicks: Sequence[int], last_click: bool) -> int:
    """How many positions a cascading policy takes for examined, plainly."""
    where = [k for k, click in enumerate(clicks) if click]
    if not where:
        return len(clicks)
    return (where[-1] if last_click else where[0]) + 1


class Looks:
    """Clicks and looks of the cascading policies, list by list; of the last `window` lists if so asked."""

    def __init__(self, last_click: bool = False, window: int | None = None, gamma: float = 1.0) -> None:
        self.last_click, self.window, self.gamma = last_click, window, gamma
        self.lists: list[list[tuple[str, int]]] = []
        self.n_positions = 0

    def relist(self, names: list[str], n_positions: int) -> None:
        self.n_positions = n_positions
        for k, looks in enumerate(self.lists):
            kept = [look for look in looks if look[0] in names]
            self.lists[k] = kept[:n_positions] if self.window else kept

    def learn(
        self, shown: Sequence[str], notes: Sequence[float], clicks: Sequence[int], names: list[str], outdated: bool
    ) -> None:
        del notes
        n = examined(clicks, self.last_click)
        looks = [(item, click) for item, click in zip(shown[:n], clicks, strict=False) if item in names]
        looks = looks[: self.n_positions]
        if looks:
            self.lists.append(sorted(looks, key=lambda look: look[1]) if outdated else looks)

    def check(self, policy: Any, names: list[str]) -> None:
        seen, clicked = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
        for age, looks in enumerate(reversed(self.lists[-self.window if self.window else 0 :])):
            for item, click in looks:
                seen[item] += self.gamma**age
                clicked[item] += self.gamma**age * click
        state = policy.state
        unit = state.discount[WEIGHT] if hasattr(state, "discount") else 1.0
        assert state.seen / unit == pytest.approx([seen[name] for name in names])
        assert state.clicked / unit == pytest.approx([clicked[name] for name in names])
        policy.rank()  # brings what is worked out from the counts up to date
        if hasattr(state, "mean"):
            known = state.seen > 0
            assert state.mean[known] == pytest.approx(state.clicked[known] / state.seen[known])
            assert state.width[known] == pytest.approx(1 / np.sqrt(state.seen[known]))
            assert np.isinf(state.mean[~known]).all()
        else:
            level = _level(state.learned[0])
            bounds = [kl_index(c, s, level) if s else 2.0 for c, s in zip(state.clicked, state.seen, strict=True)]
            assert state.bounds == pytest.approx(bounds, abs=1e-8)


class Leads:
    """BubbleRank's evidence about pairs."""

    def __init__(self, delta: float) -> None:
        self.level = -math.log(delta)
        self.lead: dict[tuple[str, str], int] = defaultdict(int)
        self.duels: dict[tuple[str, str], int] = defaultdict(int)

    def decided(self, i: str, j: str) -> bool:
        return self.lead[i, j] ** 2 > 4 * self.duels[i, j] * self.level

    def relist(self, names: list[str], n_positions: int) -> None:
        del n_positions
        for book in (self.lead, self.duels):
            for pair in [pair for pair in book if not set(pair) <= set(names)]:
                del book[pair]

    def learn(
        self, shown: Sequence[str], notes: Sequence[float], clicks: Sequence[int], names: list[str], outdated: bool
    ) -> None:
        del outdated
        for k in range(len(clicks) - 1):
            i, j = shown[k], shown[k + 1]
            if notes[k] and clicks[k] != clicks[k + 1] and i in names and j in names and not self.decided(i, j):
                gain = 1 if clicks[k] else -1
                self.lead[i, j] += gain
                self.lead[j, i] -= gain
                self.duels[i, j] += 1
                self.duels[j, i] += 1

    def check(self, policy: rl.BubbleRank, names: list[str]) -> None:
        state = policy.state
        for a, i in enumerate(names):
            for b, j in enumerate(names):
                assert state.lead[a, b] == self.lead[i, j]
                assert state.duels[a, b] == self.duels[i, j]
                assert state.better[a, b] == (self.lead[i, j] > 0 and self.decided(i, j))
        assert policy.initial == list(range(len(names))), "today's production list is the initial one"
        base = policy.base
        for k, above in enumerate(base):
            for below in base[k + 1 :]:
                if above > below:
                    assert state.better[above, below], "only what was decided stands in another order than today's list"


class Wins:
    """TopRank's wins of pairs that were in one block of one list."""

    def __init__(self) -> None:
        self.wins: dict[tuple[str, str], int] = defaultdict(int)
        self.better: set[tuple[str, str]] = set()

    def relist(self, names: list[str], n_positions: int) -> None:
        del n_positions
        for pair in [pair for pair in self.wins if not set(pair) <= set(names)]:
            del self.wins[pair]
        self.better = {pair for pair in self.better if set(pair) <= set(names)}

    def learn(
        self, shown: Sequence[str], notes: Sequence[float], clicks: Sequence[int], names: list[str], outdated: bool
    ) -> None:
        del outdated
        for k, i in enumerate(shown[: len(clicks)]):
            for m, j in enumerate(shown[: len(clicks)]):
                if notes[k] == notes[m] and clicks[k] > clicks[m] and i in names and j in names:
                    self.wins[i, j] += 1

    def check(self, policy: rl.TopRank, names: list[str]) -> None:
        wins = [[self.wins[i, j] for j in names] for i in names]
        assert policy.state.wins.tolist() == wins
        better = {(names[a], names[b]) for a, b in np.argwhere(policy.state.better)}
        assert self.better <= better, "what was decided about pairs that stay must stay decided"
        self.better = better
        of = {name: b for b, block in enumerate(policy.blocks) for name in (names[a] for a in block)}
        assert all(of[i] < of[j] for i, j in better)
        for name in names:
            if not any(loser == name for _, loser in better):
                assert of[name] == 0, "what nothing is better than stands in the first block, a new item too"


class Weights:
    """RankedEXP3's weights, position by position."""

    def __init__(self, gamma: float, names: Sequence[str], n_positions: int) -> None:
        self.gamma = gamma
        self.rows = [dict.fromkeys(names, 1.0) for _ in range(n_positions)]

    def relist(self, names: list[str], n_positions: int) -> None:
        old, self.rows = self.rows, [dict.fromkeys(names, 1.0) for _ in range(n_positions)]
        for row, before in zip(self.rows, old, strict=False):
            mean = sum(before.values()) / len(before)
            row.update({name: before.get(name, mean) for name in names})

    def learn(
        self, shown: Sequence[str], notes: Sequence[float], clicks: Sequence[int], names: list[str], outdated: bool
    ) -> None:
        del outdated
        for row, item, note, click in zip(self.rows, shown, notes, clicks, strict=False):
            if click and note and item in names:
                row[item] *= math.exp(self.gamma / (len(names) * note))

    def check(self, policy: rl.RankedEXP3, names: list[str]) -> None:
        weights = policy.state.weights
        leaves = weights.shape[1] // 2
        for k, row in enumerate(self.rows):
            assert weights[k, leaves : leaves + len(names)] == pytest.approx([row[name] for name in names])
            for node in range(1, leaves):
                assert weights[k, node] == pytest.approx(weights[k, 2 * node] + weights[k, 2 * node + 1])


def live_through(policy: Any, book: Any, *, all_shown: bool, n_lists: int = 400, seed: int = 1) -> int:
    """Show lists that change every 20 lists and tell of clicks late, and compare with the book; how many changes."""
    draw = random.Random(seed)
    names = list(UNIVERSE[: policy.n_items])
    book.relist(names, policy.n_positions)
    waiting: list[tuple[list[str], Any, int]] = []
    version = 0
    for t in range(n_lists):
        if t % 20 == 19:
            new = [name for name in names if draw.random() < 0.8]
            new += [name for name in UNIVERSE if name not in names and draw.random() < 0.4]
            new = new if len(new) > 1 else list(UNIVERSE[:3])
            draw.shuffle(new)
            n_positions = len(new) if all_shown else draw.randint(1, len(new))
            policy = policy.relisted([names.index(x) if x in names else None for x in new], n_positions=n_positions)
            book.relist(new, n_positions)
            book.check(policy, new)
            names, version = new, version + 1
        waiting.append((names, policy.rank(), version))
        draw.shuffle(waiting)
        while len(waiting) > 6:
            then, ranking, when = waiting.pop()
            shown = [then[item] for item in ranking]
            clicks = [int(draw.random() < 0.1 + 0.1 * UNIVERSE.index(item)) for item in shown]
            seen = draw.randint(1, len(clicks)) if draw.random() < 0.2 else None
            clicks[seen if seen else len(clicks) :] = [0] * (len(clicks) - (seen or len(clicks)))
            if when == version:
                policy.update(ranking, clicks, seen=seen)
            else:
                now = [names.index(item) if item in names else None for item in shown]
                assert policy.update_outdated(now, ranking.notes, clicks, seen)
            book.learn(shown, ranking.notes, clicks[:seen], names, when != version)
        if t % 20 == 10:
            book.check(policy, names)
    return version


@pytest.mark.parametrize("last_click", [False, True])
@pytest.mark.parametrize("kind", [rl.CascadeUCB1, rl.CascadeKLUCB])
def test_cascading_policies_keep_the_clicks_and_looks_of_items_that_stay(kind: Any, last_click: bool) -> None:
    policy = kind(6, 3, last_click=last_click, seed=1)
    assert live_through(policy, Looks(last_click), all_shown=False) == 20


@pytest.mark.parametrize("last_click", [False, True])
def test_a_discount_goes_on_across_changes(last_click: bool) -> None:
    policy = rl.CascadeDUCB(6, 3, gamma=0.97, last_click=last_click, seed=1)
    assert live_through(policy, Looks(last_click, gamma=0.97), all_shown=False) == 20


@pytest.mark.parametrize("last_click", [False, True])
def test_a_window_still_forgets_exactly_the_lists_that_have_left_it(last_click: bool) -> None:
    """Lists change every 20 lists and the window spans 35: most lists are forgotten in other numbers than learned."""
    policy = rl.CascadeSWUCB(6, 3, window=35, last_click=last_click, seed=1)
    assert live_through(policy, Looks(last_click, window=35), all_shown=False) == 20


def test_a_window_that_grows_takes_in_again_what_was_renumbered() -> None:
    """Without a horizon the window doubles: it then reaches back to lists from before the change."""
    policy = rl.CascadeSWUCB(4, 2, seed=1)
    order = [2, None, 0, 3]
    lists: list[list[tuple[int, int]]] = []
    for t in range(1000):
        if t == 500:
            policy = policy.relisted(order)
            lists = [[(order.index(item), c) for item, c in looks if item in order] for looks in lists]
        ranking = policy.rank()
        clicks = [int((t + item) % 3 == 0) for item in ranking]
        policy.update(ranking, clicks)
        n = examined(clicks, False)
        lists.append([(item, click) for item, click in zip(ranking.items[:n], clicks, strict=False)])
        seen = np.zeros(4)
        for looks in lists[-policy.memory :]:
            for item, _ in looks:
                seen[item] += 1
        assert policy.state.seen.tolist() == seen.tolist()


def test_bubble_rank_keeps_the_evidence_of_pairs_that_stay() -> None:
    policy = rl.BubbleRank(list(range(6)), delta=0.3, seed=1)
    book = Leads(0.3)
    assert live_through(policy, book, all_shown=True, n_lists=1000) == 50
    assert any(book.decided(i, j) for i, j in list(book.lead)), "some pairs must have been decided"


def test_top_rank_keeps_wins_and_decisions_of_pairs_that_stay() -> None:
    policy = rl.TopRank(6, 6, delta=0.9, seed=1)
    book = Wins()
    assert live_through(policy, book, all_shown=True, n_lists=1000) == 50
    assert book.better, "some pairs must have been decided"


def test_top_rank_learns_nothing_of_hidden_items_from_before_a_change() -> None:
    policy = rl.TopRank(3, 2, horizon=1000, seed=1)
    ranking = policy.rank()
    (hidden,) = {0, 1, 2} - set(ranking)
    changed = policy.relisted([0, 1, 2])
    changed.update_outdated(ranking.items, ranking.notes, [1, 0])
    policy.update(ranking, [1, 0])
    assert policy.state.wins[ranking[0], hidden] == 1
    assert changed.state.wins[ranking[0], hidden] == 0
    assert changed.state.wins[ranking[0], ranking[1]] == 1


def test_ranked_exp3_keeps_the_weights_of_items_that_stay() -> None:
    policy = rl.RankedEXP3(6, 3, gamma=0.2, seed=1)
    assert live_through(policy, Weights(0.2, UNIVERSE[:6], 3), all_shown=False) == 20


def same(policy: Any, other: Any, *names: str) -> bool:
    return all(np.array_equal(getattr(policy.state, name), getattr(other.state, name)) for name in names)


def teach(policy: Any, n: int, best: int = 3) -> Any:
    for t in range(n):
        ranking = policy.rank()
        policy.update(ranking, [int(item == best and t % 3 > 0) for item in ranking])
    return policy


MAKE: dict[str, Callable[[], Any]] = {
    "BubbleRank": lambda: rl.BubbleRank([0, 1, 2, 3], delta=0.3, seed=1),
    "TopRank": lambda: rl.TopRank(4, 4, delta=0.9, seed=1),
    "RankedEXP3": lambda: rl.RankedEXP3(4, 3, seed=1),
    "CascadeUCB1": lambda: rl.CascadeUCB1(4, 2, seed=1),
    "CascadeKLUCB": lambda: rl.CascadeKLUCB(4, 2, seed=1),
    "CascadeDUCB": lambda: rl.CascadeDUCB(4, 2, seed=1),
    "CascadeSWUCB": lambda: rl.CascadeSWUCB(4, 2, window=50, seed=1),
    "BatchRank": lambda: rl.BatchRank(4, 2, horizon=1000, seed=1),
    "FixedRanking": lambda: rl.FixedRanking([0, 1, 2, 3]),
}
KEPT = {
    "BubbleRank": ("rng", "lead", "duels", "better", "base", "undecided", "log_inverse_delta"),
    "TopRank": ("rng", "wins", "needed", "better", "block", "end", "noted", "n_open"),
    "RankedEXP3": ("rng", "weights", "observed"),
    "CascadeUCB1": ("rng", "clicked", "seen", "learned"),
    "CascadeKLUCB": ("rng", "clicked", "seen", "learned", "tangent"),
    "CascadeDUCB": ("rng", "clicked", "seen", "learned", "discount"),
    "CascadeSWUCB": ("rng", "clicked", "seen", "counts", "level"),
}
"""What must be equal in two states for their policies to choose alike."""


@pytest.mark.parametrize("name", KEPT)
def test_the_same_list_again_changes_nothing(name: str) -> None:
    policy = teach(MAKE[name](), 120)
    again = policy.relisted([0, 1, 2, 3])
    assert same(policy, again, *KEPT[name])
    assert again.best == policy.best
    assert again.n_positions == policy.n_positions
    if name not in ("TopRank", "RankedEXP3"):  # these shuffle what they have shuffled before: as likely, not the same
        for _ in range(100):
            one, other = policy.rank(), again.rank()
            assert one.items == other.items
            clicks = [int(item == 1) for item in one]
            policy.update(one, clicks)
            again.update(other, clicks)


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("clicks", [[0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]])
def test_feedback_before_a_change_is_worth_as_much_after_it(name: str, clicks: list[int]) -> None:
    order = [2, 0, 3, 1]
    early, late = teach(MAKE[name](), 40), teach(MAKE[name](), 40)
    ranking = early.rank()
    assert late.rank().items == ranking.items
    early.update(ranking, clicks[: len(ranking)])
    early = early.relisted(order)
    late = late.relisted(order)
    assert late.update_outdated([order.index(item) for item in ranking], ranking.notes, clicks[: len(ranking)])
    assert same(early, late, *(field for field in KEPT[name] if field not in ("tangent", "base", "undecided")))


@pytest.mark.parametrize("name", KEPT)
def test_nothing_of_a_list_is_learned_when_all_of_it_is_gone(name: str) -> None:
    policy = teach(MAKE[name](), 40)
    ranking = policy.rank()
    policy = policy.relisted([None] * 4)
    before = policy.snapshot()
    assert policy.update_outdated([None] * len(ranking), ranking.notes, [1] + [0] * (len(ranking) - 1))
    about_lists = {"counts", "observed"}  # that one more list was learned from
    after = policy.snapshot()
    assert all(np.array_equal(before[field], after[field]) for field in before if field not in about_lists)


@pytest.mark.parametrize("last_click", [False, True])
def test_the_examined_part_is_told_before_items_that_are_gone_are_left_out(last_click: bool) -> None:
    policy = rl.CascadeUCB1(5, 5, last_click=last_click, seed=1).relisted([0, None, 2, 3, 4])
    policy.update_outdated([0, None, 2, None, 4], (), [1, 0, 0, 1, 0])  # item 1, and item 3 with the last click, gone
    assert policy.state.seen.tolist() == ([1, 0, 1, 0, 0] if last_click else [1, 0, 0, 0, 0])
    assert policy.state.clicked.tolist() == [1, 0, 0, 0, 0]


def test_items_that_come_back_are_new() -> None:
    policy = teach(rl.CascadeUCB1(4, 2, seed=1), 50).relisted([0, 1, 2]).relisted([0, 1, 2, None])
    assert policy.state.seen[3] == 0
    assert 3 in policy.rank(), "what was never seen comes first"


def test_bubble_rank_exchanges_at_once_what_it_knows() -> None:
    policy = teach(rl.BubbleRank([0, 1, 2, 3], delta=0.3, seed=1), 500)
    assert policy.base[0] == 3
    today = policy.relisted([2, 0, None, 3, 1])  # production's list of today: 2, 0, a new one, 3, 1
    assert today.base.index(3) < today.base.index(4), "3 is known to be better than 1"
    assert today.base[2:4] == [2, 3], "nothing is known of the new item, so that 3 may not pass it"
    assert today.receipt().initial == [0, 1, 2, 3, 4]
    gone = today.relisted([0, 1, 3, 4])  # the new item leaves
    assert gone.base[0] == 2, "nothing stands between 3 and those it has beaten any more"


def test_bubble_rank_takes_no_hidden_rival_from_before_a_change() -> None:
    """The note of a hidden rival holds its old number, which may be another item's today."""
    policy = rl.BubbleRank([0, 1, 2, 3], n_positions=2, delta=0.3, seed=1)
    ranking = next(ranking for ranking in iter(policy.rank, None) if ranking.notes[1])
    changed = policy.relisted([3, 2, 1, 0])
    changed.update_outdated([3 - item for item in ranking], ranking.notes, [0, 1])
    assert not changed.state.duels.any()


def test_batch_rank_begins_anew() -> None:
    policy = teach(rl.BatchRank(4, 2, horizon=1000, seed=1), 300)
    ranking = policy.rank()
    changed = policy.relisted([0, 1, 2, 3])
    fresh = rl.BatchRank(4, 2, horizon=1000, seed=1).snapshot()
    assert all(np.array_equal(fresh[name], value) for name, value in changed.snapshot().items() if name != "rng")
    assert not changed.update_outdated(ranking.items, ranking.notes, [1, 0])
    assert all(np.array_equal(fresh[name], value) for name, value in changed.snapshot().items() if name != "rng")


BAD = [[], [0, 0], [0, 4], [0, -1], [0, 1.0], [0, "1"], [True, 0], "01", 7, None]


@pytest.mark.parametrize("kept", BAD, ids=repr)
@pytest.mark.parametrize("name", MAKE)
def test_refuses_what_is_no_list(name: str, kept: Any) -> None:
    policy = MAKE[name]()
    before = policy.snapshot()
    with pytest.raises(ValueError, match="kept"):
        policy.relisted(kept)
    assert all(np.array_equal(before[field], value) for field, value in policy.snapshot().items())


@pytest.mark.parametrize("n_positions", [0, 3, 1.5])
def test_refuses_more_positions_than_there_are_items(n_positions: Any) -> None:
    with pytest.raises(ValueError, match="n_positions"):
        rl.CascadeUCB1(4, 2, seed=1).relisted([0, 1], n_positions=n_positions)


# -- rankers that join and leave -------------------------------------------------------------------------------------


def compare(policy: Any, n: int, worth: Sequence[float], seed: int = 1) -> Any:
    draw = random.Random(seed)
    for _ in range(n):
        duel = policy.duel()
        if duel.left != duel.right:
            left = draw.random() < 0.5 + 0.5 * (worth[duel.left] - worth[duel.right])
            policy.update(duel, winner=duel.left if left else duel.right)
    return policy


def by_arm(policy: Any) -> Any:
    """Wins by arm, not by slot."""
    slots = policy._batches.slot_of
    return policy.state.wins[np.ix_(slots, slots)]


MERGING: list[Any] = [rl.MergeDTS, rl.MergeRUCB]
WORTH = [0.1, 0.2, 0.9, 0.3, 0.4, 0.5, 0.1, 0.2]


@pytest.mark.parametrize(("kind", "n_duels"), [(rl.MergeDTS, 200), (rl.MergeRUCB, 600)])
def test_the_same_rankers_again_change_nothing(kind: Any, n_duels: int) -> None:
    policy = compare(kind(8, alpha=0.5, batch_size=4, c=1, seed=1), n_duels, WORTH)
    again = policy.relisted(range(8))
    assert (by_arm(again) == by_arm(policy)).all()
    assert again.survivors == policy.survivors
    assert 1 < len(again.survivors) < 8, "some must be out, and some not"
    assert sorted(map(sorted, again.batches)) == sorted(map(sorted, policy.batches))
    assert again.best == policy.best
    assert again._batches.counts[OBSERVED] == policy._batches.counts[OBSERVED]


@pytest.mark.parametrize("kind", MERGING)
def test_rankers_join_and_leave(kind: Any) -> None:
    policy = compare(kind(8, alpha=0.5, batch_size=4, c=1, seed=1), 300, WORTH)
    order = [7, None, 5, 4, 3, 1, 0, None]  # 2, the best, and 6 leave; two others join
    changed = policy.relisted(order)
    for a, old in enumerate(order):
        for b, other in enumerate(order):
            kept = 0 if old is None or other is None else by_arm(policy)[old, other]
            assert by_arm(changed)[a, b] == kept
    assert {1, 7} <= set(changed.survivors), "who joins is in"
    out = [a for a, old in enumerate(order) if changed.eliminated(a)]
    wins = by_arm(changed)
    for a in out:
        assert policy.eliminated(order[a])
        assert any(wins[a, b] < wins[b, a] for b in range(8)), "one who stays is proof"
    assert all(size <= changed.n_arms for size in map(len, changed.batches))
    worth = [0.2, 1.0, 0.5, 0.4, 0.3, 0.2, 0.1, 0.6]
    assert compare(changed, 3000, worth).winner == 1, "a better one that joined late is found"


def eliminated_by_one(kind: Any) -> Any:
    """Arm 0 has lost to arm 1 only, and is out."""
    policy = kind(3, alpha=0.5, batch_size=4, c=1, seed=1)
    while not policy.eliminated(0):
        policy.update(rl.Duel(0, 1), winner=1)
        policy.duel()  # where it is looked at who is out
    return policy


@pytest.mark.parametrize("kind", MERGING)
def test_an_elimination_is_taken_back_when_its_proof_leaves(kind: Any) -> None:
    policy = eliminated_by_one(kind)
    assert policy.relisted([0, 1]).eliminated(0)
    assert not policy.relisted([0, 2]).eliminated(0)
    assert by_arm(policy.relisted([0, 2])).sum() == 0


@pytest.mark.parametrize("kind", MERGING)
def test_an_elimination_stays_when_bounds_have_widened_since(kind: Any) -> None:
    policy = eliminated_by_one(kind)
    policy._batches.counts[OBSERVED] = 10**9
    assert policy.relisted([0, 1, 2, None]).eliminated(0)
    assert (policy.relisted([0, 1, None])._batches.rival == [GONE, SEVERAL, SEVERAL]).all()


@pytest.mark.parametrize("kept", [*BAD, [0]], ids=repr)
@pytest.mark.parametrize("kind", MERGING)
def test_refuses_what_are_no_rankers(kind: Any, kept: Any) -> None:
    with pytest.raises(ValueError, match=r"kept|n_arms|arms"):
        kind(4, seed=1).relisted(kept)


def test_discounts_are_those_of_the_policy() -> None:
    policy = teach(rl.CascadeDUCB(4, 2, seed=1), 100)
    changed = policy.relisted([1, None, 2])
    assert changed.state.discount[GAMMA] == policy.state.discount[GAMMA]
    assert changed.discount == policy.discount
