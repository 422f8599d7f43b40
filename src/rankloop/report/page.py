"""One HTML page that holds all it needs: it can be mailed, opened without a network, and printed."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from rankloop.policies.features import Explanation, plot_coverage
from rankloop.report.drawings import CAPTIONS, INK, described, inline_svg
from rankloop.report.tables import AnyRow, cells, headings, rows
from rankloop.simulation import Result


@dataclass
class Section:
    """One problem on a page: what it is, who did how well, and the picture of it."""

    title: str
    text: str
    results: Sequence[Result]
    facts: dict[str, str] = field(default_factory=dict)
    log: bool = True
    records: Sequence[str] = ("regret",)
    """What to draw, each in its own picture."""
    lists: Mapping[str, Explanation] = field(default_factory=dict)
    """What policies, by name, have learned to show one user, and why."""


def page(title: str, text: str, sections: Iterable[Section], footer: str = "") -> str:
    """The page as text, to be written to a file that ends in .html.

    Plain text is escaped; an empty line in it begins a paragraph.
    """
    body = "\n".join(_section(section, number) for number, section in enumerate(sections, 1))
    return fill(title, text, body, footer)


def fill(title: str, text: str, body: str, footer: str, more_style: str = "") -> str:
    """A page with the given body, which is HTML; the rest is plain text."""
    parts = {
        "title": html.escape(title),
        "style": (resource("page.css") + more_style).strip(),
        "text": paragraphs(text),
        "body": body,
        "footer": paragraphs(footer),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda slot: parts[slot[1]], resource("page.html"))


def resource(name: str) -> str:
    """A text that comes with this package."""
    return files("rankloop.report").joinpath(name).read_text(encoding="utf-8")


def _section(section: Section, number: int) -> str:
    table = rows(section.results)
    facts = "".join(f"<div><dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd></div>" for k, v in section.facts.items())
    figures = "\n".join(
        f"<figure>\n{_plot(section, record, f's{number}-{record}')}\n"
        f"<figcaption>{html.escape(CAPTIONS[record])}</figcaption>\n</figure>"
        for record in section.records
        if table
    )
    return f"""<section>
<h2>{html.escape(section.title)}</h2>
{paragraphs(section.text)}
{f"<dl>{facts}</dl>" if facts else ""}
{figures or "<p>No run has finished.</p>"}
{_table(table)}
{_lists(section.lists, f"s{number}-lists") if section.lists else ""}
</section>"""


def _lists(lists: Mapping[str, Explanation], prefix: str) -> str:
    drawing = inline_svg(plot_coverage(lists, ink=INK), prefix, f"Topics covered by the lists of {', '.join(lists)}")
    caption = (
        "The list that each policy has learned to show one user, from the top down: the darker, the more of a topic "
        "is covered so far; dots mark what a position adds."
    )
    texts = "\n".join(
        f"<details{' open' * (not k)}><summary>{html.escape(name)}</summary>\n"
        f"<pre>{html.escape(str(each))}</pre></details>"
        for k, (name, each) in enumerate(lists.items())
    )
    return f"<figure>\n{drawing}\n<figcaption>{caption}</figcaption>\n</figure>\n{texts}"


def _table(table: Sequence[AnyRow]) -> str:
    worst = max((row.mean_regret for row in table), default=0) or 1.0
    head = "".join(f"<th>{html.escape(heading)}</th>" for heading in headings(table))
    body = "\n".join(
        f'<tr style="--share: {100 * row.mean_regret / worst:.1f}%">'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells(row))
        + "</tr>"
        for row in table
    )
    content = f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>"
    return f'<div class="scroll"><table class="ranking">\n{content}</table></div>'


def paragraphs(text: str) -> str:
    """Plain text as HTML; an empty line begins a paragraph."""
    return "\n".join(f"<p>{html.escape(' '.join(part.split()))}</p>" for part in text.split("\n\n") if part.strip())


def _plot(section: Section, record: str, prefix: str) -> str:
    """The plot as SVG in the colours of the page."""
    from rankloop.simulation.plots import plot_results

    figure = plot_results(section.results, log=section.log, record=record, title="", ink=INK)
    policies = ", ".join(result.policy for result in section.results)
    return inline_svg(figure, prefix, f"{described(record)} over time of {policies}")
