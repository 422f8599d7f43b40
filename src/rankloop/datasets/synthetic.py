"""Made-up LETOR data that behaves like a web search engine's, for trying things out with nothing downloaded."""

from __future__ import annotations

import numpy as np

from rankloop.datasets.letor import Letor

GROUP = 5


def synthetic_letor(
    n_queries: int = 100, *, n_features: int = 136, documents: tuple[int, int] = (40, 160), seed: int = 0
) -> Letor:
    """Queries with graded documents and features in correlated groups, some useful, some not, some the same for all.

    Features come in groups of five, as "BM25 of the title, of the body, ..." do. A group follows the documents' hidden
    relevance with a strength of its own, from harmful through useless to good; its members share most of their noise.
    One in seven groups holds counts, with many ties and zeros; one in nine depends on the query alone, so its
    rankers are random lists.

    Parameters
    ----------
    n_queries
        Number of queries.
    n_features
        Number of features.
    documents
        The fewest and the most documents of a query.
    seed
        The same seed gives the same data, and more queries leave the first ones as they were.

    Examples
    --------
    >>> synthetic_letor(20)
    Letor(20 queries, 1,805 documents, 136 features, name='synthetic')
    """
    low, high = documents
    if n_queries < 1 or n_features < 1 or not 1 <= low <= high:
        raise ValueError(
            f"n_queries and n_features must be at least 1 and documents a range from at least 1, not {n_queries!r}, "
            f"{n_features!r} and {documents!r}"
        )
    draw = np.random.default_rng([seed, 0])
    n_groups = -(-n_features // GROUP)
    strength = draw.normal(0.25, 0.3, n_groups)
    scale = np.exp(draw.normal(0, 2, n_groups))
    kind = np.arange(n_groups)
    is_count, of_query = kind % 7 == 3, kind % 9 == 5
    fidelity = draw.uniform(0.5, 0.95, (n_groups, GROUP))
    # Cut so that about 55, 26, 16, 2 and 1 per cent of the documents have grades 0 to 4, as in MSLR. A query that is
    # easy has more relevant documents.
    cuts = np.array([0.19, 1.2, 2.48, 3.06])
    features, labels = [], []
    for query in range(n_queries):
        draw = np.random.default_rng([seed, 1, query])
        n = int(draw.integers(low, high + 1))
        relevance = draw.normal(0, 1, n)
        grade = np.searchsorted(cuts, relevance + draw.normal(0, 0.5) + draw.normal(0, 0.7, n))
        shared = strength * relevance[:, None] + draw.normal(0, 1, (n, n_groups))
        shared[:, of_query] = draw.normal(0, 1, n_groups)[of_query]
        own = np.where(of_query[None, :, None], 0, draw.normal(0, 1, (n, n_groups, GROUP)))
        values = fidelity * shared[:, :, None] + np.sqrt(1 - fidelity**2) * own
        values *= scale[:, None]
        values[:, is_count] = np.maximum(0, np.round(2 * values[:, is_count] / scale[is_count, None]))
        features.append(values.reshape(n, -1)[:, :n_features])
        labels.append(grade)
    sizes = [len(grade) for grade in labels]
    return Letor(
        np.concatenate(features).round(6).astype(np.float32),
        np.concatenate(labels).astype(np.int8),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.arange(1, n_queries + 1),
        name="synthetic",
    )
