"""All claims, in the order of the thesis.

Each is a sentence in our words, tested on the results of one experiment. Where the thesis speaks of large gaps, of an
order of magnitude, of similar or linear, the sentence says from which number on that counts.
"""

from __future__ import annotations

from rankloop.experiments import (
    claims_chapter2,
    claims_chapter2_parameters,
    claims_chapter3,
    claims_chapter4,
    claims_chapter5,
)
from rankloop.experiments.declare import Claim

CLAIMS: tuple[Claim, ...] = (
    *claims_chapter2.CLAIMS,
    *claims_chapter2_parameters.CLAIMS,
    *claims_chapter3.CLAIMS,
    *claims_chapter4.CLAIMS,
    *claims_chapter5.CLAIMS,
)
