"""One run of a click policy against users who click."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.checks import is_index
from rankloop.kernels import stream
from rankloop.policies import ClickPolicy
from rankloop.simulation.loop import CLICKS, NDCG, REGRET, VIOLATIONS, answer_list, count_inversions, run_lists
from rankloop.simulation.progress import Advance
from rankloop.simulation.result import Run
from rankloop.simulation.slices import Slices

RECORDS = {"regret": REGRET, "violations": VIOLATIONS, "clicks": CLICKS, "ndcg": NDCG}


def check_problem(policy: Any, environment: Any, top: int | None, initial: Sequence[int] | None) -> None:
    """Refuse a policy that was made for other items or for longer lists than the environment answers."""
    n_items = getattr(policy, "n_items", environment.n_items)
    if n_items != environment.n_items:
        raise ValueError(f"the policy ranks {n_items} items, but the environment has {environment.n_items}")
    n_positions = getattr(policy, "n_positions", None)
    if n_positions is not None:
        if environment.n_positions is not None and n_positions > environment.n_positions:
            raise ValueError(
                f"the policy shows {n_positions} positions, but the environment answers {environment.n_positions}"
            )
        if top is not None and top > n_positions:
            raise ValueError(f"top = {top} is more than the {n_positions} positions that the policy shows")
    if initial is not None and sorted(initial) != list(range(environment.n_items)):
        raise ValueError(f"initial must order the {environment.n_items} items from 0 on, not be {list(initial)!r}")


def warm_up(policy: Any, environment: Any, top: int | None, initial: Sequence[int] | None) -> None:
    """Compile the loop before the clock and the threads start."""
    if isinstance(policy, ClickPolicy):
        Player(policy.fresh(0), environment, top, initial, stream(0)).play(0)


def play(
    policy: Any,
    environment: Any,
    run: int,
    seed: int,
    checkpoints: npt.NDArray[np.int64],
    horizon: int,
    report: Advance,
    top: int | None = None,
    initial: Sequence[int] | None = None,
) -> Run:
    """Run the policy from scratch, with its own random numbers.

    `report` is told of the steps done, about ten times a second, and may raise to end the run.
    """
    fresh = getattr(policy, "fresh", None)
    own: Any = fresh(int(stream(seed, run, 0)[0])) if callable(fresh) else copy.deepcopy(policy)
    player = Player(own, environment, top, initial, stream(seed, run, 1))
    begin = time.perf_counter()
    names = [name for name in RECORDS if name != "violations" or player.limit < math.inf]
    records = {name: np.zeros(len(checkpoints)) for name in names}
    slices = Slices(report)
    done = 0
    for k, target in enumerate([*checkpoints.tolist(), horizon]):
        while done < target:
            done += slices.run(player.play, target - done)[0]
        if k < len(checkpoints):
            for name in names:
                records[name][k] = player.totals[RECORDS[name]]
    return Run(records=records, best=-1, failed=False, seconds=time.perf_counter() - begin)


class Player:
    """A policy, its users, and what has happened between them so far."""

    def __init__(
        self, policy: Any, environment: Any, top: int | None, initial: Sequence[int] | None, rng: npt.NDArray[np.uint64]
    ) -> None:
        self.policy = policy
        self.state = environment.state_at(top)
        self.rng = rng
        self.n_items = environment.n_items
        self.top = self.n_items if top is None else top
        self.totals = np.zeros(len(RECORDS))
        self.limit = math.inf
        if isinstance(policy, ClickPolicy):
            self.items = np.zeros(policy.n_shown, np.int64)
            self.notes = np.zeros(policy.n_notes)
            self.clicks = np.zeros(policy.n_shown, np.uint8)
        if initial is not None:
            shown = np.array(initial[: getattr(policy, "n_positions", self.n_items)], np.int64)
            self.limit = count_inversions(self.state, shown) + len(shown) / 2

    def play(self, n_steps: int) -> int:
        """Show lists and see what is clicked."""
        if not isinstance(self.policy, ClickPolicy):
            for _ in range(n_steps):
                self._play_in_python()
            return n_steps
        run_lists(
            self.policy.state,
            self.state,
            self.rng,
            n_steps,
            self.top,
            self.limit,
            self.items,
            self.notes,
            self.clicks,
            self.totals,
        )
        return n_steps

    def _play_in_python(self) -> None:
        ranking = self.policy.rank()
        shown = list(ranking)
        if not shown or len(set(shown)) < len(shown) or not all(is_index(item, self.n_items) for item in shown):
            raise ValueError(f"the policy chose {ranking!r}, which is not a list of different items of this problem")
        clicks = np.zeros(len(shown), np.uint8)
        answer_list(self.state, self.rng, self.top, self.limit, np.array(shown, np.int64), clicks, self.totals)
        self.policy.update(ranking, clicks.tolist())
