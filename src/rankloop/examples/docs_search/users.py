"""Simulated users: each looks for one thing, in words of their own, and clicks what looks like it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from rankloop.examples.docs_search.corpus import Corpus, Document, content_words, words
from rankloop.examples.docs_search.search import DocsSearch, Page

CLICK, STOP = (0.05, 0.95), (0.2, 0.9)
"""The navigational user of Hofmann et al. (2013), for what is not looked for and for what is: the probability of
clicking a result that is read, and that of leaving after a click."""

MISSPELT = 0.1
"""Share of words that are misspelt."""

N_HELD_OUT = 600
"""Queries that no simulated user asks: they measure rankers."""


class Query(NamedTuple):
    """What a user types, and the document that they look for."""

    text: str
    target: str


def make_queries(corpus: Corpus, seed: int = 0) -> tuple[list[Query], list[Query]]:
    """Queries that users ask, and those held out: one for each document of which a sentence is not in the index."""
    dice = random.Random(seed)
    targets = [document for document in corpus.documents.values() if document.held]
    dice.shuffle(targets)
    queries = [Query(_typed(document, dice), document.id) for document in targets]
    held_out = queries[:N_HELD_OUT]
    known = {query.text for query in held_out}
    return [query for query in queries[N_HELD_OUT:] if query.text not in known], held_out


def _typed(document: Document, dice: random.Random) -> str:
    """Some words of the held sentence, or of the name, or of both; shortened, and some of them misspelt."""
    described = list(dict.fromkeys(content_words(document.held)))
    own = list(dict.fromkeys(words(document.id)))
    kind = dice.random()
    if kind < 0.3:
        chosen = _some(described, dice.choice((3, 4, 5)), dice)
    elif kind < 0.7:
        chosen = _some(own, dice.choice((1, 2)), dice) + _some(described, dice.choice((1, 2, 3)), dice)
    else:
        chosen = _some(own, dice.choice((2, 3)), dice)
    return " ".join(_misspelt(word, dice) if len(word) > 4 and dice.random() < MISSPELT else word for word in chosen)


def _some(of: Sequence[str], n: int, dice: random.Random) -> list[str]:
    """So many words, in the order in which they stand."""
    kept = sorted(dice.sample(range(len(of)), min(n, len(of))))
    return [of[k] for k in kept]


def _misspelt(word: str, dice: random.Random) -> str:
    """A word with a letter left out, doubled, or exchanged with the next."""
    at = dice.randrange(1, len(word) - 1)
    return dice.choice(
        (
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        )
    )


def clicks(shown: Sequence[str], target: str, dice: random.Random) -> list[str]:
    """What a user clicks who reads the results from the top until they are content."""
    clicked = []
    for item in shown:
        sought = item == target
        if dice.random() < CLICK[sought]:
            clicked.append(item)
            if dice.random() < STOP[sought]:
                break
    return clicked


def visit(search: DocsSearch, query: Query, dice: random.Random, user: str | None = None) -> tuple[Page, list[str]]:
    """One simulated user: what they got to see, and what they clicked."""
    page = search.search(query.text, user)
    return page, clicks(page.items, query.target, dice)
