"""How the comparisons of a claim make its verdict, and what a claim that is undecided waits for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rankloop.experiments.comparisons import Comparison
from rankloop.experiments.declare import Compared, Finding, Outcome, Rule
from rankloop.experiments.statistics import Evidence, decisive, in_words, together, verdicts

MOST_WAITS = 3
"""Reasons that are named for a claim."""


def judged_by(*comparisons: Comparison, not_before: int = 0, rule: Rule = "all") -> Callable[[Outcome], Finding]:
    """The test of a claim that makes these comparisons.

    Of the long run a short experiment says nothing, so what is compared before the step `not_before` is undecided.
    """

    def test(outcome: Outcome) -> Finding:
        if not outcome.panels:
            return Finding("undecided", math.nan, math.nan, "there are no results at all", rule=rule)
        found = [evidence for comparison in comparisons for evidence in comparison(outcome, not_before)]
        return decide(outcome, found, rule)

    return test


def decide(outcome: Outcome, found: Sequence[Evidence], rule: Rule = "all") -> Finding:
    """What comparisons say together, by the rule of `rankloop.experiments.statistics`."""
    sources = {panel.name: panel.source.real for panel in outcome.panels}
    real = [all(sources.get(name, False) for name in evidence.panels) for evidence in found]
    judged: dict[int, Compared] = {}
    for kind in (True, False):
        chosen = [k for k, each in enumerate(real) if each is kind]
        for k, said in zip(chosen, verdicts([found[k] for k in chosen], rule), strict=True):
            one = found[k]
            waits = (one.waits or "more runs") if said == "undecided" else ""
            decides = kind or not any(real)
            judged[k] = Compared(
                one.text, said, one.effect, one.error, one.claimed, one.panels, kind, decides, waits=waits
            )
    all_of_them = [judged[k] for k in range(len(found))]
    decide_it = sorted(
        (k for k in judged if judged[k].decides),
        key=lambda k: (found[k].chance_below, -found[k].chance_above, math.isnan(found[k].effect)),
    )
    ordered = [judged[k] for k in decide_it]
    said = together([one.verdict for one in ordered], rule)
    which = decisive(ordered, said)
    waits = _waits(ordered, real=any(real)) if said == "undecided" else ""
    return Finding(said, which.effect, which.error, _in_short(all_of_them, which), tuple(all_of_them), waits, rule)


def _in_short(found: Sequence[Compared], which: Compared) -> str:
    told = in_full(which)
    decide_it = [one for one in found if one.decides]
    beside = [one for one in found if not one.decides]
    if len(decide_it) > 1:
        told = f"{verdicts_in_words(decide_it)}; {told}"
    if beside:
        told += f"; beside it, on stand-ins, {verdicts_in_words(beside)}"
    elif not any(one.real for one in found):
        told += "; on stand-ins"
    return told


def verdicts_in_words(found: Sequence[Compared]) -> str:
    """How many comparisons hold, and what the others do.

    >>> verdicts_in_words([Compared("", "holds", 1.0, 0.1, ""), Compared("", "undecided", 1.0, 0.1, "")])
    '1 of 2 hold, 1 undecided'
    """
    said = [one.verdict for one in found]
    parts = [f"{said.count('holds')} of {len(said)} hold"]
    parts += [f"{said.count('fails')} fail{'s' * (said.count('fails') == 1)}"] * ("fails" in said)
    parts += [f"{said.count('undecided')} undecided"] * ("undecided" in said)
    return ", ".join(parts)


def in_full(one: Compared) -> str:
    """A comparison with its effect, and what was claimed, or why there is none."""
    if math.isnan(one.effect):
        return f"{one.text}: {one.waits}" if one.waits else one.text
    return f"{one.text}: {in_words(one.effect, one.error)}, claimed {one.claimed}"


def _waits(found: Sequence[Compared], *, real: bool) -> str:
    reasons = list(dict.fromkeys(one.waits for one in found if one.verdict == "undecided" and one.waits))
    more = f"and {len(reasons) - MOST_WAITS} more" if len(reasons) > MOST_WAITS else ""
    named = [*([] if real else ["the real data"]), *reasons[:MOST_WAITS], *([more] if more else [])]
    return "; ".join(named)
