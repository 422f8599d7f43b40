"""The report on the thesis: the scorecard, then each experiment, as one HTML page and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from rankloop.experiments import Claim, Outcome
from rankloop.report.blocks import Block, Claims, Facts, Heading, Items, Links, Prose, Table, Tally
from rankloop.report.data import SCORECARD, results_file, scorecard, write_results
from rankloop.report.figures import Bounds, pictures
from rankloop.report.page import fill, resource
from rankloop.report.scorecard import Judged, by_chapter, chapter_title, decided, judge
from rankloop.report.settings import experiment_facts, failures, overview, players, reached, running_times, sources
from rankloop.storage import replacing

TITLE = "The thesis, reproduced and judged"

INTRODUCTION = """Figures, tables and parameter studies of chapters 2 to 5 were run anew, and what the thesis claims of
them was put to statistical tests.

A claim makes one comparison or several, and each has a verdict of its own: it holds, or it fails, or the runs of this
scale do not decide, with an error rate of 1 %. A claim holds where all of its comparisons hold, and fails where one of
them fails; where the thesis speaks of most cases, or of examples, more than half must hold. Comparisons on real data
decide; those on stand-ins only where there are no others. A claim that fails is a finding: about other data, another
scale, or the claim. One that is undecided says what it waits for."""

RESULTS_TEXT = "all results, one row for each experiment, problem, policy, run, step and measure"

SCALES = {
    "smoke": "smoke, a quick look: few runs and short ones, so that much stays undecided",
    "laptop": "laptop, as many runs and steps as decide most claims within an hour or two",
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
        verdicts = scorecard(self.judged, self.outcomes)
        for path, text in ((page, self.page), (markdown, self.markdown), (folder / SCORECARD, verdicts)):
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
    bounds: Mapping[str, Bounds] = MappingProxyType({}),
) -> Report:
    """Judge the claims and make the report; the same outcomes give the same bytes.

    Parameters
    ----------
    outcomes
        Of the experiments that were run.
    claims
        Those on other experiments are left out.
    cores
        For which the time of paper scale is projected.
    footer
        How and when the report came about, in plain text.
    bounds
        Of the regret, by the name of the experiment, then by panel and player: one number a checkpoint. They are drawn
        as thin lines.
    """
    outcomes = sorted(outcomes, key=lambda outcome: outcome.experiment.chapter)
    judged = judge(claims, outcomes)
    drawn: dict[str, bytes] = {}
    timings = overview(outcomes, judged, cores)
    sections: list[list[Block]] = [_scorecard(outcomes, judged), [Heading(2, "Experiments", "experiments"), timings]]
    chapter = 0
    for outcome in outcomes:
        if outcome.experiment.chapter != chapter:
            chapter = outcome.experiment.chapter
            sections.append([Heading(2, chapter_title(chapter))])
        sections.append(_experiment(outcome, judged, cores, bounds.get(outcome.experiment.name, {}), drawn))
    return Report(_page(sections, footer), _markdown(sections, footer), drawn, judged, timings, outcomes)


def _scorecard(outcomes: Sequence[Outcome], judged: Sequence[Judged]) -> list[Block]:
    scales = dict.fromkeys(outcome.scale for outcome in outcomes)
    chapters = by_chapter(judged)
    scale = "; ".join(SCALES[scale] for scale in scales)
    blocks: list[Block] = [Heading(2, "Scorecard", "scorecard"), Prose(f"Scale: {scale}." if scale else "")]
    blocks.append(Tally(chapters) if judged else Prose("No claim bears on what was run."))
    blocks += [Prose(decided(judged))] if judged else []
    blocks.append(Links("As data", {SCORECARD: "all claims and comparisons", results_file(): RESULTS_TEXT}))
    for chapter, found in chapters.items():
        blocks += [Heading(3, chapter_title(chapter)), Claims(found)]
    changed = [(each.claim.name, each.claim.changed) for each in judged if each.claim.changed]
    if changed:
        blocks.append(Items("Claims that were changed, or added, after results had been seen", changed, "changed"))
    return blocks


def _experiment(
    outcome: Outcome, judged: Sequence[Judged], cores: int, bounds: Bounds, drawn: dict[str, bytes]
) -> list[Block]:
    experiment = outcome.experiment
    blocks: list[Block] = [
        Heading(3, experiment.title, experiment.name),
        Prose(experiment.text),
        Facts(experiment_facts(outcome, cores)),
    ]
    found = [each for each in judged if each.claim.experiment == experiment.name]
    if found:
        blocks.append(Claims(found, linked=False))
    if any(result.finished for result in outcome.results.values()):
        for picture, data in pictures(outcome, bounds):
            drawn[picture.file] = data
            blocks.append(picture)
        blocks += [reached(outcome, record, bounds) for record in experiment.records]
        blocks += running_times(outcome)
        blocks.append(players(outcome))
    else:
        blocks.append(Prose("No run has finished."))
    return [*blocks, *sources(outcome), *failures(outcome)]


def _page(sections: Iterable[Sequence[Block]], footer: str) -> str:
    body = "\n".join(
        "<section>\n" + "\n".join(block.as_html() for block in blocks) + "\n</section>" for blocks in sections
    )
    return fill(TITLE, INTRODUCTION, body, footer, resource("reproduction.css"))


def _markdown(sections: Iterable[Sequence[Block]], footer: str) -> str:
    blocks: list[Block] = [Heading(1, TITLE), Prose(INTRODUCTION)]
    blocks += [block for section in sections for block in section]
    blocks.append(Prose(footer))
    texts = [text for block in blocks if (text := block.as_markdown())]
    return "\n\n".join(texts) + "\n"
