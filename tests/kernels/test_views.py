"""What compiled code sees of the arrays in a state."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt
import pytest
from numba.core.errors import TypingError

from rankloop.kernels.states import type_of
from rankloop.kernels.views import View, ViewedState


class Inner(NamedTuple):
    flat: npt.NDArray[Any]
    rate: float


class State(NamedTuple):
    table: npt.NDArray[Any]
    inner: Inner
    flag: bool


Inner.__module__ = State.__module__ = "rankloop.tests"  # states of the package have views, others have not


class Foreign(NamedTuple):
    flat: npt.NDArray[Any]


KINDS = ["float64", "float32", "int64", "int32", "uint64", "uint16", "uint8", "bool"]


def state(kind: str = "int64") -> State:
    values = np.arange(24) % 2 if kind == "bool" else np.arange(24) * 3
    table = values[:12].astype(kind).reshape(3, 4)
    return State(table, Inner(values[12:17].astype(kind), 0.5), True)


def compiled(function: Any, **options: Any) -> Any:
    dispatcher = numba.njit(**options)(function)
    dispatcher.typeof_pyval = type_of
    return dispatcher


def test_a_state_of_the_package_has_views_at_every_depth() -> None:
    seen = type_of(state())
    assert isinstance(seen, ViewedState)
    assert seen[0] == View(numba.int64, 2, mutable=True)
    assert isinstance(seen[1], ViewedState)
    assert seen[1][0] == View(numba.int64, 1, mutable=True)


def test_what_a_view_cannot_show_stays_an_array() -> None:
    assert type_of(Foreign(np.arange(3))) == numba.typeof(Foreign(np.arange(3)))
    assert type_of(np.arange(3)) == numba.typeof(np.arange(3))
    every_second = state()._replace(table=np.zeros((3, 8))[:, ::2])
    assert type_of(every_second) == numba.typeof(every_second)
    within = state()._replace(inner=Foreign(np.arange(3)))
    assert type_of(within) == numba.typeof(within)


@pytest.mark.parametrize("kind", KINDS)
def test_items_rows_slices_and_lengths_are_those_of_the_array(kind: str) -> None:
    def read(given: State, i: int, j: int) -> Any:
        table, flat = given.table, given.inner.flat
        row, part, rest = table[i], flat[i:j], flat[j:]
        lengths = len(table), len(flat), len(row), len(part), len(rest), table.shape, flat.shape
        return table[i, j], flat[0], flat[np.uint64(j)], row[j], part[0], rest[1], lengths, given.inner.rate, given.flag

    assert compiled(read)(state(kind), 1, 3) == read(state(kind), 1, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_to_a_view_is_in_the_array(kind: str) -> None:
    def write(given: State) -> None:
        given.table[2, 3] = given.table[0, 1]
        given.table[1][2] = 1
        given.inner.flat[1:3][1] = given.inner.flat[0]
        given.inner.flat[4] = 0

    ours, expected = state(kind), state(kind)
    compiled(write)(ours)
    write(expected)
    np.testing.assert_array_equal(ours.table, expected.table)
    np.testing.assert_array_equal(ours.inner.flat, expected.inner.flat)


def test_numbers_are_converted_to_the_kind_of_the_array() -> None:
    def write(given: State, whole: int, fraction: float) -> None:
        given.inner.flat[0] = whole
        given.inner.flat[1] += fraction

    floats, whole = state("float64"), state("int64")
    compiled(write)(floats, 7, 0.25)
    compiled(write)(whole, 7, 0.25)
    assert floats.inner.flat[:2].tolist() == [7.0, 39.25]
    assert whole.inner.flat[:2].tolist() == [7, 39]


def test_an_array_as_numba_has_it_shares_the_memory() -> None:
    def widen(given: State) -> float:
        table = np.asarray(given.table)
        table[1:, ::2] = -1
        return float(table.sum()) + np.asarray(given.inner.flat)[1:].copy().max()

    ours, expected = state(), state()
    assert compiled(widen)(ours) == widen(expected)
    np.testing.assert_array_equal(ours.table, expected.table)


def test_what_may_not_be_written_is_not() -> None:
    def write(given: State) -> None:
        given.table[0, 0] = 1

    ours = state()
    ours.table.flags.writeable = False
    with pytest.raises(TypingError):
        compiled(write)(ours)


@pytest.mark.parametrize(("i", "j"), [(3, 0), (0, 4), (-1, 0), (0, -1)])
def test_numba_checks_bounds_where_asked_to(i: int, j: int) -> None:
    def read(given: State, i: int, j: int) -> Any:
        return given.table[i, j]

    with pytest.raises(IndexError):
        compiled(read, boundscheck=True)(state(), i, j)


@pytest.mark.parametrize("function", [max, min])
@pytest.mark.parametrize(
    ("first", "second"),
    [(1, 2), (2, 1), (1.5, 2), (2, 1.5), (math.nan, 1.0), (1.0, math.nan), (0.0, -0.0), (-0.0, 0.0)],
)
def test_the_larger_and_the_smaller_are_those_of_python(function: Any, first: float, second: float) -> None:
    ours, expected = compiled(lambda a, b: function(a, b))(first, second), function(float(first), float(second))
    assert repr(float(ours)) == repr(expected)


@pytest.mark.parametrize("value", [2.9, -2.9, 0.0, True, False, 7])
def test_whole_numbers_are_those_of_python(value: float) -> None:
    assert compiled(lambda given: int(given))(value) == int(value)
