"""What a person sees of results: tables, and pages that hold all they need."""

from rankloop.report.page import Section, page
from rankloop.report.tables import AnyRow, DriftRow, ListRow, Row, as_csv, cells, headings, rows

__all__ = ["AnyRow", "DriftRow", "ListRow", "Row", "Section", "as_csv", "cells", "headings", "page", "rows"]
