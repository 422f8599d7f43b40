"""Pictures of the demo's answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankloop.demo.answers import DemoAnswer
from rankloop.extras import can_plot
from rankloop.report.drawings import INK, inline_svg
from rankloop.report.markdown import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#1f77d0", "#d1662b")
"""Colours of the policy that a problem is about and of what it is compared with, distinct on light and on dark."""

SIZE = (7.5, 3.2)


def pictures(answer: DemoAnswer) -> list[Picture]:
    """The picture of an answer, if there is something to draw with."""
    if not can_plot() or not answer.rows:
        return []
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    alt, caption = (_rankers if answer.kind == "evaluate" else _curves)(axes, answer)
    for part in (axes.title, axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()):
        part.set_color(INK)
    axes.tick_params(color=INK)
    for side, spine in axes.spines.items():
        spine.set_color(INK)
        spine.set_visible(side in ("left", "bottom"))
    for legend in filter(None, [axes.get_legend()]):
        legend.get_frame().set_alpha(0)
        for text in legend.get_texts():
            text.set_color(INK)
    name = f"demo-{answer.kind}"
    return [Picture(f"{name}.png", alt, caption, inline_svg(figure, name, alt))]


def _rankers(axes: Axes, answer: DemoAnswer) -> tuple[str, str]:
    """All rankers by their quality, with those that are left, the chosen one and the default."""
    rows: Sequence[dict[str, Any]] = answer.data["rankers"]
    places = list(range(1, len(rows) + 1))
    axes.vlines(places, [row["low"] for row in rows], [row["high"] for row in rows], color=INK, alpha=0.25, linewidth=1)
    for left, colour, label in ((True, COLOURS[0], "still in the race"), (False, COLOURS[1], "eliminated")):
        shown = [(k, row["mrr"]) for k, row in zip(places, rows, strict=True) if row["left"] == left]
        if shown:
            axes.scatter([k for k, _ in shown], [mrr for _, mrr in shown], color=colour, s=16, label=label, zorder=3)
    names = [row["ranker"] for row in rows]
    for ranker, text, height in (
        (answer.data["chosen"], "chosen by clicks", 0.97),
        (answer.data["default"], "default", 0.85),
    ):
        k = names.index(ranker)
        across = min(0.8, places[k] / (len(rows) + 1) + 0.08)
        axes.annotate(
            text, (places[k], rows[k]["high"]), (across, height), textcoords="axes fraction", color=INK, va="top",
            arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.8},
        )  # fmt: skip
    axes.set(xlabel="rankers, best first", ylabel="MRR", xlim=(0, len(rows) + 1), ylim=(0, None))
    axes.legend(frameon=False, loc="lower left")
    return (
        f"Mean reciprocal rank of {len(rows)} rankers, with the one that clicks chose",
        "MRR of every ranker on the queries held out, with 95 % intervals. The policy sees only clicks.",
    )


AXES = {
    "rerank": ("searches for frequent queries", "MRR", "means of neighbouring searches"),
    "follow": ("readers", "clicks per list", "means of neighbouring readers"),
    "diversify": ("visits of readers", "clicks per list so far", "means of all visits so far"),
}
"""What the curves of a problem are drawn over, what they show, and how they were made."""


def _curves(axes: Axes, answer: DemoAnswer) -> tuple[str, str]:
    """What each loop's visitors got over time."""
    for (name, points), colour in zip(answer.data["curves"].items(), COLOURS, strict=False):
        axes.plot(*zip(*points, strict=True), color=colour, label=name, linewidth=1.8)
    if "production" in answer.data:
        axes.axhline(answer.data["production"], color=COLOURS[1], linestyle="--", label="production’s list")
    for change in answer.data.get("changes", ()):
        axes.axvline(change, color=INK, alpha=0.4, linestyle=":", linewidth=1.2)
    over, what, made = AXES[answer.kind]
    axes.set(xlabel=over, ylabel=what)
    axes.legend(frameon=False, loc="best")
    changes = " Dotted lines: tastes change." if answer.data.get("changes") else ""
    names = " and ".join(answer.data["curves"])
    return f"{what} over time: {names}", f"{what[0].upper()}{what[1:]}: {made}.{changes}"
