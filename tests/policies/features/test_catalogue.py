"""What a recommender needs of the feature bandits: catalogues that change, and candidates."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from made_up_items import X, Z, play
from references.features import RidgeForm

import rankloop as rl
from rankloop.testing import assert_same_state


def test_the_catalogue_grows_and_shrinks() -> None:
    policy = rl.CascadeHybrid(Z[:20], X[:20], 5, seed=1)
    play(policy, 30)
    waiting = policy.rank()
    policy.remove_items(waiting[:2])
    assert not set(policy.rank()) & set(waiting[:2])
    assert set(policy.items) == set(range(20)) - set(waiting[:2])
    with pytest.raises(ValueError, match="has been removed: leave it out of the candidates"):
        policy.rank([*policy.items[:6], waiting[0]])
    before = policy.theta
    policy.update(waiting, [0, 1, 0, 0, 0])  # clicks on what is shown no more are still learned from
    assert (policy.theta != before).any()
    assert policy.add_items(Z[20:], X[20:]) == list(range(20, 40))
    assert policy.n_items == 40
    plain = RidgeForm(Z, X, 1.0)
    plain.inverse, plain.evidence = policy.covariance, policy.state.model.evidence
    ranking = policy.rank()
    for k, item in enumerate(ranking):
        assert plain.score(item, ranking[:k]) == pytest.approx(plain.best_score(policy.items, ranking[:k]))


def test_a_grown_catalogue_is_saved(tmp_path) -> None:
    policy = rl.CascadeLinUCB(Z[:10], 3, seed=1)
    policy.add_items(Z[10:20])
    policy.remove_items([0, 15])
    play(policy, 20)
    policy.save(tmp_path / "policy.npz")
    loaded = rl.load(tmp_path / "policy.npz")
    assert loaded.items == policy.items
    assert [list(loaded.rank()) for _ in range(3)] == [list(policy.rank()) for _ in range(3)]
    assert policy.fresh(3).items == policy.items


@pytest.mark.parametrize("candidates", [[30, 2, 17, 5], [30, 2, 17, 5, 8], list(range(39, 3, -1))])
def test_rank_from_some_candidates(candidates) -> None:
    policy = rl.CascadeHybrid(Z, X, 3, seed=1)
    play(policy, 30)
    plain = RidgeForm(Z, X, 1.0)
    plain.inverse, plain.evidence = policy.covariance, policy.state.model.evidence
    ranking = policy.rank(candidates)
    assert set(ranking) <= set(candidates)
    for k, item in enumerate(ranking):
        assert plain.score(item, ranking[:k]) == pytest.approx(plain.best_score(candidates, ranking[:k]))
    policy.update(ranking, [0, 0, 1])
    assert policy.items == list(range(40))  # the others may be shown again


def test_items_that_are_not_in_the_catalogue() -> None:
    policy, twin = rl.CascadeHybrid(Z[:30], X[:30], 3, seed=1), rl.CascadeHybrid(Z, X, 3, seed=1)
    ranking = policy.rank([4, 9], relevance=Z[30:], topics=X[30:])
    same = twin.rank([4, 9, *range(30, 40)])
    assert [item if item >= 0 else 29 - item for item in ranking] == list(same)
    travelled = rl.Ranking.from_json(json.loads(ranking.to_json()))
    policy.update(travelled, [0, 1, 1])
    twin.update(same, [0, 1, 1])
    np.testing.assert_allclose(policy.covariance, twin.covariance, atol=1e-14)
    np.testing.assert_allclose(policy.theta, twin.theta, atol=1e-14)
    linear = rl.CascadeLinUCB(Z[:3], 2, seed=1)
    linear.update(linear.rank(features=Z[3:9]), [0, 1])
    lsb = rl.CascadeLSB(X[:3], 2, seed=1)
    lsb.update(lsb.rank([], topics=X[3:9]), [0, 1])


def test_many_updates_at_once() -> None:
    one, other = rl.CascadeLSB(X, 4, seed=1), rl.CascadeLSB(X, 4, seed=1)
    rankings = [one.rank() for _ in range(5)]
    clicks = [[0, 0, 1, 0], [0] * 4, [1] * 4, [0, 1, 0, 0], [0] * 4]
    one.update_many(zip(rankings, clicks, strict=True))
    for ranking, clicked in zip([other.rank() for _ in range(5)], clicks, strict=True):
        other.update(rl.Ranking(ranking.items, policy=other.identity), clicked)
    np.testing.assert_array_equal(one.theta, other.theta)
    before = one.snapshot()
    with pytest.raises(ValueError, match="positions"):
        one.update_many([(rankings[0], clicks[0]), (rankings[1], [1])])
    assert_same_state(one.snapshot(), before)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.CascadeHybrid(Z, X, 2).rank(np.array(3)), "sequence of item numbers"),
        (lambda: rl.CascadeHybrid(Z, X, 5).rank([]), "no candidates"),
        (lambda: rl.CascadeHybrid(Z, X, 2).rank([1, 40]), "item 40 is not in the catalogue"),
        (lambda: rl.CascadeHybrid(Z, X, 2).rank([1, 1]), "once each"),
        (lambda: rl.CascadeHybrid(Z, X, 2).rank(3), "sequence of item numbers"),
        (lambda: rl.CascadeHybrid(Z, X, 2).rank(relevance=Z), "topics of the new items are missing"),
        (lambda: rl.CascadeHybrid(Z, X, 2).rank(relevance=X, topics=X), "4 columns, not 6"),
        (lambda: rl.CascadeHybrid(Z, X, 2).add_items(Z[:0], X[:0]), "no items to add"),
        (lambda: rl.CascadeHybrid(Z, X, 2).remove_items([-1]), "item -1 is not in the catalogue"),
        (lambda: rl.CascadeHybrid(Z, X, 2).remove_items([3, 3]), "once each"),
    ],
)
def test_bad_input_is_refused(make, message) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_items_cannot_be_removed_twice_nor_all_be_missed() -> None:
    policy = rl.CascadeLSB(X[:4], 2, seed=1)
    policy.remove_items([1, 2])
    with pytest.raises(ValueError, match="removed before"):
        policy.remove_items([0, 1])
    assert policy.items == [0, 3]
    policy.remove_items([0])
    assert list(policy.rank()) == policy.best == [3]
    policy.remove_items([3])
    with pytest.raises(ValueError, match="no candidates"):
        policy.rank()
    with pytest.raises(ValueError, match="no candidates"):
        _ = policy.best


def test_forged_features_of_strangers_are_refused() -> None:
    policy = rl.CascadeHybrid(Z[:30], X[:30], 3, seed=1)
    ranking = policy.rank([4], relevance=Z[30:], topics=X[30:])
    before = policy.snapshot()
    notes = list(ranking.notes)
    for items, bad in [
        (ranking.items, notes[:-1]),
        (ranking.items, [*notes[:-1], np.nan]),
        (ranking.items, [*notes[:-1], 1.5]),
        (ranking.items, []),
        ([0, 1, 2], notes),
        ((*ranking.items[:-1], 30), notes),
    ]:
        with pytest.raises(ValueError, match=r"notes|items"):
            policy.update(rl.Ranking(items, notes=bad, policy=ranking.policy), [0, 0, 0])
    assert_same_state(policy.snapshot(), before)


def test_steps_count_no_references() -> None:
    policy = rl.CascadeHybrid(Z, X, 5, seed=1)
    groups = (policy.state.model, policy.state.catalogue, policy.state.desk)
    arrays = [policy.state.rng, policy.state.widths, *(value for group in groups for value in group)]
    before = [sys.getrefcount(array) for array in arrays]
    play(policy, 700)
    assert [sys.getrefcount(array) for array in arrays] == before


@pytest.mark.parametrize("cls", [rl.CascadeLinUCBFull, rl.CascadeLSBFull])
def test_full_twins_take_what_the_hybrid_takes(cls, tmp_path) -> None:
    policy = cls(Z[:30], X[:30], 3, seed=1)
    np.testing.assert_array_equal(policy.relevance, Z[:30])
    np.testing.assert_array_equal(policy.topics, X[:30])
    policy.add_items(Z[30:35], X[30:35])
    policy.update(policy.rank([4], relevance=Z[35:], topics=X[35:]), [0, 1, 0])
    policy.save(tmp_path / "policy.npz")
    assert list(rl.load(tmp_path / "policy.npz").rank()) == list(policy.rank())
    with pytest.raises(ValueError, match="4 columns, not 6"):
        policy.add_items(X[:2], X[:2])
