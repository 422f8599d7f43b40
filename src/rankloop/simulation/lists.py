"""One run of a click policy against users who click."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.kernels import stream
from rankloop.policies import ClickPolicy
from rankloop.simulation.loop import CLICKS, REGRET, VIOLATIONS, answer_list, count_inversions, run_lists
from rankloop.simulation.result import Run
from rankloop.simulation.slices import Slices


def check_problem(policy: Any, environment: Any, top: int | None) -> None:
    """Refuse a policy that was made for other items or for longer lists than the environment answers."""
    n_items = getattr(policy, "n_items", environment.n_items)
    if n_items != environment.n_items:
        raise ValueError(f"the policy ranks {n_items} items, but the environment has {environment.n_items}")
    n_positions = getattr(policy, "n_positions", None)
    most = getattr(environment, "n_positions", None)
    if n_positions is not None and most is not None and n_positions > most:
        raise ValueError(f"the policy shows {n_positions} positions, but the environment answers only {most}")
    if top is not None and n_positions is not None and top > n_positions:
        raise ValueError(f"top = {top} is more than the {n_positions} positions that the policy shows")


def warm_up(policy: Any, environment: Any) -> None:
    """Compile the loop before the clock and the threads start."""
    if isinstance(policy, ClickPolicy):
        _Player(policy.fresh(0), environment, None, None, 0, 0).play(0)


def play(
    policy: Any,
    environment: Any,
    run: int,
    seed: int,
    checkpoints: npt.NDArray[np.int64],
    horizon: int,
    report: Callable[[int], None],
    top: int | None = None,
    initial: Sequence[int] | None = None,
) -> Run:
    """Run the policy from scratch, with its own random numbers.

    `report` is told of the steps done, about ten times a second, and may raise to end the run.
    """
    fresh = policy.fresh(int(stream(seed, run, 0)[0])) if isinstance(policy, ClickPolicy) else copy.deepcopy(policy)
    player = _Player(fresh, environment, top, initial, seed, run)
    begin = time.perf_counter()
    names = ["regret", "ndcg", "clicks"] + ["violations"] * (player.limit < math.inf)
    records = {name: np.zeros(len(checkpoints)) for name in names}
    slices = Slices(report)
    done = 0
    for k, target in enumerate([*checkpoints.tolist(), horizon]):
        while done < target:
            done += slices.run(player.play, target - done)
        if k < len(checkpoints):
            for name in names:
                records[name][k] = player.value(name)
    return Run(records=records, best=-1, failed=False, seconds=time.perf_counter() - begin)


class _Player:
    """A policy, an environment, and what has happened between them so far."""

    def __init__(
        self, policy: Any, environment: Any, top: int | None, initial: Sequence[int] | None, seed: int, run: int
    ) -> None:
        self.policy = policy
        self.environment = environment
        self.top = top
        self.state = environment.state_at(top)
        self.rng = stream(seed, run, 1)
        n_positions = policy.n_positions if hasattr(policy, "n_positions") else len(policy.rank())
        self.items = np.zeros(n_positions, np.int64)
        self.notes = np.zeros(getattr(policy, "n_notes", 0))
        self.clicks = np.zeros(n_positions, np.uint8)
        self.totals = np.zeros(3)
        self.limit = math.inf
        if initial is not None:
            self.limit = count_inversions(self.state, np.array(initial[:n_positions], np.int64)) + n_positions / 2

    def play(self, n_steps: int) -> int:
        if isinstance(self.policy, ClickPolicy):
            run_lists(
                self.policy.state,
                self.state,
                self.rng,
                n_steps,
                self.limit,
                self.items,
                self.notes,
                self.clicks,
                self.totals,
            )
        else:
            for _ in range(n_steps):
                self._play_in_python()
        return n_steps

    def _play_in_python(self) -> None:
        ranking = self.policy.rank()
        shown = list(ranking)
        if sorted(set(shown)) != sorted(shown) or min(shown) < 0 or max(shown) >= self.environment.n_items:
            raise ValueError(f"the policy chose the list {ranking!r}, which is not of different items of this problem")
        self.items = np.array(shown, np.int64)
        if self.limit < math.inf:
            self.totals[VIOLATIONS] += count_inversions(self.state, self.items) > self.limit
        self.totals[REGRET] += answer_list(self.state, self.rng, self.items, self.clicks)
        self.totals[CLICKS] += self.clicks.sum()
        self.policy.update(ranking, self.clicks.tolist())

    def value(self, name: str) -> float:
        """What is to be recorded now."""
        if name == "ndcg":
            return self.environment.ndcg(self.items, self.top)
        return float(self.totals[{"regret": REGRET, "violations": VIOLATIONS, "clicks": CLICKS}[name]])
