"""Claims: each holds on made-up results where it is true, fails where it is not, and is undecided on too few.

Made-up results have fixed seeds.
"""

from __future__ import annotations

import dataclasses
import math
from functools import cache

import pytest
from made_up import RIGHT, WRONG, made_up

from rankloop.experiments.claims import CLAIMS
from rankloop.experiments.declare import Claim, Outcome

each = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)


@cache
def world(name: str, *, right: bool) -> Outcome:
    return made_up(name, (RIGHT if right else WRONG)[name])


@cache
def few(name: str) -> Outcome:
    return made_up(name, RIGHT[name], runs=2, problems=2)


@each
def test_holds_where_it_is_true(claim: Claim) -> None:
    finding = claim.test(world(claim.experiment, right=True))
    assert finding.verdict == "holds", finding.text
    assert math.isfinite(finding.effect)
    assert finding.error >= 0
    assert finding.waits == ""
    assert finding.comparisons


@each
def test_fails_where_it_is_false(claim: Claim) -> None:
    finding = claim.test(world(claim.experiment, right=False))
    assert finding.verdict == "fails", finding.text
    assert any(one.verdict == "fails" for one in finding.comparisons)


@each
def test_is_undecided_with_too_few_runs(claim: Claim) -> None:
    finding = claim.test(few(claim.experiment))
    assert finding.verdict == "undecided"
    assert "too few to tell" in finding.waits
    assert all(one.waits for one in finding.comparisons)


def test_says_who_is_too_few() -> None:
    for name, who in (("diversity-lambda-yahoo", "users"), ("drift-regret", "queries"), ("duels-noise", "runs")):
        [claim, *_] = [claim for claim in CLAIMS if claim.experiment == name]
        assert f"2 {who} are too few to tell" in claim.test(few(name)).text


@each
def test_is_undecided_without_results(claim: Claim) -> None:
    finding = claim.test(dataclasses.replace(world(claim.experiment, right=True), results={}))
    assert finding.verdict == "undecided"
    assert "are missing" in finding.waits


@each
def test_is_undecided_with_no_panels(claim: Claim) -> None:
    finding = claim.test(dataclasses.replace(world(claim.experiment, right=True), panels=[]))
    assert (finding.verdict, finding.text) == ("undecided", "there are no results at all")


def test_names_and_sections() -> None:
    names = [claim.name for claim in CLAIMS]
    assert len(set(names)) == len(names)
    assert {claim.experiment for claim in CLAIMS} <= set(RIGHT)
    for claim in CLAIMS:
        assert claim.text.endswith(".")
        assert not claim.changed or claim.changed.endswith(".")
        assert claim.section.startswith(("2.", "3.", "4.", "5."))


def test_published_numbers_are_claims() -> None:
    texts = " ".join(claim.text for claim in CLAIMS)
    for number in ("24.12", "23.33", "23.63", "83.01", "71.89", "59.63", "83.56", "71.47", "57 in", "111.50", "447.82"):
        assert number in texts, number
    for number in ("1, 4 and 10 of 100", "99 of 100", "1 of 100 runs", "C = 4,000,000", "almost twice", "table 2.2"):
        assert number in texts, number
