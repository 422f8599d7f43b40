"""CascadeLSBFull is CascadeLSB with relevance features as further topics, negative ones by two conventions."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_items import X, Z, play
from references.features import topic_gain

import rankloop as rl


def test_it_is_the_topic_policy_told_relevance_as_topics() -> None:
    full, topics = rl.CascadeLSBFull(Z, X, 5, seed=3), rl.CascadeLSB(np.hstack([X, Z]), 5, seed=3)

    def check(ranking, clicks) -> None:
        assert list(topics.rank()) == list(ranking)
        topics.update(rl.Ranking(ranking.items, policy=topics.identity), clicks)

    play(full, 60, each=check)
    np.testing.assert_array_equal(full.theta, topics.theta)
    assert full.beta.size == 0


@pytest.mark.parametrize("negative", ["nothing", "literal"])
def test_explanations_cover_negative_features_as_the_policy_does(negative) -> None:
    policy = rl.CascadeLSBFull(Z, X, 4, negative=negative, seed=1)
    play(policy, 30)
    both = np.hstack([X, Z])
    for k, item in enumerate(policy.explain([3, 8, 1, 20]).items):
        gain = topic_gain(both, item.item, [3, 8, 1, 20][:k], negative == "literal")
        assert item.attraction == pytest.approx(gain @ policy.theta, abs=1e-12)
    assert policy.fresh(2).negative == negative


@pytest.mark.parametrize(
    ("relevance", "topics", "arguments", "message"),
    [
        (Z, X - 0.2, {}, "topics must lie"),
        (2 * Z, X, {}, "relevance features are topics here"),
        (Z, X, {"negative": "zero"}, "negative must be 'nothing' or 'literal', not 'zero'"),
        (Z, X, {"negative": None}, "negative must be 'nothing' or 'literal', not None"),
    ],
)
def test_refuses_bad_features_and_conventions(relevance, topics, arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        rl.CascadeLSBFull(relevance, topics, 5, **arguments)
