"""The search engine: rankers from SQLite, and rankloop to say which of them to run and what to show."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from rankloop.examples.docs_search.corpus import Corpus
from rankloop.examples.docs_search.rankers import DEFAULT, RANKERS, Ranker

POSITIONS = 10
"""Results on a page."""

OFTEN = 20
"""Times that a query is asked before the site takes it for a frequent one."""

SEARCHES = 100_000
"""Searches that the confidence bounds of an evaluation without a known end are made for."""

MOST_COUNTED = 10_000
"""Queries that are counted at a time."""

logger = logging.getLogger(__name__)


class LiveOrClient(Protocol):
    """What is called of rankloop: `rl.Live` in this program, or `rl.Client` for a service."""

    def create(self, loop: str, *, kind: str, **settings: Any) -> Any:
        """Create a loop, unless it is there."""

    def duel(self, loop: str, key: str = "", *, user: str | None = None) -> Any:
        """Two rankers to run."""

    def interleave(self, duel: str, lists: Mapping[str, Sequence[str]], *, positions: int | None = None) -> Any:
        """One list of their two."""

    def rank(self, loop: str, key: str, items: Sequence[str], *, user: str | None = None) -> Any:
        """The list to show, from production's."""

    def click(self, impression: str, item: str) -> Any:
        """Tell of a click."""

    def finish(self, impression: str) -> Any:
        """Tell that a user has left."""

    def status(self, loop: str) -> Any:
        """What a loop has counted and found."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a user gets to see."""

    items: list[str]
    impression: str = ""
    """The id that clicks carry; empty if rankloop had no part in it."""
    loop: str = ""
    """The loop that the list came from."""


class DocsSearch:
    """A search engine that learns from clicks.

    Most queries take part in the evaluation: two rankers answer, and their lists are interleaved. Those that are asked
    often get a learner of their own instead, which improves the list of the default ranker.

    Parameters
    ----------
    corpus
        The documents.
    loop
        Where to ask and to report: `rl.Live` or `rl.Client`.
    rankers
        The rankers to compare, by name; the first is the default.
    frequent
        Queries that are known to be asked often.
    often
        Times that any other query is asked before it counts as frequent; none ever does if not given.
    """

    def __init__(
        self,
        corpus: Corpus,
        loop: LiveOrClient,
        *,
        rankers: Mapping[str, Ranker] = RANKERS,
        frequent: Iterable[str] = (),
        often: int | None = None,
    ) -> None:
        self.corpus, self.loop, self.rankers, self.frequent = corpus, loop, rankers, frozenset(frequent)
        self._often, self._asked, self._counting = often, Counter[str](), threading.Lock()
        self.default = DEFAULT if DEFAULT in rankers else next(iter(rankers))
        self.order = lru_cache(200_000)(self._order)

    def create(self, *, window: str | float = "30 min", **settings: Any) -> None:
        """Create the two loops; settings are those of the evaluation."""
        names = sorted(self.rankers, key=lambda name: name != self.default)
        self.loop.create("rankers", kind="evaluate", rankers=names, window=window, positions=POSITIONS, **settings)
        self.loop.create("queries", kind="rerank", window=window, positions=POSITIONS)

    def _order(self, ranker: str, query: str) -> list[str]:
        return self.rankers[ranker].order(self.corpus, query)[: 2 * POSITIONS]

    def search(self, query: str, user: str | None = None) -> Page:
        """The page for a query; that of the default ranker if rankloop is away."""
        try:
            return self._improved(query, user) if self._is_frequent(query) else self._compared(query, user)
        except Exception as error:  # whatever it is: people still want their results
            logger.warning("rankloop is away, the default ranking is shown: %s", error)
            return Page(self.order(self.default, query)[:POSITIONS])

    def _is_frequent(self, query: str) -> bool:
        """Count a query, and say whether it has been asked often."""
        if self._often is None or query in self.frequent:
            return query in self.frequent
        with self._counting:
            self._asked[query] += 1
            if len(self._asked) > MOST_COUNTED:  # go on with the half that was asked most
                self._asked = Counter(dict(self._asked.most_common(MOST_COUNTED // 2)))
            return self._asked[query] > self._often

    def _compared(self, query: str, user: str | None) -> Page:
        """Two rankers' lists as one; clicks decide which of them is better."""
        if not self.order(self.default, query):
            return Page([])  # no ranker finds anything
        duel = self.loop.duel("rankers", user=user)
        lists = {ranker: self.order(ranker, query) for ranker in duel.rankers}
        shown = self.loop.interleave(duel.id, lists, positions=POSITIONS)
        return Page(list(shown.items), shown.id, "rankers" if shown.id else "")

    def _improved(self, query: str, user: str | None) -> Page:
        """The default ranker's list, as far as clicks have improved it."""
        production = self.order(self.default, query)[:POSITIONS]
        if not production:
            return Page([])
        shown = self.loop.rank("queries", query, production, user=user)
        return Page(list(shown.items), shown.id, "queries" if shown.id else "")

    def click(self, impression: str, item: str) -> None:
        """Report a click; a lost one is no reason to keep a page from anybody."""
        try:
            self.loop.click(impression, item)
        except Exception as error:
            logger.warning("a click was not reported: %s", error)

    def leave(self, impression: str) -> None:
        """Say that a user has left: what is known of the impression is learned from now, and not later."""
        self.loop.finish(impression)
