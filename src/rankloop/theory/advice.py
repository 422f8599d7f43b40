"""Advice as something to read: policies, their parameters, and the days they take."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import Any

WIDTH = 80


@dataclass(frozen=True)
class Plan:
    """One policy, the parameters to give it, and how many steps it takes; `at_most` is None where nothing is proven."""

    policy: str
    parameters: dict[str, Any]
    about: float
    about_from: str
    at_most: float | None
    at_most_from: str


@dataclass(frozen=True)
class Advice:
    """What to run, and how long it takes; prints as text.

    Examples
    --------
    >>> plan = Plan("TopRank", {"horizon": 20_000}, 12_000, "a guess", None, "nobody knows")
    >>> print(Advice("Which list?", 10_000, "lists", (plan,), ("hope",)))
    Which list?
    <BLANKLINE>
    TopRank: horizon=20000
      about     1.2 days (12,000 lists)
                a guess
      at most   not known
                nobody knows
    <BLANKLINE>
    Assumptions and limits
      - hope
    """

    question: str
    traffic: float
    unit: str
    plans: tuple[Plan, ...]
    rests_on: tuple[str, ...]

    def days(self, steps: float) -> float:
        """How long so many steps take."""
        return steps / self.traffic

    def __str__(self) -> str:
        blocks = ["\n".join(wrap(self.question, WIDTH))]
        for plan in self.plans:
            given = ", ".join(f"{name}={_plain(value)}" for name, value in plan.parameters.items())
            at_most = "not known" if plan.at_most is None else self._time(plan.at_most)
            lines = [f"{plan.policy}: {given}"]
            lines += _item("about", self._time(plan.about), plan.about_from)
            lines += _item("at most", at_most, plan.at_most_from)
            blocks.append("\n".join(lines))
        points = [wrap(point, WIDTH - 4, initial_indent="  - ", subsequent_indent="    ") for point in self.rests_on]
        blocks.append("\n".join(["Assumptions and limits", *(line for point in points for line in point)]))
        return "\n\n".join(blocks)

    def _time(self, steps: float) -> str:
        days = self.days(steps)
        shown = f"{days:,.0f} days" if days >= 10 else f"{days:.1f} days" if days >= 0.1 else "less than 0.1 days"
        return f"{shown} ({steps:,.0f} {self.unit})"


def _plain(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.6g}"


def _item(name: str, time: str, reason: str) -> list[str]:
    return [f"  {name:<9} {time}", *wrap(reason, WIDTH - 12, initial_indent=" " * 12, subsequent_indent=" " * 12)]
