"""Click policies and users for tests that look at them between steps: the loop is the one of all simulations."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankloop.kernels import stream
from rankloop.simulation.loop import REGRET, run_lists


class Game:
    """A policy and users, from their first step on."""

    def __init__(self, policy: Any, environment: Any, seed: int) -> None:
        self.policy = policy
        self.users = environment.state_at(None)
        self.rng = stream(seed, 1)
        self.items = np.zeros(policy.n_positions, np.int64)
        self.notes = np.zeros(policy.n_notes)
        self.clicks = np.zeros(policy.n_positions, np.uint8)
        self.room = np.zeros(environment.n_items)

    def play(self, n: int) -> float:
        """The regret of the next n steps."""
        totals = np.zeros(4)
        run_lists(
            self.policy.state,
            self.users,
            self.rng,
            n,
            len(self.items),
            np.inf,
            self.items,
            self.notes,
            self.clicks,
            totals,
            self.room,
        )
        return float(totals[REGRET])
