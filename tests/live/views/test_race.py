"""The race of rankers, against its status, the journal in plain SQL, and the definition of its interval."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from live_world import Clock, MakeStore, open_live
from views_world import InSQL, raced

import rankloop as rl
from rankloop.live.settings import POLICIES
from rankloop.live.views import race as module
from rankloop.live.views import view_cache as looking
from rankloop.live.views.intervals import preference_intervals
from rankloop.live.views.race import KEEP_PAIRS, race

NAMES = ["good", "<b>fair</b>", "ביניים", "poor 👎"]


@pytest.fixture(autouse=True)
def always_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "FRESH", 0.0)


def test_numbers(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "shop.db"
    with rl.Live(path, clock=clock, background=False) as live:
        live.create("rankers", kind="evaluate", rankers=NAMES, alpha=0.15, c=10, batch_size=2)
        ends, survivors = {}, list(NAMES)
        for _ in range(150):
            clock.now += 10.0
            raced(live, "rankers", 1, NAMES)
            left = live.status("rankers")["survivors"]
            ends |= {name: clock.now for name in survivors if name not in left}
            survivors = left
        live.commit(live.last)
        found, status = race(live, "rankers"), live.status("rankers")
        won = InSQL(path).duels(NAMES)
    rows = {row["ranker"]: row for row in found["standings"]}
    assert found["duels"] == sum(won.values())
    assert found["ties"] == status["ties"]
    assert (found["leader"], found["winner"]) == (status["best"], status["winner"])
    assert sorted(name for batch in found["batches"] for name in batch) == sorted(status["survivors"])
    assert ends, "somebody must have been eliminated for this test to say anything"
    for name, row in rows.items():
        assert row["wins"] == sum(n for (winner, _), n in won.items() if winner == name)
        assert row["losses"] == sum(n for (_, loser), n in won.items() if loser == name)
        assert row["survives"] == (name in status["survivors"])
        assert row["eliminated_at"] == ends.get(name)
        if name in ends:  # by one that always beats it
            assert NAMES.index(row["eliminated_by"]) < NAMES.index(name)
        met = (won.get((name, found["leader"]), 0), won.get((found["leader"], name), 0))
        if sum(met) and name != found["leader"]:
            against = row["against_leader"]
            assert (against["wins"], against["losses"], against["preference"]) == (*met, met[0] / sum(met))
            assert 0 <= against["low"] <= against["preference"] <= against["high"] <= 1
        else:
            assert row["against_leader"] is None
    shown = found["pairs"]["rankers"]
    assert set(shown) == set(NAMES)
    for i, one in enumerate(shown):
        for j, other in enumerate(shown):
            assert found["pairs"]["wins"][i][j] == won.get((one, other), 0)
            assert found["pairs"]["duels"][i][j] == won.get((one, other), 0) + won.get((other, one), 0)
    gap = {NAMES[0]: 0.0}
    for name in NAMES[1:]:
        ahead, behind = won.get((NAMES[0], name), 0), won.get((name, NAMES[0]), 0)
        lost = [sum(n for pair, n in won.items() if pair[i] == name) for i in (1, 0)]
        share = (ahead + 1) / (ahead + behind + 2) if ahead + behind else (lost[0] + 1) / (sum(lost) + 2)
        gap[name] = max(0.0, share - 0.5)
    spent = sum(n * (gap[one] + gap[other]) / 2 for (one, other), n in won.items())
    assert found["regret"]["spent"] == pytest.approx(spent)
    assert found["regret"]["per_duel"] == pytest.approx(spent / sum(won.values()))


def test_how_long_it_takes(new_store: MakeStore, clock: Clock) -> None:
    """The estimate is what remains of the duels that the bounds ask for, at the traffic of the last day."""
    with open_live(new_store, clock) as live:
        live.create("rankers", kind="evaluate", rankers=NAMES[:2], alpha=5.0, c=1000)
        for _ in range(20):
            clock.now += 360.0
            raced(live, "rankers", 1, NAMES)
        live.commit(live.last)
        decision = race(live, "rankers")["decision"]
        gap = 21 / 22 - 0.5
        needed = 5.0 * math.log(20 + decision["duels_left"] + 1001) / gap**2
        assert decision["gap"] == pytest.approx(gap)
        assert decision["duels_left"] == pytest.approx(max(0, needed - 20), abs=1)
        assert decision["per_day"] == pytest.approx(20 * 1440 / 115, rel=0.02)
        assert decision["days"] == pytest.approx(
            decision["duels_left"] / decision["per_day"], abs=1 / decision["per_day"]
        )


@pytest.mark.parametrize("policy", POLICIES["evaluate"])
def test_every_policy(tmp_path: Path, clock: Clock, policy: str) -> None:
    with rl.Live(tmp_path / "shop.db", clock=clock, background=False) as live:
        live.create("rankers", kind="evaluate", rankers=NAMES, policy=policy)
        before = race(live, "rankers")
        assert (before["leader"], before["duels"], before["regret"], before["decision"]) == (None, None, None, None)
        raced(live, "rankers", 12, NAMES)
        live.commit(live.last)
        found = race(live, "rankers")
        assert found["leader"] == live.status("rankers")["best"]
        assert found["standings"][0]["ranker"] == found["leader"]
        if policy in KEEP_PAIRS:
            won = InSQL(tmp_path / "shop.db").duels(NAMES)
            assert found["duels"] == sum(won.values())
        else:
            assert (found["duels"], found["pairs"]["rankers"]) == (None, [])
        assert (found["decision"] is not None) == policy.startswith("Merge")


def test_duels_with_keys(tmp_path: Path, clock: Clock) -> None:
    """Each key has a race of its own, whose duels per day are its share of the loop's."""
    with rl.Live(tmp_path / "shop.db", clock=clock, background=False) as live:
        live.create("rankers", kind="evaluate", rankers=NAMES)
        for n in range(30):
            clock.now += 600.0
            raced(live, "rankers", 1, NAMES, key="news")
            if n % 3 == 0:
                raced(live, "rankers", 1, NAMES[::-1], key="sport")
        live.commit(live.last)
        news, sport, none = (race(live, "rankers", key) for key in ("news", "sport", ""))
        assert (news["key"], news["duels"], sport["key"], sport["duels"]) == ("news", 30, "sport", 10)
        assert (none["key"], none["duels"], none["leader"]) == ("", None, None)
        assert news["pairs"] != sport["pairs"]
        assert (news["ties"], none["ties"]) == (None, None)  # they are counted for all keys together
        assert news["decision"]["per_day"] == pytest.approx(3 * sport["decision"]["per_day"])
        assert news["decision"]["per_day"] == pytest.approx(144, rel=0.05)
        assert any("share of the loop's duels" in each for each in news["decision"]["assumes"])
        with pytest.raises(ValueError, match="has not been asked for 'weather' yet"):
            race(live, "rankers", "weather")


def test_many_rankers(tmp_path: Path, clock: Clock) -> None:
    """As many as a loop takes: the answer stays small and says what it leaves out."""
    names = [f"ranker {n}" for n in range(1_000)]
    with rl.Live(tmp_path / "shop.db", clock=clock, background=False) as live:
        live.create("rankers", kind="evaluate", rankers=names)
        raced(live, "rankers", 5, names)
        live.commit(live.last)
        found = race(live, "rankers")
        assert (found["rankers"], len(found["standings"]), found["left_out"]) == (1_000, module.STANDINGS, 800)
        assert len(found["pairs"]["wins"]) == module.PAIRS
        assert sum(map(len, found["batches"])) == 1_000
        with pytest.raises(ValueError, match="rankers must have at most 1,000 entries, not 10,000"):
            live.create("more", kind="evaluate", rankers=[f"ranker {n}" for n in range(10_000)])


def test_another_kind(tmp_path: Path) -> None:
    with rl.Live(tmp_path / "shop.db", background=False) as live:
        live.create("search", kind="rerank")
        with pytest.raises(ValueError, match="only a loop of kind evaluate has a race"):
            race(live, "search")


def test_the_interval_by_its_definition() -> None:
    """It keeps exactly the q with ln B(w+1, l+1) - w ln q - l ln(1-q) < ln(1/alpha)."""
    wins, losses = [0, 0, 1, 7, 30, 500, 3, 12_345], [0, 9, 0, 7, 10, 450, 0, 12_001]
    for alpha in (0.05, 0.001):
        lows, highs = preference_intervals(wins, losses, alpha)
        for won, lost, low, high in zip(wins, losses, lows, highs, strict=True):
            log_beta = math.lgamma(won + 1) + math.lgamma(lost + 1) - math.lgamma(won + lost + 2)
            for q in np.linspace(0.0005, 0.9995, 1999):
                kept = log_beta - won * math.log(q) - lost * math.log(1 - q) < math.log(1 / alpha)
                assert kept == (low < q < high), (won, lost, q)


def test_the_interval_covers() -> None:
    """Looked at after each of 1,000 duels, it ever misses in at most alpha of the runs.

    400 runs with alpha = 0.05: more than 33 misses would have a probability below 0.003 at exactly 5 %.
    """
    rng = np.random.default_rng(1)
    outcomes = rng.random((400, 1_000)) < 0.6
    wins = outcomes.cumsum(axis=1)[:, 9::10]
    duels = np.arange(10, 1_001, 10)
    low, high = preference_intervals(wins.ravel(), (duels - wins).ravel())
    missed = ((low > 0.6) | (high < 0.6)).reshape(wins.shape).any(axis=1)
    assert 0 < missed.sum() <= 33
