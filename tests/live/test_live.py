"""The contract of the live loop, line by line."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from live_world import Clock, MakeStore, check_whole, choice_of, close_all, crash, image, in_journal, open_live

import rankloop as rl
from rankloop.live.entries import Fate, Kind, unpack_closing
from rankloop.live.sqlite import APPLICATION, SQLiteStore
from rankloop.live.stores import SCHEMA_VERSION, StoreError

ITEMS = ["sku-9", "sku-2", "sku-7"]


@pytest.fixture
def live(new_store: MakeStore, clock: Clock) -> Any:
    with open_live(new_store, clock) as live:
        live.create("search", kind="rerank", window="1 min", holdout=0.0, seed=1)
        yield live


def last_closing(live: rl.Live) -> Any:
    """The closing that came last."""
    live._journal.flush()
    return [unpack_closing(entry.body) for entry in in_journal(live) if entry.kind == Kind.CLOSE][-1]


def test_the_contract(tmp_path: Path) -> None:
    """The example of the contract, with all its names."""
    with rl.Live(tmp_path / "shop.db") as live:
        live.create("search", kind="rerank")
        shown = live.rank("search", "laptop", ITEMS, user="u1")
        assert shown.id
        assert sorted(shown.items) == sorted(ITEMS)
        assert live.click(shown.id, "sku-2") == "accepted"
        assert live.finish(shown.id) == "accepted"
        for i in range(2, 12):  # all of them, and the first, are in the holdout with probability 0.05 ** 11
            live.rank("search", "laptop", ITEMS, user=f"u{i}")
        status = live.status("search")
        for name in ("keys", "impressions", "open", "learned", "clicks", "duplicates", "late", "unknown", "uplift"):
            assert name in status
        assert sorted(live.best("search", "laptop")) == sorted(ITEMS)
        assert live.receipt("search", "laptop")
        assert live.explain(shown.id).items == shown.items
        live.revert("search", "laptop")
        assert live.best("search", "laptop") == ITEMS
        live.pause("search")
        assert live.rank("search", "laptop", ITEMS).items == ITEMS
        live.resume("search")
        found = live.verify()
        assert found.ok
        assert found.choices
        assert found.learned is not None
        assert found.differences == []

        live.create("rankers", kind="evaluate", rankers=["bm25", "ltr-7", "dense"], interleaver="team_draft")
        duel = live.duel("rankers", user="u1")
        assert len(set(duel.rankers)) <= 2
        assert set(duel.rankers) <= {"bm25", "ltr-7", "dense"}
        lists = {ranker: [f"{ranker}-{i}" for i in range(30)] for ranker in duel.rankers}
        shown = live.interleave(duel.id, lists, positions=10)
        following = shown.next_page()
        assert len(shown.items) == len(following.items) == 10
        assert not set(shown.items) & set(following.items)
        assert live.click(shown.id, following.items[0]) == "accepted"
        assert live.finish(duel.id) == "accepted"
        assert live.status("rankers")["survivors"] == ["bm25", "ltr-7", "dense"]
        assert live.status("rankers")["winner"] is None

        live.create("home", kind="diversify", relevance=2, topics=["news", "sport"])
        live.put_items("home", {f"a{i}": {"relevance": [0.1 * i, 0.2], "topics": [i % 2, 1 - i % 2]} for i in range(5)})
        shown = live.rank("home", "u1", [f"a{i}" for i in range(5)])
        assert sorted(shown.items) == [f"a{i}" for i in range(5)]
        assert live.click(shown.id, "a3") == "accepted"
        live.finish(shown.id)
        assert live.verify().ok


# -- windows and events ------------------------------------------------------------------------------------------


def test_a_window_passes(live: rl.Live, clock: Clock) -> None:
    shown = live.rank("search", "laptop", ITEMS)
    clock.now += 59.9
    assert live.click(shown.id, "sku-2") == "accepted"
    assert live.status("search")["open"] == 1
    clock.now += 0.2
    assert live.status("search")["open"] == 0
    assert live.click(shown.id, "sku-7") == "late"
    assert last_closing(live).clicks == (shown.items.index("sku-2"),)
    status = live.status("search")
    assert (status["learned"], status["clicks"], status["late"]) == (1, 1, 1)


def test_clicks_come_twice_and_out_of_order(live: rl.Live) -> None:
    first, second = (live.rank("search", "laptop", ITEMS) for _ in range(2))
    assert live.click(second.id, "sku-7") == "accepted"
    assert live.click(first.id, "sku-2") == "accepted"
    assert live.click(second.id, "sku-7") == "duplicate"
    assert live.finish(second.id) == "accepted"
    assert live.finish(first.id) == "accepted"
    assert live.finish(first.id) == "late"
    assert live.click(first.id, "sku-2") == "late"
    status = live.status("search")
    assert (status["learned"], status["clicks"], status["duplicates"], status["late"]) == (2, 2, 1, 1)
    check_whole(live)


def test_deferred_lists_count_once_shown(live: rl.Live, clock: Clock) -> None:
    never, later, clicked = (live.rank("search", "laptop", ITEMS, deferred=True) for _ in range(3))
    clock.now += 50
    assert live.shown(later.id) == "accepted"
    assert live.shown(later.id) == "duplicate"
    assert live.click(clicked.id, "sku-2") == "accepted"
    clock.now += 50
    assert live.click(never.id, "sku-2") == "late"
    assert live.click(later.id, "sku-2") == "accepted"  # its window began when it was shown
    clock.now += 20
    status = live.status("search")
    assert (status["never_shown"], status["learned"], status["open"]) == (1, 2, 0)
    check_whole(live)


def test_seen(live: rl.Live) -> None:
    shown = live.rank("search", "laptop", ITEMS)
    assert live.seen(shown.id, 2) == "accepted"
    assert live.seen(shown.id, 1) == "duplicate"
    live.finish(shown.id, seen=1)
    assert last_closing(live).seen == 2
    shown = live.rank("search", "laptop", ITEMS)
    live.click(shown.id, shown.items[2], seen=1)
    live.finish(shown.id)
    assert last_closing(live).seen == 3  # what was clicked was seen
    shown = live.rank("search", "laptop", ITEMS)
    live.finish(shown.id, seen=10**9)
    assert last_closing(live).fate == Fate.LEARNED
    check_whole(live)


def test_pinned_items_stay_and_are_not_learned_from(live: rl.Live) -> None:
    for _ in range(20):
        shown = live.rank("search", "laptop", [*ITEMS, "ad-1"], pinned={0: "ad-1", 2: "sku-2"})
        assert shown.items[0] == "ad-1"
        assert shown.items[2] == "sku-2"
        assert sorted(shown.items) == sorted([*ITEMS, "ad-1"])
        assert live.click(shown.id, "ad-1") == "ignored"
        assert live.click(shown.id, "sku-7") == "accepted"
        live.finish(shown.id, seen=2)
    assert live._learners.warm(live._loops.by_name["search"], "laptop").names == ("sku-9", "sku-7")
    assert live.status("search")["ignored"] == 20
    check_whole(live)


def test_lists_of_one_item(live: rl.Live) -> None:
    """There is nothing to decide: the list is answered, and what is known of others stays."""
    live.finish(live.rank("search", "laptop", ITEMS).id)
    for key in ("laptop", "new"):
        shown = live.rank("search", key, ["only"], pinned={0: "ad"})
        assert (shown.items, shown.fallback) == (["ad", "only"], False)
        assert live.click(shown.id, "only") == "ignored"
        live.finish(shown.id)
    assert live.best("search", "laptop")
    with pytest.raises(ValueError, match="nothing to say"):
        live.best("search", "new")
    assert live.status("search")["not_policy"] == 2
    assert live.rank("search", "new", ITEMS).arm == "policy"
    check_whole(live)


def test_every_fate_is_counted(live: rl.Live, clock: Clock, tmp_path: Path) -> None:
    shown = live.rank("search", "laptop", ITEMS)
    batch = [
        {"impression": shown.id, "item": "sku-2"},
        {"impression": shown.id, "item": "sku-2", "id": "again"},
        {"impression": shown.id, "item": "sku-9", "type": "hover"},
        {"impression": shown.id, "item": "elsewhere"},
        {"impression": "nonsense", "item": "sku-2"},
        {"impression": shown.id[:-2] + ("aa" if shown.id[-2:] != "aa" else "bb"), "item": "sku-2"},
        {"impression": None, "item": "sku-2"},
        {"impression": shown.id, "type": "seen", "seen": 2},
        {"item": "sku-2", "colour": "red"},
    ]
    fates = live.events(batch)
    assert [fate.split(":")[0] for fate in fates] == [
        "accepted", "duplicate", "ignored", "invalid", "unknown", "unknown", "unknown", "accepted", "invalid",
    ]  # fmt: skip
    with rl.Live(tmp_path / "other.db", background=False) as other:
        assert other.click(shown.id, "sku-2") == "foreign"
        other.create("search", kind="rerank")
        assert other.status("search")["foreign"] == 1
    live.finish(shown.id)
    assert live.click(shown.id, "sku-7") == "late"
    status = live.status("search")
    names = ("clicks", "duplicates", "ignored", "not_shown", "unknown", "late", "expired", "foreign")
    assert [status[name] for name in names] == [1, 1, 1, 1, 3, 1, 0, 0]
    check_whole(live)


def test_events_that_the_settings_count(new_store: MakeStore, clock: Clock) -> None:
    with open_live(new_store, clock) as live:
        live.create("search", kind="rerank", holdout=0.0, counts="add_to_cart")
        shown = live.rank("search", "laptop", ITEMS)
        event = {"impression": shown.id, "item": "sku-2"}
        assert live.events([event, {**event, "type": "add_to_cart"}]) == ["ignored", "accepted"]
        live.finish(shown.id)
        assert last_closing(live).clicks == (shown.items.index("sku-2"),)


# -- who decides -------------------------------------------------------------------------------------------------


def test_the_holdout_is_sticky(new_store: MakeStore, clock: Clock) -> None:
    with open_live(new_store, clock) as live:
        live.create("search", kind="rerank", holdout=0.3, seed=1)
        arms = {f"u{i}": live.rank("search", "laptop", ITEMS, user=f"u{i}").arm for i in range(300)}
        assert set(arms.values()) == {"policy", "holdout"}
        # 300 users, each with probability 0.3: outside of 50 to 130 with probability below 1e-6.
        assert 50 < list(arms.values()).count("holdout") < 130
        held = next(user for user, arm in arms.items() if arm == "holdout")
        for _ in range(20):
            shown = live.rank("search", "laptop", ITEMS, user=held)
            assert (shown.arm, shown.items) == ("holdout", ITEMS)
        live.click(shown.id, "sku-2")
        live.finish(shown.id)
        assert last_closing(live).fate == Fate.NOT_POLICY
        assert live.status("search")["uplift"].impressions == (0, 1)
    with open_live(new_store, clock) as live:
        assert {user: live.rank("search", "x", ITEMS, user=user).arm for user in arms} == arms
        check_whole(live)


def test_modes_and_traffic(live: rl.Live) -> None:
    live.change("search", mode="off")
    shown = live.rank("search", "laptop", ITEMS, user="u")
    assert (shown.arm, shown.items) == ("off", ITEMS)
    live.change("search", mode="shadow")
    chosen = set()
    for _ in range(30):
        shown = live.rank("search", "laptop", ITEMS, user="u")
        assert (shown.arm, shown.items) == ("shadow", ITEMS)
        chosen.add(choice_of(live, shown.id).items)
        assert live.click(shown.id, "sku-2") == "accepted"
        live.finish(shown.id)
    assert len(chosen) > 1  # what the policy would have shown
    assert live.best("search", "laptop") == ITEMS
    assert live.status("search")["learned"] == 0
    live.change("search", mode="live", traffic=0.5)
    arms = [live.rank("search", "laptop", ITEMS, user=f"u{i}").arm for i in range(200)]
    assert set(arms) == {"policy", "outside"}
    assert 60 < arms.count("policy") < 140  # 200 users, half of them: outside with probability below 1e-7
    check_whole(live)


def test_pausing(live: rl.Live, new_store: MakeStore, clock: Clock) -> None:
    before = live.rank("search", "laptop", ITEMS)
    live.pause("search")
    shown = live.rank("search", "laptop", ITEMS)
    assert (shown.arm, shown.items) == ("off", ITEMS)
    assert live.status("search")["mode"] == "paused"
    live.close()
    with open_live(new_store, clock) as again:
        assert again.status("search")["mode"] == "paused"
        again.finish(before.id)  # the policy had chosen it
        again.finish(shown.id)
        again.resume("search")
        assert again.rank("search", "laptop", ITEMS).arm == "policy"
        status = again.status("search")
        assert (status["learned"], status["not_policy"]) == (1, 1)
        check_whole(again)


def test_an_evaluation_that_is_paused_shows_its_first_ranker(live: rl.Live) -> None:
    live.create("rankers", kind="evaluate", rankers=["p", "q"], positions=3)
    live.pause("rankers")
    for _ in range(5):
        duel = live.duel("rankers")
        assert duel.rankers == ("p", "p")
        page = live.interleave(duel.id, {"p": ["a", "b", "c", "d"]})
        assert page.items == ["a", "b", "c"]
        live.click(duel.id, "a")
        live.finish(duel.id)
    live.resume("rankers")
    assert {ranker for _ in range(20) for ranker in live.duel("rankers").rankers} == {"p", "q"}
    assert live.status("rankers")["not_policy"] == 5
    check_whole(live)


def test_reverting(live: rl.Live) -> None:
    """Everything is forgotten, and lists that are under way are not learned from."""
    for _ in range(400):
        shown = live.rank("search", "laptop", ITEMS)
        live.events([{"impression": shown.id, "item": "sku-7"}])
        live._impressions.close(live._impressions._open[live._signer.read(shown.id).seq])
    assert live.best("search", "laptop") != ITEMS
    under_way = live.rank("search", "laptop", ITEMS)
    live.revert("search", "laptop")
    assert live.best("search", "laptop") == ITEMS
    live.click(under_way.id, "sku-7")
    live.finish(under_way.id)
    assert last_closing(live).fate == Fate.REVERTED
    assert live.status("search")["reverted"] == 1
    live.finish(live.rank("search", "laptop", ITEMS).id)
    assert last_closing(live).fate == Fate.LEARNED
    check_whole(live)


# -- lists that change -------------------------------------------------------------------------------------------


def test_lists_that_change(live: rl.Live) -> None:
    first = live.rank("search", "laptop", ITEMS)
    for items in (["sku-2", "new", "sku-9"], ["sku-9", "sku-2"], [*ITEMS, "more"], list(reversed(ITEMS))):
        shown = live.rank("search", "laptop", items)
        assert sorted(shown.items) == sorted(items)
        live.click(shown.id, items[0])
        live.finish(shown.id)
    assert live.click(first.id, "sku-7") == "accepted"
    live.finish(first.id)
    assert live.status("search")["learned"] + live.status("search")["outdated"] == 5
    check_whole(live)


def test_features_of_items_change(live: rl.Live, new_store: MakeStore, clock: Clock) -> None:
    live.create("home", kind="diversify", relevance=2, topics=["news", "sport"], positions=3, holdout=0.0, seed=3)
    items = {f"a{i}": {"relevance": [0.3, 0.1 * i], "topics": [i % 2, 1 - i % 2]} for i in range(4)}
    live.put_items("home", items)
    before = live.rank("home", "u1", list(items))
    live.put_items("home", {"a1": {"relevance": [0.9, 0.1], "topics": [0, 1]}, "b": items["a0"]})
    live.click(before.id, before.items[0])
    live.finish(before.id)
    shown = live.rank("home", "u1", [*items, "b"])
    assert len(shown.items) == 3
    live.click(shown.id, shown.items[1])
    crash(live)
    with open_live(new_store, clock) as again:
        assert again.finish(shown.id) == "accepted"
        again.finish(again.rank("home", "u1", [*items, "b"]).id)
        with pytest.raises(ValueError, match="'c' is not in the catalogue"):
            again.rank("home", "u1", ["a1", "c"])
        check_whole(again)
        assert again.status("home")["learned"] == 3


# -- duels -------------------------------------------------------------------------------------------------------


def test_duels_are_won_by_clicks(live: rl.Live) -> None:
    """The better ranker wins: 300 duels in which only its items are clicked."""
    live.create("rankers", kind="evaluate", rankers=["bad", "good", "ugly"], positions=2, seed=1)
    for _ in range(300):
        duel = live.duel("rankers")
        lists = {ranker: [f"{ranker}-{i}" for i in range(4)] for ranker in duel.rankers}
        page = live.interleave(duel.id, lists)
        won = [{"impression": duel.id, "item": item} for item in page.items if item.startswith("good")]
        live.events(won[:1])
        live.finish(duel.id)
    status = live.status("rankers")
    assert status["best"] == "good"
    assert status["learned"] + status["ties"] == 300
    assert status["learned"] > 20
    check_whole(live)


def test_pages_of_a_duel(live: rl.Live, new_store: MakeStore, clock: Clock) -> None:
    live.create("rankers", kind="evaluate", rankers=["p", "q"], positions=4, seed=1)
    duel = live.duel("rankers")
    lists = {"p": [f"p{i}" for i in range(10)], "q": [f"q{i}" for i in range(10)]}
    page = live.interleave(duel.id, lists)
    following = page.next_page()
    with pytest.raises(ValueError, match="not shown"):
        live.click(duel.id, "p9")
    live.click(duel.id, following.items[0])
    crash(live)
    with open_live(new_store, clock) as again:
        third = again.interleave(duel.id, lists)
        assert len({*page.items, *following.items, *third.items}) == 12
        assert again.click(duel.id, following.items[0]) == "duplicate"
        assert again.click(duel.id, third.items[0]) == "accepted"
        again.finish(duel.id)
        with pytest.raises(ValueError, match="ask for a new one"):
            again.interleave(duel.id, lists)
        check_whole(again)


def test_a_duel_whose_window_has_passed(live: rl.Live, clock: Clock) -> None:
    live.create("rankers", kind="evaluate", rankers=["p", "q"], window=60)
    duel = live.duel("rankers")
    clock.now += 61
    with pytest.raises(ValueError, match="late"):
        live.interleave(duel.id, {"p": ["a"], "q": ["b"]})


# -- creating, configuring, opening again ------------------------------------------------------------------------


def test_creating_twice(live: rl.Live) -> None:
    live.create("search", kind="rerank", window="1 min", holdout=0.0, seed=1)
    live.create("search", kind="rerank", window=60, holdout=0.0)
    before = image(live)
    for other in ({"window": "2 min"}, {"holdout": 0.1}, {"positions": 5}, {"policy": "TopRank"}, {"seed": 2}):
        with pytest.raises(ValueError, match="same settings, or another name"):
            live.create("search", **{"kind": "rerank", "window": 60, "holdout": 0.0, **other})
    assert image(live) == before
    assert live.loops == ("search",)


def test_a_configuration_file(new_store: MakeStore, tmp_path: Path) -> None:
    path = tmp_path / "rankloop.toml"
    path.write_text(
        '[live]\nmemory = "1 MB"\n[loops.search]\nkind = "rerank"\npositions = 5\nwindow = "10 min"\n'
        '[loops."Größe 大"]\nkind = "evaluate"\nrankers = ["p", "q"]\n',
        encoding="utf-8",
    )
    for _ in range(2):
        with rl.Live(new_store(), config=path, background=False) as live:
            assert set(live.loops) == {"search", "Größe 大"}
            assert live._loops.by_name["search"].settings.window == 600
            assert live.duel("Größe 大").rankers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[loops.search]\npositions = 5\n", "kind"),
        ('[loops.search]\nkind = "rerank"\npositons = 5\n', "positions"),
        ('[loop.search]\nkind = "rerank"\n', "loops"),
        ("[loops]\nsearch = 3\n", "section of its own"),
        ('[live]\nmemory = "much"\n', "256 MB"),
        ("loops = [", "not a TOML file"),
    ],
)
def test_configuration_files_with_mistakes(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "rankloop.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        rl.Live(tmp_path / "shop.db", config=path)
    assert not (tmp_path / "shop.db").exists()


def test_a_clean_end_loses_nothing(new_store: MakeStore, clock: Clock) -> None:
    with open_live(new_store, clock) as live:
        live.create("search", kind="rerank", window=60, holdout=0.0, seed=1)
        lists = [live.rank("search", f"key {i % 3}", ITEMS) for i in range(30)]
        live.click(lists[0].id, "sku-2")
        states = {n: state for n, (_, state) in live._learners.states().items()}
    with open_live(new_store, clock) as live:
        assert live.status("search")["open"] == 30
        for i in range(3):
            live.best("search", f"key {i}")
        assert {n: state for n, (_, state) in live._learners.states().items()} == states
        assert live.click(lists[0].id, "sku-2") == "duplicate"
        assert live.click(lists[29].id, "sku-2") == "accepted"
        close_all(live, clock)
        assert live.status("search")["learned"] == 30
        check_whole(live)


def test_an_event_brings_back_what_a_crash_lost(new_store: MakeStore, clock: Clock) -> None:
    live = open_live(new_store, clock)
    live.create("search", kind="rerank", window=60, holdout=0.0, seed=1)
    live.rank("search", "laptop", ITEMS)
    live.attend()
    lost = [live.rank("search", "laptop", ITEMS) for _ in range(20)]
    n = len(in_journal(live))
    crash(live)
    with open_live(new_store, clock) as live:
        assert len(in_journal(live)) == n + 1  # it was opened again
        assert live.click(lost[3].id, "sku-2") == "accepted"
        assert live.click(lost[3].id, "sku-2") == "duplicate"
        assert live.finish(lost[4].id) == "accepted"
        again = [live.rank("search", "laptop", ITEMS) for _ in range(20)]
        assert not {shown.id for shown in again} & {shown.id for shown in lost}
        # New random numbers: the old ones would give the same lists, new ones do with probability 2 ** -20.
        assert [shown.items for shown in again] != [shown.items for shown in lost]
        clock.now += 61
        assert live.click(lost[5].id, "sku-2") == "late"
        live.attend()
        status = live.status("search")
        assert (status["recovered"], status["learned"], status["late"]) == (2, 23, 1)
        check_whole(live)


def test_removing_old_entries(new_store: MakeStore, clock: Clock) -> None:
    """What is older than it is kept goes; what is left can be verified, also after a crash."""
    live = open_live(new_store, clock, keep="10 min")
    live.create("search", kind="rerank", window=60, holdout=0.0, seed=1)
    old = [live.rank("search", f"key {i % 3}", ITEMS) for i in range(10)]
    for shown in old[1:]:
        live.finish(shown.id)
    live._upkeep.checkpoint()
    clock.now += 3_600
    live._journal.add(Kind.OPENED, 0, None, b"{}")
    live.trim()
    assert live._impressions.trimmed > 0
    assert live.click(old[1].id, "sku-2") == "expired"
    assert live.status("search")["closed"] == 10  # among them one that began before what is left
    live._journal.flush()
    crash(live)
    live = open_live(new_store, clock, keep="10 min")
    assert live.verify().ok
    for i in range(3):
        assert live.best("search", f"key {i}")
        live.finish(live.rank("search", f"key {i}", ITEMS).id)
    found = live.verify()
    assert found.ok, found.differences
    live.close()


def test_time_that_goes_backwards(live: rl.Live, clock: Clock) -> None:
    """Windows go on, and end after as long as they should."""
    shown = live.rank("search", "laptop", ITEMS)
    clock.now += 30
    live.attend()
    clock.now -= 86_400
    assert live.click(shown.id, "sku-2") == "accepted"
    clock.now += 29
    assert live.click(shown.id, "sku-7") == "accepted"
    clock.now += 2
    assert live.click(shown.id, "sku-9") == "late"
    later = live.rank("search", "laptop", ITEMS)
    clock.now += 86_500  # the clock is right again
    assert live.click(later.id, "sku-9") == "late"
    ats = [entry.at for entry in in_journal(live)]
    assert ats == sorted(ats)
    check_whole(live)


# -- bad input ---------------------------------------------------------------------------------------------------

LONG = "x" * 1_000_000
BAD: list[tuple[str, Callable[[rl.Live], Any], str]] = [
    ("unknown loop", lambda live: live.rank("serach", "k", ITEMS), "did you mean 'search'"),
    ("unknown kind", lambda live: live.create("x", kind="rerankk"), "did you mean 'rerank'"),
    ("unknown policy", lambda live: live.create("x", kind="rerank", policy="BubleRank"), "did you mean 'BubbleRank'"),
    ("policy of another kind", lambda live: live.create("x", kind="rerank", policy="MergeDTS"), "policy for rerank"),
    ("unknown setting", lambda live: live.create("x", kind="rerank", positons=3), "did you mean 'positions'"),
    ("bad window", lambda live: live.create("x", kind="rerank", window="soon"), "length of time"),
    ("bad holdout", lambda live: live.create("x", kind="rerank", holdout=1.0), "share from 0 to below 1"),
    ("bad positions", lambda live: live.create("x", kind="rerank", positions=0), "positions"),
    ("one ranker", lambda live: live.create("x", kind="evaluate", rankers=["a"]), "at least 2"),
    ("no rankers", lambda live: live.create("x", kind="evaluate"), "rankers"),
    ("no topics", lambda live: live.create("x", kind="diversify", relevance=2), "topics"),
    ("empty loop name", lambda live: live.create("", kind="rerank"), "must not be empty"),
    ("fixed setting", lambda live: live.change("search", window=5), "cannot be changed"),
    ("duel of lists", lambda live: live.duel("search"), "use rank"),
    ("rank of rankers", lambda live: live.rank("rankers", "k", ITEMS), "use duel"),
    ("empty list", lambda live: live.rank("search", "k", []), "must not be empty"),
    ("repeated item", lambda live: live.rank("search", "k", ["a", "b", "a"]), "'a' is there twice"),
    ("10,000 items", lambda live: live.rank("search", "k", [str(i) for i in range(10_000)]), "at most 1,000"),
    ("a text for a list", lambda live: live.rank("search", "k", "abc"), "list of texts"),
    ("numbers for items", lambda live: live.rank("search", "k", [1, 2]), "must be a text"),
    ("an item of 1 MB", lambda live: live.rank("search", "k", ["a", LONG]), "at most 1,024 characters"),
    ("a key of 1 MB", lambda live: live.rank("search", LONG, ITEMS), "at most 1,024 characters"),
    ("an empty key", lambda live: live.rank("search", "", ITEMS), "key must not be empty"),
    ("a key with NUL", lambda live: live.rank("search", "a\0b", ITEMS), "NUL or surrogate"),
    ("an item with a surrogate", lambda live: live.rank("search", "k", ["a", "\ud800"]), "NUL or surrogate"),
    ("a user that is no text", lambda live: live.rank("search", "k", ITEMS, user=7), "user must be a text"),  # type: ignore[arg-type]
    ("all pinned", lambda live: live.rank("search", "k", ["a"], pinned={0: "a"}), "nothing left to rank"),
    ("pinned before the page", lambda live: live.rank("search", "k", ITEMS, pinned={-1: "a"}), "count from 0"),
    ("no catalogue", lambda live: live.put_items("search", {"a": {}}), "only a loop of kind diversify"),
    ("narrow", lambda live: live.put_items("home", {"a": {"relevance": [1], "topics": [1, 0]}}), "must have 2 numbers"),
    ("NaN", lambda live: live.put_items("home", {"a": {"relevance": [1, float("nan")], "topics": [1, 0]}}), "finite"),
    ("no items", lambda live: live.put_items("home", {}), "must be an object"),
    ("unknown item", lambda live: live.rank("home", "k", ["a", "b"]), "not in the catalogue"),
    ("revert of a new key", lambda live: live.revert("search", "never"), "has not been asked"),
    ("best of a new key", lambda live: live.best("search", "never"), "has not been asked"),
    ("receipt of a duel", lambda live: live.receipt("rankers", ""), "BubbleRank|has not been asked"),
    ("negative seen", lambda live: live.seen("x", -1), "whole number of at least 0"),
    ("an event that is no object", lambda live: live._hearing.take_all([1]), "an event is an object"),  # type: ignore[arg-type]
    ("no duel", lambda live: live.interleave("nonsense", {}), "there is no duel"),
    ("explain nonsense", lambda live: live.explain("nonsense"), "there is no impression"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_input_changes_nothing(tmp_path: Path, call: Callable[[rl.Live], Any], message: str) -> None:
    """One clear sentence, and everything is as before."""
    with open_live(lambda: SQLiteStore(tmp_path / "shop.db")) as live:
        live.create("search", kind="rerank")
        live.create("rankers", kind="evaluate", rankers=["p", "q"])
        live.create("home", kind="diversify", relevance=2, topics=["news", "sport"])
        before = image(live)
        with pytest.raises(ValueError, match=message) as caught:
            call(live)
        assert len(str(caught.value)) < 300
        assert "\n" not in str(caught.value)
        assert image(live) == before


def test_a_click_on_what_was_not_shown(live: rl.Live) -> None:
    shown = live.rank("search", "laptop", ITEMS)
    live.attend()
    before = in_journal(live)
    with pytest.raises(ValueError, match="was not shown"):
        live.click(shown.id, "elsewhere")
    assert in_journal(live) == before
    assert live.status("search")["not_shown"] == 1


def test_names_of_any_script(live: rl.Live, new_store: MakeStore, clock: Clock) -> None:
    names = ["ноутбук", "ノート", "🦊🦊", "حاسوب", 'a"b', "a\nb", "\u00e9", "e\u0301", " ", "x" * 1_024]
    live.create("поиск 🔎", kind="rerank", holdout=0.0)
    for key in names:
        shown = live.rank("поиск 🔎", key, names, user=key)
        assert sorted(shown.items) == sorted(names)
        assert live.click(shown.id, key) == "accepted"
        live.finish(shown.id)
    live.close()
    with open_live(new_store, clock) as again:
        assert again.status("поиск 🔎")["keys"] == len(names)
        assert sorted(again.best("поиск 🔎", "🦊🦊")) == sorted(names)
        check_whole(again)


# -- files that are not what they should be ----------------------------------------------------------------------


def refused(path: Path, **more: Any) -> str:
    """The sentence with which a file is refused; the file is as it was."""
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(StoreError) as caught:
        rl.Live(path, **more)
    assert (path.read_bytes() if path.is_file() else b"") == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
    connection.close()
    assert "another program" in refused(path)
    path.write_bytes(b"not a database at all" * 100)
    assert "not a database" in refused(path)
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    assert "newer rankloop" in refused(path)
    path.unlink()
    with rl.Live(path, background=False) as live:
        live.create("search", kind="rerank")
        for number in range(200):
            live.rank("search", f"key {number}", ITEMS)
        assert "held by process" in refused(path)
    path.chmod(0o444)
    assert "read-only" in refused(path)
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-8_192])
    assert "damaged" in refused(path)
    assert "no folder" in refused(tmp_path / "nowhere" / "shop.db")
    assert "is a folder" in refused(tmp_path)
    assert "no store" in refused(tmp_path / "absent.db", read_only=True)


def test_held_by_another_process(tmp_path: Path) -> None:
    tries = "try:\n    rl.Live(sys.argv[1])\nexcept rl.live.StoreError as error:\n    print(error)"
    script = f"import sys, rankloop as rl\n{tries}"
    with rl.Live(tmp_path / "shop.db", background=False) as live:
        live.create("search", kind="rerank")
        command = [sys.executable, "-c", script, str(tmp_path / "shop.db")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        assert "is held by process" in done.stdout
        shown = live.rank("search", "laptop", ITEMS)
        assert live.click(shown.id, "sku-2") == "accepted"
        check_whole(live)


def test_a_live_that_is_closed(new_store: MakeStore) -> None:
    live = open_live(new_store)
    live.create("search", kind="rerank")
    live.close()
    live.close()
    with pytest.raises(StoreError, match="is closed"):
        live.rank("search", "laptop", ITEMS)


def test_looking_only(new_store: MakeStore, clock: Clock, tmp_path: Path) -> None:
    path = tmp_path / "looked-at.db"
    with rl.Live(path, background=False) as live:
        live.create("search", kind="rerank", holdout=0.0)
        shown = live.rank("search", "laptop", ITEMS)
        live.click(shown.id, "sku-2")
        with rl.Live(path, read_only=True) as look:
            assert look.status("search")["clicks"] == 1
            assert look.verify().ok
            with pytest.raises(StoreError, match="read-only"):
                look.click(shown.id, "sku-2")


@pytest.mark.parametrize(
    ("n_items", "pinned", "positions", "page"),
    [
        (3, {0: "x"}, 3, ["x", "a", "b"]),
        (3, {1: "x", 3: "y"}, 9, ["a", "x", "b", "y", "c"]),
        (3, {5: "x"}, 3, ["a", "b", "c"]),
        (2, {1: "x", 7: "y"}, 9, ["a", "x", "b", "y"]),
        (2, {3: "x", 4: "y"}, 4, ["a", "b", "x", "y"]),
    ],
)
def test_a_pinned_item_that_the_list_is_too_short_for_comes_last(
    live: rl.Live, n_items: int, pinned: dict[int, str], positions: int, page: list[str]
) -> None:
    live.create("short", kind="rerank", positions=positions, mode="off")
    shown = live.rank("short", "key", list("abc"[:n_items]), pinned=pinned)
    assert (shown.items, shown.arm) == (page, "off")
