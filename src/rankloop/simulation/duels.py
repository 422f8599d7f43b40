"""One run of a dueling policy against a preference matrix."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rankloop.checks import is_index
from rankloop.environments import PreferenceMatrix
from rankloop.kernels import stream
from rankloop.policies import DuelingPolicy
from rankloop.policies.base import shuffled
from rankloop.simulation.loop import answer_duel, run_duels
from rankloop.simulation.result import Run
from rankloop.simulation.slices import Slices


class Duelist(Protocol):
    """Anything that chooses duels and learns from them."""

    def duel(self) -> Any:
        """The two arms to compare next."""

    def update(self, duel: Any, winner: int) -> None:
        """Learn who won."""


def check_problem(policy: Duelist, environment: PreferenceMatrix) -> None:
    """Refuse a policy that was made for another number of arms."""
    n_arms = getattr(policy, "n_arms", environment.n_arms)
    if n_arms != environment.n_arms:
        raise ValueError(f"the policy has {n_arms} arms, but the preference matrix {environment.n_arms}")


def warm_up(policy: Duelist, environment: PreferenceMatrix) -> None:
    """Compile the loop before the clock and the threads start."""
    if isinstance(policy, DuelingPolicy):
        run_duels(policy.fresh(0).state, environment.state, stream(0), 0, np.zeros(2))
    else:
        answer_duel(environment.state, stream(0), np.zeros(2, np.int64))


def play(
    policy: Duelist,
    environment: PreferenceMatrix,
    run: int,
    seed: int,
    checkpoints: npt.NDArray[np.int64],
    horizon: int,
    report: Callable[[int], None],
) -> Run:
    """Run the policy from scratch, with its own random numbers and its own random names for the arms.

    `report` is told of the steps done, about ten times a second, and may raise to end the run.
    """
    order = shuffled(stream(seed, run, 2), environment.n_arms)
    problem = environment.relabelled(order)
    rng = stream(seed, run, 1)
    fresh = getattr(policy, "fresh", None)
    player: Any = fresh(int(stream(seed, run, 0)[0])) if callable(fresh) else copy.deepcopy(policy)
    play_steps = _compiled_steps if isinstance(policy, DuelingPolicy) else _python_steps

    begin = time.perf_counter()
    regret = np.zeros(len(checkpoints))
    lost = np.zeros(len(checkpoints))
    winners = problem.winners if isinstance(player, DuelingPolicy) else []
    total = np.zeros(2)
    slices = Slices(report)
    done = 0
    settled_at = None
    for k, target in enumerate([*checkpoints.tolist(), horizon]):
        while done < target and settled_at is None:
            played, settled = slices.run(lambda n: play_steps(player, problem, rng, n, total), target - done)
            done += played
            settled_at = done if settled else None
        if k < len(checkpoints):
            regret[k] = total[0] if settled_at is None else total[0] + total[1] * (target - settled_at)
            lost[k] = sum(player.eliminated(arm) for arm in winners)
    report(horizon - done)
    best = getattr(player, "best", None)
    return Run(
        records={"regret": regret, "winners_lost": lost} if winners else {"regret": regret},
        best=int(order[best]) if is_index(best, environment.n_arms) else -1,
        failed=bool(winners) and all(player.eliminated(arm) for arm in winners),
        seconds=time.perf_counter() - begin,
    )


def _compiled_steps(player: Any, problem: PreferenceMatrix, rng: Any, n_steps: int, total: Any) -> int:
    return run_duels(player.state, problem.state, rng, n_steps, total)


def _python_steps(player: Any, problem: PreferenceMatrix, rng: Any, n_steps: int, total: Any) -> int:
    for _ in range(n_steps):
        duel = player.duel()
        left, right = duel
        if not (0 <= left < problem.n_arms and 0 <= right < problem.n_arms):
            raise ValueError(f"the policy chose the duel {duel!r}, but arms go from 0 to {problem.n_arms - 1}")
        total[0] += problem.regret(left, right)
        left_won = answer_duel(problem.state, rng, np.array([left, right]))
        player.update(duel, left if left_won else right)
    return n_steps
