"""What a recommender needs of the feature bandits: catalogues that change, candidates, segments and reasons."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from made_up_items import X, Z, play
from references.features import DiverseForm, RidgeForm, topic_gain

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
    plain.precision, plain.evidence = np.linalg.inv(policy.covariance), policy.state.model.evidence
    ranking = policy.rank()
    for k, item in enumerate(ranking):
        free = [a for a in policy.items if a not in ranking[:k]]
        assert plain.score(item, ranking[:k]) == pytest.approx(max(plain.score(a, ranking[:k]) for a in free))


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
    plain.precision, plain.evidence = np.linalg.inv(policy.covariance), policy.state.model.evidence
    ranking = policy.rank(candidates)
    assert set(ranking) <= set(candidates)
    for k, item in enumerate(ranking):
        free = [a for a in candidates if a not in ranking[:k]]
        assert plain.score(item, ranking[:k]) == pytest.approx(max(plain.score(a, ranking[:k]) for a in free))
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


NAN = np.array(Z)
NAN[3, 1] = np.nan
WIDE = np.array(X)
WIDE[2, 0] = 1.2
NEGATIVE = np.array(X)
NEGATIVE[2, 0] = -0.2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.CascadeHybrid(NAN, X, 5), r"relevance\[3, 1\] = nan"),
        (lambda: rl.CascadeHybrid(Z, WIDE, 5), r"topics\[2, 0\] = 1.2"),
        (lambda: rl.CascadeHybrid(Z, NEGATIVE, 5), r"topics\[2, 0\] = -0.2"),
        (lambda: rl.CascadeLSB(WIDE, 5), r"topics\[2, 0\] = 1.2"),
        (lambda: rl.CascadeLSBFull(Z, NEGATIVE, 5), "topics must lie"),
        (lambda: rl.CascadeLSBFull(2 * Z, X, 5), "relevance features are topics here"),
        (lambda: rl.C2UCB(Z, 5, diversity=-0.1), "diversity must be a number from 0 to 1e\\+09, not -0.1"),
        (lambda: rl.C2UCB(Z, 5, diversity=np.nan), "diversity must be a number from 0 to 1e\\+09, not nan"),
        (lambda: rl.C2UCB(Z, 5, diversity="much"), "diversity must be a number from 0 to 1e\\+09, not 'much'"),
        (lambda: rl.C2UCB(Z, 5, diversity=True), "diversity must be a number from 0 to 1e\\+09, not True"),
        (lambda: rl.C2UCB(Z, 5, diversity=1, noise=0), "noise must be a number from 0.001 to 1e\\+09, not 0"),
        (lambda: rl.C2UCB(Z, 5, diversity=1, noise=np.inf), "noise must be a number from 0.001 to 1e\\+09, not inf"),
        (lambda: rl.CascadeLSBFull(Z, X, 5, negative="zero"), "negative must be 'nothing' or 'literal', not 'zero'"),
        (lambda: rl.CascadeLSBFull(Z, X, 5, negative=None), "negative must be 'nothing' or 'literal', not None"),
        (lambda: rl.CascadeLinUCBFull(Z, NEGATIVE, 5), r"topics\[2, 0\] = -0.2"),
        (lambda: rl.CascadeHybrid(Z, X[:7], 5), "40 rows and topics 7"),
        (lambda: rl.CascadeHybrid(Z, X, 41), "more than the 40 items"),
        (lambda: rl.CascadeHybrid(Z[:0], X[:0], 1), "at least one item"),
        (lambda: rl.CascadeLinUCB([], 1), "at least one item"),
        (lambda: rl.CascadeLinUCB(Z[0], 1), "one row for each item"),
        (lambda: rl.CascadeLinUCB("x", 1), "table of numbers"),
        (lambda: rl.CascadeLinUCB([[10**400]], 1), "table of numbers"),
        (lambda: rl.CascadeLinUCB(Z, 2, gamma=-1), "gamma"),
        (lambda: rl.CascadeLinUCB(Z, 2, gamma=np.nan), "gamma"),
        (lambda: rl.CascadeLinUCB(Z, 2, gamma=10**400), "gamma"),
        (lambda: rl.CascadeLinUCB(Z, 2, ridge=5e-324), "ridge"),
        (lambda: rl.CascadeLinUCB(1e8 * Z, 2), r"features\[0, 0\] = .* is beyond 1e\+06"),
        (lambda: rl.CascadeLinUCB([[1, 2], [3]], 1), "table of numbers"),
        (lambda: rl.CascadeHybrid(Z, X, 2).rank(np.array(3)), "sequence of item numbers"),
        (lambda: rl.CascadeLinUCB(Z, 2, ridge=0), "ridge"),
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


def test_a_catalogue_of_diverse_lists_changes(tmp_path) -> None:
    """Added, removed and strange items, some candidates, saving and segments, each with the lists of a plain twin."""
    policy = rl.C2UCB(Z[:20], 4, diversity=2.0, noise=0.5, seed=1)
    policy.add_items(Z[20:30])
    policy.remove_items([0, 15])
    play(policy, 20)
    plain = DiverseForm(Z, 1.0, 1.0, 2.0, 0.5)
    plain.precision, plain.evidence = np.linalg.inv(policy.covariance), policy.state.model.evidence

    def greedy(candidates) -> list[int]:
        chosen: list[int] = []
        while len(chosen) < 4:
            chosen.append(max(set(candidates) - set(chosen), key=lambda a: plain.score(a, chosen)))
        return chosen

    assert list(policy.rank()) == greedy(policy.items)
    assert list(policy.rank(range(5, 14))) == greedy(range(5, 14))
    assert [i if i >= 0 else 29 - i for i in policy.rank([3, 4], features=Z[30:])] == greedy([3, 4, *range(30, 40)])
    policy.save(tmp_path / "policy.npz")
    loaded = rl.load(tmp_path / "policy.npz")
    assert (loaded.diversity, loaded.noise) == (2.0, 0.5)
    assert list(loaded.rank()) == greedy(policy.items)
    segments = rl.Segments(rl.C2UCB(Z[:20], 4, diversity=2.0, noise=0.5, seed=1))
    before = segments["a"].rank()
    segments.add_items(features=Z[20:])
    plain = DiverseForm(Z, 1.0, 1.0, 2.0, 0.5)
    segments.update(before, [1, 0, 0, 0])
    plain.update(list(before), [1, 0, 0, 0])
    assert list(segments["a"].rank()) == greedy(range(40))


@pytest.mark.parametrize("negative", ["nothing", "literal"])
def test_explanations_cover_negative_features_as_the_policy_does(negative) -> None:
    policy = rl.CascadeLSBFull(Z, X, 4, negative=negative, seed=1)
    play(policy, 30)
    both = np.hstack([X, Z])
    for k, item in enumerate(policy.explain([3, 8, 1, 20]).items):
        gain = topic_gain(both, item.item, [3, 8, 1, 20][:k], negative == "literal")
        assert item.attraction == pytest.approx(gain @ policy.theta, abs=1e-12)
    assert policy.fresh(2).negative == negative


def test_segments_learn_apart_over_one_catalogue(tmp_path) -> None:
    segments = rl.Segments(rl.CascadeHybrid(Z[:30], X[:30], 3, seed=1))
    alone = rl.CascadeHybrid(Z[:30], X[:30], 3, seed=1)
    for t in range(20):
        ranking = segments["alice"].rank()
        clicks = [0, int(t % 2), 0]
        segments.update(rl.Ranking.from_json(ranking.to_json()), clicks)
        alone.update(rl.Ranking(ranking.items, policy=alone.identity), clicks)
    np.testing.assert_array_equal(segments["alice"].theta, alone.theta)
    assert not segments["bob"].theta.any()
    assert segments.add_items(relevance=Z[30:], topics=X[30:]) == list(range(30, 40))
    segments.remove_items([0, 1])
    for name in ("alice", "bob", "carol"):
        assert segments[name].items == list(range(2, 40))
        segments[name].rank(range(30, 40))
    segments.update_many([(segments[name].rank(), [0, 0, 1]) for name in ("bob", "alice", "bob")])
    waiting = segments["bob"].rank()
    segments.save(tmp_path / "segments.npz")
    loaded = rl.load(tmp_path / "segments.npz")
    assert list(loaded) == ["alice", "bob", "carol"]
    for each in (segments, loaded):
        each.update(waiting, [1, 0, 0])
    for name in segments:
        assert_same_state(loaded[name].snapshot(), segments[name].snapshot())
        assert list(loaded[name].rank()) == list(segments[name].rank())


def test_segments_refuse_what_is_not_theirs() -> None:
    policy = rl.CascadeLinUCB(Z, 3, seed=1)
    segments = rl.Segments(policy)
    before = segments["alice"].snapshot()
    ranking = segments["alice"].rank()
    with pytest.raises(ValueError, match="not a list of these segments"):
        segments.update(policy.rank(), [0, 0, 0])
    with pytest.raises(ValueError, match="not a list of this policy"):
        segments["bob"].update(ranking, [0, 0, 0])
    with pytest.raises(ValueError, match="positions"):
        segments.update_many([(ranking, [1, 0, 0]), (ranking, [1])])
    with pytest.raises(ValueError, match="named by a text"):
        segments[3]
    with pytest.raises(ValueError, match="clicks must be"):
        segments.update(rl.Ranking([0, 1, 2], policy=f"{ranking.policy.partition('/')[0]}/ghost"), [7, 0, 0])
    assert segments.get("nobody") is None
    assert list(segments) == ["alice", "bob"]
    for change in (lambda: segments["bob"].add_items(Z[:1]), lambda: segments["bob"].remove_items([1])):
        with pytest.raises(ValueError, match="share one catalogue"):
            change()
    with pytest.raises(ValueError, match="save the Segments"):
        segments["bob"].save("nowhere")
    with pytest.raises(ValueError, match="ranks by features"):
        rl.Segments(rl.CascadeUCB1(3, 2))
    assert_same_state(segments["alice"].snapshot(), {**before, "rng": segments["alice"].snapshot()["rng"]})


def test_an_explanation_adds_up() -> None:
    policy = rl.CascadeHybrid(Z, X, 5, gamma=0.7, seed=1)
    play(policy, 60)
    explanation = policy.explain(titles=[f"film {a}" for a in range(40)], topic_names=list("abcdef"))
    assert [item.item for item in explanation.items] == policy.best
    above: list[int] = []
    for k, item in enumerate(explanation.items):
        omega = topic_gain(X, item.item, above)
        phi = np.concatenate([omega, Z[item.item]])
        assert item.relevance == pytest.approx(Z[item.item] @ policy.beta)
        assert item.novelty == pytest.approx(omega @ policy.theta)
        assert item.attraction == pytest.approx(item.relevance + item.novelty)
        assert item.uncertainty == pytest.approx(0.7 * np.sqrt(phi @ policy.covariance @ phi))
        assert len(item.topics) == (X[item.item] > 0).sum()
        above.append(item.item)
        np.testing.assert_allclose(explanation.covered[k], 1 - np.prod(1 - X[above], axis=0))
    assert f"film {policy.best[0]}" in str(explanation)
    assert len(explanation.plot("hybrid").axes) == 2
    with pytest.raises(ValueError, match="told no topics"):
        rl.CascadeLinUCB(Z, 5).explain().plot()
    with pytest.raises(ValueError, match="no list to plot"):
        policy.explain([]).plot()
    linear = rl.CascadeLinUCB(Z, 5, seed=1).explain([3, 1], topics=X, topic_names=list("abcdef"))
    assert linear.items[0].novelty == 0
    for wrong in ({"titles": ["x"]}, {"topic_names": ["x"]}, {"topics": X[:3]}):
        with pytest.raises(ValueError, match=r"there are|rows"):
            policy.explain(**wrong)


@pytest.mark.parametrize("cls", [rl.CascadeHybrid, rl.CascadeLinUCBFull, rl.CascadeLSBFull])
def test_lists_with_items_from_elsewhere_are_explained_like_any_other(cls) -> None:
    policy, twin = cls(Z[:30], X[:30], 3, seed=1), cls(Z, X, 3, seed=1)
    ranking = policy.rank([4, 9], relevance=Z[30:], topics=X[30:])
    same = [item if item >= 0 else 29 - item for item in ranking]
    titles = [f"film {a}" for a in range(40)]
    explained, expected = policy.explain(ranking, titles=titles[:30]), twin.explain(same, titles=titles)
    np.testing.assert_allclose(explained.covered, expected.covered)
    for item, other in zip(explained.items, expected.items, strict=True):
        assert item[2:] == other[2:]
        assert item.title == (other.title if item.item >= 0 else f"new item {-item.item}")
    blind = policy.explain(ranking, topics=X[:30])
    assert [bool(item.topics) for item in blind.items] == [item >= 0 for item in ranking]
