"""The corpus, made once for all tests of the demo."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rankloop.examples.docs_search.corpus import Corpus, open_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    opened = open_corpus(tmp_path_factory.mktemp("demo"))
    yield opened
    opened.close()
