"""All claims, in the order of the thesis, and how to judge them.

Each is a sentence in our words, tested on the results of one experiment. Where the thesis speaks of large gaps, of an
order of magnitude, of similar or linear, the sentence says from which number on that counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from rankloop.experiments import claims_chapter2, claims_chapter3, claims_chapter4, claims_chapter5
from rankloop.experiments.declare import Claim, Finding, Outcome

CLAIMS: tuple[Claim, ...] = (
    *claims_chapter2.CLAIMS,
    *claims_chapter3.CLAIMS,
    *claims_chapter4.CLAIMS,
    *claims_chapter5.CLAIMS,
)


def judge(outcomes: Iterable[Outcome]) -> list[tuple[Claim, Finding]]:
    """What the outcomes say of the claims that rest on them, in the order of the thesis."""
    by_name = {outcome.experiment.name: outcome for outcome in outcomes}
    return [(claim, claim.test(by_name[claim.experiment])) for claim in CLAIMS if claim.experiment in by_name]
