"""Trends: on made-up numbers where they must hold, must fail and must stay undecided."""

from __future__ import annotations

from collections.abc import Callable

from made_up_outcomes import flat, growing, judged, outcome

from rankloop.experiments.declare import Outcome
from rankloop.experiments.trends import grows, late_share, outgrows, steps_by, straight, trend


def test_growth() -> None:
    found = outcome({"P": {"A": growing(0.9), "B": growing(0.3)}})
    assert judged(found, grows(["A"], faster_than=0.8)).verdict == "holds"
    assert judged(found, grows(["B"], faster_than=0.8)).verdict == "fails"
    assert judged(found, grows(["B"], slower_than=0.5)).verdict == "holds"
    assert judged(found, outgrows("A", ["B"])).verdict == "holds"
    assert judged(found, outgrows("B", ["A"])).verdict == "fails"
    assert judged(found, late_share("B", panels=["P"], since=1000, less_than=0.7)).verdict == "holds"
    assert judged(found, late_share("A", panels=["P"], since=1000, less_than=0.7)).verdict == "fails"


def test_trends_and_straight_lines() -> None:
    values = {f"z = {z}": float(z) for z in (1, 2, 3, 4, 5)}

    def study(regret: Callable[[float], float]) -> Outcome:
        return outcome({name: {"A": flat(regret(z))} for name, z in values.items()}, values=values)

    assert judged(study(lambda z: 100 * z), trend("A", rises=True)).verdict == "holds"
    assert judged(study(lambda z: 100 * z), trend("A", rises=False)).verdict == "fails"
    assert judged(study(lambda z: 100 + 100 * z), straight("A", bend=0.1)).verdict == "holds"
    curved = judged(study(lambda z: 100 * z**2), straight("A", bend=0.1))
    assert curved.verdict == "fails"
    assert "bend" in curved.text


def test_equal_steps_from_panel_to_panel() -> None:
    found = outcome({name: {"A": flat(regret)} for name, regret in (("P", 100), ("Q", 210), ("R", 400))})
    assert judged(found, steps_by("A", at_least=1.8, at_most=2.2)).verdict == "holds"
    assert judged(found, steps_by("A", at_least=2.0, at_most=2.2)).verdict == "fails"
