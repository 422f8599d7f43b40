"""The corpus, made once for all tests of the examples."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser import browser, page, shared_context

from rankloop.examples.docs_search.corpus import Corpus, open_corpus

__all__ = ["browser", "page", "shared_context"]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    opened = open_corpus(tmp_path_factory.mktemp("docs_search"))
    yield opened
    opened.close()
