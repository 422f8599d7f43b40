"""The search site's two loops: which of its rankers is best, and lists of frequent queries that get better."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from rankloop.demo.traffic import Event, Visit, events_of
from rankloop.examples.docs_search.corpus import Corpus
from rankloop.examples.docs_search.search import POSITIONS, DocsSearch
from rankloop.examples.docs_search.users import Query, clicks, make_queries, visit

SEARCHES, FREQUENT_SEARCHES = 8_000, 9_600
"""Searches of the evaluation, and for frequent queries: as many as their questions need. Of 60 simulated races of 8,000
searches, 58 chose a ranker whose MRR is surely above the default's (`python tests/demo/test_races.py 60`)."""

N_FREQUENT = 12
"""Queries that are asked often."""

N_USERS = 2_000
"""Different visitors, of whom the holdout takes its share."""

HOLDOUT = 0.1
"""Share of visitors who always get production's list."""


class Searching:
    """What both problems of the search site share: the site, and the queries that its users ask.

    Parameters
    ----------
    corpus
        The documents.
    client
        Where the site asks and reports.
    """

    def __init__(self, corpus: Corpus, client: Any) -> None:
        asked, self.held_out = make_queries(corpus)
        plain = DocsSearch(corpus, client)
        found = [query for query in asked if query.target in plain.order(plain.default, query.text)[:POSITIONS]]
        self.frequent: Sequence[Query] = found[:N_FREQUENT]
        often = {query.text for query in self.frequent}
        self.rare = [query for query in asked if query.text not in often]
        self.site = DocsSearch(corpus, client, frequent=often)

    def position(self, items: Sequence[str], target: str) -> int:
        """Where something stands, from 1; 0 if it is not there."""
        return items.index(target) + 1 if target in items else 0


class Evaluating:
    """Users with rare queries: two rankers answer each, and clicks decide."""

    title = "Which of 64 rankers is best?"

    def __init__(self, searching: Searching, searches: int) -> None:
        self._searching, self._searches, self.client = searching, searches, searching.site.loop

    def create(self) -> None:
        """Create the loop: all rankers in one batch, and confidence bounds for as many searches as there will be."""
        site = self._searching.site
        names = sorted(site.rankers, key=lambda name: name != site.default)
        self.client.create(
            "rankers", kind="evaluate", rankers=names, positions=POSITIONS,
            policy="MergeDTS", batch_size=len(names), c=self._searches,
        )  # fmt: skip

    def visit(self, dice: random.Random, number: int) -> tuple[list[Visit], list[Event]]:
        """One search."""
        query = dice.choice(self._searching.rare)
        page, clicked = visit(self._searching.site, query, dice, f"visitor {dice.randrange(N_USERS)}")
        position = self._searching.position(page.items, query.target)
        arm = "policy" if page.impression else "fallback"
        got = Visit("evaluate", number, "rankers", query.text, arm, len(clicked), position, 0)
        return [got], events_of(page.impression, clicked)


class Reranking:
    """Users with frequent queries: the default ranker's list, as far as clicks have improved it."""

    title = "Improve the lists of frequent queries, never break them"

    def __init__(self, searching: Searching, searches: int) -> None:
        self._searching, self._searches, self.client = searching, searches, searching.site.loop

    def create(self) -> None:
        """Create the loop, for as many lists of each query as there will be: without that BubbleRank begins anew."""
        self.client.create(
            "queries", kind="rerank", positions=POSITIONS, holdout=HOLDOUT, horizon=-(-self._searches // N_FREQUENT)
        )

    def visit(self, dice: random.Random, number: int) -> tuple[list[Visit], list[Event]]:
        """One search."""
        queries, site = self._searching.frequent, self._searching.site
        query = queries[number % len(queries)]
        production = site.order(site.default, query.text)[:POSITIONS]
        shown = self.client.rank("queries", query.text, production, user=f"visitor {dice.randrange(N_USERS)}")
        clicked = clicks(shown.items, query.target, dice)
        position = self._searching.position(shown.items, query.target)
        got = Visit("rerank", number, "queries", query.text, shown.arm, len(clicked), position, 0)
        return [got], events_of(shown.id, clicked)

    def production(self, query: str) -> int:
        """Where production has what the users of a query look for."""
        target = next(each.target for each in self._searching.frequent if each.text == query)
        return self._searching.position(self._searching.site.order(self._searching.site.default, query), target)
