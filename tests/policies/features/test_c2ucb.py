"""C2UCB against plain NumPy: the reward of a list, what diversity is worth, and what is learned from clicks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from made_up_items import Z, catalogue, play
from references.features import DiverseForm, entropy

import rankloop as rl

UNEQUAL = np.linspace(0.4, 3.0, 40)[:, None] * Z
"""Features of different lengths, so that no two items look alike at first."""


@pytest.mark.parametrize(
    ("gamma", "ridge", "diversity", "noise"), [(1.0, 1.0, 0.5, 1.0), (0.2, 3.0, 4.0, 0.1), (0.0, 1.0, 0.1, 3.0)]
)
def test_diverse_lists_are_those_of_plain_greedy(gamma, ridge, diversity, noise) -> None:
    """Lists of 8 items with 4 features, so that the last ones are hardly new."""
    policy = rl.C2UCB(UNEQUAL, 8, gamma=gamma, ridge=ridge, diversity=diversity, noise=noise, seed=2)
    plain = DiverseForm(UNEQUAL, gamma, ridge, diversity, noise)
    lists = set()

    def check(ranking, clicks) -> None:
        assert list(ranking) == plain.list(8)
        lists.add(tuple(ranking))
        plain.update(ranking, clicks)

    play(policy, 40, each=check)
    assert len(lists) > 5
    np.testing.assert_allclose(policy.beta, np.linalg.solve(plain.precision, plain.evidence), atol=1e-10)
    np.testing.assert_allclose(policy.covariance, np.linalg.inv(plain.precision), atol=1e-10)
    plain.gamma = 0.0
    assert policy.best == plain.list(8)


def test_bounds_never_hide_an_item_of_a_diverse_list() -> None:
    """Scores of 600 items after many updates, by V as a whole matrix."""
    z, _ = catalogue(600, 6, 9, seed=8)
    policy = rl.C2UCB(z, 10, diversity=0.7, noise=0.5, seed=1)
    for stop in (3, 40, 400, 1500):
        play(policy, stop, seed=stop)
        inverse = policy.covariance
        scores = z @ policy.beta + np.sqrt(((z @ inverse) * z).sum(axis=1))
        free, chosen = np.ones(600, bool), []
        for item in policy.rank():
            v = np.linalg.inv(np.eye(6) + z[chosen].T @ z[chosen] / 0.25)
            worth = scores + 0.7 * 0.5 * np.log1p(((z @ v) * z).sum(axis=1) / 0.25)
            assert worth[item] >= worth[free].max() - 1e-9
            free[item] = False
            chosen.append(item)


def test_no_weight_of_diversity_is_the_modular_reward() -> None:
    """The weight 0 is another code path than one that is next to nothing."""
    policies = [rl.C2UCB(UNEQUAL, 5, seed=4), *(rl.C2UCB(UNEQUAL, 5, diversity=w, seed=4) for w in (0, 1e-13))]
    for t in range(60):
        modular, *others = [list(policy.rank()) for policy in policies]
        assert others == [modular] * 2
        for policy in policies:
            policy.update(rl.Ranking(modular, policy=policy.identity), [int((t + item) % 3 == 0) for item in modular])


def test_more_weight_gives_more_diverse_lists() -> None:
    """With two positions and features of length 1, the first item does not depend on the weight.

    The second maximises score plus weight times entropy, and so the entropy grows with the weight, and the score falls.
    """
    for seed in range(5):
        z, _ = catalogue(60, 5, 2, seed=seed)
        taught = rl.C2UCB(z, 2, seed=seed)
        play(taught, 30, seed=seed)
        lists = []
        for weight in (0, 0.05, 0.2, 0.5, 1, 3, 10, 1000):
            policy = rl.C2UCB(z, 2, diversity=weight, seed=seed)
            for own, learned in zip(policy.state.model, taught.state.model, strict=True):
                own[...] = learned
            lists.append(policy.best)
        assert len({first for first, _ in lists}) == 1
        entropies, scores = [entropy(z, each, 1.0) for each in lists], [z[second] @ taught.beta for _, second in lists]
        assert (np.diff(entropies) >= -1e-12).all()
        assert (np.diff(scores) <= 1e-12).all()
        assert entropies[-1] > entropies[0] + 0.01


def test_a_diverse_list_has_its_share_of_the_largest_reward() -> None:
    """Every list of 3 of 12 items, where all scores are above 0; and more often than not the greedy one is the best."""
    best = 0
    for seed in range(10):
        z = np.abs(catalogue(12, 4, 2, seed=seed)[0])
        policy = rl.C2UCB(z, 3, diversity=2.0, seed=seed)
        play(policy, 5, seed=seed)
        scores = z @ policy.beta + np.sqrt(((z @ policy.covariance) * z).sum(axis=1))
        assert (scores > 0).all()

        def reward(items, z=z, scores=scores) -> float:
            return float(scores[list(items)].sum() + 2.0 * entropy(z, items, 1.0))

        largest = max(reward(items) for items in itertools.combinations(range(12), 3))
        assert reward(policy.rank()) >= (1 - 1 / np.e) * largest
        best += reward(policy.rank()) > largest - 1e-9
    assert best >= 5


def test_diverse_lists_learn_from_every_item_shown() -> None:
    policy = rl.C2UCB(Z, 5, diversity=1.0, seed=1)
    ranking = policy.rank()
    policy.update(ranking, [1, 0, 1, 0, 1])
    shown = Z[list(ranking)]
    np.testing.assert_allclose(policy.state.model.precision, np.eye(4) + shown.T @ shown)
    np.testing.assert_allclose(policy.state.model.evidence, shown[[0, 2, 4]].sum(axis=0))


def test_a_catalogue_of_diverse_lists_changes(tmp_path) -> None:
    """Added, removed and strange items, some candidates, saving and segments, each with the lists of a plain twin."""
    policy = rl.C2UCB(Z[:20], 4, diversity=2.0, noise=0.5, seed=1)
    policy.add_items(Z[20:30])
    policy.remove_items([0, 15])
    play(policy, 20)
    plain = DiverseForm(Z, 1.0, 1.0, 2.0, 0.5)
    plain.inverse, plain.evidence = policy.covariance, policy.state.model.evidence

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"diversity": -0.1}, r"diversity must be a number from 0 to 1e\+09, not -0.1"),
        ({"diversity": np.nan}, r"diversity must be a number from 0 to 1e\+09, not nan"),
        ({"diversity": "much"}, r"diversity must be a number from 0 to 1e\+09, not 'much'"),
        ({"diversity": True}, r"diversity must be a number from 0 to 1e\+09, not True"),
        ({"diversity": 1, "noise": 0}, r"noise must be a number from 0.001 to 1e\+09, not 0"),
        ({"diversity": 1, "noise": np.inf}, r"noise must be a number from 0.001 to 1e\+09, not inf"),
    ],
)
def test_refuses_bad_parameters(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        rl.C2UCB(Z, 5, **arguments)
