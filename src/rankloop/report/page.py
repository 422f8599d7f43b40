"""One HTML page that holds all it needs: it can be mailed, opened without a network, and printed."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from types import MappingProxyType

from markdown_it import MarkdownIt

from rankloop.extras import can_plot
from rankloop.policies.features import Explanation, plot_coverage
from rankloop.report.drawings import CAPTIONS, INK, NO_PLOTS, described, inline_svg
from rankloop.report.markdown import Picture, facts, folded, heading, links, prose
from rankloop.report.tables import ranking
from rankloop.simulation import Result

FEWEST_CONTENTS = 3
"""A page with fewer headings than that needs no list of them."""


@dataclass
class Section:
    """One problem on a page: what it is about, how well each policy did, and pictures of it."""

    title: str
    text: str
    results: Sequence[Result]
    facts: dict[str, str] = field(default_factory=dict)
    log: bool = True
    records: Sequence[str] = ("regret",)
    """What to draw, each in its own picture."""
    lists: Mapping[str, Explanation] = field(default_factory=dict)
    """What policies, by name, have learned to show one user, and why."""
    answer: str = ""
    """What the results say, in words; it stands before the table."""


def page(
    title: str,
    text: str,
    sections: Iterable[Section],
    footer: str = "",
    beside: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The page as text, to be written to a file that ends in .html.

    Plain text is escaped; an empty line in it begins a paragraph. `beside` names files to link to, each with what it
    holds.
    """
    parts = [heading(1, title), prose(text), *([links("Beside this page", beside)] if beside else [])]
    pictures: list[Picture] = []
    if not can_plot():
        parts.append(prose(NO_PLOTS))
    for number, section in enumerate(sections, 1):
        drawn = _pictures(section, f"s{number}")
        pictures += drawn
        parts += _section(section, f"s{number}", drawn)
    parts += ["---", prose(footer)] if footer else []
    return as_html("\n\n".join(part for part in parts if part), pictures)


def _section(section: Section, anchor: str, pictures: Sequence[Picture]) -> list[str]:
    parts = [heading(2, section.title, anchor), prose(section.text), facts(section.facts)]
    table = ranking(section.results)
    if not table.rows:
        return [*parts, prose("No run has finished.")]
    parts += [prose(section.answer), str(table), *(str(picture) for picture in pictures)]
    parts += [folded(f"The list of {name}", f"```text\n{each}\n```") for name, each in section.lists.items()]
    return parts


def _pictures(section: Section, prefix: str) -> list[Picture]:
    if not can_plot() or not any(result.finished for result in section.results):
        return []
    from rankloop.simulation.plots import plot_results

    found = []
    policies = ", ".join(result.policy for result in section.results)
    for record in section.records:
        figure = plot_results(section.results, log=section.log, record=record, title="", ink=INK)
        alt = f"{described(record)} over time of {policies}"
        name = f"{prefix}-{record}"
        found.append(Picture(f"{name}.png", alt, CAPTIONS[record], inline_svg(figure, name, alt)))
    if section.lists:
        alt, name = f"Topics covered by the lists of {', '.join(section.lists)}", f"{prefix}-lists"
        caption = (
            "The list that each policy has learned to show one user, from the top down: the darker, the more of a "
            "topic is covered so far; dots mark what a position adds."
        )
        drawing = inline_svg(plot_coverage(section.lists, ink=INK), name, alt)
        found.append(Picture(f"{name}.png", alt, caption, drawing))
    return found


def as_html(markdown: str, pictures: Iterable[Picture] = ()) -> str:
    """A whole page made of a report in Markdown, with its pictures inside and a list of its contents.

    Tables and pictures that are wider than the page scroll in boxes of their own.
    """
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)
    title = re.search(r"<h1>(.*?)</h1>", body)
    body = re.sub(r'<p><a id="([^"]+)"></a></p>\n<h(\d)>', r'<h\2 id="\1">', body)
    body = body.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")
    body = re.sub(r"<table>(?=\s*<thead>\s*<tr>\s*<th[^>]*>verdict<)", '<table class="claims">', body)
    body = re.sub(r"(<td[^>]*>)([✓✗?]) (holds|fails|undecided|needs|too)([^<]*)", _badge, body)
    body = body.replace("<h2", f"{_contents(body)}<h2", 1)
    drawings = {picture.file: picture.svg for picture in pictures}
    body = re.sub(
        r'<p><img src="([^"]+)"[^>]*></p>\n<p><em>(.*?)</em></p>',
        lambda found: (
            f'<figure>\n<div class="scroll" tabindex="0">{drawings[html.unescape(found[1])]}</div>\n'
            f"<figcaption>{found[2]}</figcaption>\n</figure>"
        ),
        body,
        flags=re.DOTALL,
    )
    parts = {"title": title[1] if title else "", "style": resource("page.css").strip(), "body": body}
    return re.sub(r"\{\{(\w+)\}\}", lambda slot: parts[slot[1]], resource("page.html"))


def _badge(found: re.Match[str]) -> str:
    verdict = found[3] if found[3] in ("holds", "fails") else "undecided"
    return f'{found[1]}<span class="verdict {verdict}">{found[2]} {found[3]}{found[4]}</span>'


def _contents(body: str) -> str:
    """The headings as a list of links, those of the third level below those of the second."""
    headings = re.findall(r'<h([23]) id="([^"]+)">(.*?)</h', body)
    if len(headings) < FEWEST_CONTENTS:
        return ""
    listed = [f'<li class="level{level}"><a href="#{anchor}">{text}</a></li>' for level, anchor, text in headings]
    return '<nav aria-label="Contents">\n<ul>\n' + "\n".join(listed) + "\n</ul>\n</nav>\n"


def resource(name: str) -> str:
    """A text that comes with this package."""
    return files("rankloop.report").joinpath(name).read_text(encoding="utf-8")
