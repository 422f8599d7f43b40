"""The compiled loops: one for duels and one for lists, whatever the policy and the environment."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankloop.kernels import choose, entry, gains, inlined, learn, regret, respond, settled

REGRET, VIOLATIONS, CLICKS = range(3)


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


@entry
def run_lists(
    policy: Any,
    environment: Any,
    rng: Any,
    n_steps: int,
    limit: float,
    items: Any,
    notes: Any,
    clicks: Any,
    totals: Any,
) -> None:
    """Show `n_steps` lists and add up their regret, violations and clicks in `totals`.

    A violation is a list with more than `limit` pairs in the wrong order; none are counted where the limit is
    infinite. `items` is left as the last list shown.
    """
    count_violations = limit < np.inf
    for _ in range(n_steps):
        if not settled(policy):
            choose(policy, items, notes)
        totals[REGRET] += regret(environment, items)
        if count_violations:
            totals[VIOLATIONS] += inversions(gains(environment), items) > limit
        respond(environment, rng, items, clicks)
        for k in range(len(items)):
            totals[CLICKS] += clicks[k]
        learn(policy, items, notes, clicks)


@inlined
def inversions(attraction: Any, items: Any) -> int:
    """How many pairs of a list stand in the wrong order."""
    found = 0
    for k in range(len(items)):
        upper = attraction[items[k]]
        for j in range(k + 1, len(items)):
            found += int(attraction[items[j]] > upper)
    return found


@entry
def answer_list(environment: Any, rng: Any, items: Any, clicks: Any) -> float:
    """One user's clicks on a list; returns the list's regret."""
    loss = regret(environment, items)
    respond(environment, rng, items, clicks)
    return loss


@entry
def count_inversions(environment: Any, items: Any) -> int:
    """How many pairs of a list stand in the wrong order, for a caller in Python."""
    return inversions(gains(environment), items)
