"""Files of ratings with lines of `user item rating [time]`, parsed by compiled code.

The parser is written by hand because the separator may be `::`, which the readers of NumPy and Arrow do not take, and
because it checks every rating and names the line that is wrong. It reads 8.0 million ratings per second of CPU time,
`numpy.loadtxt` 1.6 million; `pyarrow.csv`, an optional dependency, parses 13 million, without any of the checks
(`python benchmarks/parsers.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankloop.datasets.archives import Member
from rankloop.datasets.streams import whole_lines
from rankloop.kernels import entry
from rankloop.kernels.arrays import Bytes, Ints, Ints32

BLOCK = 1 << 22
LARGEST_ID = 2**31 - 1
LARGEST_TABLE = 10**8

N_ROWS, N_LINES, N_FIELDS, AT, SEEN = range(5)
DONE, NO_USER, NO_ITEM, NO_RATING, MISSING, OTHER_FIELDS, UNKNOWN_ITEM, STRAY_RETURN = range(8)
COMPLAINTS = {
    NO_USER: "does not begin with the number of a user",
    NO_ITEM: "has no number of an item in its second field",
    NO_RATING: "has no rating from 0.5 to 5, in steps of a half, in its third field",
    MISSING: "lacks a field",
    OTHER_FIELDS: "does not have as many fields as the lines above",
    STRAY_RETURN: "has a carriage return with no newline after it, which does not end a line here",
}
NEWLINE, RETURN, ZERO, DOT = 10, 13, 48, 46


class RatingColumns(NamedTuple):
    """The ratings of some files: codes of users, codes of items, and the rating in half stars."""

    users: Ints32
    items: Ints32
    half_stars: Bytes
    user_ids: Ints


@entry
def _parse(text: Bytes, separator: int, width: int, code_of: Ints32, users: Ints32, items: Ints32, half_stars: Bytes,
           where: Ints) -> int:  # fmt: skip
    """Parse whole lines into the rows from where[N_ROWS] on; a field ends with `width` separators."""
    i = 0
    row = where[N_ROWS]
    while i < len(text):
        begin = i
        where[AT] = begin
        where[N_ROWS] = row
        if text[i] == RETURN and text[i + 1] != NEWLINE:
            return STRAY_RETURN
        if text[i] == NEWLINE or text[i] == RETURN:
            i += 1 + int(text[i] == RETURN)
            where[N_LINES] += 1
            continue
        for field in range(2):
            value = np.int64(0)
            digits = i
            while ZERO <= text[i] <= ZERO + 9:
                value = value * 10 + (np.int64(text[i]) - ZERO)
                i += 1
            if i == digits or i - digits > 10 or value > LARGEST_ID:
                return MISSING if i > begin and text[i] == NEWLINE else NO_USER + field
            for _ in range(width):
                if text[i] != separator:
                    return MISSING if text[i] == NEWLINE or text[i] == RETURN else NO_USER + field
                i += 1
            if field == 0:
                users[row] = value
            else:
                code = code_of[value] if value < len(code_of) else np.int32(-1)
                items[row] = code
                where[SEEN] = value
        if text[i] == NEWLINE or text[i] == RETURN:
            return MISSING
        if not ZERO <= text[i] <= ZERO + 5:
            return NO_RATING
        stars = 2 * (np.int64(text[i]) - ZERO)
        i += 1
        if text[i] == DOT:
            if text[i + 1] == ZERO + 5:
                stars += 1
            elif text[i + 1] != ZERO:
                return NO_RATING
            i += 2
            while text[i] == ZERO:
                i += 1
        if stars < 1 or stars > 10:
            return NO_RATING
        half_stars[row] = stars
        n_fields = 3
        while text[i] != NEWLINE and text[i] != RETURN:
            if text[i] == separator and (width == 1 or text[i + 1] == separator):
                n_fields += 1
                i += width
                if text[i] == NEWLINE or text[i] == RETURN:
                    return MISSING
            elif n_fields == 3:
                return NO_RATING
            else:
                i += 1
        if text[i] == RETURN:
            i += 1
            if text[i] != NEWLINE:
                return STRAY_RETURN
        i += 1
        if where[N_FIELDS] == 0:
            where[N_FIELDS] = n_fields
        if n_fields != where[N_FIELDS]:
            return MISSING if n_fields < where[N_FIELDS] else OTHER_FIELDS
        if items[row] < 0:
            return UNKNOWN_ITEM
        where[N_LINES] += 1
        row += 1
    where[N_ROWS] = row
    return DONE


def read_columns(files: list[Member], separator: str, item_ids: Ints, catalogue: str) -> RatingColumns:
    """Read the ratings of items that a catalogue knows; all else is refused with file and line.

    Items are numbered by their place in `item_ids`, users in ascending order of their ids.
    """
    code_of = np.full(int(item_ids.max()) + 1, -1, np.int32)
    code_of[item_ids] = np.arange(len(item_ids))
    capacity = 1 << 16
    columns = np.empty(capacity, np.int32), np.empty(capacity, np.int32), np.empty(capacity, np.uint8)
    where = np.zeros(5, np.int64)
    for member in files:
        where[N_LINES] = 0
        where[N_FIELDS] = 0
        before = int(where[N_ROWS])
        above = b""
        with member.open() as file:
            for number, text in enumerate(whole_lines(file, member.name, BLOCK)):
                if number == 0:
                    text = _without_header(text, where, member.name)
                if not text:
                    continue
                whole = text.endswith(b"\n")
                needed = int(where[N_ROWS]) + text.count(b"\n") + 1
                if needed > capacity:
                    # In place where the operating system can, so that a large file is never held twice.
                    capacity = max(needed, capacity + capacity // 8)
                    for column in columns:
                        column.resize(capacity, refcheck=False)
                data = np.frombuffer(text if whole else text + b"\n", np.uint8)
                status = _parse(data, ord(separator[0]), len(separator), code_of, *columns, where)
                if status != DONE:
                    raise ValueError(_complaint(status, where, text, member.name, catalogue, whole))
                if not whole:
                    _refuse_cut(text, above, separator, member.name, int(where[N_LINES]))
                above = text[text.rfind(b"\n", 0, -1) + 1 :]
        if where[N_ROWS] == before:
            raise ValueError(f"{member.name} holds no ratings")
    for column in columns:
        column.resize(int(where[N_ROWS]), refcheck=False)
    users, user_ids = _numbered(columns[0])
    return RatingColumns(users, columns[1], columns[2], user_ids)


def _without_header(text: bytes, where: Ints, name: str) -> bytes:
    text = text.removeprefix(b"\xef\xbb\xbf")
    if text[:6].lower() != b"userid":
        return text
    header, _, below = text.partition(b"\n")
    if b"\r" in header[:-1]:
        where[AT] = 0
        raise ValueError(_complaint(STRAY_RETURN, where, text, name, "", True))
    where[N_LINES] = 1
    return below


def _complaint(status: int, where: Ints, text: bytes, name: str, catalogue: str, whole: bool) -> str:
    begin = int(where[AT])
    end = text.find(b"\n", begin)
    line = text[begin : end if end >= 0 else None].decode("latin-1").rstrip("\r")
    shown = line if len(line) <= 60 else line[:57] + "..."
    place = f"{name}, line {where[N_LINES] + 1}"
    if status == UNKNOWN_ITEM:
        return f"{place} rates item {where[SEEN]}, which {catalogue} does not know: {shown!r}"
    if end < 0 and not whole and status != STRAY_RETURN:
        return f"{place} ends too early: the file was cut short at {shown!r}"
    return f"{place} {COMPLAINTS[status]}: {shown!r}"


def _refuse_cut(last: bytes, above: bytes, separator: str, name: str, n_lines: int) -> None:
    """A last line without newline may be whole, or cut within its last field: then it is shorter than the one above."""
    ends = [len(line.rstrip().rpartition(separator.encode())[2]) for line in (above, last)]
    if ends[1] < ends[0]:
        raise ValueError(
            f"{name}, line {n_lines} has no newline and its last field is shorter than that of the line above: the "
            f"file was cut short at {last.decode('latin-1')!r} (if it was not, end it with a newline)"
        )


def _numbered(ids: Ints32) -> tuple[Ints32, Ints]:
    """The place of each id among all that occur, and these."""
    if ids.max() > max(LARGEST_TABLE, 4 * len(ids)):
        known, places = np.unique(ids, return_inverse=True)
        return places.astype(np.int32), known.astype(np.int64)
    present = np.zeros(int(ids.max()) + 1, bool)
    present[ids] = True
    place = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return place[ids], np.flatnonzero(present)
