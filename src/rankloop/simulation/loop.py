"""The compiled loops: one for duels, whatever the policy and the environment."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankloop.kernels import choose, entry, learn, regret, respond, settled


@entry
def run_duels(policy: Any, environment: Any, rng: Any, n_steps: int, total: Any) -> int:
    """Play up to `n_steps` duels and add their regret to `total[0]`; return how many were played.

    They are fewer only if the policy has settled: it then repeats one duel for ever, and `total[1]` is the regret of
    each repetition.
    """
    items = np.zeros(2, np.int64)
    notes = np.zeros(2)
    for t in range(n_steps):
        choose(policy, items, notes)
        if settled(policy):
            total[1] = regret(environment, items)
            return t
        total[0] += regret(environment, items)
        learn(policy, items, notes, respond(environment, rng, items, items))
    return n_steps


@entry
def answer_duel(environment: Any, rng: Any, items: Any) -> Any:
    """One user's answer to one duel: whether the left arm won."""
    return respond(environment, rng, items, items)
