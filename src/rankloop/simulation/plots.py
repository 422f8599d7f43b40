"""Pictures of results."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from rankloop.simulation.result import Result

# Eight hues that stay apart for colour-blind readers and on paper (Okabe and Ito); line styles tell them apart too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
STYLES = ("-", "--", "-.", ":")


def plot_results(results: Sequence[Result], *, log: bool, record: str, title: str | None = None) -> Figure:
    """One line a result, with a band of one standard error."""
    shown = [result for result in results if result.finished]
    if not shown:
        raise ValueError("there is no finished run to plot")
    figure = Figure(figsize=(7, 4.5), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    for k, result in enumerate(shown):
        mean, error = result.mean(record), result.standard_error(record)
        colour, style = COLOURS[k % len(COLOURS)], STYLES[k // len(COLOURS) % len(STYLES)]
        axes.plot(result.steps, mean, label=result.policy, linewidth=1.8, color=colour, linestyle=style)
        axes.fill_between(result.steps, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)
    if log:
        axes.set_xscale("log")
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel("steps")
    axes.set_ylabel(f"cumulative {record}" if record == "regret" else record)
    runs = sorted({len(result.finished) for result in shown})
    axes.set_title(title or f"{shown[0].environment}, {'-'.join(map(str, runs))} runs")
    axes.grid(True, which="major", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure
