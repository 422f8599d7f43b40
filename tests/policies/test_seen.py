"""Lists of which only the first positions were seen: every policy against its plain reference."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
import pytest
from made_up_items import X, Z, catalogue
from references import bubble_rank, cascading, partitions, recur_rank
from references.features import RidgeForm
from references.side_by_side import PROBLEMS, assert_same_choices, seen_in_part
from references.users import position_based

import rankloop as rl
from rankloop import testing
from rankloop.kernels import choose, learn, settled, step
from rankloop.policies import ClickPolicy
from rankloop.policies.features.recur_rank import SEEN
from rankloop.testing import assert_same_state

SPREAD = [0.1, 0.7, 0.4, 0.02, 0.55, 0.25, 0.85]

CASCADING = {
    "UCB1": (lambda n, k, **o: rl.CascadeUCB1(n, k, **o), lambda n, k, seed: cascading.CascadeUCB1(n, k, seed)),
    "KL": (lambda n, k, **o: rl.CascadeKLUCB(n, k, **o), lambda n, k, seed: cascading.CascadeKLUCB(n, k, seed)),
    "D": (
        lambda n, k, **o: rl.CascadeDUCB(n, k, gamma=0.97, **o),
        lambda n, k, seed: cascading.CascadeDUCB(n, k, seed, lambda _t: 0.97),
    ),
    "SW": (
        lambda n, k, **o: rl.CascadeSWUCB(n, k, window=30, **o),
        lambda n, k, seed: cascading.CascadeSWUCB(n, k, seed, lambda _t: 30),
    ),
}


@pytest.mark.parametrize("last_click", [False, True])
@pytest.mark.parametrize("name", CASCADING)
@pytest.mark.parametrize(("attraction", "n_positions"), PROBLEMS[:3])
def test_cascading_policies(name: str, attraction: list[float], n_positions: int, last_click: bool) -> None:
    make, reference = CASCADING[name]
    n = len(attraction)
    slow = reference(n, n_positions, 5)
    slow.last_click = last_click
    fast = make(n, n_positions, seed=5, last_click=last_click)
    assert_same_choices(fast, slow, attraction, 500, in_part=True)


@pytest.mark.parametrize(("n_items", "n_positions"), [(2, 2), (7, 7), (8, 4), (7, 3), (5, 1)])
def test_bubble_rank(n_items: int, n_positions: int) -> None:
    draw = random.Random(n_items)
    initial = draw.sample(range(n_items), n_items)
    fast = rl.BubbleRank(initial, horizon=50, n_positions=n_positions, seed=4)
    slow = bubble_rank.BubbleRank(initial, n_positions, horizon=50, seed=4)
    learned = 0
    for _ in range(6000):
        ranking = fast.rank()
        assert list(ranking) == slow.rank()
        clicks, seen = seen_in_part(draw, [int(draw.random() < (item + 1) / (n_items + 1)) for item in ranking])
        fast.update(ranking, clicks, seen=seen)
        slow.update(list(ranking), clicks, seen)
        learned += seen > 0
        assert fast.base == slow.R
        assert fast.state.duels.tolist() == slow.n
        assert fast.state.lead.tolist() == slow.s
    assert fast.state.better.any(), "some pairs must have been decided"
    assert fast.receipt().lists_learned_from == learned


PARTITIONS = {
    "TopRank": (
        lambda n, k: rl.TopRank(n, k, delta=0.5, seed=9),
        lambda n, k: partitions.TopRank(n, k, 0.5, seed=9),
        lambda fast, slow: fast.blocks == [sorted(block) for block in slow.blocks],
    ),
    "BatchRank": (
        lambda n, k: rl.BatchRank(n, k, horizon=10, seed=9),
        lambda n, k: partitions.BatchRank(n, k, 10, seed=9),
        lambda fast, slow: fast.batches == [sorted(batch.items) for batch in slow.batches],
    ),
    "RankedEXP3": (
        lambda n, k: rl.RankedEXP3(n, k, seed=9),
        lambda n, k: partitions.RankedEXP3(n, k, None, seed=9),
        lambda fast, slow: fast.state.observed[0] == slow.t,
    ),
}


@pytest.mark.parametrize("name", PARTITIONS)
@pytest.mark.parametrize(("n_items", "n_positions"), [(7, 7), (7, 4), (7, 1)])
def test_policies_with_a_step_by_step_reference(name: str, n_items: int, n_positions: int) -> None:
    make, reference, agree = PARTITIONS[name]
    fast, slow = make(n_items, n_positions), reference(n_items, n_positions)
    users = position_based(SPREAD, np.linspace(1, 0.4, n_positions).tolist(), 3)
    draw = random.Random(1)
    beliefs = {str(fast.best)}
    for _ in range(2500):
        ranking = fast.rank()
        clicks, seen = seen_in_part(draw, users(ranking))
        assert slow.step(lambda _shown, clicks=clicks: clicks, seen) == list(ranking)
        fast.update(ranking, clicks, seen=seen)
        assert agree(fast, slow)
        beliefs.add(str(fast.best))
    assert len(beliefs) > 2, "the run must change its mind to test anything"


@pytest.mark.parametrize(("n_items", "n_positions"), [(7, 7), (7, 5)])
def test_recur_rank(n_items: int, n_positions: int) -> None:
    """With users for whom no two estimates are exactly one gap apart, where rounding would decide."""
    attraction = [0.05, 0.95, 0.9, 0.02, 0.97, 0.1, 0.93]
    fast = rl.RecurRank(np.eye(n_items), n_positions, horizon=1, delta=0.9, seed=9)
    slow = recur_rank.RecurRank(np.eye(n_items), n_positions, 0.9, 9, recur_rank.uniform_design)
    users = position_based(attraction, np.linspace(1, 0.9, n_positions).tolist(), 5)
    draw = random.Random(1)
    stages = set()
    for _ in range(2500):
        ranking = fast.rank()
        assert slow.rank() == list(ranking)
        clicks, seen = seen_in_part(draw, users(ranking))
        fast.update(ranking, clicks, seen=seen)
        slow.update(ranking, clicks, seen)
        assert [part.items for part in slow.parts] == fast.parts
        for part in slow.parts:
            done = [item for item, _ in part.data]
            assert [fast.state.tally[item, SEEN] for item in part.schedule] == [done.count(a) for a in part.schedule]
        stages.add(tuple((part.phase, len(part.items)) for part in slow.parts))
    assert max(len(stage) for stage in stages) > 1, "the list must split: its top is nearly always seen"


NOTHING = np.zeros((40, 0))
FEATURES = {
    "CascadeHybrid": (lambda: rl.CascadeHybrid(Z, X, 5, seed=2), RidgeForm(Z, X, 1.0)),
    "CascadeHybridTS": (lambda: rl.CascadeHybridTS(Z, X, 5, seed=2), RidgeForm(Z, X, 1.0)),
    "CascadeLinUCB": (lambda: rl.CascadeLinUCB(Z, 5, seed=2), RidgeForm(Z, NOTHING, 1.0)),
    "CascadeLinTS": (lambda: rl.CascadeLinTS(Z, 5, seed=2), RidgeForm(Z, NOTHING, 1.0)),
    "CascadeLinUCBFull": (
        lambda: rl.CascadeLinUCBFull(Z, X, 5, seed=2),
        RidgeForm(np.hstack([X, Z]), NOTHING, 1.0),
    ),
    "CascadeLSB": (lambda: rl.CascadeLSB(X, 5, seed=2), RidgeForm(NOTHING, X, 1.0)),
    "CascadeLSBFull": (lambda: rl.CascadeLSBFull(Z, X, 5, seed=2), RidgeForm(NOTHING, np.hstack([X, Z]), 1.0)),
    "LSBGreedy": (lambda: rl.LSBGreedy(X, 5, seed=2), RidgeForm(NOTHING, X, 1.0, cascade=False)),
    "C2UCB": (lambda: rl.C2UCB(Z, 5, seed=2), RidgeForm(Z, NOTHING, 1.0, cascade=False)),
    "segment": (lambda: rl.Segments(rl.CascadeHybrid(Z, X, 5, seed=2)), RidgeForm(Z, X, 1.0)),
}


@pytest.mark.parametrize("name", FEATURES)
def test_policies_with_features(name: str) -> None:
    """Lists of any length up to 5, seen in part, told one by one and many at once, with and without `seen`."""
    make, plain = FEATURES[name]
    told = make()
    policy = told["a"] if isinstance(told, rl.Segments) else told
    draw = random.Random(4)
    waiting: list[tuple[Any, ...]] = []
    for t in range(120):
        ranking = policy.rank(draw.sample(range(40), draw.randint(1, 9)))
        clicks, seen = seen_in_part(draw, [int(draw.random() < 0.6 / (1 + item % 7)) for item in ranking])
        plain.update(list(ranking), clicks, seen)
        if t % 3:
            told.update(ranking, clicks, seen=seen)
        else:
            waiting.append((ranking, clicks, seen))
    ranking = policy.rank()
    waiting.append((ranking, [0, 0, 0, 1, 0]))
    plain.update(list(ranking), [0, 0, 0, 1, 0])
    told.update_many(waiting)
    weights = np.linalg.solve(plain.precision, plain.evidence)
    np.testing.assert_allclose(np.concatenate([policy.theta, policy.beta]), weights, atol=1e-10)
    np.testing.assert_allclose(policy.covariance, np.linalg.inv(plain.precision), atol=1e-10)


@pytest.mark.parametrize(
    ("seen", "clicks", "message"),
    [
        (3, [0, 0, 0, 1], "only the first 3 positions were seen, but clicks are"),
        (0, [1, 0, 0, 0], "only the first 0 positions"),
        (5, [0, 0, 0, 0], "seen must be a whole number from 0 to 4, the length of the list, not 5"),
        (-1, [0, 0, 0, 0], "seen must be a whole number from 0 to 4"),
        (True, [0, 0, 0, 0], "seen must be a whole number from 0 to 4"),
    ],
)
def test_contradictions_are_refused(seen: Any, clicks: list[int], message: str) -> None:
    policy = rl.BubbleRank([3, 1, 2, 0], horizon=100, seed=1)
    segments = rl.Segments(rl.CascadeLinUCB(np.eye(4), 4, seed=1))
    ranking, segment_ranking = policy.rank(), segments["a"].rank()
    before = policy.snapshot(), segments["a"].snapshot()
    with pytest.raises(ValueError, match=message):
        policy.update(ranking, clicks, seen=seen)
    with pytest.raises(ValueError, match=message):
        segments.update_many([(segment_ranking, [0, 0, 0, 1]), (segment_ranking, clicks, seen)])
    assert_same_state(policy.snapshot(), before[0])
    assert_same_state(segments["a"].snapshot(), before[1])


# -- policies of others --------------------------------------------------------------------------------------------


class State(NamedTuple):
    rng: Any
    seen: Any


@step(choose, State)
def _choose(state, items, notes):
    for k in range(len(items)):
        items[k] = k


@step(learn, State)
def _learn(state, items, notes, clicks):
    for k in range(len(items)):  # knows nothing of lists seen in part
        state.seen[items[k]] += 1 - clicks[k]


@step(settled, State)
def _settled(state):
    return False


class _Foreign(ClickPolicy):
    def __init__(self, seed: int | None = None) -> None:
        super().__init__(5, 3, seed)
        self.state = State(self._rng, np.zeros(5, np.int64))


class _Boasting(_Foreign):
    takes_seen = True


def test_a_policy_that_knows_nothing_of_it_refuses_lists_seen_in_part() -> None:
    policy = _Foreign(seed=1)
    with pytest.raises(ValueError, match=r"_Foreign cannot learn from lists seen in part \(seen = 2 of 3\)"):
        policy.update(policy.rank(), [1, 0, 0], seen=2)
    assert policy.state.seen.tolist() == [0] * 5
    policy.update(policy.rank(), [1, 0, 0], seen=3)
    assert policy.state.seen.tolist() == [0, 1, 1, 0, 0]
    testing.check_learns_from_what_was_seen(lambda seed: _Foreign(seed))


def test_the_check_finds_a_policy_that_reads_on() -> None:
    with pytest.raises(AssertionError):
        testing.check_learns_from_what_was_seen(lambda seed: _Boasting(seed))


# -- lists that are shorter ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [name for name in FEATURES if name not in ("segment", "CascadeHybridTS", "CascadeLinTS")]
)
def test_few_candidates_make_a_short_list(name: str) -> None:
    """Each position goes to the best candidate, also after lists of another length."""
    make, form = FEATURES[name]
    policy = make()
    plain = RidgeForm(form.relevance, form.topics, 1.0, cascade=form.cascade)
    draw = random.Random(7)
    for n_candidates in [20, 3, 12, 2, 40, 4, 6, 1, 35, 3] * 3:
        candidates = draw.sample(range(40), n_candidates)
        ranking = policy.rank(candidates)
        assert len(ranking) == min(5, n_candidates)
        for k, item in enumerate(ranking):
            best = plain.best_score(candidates, ranking[:k])
            assert plain.score(item, ranking[:k]) == pytest.approx(best, abs=1e-9)
        clicks = [int(draw.random() < 0.2) for _ in ranking]
        policy.update(rl.Ranking.from_json(ranking.to_json()), clicks)
        plain.update(list(ranking), clicks)


def test_short_and_long_lists_in_turn() -> None:
    """Candidates of a small catalogue are marked in it: what one list leaves behind must not mislead the next."""
    z, x = catalogue(14, 3, 5, seed=3)
    policy, plain = rl.CascadeHybrid(z, x, 8, seed=1), RidgeForm(z, x, 1.0)
    draw = random.Random(7)
    for _ in range(150):
        candidates = draw.sample(range(14), draw.choice([3, 4, 5, 14]))
        ranking = policy.rank(candidates)
        assert len(ranking) == min(8, len(candidates))
        for k, item in enumerate(ranking):
            best = plain.best_score(candidates, ranking[:k])
            assert plain.score(item, ranking[:k]) == pytest.approx(best, abs=1e-9)
        clicks = [int(draw.random() < 0.1) for _ in ranking]
        policy.update(ranking, clicks)
        plain.update(list(ranking), clicks)


def test_what_is_left_of_a_catalogue_is_shown() -> None:
    policy = rl.CascadeHybrid(Z[:6], X[:6], 4, seed=1)
    policy.remove_items([0, 2, 3])
    ranking = policy.rank()
    assert sorted(ranking) == [1, 4, 5]
    assert sorted(policy.best) == [1, 4, 5]
    policy.update(ranking, [0, 0, 1])
    with pytest.raises(ValueError, match="there are 3 positions, but clicks"):
        policy.update(ranking, [0, 0, 1, 0])
    users = rl.HybridCascade(np.abs(Z[:6]), X[:6], np.full(4, 0.3), np.full(6, 0.3), 0.5)
    result = rl.simulate(policy, users, horizon=500, runs=2, progress=False, workers=1)
    assert np.isfinite(result.regret).all()
    policy.remove_items([1, 4, 5])
    with pytest.raises(ValueError, match="no candidates"):
        policy.rank()
    with pytest.raises(ValueError, match="no candidates"):
        rl.simulate(policy, users, horizon=5, progress=False)


def test_strangers_on_a_short_list() -> None:
    policy = rl.CascadeLinUCB(Z[:30], 5, seed=1)
    plain = RidgeForm(Z, NOTHING, 1.0)
    ranking = policy.rank([3], features=Z[30:32])
    assert sorted(ranking) == [-2, -1, 3]
    policy.update(rl.Ranking.from_json(ranking.to_json()), [0, 0, 0], seen=2)
    plain.update([item if item >= 0 else 29 - item for item in ranking], [0, 0, 0], 2)
    np.testing.assert_allclose(policy.covariance, np.linalg.inv(plain.precision), atol=1e-12)
    with pytest.raises(ValueError, match="at most 5 different items"):
        policy.update(rl.Ranking(range(6), policy=policy.identity), [0] * 6)


def test_lists_of_a_click_policy_are_never_shorter() -> None:
    policy = rl.TopRank(4, 3, horizon=100, seed=1)
    ranking = policy.rank()
    short = rl.Ranking(ranking.items[:2], notes=ranking.notes, policy=ranking.policy)
    with pytest.raises(ValueError, match="has 3 different items"):
        policy.update(short, [0, 0])
