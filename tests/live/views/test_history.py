"""How a key came to be what it is, against its receipt, its status and the journal in plain SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from live_world import Clock, MakeStore, open_live
from views_world import LIST, InSQL, raced, wanted

import rankloop as rl
from rankloop.live.views import history as module
from rankloop.live.views.history import history
from rankloop.live.views.key import key
from rankloop.live.views.view_cache import looking_at


def whole(live: rl.Live, loop: str, name: str) -> dict[str, Any]:
    """The history once it is complete."""
    for _ in range(2_000):
        found = history(live, loop, name)
        if found["progress"]["complete"]:
            return found
    raise AssertionError("the history does not come to an end")


def check_counts(path: Path, loop: int, name: str, found: dict[str, Any]) -> None:
    """Series and changes add up to what the journal says."""
    plain = InSQL(path).of_keys(loop)[name]
    for word in ("impressions", "clicked"):
        assert sum(found["series"][word]) == plain[word]
        if found["changes"] and not found["dropped"]:
            parts = [found["changes"][0]["before"], *(each["after"] for each in found["changes"])]
            assert sum(part[word] for part in parts) == plain[word]
    assert found["series"]["at"] == sorted(found["series"]["at"])


@pytest.mark.parametrize("seconds", [0.0, 10.0])
def test_exchanges(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Every exchange with its evidence and its time, however little is replayed at once; also when the list changes."""
    path = tmp_path / "shop.db"
    monkeypatch.setattr(module.KeyHistory.advance, "__defaults__", (seconds,))
    with rl.Live(path, clock=clock, background=False) as live:
        live.create("search", kind="rerank", delta=0.2, holdout=0, seed=3)
        moments = []
        for item in ("d", "c"):
            for _ in range(200):
                clock.now += 1.0
                before = live.best("search", "laptop") if moments else LIST
                wanted(live, "search", "laptop", item, 1)
                moments += [clock.now] if live.best("search", "laptop") != before or not moments else []
        receipt = live.receipt("search", "laptop")
        found = whole(live, "search", "laptop")
        exchanges = [each for each in found["changes"] if each["kind"] == "exchange"]
        assert [(each["raised"], each["lowered"]) for each in exchanges] == [
            (each.raised, each.lowered) for each in receipt.exchanges
        ]
        assert sorted({each["at"] for each in exchanges}) == moments[1:]
        evidence = {(pair.upper, pair.lower): pair for pair in receipt.pairs}
        for each in exchanges:
            assert each["lead"] > each["needs"]
            pair = evidence.get((each["raised"], each["lowered"]))
            if pair is not None:  # as long as nobody has stood between them since
                assert (pair.lead, pair.observations, pair.decided) == (each["lead"], each["of"], True)
                assert each["needs"] == pytest.approx(pair.threshold)
        assert exchanges[-1]["best"] == live.best("search", "laptop") == receipt.base
        check_counts(path, 1, "laptop", found)
        clock.now += 5.0
        wanted(live, "search", "laptop", "e", 1, ["a", "e", "c", "d"])
        clock.now += 5.0
        live.revert("search", "laptop")
        found = whole(live, "search", "laptop")
        listed, reverted = found["changes"][-2:]
        assert (listed["kind"], listed["added"], listed["removed"], listed["at"]) == (
            "listed",
            ["e"],
            ["b"],
            clock.now - 5,
        )
        assert (reverted["kind"], reverted["best"], reverted["at"]) == ("reverted", ["a", "e", "c", "d"], clock.now)
        assert key(live, "search", "laptop")["reverted"] == clock.now
        assert key(live, "search", "laptop")["best"] == key(live, "search", "laptop")["production"]
        check_counts(path, 1, "laptop", found)
        assert live.verify().ok


def test_attraction_over_time(tmp_path: Path, clock: Clock) -> None:
    """Tastes change: the estimates follow, and the change is there with the clicks before and after."""
    path = tmp_path / "shop.db"
    with rl.Live(path, clock=clock, background=False) as live:
        live.create("home", kind="follow", positions=2, holdout=0, gamma=0.9)
        for item in ("a", "c"):
            for _ in range(150):
                clock.now += 1.0
                shown = live.rank("home", "front", LIST)
                if item in shown.items:
                    live.click(shown.id, item)
                live.finish(shown.id)
        live.rank("home", "front", LIST)
        live.commit(live.last)
        found = whole(live, "home", "front")
        check_counts(path, 1, "front", found)
        series = {each["item"]: each["attraction"] for each in found["series"]["items"]}
        at = found["series"]["at"]
        middle = min(range(len(at)), key=lambda i: abs(at[i] - (clock.now - 150)))
        assert series["a"][middle - 1] > 0.9 > 0.1 > series["a"][-1]
        assert series["c"][-1] > 0.9
        now = {each["item"]: each["attraction"] for each in key(live, "home", "front")["items"]}
        assert {name: values[-1] for name, values in series.items()} == now
        (first,) = found["changes"]
        assert (first["kind"], first["raised"], first["lowered"]) == ("first", "c", "a")
        assert clock.now - 150 < first["at"] < clock.now - 75
        assert first["attractions"][0] > first["attractions"][1]
        assert len(at) <= module.POINTS + 1
        looks = InSQL(path).looks("front", LIST, gamma=0.9)
        told = {each["item"]: (each["attraction"], each["looks"]) for each in key(live, "home", "front")["items"]}
        for item, (clicks, seen) in looks.items():
            assert told[item] == pytest.approx((clicks / seen, seen))


@pytest.mark.parametrize(("flickers", "n_changes"), [(module.LASTING - 1, 0), (module.LASTING, 2)])
def test_only_changes_that_last_count(tmp_path: Path, clock: Clock, flickers: int, n_changes: int) -> None:
    """Another item that looks best for a few lists, and no longer, has changed nothing."""
    path = tmp_path / "shop.db"
    with rl.Live(path, clock=clock, background=False) as live:
        live.create("home", kind="follow", positions=2, holdout=0, gamma=0.5)
        wanted(live, "home", "front", "a", 40, ["a", "b"])
        assert live.best("home", "front")[0] == "a"
        clock.now += 60.0
        began, lists = clock.now, 0
        while lists < flickers:
            clock.now += 1.0
            wanted(live, "home", "front", "b", 1, ["a", "b"])
            if live.best("home", "front")[0] == "b":
                began, lists = (clock.now, 1) if lists == 0 else (began, lists + 1)
        clock.now += 60.0
        wanted(live, "home", "front", "a", 60, ["a", "b"])
        found = whole(live, "home", "front")
        changes = [(each["kind"], each["raised"], each["lowered"]) for each in found["changes"]]
        assert changes == [("first", "b", "a"), ("first", "a", "b")][:n_changes]
        assert not changes or found["changes"][0]["at"] == began
        check_counts(path, 1, "front", found)


def test_weights_over_time(tmp_path: Path, clock: Clock) -> None:
    with rl.Live(tmp_path / "shop.db", clock=clock, background=False) as live:
        topics = ["news", "sport"]
        live.create("mix", kind="diversify", relevance=1, topics=topics, positions=3, holdout=0)
        live.put_items("mix", {f"n{i}": {"relevance": [0.1 * i], "topics": [0.8, 0.0]} for i in range(4)})
        live.put_items("mix", {f"s{i}": {"relevance": [0.1 * i], "topics": [0.0, 0.8]} for i in range(4)})
        names = [f"{letter}{i}" for letter in "ns" for i in range(4)]
        for _ in range(40):
            shown = live.rank("mix", "u1", names)
            live.click(shown.id, next(item for item in shown.items if item.startswith("s")))
            live.finish(shown.id)
        found, seen = whole(live, "mix", "u1"), key(live, "mix", "u1")
        with live._learners.hold(live._loops.named("mix"), "u1") as learner:
            theta, beta = learner.policy.theta.tolist(), learner.policy.beta.tolist()
        explained = seen["explained"]
        assert [each["weight"] for each in explained["topics"]] == theta
        assert [each["weight"] for each in explained["relevance"]] == beta
        assert [each["topic"] for each in explained["topics"]] == topics
        assert [each["weight"][-1] for each in found["series"]["topics"]] == theta
        assert theta[1] > theta[0]
        assert [each["item"] for each in explained["list"]] == seen["best"] == live.best("mix", "u1")
        covered = [0.0, 0.0]
        for row, item in zip(explained["covered"], explained["list"], strict=True):
            of_item = [0.8 * item["item"].startswith("n"), 0.8 * item["item"].startswith("s")]
            novelty = sum(t * x * (1 - c) for t, x, c in zip(theta, of_item, covered, strict=True))
            assert item["novelty"] == pytest.approx(novelty)
            assert item["relevance"] == pytest.approx(beta[0] * 0.1 * int(item["item"][1]))
            assert item["attraction"] == pytest.approx(item["novelty"] + item["relevance"])
            covered = [1 - (1 - c) * (1 - x) for c, x in zip(covered, of_item, strict=True)]
            assert row == pytest.approx(covered)


def test_rankers_that_leave(new_store: MakeStore, clock: Clock) -> None:
    names = ["good", "bad", "worse"]
    with open_live(new_store, clock) as live:
        live.create("rankers", kind="evaluate", rankers=names, c=1, alpha=0.1)
        raced(live, "rankers", 60, names)
        found = whole(live, "rankers", "")
        gone = {each["lowered"] for each in found["changes"] if each["kind"] == "eliminated"}
        assert gone == set(names) - set(live.status("rankers")["survivors"])
        assert found["changes"][-1]["kind"] == "winner"


def test_a_journal_that_has_been_trimmed(new_store: MakeStore, clock: Clock) -> None:
    """It begins where the journal does, whenever entries were removed, and goes on to the same state."""
    with open_live(new_store, clock, keep="1 h") as live:
        live.create("home", kind="follow", positions=2, holdout=0, window="2 min")
        for _ in range(3):
            wanted(live, "home", "front", "a", 30, ["a", "b"])
            found = whole(live, "home", "front")
            assert {each["item"]: each["attraction"][-1] for each in found["series"]["items"]} == {
                each["item"]: each["attraction"] for each in key(live, "home", "front")["items"]
            }
            clock.now += 7200
            live._upkeep.checkpoint()
            wanted(live, "home", "front", "b", 2, ["a", "b"])
            live._upkeep.checkpoint()
            assert live.trim() > 0
        assert sum(whole(live, "home", "front")["series"]["impressions"]) == 96  # it has seen them all
        looking_at(live).histories.clear()
        found = whole(live, "home", "front")
        assert sum(found["series"]["impressions"]) == 2
        assert found["progress"]["since"] == clock.now


def test_beside_the_writer(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "shop.db"
    with rl.Live(path, clock=clock, background=False) as live:
        live.create("search", kind="rerank", delta=0.2, holdout=0)
        wanted(live, "search", "laptop", "b", 60)
        with rl.Live(path, clock=clock, read_only=True) as beside:
            assert whole(beside, "search", "laptop") == whole(live, "search", "laptop")
            assert key(beside, "search", "laptop") == key(live, "search", "laptop")


def test_many_points_and_changes(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer stays small, and says how much it leaves out."""
    monkeypatch.setattr(module, "POINTS", 8)
    monkeypatch.setattr(module, "CHANGES", 3)
    path = tmp_path / "shop.db"
    with rl.Live(path, clock=clock, background=False) as live:
        live.create("search", kind="rerank", holdout=0)
        for n in range(30):
            clock.now += 1.0
            wanted(live, "search", "laptop", "a", 3, ["a", "b", f"new {n}"])
        found = whole(live, "search", "laptop")
        assert len(found["series"]["at"]) <= 9
        assert len(found["changes"]) + found["dropped"] == 29
        check_counts(path, 1, "laptop", found)


def test_a_key_that_nobody_asked_for(tmp_path: Path) -> None:
    with rl.Live(tmp_path / "shop.db", background=False) as live:
        live.create("search", kind="rerank")
        for call in (history, key):
            with pytest.raises(ValueError, match="has not been asked for 'laptop' yet"):
                call(live, "search", "laptop")
        with pytest.raises(ValueError, match="there is no loop 'nothing'"):
            history(live, "nothing", "laptop")


def test_a_verification_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads the whole journal is not waited for."""
    monkeypatch.setattr(module.KeyHistory.advance, "__defaults__", (0.01,))
    with rl.Live(tmp_path / "shop.db", background=False) as live:
        live.create("search", kind="rerank")
        live.rank("search", "laptop", LIST)
        with live._upkeep.reading:
            assert history(live, "search", "laptop")["progress"] == {
                "complete": False, "entries": 0, "since": None, "upto": None,
            }  # fmt: skip
        assert whole(live, "search", "laptop")["progress"]["entries"] == 3
