"""What holds for all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from postgres_server import Server

    from rankloop.examples.docs_search.corpus import Corpus

# The processes of a test run share the cores already. More threads for one decomposition of a matrix would wait for
# each other by turning in circles: on busy cores that takes up to forty times as long. Numpy reads this when it is
# first imported, which is later, and so do the processes that tests start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server that all tests of a process share, since to make one takes seconds."""
    import postgres_server

    with postgres_server.running() as server:
        yield server


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    """The documents of the search site, which are collected once for all tests of a process."""
    from rankloop.examples.docs_search.corpus import open_corpus

    opened = open_corpus(tmp_path_factory.mktemp("docs_search"))
    yield opened
    opened.close()
