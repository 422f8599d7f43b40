"""Pictures of results."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, Protocol, get_args

import numpy as np

from rankloop.arrays import Floats, Ints
from rankloop.extras import PLOTS, extra

with extra("plots", PLOTS):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullFormatter


class Curve(Protocol):
    """What is plotted of a result."""

    @property
    def policy(self) -> str: ...  # noqa: D102

    @property
    def environment(self) -> str: ...  # noqa: D102

    @property
    def setting(self) -> dict[str, Any]: ...  # noqa: D102

    @property
    def steps(self) -> Ints: ...  # noqa: D102

    @property
    def finished(self) -> Mapping[int, Any]: ...  # noqa: D102

    def mean(self, name: str = "regret") -> Floats: ...  # noqa: D102

    def standard_error(self, name: str = "regret") -> Floats: ...  # noqa: D102


Style = Literal["-", "--", "-.", ":"]
Look = tuple[str, Style]
"""Colour and style of a line."""

# Hues that stay apart for colour-blind readers and on paper (Okabe and Ito); line styles tell them apart too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#7F7F7F")
STYLES: tuple[Style, ...] = get_args(Style)
INK = "#333333"

MOST_DECADES = 4.0
FEWEST_DECADES = 1.5
"""How much of a logarithmic time axis is shown: in the first steps all policies explore alike."""

AXIS_LABELS = {
    "regret": "cumulative regret",
    "violations": "lists less safe than allowed, so far",
    "ndcg": "NDCG",
    "clicks": "clicks so far",
}

HEADROOM = 100.0
"""How many times higher than the measured lines a logarithmic axis goes to show a bound."""

LABEL_WIDTH = 26
"""Characters after which the name of a line is broken."""


def plot_results(
    results: Sequence[Curve], *, log: bool, record: str, title: str | None = None, ink: str = INK
) -> Figure:
    """One line a result, named where it ends, with a band of one standard error.

    Logarithmic axes are for regret; violations, which may be none, begin at zero below one, and other records have a
    logarithmic axis of time only.
    """
    shown = [result for result in results if result.finished]
    figure = Figure(figsize=(8, 4.5), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    draw_lines(axes, shown, log=log, record=record, looks=[look(k) for k in range(len(shown))], ink=ink)
    axes.set_xlabel("steps", color=ink)
    axes.set_ylabel(AXIS_LABELS.get(record, record), color=ink)
    axes.set_title(title if title is not None else _title(shown), color=ink, loc="left", fontsize=11)
    name_lines(axes, [_label(result, shown) for result in shown], ink)
    return figure


def look(k: int) -> Look:
    """The colour and style of the k-th line of a picture."""
    return COLOURS[k % len(COLOURS)], STYLES[(k // len(COLOURS) + k) % len(STYLES)]


def draw_lines(
    axes: Axes,
    shown: Sequence[Curve],
    *,
    log: bool,
    record: str,
    looks: Sequence[Look],
    ink: str,
    bounds: Mapping[int, Floats] = MappingProxyType({}),
) -> None:
    """The lines of results with their bands; `bounds`, by the index of the result, are thin lines of its colour."""
    if not shown:
        raise ValueError("there is no finished run to plot")
    unknown = [result.policy for result in shown if record not in next(iter(result.finished.values())).records]
    if unknown:
        raise ValueError(f"the result of {unknown[0]} has no record {record!r}")
    means = [result.mean(record) for result in shown]
    both_log = log and record == "regret"  # what other records say, they say near zero or near one
    if both_log:
        _logarithmic(axes, shown, means)
    elif log:
        axes.set_xscale("log")
        axes.set_xlim(min(int(result.steps[0]) for result in shown), max(int(result.steps[-1]) for result in shown))
        axes.xaxis.set_minor_formatter(NullFormatter())
        if record == "violations":  # from none at all to every list
            axes.set_yscale("symlog", linthresh=1.0)
    for result, mean, (colour, style) in zip(shown, means, looks, strict=True):
        error = result.standard_error(record)
        lowest = axes.get_ylim()[0] if both_log else 0.0 if record == "violations" else -np.inf
        visible = (mean > 0) & (result.steps >= axes.get_xlim()[0]) if both_log else np.full(len(mean), True)
        steps, mean, error = result.steps[visible], mean[visible], error[visible]
        alone = "o" if len(steps) == 1 else None
        axes.plot(steps, mean, linewidth=1.8, color=colour, linestyle=style, marker=alone)
        axes.fill_between(steps, np.maximum(mean - error, lowest), mean + error, color=colour, alpha=0.18, linewidth=0)
    if not both_log:
        if record != "ndcg":
            axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]) if min(map(np.min, means)) < 0 else 0)
        axes.yaxis.set_major_formatter(FuncFormatter(_tick))
    if not log:
        axes.set_xlim(0, max(int(result.steps[-1]) for result in shown))
        _shade_epochs(axes, shown, ink)
    _draw_bounds(axes, shown, looks, bounds)
    axes.xaxis.set_major_formatter(FuncFormatter(_tick))
    dress(axes, ink)


def dress(axes: Axes, ink: str) -> None:
    """A quiet grid and two spines, in the colour of the text."""
    axes.grid(True, which="major", alpha=0.25, linewidth=0.6, color=ink)
    axes.tick_params(which="both", colors=ink, labelsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(ink)


def _draw_bounds(axes: Axes, shown: Sequence[Curve], looks: Sequence[Look], bounds: Mapping[int, Floats]) -> None:
    """Bounds as far as they are in sight: they must not press the measured lines into a corner."""
    bottom, top = axes.get_ylim()
    logarithmic = axes.get_yscale() == "log"
    highest = top * (HEADROOM if logarithmic else 1.0)
    for k, bound in bounds.items():
        visible = (shown[k].steps >= axes.get_xlim()[0]) & (bound <= highest)
        axes.plot(shown[k].steps[visible], bound[visible], linewidth=0.8, color=looks[k][0])
        if logarithmic and visible.any():
            top = max(top, float(bound[visible].max()) * 1.2)
    axes.set_ylim(bottom, top)


def _shade_epochs(axes: Axes, results: Sequence[Curve], ink: str) -> None:
    """Grey behind every second epoch, where preferences change at the same steps in all results."""
    schedules = [result.setting.get("epochs") for result in results]
    if not schedules[0] or any(schedule != schedules[0] for schedule in schedules):
        return
    last = axes.get_xlim()[1]
    begin = 0
    for number, length in enumerate(itertools.cycle(schedules[0])):
        if begin >= last:
            break
        if number % 2:
            axes.axvspan(begin, min(begin + length, last), color=ink, alpha=0.07, linewidth=0)
        begin += length


def _logarithmic(axes: Axes, results: Sequence[Curve], means: Sequence[Floats]) -> None:
    """Logarithmic axes that begin where there is something to see: zero has no place on them."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    last = max(int(result.steps[-1]) for result in results)
    left = _first_shown(results, means, last)
    axes.set_xlim(left if left < last else last / 10, last)
    visible = np.concatenate([mean[result.steps >= left] for result, mean in zip(results, means, strict=True)])
    positive = visible[visible > 0]
    if len(positive):
        axes.set_ylim(positive.min() / 1.5, positive.max() * 1.5)
    axes.xaxis.set_minor_formatter(NullFormatter())
    if len(positive) and positive.max() / positive.min() > 30:
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: _tick(value) if _leads_with(value, 2, 5) else ""))
    axes.yaxis.set_major_formatter(FuncFormatter(_tick))


def _first_shown(results: Sequence[Curve], means: Sequence[Floats], last: int) -> float:
    """Shortly before the lines part."""
    steps = results[0].steps
    left = last / 10**MOST_DECADES
    if len(results) > 1 and all(np.array_equal(result.steps, steps) for result in results):
        highest, lowest = np.max(means, axis=0), np.min(means, axis=0)
        together = np.flatnonzero(highest <= 1.2 * lowest)
        if len(together):
            left = max(left, min(steps[together[-1]] / 3, last / 10**FEWEST_DECADES))
    return max(left, min(float(result.steps[result.steps >= left].min(initial=last)) for result in results))


def _leads_with(value: float, *digits: int) -> bool:
    return int(f"{value:e}"[0]) in digits


def _tick(value: float, _position: object = None) -> str:
    """1,000 rather than 10^3, as long as that is short."""
    if abs(value) >= 1e7:
        mantissa, exponent = f"{value:e}".split("e")
        factor = "" if float(mantissa) == 1 else f"{float(mantissa):g}\N{MULTIPLICATION SIGN}"
        return f"${factor}10^{{{int(exponent)}}}$"
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:g}"


def _title(results: Sequence[Curve]) -> str:
    environments = list(dict.fromkeys(result.environment for result in results))
    runs = sorted({len(result.finished) for result in results})
    number = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]}–{runs[-1]}"
    parts = [environments[0]] if len(environments) == 1 and environments[0] else []
    return ", ".join([*parts, f"{number} run{'s' * (runs[-1] != 1)}"])


def _label(result: Curve, results: Sequence[Curve]) -> str:
    several = len({other.environment for other in results}) > 1
    label = f"{result.policy} on {result.environment}" if several and result.environment else result.policy
    return "\n".join(textwrap.wrap(label, LABEL_WIDTH, subsequent_indent="  "))


def name_lines(axes: Axes, labels: Sequence[str], ink: str) -> None:
    """Write each line's name beside its end, moved apart where they would overlap."""
    transform = axes.transData + axes.transAxes.inverted()
    right = axes.get_xlim()[1]
    bottom, top = axes.get_ylim()
    ends = [float(y[-1]) if len(y) else bottom for y in (np.asarray(line.get_ydata()) for line in axes.lines)]
    heights = [float(transform.transform((right, min(max(end, bottom), top)))[1]) for end in ends[: len(labels)]]
    line_height = 0.05
    sizes = [line_height * (1 + label.count("\n")) + 0.008 for label in labels]
    places = _spread(heights, sizes)
    for label, line, height, place in zip(labels, axes.lines[: len(labels)], heights, places, strict=True):
        colour = line.get_color()
        axes.plot(1.0, height, "o", color=colour, markersize=4, transform=axes.transAxes, clip_on=False)
        axes.annotate(
            label,
            xy=(1.0, height),
            xytext=(1.05, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            color=ink,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8, "shrinkA": 2, "relpos": (0, 0.5)},
        )


def _spread(heights: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Centres as near to the wanted heights as they can be without their boxes overlapping.

    Boxes that touch are joined, and stand as one around the mean of what they want.
    """
    groups: list[tuple[list[int], float, float]] = []  # members from the bottom up, centre, size
    for index in sorted(range(len(heights)), key=lambda i: (heights[i], i)):
        members, size = [index], sizes[index]
        centre = _inside(heights[index], size)
        while groups and groups[-1][1] + groups[-1][2] / 2 > centre - size / 2:
            below, below_centre, below_size = groups.pop()
            centre = (below_centre * len(below) + centre * len(members)) / (len(below) + len(members))
            members, size = below + members, size + below_size
            centre = _inside(centre, size)
        groups.append((members, centre, size))
    places = [0.0] * len(heights)
    for members, centre, size in groups:
        bottom = centre - size / 2
        for index in members:
            places[index] = bottom + sizes[index] / 2
            bottom += sizes[index]
    return places


def _inside(centre: float, size: float) -> float:
    return max(size / 2, min(centre, 1 - size / 2))
