"""What the simulated part of the demo says of results."""

from __future__ import annotations

import re

import numpy as np

import rankloop as rl
from rankloop.demo.simulated_answers import compared
from rankloop.simulation.result import Run


def made_up_result(policy: str, regret: list[float]) -> rl.Result:
    """A result with one run of each regret."""
    runs = {k: Run({"regret": np.array([value])}, 0, False, 0.1) for k, value in enumerate(regret)}
    return rl.Result({"policy": policy, "winners": [0]}, np.array([100]), runs)


def test_simulations_are_compared_by_intervals_which_say_what_would_decide() -> None:
    few, many = made_up_result("A", [9.0, 10.0, 11.0]), made_up_result("B", [90.0, 100.0, 110.0])
    assert compared(few, many) == "A has 0.1 times the regret of B (99% interval: 0.0686 to 0.146)."
    near = compared(few, made_up_result("C", [9.0, 10.5, 12.0]))
    assert near.startswith("A has 0.952 times the regret of C (99% interval: 0.")
    assert re.search(r"To find out which of the two has less takes about [\d,]+ times as many runs\.$", near)
    assert "needs more runs" in compared(made_up_result("A", [1.0]), made_up_result("B", [2.0]))
    assert "no ratio" in compared(made_up_result("A", [0.0, 0.0]), many)
