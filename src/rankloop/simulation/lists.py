"""Simulations of click policies, answered by users who click."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankloop.arrays import Ints, Words
from rankloop.checks import is_index
from rankloop.kernels import stream
from rankloop.policies import ClickPolicy
from rankloop.runs import Advance, Run
from rankloop.simulation.loop import CLICKS, NDCG, REGRET, VIOLATIONS, answer_list, count_inversions, run_lists
from rankloop.simulation.simulation import Simulation, Slices

RECORDS = {"regret": REGRET, "violations": VIOLATIONS, "clicks": CLICKS, "ndcg": NDCG}


class ListSimulation(Simulation):
    """A click policy, or any object with `rank` and `update`, and users who click."""

    def check(self) -> None:
        """Refuse a policy that was made for other items, or for longer lists than the environment answers."""
        self.require("rank", "update")
        environment = self.environment
        n_items = getattr(self.policy, "n_items", environment.n_items)
        if n_items != environment.n_items:
            raise ValueError(f"the policy ranks {n_items} items, but the environment has {environment.n_items}")
        shown = getattr(self.policy, "n_positions", None)
        if shown is not None:
            if environment.n_positions is not None and shown > environment.n_positions:
                raise ValueError(
                    f"the policy shows {shown} positions, but the environment answers {environment.n_positions}"
                )
            if self.top is not None and self.top > shown:
                raise ValueError(f"top = {self.top} is more than the {shown} positions that the policy shows")
        if self.initial is not None and sorted(self.initial) != list(range(environment.n_items)):
            raise ValueError(
                f"initial must order the {environment.n_items} items from 0 on, not be {list(self.initial)!r}"
            )

    def environment_state(self) -> Any:
        """The state of the users, for as many positions as count."""
        return self.environment.state_at(self.top)

    def warm_up(self) -> None:
        """Compile the loop before the clock and the threads start."""
        if isinstance(self.policy, ClickPolicy):
            Session(self.policy.fresh(0), self.environment, self.top, self.initial, stream(0)).show_lists(0)

    def run(self, number: int, seed: int, checkpoints: Ints, horizon: int, advance: Advance) -> Run:
        """Run the policy once."""
        policy = self.fresh_policy(number, seed)
        session = Session(policy, self.environment, self.top, self.initial, stream(seed, number, 1))
        begin = time.perf_counter()
        names = [name for name in RECORDS if name != "violations" or session.limit < math.inf]
        records = {name: np.zeros(len(checkpoints)) for name in names}
        slices = Slices(advance)
        done = 0
        for k, target in enumerate([*checkpoints.tolist(), horizon]):
            while done < target:
                done += slices.run(session.show_lists, target - done)[0]
            if k < len(checkpoints):
                for name in names:
                    records[name][k] = session.totals[RECORDS[name]]
        return Run(records, seconds=time.perf_counter() - begin)


class Session:
    """A policy, its users, and what has happened between them so far."""

    def __init__(
        self, policy: Any, environment: Any, top: int | None, initial: Sequence[int] | None, rng: Words
    ) -> None:
        self.policy = policy
        self.state = environment.state_at(top)
        self.rng = rng
        self.n_items = environment.n_items
        self.top = self.n_items if top is None else top
        self.totals = np.zeros(len(RECORDS))
        self.room = np.zeros(self.n_items)
        self.limit = math.inf
        if isinstance(policy, ClickPolicy):
            self.items = np.zeros(policy.n_shown, np.int64)
            self.notes = np.zeros(policy.n_notes)
            self.clicks = np.zeros(policy.n_shown, np.uint8)
        if initial is not None:
            shown = np.array(initial[: getattr(policy, "n_positions", self.n_items)], np.int64)
            self.limit = count_inversions(self.state, shown, self.room) + len(shown) / 2

    def show_lists(self, n_steps: int) -> int:
        """Show so many lists, and let the policy learn from the clicks."""
        if not isinstance(self.policy, ClickPolicy):
            for _ in range(n_steps):
                self._show_in_python()
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
            self.room,
        )
        return n_steps

    def _show_in_python(self) -> None:
        ranking = self.policy.rank()
        shown = list(ranking)
        if not shown or len(set(shown)) < len(shown) or not all(is_index(item, self.n_items) for item in shown):
            raise ValueError(f"the policy chose {ranking!r}, which is not a list of different items of this problem")
        clicks = np.zeros(len(shown), np.uint8)
        items = np.array(shown, np.int64)
        answer_list(self.state, self.rng, self.top, self.limit, items, clicks, self.totals, self.room)
        self.policy.update(ranking, clicks.tolist())
