"""When to record where regret is looked at from the first steps on, or from epoch to epoch."""

from __future__ import annotations

from rankloop.environments.synthetic_queries import N_EPOCHS, epoch_length

FIRST_STEPS = 100
"""When a policy that is not safe does most of its harm."""


def from_the_first(horizon: int, number: int) -> list[int]:
    """Checkpoints spread evenly on a logarithmic scale, the 100th step among them."""
    ratio = horizon ** (1 / max(1, number - 1))
    spread = {min(horizon, round(ratio**k)) for k in range(number - 1)}
    return sorted(spread | {horizon} | ({FIRST_STEPS} if horizon >= FIRST_STEPS else set()))


def evenly(horizon: int, number: int) -> list[int]:
    """Checkpoints spread evenly over time, the ends of all epochs among them."""
    spread = {max(1, horizon * k // number) for k in range(1, number + 1)}
    return sorted(spread | {min(horizon, epoch_length(horizon) * k) for k in range(1, N_EPOCHS + 1)})
