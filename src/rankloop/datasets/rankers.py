"""Rankers of a LETOR dataset: scores for its documents, and the lists they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankloop.arrays import Ints
from rankloop.checks import check_choice
from rankloop.datasets.letor import Letor

Places = npt.NDArray[Any]
"""Whole numbers in two bytes, or four where a query has so many documents."""


TIES = ("random", "pessimistic", "redrawn")


class Rankings(NamedTuple):
    """Every query's documents as every ranker orders them; documents are numbered from 0 within their query.

    `order[r, offsets[q] + k]` is the document at rank k, `rank[r, offsets[q] + d]` the rank of document d. Where ties
    are to be redrawn, `tied_until[r, offsets[q] + k]` is the rank below all documents that are tied with the one at
    rank k; else the array is empty.
    """

    order: Places
    rank: Places
    tied_until: Places


class Rankers:
    """Rankers of one dataset: a score for each document, the higher the better.

    Parameters
    ----------
    data
        The documents.
    scores
        Scores, one row for each document and one column for each ranker; -inf for what a ranker does not return.
    names
        One for each ranker.

    Examples
    --------
    >>> data = Letor.from_documents([[0.5, 2], [0.1, 3], [0.2, 1]], labels=[1, 0, 2], qids=[7, 7, 7])
    >>> rankers = Rankers.from_features(data)
    >>> rankers
    Rankers(2 of documents: feature 1, feature 2)
    >>> rankers.rankings(seed=0).order.tolist()
    [[0, 2, 1], [1, 0, 2]]
    """

    def __init__(self, data: Letor, scores: npt.ArrayLike, names: Sequence[str]) -> None:
        table = np.asarray(scores, np.float32)
        if table.shape != (data.n_documents, len(names)):
            raise ValueError(
                f"scores must have a row for each of {data.n_documents} documents and a column for each of "
                f"{len(names)} names, not the shape {table.shape}"
            )
        if np.isnan(table).any():
            raise ValueError("scores must be numbers, not NaN")
        repeated = len(names) - len(set(names))
        if repeated:
            raise ValueError(f"rankers must have different names, but {repeated} are repeated")
        self.data = data
        self.scores = table
        self.names = tuple(names)

    @classmethod
    def from_features(cls, data: Letor, features: Sequence[int] | None = None) -> Rankers:
        """Each feature as a ranker: all, or those of these numbers, counted from 1 as in the file."""
        chosen = list(range(1, data.n_features + 1)) if features is None else list(features)
        for number in chosen:
            if not 1 <= number <= data.n_features:
                raise ValueError(f"features are numbered from 1 to {data.n_features}: there is no {number}")
        columns = np.array(chosen, np.int64) - 1
        scores = data.features if features is None else data.features[:, columns]
        return cls(data, scores, [f"feature {number}" for number in chosen])

    def joined(self, other: Rankers) -> Rankers:
        """These rankers and others of the same documents."""
        if other.data is not self.data:
            raise ValueError("rankers of different data cannot be joined")
        return Rankers(self.data, np.hstack([self.scores, other.scores]), [*self.names, *other.names])

    def rankings(self, seed: int = 0, ties: str = "random") -> Rankings:
        """The list of every ranker for every query; documents of equal score come in random order.

        With `ties="pessimistic"` the less relevant of them come first, so that a ranker is judged by what it tells
        apart: one that gives all documents the same score is then the worst of all, not a random list. With
        `ties="redrawn"` their order is only the first of many, and the lists say which documents are tied.

        The order of ties depends on the seed, the query's place and the ranker's place only. All lists together take
        four bytes for each document and ranker, six where ties are to be redrawn.
        """
        check_choice("ties", ties, TIES)
        data = self.data
        most = int(data.sizes.max())
        dtype: Any = np.uint16 if most < 2**16 else np.int32
        order = np.empty((len(self.names), data.n_documents), dtype)
        rank = np.empty_like(order)
        tied_until = np.empty_like(order) if ties == "redrawn" else np.empty((0, 0), dtype)
        for query in range(data.n_queries):
            begin, end = data.offsets[query], data.offsets[query + 1]
            scores = np.ascontiguousarray(self.scores[begin:end].T)
            lots = np.random.default_rng([seed, query]).random(scores.shape, np.float32)
            if ties == "pessimistic":
                lots += data.labels[begin:end]
            ranked = np.lexsort((lots, -scores), axis=1)
            order[:, begin:end] = ranked
            np.put_along_axis(rank[:, begin:end], ranked, np.arange(end - begin, dtype=dtype)[None, :], axis=1)
            if ties == "redrawn":
                tied_until[:, begin:end] = _ends_of_runs(np.take_along_axis(scores, ranked, axis=1))
        return Rankings(order, rank, tied_until)

    def __repr__(self) -> str:
        few = ", ".join(self.names[:3]) + (", ..." if len(self.names) > 3 else "")
        return f"Rankers({len(self.names)} of {self.data.name}: {few})"


def _ends_of_runs(values: npt.NDArray[np.float32]) -> Ints:
    """For each value of each row, where the run of values equal to it ends."""
    n = values.shape[1]
    ends = np.full(values.shape, n)
    ends[:, :-1] = np.where(values[:, :-1] != values[:, 1:], np.arange(1, n), n)
    return np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
