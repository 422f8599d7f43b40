"""CascadeLinTS draws from the posterior."""

from __future__ import annotations

import numpy as np

import rankloop as rl


def test_sampled_weights_have_the_posterior_of_the_ridge() -> None:
    """The first item's choice among orthogonal items is a draw from independent normals.

    Chi-square over 4 items, 4,000 lists, at the 0.1 % level.
    """
    policy = rl.CascadeLinTS(np.eye(4), 1, gamma=0.7, seed=5)
    for _ in range(30):
        policy.update(policy.rank(), [1])
    mean, error = policy.beta, policy.beta_error
    draw = np.random.default_rng(0)
    expected = np.bincount((mean + 0.7 * error * draw.normal(size=(400_000, 4))).argmax(axis=1), minlength=4) / 400_000
    seen = np.bincount([policy.rank()[0] for _ in range(4000)], minlength=4)
    assert ((seen - 4000 * expected) ** 2 / (4000 * expected)).sum() < 16.27
