"""The data of the experiments: the real datasets where a folder has them, else stand-ins; always saying which."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_choice
from rankloop.click_models import QueryModel, read_query_models
from rankloop.click_models.users import USERS
from rankloop.datasets import Attractive
from rankloop.environments import (
    ClickProblem,
    HybridProblem,
    PreferenceMatrix,
    click_problems,
    hybrid_problems,
)
from rankloop.environments.synthetic_queries import N_ITEMS, built_in
from rankloop.experiments import ratings
from rankloop.experiments.declare import Source
from rankloop.experiments.ratings import MOVIELENS, RatedDataset

LOG_ODDS = {"perfect": 1.04, "navigational": 1.0, "informational": 1.37}
"""What a stand-in multiplies the log-odds of a navigational user's preferences by: the slopes between the three
matrices of MSLR-WEB30K that the thesis' author measured. By them the informational user's clicks say more, not less."""

AUTHORS = ("2a0dc6cb6b7b2397", "b8efa80d0691959f", "f713887c71b6af1c")
"""Digests of the preference matrices of MSLR-WEB30K that the thesis' author measured, by user."""

N_STAND_INS = 100
"""Built-in queries: as many as the thesis takes of Yandex'."""

NON_CONDORCET = 32
"""Rankers of the thesis' problem without a Condorcet winner."""

SEED = 0
"""Seed for the split of users into halves."""


class Dataset(NamedTuple):
    """A learning-to-rank dataset whose features are rankers."""

    name: str
    n_rankers: int
    uninformative: float
    """The share of rankers that show random lists, in a stand-in."""


MSLR = Dataset("MSLR", 136, 0.1)
ISTELLA = Dataset("ISTELLA", 220, 0.1)
YAHOO = Dataset("Yahoo", 700, 181 / 700)


class Data:
    """Finds what the experiments need in a folder, and makes up the rest.

    Parameters
    ----------
    folder
        May hold `preferences/mslr_navigational.csv` and the like for other users (perfect, informational) and datasets
        (istella, yahoo), `preferences/mslr_non_condorcet.csv`, `click_models/*.json` as `rankloop clicks fit` writes
        them, `movielens/` and `yahoo/` with the ratings, unpacked or as downloaded, or `ml-20m.zip` or the like. What
        was read is kept. None: everything is made up.

    Examples
    --------
    >>> matrix, source = Data(None).preferences(MSLR, "navigational")
    >>> matrix, source.real
    (PreferenceMatrix(136 arms, name='MSLR-Navigational'), False)
    >>> print(source.text)
    stand-in: 136 made-up rankers like the features of MSLR
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        self._attractive: dict[RatedDataset, tuple[Attractive, Source]] = {}
        self._users: dict[RatedDataset, tuple[int, list[HybridProblem]]] = {}
        self._wanting: dict[tuple[RatedDataset, int, int, float], list[HybridProblem]] = {}
        if self.folder is None:
            return
        if not self.folder.is_dir():
            raise ValueError(
                f"no folder {self.folder}: give one with preferences/, click_models/, movielens/ or yahoo/"
            )
        known = any((self.folder / name).is_dir() for name in ("preferences", "click_models", "movielens", "yahoo"))
        if not known and not ratings.locate(self.folder, MOVIELENS):
            raise ValueError(f"{self.folder} has none of the folders preferences, click_models, movielens and yahoo")

    def preferences(self, dataset: Dataset, user: str) -> tuple[PreferenceMatrix, Source]:
        """How often each ranker of a dataset beats each other before a kind of user."""
        check_choice("user", user, USERS)
        name = f"{dataset.name}-{user.capitalize()}"
        file = self._file(dataset, user)
        if file is not None:
            matrix = PreferenceMatrix.read(file)
            return _named(matrix, name), Source(
                f"{dataset.name}, {user} user ({_described(matrix, file, dataset)})", True
            )
        factor = LOG_ODDS[user]
        base = self._file(dataset, "navigational")
        if base is not None:
            text = f"stand-in: {base.name} with all log-odds times {factor:g}"
            return _sharpened(PreferenceMatrix.read(base), factor, name), Source(text, False)
        made = PreferenceMatrix.like_features(dataset.n_rankers, uninformative=dataset.uninformative)
        text = f"stand-in: {dataset.n_rankers} made-up rankers like the features of {dataset.name}"
        if factor != 1:
            text += f", all log-odds times {factor:g}"
        return _sharpened(made, factor, name), Source(text, False)

    def non_condorcet(self) -> tuple[PreferenceMatrix, Source]:
        """Rankers with two Copeland winners: one beats the other, but is beaten by a third."""
        name = "MSLR-non-Condorcet"
        file = None if self.folder is None else self.folder / "preferences" / "mslr_non_condorcet.csv"
        if file is not None and file.exists():
            return _named(PreferenceMatrix.read(file), name), Source(f"MSLR ({file.name})", True)
        base = self._file(MSLR, "navigational")
        if base is not None:
            matrix = PreferenceMatrix.read(base)
            chosen = two_copeland_winners(matrix, NON_CONDORCET)
            if chosen is not None:
                text = f"our choice of {NON_CONDORCET} rankers of {_described(matrix, base, MSLR)}"
                text += ", with two Copeland winners as those of the thesis have"
                return _named(matrix.relabelled(chosen), name), Source(text, True)
        text = f"stand-in: {NON_CONDORCET} made-up rankers with two Copeland winners"
        return _named(_without_condorcet_winner(NON_CONDORCET), name), Source(text, False)

    def queries(self, click_model: str, number: int) -> tuple[list[ClickProblem], Source]:
        """The first queries, each with its users (CM, DCM or PBM) and production's list; all where there are fewer."""
        if self._models is None:
            text = f"stand-in: {number} of {N_STAND_INS} made-up queries"
            return built_in(max(number, N_STAND_INS), click_model)[:number], Source(text, False)
        file, models = self._models
        try:
            found = click_problems(models, click_model, n_items=N_ITEMS)[:number]
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
        fewer = f", all there are of the {number} wanted" if len(found) < number else ""
        return found, Source(f"{len(found)} queries of {file.name}{fewer}", True)

    def users(
        self, dataset: RatedDataset, *, trade_off: float, n_topics: int, number: int
    ) -> tuple[list[HybridProblem], Source]:
        """The first users to be recommended items, who want relevance and diversity; all where there are fewer.

        Likewise the topics are all there are where they are fewer than wanted. Asked again, the same users are given:
        experiments share them.
        """
        if dataset not in self._attractive:
            self._attractive[dataset] = ratings.attractive(self.folder, dataset)
        matrices, source = self._attractive[dataset]
        asked, known = self._users.get(dataset, (0, []))
        if number > asked:
            known = hybrid_problems(matrices, trade_off=trade_off, n_users=number, seed=SEED)
            self._users[dataset] = number, known
        topics = min(n_topics, len(known[0].topic_names))
        key = dataset, number, topics, trade_off
        if key not in self._wanting:
            self._wanting[key] = ratings.wanting(known[:number], trade_off, topics)
        found = self._wanting[key]
        text = f"{source.text}; {len(found)} users"
        if len(found) < number:
            text += f", all there are of the {number} wanted"
        if topics < n_topics:
            text += f"; {topics} topics, all there are of the {n_topics} wanted"
        return found, source._replace(text=text)

    def _file(self, dataset: Dataset, user: str) -> Path | None:
        if self.folder is None:
            return None
        file = self.folder / "preferences" / f"{dataset.name.lower()}_{user}.csv"
        return file if file.exists() else None

    @cached_property
    def _models(self) -> tuple[Path, Sequence[QueryModel]] | None:
        """The first file of click models, by name."""
        files = [] if self.folder is None else sorted((self.folder / "click_models").glob("*.json"))
        return (files[0], read_query_models(files[0])) if files else None


def _described(matrix: PreferenceMatrix, file: Path, dataset: Dataset) -> str:
    """A file of preferences: its name, whether the thesis' author measured them, and how many rankers it lacks."""
    text = file.name
    if hashlib.blake2b(matrix.preferences.tobytes(), digest_size=8).hexdigest() in AUTHORS:
        text = f"the author's own matrix, {text}"
    if matrix.n_arms != dataset.n_rankers:
        text += f"; it has {matrix.n_arms} of the {dataset.n_rankers} rankers"
    return text


def _named(matrix: PreferenceMatrix, name: str) -> PreferenceMatrix:
    return PreferenceMatrix(matrix.preferences, name=name)


def _sharpened(matrix: PreferenceMatrix, factor: float, name: str) -> PreferenceMatrix:
    """All log-odds times a factor: below 1 for users whose clicks say less."""
    won, lost = matrix.preferences**factor, (1 - matrix.preferences) ** factor
    return PreferenceMatrix(won / (won + lost), name=name)


def two_copeland_winners(matrix: PreferenceMatrix, n_rankers: int) -> list[int] | None:
    """Rankers of a matrix of which two beat all others but one: the first the second, which beats the first's rival.

    It is the choice with the clearest preferences among those three, and the rival's strongest opponents.
    """
    p = matrix.preferences
    beats = p > 0.5
    best: tuple[float, list[int]] | None = None
    for first, second in zip(*np.nonzero(beats), strict=True):
        common = np.flatnonzero(beats[first] & beats[second])
        if len(common) < n_rankers - 3:
            continue
        for rival in np.flatnonzero(beats[second] & beats[:, first]):
            margin = float(min(p[first, second], p[second, rival], p[rival, first]))
            strongest = common[np.argsort(-p[common, rival], kind="stable")][: n_rankers - 3]
            if (best is None or margin > best[0]) and beats[strongest, rival].any():
                best = margin, [int(first), int(second), int(rival), *strongest.tolist()]
    return None if best is None else best[1]


def _without_condorcet_winner(n_rankers: int, margin: float = 0.01) -> PreferenceMatrix:
    """Made-up rankers, with preferences among the best four bent into the circle that is wanted."""
    p = np.array(PreferenceMatrix.like_features(n_rankers, uninformative=0.0).preferences)
    first, second, rival, fourth = np.argsort(-p.sum(axis=1), kind="stable")[:4]
    others = [arm for arm in range(n_rankers) if arm not in (first, second, rival)]
    wins = [(first, second), (second, rival), (rival, first), (fourth, rival), *product((first, second), others)]
    for winner, loser in wins:
        p[winner, loser] = max(p[winner, loser], 0.5 + margin)
        p[loser, winner] = 1 - p[winner, loser]
    return PreferenceMatrix(p)
