"""The report on the thesis: the scorecard, then each experiment, as one HTML page and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from rankloop.experiments import Claim, Outcome
from rankloop.extras import can_plot
from rankloop.report.claims import claims_table, folded_claims, folded_comparisons, tally_table
from rankloop.report.data import SCORECARD, results_file, scorecard, write_results
from rankloop.report.drawings import NO_PLOTS
from rankloop.report.experiment_tables import (
    experiment_facts,
    failures,
    overview,
    players,
    reached,
    running_times_table,
    sources,
)
from rankloop.report.figures import Bounds, pictures
from rankloop.report.markdown import Picture, Table, facts, folded, heading, items, links, prose
from rankloop.report.page import as_html
from rankloop.report.scorecard import Judged, by_chapter, chapter_title, counted, decided, judge
from rankloop.storage import replacing

TITLE = "The thesis reproduced, and its claims tested"

INTRODUCTION = """The figures, tables and parameter studies of chapters 2 to 5 were run again, and the thesis' claims
about them were tested statistically.

A claim makes one or several comparisons. Each comparison holds, fails, or is not decided by the runs of this scale,
with an error rate of 1 %. A claim holds if all its comparisons hold, and fails if one of them fails; if the thesis
speaks of most cases, or of examples, more than half must hold. Comparisons on real data decide; those on stand-ins
decide only if there are no others. A claim that fails is a finding: about other data, another scale, or the claim
itself. An undecided claim says what it needs."""

FEW = 6
"""Largest number of experiments with which the page shows everything unfolded."""

RESULTS_TEXT = "all results, one row for each experiment, problem, policy, run, step and measure"

SCALES = {
    "smoke": "smoke, a quick check: few and short runs, so that much stays undecided",
    "laptop": "laptop, enough runs and steps to decide most claims within an hour or two",
    "paper": "paper, the horizons and runs of the thesis",
}


@dataclass(frozen=True)
class Report:
    """The report in both forms, with the pictures that the Markdown shows."""

    page: str
    markdown: str
    pictures: Mapping[str, bytes]
    judged: Sequence[Judged]
    timings: Table
    """The experiments with the time they took, and would take at paper scale."""
    outcomes: Sequence[Outcome] = ()

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write all of it to a folder, and say where the page and the Markdown are."""
        (folder / "pictures").mkdir(parents=True, exist_ok=True)
        page, markdown = folder / "index.html", folder / "report.md"
        for name, data in self.pictures.items():
            with replacing(folder / name) as file:
                file.write(data)
        texts = {page: self.page, markdown: self.markdown}
        if self.judged or any(outcome.experiment.section for outcome in self.outcomes):
            texts[folder / SCORECARD] = scorecard(self.judged, self.outcomes)
        for path, text in texts.items():
            with replacing(path) as file:
                file.write(text.encode())
        write_results(self.outcomes, folder)
        return page, markdown


def reproduction(
    outcomes: Sequence[Outcome],
    claims: Iterable[Claim],
    *,
    cores: int,
    footer: str = "",
    beside: Mapping[str, str] = MappingProxyType({}),
    bounds: Mapping[str, Bounds] = MappingProxyType({}),
    title: str = TITLE,
    introduction: str = INTRODUCTION,
) -> Report:
    """Judge the claims and make the report; the same outcomes give the same bytes.

    Parameters
    ----------
    outcomes
        Outcomes of the experiments that were run.
    claims
        Claims to judge; those on other experiments are left out.
    cores
        Number of cores for which the time of paper scale is projected.
    footer
        How and when the report came about, in plain text.
    beside
        Other pages, by where they are: what each is about.
    bounds
        Bounds of the regret, by the name of the experiment, then by panel and player: one number per checkpoint. They
        are drawn as thin lines.
    title
        Title of the report.
    introduction
        Text below the title, in Markdown.
    """
    outcomes = sorted(outcomes, key=lambda outcome: outcome.experiment.chapter)
    judged = judge(claims, outcomes)
    of_the_thesis = [outcome for outcome in outcomes if outcome.experiment.section]
    timings = overview(of_the_thesis, judged, cores)
    parts: list[object] = [heading(1, title), prose(introduction), *([] if can_plot() else [prose(NO_PLOTS)])]
    parts += [links("See also", beside)] if beside else []
    if of_the_thesis:
        parts += _scorecard(of_the_thesis, judged)
        parts += [heading(2, "Experiments", "experiments"), timings]
    else:
        parts.append(links("As data", {results_file(): RESULTS_TEXT}))
    drawn: list[tuple[Picture, bytes]] = []
    chapter, few = 0, len(outcomes) <= FEW
    for outcome in outcomes:
        if outcome.experiment.section and outcome.experiment.chapter != chapter:
            chapter = outcome.experiment.chapter
            parts.append(heading(2, chapter_title(chapter), f"chapter-{chapter}"))
        limits = bounds.get(outcome.experiment.name, {})
        parts += _experiment(outcome, judged, cores, limits, drawn, unfolded=few)
    parts += ["---", prose(footer)] if footer else []
    markdown = "\n\n".join(text for part in parts if (text := str(part))) + "\n"
    files = {picture.file: data for picture, data in drawn}
    return Report(as_html(markdown, [picture for picture, _ in drawn]), markdown, files, judged, timings, outcomes)


def _scorecard(outcomes: Sequence[Outcome], judged: Sequence[Judged]) -> list[object]:
    scales = dict.fromkeys(outcome.scale for outcome in outcomes)
    chapters = by_chapter(judged)
    scale = "; ".join(SCALES[scale] for scale in scales)
    parts: list[object] = [heading(2, "Scorecard", "scorecard"), prose(f"Scale: {scale}." if scale else "")]
    parts += [tally_table(chapters), prose(decided(judged))] if judged else [prose("No claim bears on what was run.")]
    parts.append(links("As data", {SCORECARD: "all claims and comparisons", results_file(): RESULTS_TEXT}))
    for chapter, found in chapters.items():
        parts += [heading(3, chapter_title(chapter)), folded_claims(found, unfolded=len(outcomes) <= FEW)]
    changed = [(each.claim.name, each.claim.changed) for each in judged if each.claim.changed]
    if changed:
        title = "Claims that were changed, or added, after results had been seen"
        parts.append(folded(f"{title}: {len(changed)}", items("What was changed, and why", changed)))
    return parts


def _experiment(
    outcome: Outcome,
    judged: Sequence[Judged],
    cores: int,
    bounds: Bounds,
    drawn: list[tuple[Picture, bytes]],
    *,
    unfolded: bool,
) -> list[object]:
    experiment = outcome.experiment
    own = not experiment.section  # the title of the report is its title
    parts: list[object] = [] if own else [heading(3, experiment.title, experiment.name)]
    parts.append(prose(experiment.text))
    found = [each for each in judged if each.claim.experiment == experiment.name]
    inside: list[object] = [facts(experiment_facts(outcome, cores))]
    inside += [claims_table(found, linked=False)] if found else []
    if not any(result.finished for result in outcome.results.values()):
        return [*parts, *inside, prose("No run has finished."), *sources(outcome), *failures(outcome)]
    pictured = list(pictures(outcome, bounds))
    drawn += pictured
    inside += [picture for picture, _ in pictured]
    inside += running_times_table(outcome)
    inside += folded_comparisons(found)
    numbers = [reached(outcome, record, bounds) for record in experiment.records]
    inside.append(folded("Numbers, parameters and data", *numbers, players(outcome), *sources(outcome)))
    title = f"Verdicts, pictures and numbers ({counted(found)})" if found else "Pictures and numbers"
    parts += inside if unfolded else [folded(title, *inside)]
    return [*parts, *failures(outcome)]
