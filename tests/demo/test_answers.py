"""What the demo's tables say, against plain computations with known numbers."""

from __future__ import annotations

import math
import random
import statistics
from typing import Any

import numpy as np
import pytest

from rankloop.demo import answers, home, trending
from rankloop.demo.traffic import Visit
from rankloop.examples.docs_search.measure import Measured


def plain_interval(values: list[float]) -> tuple[float, float]:
    """The mean and half the width of its 95 % interval."""
    return statistics.fmean(values), 1.96 * statistics.stdev(values) / math.sqrt(len(values))


def test_means_and_differences_have_the_intervals_of_a_plain_computation() -> None:
    dice = random.Random(3)
    one, other = ([float(dice.random() < p) for _ in range(300)] for p in (0.6, 0.5))
    mean, room = plain_interval(one)
    assert answers.mean_and_interval(np.array(one)) == f"{mean:.3f} ± {room:.3f}"
    assert answers.paired_difference(np.array(one), np.array(other)) == pytest.approx(
        plain_interval([a - b for a, b in zip(one, other, strict=True)])
    )
    assert answers.mean_and_interval(np.array([])) == "–"
    assert answers.paired_difference(np.array([2.0]), np.array([1.0])) == (1.0, math.inf)
    assert math.isnan(answers.paired_difference(np.array([]), np.array([]))[0])


def test_what_is_visible_is_seen_9_times_in_10() -> None:
    """An estimate around the difference that is named lies beyond the interval with probability 0.9."""
    error = 0.02
    told = answers.visible(1.96 * error, "clicks", "1,200 readers")
    named = float(told.split()[6])
    assert named == pytest.approx((1.96 + statistics.NormalDist().inv_cdf(0.9)) * error, rel=0.05)
    assert 1 - statistics.NormalDist(named, error).cdf(1.96 * error) == pytest.approx(0.9, abs=0.02)
    assert "nothing" in answers.visible(math.inf, "clicks", "1 reader")


def measured(*gains: tuple[float, float, float]) -> list[Measured]:
    """Rankers r0, r1, ... with these gains over the default, which is r1."""
    return [Measured(f"r{k}", 0.4 - 0.1 * k, 0.0, 1.0, *gain) for k, gain in enumerate(gains)]


def test_what_is_said_of_the_chosen_ranker() -> None:
    rows = measured((0.1, 0.05, 0.15), (0.0, 0.0, 0.0), (-0.1, -0.2, 0.1), (-0.2, -0.3, -0.1))
    everybody = {"r0", "r1", "r2", "r3"}
    assert answers.choice_in_words(rows, "r0", "r1", everybody - {"r1", "r3"}) == (
        "Clicks chose “r0”, number 1 of 4 by MRR. It is better than the default: its MRR is 0.400, where the default "
        "has 0.300, a difference of +0.100 (95 % interval +0.050 to +0.150). 2 of 4 rankers are still in the race; 2 "
        "were eliminated, 1 of them from the worse half."
    )
    assert "could be chance (95 % interval -0.200 to +0.100)" in answers.choice_in_words(rows, "r2", "r1", everybody)
    assert "It is worse than the default" in answers.choice_in_words(rows, "r3", "r1", everybody)
    assert answers.choice_in_words(rows, "r1", "r1", everybody) == (
        "Clicks favour the default ranker, “r1”, number 2 of 4 by MRR. All 4 rankers are still in the race."
    )


def search(number: int, arm: str, position: int, key: str = "json") -> Visit:
    return Visit("rerank", number, "queries", key, arm, 1, position, 0)


def test_a_list_is_unsafe_from_the_sixth_place_below_production_on() -> None:
    visits = [search(0, "policy", position, key) for key in ("json", "date") for position in range(1, 11)]
    assert answers.unsafe(visits, {"json": 3, "date": 1}) == 2 + 4  # places 9 and 10; places 7 to 10
    assert answers.unsafe([], {}) == 0


class Queries:
    """Two queries whose users look for what stands in the third and in the eighth place."""

    title = "Improve"

    def production(self, query: str) -> int:
        return {"json": 3, "date": 8}[query]


def test_frequent_queries() -> None:
    dice = random.Random(5)
    visits = []
    for number in range(60):
        key, arm = ("json", "date")[number % 2], "holdout" if number % 5 == 0 else "policy"
        place = Queries().production(key)
        if arm == "policy":
            place = 10 if number == 2 else max(1, place - (number >= 20) - dice.randrange(2))
        visits.append(search(number, arm, place, key))
    world: Any = Queries()
    answer = answers.reranking(world, visits)

    late = [visit for visit in visits if visit.number >= 40]
    ours = [visit for visit in late if visit.arm == "policy"]
    theirs = [visit for visit in late if visit.arm == "holdout"]
    (name, n, unsafe, places, ranks), (_, n_ours, unsafe_ours, places_ours, ranks_ours) = answer.rows
    assert (name, n, unsafe, n_ours, unsafe_ours) == ("production’s list", "12", "0", "48", "1")
    for visited, shown_places, shown_ranks in ((theirs, places, ranks), (ours, places_ours, ranks_ours)):
        assert shown_places == f"{statistics.fmean(visit.position for visit in visited):.2f}"
        mean, room = plain_interval([1 / visit.position for visit in visited])
        assert shown_ranks == f"{mean:.3f} ± {room:.3f}"
    gain, room = plain_interval([float(world.production(visit.key) - visit.position) for visit in ours])
    assert gain > room
    assert answer.found == (
        "1 of 48 lists were unsafe. In the last third of the searches, what people look for was "
        f"{gain:.2f} places above production's place on average (95 % interval {gain - room:.2f} to {gain + room:.2f})."
    )
    assert "are few" in answer.able
    assert f"needs {answers.FREQUENT_SEARCHES:,} in all" in answer.able
    assert answer.data["production"] == pytest.approx((1 / 3 + 1 / 8) / 2)


def read(number: int, loop: str, clicked: int, topics: int = 0) -> Visit:
    return Visit("", number, loop, "morning", "policy", clicked, 0, topics)


def test_readers_who_change_their_minds() -> None:
    """What counts is what came after the first change, reader by reader."""
    world = trending.Trending(None, lengths=(10, 30), rival=True)
    assert world.changes == [20, 80]
    dice = random.Random(2)
    forgets = [int(dice.random() < (0.5 if number < 20 else 0.8)) for number in range(80)]
    remembers = [int(dice.random() < (0.8 if number < 20 else 0.3)) for number in range(80)]
    visits = [
        read(number, loop, clicked[number])
        for number in range(80)
        for loop, clicked in ((trending.FOLLOWS, forgets), (trending.REMEMBERS, remembers))
    ]
    answer = answers.following(world, visits)
    for row, clicked in zip(answer.rows, (forgets, remembers), strict=True):
        parts = [plain_interval([float(each) for each in part]) for part in (clicked[:20], clicked[20:])]
        assert list(row[1:]) == [f"{mean:.3f} ± {room:.3f}" for mean, room in parts]
    gain, room = plain_interval([float(a - b) for a, b in zip(forgets[20:], remembers[20:], strict=True)])
    assert f"got {gain:.3f} more clicks per list" in answer.found
    assert f"(95 % interval {gain - room:.3f} to {gain + room:.3f})" in answer.found
    assert "60 readers after the first change" in answer.able
    assert answer.data["changes"] == [20]


def test_relevance_and_topics() -> None:
    clicked = {home.BOTH: [1, 0, 1, 1] * 10, home.RELEVANCE_ONLY: [1, 0, 1, 0] * 10}
    visits = [
        read(number, loop, each[number], topics=3 if loop == home.BOTH else 2)
        for number in range(40)
        for loop, each in clicked.items()
    ]
    world: Any = home.Home(None)
    answer = answers.diversifying(world, visits)
    assert [row[1].split(" ± ")[0] for row in answer.rows] == ["0.750", "0.500"]
    assert [row[2] for row in answer.rows] == ["3.000 ± 0.000", "2.000 ± 0.000"]
    gain, room = plain_interval([0.0, 0.0, 0.0, 1.0] * 10)
    assert answer.found == (
        f"CascadeHybrid got 0.250 more clicks per list than CascadeLinUCB (95 % interval {gain - room:.3f} to "
        f"{gain + room:.3f})."
    )
    assert "With 40 visits of these readers" in answer.able
    assert {name: points[-1] for name, points in answer.data["curves"].items()} == {
        "CascadeHybrid: relevance and topics": (40, 0.75),
        "CascadeLinUCB: relevance": (40, 0.5),
    }


def test_a_curve_has_means_of_neighbours() -> None:
    visits = [search(number, "policy", 1) for number in range(100)]
    value = {visit: float(visit.number % 10) for visit in visits}
    assert answers.smoothed_curve(visits, value) == [(9.5, 4.5), (29.5, 4.5), (49.5, 4.5), (69.5, 4.5), (89.5, 4.5)]
    assert answers.smoothed_curve([], {}) == []
