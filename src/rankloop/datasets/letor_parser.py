"""The compiled reader of LETOR text: from bytes to arrays, one block of whole lines at a time.

It is written by hand because no dependency reads the format. It takes a ninth of the CPU time of a loop in Python
(`python benchmarks/parsers.py`: 635,000 against 72,000 documents of 46 features per second), and says which line is
wrong and why.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.kernels import compiled, entry
from rankloop.kernels.arrays import Bytes, Ints

MOST_FEATURES = 100_000
GREATEST = float(np.finfo(np.float32).max)
MOST_GRADES = 32

# What parse_lines returns, or where it stopped: whole block read, feature beyond the width, or something wrong.
DONE, TOO_NARROW, BAD_LABEL, NO_QID, BAD_QID, BAD_FEATURE, BAD_VALUE, FEATURE_ZERO, TOO_MANY, TWICE = range(10)
COMPLAINTS = {
    BAD_LABEL: f"does not begin with a relevance grade, a whole number from 0 to {MOST_GRADES - 1}",
    NO_QID: "has no qid: after the grade",
    BAD_QID: "has a qid that is not a whole number",
    BAD_FEATURE: "has a feature that is not of the form number:value",
    BAD_VALUE: "has a feature value that is not a number",
    FEATURE_ZERO: "has a feature numbered 0: features are counted from 1",
    TOO_MANY: f"has a feature numbered above {MOST_FEATURES}",
    TWICE: "has the same feature twice",
}

AT, ROWS, LINES, BLANK, NANS, CLIPPED, WIDEST, NEEDED = range(8)
"""Counters: byte and row reached, lines read, of them blank or comments; values NaN, values beyond float32; the highest
feature so far, and the one that did not fit."""
N_COUNTERS = 8

_POWERS = 10.0 ** np.arange(23)

NEWLINE, RETURN, SPACE, TAB, HASH, COLON, PLUS, MINUS, DOT, ZERO, NINE = (ord(c) for c in "\n\r \t#:+-.09")
LETTER_E, LETTER_I, LETTER_N, LETTER_A, LETTER_F = (ord(c) for c in "einaf")
LOWER = 32


@compiled
def _power(exponent: int) -> float:
    return _POWERS[exponent] if exponent < 23 else 10.0**exponent


@compiled
def _named_value(data: Bytes, at: int) -> tuple[float, int]:
    """nan, inf or infinity in any case; a position of -1 says that it is none of them."""
    a, b, c = data[at] | LOWER, data[at + 1] | LOWER, data[at + 2] | LOWER
    if a == LETTER_N and b == LETTER_A and c == LETTER_N:
        return math.nan, at + 3
    if a == LETTER_I and b == LETTER_N and c == LETTER_F:
        at += 3
        if data[at] | LOWER == LETTER_I:  # "inity"
            at += 5
        return math.inf, at
    return 0.0, -1


@compiled
def _number(data: Bytes, at: int) -> tuple[float, int]:
    """The number at a position and where it ends; a position of -1 says that there is none.

    Up to 15 digits and powers of ten up to 22 it is the double nearest to what is written; else it may be off by some
    of a double's last bits, which single precision does not keep.
    """
    negative = data[at] == MINUS
    if negative or data[at] == PLUS:
        at += 1
    digits = np.int64(0)
    n_digits = 0
    exponent = 0
    start = at
    while ZERO <= data[at] <= NINE:
        if n_digits < 18:
            digits = digits * 10 + np.int64(data[at] - ZERO)
            n_digits += int(digits > 0)
        else:
            exponent += 1
        at += 1
    n_written = at - start
    if data[at] == DOT:
        at += 1
        start = at
        while ZERO <= data[at] <= NINE:
            if n_digits < 18:
                digits = digits * 10 + np.int64(data[at] - ZERO)
                n_digits += int(digits > 0)
                exponent -= 1
            at += 1
        n_written += at - start
    if n_written == 0:
        value, at = _named_value(data, at)
        return -value if negative else value, at
    if data[at] | LOWER == LETTER_E:
        at += 1
        fewer = data[at] == MINUS
        if fewer or data[at] == PLUS:
            at += 1
        written: Any = 0
        start = at
        while ZERO <= data[at] <= NINE:
            if written < 10_000:
                written = written * 10 + np.int64(data[at] - ZERO)
            at += 1
        if at == start:
            return 0.0, -1
        exponent += -written if fewer else written
    value = float(digits)
    if digits != 0 and exponent != 0:
        if exponent > 0:
            value *= _power(min(exponent, 400))
        elif exponent >= -300:
            value /= _power(-exponent)
        else:
            value = value / 1e300 / _power(min(-exponent - 300, 300))
    return -value if negative else value, at


@compiled
def _whole(data: Bytes, at: int) -> tuple[Any, int]:
    """The whole number at a position and where it ends; a position of -1 says that there is none, or a huge one."""
    value = np.int64(0)
    start = at
    while ZERO <= data[at] <= NINE:
        value = value * 10 + np.int64(data[at] - ZERO)
        at += 1
    return (value, at) if start < at <= start + 18 else (np.int64(0), -1)


@compiled
def _after_blanks(data: Bytes, at: int) -> int:
    while data[at] == SPACE or data[at] == TAB or data[at] == RETURN:
        at += 1
    return at


@entry
def parse_lines(
    data: Bytes,
    end: int,
    features: npt.NDArray[np.float32],
    seen: Ints,
    labels: npt.NDArray[np.int8],
    qids: Ints,
    lines: Ints,
    counters: Ints,
) -> int:
    """Read lines from data[counters[AT]:end], which ends with a newline, and go on where an earlier call stopped.

    Every line makes a row of `features`, `labels`, `qids` and `lines` (its number in the file). `seen[f]` is the last
    row that had feature f. `data` has a few bytes of padding beyond `end`. On trouble, counters[AT] is where the
    line begins, and its row is not counted.
    """
    at = counters[AT]
    row = counters[ROWS]
    width = features.shape[1]
    status = DONE
    while at < end:
        begin = at
        at = _after_blanks(data, at)
        if data[at] == NEWLINE or data[at] == HASH:
            while data[at] != NEWLINE:
                at += 1
            at += 1
            counters[LINES] += 1
            counters[BLANK] += 1
            continue
        status = BAD_LABEL
        label, at = _number(data, at)
        if at >= 0 and label >= 0 and label < MOST_GRADES and label == math.floor(label):
            after = _after_blanks(data, at)
            is_qid = data[after] == ord("q") and data[after + 1] == ord("i") and data[after + 2] == ord("d")
            status = NO_QID
            if after > at and is_qid and data[after + 3] == COLON:
                qid, at = _whole(data, after + 4)
                status = BAD_QID if at < 0 or (data[at] > SPACE and data[at] != HASH) else DONE
        if status == DONE:
            nans = 0
            clipped = 0
            widest = 0
            while True:
                at = _after_blanks(data, at)
                if data[at] == NEWLINE or data[at] == HASH:
                    break
                number, at = _whole(data, at)
                if at < 0 or data[at] != COLON:
                    status = BAD_FEATURE
                    break
                value, at = _number(data, at + 1)
                if at < 0 or (data[at] > SPACE and data[at] != HASH):
                    status = BAD_VALUE
                    break
                if number == 0 or number > MOST_FEATURES:
                    status = FEATURE_ZERO if number == 0 else TOO_MANY
                    break
                if number > width:
                    counters[NEEDED] = number
                    status = TOO_NARROW
                    break
                if seen[number - 1] == row + 1:
                    status = TWICE
                    break
                seen[number - 1] = row + 1
                widest = max(widest, number)
                if math.isnan(value):
                    nans += 1
                    value = 0.0
                elif abs(value) > GREATEST:
                    clipped += 1
                    value = math.copysign(GREATEST, value)
                features[row, number - 1] = value
        if status != DONE:
            for column in range(width):  # nothing of this line stays: it may be read again into wider rows
                features[row, column] = 0.0
                if seen[column] == row + 1:
                    seen[column] = 0
            at = begin
            break
        while data[at] != NEWLINE:
            at += 1
        at += 1
        counters[LINES] += 1
        counters[NANS] += nans
        counters[CLIPPED] += clipped
        counters[WIDEST] = max(counters[WIDEST], widest)
        labels[row] = np.int64(label)
        qids[row] = qid
        lines[row] = counters[LINES]
        row += 1
    counters[AT] = at
    counters[ROWS] = row
    return status
