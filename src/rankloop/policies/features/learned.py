"""What a policy that ranks by features has learned of its user, in numbers and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from rankloop.arrays import check_topics
from rankloop.kernels.arrays import Floats, Ints
from rankloop.policies.clicks.base import ClickPolicy, Ranking
from rankloop.policies.features.catalogue import check_items, check_one_each
from rankloop.policies.features.explanation import Explanation, explain_list, names_of


class _LearnedFeatures(ClickPolicy):
    """A click policy with a model of its user, who cares for topics and for relevance features."""

    _literal: bool = False
    """Whether a topic below 0 uncovers what items above cover; else it covers nothing."""

    gamma: float

    _features: tuple[Floats, Floats]
    """The relevance features and the topics of all items."""

    @property
    def theta(self) -> Floats:
        """How much the user is estimated to care for each topic."""
        return self._part(self.state.model.weights)[1]

    @property
    def beta(self) -> Floats:
        """How much the user is estimated to care for each relevance feature."""
        return self._part(self.state.model.weights)[0]

    @property
    def theta_error(self) -> Floats:
        """How uncertain each entry of `theta` is; gamma times this is what exploration adds for it."""
        return self._part(np.sqrt(np.diag(self.state.model.covariance)))[1]

    @property
    def beta_error(self) -> Floats:
        """How uncertain each entry of `beta` is; gamma times this is what exploration adds for it."""
        return self._part(np.sqrt(np.diag(self.state.model.covariance)))[0]

    def _part(self, values: Floats) -> tuple[Floats, Floats]:
        return values[self._n_topics :].copy(), values[: self._n_topics].copy()

    @property
    def covariance(self) -> Floats:
        """The inverse of the precision, topics first: `x' covariance x` is how uncertain the score of features x is."""
        covariance: Floats = self.state.model.covariance.copy()
        return covariance

    def explain(
        self,
        ranking: Sequence[int] | None = None,
        *,
        titles: Sequence[str] | None = None,
        topics: ArrayLike | None = None,
        topic_names: Sequence[str] | None = None,
    ) -> Explanation:
        """Why a list attracts, as far as the policy knows: as text if printed, and as a picture.

        Parameters
        ----------
        ranking
            A list of this policy, or any items of the catalogue; the best list if not given.
        titles
            Name of each item of the catalogue.
        topics
            Coverage of each topic by each item, for a policy that has no topics or should be explained by others.
        topic_names
            Names of the topics.
        """
        shown = self.best if ranking is None else ranking
        brings = shown.notes if isinstance(shown, Ranking) else ()
        items = self._check_ranking(cast(Ranking, shown)) if brings else check_items(shown, self.n_items)
        notes = np.array(brings, np.float64)
        features = self._rows(items, notes)
        if topics is None:
            covering = self._topics_of(features)
        else:
            of_catalogue = check_one_each("topics", check_topics("topics", topics), self.n_items)
            covering = np.where(items[:, None] < 0, 0.0, of_catalogue[items])
        names, model = names_of(items, titles, self.n_items), self.state.model
        return explain_list(
            items,
            names,
            features,
            model.weights,
            model.covariance,
            self.gamma,
            covering,
            topic_names,
            literal=self._literal,
        )

    def _topics_of(self, features: tuple[Floats, Floats]) -> Floats:
        """What among the features of items are topics to speak of."""
        topics = features[1]
        return topics if (topics >= 0).all() else np.zeros((len(topics), 0))

    def _rows(self, items: Ints, notes: Floats) -> tuple[Floats, Floats]:
        """The features of the items of a list, those of strangers among them from the notes that came along."""
        brought = items < 0
        rows = np.zeros((len(items), self._n_relevance + self._n_topics))
        rows[~brought] = np.concatenate([own[items[~brought]] for own in self._features], axis=1)
        rows[brought] = notes.reshape(-1, rows.shape[1])
        return rows[:, : self._n_relevance], rows[:, self._n_relevance :]

    @property
    def _n_relevance(self) -> int:
        return int(self._features[0].shape[1])

    @property
    def _n_topics(self) -> int:
        return int(self._features[1].shape[1])
