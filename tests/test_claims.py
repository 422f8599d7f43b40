"""Claims: each holds on made-up results where it is true, fails where it is not, and is undecided on too few.

Made-up results have fixed seeds. The statistics' error rates are counted over 2,000 simulations of fixed seeds and may
be above their level by three standard errors of that count.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest
from made_up import RIGHT, WRONG, World, made_up
from scipy import stats

from rankloop.experiments.claims import CLAIMS, judge
from rankloop.experiments.comparisons import judged_by, less, straight
from rankloop.experiments.declare import Claim, Failure, Outcome, Source
from rankloop.experiments.statistics import (
    LEVEL,
    Evidence,
    above,
    below,
    binomial_tail,
    jackknife,
    rarer,
    student_tail,
    verdict,
)
from rankloop.simulation.result import Run

each = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)


@each
def test_holds_where_it_is_true(claim: Claim) -> None:
    finding = claim.test(made_up(claim.experiment, RIGHT[claim.experiment]))
    assert finding.verdict == "holds", finding.text
    assert math.isfinite(finding.effect)
    assert finding.error >= 0


@each
def test_fails_where_it_is_false(claim: Claim) -> None:
    finding = claim.test(made_up(claim.experiment, WRONG[claim.experiment]))
    assert finding.verdict == "fails", finding.text


@each
def test_is_undecided_with_too_few_runs(claim: Claim) -> None:
    finding = claim.test(made_up(claim.experiment, RIGHT[claim.experiment], runs=2, problems=2))
    assert finding.verdict == "undecided"
    assert "too few to tell" in finding.text


def test_says_who_is_too_few() -> None:
    for name, who in (("diversity-lambda-yahoo", "users"), ("drift-regret", "queries"), ("duels-noise", "runs")):
        [claim, *_] = [claim for claim in CLAIMS if claim.experiment == name]
        finding = claim.test(made_up(name, RIGHT[name], runs=2, problems=2))
        assert finding.text == f"2 {who} are too few to tell"


@each
def test_is_undecided_without_results(claim: Claim) -> None:
    outcome = made_up(claim.experiment, RIGHT[claim.experiment])
    outcome.results = {}
    finding = claim.test(outcome)
    assert finding.verdict == "undecided"
    assert "are missing" in finding.text


@each
def test_is_undecided_with_no_panels(claim: Claim) -> None:
    outcome = made_up(claim.experiment, RIGHT[claim.experiment])
    assert claim.test(dataclasses.replace(outcome, panels=[])).verdict == "undecided"


def test_is_undecided_where_chance_hides_it() -> None:
    outcome = made_up("duels-cycle", RIGHT["duels-cycle"], runs=5, noise=0.3)
    finding = judged_by(less("MergeDTS", ["DTS"], panels=["Cycle"], times=1.8))(outcome)
    assert finding.verdict == "undecided", finding.text
    assert finding.error > 0.1


@pytest.mark.parametrize(("worlds", "late"), [(RIGHT, "holds"), (WRONG, "fails")])
def test_a_short_experiment_says_nothing_of_the_long_run(worlds: dict[str, World], late: str) -> None:
    outcome = made_up("duels-noise", worlds["duels-noise"])
    comparison = less("MergeDTS", ["DTS"], panels=["MSLR-Perfect", "MSLR-Informational"])
    assert judged_by(comparison, not_before=10**8)(outcome).verdict == late
    early = judged_by(comparison, not_before=10**8 + 1)(outcome)
    assert early.verdict == "undecided"
    assert early.text.endswith("; too early to judge before step 100,000,001")


def test_judge_takes_the_claims_of_the_outcomes_there_are() -> None:
    outcomes = [made_up(name, RIGHT[name]) for name in ("drift-regret", "duels-noise")]
    judged = judge(outcomes)
    assert {claim.experiment for claim, _ in judged} == {"drift-regret", "duels-noise"}
    assert [claim for claim, _ in judged] == [claim for claim in CLAIMS if claim in dict(judged)]


def _without_a_run(outcome: Outcome) -> str:
    del outcome.results["MSLR-Navigational", "DTS"].finished[7]
    return "1 of 60 runs of DTS in MSLR-Navigational are missing"


def _without_a_player(outcome: Outcome) -> str:
    del outcome.results["MSLR-Navigational", "DTS"]
    outcome.failures.append(Failure("MSLR-Navigational", "DTS", 0, "out of memory"))
    return "60 of 60 runs of DTS in MSLR-Navigational are missing (out of memory)"


def _not_a_number(outcome: Outcome) -> str:
    runs = outcome.results["MSLR-Navigational", "DTS"].finished
    runs[3] = dataclasses.replace(runs[3], records={"regret": runs[3].records["regret"] * math.nan})
    return "DTS has no finite regret in MSLR-Navigational"


def _another_record(outcome: Outcome) -> str:
    runs = outcome.results["MSLR-Navigational", "DTS"].finished
    runs[3] = Run({}, best=0, failed=False, seconds=0.0)
    return "DTS has no finite regret in MSLR-Navigational"


def _without_the_end(outcome: Outcome) -> str:
    result = outcome.results["MSLR-Navigational", "DTS"]
    result.steps = result.steps + 1
    return "nothing was recorded at step 100,000,000 of DTS in MSLR-Navigational"


def _without_regret(outcome: Outcome) -> str:
    runs = outcome.results["MSLR-Navigational", "DTS"].finished
    for unit, run in runs.items():
        runs[unit] = dataclasses.replace(run, records={"regret": run.records["regret"] * 0})
    return "regret of MergeDTS or DTS in MSLR-Navigational is 0, so there is no ratio"


@pytest.mark.parametrize(
    "damage",
    [_without_a_run, _without_a_player, _not_a_number, _another_record, _without_the_end, _without_regret],
)
def test_says_what_is_missing(damage: Callable[[Outcome], str]) -> None:
    outcome = made_up("duels-noise", RIGHT["duels-noise"])
    reason = damage(outcome)
    finding = judged_by(less("MergeDTS", ["DTS"], panels=["MSLR-Navigational"]))(outcome)
    assert finding.verdict == "undecided"
    assert finding.text == reason


def test_looks_no_further_than_the_horizon() -> None:
    outcome = made_up("duels-noise", RIGHT["duels-noise"])
    finding = judged_by(less("MergeDTS", ["DTS"], at=10**9))(outcome)
    assert (finding.verdict, finding.text) == (
        "undecided",
        "looks at step 1,000,000,000, beyond the 100,000,000 of this scale",
    )


def test_says_where_data_are_stand_ins() -> None:
    test = judged_by(less("MergeDTS", ["DTS"], panels=["MSLR-Perfect"]))
    outcome = made_up("duels-noise", RIGHT["duels-noise"])
    assert test(outcome).text.endswith("; on stand-ins")
    real = [dataclasses.replace(panel, source=Source("real", True)) for panel in outcome.panels]
    some = dataclasses.replace(outcome, panels=[*outcome.panels[:1], *real[1:]])
    pair = [panel.name for panel in outcome.panels[:2]]
    assert judged_by(less("MergeDTS", ["DTS"], panels=pair))(some).text.endswith("; partly on stand-ins")
    assert "stand-in" not in test(dataclasses.replace(outcome, panels=real)).text


def test_says_the_effect_its_error_and_the_bound() -> None:
    outcome = made_up("duels-cycle", RIGHT["duels-cycle"], noise=0.01)
    finding = judged_by(less("MergeDTS", ["DTS", "REX3"], panels=["Cycle"], times=1.5))(outcome)
    assert finding.effect == pytest.approx(2, abs=0.01)
    assert finding.error == pytest.approx(2 * 0.01 * math.sqrt(4 / 60), rel=0.3)
    assert finding.text.startswith("Cycle: regret of DTS over that of MergeDTS: 2.01 ± 0.00")
    assert finding.text.endswith(", claimed above 1.5 (weakest of 2 comparisons)")


def test_queries_count_not_their_runs() -> None:
    """Two runs of a query are not two independent observations of how policies compare on queries."""
    once = made_up("drift-regret", RIGHT["drift-regret"], noise=0.1)
    twice = dataclasses.replace(
        once,
        experiment=dataclasses.replace(
            once.experiment, amounts={"smoke": once.amount._replace(runs=2)}
        ),
    )  # fmt: skip
    for result in twice.results.values():
        result.finished.update({unit + 12: run for unit, run in list(result.finished.items())})
    test = judged_by(less("CascadeSWUCB", ["CascadeDUCB"]))
    assert test(twice).error == pytest.approx(test(once).error)


def test_a_parabola_is_not_a_straight_line() -> None:
    test = judged_by(straight("BubbleRank", bend=0.1))
    curved = made_up("rerank-initial-cm", lambda panel, _, t: {"regret": panel.value**2 * t})
    finding = test(curved)
    assert finding.verdict == "fails"
    assert "bend" in finding.text


def test_names_and_sections() -> None:
    names = [claim.name for claim in CLAIMS]
    assert len(set(names)) == len(names)
    assert {claim.experiment for claim in CLAIMS} <= set(RIGHT)
    for claim in CLAIMS:
        assert claim.text.endswith(".")
        assert claim.section.startswith(("2.", "3.", "4.", "5."))


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 30, 99])
@pytest.mark.parametrize("t", [-5.0, -0.3, 0.0, 0.7, 2.4, 12.0])
def test_student_tail(t: float, freedom: int) -> None:
    assert student_tail(t, freedom) == pytest.approx(stats.t.sf(t, freedom), abs=1e-12)


@pytest.mark.parametrize(("times", "trials"), [(0, 5), (1, 5), (5, 5), (3, 100)])
def test_binomial_tail(times: int, trials: int) -> None:
    assert binomial_tail(times, trials, 0.1) == pytest.approx(stats.binom.sf(times - 1, trials, 0.1), abs=1e-12)


def test_jackknife_of_a_difference_is_the_paired_error() -> None:
    draw = np.random.default_rng(0)
    a, b = draw.normal(size=(2, 9))
    effect, error = jackknife(lambda means: means[0] - means[1], [a, b])
    assert effect == pytest.approx((a - b).mean())
    assert error == pytest.approx(stats.sem(a - b))


SIMULATIONS = 2000
MOST = LEVEL * SIMULATIONS + 3 * math.sqrt(LEVEL * (1 - LEVEL) * SIMULATIONS)


def _rates(make: Callable[[np.random.Generator], list[Evidence]]) -> dict[str, int]:
    draw = np.random.default_rng(1)
    counts = {"holds": 0, "fails": 0, "undecided": 0}
    for _ in range(SIMULATIONS):
        counts[verdict(make(draw))[0]] += 1
    return counts


@pytest.mark.parametrize("n", [3, 10])
def test_level_of_differences(n: int) -> None:
    """Where the effect is exactly at the bound, the verdict is wrong either way in at most one of a hundred."""
    rates = _rates(lambda draw: [above("", lambda m: m[0] - m[1], draw.normal(5, 1, (2, n)), 0.0, panels=[])])
    assert 0 < rates["holds"] < MOST
    assert 0 < rates["fails"] < MOST


def test_level_of_ratios() -> None:
    def make(draw: np.random.Generator) -> list[Evidence]:
        samples = np.array([[3.0], [1.0]]) * draw.normal(1, 0.2, (2, 10))
        return [below("", lambda m: math.log(m[0] / m[1]), samples, 3.0, panels=[], ratio=True)]

    rates = _rates(make)
    assert rates["holds"] < MOST
    assert rates["fails"] < MOST


def test_level_of_several_comparisons() -> None:
    """All true but one, which is at its bound: the claim seldom holds; all at their bound: it seldom fails."""

    def one_at_bound(draw: np.random.Generator) -> list[Evidence]:
        return [above("", lambda m: m[0], [draw.normal(mean, 1, 8)], 0.0, panels=[]) for mean in (9, 9, 9, 0)]

    def all_at_bound(draw: np.random.Generator) -> list[Evidence]:
        return [above("", lambda m: m[0], [draw.normal(0, 1, 8)], 0.0, panels=[]) for _ in range(4)]

    assert 0 < _rates(one_at_bound)["holds"] < MOST
    assert 0 < _rates(all_at_bound)["fails"] < MOST


def test_level_of_shares() -> None:
    rates = _rates(lambda draw: [rarer("", (draw.random(60) < 0.1).astype(float), 0.1, panels=[])])
    assert rates["holds"] < MOST
    assert rates["fails"] < MOST


def test_power_of_differences() -> None:
    rates = _rates(lambda draw: [above("", lambda m: m[0] - m[1], draw.normal([[7], [5]], 1, (2, 10)), 0.0, panels=[])])
    assert rates["holds"] > 0.8 * SIMULATIONS


def test_no_spread_is_no_excuse() -> None:
    same = np.full(5, 2.0)
    assert verdict([above("", lambda m: m[0], [same], 1.0, panels=[])])[0] == "holds"
    assert verdict([above("", lambda m: m[0], [same], 3.0, panels=[])])[0] == "fails"
    assert verdict([above("", lambda m: m[0], [same], 2.0, panels=[])])[0] == "undecided"
