"""Figures as parts of a page: SVG in the page's colours, and PNG to stand beside a text."""

from __future__ import annotations

import html
import io
import re
from typing import TYPE_CHECKING, Any

from rankloop.extras import PLOTS, how_to_install

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#010203"
"""Stands for the colour of the text, which the page replaces by its own, light or dark."""

CAPTIONS = {
    "regret": "Mean over runs of the cumulative regret; bands show one standard error. Lower is better.",
    "violations": "Lists so far that had more pairs in the wrong order than a safe policy may show. Fewer are better.",
    "ndcg": "NDCG of the list that is shown at each moment. Higher is better.",
    "clicks": "Clicks so far. More are better.",
}

PIXELS_AN_INCH = 110

PIXELS_A_POINT = 4 / 3
SHRINK = 0.82
"""How much smaller than drawn a figure may get before it scrolls within the page."""

NO_PLOTS = f"This report has no pictures: {how_to_install('plots', PLOTS)}"
"""What a report says where matplotlib is missing."""


def described(record: str) -> str:
    """What a record is, at the beginning of a sentence."""
    return "NDCG" if record == "ndcg" else record.capitalize()


def inline_svg(figure: Figure, prefix: str, label: str) -> str:
    """A figure, drawn with `INK`, as an SVG element whose names begin with a prefix of its own."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    figure.patch.set_alpha(0)
    for axes in figure.axes:
        axes.patch.set_alpha(0)
    text = io.StringIO()
    with rc_context({"svg.hashsalt": prefix, "svg.fonttype": "path"}):
        # `savefig` would draw everything twice.
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(text, metadata={"Date": None, "Creator": None})
    drawing = text.getvalue()
    drawing = drawing[drawing.index("<svg") :].replace(INK, "currentColor")
    drawing = re.sub(r"<metadata>.*?</metadata>", "", drawing, flags=re.DOTALL)
    # Every plot names its parts alike; on one page the names must differ.
    drawing = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", drawing)
    drawing = re.sub(r' (width|height)="[\d.]+pt"', "", drawing, count=2)
    # No screen shows a thousandth of a point.
    drawing = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), drawing)
    narrowest = round(figure.get_figwidth() * 72 * PIXELS_A_POINT * SHRINK)
    own = f'role="img" aria-label="{html.escape(label, quote=True)}" style="min-width: {narrowest}px"'
    return drawing.replace("<svg", f"<svg {own}", 1)


def png(figure: Figure) -> bytes:
    """A figure on white."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure.patch.set(facecolor="white", alpha=1)
    figure.set_dpi(PIXELS_AN_INCH)
    data = io.BytesIO()
    canvas: Any = FigureCanvasAgg(figure)
    canvas.print_png(data, metadata={"Software": None})
    return data.getvalue()
