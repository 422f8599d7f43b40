"""Comparisons of results: on made-up numbers where they must hold, must fail and must stay undecided.

Numbers are drawn with fixed seeds, and effects lie ten standard errors or more from their bounds, or at none.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest
from made_up_outcomes import STEPS, flat, growing, judged, outcome

from rankloop.experiments.comparisons import differs, exceeds, happens, happens_as_often, less, matches, measured, never
from rankloop.experiments.declare import Failure, Finding, Outcome
from rankloop.experiments.judging import verdicts_in_words
from rankloop.experiments.readings import Read
from rankloop.experiments.statistics import Published
from rankloop.runs import Run


def test_less_holds_fails_and_stays_undecided() -> None:
    found = outcome({"P": {"A": flat(100), "B": flat(200), "C": flat(50), "D": flat(100, seed=1)}})
    assert judged(found, less("A", ["B"])).verdict == "holds"
    assert judged(found, less("A", ["C"])).verdict == "fails"
    assert judged(found, less("A", ["D"])).verdict == "undecided"
    assert judged(found, less("A", ["B"], times=1.5, at_most=2.5)).verdict == "holds"
    assert judged(found, less("A", ["B"], times=1.5, at_most=1.8)).verdict == "fails"
    assert judged(found, less("A", ["B"], times=2.5)).verdict == "fails"


def test_every_comparison_is_listed_with_its_verdict() -> None:
    found = outcome({"P": {"A": flat(100), "B": flat(200), "C": flat(50), "D": flat(100, seed=1)}})
    finding = judged(found, less("A", ["B", "C", "D"]))
    assert [one.verdict for one in finding.comparisons] == ["holds", "fails", "undecided"]
    assert verdicts_in_words(finding.comparisons) == "1 of 3 hold, 1 fails, 1 undecided"
    assert finding.verdict == "fails"
    assert finding.text.startswith("1 of 3 hold, 1 fails, 1 undecided; P: regret of C over that of A")
    assert finding.text.endswith("claimed above 1")
    assert [bool(one.waits) for one in finding.comparisons] == [False, False, True]


def test_most_is_more_than_half() -> None:
    players = {"A": flat(100), "B": flat(200), "C": flat(300), "D": flat(50), "E": flat(60)}
    found = outcome({"P": players})
    assert judged(found, less("A", ["B", "C", "D"]), rule="most").verdict == "holds"
    assert judged(found, less("A", ["B", "D", "E"]), rule="most").verdict == "fails"
    assert judged(found, less("A", ["B", "D"]), rule="most").verdict == "fails"
    unclear = outcome({"P": {**players, "F": flat(100, seed=1), "G": flat(100, seed=2)}})
    finding = judged(unclear, less("A", ["B", "F", "G"]), rule="most")
    assert (finding.verdict, finding.rule) == ("undecided", "most")


def test_real_data_decide_and_stand_ins_stand_beside() -> None:
    both = {"A": flat(100), "B": flat(200)}, {"A": flat(200), "B": flat(100)}
    found = outcome({"real": both[0], "made": both[1]}, stand_ins=["made"])
    finding = judged(found, less("A", ["B"]))
    assert finding.verdict == "holds"
    assert [(one.verdict, one.real, one.decides) for one in finding.comparisons] == [
        ("holds", True, True),
        ("fails", False, False),
    ]
    assert finding.text.endswith("; beside it, on stand-ins, 0 of 1 hold, 1 fails")
    assert not finding.on_stand_ins
    alone = judged(outcome({"made": both[0]}, stand_ins=["made"]), less("A", ["B"]))
    assert alone.verdict == "holds"
    assert alone.on_stand_ins
    assert alone.text.endswith("; on stand-ins")
    mixed = measured("both", [Read("real", "A"), Read("made", "A")], lambda m: float(m[1] - m[0]), more_than=0.0)
    assert judged(found, mixed).on_stand_ins, "what rests on both kinds is not real"


def test_an_undecided_claim_on_stand_ins_waits_for_data() -> None:
    found = outcome({"made": {"A": flat(100), "D": flat(100, seed=1)}}, stand_ins=["made"])
    assert judged(found, less("A", ["D"])).waits.startswith("the real data; ")


def test_players_may_differ_in_steps_and_runs() -> None:
    found = outcome({"P": {"A": growing(0.5, runs=50), "B": growing(0.6, runs=4, steps=STEPS[:3])}})
    finding = judged(found, less("A", ["B"]))
    assert finding.verdict == "holds"
    assert "after 1,000 steps" in finding.text
    assert finding.effect == pytest.approx(1000**0.1, rel=0.05)


def test_a_short_player_that_is_already_behind_stays_behind() -> None:
    players = {
        "MergeDTS": flat(100),
        "ahead": flat(50, steps=STEPS[:2]),
        "behind": flat(200, steps=STEPS[:2]),
        "REX3": flat(200, steps=STEPS[:2]),
    }
    found = outcome({"P": players})
    assert judged(found, less("MergeDTS", ["behind"], at=10_000)).verdict == "holds"
    ahead = judged(found, less("MergeDTS", ["ahead"], at=10_000))
    assert ahead.verdict == "undecided", "it may yet fall behind"
    assert ahead.waits == "step 10,000 of ahead in P (about 33 min on one core)"  # 10 runs of 2 s, times 100
    told = judged(found, less("MergeDTS", ["REX3"], at=10_000))
    assert told.verdict == "undecided", "with another horizon it is another policy"
    later = judged(found, less("MergeDTS", ["behind", "ahead"]), not_before=1000)
    assert [one.verdict for one in later.comparisons] == ["holds", "undecided"], "without a step of its own, too"
    assert later.comparisons[1].waits == "step 1,000 of ahead in P (about 3 min 20 s on one core)"
    reverse = judged(found, less("behind", ["MergeDTS"], at=10_000))
    assert reverse.verdict == "undecided", "more of the one that should have less says nothing"


def test_who_has_settled_counts_at_any_later_step() -> None:
    found = outcome({"P": {"MergeDTS": flat(100, steps=STEPS[:3]), "B": flat(200)}})
    assert judged(found, less("MergeDTS", ["B"], at=10_000)).verdict == "holds"
    assert judged(found, less("MergeDTS", ["B"])).comparisons[0].text.endswith("after 10,000 steps")
    loser = outcome({"P": {"MergeDTS": growing(0.1, steps=STEPS[:3]), "B": flat(200)}})
    assert judged(loser, less("MergeDTS", ["B"], at=10_000)).verdict == "undecided"
    other = outcome({"P": {"DTS": flat(100, steps=STEPS[:3]), "B": flat(200)}})
    assert judged(other, less("DTS", ["B"], at=10_000)).verdict == "undecided", "it may explore again"


@pytest.mark.parametrize(("regret", "late"), [(200, "holds"), (50, "fails")])
def test_a_short_experiment_says_nothing_of_the_long_run(regret: float, late: str) -> None:
    found = outcome({"P": {"A": flat(100), "B": flat(regret)}})
    assert judged(found, less("A", ["B"]), not_before=10_000).verdict == late
    early = judged(found, less("A", ["B"]), not_before=10_001)
    assert early.verdict == "undecided"
    assert early.waits == "step 10,001 of A in P, B in P (about 40 s on one core)"


def test_says_how_many_more_runs_would_decide() -> None:
    found = outcome({"P": {"A": flat(100, noise=0.3), "B": flat(115, noise=0.3)}})
    finding = judged(found, less("A", ["B"]))
    assert finding.verdict == "undecided"
    assert "times as many runs (about" in finding.waits


def _without_a_run(found: Outcome) -> str:
    found.results["P", "B"].interrupted = True
    return "runs of B in P are missing"


def _without_a_player(found: Outcome) -> str:
    del found.results["P", "B"]
    found.failures.append(Failure("P", "B", 0, "out of memory"))
    return "runs of B in P are missing (out of memory)"


def _not_a_number(found: Outcome) -> str:
    runs = found.results["P", "B"].finished
    runs[3] = dataclasses.replace(runs[3], records={"regret": runs[3].records["regret"] * math.nan})
    return "B has no finite regret in P"


def _another_record(found: Outcome) -> str:
    found.results["P", "B"].finished[3] = Run({}, best=0, failed=False, seconds=0.0)
    return "B has no finite regret in P"


def _without_the_steps(found: Outcome) -> str:
    found.results["P", "B"].steps = found.results["P", "B"].steps + 1
    return "there is no step at which all players were recorded"


def _without_regret(found: Outcome) -> str:
    runs = found.results["P", "B"].finished
    for unit, run in runs.items():
        runs[unit] = dataclasses.replace(run, records={"regret": run.records["regret"] * 0})
    return "P: regret of B over that of A has no ratio, since one is 0"


@pytest.mark.parametrize(
    "damage", [_without_a_run, _without_a_player, _not_a_number, _another_record, _without_the_steps, _without_regret]
)
def test_says_what_is_missing_and_judges_the_rest(damage: Callable[[Outcome], str]) -> None:
    found = outcome({"P": {"A": flat(100), "B": flat(200), "C": flat(300)}})
    reason = damage(found)
    finding = judged(found, less("A", ["B", "C"]))
    assert finding.verdict == "undecided"
    assert finding.waits == reason
    assert [one.verdict for one in finding.comparisons] == ["undecided", "holds"]


def test_queries_are_fixed_where_they_have_runs() -> None:
    """Queries differ widely and their runs hardly: with the same queries, the difference is certain."""
    draw = np.random.default_rng(0)
    level = draw.uniform(50, 500, 12)
    alike = {
        name: (STEPS, np.repeat((times * level * draw.normal(1, 0.01, (3, 12))).reshape(-1, 1), len(STEPS), axis=1))
        for name, times in (("A", 1.0), ("B", 1.05))
    }
    bounded = exceeds("A", 0.95 * level.mean(), record="regret")
    fixed = outcome({"P": alike}, queries=12)
    assert judged(fixed, less("A", ["B"])).verdict == "holds"
    finding = judged(fixed, bounded)
    assert finding.verdict == "holds"
    expected = np.sqrt(((0.01 * level) ** 2).sum() / 3) / 12
    assert finding.error == pytest.approx(expected, rel=0.4)
    once = outcome({"P": {name: (steps, rows[:12]) for name, (steps, rows) in alike.items()}}, queries=12)
    over_queries = judged(once, bounded)
    assert over_queries.verdict == "undecided", "with one run each, the error is over queries"
    assert over_queries.error == pytest.approx(level.std(ddof=1) / np.sqrt(12), rel=0.1)


def test_users_are_a_sample_and_paired() -> None:
    draw = np.random.default_rng(0)
    level = draw.uniform(50, 500, 12)
    users = {
        name: (STEPS, np.repeat((times * level[:n] * draw.normal(1, 0.01, n)).reshape(-1, 1), len(STEPS), axis=1))
        for name, times, n in (("A", 1.0, 12), ("B", 1.3, 4))
    }
    found = outcome({"P": users}, setting={"hybrid": True})
    for (_, player), result in found.results.items():
        result.setting["queries"] = [str(k) for k in range(len(users[player][1]))]
    finding = judged(found, less("A", ["B"]))
    assert finding.verdict == "holds", "the four users that both met are enough"
    assert finding.effect == pytest.approx(1.3, rel=0.02)


def test_matches_holds_fails_and_stays_undecided() -> None:
    read = [Read("P", "A")]
    found = outcome({"P": {"A": flat(100, noise=0.05)}})
    assert judged(found, matches("a", read, Published(102, 3), margin=10)).verdict == "holds"
    assert judged(found, matches("a", read, Published(130, 3), margin=10)).verdict == "fails"
    assert judged(found, matches("a", read, Published(130, 20), margin=10)).verdict == "holds", "its error is large"
    assert judged(found, matches("a", read, Published(130, 3), margin=50)).verdict == "holds", "certainly within"
    coarse = outcome({"P": {"A": flat(100, noise=0.5)}})
    finding = judged(coarse, matches("a", read, Published(102, 3), margin=10))
    assert finding.verdict == "undecided", "our own error is too large"
    assert "102 ± 3 to within 10; off by" in finding.text


def test_matches_ratios() -> None:
    found = outcome({"P": {"A": flat(100), "B": flat(300)}})
    reads = [Read("P", "B"), Read("P", "A")]

    def ratio(value: float) -> Finding:
        test = matches(
            "b over a", reads, Published(value), margin=2, statistic=lambda m: math.log(m[0] / m[1]), ratio=True
        )
        return judged(found, test)

    assert ratio(2.0).verdict == "holds"
    assert ratio(1.0).verdict == "fails"
    assert ratio(10.0).verdict == "fails"
    assert "0.301 times it" in ratio(10.0).text


def test_a_number_of_other_queries_is_matched_over_queries() -> None:
    level = np.random.default_rng(0).uniform(50, 150, 40)
    rows = np.repeat(np.tile(level, 3).reshape(-1, 1), len(STEPS), axis=1)
    found = outcome({"P": {"A": (STEPS, rows)}}, queries=40)
    off = level.mean() + 12
    read = [Read("P", "A")]
    assert judged(found, matches("a", read, Published(off, 1), margin=20, queries=100)).verdict == "holds"
    assert judged(found, matches("a", read, Published(off, 1), margin=5)).verdict == "fails", "were queries the same"


def test_shares_hold_fail_and_stay_undecided() -> None:
    found = outcome({"P": {"A": flat(100, runs=1000)}}, failed=10)
    few = outcome({"P": {"A": flat(100, runs=20)}}, failed=1)

    def often(published: tuple[int, int], of: Outcome = found) -> str:
        return judged(of, happens_as_often("A", published, panel="P", margin=0.05)).verdict

    assert often((1, 100)) == "holds"
    assert often((10, 100)) == "fails"
    assert often((1, 100), few) == "undecided"
    assert judged(found, happens("A", panel="P", less_than=0.03)).verdict == "holds"
    assert judged(found, happens("A", panel="P", less_than=0.002)).verdict == "fails"
    assert judged(found, happens("A", panel="P", more_than=0.002)).verdict == "holds"
    assert judged(found, happens("A", panel="P", more_than=0.03)).verdict == "fails"
    assert judged(few, happens("A", panel="P", less_than=0.1)).verdict == "undecided"
    lost = outcome({"P": {"A": (STEPS, np.ones((300, 4)))}}, record="lost")
    test = happens_as_often("A", (99, 100), panel="P", margin=0.1, record="lost", exactly=1)
    assert judged(lost, test).verdict == "holds"
    assert judged(lost, happens_as_often("A", (99, 100), panel="P", margin=0.1, record="lost", exactly=2)).verdict == (
        "fails"
    )


def test_differences_and_bounds() -> None:
    found = outcome({"P": {"A": flat(100), "B": flat(103)}})
    assert judged(found, differs("A", "B", record="regret", more_than=-20, less_than=20)).verdict == "holds"
    assert judged(found, differs("A", "B", record="regret", more_than=20)).verdict == "fails"
    assert judged(found, exceeds("A", 90, record="regret")).verdict == "holds"
    assert judged(found, exceeds("A", 110, record="regret", at=100)).verdict == "fails"


def test_never_is_refuted_by_one() -> None:
    none = outcome({"P": {"A": (STEPS, np.zeros((5, 4)))}})
    assert judged(none, never("A", "regret")).verdict == "holds"
    assert judged(none, never("A", "regret"), not_before=10**6).verdict == "undecided"
    rows = np.zeros((5, 4))
    rows[3, 3] = 1
    assert judged(outcome({"P": {"A": (STEPS, rows)}}), never("A", "regret"), not_before=10**6).verdict == "fails"
