"""Keys by traffic, against plain SQL: pages, searches, and several journals as one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from live_world import Clock, MakeStore, close_all, open_live
from views_world import LIST, ODD_KEYS, InSQL, busy, keys

import rankloop as rl
from rankloop.live.views import journal_counts as following
from rankloop.live.views import keys as page_of_keys
from rankloop.live.views.keys import keys_in, merge_keys


def all_pages(live: rl.Live, loop: str, limit: int, search: str = "") -> list[str]:
    found: list[str] = []
    after = ""
    for _ in range(200):
        page = keys(live, loop, after, limit, search)
        assert len(page["keys"]) <= limit
        found += [row["key"] for row in page["keys"]]
        if page["next"] is None:
            return found
        after = page["next"]
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize("at_once", [7, 20_000])
def test_counts(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """However many entries are counted at once, and whatever came between two looks."""
    monkeypatch.setattr(following, "AT_ONCE", at_once)
    path = tmp_path / "shop.db"
    with rl.Live(path, clock=clock, background=False) as live:
        live.create("search", kind="rerank", window="2 min")
        live.create("home", kind="follow", window="2 min")
        busy(live, clock)
        assert keys(live, "search")["counted"]["entries"] > 0
        busy(live, clock, "home", 5)
        busy(live, clock, rounds=11)
        close_all(live, clock, after=200.0)
        live.commit(live.last)
        for number, loop in enumerate(("search", "home"), 1):
            for _ in range(1_000):
                page = keys(live, loop)
                if page["counted"]["complete"]:
                    break
            plain, status = InSQL(path), live.status(loop)
            words = ("impressions", "clicks", "learned")
            counted = {row["key"]: Counter({word: row[word] for word in words}) for row in page["keys"]}
            assert counted == {
                key: Counter({word: of_key[word] for word in words}) for key, of_key in plain.of_keys(number).items()
            }
            for word in words:
                assert sum(count[word] for count in counted.values()) == status[word]
            traffic = [row["impressions"] for row in page["keys"]]
            assert traffic == sorted(traffic, reverse=True)
            assert page["total"] == status["keys"] == len(ODD_KEYS)
            last = {key: at for _, at, _, _, _, _, n, key in plain.rows if n == number}
            assert {row["key"]: round(row["last"] * 1000) for row in page["keys"]} == last


def test_pages(new_store: MakeStore, clock: Clock) -> None:
    """Every key stands on one page, in the order of traffic, whatever the length of a page."""
    with open_live(new_store, clock) as live:
        live.create("search", kind="rerank", window="2 min")
        busy(live, clock, rounds=4)
        for n in range(20):
            live.rank("search", f"rare {n:02}", LIST)
        live.commit(live.last)
        whole = [row["key"] for row in keys(live, "search", limit=200)["keys"]]
        assert len(whole) == len(ODD_KEYS) + 20
        assert whole[0] == "laptop"
        for limit in (1, 3, 26, 27, 28):
            assert all_pages(live, "search", limit) == whole
        assert all_pages(live, "search", 7, "rare") == [f"rare {n:02}" for n in range(20)]


def test_searches(new_store: MakeStore, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_live(new_store, clock) as live:
        live.create("search", kind="rerank", window="2 min")
        busy(live, clock, rounds=4)
        for key in ODD_KEYS:
            found = keys(live, "search", search=key)
            assert key in [row["key"] for row in found["keys"]]
        assert [row["key"] for row in keys(live, "search", search="laptop")["keys"]] == ["laptop", "laptop bag"]
        found = keys(live, "search", search="%")
        assert ([row["key"] for row in found["keys"]], found["matches"]) == (["100 %"], 1)
        assert keys(live, "search", search="nobody asks")["keys"] == []
        monkeypatch.setattr(page_of_keys, "MATCHES", 2)
        assert keys(live, "search", search="a")["matches"] == 2


def test_several_journals(tmp_path: Path, clock: Clock) -> None:
    """Pages of keys that are spread over three journals are the pages of all of them in one order."""
    lives = [rl.Live(tmp_path / f"{n}.db", clock=clock, background=False) for n in range(3)]
    try:
        expected = {}
        for n, live in enumerate(lives):
            live.create("search", kind="rerank", holdout=0)
            for k in range(10):
                for _ in range(1 + (k * (n + 2)) % 5):
                    live.rank("search", f"key {n} {k}", LIST)
                expected[f"key {n} {k}"] = 1 + (k * (n + 2)) % 5
            live.commit(live.last)
        for limit in (1, 4, 29, 30, 31):
            found, after = [], ""
            for _ in range(40):
                pages = [page for live in reversed(lives) if (page := keys_in(live, "search", after, limit))]
                page = merge_keys(pages, after, limit)
                found += [(row["key"], row["impressions"]) for row in page["keys"]]
                if page["next"] is None:
                    break
                after = page["next"]
            assert dict(found) == expected
            assert len(found) == len(expected)
            assert [n for _, n in found] == sorted(expected.values(), reverse=True)
            assert page["total"] == 30
    finally:
        for live in lives:
            live.close()


def test_a_journal_that_has_been_trimmed(new_store: MakeStore, clock: Clock) -> None:
    """Only what is kept is counted, and the answer says since when."""
    with open_live(new_store, clock, keep="1 h") as live:
        live.create("search", kind="rerank", window="2 min")
        busy(live, clock)
        live.commit(live.last)
        live._upkeep.checkpoint()
        clock.now += 7200
        close_all(live, clock, after=1.0)
        live._upkeep.checkpoint()
        live.rank("search", "laptop", LIST)
        live.commit(live.last)
        assert live.trim() > 0
        (row,) = keys(live, "search")["keys"]
        assert (row["key"], row["impressions"], row["clicks"]) == ("laptop", 1, 0)
        assert keys(live, "search")["total"] == len(ODD_KEYS)
        assert keys(live, "search", search="100 %")["keys"][0]["impressions"] == 0


@pytest.mark.parametrize("after", ["x", "1", "1.2", "1.2.3.4", "-1.2.3", "1.2.²", "9" * 20 + ".1.1"])
def test_a_cursor_that_is_none(tmp_path: Path, after: str) -> None:
    with rl.Live(tmp_path / "shop.db", background=False) as live:
        live.create("search", kind="rerank")
        with pytest.raises(ValueError, match="after must be the `next`"):
            keys_in(live, "search", after)
        assert keys_in(live, "nothing") is None
