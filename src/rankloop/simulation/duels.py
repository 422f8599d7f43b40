"""Simulations of dueling policies, answered by a preference matrix."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from rankloop.checks import is_index
from rankloop.environments import PreferenceMatrix
from rankloop.kernels import stream
from rankloop.kernels.arrays import Ints, Items, Notes
from rankloop.policies import DuelingPolicy
from rankloop.policies.base import shuffled
from rankloop.runs import Advance, Run
from rankloop.simulation.loop import answer_duel, run_duels
from rankloop.simulation.simulation import Simulation, Slices


class DuelSimulation(Simulation):
    """A dueling policy, or any object with `duel` and `update`, and a preference matrix."""

    def check(self) -> None:
        """Refuse a policy that was made for another number of arms."""
        self.require("duel", "update")
        if self.top is not None or self.initial is not None:
            raise ValueError("top and initial are for lists, not for duels")
        n_arms = getattr(self.policy, "n_arms", self.environment.n_arms)
        if n_arms != self.environment.n_arms:
            raise ValueError(f"the policy has {n_arms} arms, but the preference matrix {self.environment.n_arms}")

    def environment_state(self) -> Any:
        """The state of the matrix."""
        return self.environment.state

    def warm_up(self) -> None:
        """Compile the loop before the clock and the threads start."""
        if isinstance(self.policy, DuelingPolicy):
            run_duels(
                self.policy.fresh(0).state, self.environment.state, stream(0), 0, *_room_for_a_duel(), np.zeros(2)
            )
        else:
            answer_duel(self.environment.state, stream(0), np.zeros(2, np.int64))

    def run(self, number: int, seed: int, checkpoints: Ints, horizon: int, advance: Advance) -> Run:
        """Run the policy once, with random names for the arms."""
        order = shuffled(stream(seed, number, 2), self.environment.n_arms)
        matrix = self.environment.relabelled(order)
        rng = stream(seed, number, 1)
        policy = self.fresh_policy(number, seed)
        compiled = isinstance(self.policy, DuelingPolicy)
        room = _room_for_a_duel()

        def play(n_steps: int) -> int:
            if compiled:
                return run_duels(policy.state, matrix.state, rng, n_steps, *room, total)
            return _run_in_python(policy, matrix, rng, n_steps, total)

        begin = time.perf_counter()
        regret = np.zeros(len(checkpoints))
        lost = np.zeros(len(checkpoints))
        winners = matrix.winners if compiled else []
        total = np.zeros(2)
        slices = Slices(advance)
        done = 0
        settled_at = None
        for k, target in enumerate([*checkpoints.tolist(), horizon]):
            while done < target and settled_at is None:
                more, settled = slices.run(play, target - done)
                done += more
                settled_at = done if settled else None
            if k < len(checkpoints):
                regret[k] = total[0] if settled_at is None else total[0] + total[1] * (target - settled_at)
                lost[k] = sum(policy.eliminated(arm) for arm in winners)
        advance(horizon - done)
        best = getattr(policy, "best", None)
        return Run(
            records={"regret": regret, "winners_lost": lost} if winners else {"regret": regret},
            best=int(order[best]) if is_index(best, self.environment.n_arms) else -1,
            failed=bool(winners) and all(policy.eliminated(arm) for arm in winners),
            seconds=time.perf_counter() - begin,
        )


def _room_for_a_duel() -> tuple[Items, Notes]:
    return np.zeros(2, np.int64), np.zeros(2)


def _run_in_python(policy: Any, matrix: PreferenceMatrix, rng: Any, n_steps: int, total: Any) -> int:
    for _ in range(n_steps):
        duel = policy.duel()
        left, right = duel
        if not (0 <= left < matrix.n_arms and 0 <= right < matrix.n_arms):
            raise ValueError(f"the policy chose the duel {duel!r}, but arms go from 0 to {matrix.n_arms - 1}")
        total[0] += matrix.regret(left, right)
        left_won = answer_duel(matrix.state, rng, np.array([left, right]))
        policy.update(duel, left if left_won else right)
    return n_steps
