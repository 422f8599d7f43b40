"""What a report is made of, each part as HTML and as Markdown with the same content."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from rankloop.experiments.declare import Compared
from rankloop.experiments.judging import tally
from rankloop.experiments.statistics import in_words
from rankloop.report.page import paragraphs
from rankloop.report.scorecard import MARKS, Judged, chapter_title, counted, counts, effect, found_here


class Block(Protocol):
    """A part of a report."""

    def as_html(self) -> str:
        """As an element of a page."""

    def as_markdown(self) -> str:
        """As a paragraph, table or list."""


@dataclass(frozen=True)
class Heading:
    """A title; `anchor` is what links point to."""

    level: int
    text: str
    anchor: str = ""

    def as_html(self) -> str:
        """A heading element."""
        name = f' id="{html.escape(self.anchor)}"' if self.anchor else ""
        return f"<h{self.level}{name}>{html.escape(self.text)}</h{self.level}>"

    def as_markdown(self) -> str:
        """With an anchor of its own, as every place that shows Markdown makes up others."""
        anchor = f'<a id="{html.escape(self.anchor)}"></a>\n\n' if self.anchor else ""
        return f"{anchor}{'#' * self.level} {plain(self.text)}"


@dataclass(frozen=True)
class Prose:
    """Plain text; an empty line begins a paragraph."""

    text: str

    def as_html(self) -> str:
        """Paragraphs."""
        return paragraphs(self.text)

    def as_markdown(self) -> str:
        """Paragraphs."""
        return "\n\n".join(plain(part) for part in self.text.split("\n\n") if part.strip())


@dataclass(frozen=True)
class Facts:
    """Short facts, each with what it is about."""

    facts: Mapping[str, str]

    def as_html(self) -> str:
        """A list of definitions."""
        items = (f"<div><dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd></div>" for k, v in self.facts.items())
        return f"<dl>{''.join(items)}</dl>"

    def as_markdown(self) -> str:
        """A list."""
        return "\n".join(f"- {plain(key)}: {plain(value)}" for key, value in self.facts.items())


class Cell(NamedTuple):
    """What stands in a table: a text, something less important after it, and how it stands out."""

    text: str
    quiet: str = ""
    strong: bool = False
    link: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under headings; the first column is text, the others are numbers unless `words` says otherwise."""

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    words: Sequence[int] = (0,)

    def as_html(self) -> str:
        """A table that scrolls where it is too wide."""
        head = "".join(f"<th{self._kind(k)}>{html.escape(text)}</th>" for k, text in enumerate(self.headings))
        body = "\n".join(
            "<tr>" + "".join(f"<td{self._kind(k)}>{_cell(cell)}</td>" for k, cell in enumerate(row)) + "</tr>"
            for row in self.rows
        )
        caption = f"<caption>{html.escape(self.caption)}</caption>" if self.caption else ""
        rows = f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>"
        return f'<div class="scroll"><table>{caption}\n{rows}</table></div>'

    def _kind(self, column: int) -> str:
        return ' class="words"' if column in self.words else ""

    def as_markdown(self) -> str:
        """A table with pipes."""
        ruler = [":--" if k in self.words else "--:" for k in range(len(self.headings))]
        lines = [
            [plain(text) for text in self.headings],
            ruler,
            *([_marked(cell) for cell in row] for row in self.rows),
        ]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"{plain(self.caption)}\n\n{table}" if self.caption else table


def _cell(cell: Cell) -> str:
    text = html.escape(cell.text)
    text = f'<a href="#{html.escape(cell.link)}">{text}</a>' if cell.link else text
    text = f"<strong>{text}</strong>" if cell.strong else text
    return f'{text} <span class="quiet">{html.escape(cell.quiet)}</span>' if cell.quiet else text


def _marked(cell: Cell) -> str:
    text = plain(cell.text)
    text = f"[{text}](#{cell.link})" if cell.link else text
    text = f"**{text}**" if cell.strong and text else text
    return f"{text} {plain(cell.quiet)}" if cell.quiet else text


@dataclass(frozen=True)
class Picture:
    """A figure: an SVG element for the page, and the file that stands beside the Markdown."""

    svg: str
    file: str
    alt: str
    caption: str
    narrowest: int
    """Pixels, below which the page lets the figure scroll."""

    def as_html(self) -> str:
        """The picture within the page."""
        svg = self.svg.replace("<svg", f'<svg style="min-width: {self.narrowest}px"', 1)
        caption = f"<figcaption>{html.escape(self.caption)}</figcaption>"
        return f'<figure>\n<div class="scroll">{svg}</div>\n{caption}\n</figure>'

    def as_markdown(self) -> str:
        """The picture beside the text."""
        return f"![{plain(self.alt)}]({self.file})\n\n*{plain(self.caption)}*"


@dataclass(frozen=True)
class Items:
    """A list with a title; each item has a tag: what kind it is."""

    title: str
    items: Sequence[tuple[str, str]]
    kind: str = ""

    def as_html(self) -> str:
        """A list."""
        items = "\n".join(
            f'<li><span class="tag {html.escape(tag.replace(" ", "-"))}">{html.escape(tag)}</span> '
            f"{html.escape(text)}</li>"
            for tag, text in self.items
        )
        return f'<div class="items {self.kind}"><h4>{html.escape(self.title)}</h4>\n<ul>\n{items}\n</ul></div>'

    def as_markdown(self) -> str:
        """A list."""
        items = "\n".join(f"- {plain(tag)}: {plain(text)}" for tag, text in self.items)
        return f"**{plain(self.title)}**\n\n{items}"


@dataclass(frozen=True)
class Links:
    """Files beside the report, each with what it holds."""

    title: str
    files: Mapping[str, str]

    def as_html(self) -> str:
        """A sentence with links."""
        links = (f'<a href="{html.escape(file)}">{html.escape(file)}</a>, {html.escape(text)}' for file, text in self)
        return f"<p>{html.escape(self.title)}: {'; '.join(links)}.</p>"

    def as_markdown(self) -> str:
        """A sentence with links."""
        links = (f"[{plain(file)}]({file}), {plain(text)}" for file, text in self)
        return f"{plain(self.title)}: {'; '.join(links)}."

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.files.items())


@dataclass(frozen=True)
class Tally:
    """How many claims hold, in all and by chapter."""

    chapters: Mapping[int, Sequence[Judged]]

    def as_html(self) -> str:
        """A bar for each chapter."""
        total = [each for judged in self.chapters.values() for each in judged]
        rows = [self._bar(chapter_title(chapter), judged) for chapter, judged in self.chapters.items()]
        tiles = "".join(
            f'<div class="tile {verdict}"><b>{n}</b> {MARKS[verdict]} {_verb(verdict, n)}</div>'
            for verdict, n in counts(total).items()
        )
        return f'<div class="tally"><div class="tiles">{tiles}</div>\n{"".join(rows)}</div>'

    def _bar(self, title: str, judged: Sequence[Judged]) -> str:
        parts = "".join(
            f'<span class="{verdict}" style="flex: {n}">{n}</span>' for verdict, n in counts(judged).items() if n
        )
        return (
            f'<div class="chapter"><span>{html.escape(title)}</span>'
            f'<div class="bar" role="img" aria-label="{counted(judged)}">{parts}</div></div>\n'
        )

    def as_markdown(self) -> str:
        """A table."""
        total = [each for judged in self.chapters.values() for each in judged]
        lines = ["| | holds | fails | undecided |", "| :-- | --: | --: | --: |"]
        groups = [(chapter_title(chapter), judged) for chapter, judged in self.chapters.items()]
        for title, judged in [*groups, ("All", total)]:
            found = counts(judged)
            lines.append(f"| {plain(title)} | {found['holds']} | {found['fails']} | {found['undecided']} |")
        return "\n".join(lines)


def _verb(verdict: str, n: int) -> str:
    return verdict if verdict == "undecided" or n == 1 else verdict[:-1]


@dataclass(frozen=True)
class Claims:
    """Claims with their verdicts; `linked` to the experiments that they rest on.

    The comparisons of each claim are folded below it where claims are linked, in the page; in Markdown they are a table
    with the experiment.
    """

    judged: Sequence[Judged]
    linked: bool = True

    def as_html(self) -> str:
        """A table whose rows become cards where there is little room."""
        rows = "\n".join(self._row(each) for each in self.judged)
        head = "<tr><th>verdict</th><th>claim</th><th>found here</th></tr>"
        return f'<table class="claims">\n<thead>{head}</thead>\n<tbody>\n{rows}\n</tbody></table>'

    def _row(self, each: Judged) -> str:
        claim, finding = each.claim, each.finding
        name = html.escape(claim.experiment)
        place = f'section {html.escape(claim.section)} · <a href="#{name}">{name}</a>' if self.linked else ""
        place = place or f"section {html.escape(claim.section)}"
        badge = f'<span class="verdict {finding.verdict}">{MARKS[finding.verdict]} {finding.verdict}</span>'
        return (
            f"<tr><td>{badge}</td>"
            f'<td>{html.escape(claim.text)} <span class="quiet">{place}</span></td>'
            f"<td>{html.escape(found_here(finding))}{self._folded(finding.comparisons)}</td></tr>"
        )

    def _folded(self, comparisons: Sequence[Compared]) -> str:
        if not self.linked or not comparisons:
            return ""
        items = "\n".join(
            f'<li><span class="verdict {one.verdict}">{MARKS[one.verdict]} {one.verdict}</span> '
            f'{html.escape(one.text)}: {html.escape(_found(one))} <span class="quiet">{html.escape(_aside(one))}</span>'
            "</li>"
            for one in comparisons
        )
        return f"\n<details><summary>{tally(comparisons)}</summary>\n<ul>\n{items}\n</ul></details>"

    def as_markdown(self) -> str:
        """A table."""
        headings = ["verdict", "claim", "found here", "effect", "section", *(["experiment"] * self.linked)]
        lines = [headings, [":--"] * len(headings)]
        for claim, _, finding, _ in self.judged:
            verdict = f"{MARKS[finding.verdict]} {finding.verdict}"
            texts = [verdict, claim.text, found_here(finding), effect(finding), claim.section]
            link = [f"[{plain(claim.experiment)}](#{claim.experiment})"] * self.linked
            lines.append([*map(plain, texts), *link])
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        beside = "" if self.linked else self._comparisons()
        return f"{table}\n\n{beside}" if beside else table

    def _comparisons(self) -> str:
        rows = [
            [
                Cell(each.claim.name if not k else ""),
                Cell(f"{MARKS[one.verdict]} {one.verdict}"),
                Cell(one.text),
                Cell(_found(one)),
                Cell(_aside(one)),
            ]
            for each in self.judged
            for k, one in enumerate(each.finding.comparisons)
        ]
        headings = ["claim", "verdict", "comparison", "found here", "note"]
        caption = "The comparisons that the claims make, each with its own verdict."
        return Table(headings, rows, caption, words=range(5)).as_markdown() if rows else ""


def _found(one: Compared) -> str:
    """What a comparison found, and what was claimed."""
    if one.effect != one.effect:
        return "–"
    return f"{in_words(one.effect, one.error)}, claimed {one.claimed}"


def _aside(one: Compared) -> str:
    """What it waits for, and on what data it was made."""
    parts = [f"waits for: {one.waits}"] if one.waits else []
    parts += [] if one.real else ["stand-in" if one.decides else "stand-in, decides nothing"]
    return "; ".join(parts)


def plain(text: str) -> str:
    r"""Text as Markdown that shows it as it is, on one line.

    >>> print(plain("|V_0| is *not* <3>"))
    \|V\_0\| is \*not\* \<3\>
    """
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))
