"""The pictures of an experiment, in the layout of the thesis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rankloop.arrays import Floats
from rankloop.experiments import Outcome, Panel
from rankloop.experiments.bounds import NOTES
from rankloop.extras import can_plot
from rankloop.report.drawings import CAPTIONS, INK, described, inline_svg, png
from rankloop.report.markdown import Picture
from rankloop.simulation import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Bounds = Mapping[tuple[str, str], Floats]
"""Bounds on the regret, by panel and player, with one number per checkpoint."""

MOST_OVER_TIME = 12
"""Panels of a parameter study that are also drawn over time."""


def pictures(outcome: Outcome, bounds: Bounds) -> Iterator[tuple[Picture, bytes]]:
    """Each picture, with the PNG that stands beside the Markdown; none where matplotlib is missing."""
    if not can_plot():
        return
    experiment = outcome.experiment
    for record in experiment.records:
        caption = CAPTIONS.get(record, f"{described(record)}, mean over runs.")
        what = described(record)
        if is_study(outcome):
            alt = f"{what} at the end against {experiment.parameter}"
            ends = caption.replace(
                "Mean over runs of the cumulative regret", "Cumulative regret at the end of the runs"
            )
            yield _picture(_study(outcome, record), f"{experiment.name}-{record}-by-value", alt, ends)
            if len(outcome.panels) > MOST_OVER_TIME:
                continue
        from rankloop.simulation.panels import plot_panels

        over_time = _over_time(outcome)
        if any(result.finished for results in over_time.values() for result in results.values()):
            shown = {key: bound for key, bound in bounds.items() if key[0] in over_time and record == "regret"}
            figure = plot_panels(over_time, log=experiment.log, record=record, bounds=shown, ink=INK)
            alt = f"{what} over time in {', '.join(over_time)}"
            more = f" Thin lines, where they are in sight: {NOTES[experiment.chapter]}." if shown else ""
            yield _picture(figure, f"{experiment.name}-{record}", alt, caption + more)


def is_study(outcome: Outcome) -> bool:
    """Whether the panels are values of a parameter."""
    return bool(outcome.experiment.parameter) and all(panel.value is not None for panel in outcome.panels)


def labels(outcome: Outcome, panel: str) -> list[str]:
    """The labels of the players in a panel; players that joined it come last."""
    declared = [player.label for each in outcome.panels if each.name == panel for player in each.players]
    joined = [label for name, label in outcome.results if name == panel]
    return [label for label in dict.fromkeys([*declared, *joined]) if (panel, label) in outcome.results]


def _over_time(outcome: Outcome) -> dict[str, dict[str, Result]]:
    by_panel = {
        panel.name: {label: outcome.results[panel.name, label] for label in labels(outcome, panel.name)}
        for panel in outcome.panels
    }
    players = {label for results in by_panel.values() for label in results}
    if not is_study(outcome) or len(players) > 1:
        return by_panel
    # The values of one player are compared best in one panel.
    grouped: dict[str, dict[str, Result]] = {}
    for panel in outcome.panels:
        for result in by_panel[panel.name].values():
            begin = group(panel, outcome)
            grouped.setdefault(begin, {})[panel.name.removeprefix(f"{begin},").strip()] = result
    return grouped


def group(panel: Panel, outcome: Outcome) -> str:
    """What a panel of a study has in common with those of other values: the beginning of its name, up to a comma."""
    values = [other.value for other in outcome.panels]
    return panel.name.partition(",")[0] if len(set(values)) < len(values) else outcome.experiment.title


def _study(outcome: Outcome, record: str) -> Figure:
    from rankloop.simulation.panels import Point, plot_study

    groups: dict[str, dict[str, list[Point]]] = {}
    for panel in outcome.panels:
        for label in labels(outcome, panel.name):
            result = outcome.results[panel.name, label]
            if result.finished and panel.value is not None:
                point = Point(panel.value, float(result.mean(record)[-1]), float(result.standard_error(record)[-1]))
                groups.setdefault(group(panel, outcome), {}).setdefault(label, []).append(point)
    return plot_study(groups, parameter=outcome.experiment.parameter, record=record, ink=INK)


def _picture(figure: Figure, name: str, alt: str, caption: str) -> tuple[Picture, bytes]:
    svg = inline_svg(figure, name, alt)
    figure.set_layout_engine("none")  # the layout stands: both forms are drawn with it
    return Picture(f"pictures/{name}.png", alt, caption, svg), png(figure)
