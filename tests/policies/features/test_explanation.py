"""Explanations add up to what the policy knows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_items import X, Z, play
from references.features import topic_gain

import rankloop as rl


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
    with pytest.raises(ValueError, match="has no topics"):
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


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_what_explanations_say_of_novelty_is_monotone_and_submodular(data) -> None:
    topics = np.array(data.draw(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=5, max_size=5)))
    few = data.draw(st.lists(st.integers(0, 3), max_size=2, unique=True))
    more = few + [a for a in data.draw(st.lists(st.integers(0, 3), max_size=2, unique=True)) if a not in few]
    policy = rl.CascadeHybrid(np.zeros((5, 1)), topics, 1)
    policy.state.model.weights[:3] = data.draw(st.lists(st.floats(0, 1), min_size=3, max_size=3))
    gains = [policy.explain([*above, 4]).items[-1].novelty for above in (few, more)]
    assert gains[0] >= gains[1] - 1e-12
    assert gains[1] >= -1e-12
    covered = 1 - np.prod(1 - topics[[*more, 4]], axis=0) - (1 - np.prod(1 - topics[more], axis=0))
    assert gains[1] == pytest.approx(covered @ policy.theta, abs=1e-12)
