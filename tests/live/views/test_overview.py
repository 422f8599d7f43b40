"""Loops at a glance, against their own status and against the journal in plain SQL; and what happened lately."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from live_world import Clock, MakeStore, close_all, crash, open_live
from views_world import LIST, ODD_KEYS, InSQL, busy, overview, raced, wanted

import rankloop as rl
from rankloop.live.views import view_cache as looking
from rankloop.live.views.overview import COUNTS, MINUTES, merge_overviews, overview_of
from rankloop.live.views.view_cache import looking_at


@pytest.fixture(autouse=True)
def always_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer is given twice."""
    monkeypatch.setattr(looking, "FRESH", 0.0)


def kinds(found: dict[str, Any]) -> list[tuple[str | None, str, str | None]]:
    return [(each["loop"], each["kind"], each["key"]) for each in found["happenings"]]


def test_counts_and_minutes(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "shop.db"
    with rl.Live(path, clock=clock, background=False) as live:
        live.create("search", kind="rerank", window="2 min")
        live.create("home", kind="follow", window="2 min")
        busy(live, clock)
        busy(live, clock, "home", rounds=9)
        close_all(live, clock, after=130.0)
        live.commit(live.last)
        found = overview(live)
        plain = InSQL(path)
        minute = int(clock.now) // 60
        assert found["counted"] == {"complete": True, "since": plain.rows[0][1] / 1000, "entries": len(plain.rows)}
        assert [loop["loop"] for loop in found["loops"]] == ["search", "home"]
        for number, loop in enumerate(found["loops"], 1):
            status = live.status(loop["loop"])
            assert {word: loop[word] for word in COUNTS} == {word: status[word] for word in COUNTS}
            assert loop["uplift"]["impressions"] == status["uplift"].impressions
            assert loop["uplift"]["difference"] == status["uplift"].difference
            by_minute = plain.of_minutes(number)
            series = loop["series"]
            assert series["from"] == 60.0 * (minute - MINUTES + 1)
            assert len(series["impressions"]) == len(series["clicks"]) == MINUTES
            for word in ("impressions", "clicks"):
                expected = [by_minute.get(minute - MINUTES + 1 + i, {}).get(word, 0) for i in range(MINUTES)]
                assert series[word] == expected
                assert sum(expected) == status[word]
            assert loop["per_hour"] == sum(expected_in(by_minute, minute, 60))
        entries = plain.rows[-1][0]
        assert found["store"] == {"name": "shop.db", "bytes": live.store.size(), "entries": entries}


def expected_in(by_minute: dict[int, Counter[str]], last: int, n: int) -> list[int]:
    """The impressions of the last minutes."""
    return [by_minute.get(minute, Counter())["impressions"] for minute in range(last - n + 1, last + 1)]


def test_every_number_by_plain_sql(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open and closed impressions, the holdout, the lag, the uplift, and what the journal does not tell."""
    path, window = tmp_path / "shop.db", 120.0
    sent = Counter[str]()
    with rl.Live(path, clock=clock, background=False) as live:
        live.create("search", kind="rerank", window=f"{window:g} s", holdout=0.4, seed=1)
        rng = random.Random(2)
        old = live.rank("search", "laptop", LIST, user="early")
        clock.now += 3 * window
        live.attend()
        for n in range(1_500):
            clock.now += 0.5
            shown = live.rank("search", rng.choice(ODD_KEYS), LIST, user=f"user {n}")
            if rng.random() < 0.5:
                times = 1 + (rng.random() < 0.1)
                for _ in range(times):
                    live.click(shown.id, shown.items[0])
                sent["duplicates"] += times - 1
            if n % 500 == 0:
                assert live.click(old.id, "a") == "late"
                sent["late"] += 1
        with monkeypatch.context() as context:
            context.setattr(live._showing, "_choose", lambda _: 1 / 0)
            for n in range(5):
                sent["fallbacks"] += live.rank("search", "laptop", LIST, user=f"user {n}").fallback
        clock.now += 90.0  # some windows have passed, and nobody attends to them
        live.commit(live.last)
        with monkeypatch.context() as context:
            context.setattr(live._impressions, "close_due", lambda *_, **__: 0)
            (loop,) = overview(live)["loops"]
        plain = InSQL(path)
        wanted_ = plain.of_loop(1, window=window, now=clock.now)
        assert all(wanted_.values()), "each of them must be something for this test to say anything"
        assert {word: loop[word] for word in wanted_} == pytest.approx(wanted_)
        assert loop["learned"] == sum(key["learned"] for key in plain.of_keys(1).values())
        assert loop["keys"] == len(plain.of_keys(1))
        compared = plain.uplift(1)
        assert {word: loop["uplift"][word] for word in compared} == pytest.approx(compared)
        assert loop["uplift"]["decided"] == (not compared["low"] <= 0 <= compared["high"])
        totals = json.loads(plain.totals[1])  # these are in no entry: the store keeps them beside the journal
        assert all(sent.values())
        for word, n in sent.items():
            assert loop[word] == n == totals[word]
        assert loop["fell_back"] == clock.now - 90.0


def test_what_happened(new_store: MakeStore, clock: Clock) -> None:
    """Each decision and intervention is told once, the newest first, also to those who only look."""
    live = open_live(new_store, clock)
    live.create("search", kind="rerank", window="2 min", delta=0.2, holdout=0)
    steps = [
        lambda: live.pause("search"),
        lambda: live.resume("search"),
        lambda: live.change("search", traffic=0.9, mode="shadow"),
        lambda: live.change("search", traffic=1.0, mode="live"),
        lambda: wanted(live, "search", "<b>laptop</b>", "b", 60),
        lambda: live.revert("search", "<b>laptop</b>"),
    ]
    for step in steps:
        clock.now += 1.0
        step()
    live.commit(live.last)
    found = overview(live)
    key = "<b>laptop</b>"
    assert kinds(found) == [
        ("search", "reverted", key), ("search", "exchange", key), ("search", "changed", None),
        ("search", "changed", None), ("search", "resumed", None), ("search", "paused", None),
        ("search", "created", None), (None, "started", None),
    ]  # fmt: skip
    exchange, changed = found["happenings"][1], found["happenings"][3]
    assert exchange["items"] == ["b", "a"]
    assert exchange["at"] == clock.now - 1.0
    assert changed["text"] == "mode is now shadow; traffic is now 0.9"
    assert kinds(overview(live, ["search"])) == kinds(found)[:-1]
    assert kinds(overview(live, ["others"])) == []
    assert overview(live, ["search"])["store"] is None
    with rl.Live(live.store.reader(), clock=clock, read_only=True) as beside:
        assert kinds(overview(beside)) == kinds(found)
    crash(live)
    with open_live(new_store, clock) as again:
        found = overview(again)
        assert found["happenings"][0]["text"] == "a program began to write, after a crash"
        assert kinds(found)[1:] == kinds(overview(again))[1:]
        assert len(found["happenings"]) == 9


def test_a_race(new_store: MakeStore, clock: Clock) -> None:
    with open_live(new_store, clock) as live:
        names = ["good", "bad", "worse"]
        live.create("rankers", kind="evaluate", rankers=names, c=1, alpha=0.1)
        raced(live, "rankers", 60, names)
        live.commit(live.last)
        found = overview(live)
        status = live.status("rankers")
        assert status["winner"] == "good"
        assert found["loops"][0]["race"] == {"rankers": 3, "survivors": 1, "best": "good", "winner": "good"}
        assert found["loops"][0]["uplift"] is None
        told = {(each["kind"], *each["items"]) for each in found["happenings"] if each["loop"] and each["key"] == ""}
        assert ("winner", "good") in told
        assert {each[1] for each in told if each[0] == "eliminated"} == {"bad", "worse"}


def test_lists_that_fell_back(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    with rl.Live(tmp_path / "shop.db", clock=clock, background=False) as live:
        live.create("search", kind="rerank", holdout=0.0)  # nobody gets a list without asking the policy
        assert [each["kind"] for each in overview(live)["happenings"]] == ["created", "started"]
        with monkeypatch.context() as context:
            context.setattr(live._showing, "_choose", lambda _: 1 / 0)
            assert live.rank("search", "laptop", LIST, user="u1").fallback
        found = overview(live)
        assert found["loops"][0]["fallbacks"] == live.status("search")["fallbacks"] == 1
        newest = found["happenings"][0]
        assert (newest["kind"], newest["text"]) == ("fallbacks", "1 list was production's because something failed")
        assert found["loops"][0]["fell_back"] == newest["at"] == clock.now
        clock.now += 7200.0
        found = overview(live)
        assert len(found["happenings"]) == 3
        assert found["loops"][0]["fell_back"] == clock.now - 7200  # so pages can tell that it is long ago


def test_lists_that_fell_back_before_anybody_looked(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program that wrote knows when; another one, which reads the count, says that it does not."""
    path = tmp_path / "shop.db"
    with rl.Live(path, clock=clock, background=False) as live:
        live.create("search", kind="rerank", holdout=0.0)  # nobody gets a list without asking the policy
        with monkeypatch.context() as context:
            context.setattr(live._showing, "_choose", lambda _: 1 / 0)
            for _ in range(2):
                live.rank("search", "laptop", LIST, user="u1")
        clock.now += 600.0
        found = overview(live)
        newest = found["happenings"][0]
        assert (newest["kind"], newest["at"]) == ("fallbacks", clock.now - 600)
        assert found["loops"][0]["fell_back"] == clock.now - 600
        live.commit(live.last)
        with rl.Live(path, clock=clock, read_only=True) as first:
            found, before = overview(first), looking_at(first)
            assert found["happenings"][0]["text"].startswith("2 lists were production's because something failed, at a")
            assert found["loops"][0]["fell_back"] is None
        clock.now += 1.0
        with monkeypatch.context() as context:
            context.setattr(live._showing, "_choose", lambda _: 1 / 0)
            live.rank("search", "laptop", LIST, user="u1")
        live.rank("search", "laptop", LIST, user="u1")
        live.commit(live.last)
        with rl.Live(path, clock=clock, read_only=True) as second:
            looking_at(second, before)
            found = overview(second)
            told = [each["text"] for each in found["happenings"] if each["kind"] == "fallbacks"]
            assert told[0] == "1 list was production's because something failed"
            assert len(told) == 2
            assert found["loops"][0]["fell_back"] == clock.now


def test_nothing_yet(new_store: MakeStore, clock: Clock) -> None:
    """A store without loops, and a loop without traffic."""
    with open_live(new_store, clock) as live:
        found = overview(live)
        assert found["loops"] == []
        live.create("search", kind="rerank")
        (loop,) = overview(live)["loops"]
        assert (loop["impressions"], loop["per_hour"], loop["uplift"]["difference"]) == (0, 0, None)


def test_answers_are_given_again_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with rl.Live(tmp_path / "shop.db", background=False) as live:
        monkeypatch.setattr(looking, "FRESH", 1e9)
        first = overview_of(live)
        live.create("search", kind="rerank")
        assert overview_of(live) is first
        assert list(overview_of(live, ["search"])["loops"]) == ["search"]


def test_two_journals_are_one(tmp_path: Path, clock: Clock) -> None:
    """What two journals say together is what each says, added up."""
    lives = [rl.Live(tmp_path / f"{n}.db", clock=clock, background=False) for n in range(2)]
    try:
        for n, live in enumerate(lives):
            live.create("search", kind="rerank", window="2 min", seed=1)
            busy(live, clock, rounds=5 + n)
        parts = [overview_of(live) for live in lives]
        merged = merge_overviews(parts)
        alone = [overview(live)["loops"][0] for live in lives]
        for word in COUNTS:
            assert merged["loops"][0][word] == sum(loop[word] for loop in alone)
        assert sum(merged["loops"][0]["series"]["impressions"]) == sum(
            sum(loop["series"]["impressions"]) for loop in alone
        )
        shown = [loop["uplift"]["impressions"] for loop in alone]
        assert merged["loops"][0]["uplift"]["impressions"] == tuple(map(sum, zip(*shown, strict=True)))
        assert merged["store"]["entries"] == sum(part["store"]["entries"] for part in parts)
        assert [part["store"]["bytes"] for part in parts] == [live.store.size() for live in lives]
    finally:
        for live in lives:
            live.close()


def test_counting_goes_on_from_an_earlier_look(tmp_path: Path, clock: Clock) -> None:
    """A program that opens the store anew to see what is new counts nothing again."""
    path = tmp_path / "shop.db"
    with rl.Live(path, clock=clock, background=False) as live:
        live.create("search", kind="rerank", window="2 min")
        busy(live, clock)
        with rl.Live(path, clock=clock, read_only=True) as first:
            overview_of(first)
            before = looking_at(first)
        busy(live, clock, rounds=3)
        with rl.Live(path, clock=clock, read_only=True) as second:
            looking_at(second, before)
            found = overview(second)
            assert looking_at(second).following is before.following
            assert found["counted"]["entries"] == len(InSQL(path).rows)
            assert found["loops"][0]["impressions"] == live.status("search")["impressions"]
