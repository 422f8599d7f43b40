"""A click log like Yandex', made up: so that everything can be tried with nothing downloaded."""

from __future__ import annotations

import numpy as np

from rankloop.arrays import Floats, Ints, Ints32
from rankloop.checks import check_choice
from rankloop.datasets.click_logs import ClickLog
from rankloop.datasets.vocabulary import Vocabulary

ABANDONMENT = (0.65, 0.49, 0.46, 0.46, 0.46, 0.47, 0.50, 0.55, 0.65, 1.0)
EXAMINATION = (1.0, 0.96, 0.76, 0.59, 0.46, 0.39, 0.33, 0.28, 0.26, 0.26)


class SyntheticQueries:
    """Queries with known attractions, of which logs can be drawn.

    Their frequencies follow a power law. Each query has a production list that most sessions show; in the others
    neighbours have changed places, and items from further down have come in. Production ranks attractive items higher,
    but not in perfect order.

    Parameters
    ----------
    n_queries
        Number of queries.
    n_items
        Number of items of each query; lists show the first 10, and sometimes one of the others.
    exponent
        The k-th query is asked in proportion to 1 / k^exponent.
    seed
        Seed of everything that is the same in all logs: attractions and frequencies.

    Examples
    --------
    >>> queries = SyntheticQueries(n_queries=5, seed=1)
    >>> log = queries.log(1000, click_model="CM", seed=2)
    >>> log, bool((log.clicks.sum(axis=1) <= 1).all())
    (ClickLog(1,000 sessions, 5 queries), True)
    >>> queries.attraction.shape
    (5, 14)
    """

    def __init__(self, n_queries: int = 100, *, n_items: int = 14, exponent: float = 1.0, seed: int = 0) -> None:
        if n_queries < 1 or not 10 <= n_items <= 1000:
            raise ValueError(f"n_queries must be at least 1 and n_items from 10 to 1000, not {n_queries} and {n_items}")
        rng = np.random.default_rng(seed)
        self.n_queries = n_queries
        self.n_items = n_items
        weight = np.arange(1, n_queries + 1) ** -exponent
        self.frequency: Floats = weight / weight.sum()
        level = rng.beta(3, 7, (n_queries, 1))
        decay = np.exp(-rng.gamma(2, 0.09, (n_queries, 1)) * np.arange(n_items))
        self.attraction: Floats = np.clip(level * decay * rng.lognormal(0, 0.45, (n_queries, n_items)), 0.003, 0.9)
        self.abandonment: Floats = np.array(ABANDONMENT)
        self.examination: Floats = np.array(EXAMINATION)

    def log(self, n_sessions: int, *, click_model: str = "DCM", seed: int = 0) -> ClickLog:
        """Draw a log, with clicks by CM, DCM or PBM."""
        if n_sessions < 1:
            raise ValueError(f"n_sessions must be at least 1, not {n_sessions!r}")
        check_choice("click_model", click_model, ("CM", "DCM", "PBM"))
        rng = np.random.default_rng((seed, 1))
        queries = rng.choice(self.n_queries, n_sessions, p=self.frequency).astype(np.int32)
        shown = self._lists(queries, rng)
        attraction = self.attraction[queries[:, None], shown]
        clicks = np.zeros(shown.shape, np.uint8)
        reading = np.ones(n_sessions, bool)
        for k in range(10):
            if click_model == "PBM":
                clicks[:, k] = rng.random(n_sessions) < self.examination[k] * attraction[:, k]
                continue
            clicks[:, k] = reading & (rng.random(n_sessions) < attraction[:, k])
            leaving = 1.0 if click_model == "CM" else self.abandonment[k]
            reading &= (clicks[:, k] == 0) | (rng.random(n_sessions) >= leaving)
        names = Vocabulary()
        for q in range(self.n_queries):
            names.add(f"q{q}")
        return ClickLog(queries, (queries[:, None] * 1000 + shown).astype(np.int32), clicks, names, Vocabulary())

    def item_name(self, query: int, item: int) -> str:
        """What logs call an item of a query."""
        return str(query * 1000 + item)

    def _lists(self, queries: Ints32, rng: np.random.Generator) -> Ints:
        """One list of ten items a session: production's, or one of a few variants of it that each query has."""
        n_variants = 8
        variants = np.tile(np.arange(10), (self.n_queries, n_variants, 1))
        fixed = np.random.default_rng((self.n_queries, self.n_items))
        for q in range(self.n_queries):
            for v in range(1, n_variants):
                for _ in range(fixed.integers(1, 4)):
                    k = int(fixed.integers(9))
                    variants[q, v, [k, k + 1]] = variants[q, v, [k + 1, k]]
                if self.n_items > 10 and fixed.random() < 0.5:
                    variants[q, v, fixed.integers(5, 10)] = fixed.integers(10, self.n_items)
        share = np.array([0.5] + [0.5 / (n_variants - 1)] * (n_variants - 1))
        return variants[queries, rng.choice(n_variants, len(queries), p=share)]


def synthetic_click_log(
    n_sessions: int = 20_000, *, n_queries: int = 100, click_model: str = "DCM", seed: int = 0
) -> ClickLog:
    """A log of generated sessions; `SyntheticQueries` has the parameters behind it.

    >>> synthetic_click_log(100, n_queries=3)
    ClickLog(100 sessions, 3 queries)
    """
    return SyntheticQueries(n_queries).log(n_sessions, click_model=click_model, seed=seed)
