"""The claims of the thesis with their verdicts, as tables of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankloop.experiments.declare import Compared
from rankloop.experiments.judging import verdicts_in_words
from rankloop.experiments.statistics import in_words
from rankloop.report.markdown import Cell, Table, folded
from rankloop.report.scorecard import MARKS, Judged, chapter_title, counted, counts, found_here, said
from rankloop.wording import count


def tally_table(chapters: Mapping[int, Sequence[Judged]]) -> Table:
    """How many claims hold, in all and by chapter."""
    total = [each for judged in chapters.values() for each in judged]
    groups = [(chapter_title(chapter), judged) for chapter, judged in chapters.items()]
    rows = [
        [Cell(title, strong=title == "All"), *(Cell(str(n)) for n in counts(judged).values())]
        for title, judged in [*groups, ("All", total)]
    ]
    return Table(["", *(f"{MARKS[verdict]} {verdict}" for verdict in counts(()))], rows)


def claims_table(judged: Sequence[Judged], *, linked: bool) -> Table:
    """Claims with their verdicts, `linked` to the experiments that they rest on."""
    rows = [
        [
            Cell(said(each.finding.verdict, each.finding.waits)),
            Cell(each.claim.text, f"section {each.claim.section}"),
            Cell(found_here(each.finding)),
            *([Cell(each.claim.experiment, link=each.claim.experiment)] * linked),
        ]
        for each in judged
    ]
    headings = ["verdict", "claim", "found here", *(["experiment"] * linked)]
    return Table(headings, rows, words=range(len(headings)))


def folded_claims(judged: Sequence[Judged], *, unfolded: bool) -> str:
    """The claims of a chapter, to be opened by their counts."""
    title = f"{count(len(judged), 'claim')}: {counted(judged)}"
    return folded(title, claims_table(judged, linked=True), unfolded=unfolded)


def folded_comparisons(judged: Sequence[Judged]) -> list[str]:
    """The comparisons that the claims of an experiment make, to be opened by their counts."""
    rows = [
        [
            Cell(each.claim.name if not k else ""),
            Cell(said(one.verdict, one.waits)),
            Cell(one.text),
            Cell(_found(one)),
            Cell(_note(one)),
        ]
        for each in judged
        for k, one in enumerate(each.finding.comparisons)
    ]
    if not rows:
        return []
    found = [one for each in judged for one in each.finding.comparisons]
    table = Table(["claim", "verdict", "comparison", "found here", "note"], rows, words=range(5))
    return [folded(f"Comparisons: {verdicts_in_words(found)}", table)]


def _found(one: Compared) -> str:
    """What a comparison found, and what was claimed."""
    if one.effect != one.effect:
        return "–"
    return f"{in_words(one.effect, one.error)}, claimed {one.claimed}"


def _note(one: Compared) -> str:
    """What it waits for, and on what data it was made."""
    parts = [f"needs {one.waits}"] if one.waits else []
    parts += [] if one.real else ["stand-in" if one.decides else "stand-in, decides nothing"]
    return "; ".join(parts)
