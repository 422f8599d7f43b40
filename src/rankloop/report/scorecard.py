"""The claims of the thesis, each with the verdict of its test."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, get_args

from rankloop.experiments import Claim, Finding, Outcome
from rankloop.experiments.declare import Verdict
from rankloop.simulation.result import readable

CHAPTERS = {
    2: "Which ranker is best?",
    3: "Improve a list, never break it",
    4: "Follow users who change their minds",
    5: "Relevant and diverse",
}

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
MARKS: dict[Verdict, str] = {"holds": "✓", "fails": "✗", "undecided": "?"}


class Judged(NamedTuple):
    """A claim and what its test found."""

    claim: Claim
    chapter: int
    finding: Finding
    broken: bool = False
    """Whether the test itself could not be done, though all runs were there."""


def judge(claims: Iterable[Claim], outcomes: Sequence[Outcome]) -> list[Judged]:
    """The claims that the outcomes bear on, by chapter; claims on experiments that were not run are left out."""
    by_name = {outcome.experiment.name: outcome for outcome in outcomes}
    found = [_judge(claim, by_name[claim.experiment]) for claim in claims if claim.experiment in by_name]
    return sorted(found, key=lambda judged: judged.chapter)


def _judge(claim: Claim, outcome: Outcome) -> Judged:
    chapter = outcome.experiment.chapter
    try:
        return Judged(claim, chapter, claim.test(outcome))
    except Exception as error:  # a test must not take the other claims down with it
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        if complete(outcome):
            return Judged(claim, chapter, Finding("undecided", float("nan"), float("nan"), f"no test: {what}"), True)
        return Judged(claim, chapter, Finding("undecided", float("nan"), float("nan"), "runs are missing"))


def complete(outcome: Outcome) -> bool:
    """Whether every player has finished runs in every panel, and none failed."""
    players = [(panel.name, player.label) for panel in outcome.panels for player in panel.players]
    return not outcome.failures and all(key in outcome.results and outcome.results[key].finished for key in players)


def counts(judged: Iterable[Judged]) -> dict[Verdict, int]:
    """How many claims hold, fail and are undecided."""
    verdicts = [each.finding.verdict for each in judged]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def counted(judged: Sequence[Judged]) -> str:
    """The same in words: "3 hold, 1 fails, 2 undecided"."""
    found = counts(judged)
    parts = [
        f"{found['holds']} hold{'s' * (found['holds'] == 1)}",
        f"{found['fails']} fail{'s' * (found['fails'] == 1)}",
        f"{found['undecided']} undecided",
    ]
    return ", ".join(parts)


def by_chapter(judged: Iterable[Judged]) -> dict[int, list[Judged]]:
    """The claims of each chapter."""
    found: dict[int, list[Judged]] = {}
    for each in judged:
        found.setdefault(each.chapter, []).append(each)
    return dict(sorted(found.items()))


def chapter_title(chapter: int) -> str:
    """The number of a chapter and what it is about."""
    return f"Chapter {chapter}: {CHAPTERS[chapter]}" if chapter in CHAPTERS else f"Chapter {chapter}"


def decided(judged: Sequence[Judged]) -> str:
    """How many claims are decided, and on what."""
    found = [each.finding for each in judged if each.finding.verdict != "undecided"]
    stand_ins = sum(finding.on_stand_ins for finding in found)
    beside = f", {stand_ins} of them on stand-ins alone" if stand_ins else ""
    return f"{len(found)} of {len(judged)} claims are decided{beside}."


def effect(finding: Finding) -> str:
    """The effect with its standard error, or a dash where there is none.

    >>> effect(Finding("holds", 0.4182, 0.0211, "")), effect(Finding("undecided", float("nan"), 0.0, ""))
    ('0.418 ± 0.0211', '–')
    """
    if finding.effect != finding.effect:
        return "–"
    error = "" if finding.error != finding.error else f" ± {readable(finding.error)}"
    return f"{readable(finding.effect)}{error}"


def said(verdict: Verdict, needs: str = "") -> str:
    """The verdict in short, and for what is undecided what would decide it: steps, or else what is named first.

    >>> said("holds"), said("undecided", "step 1,000,000 of MergeDTS in Cycle (about 3 s on one core)")
    ('✓ holds', '? needs 1,000,000 steps')
    >>> said("undecided", "about 12.2 times as many users (about 5 min on one core)"), said("undecided")
    ('? needs 12.2 times as many users', '? undecided')
    """
    mark = MARKS[verdict]
    if verdict != "undecided" or not needs:
        return f"{mark} {verdict}"
    if step := re.search(r"\bstep ([\d,]+)", needs):
        return f"{mark} needs {step[1]} steps"
    first = re.split(r"[;:(]", needs)[0].strip()
    if first.startswith("an effect"):
        return f"{mark} too near its bound"
    return f"{mark} needs {first.removeprefix('about ').removeprefix('the ')}"


def found_here(finding: Finding) -> str:
    """What the test found, with the effect where the text does not tell it."""
    told = effect(finding)
    return finding.text if told == "–" or told in finding.text else f"{finding.text} (effect {told})"
