"""A browser for the tests of the examples."""

from browser import browser, page, shared_context

__all__ = ["browser", "page", "shared_context"]
