"""What every click model offers: fitting, predicting, drawing and judging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np

from rankloop.click_models.estimation import FitProgress, FitSettings
from rankloop.click_models.pairs import QueryItems, index_pairs
from rankloop.click_models.sessions import Codes, Log, Sessions, group_sessions
from rankloop.kernels.arrays import Clicks, Floats, Ints

LEAST_PROBABILITY = 1e-6
"""No observation is judged less likely than this: one that a model rules out must not outweigh all others."""


class Perplexity(NamedTuple):
    """How surprised a model is by clicks: 1 is never, 2 is as by a coin.

    At position k it is 2 to the power of the mean of -log2 P(what happened at k), where the model predicts each click
    without knowing those above it; `overall` is the plain mean over positions.
    """

    overall: float
    by_position: list[float]


class ClickModel:
    """Base of the fitted click models.

    A model has parameters of query-item pairs and parameters shared by all queries, both by name in `parameters`.
    Arrays of the former have one more entry than there are pairs: the value for pairs that the model does not know.
    """

    pair_parameters: ClassVar[tuple[str, ...]] = ("attraction",)
    shared_parameters: ClassVar[tuple[str, ...]] = ()
    shared_dimensions: ClassVar[int] = 1
    """0 for one number, 1 for one by position, 2 for one by position and last click."""

    known: ClassVar[dict[str, type[ClickModel]]] = {}
    """Every click model by name."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not cls.__name__.endswith("Model"):
            ClickModel.known[cls.__name__] = cls

    def __init__(
        self,
        pairs: QueryItems,
        parameters: Mapping[str, Floats],
        *,
        n_positions: int,
        smoothing: float = 0.0,
        history: Sequence[float] = (),
    ) -> None:
        self.pairs = pairs
        self.parameters = dict(parameters)
        self.n_positions = n_positions
        self.smoothing = smoothing
        self.history = list(history)
        """The objective per session at each iteration of EM: the log-likelihood of log and pseudo-observations."""

    @classmethod
    def fit(
        cls,
        log: Log,
        *,
        smoothing: float = 5.0,
        exact: bool = False,
        tolerance: float = 1e-6,
        max_iterations: int = 500,
        progress: FitProgress | None = None,
    ) -> Self:
        """Fit the model to a click log.

        Parameters
        ----------
        log
            Sessions with items and clicks, as `rankloop.datasets` reads them.
        smoothing
            Number of observations of the typical pair (or of a fair coin, for parameters of positions) that are added
            to those of each parameter, in the same way in all models. 0 is maximum likelihood.
        exact
            Whether DCM and SDBN maximise the likelihood by EM. Otherwise they are fitted by counting, on the assumption
            that users are satisfied with their last click, which costs likelihood but predicts single clicks a little
            better on logs where users also leave unsatisfied.
        tolerance
            Gain in log-likelihood per session below which the iterations end.
        max_iterations
            Largest number of iterations.
        progress
            Function that is called after each iteration with its number and the log-likelihood per session.
        """
        settings = FitSettings(smoothing, exact, tolerance, max_iterations, progress)
        settings.check()
        pairs, sessions = index_pairs(log, group_sessions(log))
        parameters, history = cls._estimate(sessions, len(pairs), settings)
        return cls(pairs, parameters, n_positions=sessions.n_positions, smoothing=float(smoothing), history=history)

    @property
    def attraction(self) -> Floats:
        """The probability with which each pair's item is clicked once it is examined."""
        return self.parameters["attraction"]

    def attraction_of(self, query: str) -> dict[str, float]:
        """The attraction of each item of a query."""
        return dict(zip(self.pairs.items(query), self.attraction[self.pairs.of(query)].tolist(), strict=True))

    def click_probabilities(self, query: str, items: Sequence[str]) -> list[float]:
        """The probability of a click at each position of a list; unknown items have the typical attraction."""
        return self._marginals(self.pairs.find(query, items))[0].tolist()

    def log_likelihood(self, query: str, items: Sequence[str], clicks: Sequence[int]) -> float:
        """The natural logarithm of the probability of exactly these clicks."""
        given = np.array([clicks], np.uint8)
        if given.shape != (1, len(items)) or (given > 1).any():
            raise ValueError(f"clicks must be {len(items)} zeros and ones, not {clicks!r}")
        return float(np.log(_of_outcome(self._conditionals(self.pairs.find(query, items), given), given)).sum())

    def mean_log_likelihood(self, log: Log) -> float:
        """The log-likelihood per session of a log, which may be another than the one fitted to."""
        sessions = self._sessions(log)
        total = 0.0
        for lists, clicks, weight in sessions.blocks():
            p = _of_outcome(self._conditionals(lists, clicks), clicks)
            total += float((np.log(p) * (lists >= 0)).sum(axis=1) @ weight)
        return total / sessions.n_sessions

    def perplexity(self, log: Log) -> Perplexity:
        """How well the model predicts the clicks of a log, which should be another than the one fitted to."""
        sessions = self._sessions(log)
        surprise = np.zeros(sessions.n_positions)
        shown = np.zeros(sessions.n_positions)
        for lists, clicks, weight in sessions.blocks():
            p = _of_outcome(self._marginals(lists), clicks)
            surprise -= weight @ (np.log2(p) * (lists >= 0))
            shown += weight @ (lists >= 0)
        by_position = 2 ** (surprise[shown > 0] / shown[shown > 0])
        return Perplexity(float(by_position.mean()), by_position.tolist())

    def known_share(self, log: Log) -> float:
        """The share of the items shown in a log that the model knows for their query."""
        sessions = self._sessions(log)
        shown = sessions.list_count @ (sessions.lists >= 0)
        unknown = sessions.list_count @ (sessions.lists == len(self.pairs))
        return 1 - float(unknown.sum() / shown.sum())

    def draw(self, log: Log, *, seed: int | None = None) -> Clicks:
        """New clicks for every session of a log, in its order."""
        sessions = self._sessions(log, distinct=False)
        rng = np.random.default_rng(seed)
        return self._draw(sessions.lists, rng) * (sessions.lists >= 0)

    def draw_clicks(self, query: str, items: Sequence[str], n: int, *, seed: int | None = None) -> Clicks:
        """Clicks of n users on one list."""
        return self._draw(np.repeat(self.pairs.find(query, items), n, axis=0), np.random.default_rng(seed))

    def initial_list(self, query: str) -> list[str]:
        """The query's most frequent list, R_0."""
        return self.pairs.items(query)[: int(self.pairs.list_length[self.pairs.query_number(query)])]

    def _sessions(self, log: Log, distinct: bool = True) -> Sessions:
        if distinct:
            return self.pairs.locate(log, group_sessions(log))
        n = len(log.queries)
        each = Sessions(
            log.items, log.queries, np.ones(n, np.int64), np.arange(n, dtype=np.int32), log.clicks, np.ones(n)
        )
        return self.pairs.locate(log, each)

    @classmethod
    def _estimate(
        cls, sessions: Sessions, n_pairs: int, settings: FitSettings
    ) -> tuple[dict[str, Floats], list[float]]:
        """The parameters, and the objective per session at each iteration."""
        raise NotImplementedError

    def _marginals(self, lists: Codes) -> Floats:
        raise NotImplementedError

    def _conditionals(self, lists: Codes, clicks: Clicks) -> Floats:
        raise NotImplementedError

    def _draw(self, lists: Codes, rng: np.random.Generator) -> Clicks:
        raise NotImplementedError

    def _places(self, n_positions: int) -> Ints:
        """Positions; those below the last that the model knows count as the last."""
        return np.minimum(np.arange(n_positions), self.n_positions - 1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.pairs.query_names)} queries, {len(self.pairs)} query-item pairs)"


def _of_outcome(click_probability: Floats, clicks: Clicks) -> Floats:
    """The probability of what happened at each position."""
    p = np.where(clicks > 0, click_probability, 1 - click_probability)
    return np.clip(p, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
