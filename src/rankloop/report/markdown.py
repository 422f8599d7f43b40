"""The parts of a report, each as Markdown.

A report is written as Markdown, and `rankloop.report.page` makes the HTML page of it. What Markdown has no sign for is
said by the few elements of HTML that every place which shows Markdown knows: anchors, small text and folded parts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Cell(NamedTuple):
    """The content of one place in a table: a text, a less important text after it, and how it stands out."""

    text: str
    quiet: str = ""
    strong: bool = False
    link: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under headings; the columns in `words` hold text, and the others hold numbers."""

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    words: Sequence[int] = (0,)

    def __str__(self) -> str:
        ruler = [":--" if k in self.words else "--:" for k in range(len(self.headings))]
        lines = [[plain(text) for text in self.headings], ruler, *([_cell(cell) for cell in row] for row in self.rows)]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"{plain(self.caption)}\n\n{table}" if self.caption else table


def _cell(cell: Cell) -> str:
    text = plain(cell.text)
    text = f"[{text}](#{cell.link})" if cell.link else text
    text = f"**{text}**" if cell.strong and text else text
    return f"{text} {small(cell.quiet)}" if cell.quiet else text


@dataclass(frozen=True)
class Picture:
    """A figure: a file beside the Markdown, for which the page has an SVG element."""

    file: str
    alt: str
    caption: str
    svg: str

    def __str__(self) -> str:
        return f"![{plain(self.alt)}]({self.file})\n\n*{plain(self.caption)}*"


def heading(level: int, text: str, anchor: str = "") -> str:
    """A heading, with an anchor of its own, as places that show Markdown differ in the anchors they make up."""
    mark = f'<a id="{anchor}"></a>\n\n' if anchor else ""
    return f"{mark}{'#' * level} {plain(text)}"


def prose(text: str) -> str:
    """Plain text; an empty line begins a paragraph."""
    return "\n\n".join(plain(part) for part in text.split("\n\n") if part.strip())


def facts(found: Mapping[str, str]) -> str:
    """Short facts on one line, each with what it is about."""
    return " · ".join(f"{plain(key)}: **{plain(value)}**" for key, value in found.items())


def items(title: str, found: Sequence[tuple[str, str]]) -> str:
    """A list under a title; each item begins with a word that says what kind it is."""
    listed = "\n".join(f"- {plain(tag)}: {plain(text)}" for tag, text in found)
    return f"**{plain(title)}**\n\n{listed}"


def links(title: str, files: Mapping[str, str]) -> str:
    """A sentence that names files beside the report, each with what it holds."""
    found = (f"[{plain(file)}]({file}), {plain(text)}" for file, text in files.items())
    return f"{plain(title)}: {'; '.join(found)}."


def small(text: str) -> str:
    """Text of less importance."""
    return f"<small>{plain(text)}</small>"


def folded(summary: str, *parts: object, unfolded: bool = False) -> str:
    """Parts that are shown when a reader opens them by their summary."""
    body = "\n\n".join(str(part) for part in parts)
    state = " open" * unfolded
    return f'<details markdown="1"{state}>\n<summary>{plain(summary)}</summary>\n\n{body}\n\n</details>'


def plain(text: str) -> str:
    r"""Text as Markdown that shows it as it is, on one line.

    >>> print(plain("|V_0| is *not* <3> &amp; more"))
    \|V\_0\| is \*not\* &lt;3&gt; &amp;amp; more
    """
    text = re.sub(r"&(?=#?\w+;)", "&amp;", " ".join(text.split())).replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#])", r"\\\1", text)
