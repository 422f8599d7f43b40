"""Pictures of several panels side by side, with one legend for all."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from rankloop.arrays import Floats
from rankloop.extras import PLOTS, extra
from rankloop.simulation.plots import AXIS_LABELS, INK, Look, draw_lines, dress, look, name_lines
from rankloop.simulation.result import Result
from rankloop.wording import short_number

with extra("plots", PLOTS):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

WIDTH = 10.0
"""Inches of a figure, whatever the number of its panels: the text on it is always as large."""

MOST_COLUMNS = 4

NAME_WIDTH = {1: 70, 2: 48, 3: 34, 4: 26}
"""Characters of a panel's name in a line, by the number of columns."""


class Point(NamedTuple):
    """What a player reached with one value of a studied parameter."""

    value: float
    mean: float
    error: float


def panels_side_by_side(panels: int) -> int:
    """How many panels stand side by side.

    >>> [panels_side_by_side(n) for n in (1, 2, 3, 4, 5, 6, 8, 9, 20)]
    [1, 2, 3, 4, 3, 3, 4, 3, 4]
    """
    if panels <= MOST_COLUMNS:
        return max(panels, 1)
    return 3 if panels in (5, 6, 9) else MOST_COLUMNS


def plot_panels(
    panels: Mapping[str, Mapping[str, Result]],
    *,
    log: bool = True,
    record: str = "regret",
    bounds: Mapping[tuple[str, str], Floats] = MappingProxyType({}),
    ink: str = INK,
) -> Figure:
    """Small multiples: the results of each panel by their labels, which have the same look in all panels.

    `bounds`, by panel and label, hold one number a checkpoint and are drawn as thin lines.
    """
    shown = {
        name: {label: result for label, result in results.items() if result.finished}
        for name, results in panels.items()
    }
    shown = {name: results for name, results in shown.items() if results}
    labels = list(dict.fromkeys(label for results in panels.values() for label in results))
    if not shown:
        raise ValueError("there is no finished run to plot")
    looks = {label: look(k) for k, label in enumerate(labels)}
    figure, all_axes = _grid(len(shown), share=record == "ndcg")
    for index, (axes, (name, results)) in enumerate(zip(all_axes, shown.items(), strict=True)):
        limits = {k: bounds[name, label] for k, label in enumerate(results) if (name, label) in bounds}
        draw_lines(
            axes,
            list(results.values()),
            log=log,
            record=record,
            looks=[looks[label] for label in results],
            ink=ink,
            bounds=limits if record == "regret" else {},
        )
        _caption(axes, name, index, len(shown), "steps", AXIS_LABELS.get(record, record), ink)
        if len(shown) > 1:
            _few_ticks(axes)
    _name(figure, all_axes, {label: looks[label] for label in labels if any(label in r for r in shown.values())}, ink)
    return figure


def plot_study(
    groups: Mapping[str, Mapping[str, Sequence[Point]]],
    *,
    parameter: str,
    record: str = "regret",
    ink: str = INK,
) -> Figure:
    """What was reached in the end against the value of a parameter: a panel a group, a line a label."""
    labels = list(dict.fromkeys(label for lines in groups.values() for label in lines))
    if not any(points for lines in groups.values() for points in lines.values()):
        raise ValueError("there is no finished run to plot")
    looks = {label: look(k) for k, label in enumerate(labels)}
    figure, all_axes = _grid(len(groups), share=False)
    for index, (axes, (name, lines)) in enumerate(zip(all_axes, groups.items(), strict=True)):
        for label, points in lines.items():
            colour, style = looks[label]
            ordered = sorted(points)
            values, means, errors = (np.array(column) for column in zip(*ordered, strict=True))
            axes.plot(
                values, means, color=colour, linestyle=style, linewidth=1.8, marker="o", markersize=4, clip_on=False
            )
            axes.fill_between(values, means - errors, means + errors, color=colour, alpha=0.18, linewidth=0)
        _value_axis(axes, {point.value for points in lines.values() for point in points}, len(groups))
        means = np.array([point.mean for points in lines.values() for point in points])
        if record == "regret" and means.min() > 0 and means.max() > 30 * means.min():
            axes.set_yscale("log")
            axes.yaxis.set_minor_formatter(NullFormatter())
        elif record != "ndcg" and means.min() >= 0:
            axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
        dress(axes, ink)
        _caption(axes, name, index, len(groups), parameter, AXIS_LABELS.get(record, record), ink)
    _name(figure, all_axes, looks, ink)
    return figure


def _grid(n: int, share: bool) -> tuple[Figure, list[Axes]]:
    columns = panels_side_by_side(n)
    rows = math.ceil(n / columns)
    height = {1: 3.6, 2: 3.0, 3: 2.7}.get(columns, 2.25)
    engine = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08, wspace=0.03, hspace=0.03)
    figure = Figure(figsize=(WIDTH, height * rows + 0.35), dpi=150, layout=engine)
    all_axes: list[Any] = []
    for k in range(n):
        first = all_axes[0] if share and all_axes else None
        all_axes.append(figure.add_subplot(rows, columns, k + 1, sharey=first))
    return figure, all_axes


def _caption(axes: Axes, name: str, index: int, n: int, x_label: str, y_label: str, ink: str) -> None:
    """A panel's name, and what its axes mean where no other panel stands before or below it."""
    columns = panels_side_by_side(n)
    if n > 1:
        title = "\n".join(textwrap.wrap(name, NAME_WIDTH[columns]))
        axes.set_title(title, color=ink, loc="left", fontsize=10)
    if index % columns == 0:
        axes.set_ylabel(y_label, color=ink, fontsize=10 if n == 1 else 9)
    if index + columns >= n:
        axes.set_xlabel(x_label, color=ink, fontsize=10 if n == 1 else 9)


def _name(figure: Figure, all_axes: Sequence[Axes], looks: Mapping[str, Look], ink: str) -> None:
    """Names beside the lines of a single panel, else one legend above all."""
    if len(all_axes) == 1:
        if len(looks) > 1 or not all_axes[0].get_title(loc="left"):
            name_lines(all_axes[0], ["\n".join(textwrap.wrap(label, 26)) for label in looks], ink)
        return
    handles = [
        Line2D([], [], color=colour, linestyle=style, linewidth=1.8, label=label)
        for label, (colour, style) in looks.items()
    ]
    longest = max(map(len, looks))
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=max(1, min(len(handles), int(WIDTH * 14 / (longest + 7)))),
        frameon=False,
        fontsize=9.5,
        labelcolor=ink,
        handlelength=2.6,
        borderaxespad=0.2,
    )


def _few_ticks(axes: Axes) -> None:
    """As many ticks as small panels have room for."""
    for axis, scale in ((axes.xaxis, axes.get_xscale()), (axes.yaxis, axes.get_yscale())):
        axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
        if scale == "linear":
            axis.set_major_locator(MaxNLocator(4))
        elif scale == "log":
            low, high = axis.get_view_interval()
            if high / low > 10:
                axis.set_major_locator(LogLocator(numticks=5))
                axis.set_minor_formatter(NullFormatter())


def _value_axis(axes: Axes, given: Iterable[float], groups: int) -> None:
    """Ticks at the values that were tried, on a logarithmic axis where these grow by factors."""
    values = sorted(given)
    if len(values) > 2 and values[0] > 0:
        steps, factors = np.diff(values), np.diff(np.log(values))
        if factors.max() / factors.min() < steps.max() / steps.min():
            axes.set_xscale("log")
    if groups == 1 and len(values) > 1:
        axes.set_xlim(right=values[-1])  # lines are named where they end
    apart = math.ceil(len(values) / {1: 12, 2: 8, 3: 6}.get(groups, 5))
    axes.xaxis.set_major_locator(FixedLocator(values[::-1][::apart]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
