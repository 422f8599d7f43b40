"""The tables of an experiment: what was run, how long it took, what was reached, with what data, what failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankloop.experiments import Outcome, Source
from rankloop.experiments.readings import n_problems
from rankloop.report import timings
from rankloop.report.drawings import described
from rankloop.report.figures import Bounds, labels
from rankloop.report.markdown import Cell, Table, items
from rankloop.report.scorecard import MARKS, Judged, counts
from rankloop.report.timings import RunningTime, microseconds, projection
from rankloop.simulation import Result
from rankloop.simulation.result import readable
from rankloop.wording import duration

OF_THE_PROBLEM = ("n_arms", "n_items", "initial", "features", "relevance", "topics", "seed")
"""Parameters that say nothing about how a policy was set."""

MOST_FAILURES = 20
"""Failures that are named; of more, the number is told."""


def overview(outcomes: Sequence[Outcome], judged: Sequence[Judged], cores: int) -> Table:
    """All experiments in one table, with the time that they took and would take."""
    rows = []
    total = sum(outcome.seconds for outcome in outcomes)
    projected = 0.0
    for outcome in outcomes:
        experiment = outcome.experiment
        paper = projection(outcome)
        projected += paper.seconds
        found = counts(each for each in judged if each.claim.experiment == experiment.name)
        verdicts = " ".join(f"{n} {MARKS[verdict]}" for verdict, n in found.items() if n)
        rows.append(
            [
                Cell(experiment.title, link=experiment.name),
                Cell(experiment.section),
                Cell(data_used(outcome)),
                Cell(verdicts or "–"),
                Cell(duration(outcome.seconds)),
                Cell(f"{'' if paper.whole else '> '}{duration(paper.seconds / cores)}"),
            ]
        )
    rows.append([Cell("All"), Cell(""), Cell(""), Cell(""), Cell(duration(total)), Cell(duration(projected / cores))])
    headings = ["experiment", "thesis", "data", "claims", "core time", f"paper scale on {cores} cores"]
    caption = (
        "Core time is what one core took, other work on it included. Paper scale is projected from the measured time "
        f"per step: runs × steps × problems, on {cores} core{'s' * (cores != 1)}. Policies that settle on an answer "
        "get faster in long runs, so it is an upper estimate for them."
    )
    return Table(headings, rows, caption, words=(0, 1, 2))


def data_used(outcome: Outcome) -> str:
    """Real data, stand-ins, or both."""
    kinds = {panel.source.real for panel in outcome.panels}
    return "real" if kinds == {True} else "stand-in" if kinds == {False} else "partly real" if kinds else "–"


def experiment_facts(outcome: Outcome, cores: int) -> dict[str, str]:
    """The setting in short."""
    amount = outcome.amount
    kind = "user" if outcome.experiment.chapter == 5 else "query"
    of_each = "" if amount.problems is None else f" of each {kind}"
    played = [result for result in outcome.results.values() if result.finished]
    horizons = [int(result.steps[-1]) for result in played] or [amount.horizon]
    facts = {"thesis": f"section {outcome.experiment.section}"} if outcome.experiment.section else {}
    facts["steps per run"] = _range(horizons, "{:,.0f}")
    runs = [len(result.finished) / n_problems(result) for result in played] or [amount.runs]
    facts["runs"] = f"{_range(runs, '{:,.0f}')}{of_each}"
    if amount.problems is not None:
        problems = [n_problems(result) for result in played] or [amount.problems]
        facts["users" if kind == "user" else "queries"] = _range(problems, "{:,.0f}")
    facts["data"] = data_used(outcome)
    facts["core time"] = duration(outcome.seconds)
    if "paper" in outcome.experiment.amounts:
        paper = projection(outcome)
        facts[f"paper scale on {cores} cores"] = f"{'over ' * (not paper.whole)}{duration(paper.seconds / cores)}"
    return facts


def reached(outcome: Outcome, record: str, bounds: Bounds) -> Table:
    """What was reached at the end of the runs: one row per panel, one column per player."""
    columns = list(dict.fromkeys(label for panel in outcome.panels for label in labels(outcome, panel.name)))
    limits = bounds if record == "regret" else {}
    rows = []
    for panel in outcome.panels:
        results = {label: outcome.results[panel.name, label] for label in labels(outcome, panel.name)}
        means = {label: float(result.mean(record)[-1]) for label, result in results.items() if result.finished}
        longest = max((int(results[label].steps[-1]) for label in means), default=0)
        whole = [mean for label, mean in means.items() if results[label].steps[-1] == longest]
        best = (max if record in ("ndcg", "clicks") else min)(whole, default=None)
        row = [Cell(panel.name)]
        for label in columns:
            if label not in means:
                row.append(Cell("–"))
                continue
            quiet = _aside(results[label], record)
            if (panel.name, label) in limits:
                quiet += f" (bound {readable(float(limits[panel.name, label][-1]))})"
            end = int(results[label].steps[-1])
            short = end < longest
            quiet += f" (after {end:,} steps)" * short
            strong = len(whole) > 1 and not short and means[label] == best
            row.append(Cell(_value(means[label], record), quiet, strong=strong))
        rows.append(row)
    return Table(["", *columns], rows, f"{described(record)} at the end of the runs, ± standard error.")


def _value(value: float, record: str) -> str:
    return f"{value:.3f}" if record == "ndcg" else readable(value)


def _aside(result: Result, record: str) -> str:
    """The standard error, and how many runs lost the winner."""
    parts = [f"± {readable(float(result.standard_error(record)[-1]))}"] if len(result.finished) > 1 else []
    lost = int(result.failures.sum())
    if record == "regret" and lost:
        parts.append(f"({lost} run{'s' * (lost != 1)} lost the winner)")
    return " ".join(parts)


def players(outcome: Outcome) -> Table:
    """The players with their parameters, number of runs and speed."""
    rows = []
    for label in dict.fromkeys(label for panel in outcome.panels for label in labels(outcome, panel.name)):
        results = [result for (_, player), result in outcome.results.items() if player == label and result.finished]
        speeds = [speed for result in results if (speed := microseconds(result)) is not None]
        rows.append(
            [
                Cell(label),
                Cell(parameters(results)),
                Cell(_range([len(result.finished) for result in results], "{:,.0f}")),
                Cell(_range(speeds, "{:.2f}")),
            ]
        )
    return Table(
        ["policy", "parameters", "runs per panel", "µs per step"],
        rows,
        "The policies and how they were set.",
        words=(0, 1),
    )


def _range(values: Sequence[float], form: str) -> str:
    if not values:
        return "–"
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low}–{high}"


def parameters(results: Sequence[Result]) -> str:
    """How a policy was set in these results, and what differed among them.

    >>> import numpy as np
    >>> parameters([Result({"parameters": {"alpha": a, "c": None}}, np.array([1])) for a in (0.5, 1.0)])
    'alpha=0.5, 1'
    """
    given: dict[str, list[Any]] = {}
    for result in results:
        found = result.setting.get("parameters")
        for key, value in found.items() if isinstance(found, dict) else ():
            if key not in OF_THE_PROBLEM and value is not None and value not in given.setdefault(key, []):
                given[key].append(value)
    return "; ".join(f"{key}={_values(values)}" for key, values in given.items())


def _values(values: Sequence[Any]) -> str:
    texts = [f"{value:.4g}" if isinstance(value, float) else str(value) for value in values]
    return ", ".join(texts) if len(texts) <= 6 else f"{texts[0]}, {texts[1]}, … {texts[-1]}"


def running_times_table(outcome: Outcome) -> list[Table]:
    """The thesis' table of running times with ours, where the experiment is about them."""
    found = timings.running_times(outcome) if "time" in outcome.experiment.name else []
    if not found:
        return []
    times = {(each.player, each.panel): each for each in found}
    panels = list(dict.fromkeys(each.panel for each in found))
    policies = list(dict.fromkeys(each.player for each in found))
    rows = [[Cell(player), *(_against(times.get((player, panel))) for panel in panels)] for player in policies]
    caption = (
        "Time of 10⁸ steps, projected from the time per step measured here; then as the thesis gives it, on other "
        "machines and partly estimated from shorter runs, and how many times faster it is here."
    )
    return [Table(["", *panels], rows, caption)]


def _against(each: RunningTime | None) -> Cell:
    if each is None:
        return Cell("–")
    faster = f", {readable(each.thesis / each.ours)}×" if each.ours else ""
    return Cell(duration(each.ours), f"thesis {duration(each.thesis)}{faster}")


def sources(outcome: Outcome) -> list[str]:
    """The data of each panel."""
    panels: dict[tuple[str, str], list[str]] = {}
    for panel in outcome.panels:
        panels.setdefault(kind_and_text(panel.source), []).append(panel.name)
    found = []
    for (kind, text), names in panels.items():
        where = f" ({', '.join(names)})" if len(panels) > 1 else ""
        found.append((kind, f"{text}{where}"))
    return [items("Data", found)] if found else []


def kind_and_text(source: Source) -> tuple[str, str]:
    """Whether the data are real, and what they are.

    >>> kind_and_text(Source("stand-in: made-up queries", real=False))
    ('stand-in', 'made-up queries')
    """
    return "real data" if source.real else "stand-in", source.text.removeprefix("stand-in: ")


def failures(outcome: Outcome) -> list[str]:
    """What could not be done."""
    named = [
        ("failed", f"{failure.player} in {failure.panel}, run {failure.run}: {failure.error}")
        for failure in outcome.failures[:MOST_FAILURES]
    ]
    if len(outcome.failures) > MOST_FAILURES:
        named.append(("failed", f"and {len(outcome.failures) - MOST_FAILURES:,} more"))
    return [items("Failures", named)] if named else []
