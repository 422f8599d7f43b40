"""The format of Yandex' relevance prediction challenge, parsed by compiled code.

    session  time  Q  query  region  url  url  ...
    session  time  C  url

separated by tabs. Each query action becomes one session of the log. A click belongs to the latest query of its session
that shows the url. No library reads this format.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rankloop.datasets.click_logs import ClickLog, ReadReport
from rankloop.datasets.streams import blocks_of_lines
from rankloop.datasets.vocabulary import Vocabulary, intern, item_code
from rankloop.kernels import compiled, entry
from rankloop.kernels.arrays import Bytes, Clicks, Ints, Ints32

REASONS = (
    "a query line with fewer than 6 fields",
    "a click line that does not have 4 fields",
    "an action that is neither Q nor C",
    "a click before any query of its session",
    "a click on an item that was not shown",
    "an item shown twice in one list (its first place is kept, those below move up)",
    "an item below the last position that is read",
    "an empty name of a query or item",
)
SHORT_QUERY, WRONG_CLICK, UNKNOWN_ACTION, EARLY_CLICK, UNSHOWN, REPEATED, DEEP, NAMELESS = range(len(REASONS))
N_ROWS, N_LINES, SESSION_BEGIN, SESSION = range(4)

NEWLINE, RETURN, TAB, LETTER_Q, LETTER_C = 10, 13, 9, 81, 67
MOST_FIELDS = 256


@compiled
def _count(skipped: Ints, reason: int, line: int) -> None:
    if skipped[0, reason] == 0:
        skipped[1, reason] = line
    skipped[0, reason] += 1


@entry
def _parse(text: Bytes, where: Ints, queries: Ints32, items: Ints32, clicks: Clicks, skipped: Ints,
           query_table: Ints32, query_names: Bytes, query_offsets: Ints, query_counts: Ints, table: Ints32,
           names: Bytes, offsets: Ints, counts: Ints) -> None:  # fmt: skip
    """Parse whole lines into the rows from where[N_ROWS] on."""
    begin = np.zeros(MOST_FIELDS + 1, np.int64)
    end = np.zeros(MOST_FIELDS + 1, np.int64)
    n_positions = items.shape[1]
    i = 0
    while i < len(text):
        n_fields = 0
        begin[0] = i
        while text[i] != NEWLINE:
            if text[i] == TAB and n_fields < MOST_FIELDS:
                end[n_fields] = i
                n_fields += 1
                begin[n_fields] = i + 1
            i += 1
        end[n_fields] = i
        if i > begin[n_fields] and text[i - 1] == RETURN:
            end[n_fields] = i - 1
        n_fields += 1
        i += 1
        where[N_LINES] += 1
        line = where[N_LINES]
        if n_fields == 1 and end[0] == begin[0]:
            continue
        action = 0
        if n_fields > 2 and end[2] - begin[2] == 1:
            action = text[begin[2]]
        if action != LETTER_Q and action != LETTER_C:
            _count(skipped, UNKNOWN_ACTION, line)
            continue
        word = np.uint64(0xCBF29CE484222325)
        for j in range(begin[0], end[0]):
            word = (word ^ np.uint64(text[j])) * np.uint64(0x100000001B3)
        session = np.int64(word)
        row = where[N_ROWS]
        if action == LETTER_Q:
            if where[SESSION] != session:
                where[SESSION] = session
                where[SESSION_BEGIN] = row
            if n_fields < 6:
                _count(skipped, SHORT_QUERY, line)
                continue
            if end[3] == begin[3]:
                _count(skipped, NAMELESS, line)
                continue
            n = 0
            for f in range(5, n_fields):
                if end[f] == begin[f]:
                    _count(skipped, NAMELESS, line)
                    continue
                if n == n_positions:
                    _count(skipped, DEEP, line)
                    continue
                code = item_code(text, begin[f], end[f], True, table, names, offsets, counts)
                repeated = False
                for k in range(n):
                    repeated = repeated or items[row, k] == code
                if repeated:
                    _count(skipped, REPEATED, line)
                    continue
                items[row, n] = code
                n += 1
            if n == 0:
                continue
            for k in range(n_positions):
                clicks[row, k] = 0
                if k >= n:
                    items[row, k] = -1
            queries[row] = intern(text, begin[3], end[3], True, query_table, query_names, query_offsets, query_counts)
            where[N_ROWS] += 1
        elif n_fields != 4:
            _count(skipped, WRONG_CLICK, line)
        elif where[SESSION] != session or where[SESSION_BEGIN] == row:
            _count(skipped, EARLY_CLICK, line)
        else:
            code = item_code(text, begin[3], end[3], False, table, names, offsets, counts)
            found = False
            if code >= 0:
                for r in range(row - 1, where[SESSION_BEGIN] - 1, -1):
                    for k in range(n_positions):
                        if items[r, k] == code:
                            clicks[r, k] = 1
                            found = True
                            break
                    if found:
                        break
            if not found:
                _count(skipped, UNSHOWN, line)


def read_yandex(path: str | Path, *, n_positions: int = 10) -> ClickLog:
    """Read a click log in the format of Yandex' relevance prediction challenge, packed with gzip or not.

    Parameters
    ----------
    path
        The file.
    n_positions
        Number of results of a list to read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.tsv"
    >>> _ = path.write_text("7\\t0\\tQ\\tshoes\\t1\\t11\\t12\\t13\\n7\\t5\\tC\\t12\\n7\\t9\\tC\\t99\\n")

    The first of the two clicks is on the second item of the list, the other one on none of its items:

    >>> log = read_yandex(path)
    >>> log.clicks[0, :3].tolist(), log.report.skipped
    ([0, 1, 0], {'a click on an item that was not shown': 1})
    """
    path = Path(path)
    if not 1 <= n_positions <= 64:
        raise ValueError(f"n_positions must lie between 1 and 64, not be {n_positions!r}")
    query_names, items_known = Vocabulary(), Vocabulary()
    capacity = 1 << 12
    queries = np.empty(capacity, np.int32)
    items = np.empty((capacity, n_positions), np.int32)
    clicks = np.empty((capacity, n_positions), np.uint8)
    where = np.zeros(4, np.int64)
    where[SESSION] = -1
    skipped = np.zeros((2, len(REASONS)), np.int64)
    for block in blocks_of_lines(path):
        n_queries = block.count(b"\tQ\t")
        needed = int(where[N_ROWS]) + n_queries
        if needed > capacity:
            # In place where the operating system can, so that a large log is never held twice.
            capacity = max(needed, capacity + capacity // 8)
            queries.resize(capacity, refcheck=False)
            items.resize((capacity, n_positions), refcheck=False)
            clicks.resize((capacity, n_positions), refcheck=False)
        query_names.reserve(n_queries, len(block))
        items_known.reserve(min(n_queries * n_positions, len(block) // 2) + 1, len(block))
        _parse(np.frombuffer(block, np.uint8), where, queries, items, clicks, skipped, *query_names.arrays,
               *items_known.arrays)  # fmt: skip
    n = int(where[N_ROWS])
    report = ReadReport(str(path), int(where[N_LINES]))
    for reason, times, line in zip(REASONS, *skipped.tolist(), strict=True):
        report.skip(reason, line, times)
    report.refuse_empty(n)
    queries.resize(n, refcheck=False)
    items.resize((n, n_positions), refcheck=False)
    clicks.resize((n, n_positions), refcheck=False)
    query_names.trim()
    items_known.trim()
    return ClickLog(queries, items, clicks, query_names, items_known, report)


def write_yandex(log: ClickLog, path: str | Path) -> None:
    """Write a log in the format of Yandex' relevance prediction challenge, with region 0."""
    with open(path, "w") as file:
        for number, (query, items, clicks) in enumerate(
            zip(log.queries.tolist(), log.items.tolist(), log.clicks.tolist(), strict=True)
        ):
            names = [log.item_name(code) for code in items if code >= 0]
            file.write("\t".join([str(number), "0", "Q", log.query_names[query], "0", *names]) + "\n")
            clicked = (name for name, click in zip(names, clicks, strict=False) if click)
            file.writelines(f"{number}\t{time}\tC\t{name}\n" for time, name in enumerate(clicked, 1))
