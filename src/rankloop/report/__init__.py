"""What a person sees of results: tables, and pages that hold all they need."""

from rankloop.report.page import Section, page
from rankloop.report.tables import Row, as_csv, cells, rows

__all__ = ["Row", "Section", "as_csv", "cells", "page", "rows"]
