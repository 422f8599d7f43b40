"""One HTML page that holds all it needs: it can be mailed, opened without a network, and printed."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from rankloop.report.tables import AnyRow, cells, headings, rows
from rankloop.simulation import Result

_INK = "#010203"
"""Stands for the colour of the text, which the page replaces by its own, light or dark."""


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


_CAPTIONS = {
    "regret": "Mean over runs of the cumulative regret; bands show one standard error. Lower is better.",
    "violations": "Lists so far that had more pairs in the wrong order than a safe policy may show. Fewer are better.",
    "ndcg": "NDCG of the list that is shown at each moment. Higher is better.",
    "clicks": "Clicks so far. More are better.",
}


def page(title: str, text: str, sections: Iterable[Section], footer: str = "") -> str:
    """The page as text, to be written to a file that ends in .html.

    Plain text is escaped; an empty line in it begins a paragraph.
    """
    body = "\n".join(_section(section, number) for number, section in enumerate(sections, 1))
    template = files("rankloop.report").joinpath("page.html").read_text(encoding="utf-8")
    parts = {"title": html.escape(title), "text": _paragraphs(text), "body": body, "footer": _paragraphs(footer)}
    return re.sub(r"\{\{(\w+)\}\}", lambda slot: parts[slot[1]], template)


def _section(section: Section, number: int) -> str:
    table = rows(section.results)
    facts = "".join(f"<div><dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd></div>" for k, v in section.facts.items())
    figures = "\n".join(
        f"<figure>\n{_plot(section, record, f's{number}-{record}')}\n"
        f"<figcaption>{html.escape(_CAPTIONS[record])}</figcaption>\n</figure>"
        for record in section.records
        if table
    )
    return f"""<section>
<h2>{html.escape(section.title)}</h2>
{_paragraphs(section.text)}
{f"<dl>{facts}</dl>" if facts else ""}
{figures or "<p>No run has finished.</p>"}
{_table(table)}
</section>"""


def _table(table: Sequence[AnyRow]) -> str:
    worst = max((row.mean_regret for row in table), default=0) or 1.0
    head = "".join(f"<th>{html.escape(heading)}</th>" for heading in headings(table))
    body = "\n".join(
        f'<tr style="--share: {100 * row.mean_regret / worst:.1f}%">'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells(row))
        + "</tr>"
        for row in table
    )
    return f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def _paragraphs(text: str) -> str:
    return "\n".join(f"<p>{html.escape(' '.join(part.split()))}</p>" for part in text.split("\n\n") if part.strip())


def _plot(section: Section, record: str, prefix: str) -> str:
    """The plot as SVG in the colours of the page."""
    from matplotlib import rc_context

    from rankloop.simulation.plots import plot_results

    with rc_context({"svg.hashsalt": prefix, "svg.fonttype": "path"}):
        figure = plot_results(section.results, log=section.log, record=record, title="", ink=_INK)
        figure.patch.set_alpha(0)
        for axes in figure.axes:
            axes.patch.set_alpha(0)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    drawing = text.getvalue()
    drawing = drawing[drawing.index("<svg") :].replace(_INK, "currentColor")
    drawing = re.sub(r"<metadata>.*?</metadata>", "", drawing, flags=re.DOTALL)
    # Every plot names its parts alike; on one page the names must differ.
    drawing = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", drawing)
    drawing = re.sub(r' (width|height)="[\d.]+pt"', "", drawing, count=2)
    policies = ", ".join(result.policy for result in section.results)
    what = "NDCG" if record == "ndcg" else record.capitalize()
    label = html.escape(f"{what} over time of {policies}", quote=True)
    return drawing.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
