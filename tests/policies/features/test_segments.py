"""Segments: policies that learn apart over one catalogue."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_items import X, Z

import rankloop as rl
from rankloop.testing import assert_same_state


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
