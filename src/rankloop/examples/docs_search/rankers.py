"""64 ways to order the documents that share words with a query, declared as data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt

from rankloop.examples.docs_search.corpus import Corpus, words

WEIGHTS = {
    "even": (1, 1, 1, 1, 1),
    "names": (4, 4, 1, 1, 1),
    "name": (8, 0, 0, 1, 1),
    "text": (4, 4, 1, 1, 4),
    "summary": (2, 1, 0, 4, 1),
    "body": (0, 0, 0, 1, 4),
    "signature": (0, 0, 1, 0, 0),
    "module": (0, 1, 0, 0, 0),
}
"""How much the BM25 scores of name, module, signature, summary and body count. The last two are bad on purpose."""

INDEXES = {"": "plain", "stems": "stems"}
"""Whether words are compared as they are, or by their stems."""

BOOSTS = {"": (0.0, 0.0), "exact": (10.0, 0.0), "short": (0.0, 1.0), "exact short": (10.0, 1.0)}
"""What is added if the query has all words of the last part of a name, and taken off for each word of all of it."""


@dataclass(frozen=True, slots=True)
class Ranker:
    """One way to order documents: weights of fields, an index, and boosts."""

    name: str
    weights: tuple[float, ...]
    index: str
    exact: float
    short: float

    def order(self, corpus: Corpus, query: str) -> list[str]:
        """Ids of documents, the best first.

        Where no document has a word of the query as it is, all rankers look for stems: so either every ranker finds
        something, or none does.
        """
        found, scores = corpus.candidates(query, self.index)
        if not found and self.index != "stems":
            found, scores = corpus.candidates(query, "stems")
        if not found:
            return []
        ids = tuple(document.id for document in found)
        total = scores @ np.array(self.weights, np.float64)
        if self.exact or self.short:
            is_named, more_words = _names_of(ids, query)
            total = total + (self.exact * is_named - self.short * more_words)
        return [ids[k] for k in np.argsort(-total, kind="stable").tolist()]


@lru_cache(20_000)
def _names_of(ids: tuple[str, ...], query: str) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int16]]:
    """Whether a query has all words of the last part of each name, and how many words a name has beyond its first.

    All rankers ask for this, and it is the same for all of them.
    """
    asked = frozenset(words(query))
    names = [_name_of(id_) for id_ in ids]
    return np.array([last <= asked for last, _ in names]), np.array([len(whole) - 1 for _, whole in names], np.int16)


@lru_cache(None)
def _name_of(id_: str) -> tuple[frozenset[str], list[str]]:
    """The words of the last part of a name, and those of all of it."""
    return frozenset(words(id_.rpartition(".")[2])), words(id_)


RANKERS = {
    name: Ranker(name, weights, INDEXES[index], *BOOSTS[boost])
    for (field, weights), index, boost in product(WEIGHTS.items(), INDEXES, BOOSTS)
    for name in [" ".join(filter(None, (field, index, boost)))]
}
"""All 64 by name."""

DEFAULT = "even"
"""What SQLite does if one says nothing: all fields count alike, words are as they are, and nothing is boosted."""
