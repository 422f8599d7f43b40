"""A compiled loop for the tests of click policies, which records the regret at checkpoints."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankloop.kernels import choose, entry, learn, regret, respond, stream


@entry
def _play(policy: Any, environment: Any, rng: Any, n: int, items: Any, notes: Any, clicks: Any) -> Any:
    total = 0.0
    for _ in range(n):
        choose(policy, items, notes)
        total += regret(environment, items)
        respond(environment, rng, items, clicks)
        learn(policy, items, notes, clicks)
    return total


class Game:
    """A policy and users, from their first step on."""

    def __init__(self, policy: Any, environment: Any, seed: int) -> None:
        self.policy = policy
        self.users = environment.state_at(None)
        self.rng = stream(seed, 1)
        self.items = np.zeros(policy.n_positions, np.int64)
        self.notes = np.zeros(policy.n_notes)
        self.clicks = np.zeros(policy.n_positions, np.uint8)

    def play(self, n: int) -> float:
        """The regret of the next n steps."""
        return float(_play(self.policy.state, self.users, self.rng, n, self.items, self.notes, self.clicks))
