"""Reading click logs, good and bad."""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import SHARED

from rankloop.datasets import (
    ClickLog,
    SyntheticQueries,
    read_click_log,
    read_csv,
    read_parquet,
    read_ubi,
    read_yandex,
    synthetic_click_log,
    write_csv,
    write_yandex,
    yandex,
)
from rankloop.datasets.streams import blocks_of_lines
from rankloop.datasets.vocabulary import Vocabulary

SAMPLE = SHARED / "click_logs" / "yandex_relpred_sample.tsv"


def sessions_of(log: ClickLog) -> list[tuple[str, list[str], list[int]]]:
    result = []
    for query, items, clicks in zip(log.queries, log.items.tolist(), log.clicks.tolist(), strict=True):
        names = [log.item_name(code) for code in items if code >= 0]
        result.append((log.query_names[query], names, clicks[: len(names)]))
    return result


def plain_yandex(text: str) -> list[tuple[str, list[str], list[int]]]:
    """The format in a few lines of Python, for logs without faults but clicks on unshown items."""
    rows: list[tuple[str, str, list[str], list[int]]] = []
    for line in text.splitlines():
        session, _, action, *rest = line.split("\t")
        if action == "Q":
            rows.append((session, rest[0], rest[2:], [0] * len(rest[2:])))
        else:
            for known, _, items, clicks in reversed(rows):
                if known != session:
                    break
                if rest[0] in items:
                    clicks[items.index(rest[0])] = 1
                    break
    return [(query, items, clicks) for _, query, items, clicks in rows]


@pytest.mark.skipif(not SAMPLE.exists(), reason="the shared click log is not here")
def test_the_sample_is_read_as_plain_python_reads_it() -> None:
    log = read_yandex(SAMPLE)
    assert sessions_of(log) == plain_yandex(SAMPLE.read_text())
    assert log.report.lines == 85_385
    assert log.nbytes == 54 * 35_064


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "log.tsv"
    path.write_bytes(text.encode())
    return path


def test_clicks_go_to_the_latest_query_that_shows_the_item(tmp_path) -> None:
    text = "1\t0\tQ\tx\t0\ta\tb\n1\t1\tQ\ty\t0\tb\tc\n1\t2\tC\tb\n1\t3\tC\ta\n2\t0\tQ\tx\t0\ta\n2\t1\tC\ta\n"
    log = read_yandex(written(tmp_path, text))
    assert sessions_of(log) == [("x", ["a", "b"], [1, 0]), ("y", ["b", "c"], [1, 0]), ("x", ["a"], [1])]
    assert not log.report.skipped


def test_every_fault_is_skipped_and_counted(tmp_path) -> None:
    lines = [
        "9\t0\tC\ta",  # 1: before its query
        "1\t0\tQ\tx\t0\ta\tb\ta",  # 2: an item twice
        "1\t1\tC\tz",  # 3: not shown
        "1\t1\tC",  # 4: too short
        "1\t1\tC\ta\tb",  # 5: too long
        "1\t1\tX\ta",  # 6: unknown action
        "nonsense",  # 7: unknown action
        "",  # 8: nothing
        "2\t0\tQ\tx\t0",  # 9: no items
        "2\t1\tC\ta",  # 10: its query was skipped
        "3\t0\tQ\t\t0\ta",  # 11: no query
        "4\t0\tQ\ty\t0\t" + "\t".join(str(i) for i in range(12)),  # 12: two items too many
        "4\t1\tC\t11",  # 13: below the positions read
        "4\t1\tC\t9",  # 14: good
        "5\t0\tQ\ty\t0\ta\t\tb",  # 15: an item without a name
    ]
    log = read_yandex(written(tmp_path, "\n".join(lines)))
    assert sessions_of(log) == [
        ("x", ["a", "b"], [0, 0]),
        ("y", [str(i) for i in range(10)], [0] * 9 + [1]),
        ("y", ["a", "b"], [0, 0]),
    ]
    report = log.report
    assert report.lines == 15
    reasons = {reason.split(" (")[0]: (times, report.first_line[reason]) for reason, times in report.skipped.items()}
    assert reasons == {
        "a click before any query of its session": (2, 1),
        "an item shown twice in one list": (1, 2),
        "a click on an item that was not shown": (2, 3),
        "a click line that does not have 4 fields": (2, 4),
        "an action that is neither Q nor C": (2, 6),
        "a query line with fewer than 6 fields": (1, 9),
        "an empty name of a query or item": (2, 11),
        "an item below the last position that is read": (2, 12),
    }
    assert "2 × an action that is neither Q nor C (first on line 6)" in str(report)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"hello\n", "line 1: an action that is neither Q nor C; none of 1 line"),
        (b"\n1\t0\tC\t5\n", "line 2: a click before any query"),
        (b"\x00\xff\x00" * 100, "line 1"),
        (gzip.compress(b"1\t0\tQ\tx\t0\ta\n" * 1000, mtime=0)[:40], "cannot be unpacked"),
    ],
)
def test_files_without_a_session_are_refused(tmp_path, content, complaint) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=complaint):
        read_yandex(path)


def test_missing_files_and_directories_are_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match="no file"):
        read_click_log(tmp_path / "none")
    with pytest.raises(ValueError, match="is a directory"):
        read_click_log(tmp_path)
    with pytest.raises(ValueError, match="n_positions"):
        read_yandex(tmp_path / "none", n_positions=65)


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_blocks_join_to_the_file(tmp_path, size, monkeypatch) -> None:
    """Lines, sessions and names go on across blocks, with any line ending, packed or not."""
    log = synthetic_click_log(300, n_queries=20)
    write_yandex(log, tmp_path / "log")
    content = (tmp_path / "log").read_bytes()
    for variant in (content, content.replace(b"\n", b"\r\n"), content.rstrip(b"\n"), gzip.compress(content)):
        (tmp_path / "variant").write_bytes(variant)
        monkeypatch.setattr(yandex, "blocks_of_lines", lambda path: blocks_of_lines(path, size))
        assert sessions_of(read_yandex(tmp_path / "variant")) == sessions_of(log)


names = st.text(st.characters(exclude_characters="\t\n\r\x00", exclude_categories=["Cs"]), min_size=1, max_size=12)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(names, st.integers(0, 10**12).map(str)), max_size=200))
def test_a_vocabulary_is_a_numbering_of_names(given_names) -> None:
    vocabulary, items, numbers = Vocabulary(), Vocabulary(), {}
    for name in given_names:
        assert vocabulary.find(name) == numbers.get(name, -1)
        numbers.setdefault(name, len(numbers))
        assert vocabulary.add(name) == numbers[name]
        assert items.item_name(items.add(name, as_item=True)) == name
        assert items.find(name, as_item=True) == items.add(name, as_item=True)
    vocabulary.trim()
    assert list(vocabulary) == list(numbers)
    assert vocabulary.find("no such name at all") == -1


def test_numbers_need_no_place_in_the_vocabulary() -> None:
    items = Vocabulary()
    assert [items.add(name, as_item=True) for name in ("0", "17", "999999999")] == [0, 17, 999_999_999]
    assert len(items) == 0
    codes = {name: items.add(name, as_item=True) for name in ("007", "1e3", "-1", "1073741824", "")}
    assert len(set(codes.values())) == len(codes) == len(items)


def test_tables_are_read(tmp_path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "Query,other,clicks,items\n"
        'red shoes,1,0 1,"a, b"\n'
        'x,1,"[1, 0]","[""a b"", ""c""]"\n'
        "x,1,1|0,a b|c\n"
        "x,1,1;1,a;a\n"
        "x,1,0 2,a b\n"
        "x,1,0,a b\n"
        "x,1,,\n"
        ",1,0,a\n"
        "x,1,0\n"
        "\n"
        "x,1,[oops,a\n"
    )
    log = read_csv(path)
    assert sessions_of(log) == [
        ("red shoes", ["a,", "b"], [0, 1]),
        ("x", ["a b", "c"], [1, 0]),
        ("x", ["a b", "c"], [1, 0]),
        ("x", ["a"], [1]),
    ]
    assert Counter(log.report.skipped) == {
        "clicks that are not one 0 or 1 for each item": 3,
        "a row without items": 1,
        "a row without a query": 1,
        "a row with another number of fields than the header": 1,
        "an item shown twice in one list (its first place is kept, those below move up)": 1,
    }
    assert log.report.first_line["clicks that are not one 0 or 1 for each item"] == 6
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="line 1: the columns must include query, items and clicks"):
        read_csv(path)


@pytest.mark.parametrize("pack", [False, True])
def test_written_logs_are_read_back(tmp_path, pack) -> None:
    log = ClickLog.from_sessions(
        [("a, b", ["x y", "z|"], [1, 0]), ("q", ["1", "2", "3"], [0, 0, 1]), ("q", ["[1", 'quo"te'], [1, 1])]
    )
    write_csv(log, tmp_path / "log")
    if pack:
        (tmp_path / "log").write_bytes(gzip.compress((tmp_path / "log").read_bytes()))
    assert sessions_of(read_click_log(tmp_path / "log")) == sessions_of(log)


def test_parquet_is_read_or_says_what_it_needs(tmp_path) -> None:
    path = tmp_path / "log.parquet"
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        path.write_bytes(b"PAR1 and so on")
        with pytest.raises(ValueError, match=r"needs pyarrow: pip install 'rankloop\[parquet\]'"):
            read_click_log(path)
        return
    columns = {"query": ["x", None, "y"], "items": [["a", "b"], ["a"], ["c"]], "clicks": [[0, 1], [0], [1, 1]]}
    pq.write_table(pa.table(columns), path)
    log = read_click_log(path)
    assert sessions_of(log) == [("x", ["a", "b"], [0, 1])]
    assert sum(log.report.skipped.values()) == 2
    path.write_bytes(b"PAR1 and so on")
    with pytest.raises(ValueError, match="not a Parquet file"):
        read_parquet(path)


def test_parquet_without_pyarrow(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match="needs pyarrow"):
        read_parquet(tmp_path / "log.parquet")


def test_user_behavior_insights_are_read(tmp_path) -> None:
    queries = [
        {"query_id": "1", "user_query": "shoes", "query_response_hit_ids": ["a", "b", "c"]},
        {"_source": {"query_id": "2", "user_query": "shoes", "query_response_hit_ids": ["b", "a"]}},
        {"query_id": "1", "user_query": "shoes", "query_response_hit_ids": ["d"]},
        {"query_id": "3", "user_query": "hats", "query_response_hit_ids": []},
        {"query_id": "4", "query_response_hit_ids": ["a"]},
        {"user_query": "hats", "query_response_hit_ids": ["a"]},
        [1],
    ]
    events = [
        {"action_name": "click", "query_id": "1", "event_attributes": {"object": {"object_id": "b"}}},
        {"action_name": "click_through", "query_id": "2", "event_attributes": {"position": {"ordinal": 2}}},
        {"action_name": "purchase", "query_id": "2", "event_attributes": {"object": {"object_id": "b"}}},
        {"action_name": "click", "query_id": "9", "event_attributes": {"object": {"object_id": "b"}}},
        {"action_name": "click", "query_id": "1", "event_attributes": {"object": {"object_id": "z"}}},
        {"action_name": "click", "query_id": "1", "event_attributes": {"position": {"ordinal": 4}}},
        {"action_name": "click", "query_id": "1"},
        {"query_id": "1"},
    ]
    for name, entries in (("queries", queries), ("events", events)):
        text = "\n".join(json.dumps(entry) for entry in entries) + "\nnot json\n"
        (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name == "events" else text.encode())
    log = read_click_log(tmp_path / "queries", events=tmp_path / "events")
    assert sessions_of(log) == [("shoes", ["a", "b", "c"], [0, 1, 0]), ("shoes", ["b", "a"], [0, 1])]
    assert log.report.skipped == {
        "a query_id that an earlier query has (the first is kept)": 1,
        "a query without query_response_hit_ids": 1,
        "a query without user_query": 1,
        "a query without query_id": 1,
        "a line that is not a JSON object": 1,
        "a line that is not JSON": 1,
        "a click without a query that was read, in events": 1,
        "a click on an item that was not shown, in events": 2,
        "a click without object_id or ordinal, in events": 1,
        "an event without action_name, in events": 1,
        "a line that is not JSON, in events": 1,
    }
    carts = read_ubi(tmp_path / "queries", tmp_path / "events", actions=["purchase"])
    assert carts.clicks.sum() == 1
    with pytest.raises(ValueError, match="give the file of UBI events"):
        read_click_log(tmp_path / "queries")


def test_frequent_queries_are_chosen() -> None:
    rows = [("rare", "abc")] + [("poor", "ab")] * 9 + [("often", "abc")] * 5 + [("some", "abd")] * 3
    log = ClickLog.from_sessions((query, items, [0] * len(items)) for query, items in rows)
    chosen = log.frequent(2, n_items=3)
    assert list(chosen.query_names) == ["often", "some"]
    assert len(chosen) == 8
    assert sessions_of(chosen)[0] == ("often", ["a", "b", "c"], [0, 0, 0])
    drawn = {tuple(log.frequent(1, n_items=3, among=3, seed=seed).query_names) for seed in range(40)}
    assert drawn == {("rare",), ("often",), ("some",)}
    with pytest.raises(ValueError, match="no query of the log shows 4"):
        log.frequent(1, n_items=4)
    with pytest.raises(ValueError, match="5 queries cannot be drawn from the 2 most frequent"):
        log.frequent(5, among=2)


def test_a_log_is_split_in_order_of_time() -> None:
    log = ClickLog.from_sessions((query, [str(t)], [0]) for t, query in enumerate("xyxxyxyyxx"))
    early, late = log.split(0.5)
    assert [(q, items[0]) for q, items, _ in sessions_of(early)] == [
        ("x", "0"),
        ("y", "1"),
        ("x", "2"),
        ("x", "3"),
        ("y", "4"),
    ]
    assert len(early) + len(late) == 10
    with pytest.raises(ValueError, match="between 0 and 1"):
        log.split(1.5)


def test_sessions_that_make_no_sense_are_refused() -> None:
    for clicks in ([1], [0, 2], [0, 1, 1]):
        with pytest.raises(ValueError, match="session 0: clicks must be"):
            ClickLog.from_sessions([("q", ["a", "b"], clicks)])
    with pytest.raises(ValueError, match="shapes"):
        ClickLog(np.zeros(2, np.int32), np.zeros((2, 3), np.int32), np.zeros((2, 2), np.uint8), ["q"], Vocabulary())


def test_the_synthetic_log_is_like_yandex() -> None:
    log = SyntheticQueries(50, seed=0).log(20_000, seed=1)
    count = np.bincount(log.queries)
    assert count[0] > 5 * count[10] > 0
    lists = Counter(map(tuple, log.items[log.queries == 0].tolist()))
    assert len(lists) > 3
    assert lists.most_common(1)[0][0] == tuple(range(10))
    assert 0.5 < log.clicks.sum() / len(log) < 2
    assert log.clicks.mean(axis=0)[0] > 3 * log.clicks.mean(axis=0)[9]
    again = SyntheticQueries(50, seed=0).log(20_000, seed=1)
    assert (again.clicks == log.clicks).all()
    assert (SyntheticQueries(50, seed=0).log(20_000, seed=2).clicks != log.clicks).any()
    with pytest.raises(ValueError, match="click_model"):
        synthetic_click_log(10, click_model="DBN")
