"""The ratings of chapter 5: where a folder has them, and catalogues of the same shape where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankloop.arrays import Floats
from rankloop.datasets import Attractive, read_movielens, read_yahoo_music, synthetic_ratings
from rankloop.environments import HybridCascade, HybridProblem
from rankloop.experiments.declare import Source

ARCHIVES = ("*.zip", "*.tar", "*.tar.gz", "*.tgz")


class RatedDataset(NamedTuple):
    """A dataset of ratings, and what a stand-in for its most active users and most rated items is like."""

    name: str
    folder: str
    density: float
    """The share of pairs of user and item that are attractive."""
    most_topics: int
    """Largest number of topics of an item."""
    seed: int


MOVIELENS = RatedDataset("MovieLens", "movielens", density=0.07, most_topics=4, seed=0)
YAHOO_MUSIC = RatedDataset("Yahoo! Music", "yahoo", density=0.11, most_topics=1, seed=1)


def locate(folder: Path | None, dataset: RatedDataset) -> Sequence[Path]:
    """The files or folders to read a dataset from; none where it is not there.

    They are in a folder of the dataset's name, unpacked or as downloaded; an archive of MovieLens (ml-20m.zip) may lie
    beside it. Of several archives of MovieLens the largest is taken, and of Yahoo all are parts.
    """
    if folder is None:
        return []
    own = folder / dataset.folder
    packed = sorted(file for pattern in ARCHIVES for file in own.glob(pattern))
    if dataset == MOVIELENS:
        packed = packed or ([] if own.is_dir() else sorted(folder.glob("ml-*.zip")))
        if packed:
            return [max(packed, key=lambda file: file.stat().st_size)]
        return [own] if own.is_dir() else []
    return [own, *packed] if own.is_dir() else []


def attractive(folder: Path | None, dataset: RatedDataset) -> tuple[Attractive, Source]:
    """Who of the thousand most active users found which of the thousand most rated items attractive."""
    paths = locate(folder, dataset)
    if paths:
        ratings = read_movielens(paths[0]) if dataset == MOVIELENS else read_yahoo_music(paths)
        return ratings.most_active(), Source(f"{dataset.name} ({paths[-1].name}, {len(ratings):,} ratings)", True)
    made = synthetic_ratings(density=dataset.density, most_genres=dataset.most_topics, seed=dataset.seed)
    topics = f"1 to {dataset.most_topics} topics" if dataset.most_topics > 1 else "one topic"
    shape = f"{made.n_items:,} items with {topics} each, {dataset.density:.0%} of them attractive to a user"
    return made.most_active(), Source(f"stand-in for {dataset.name}: {shape}", False)


def wanting(users: Sequence[HybridProblem], trade_off: float, n_topics: int) -> list[HybridProblem]:
    """The same users with another trade-off, and only the first topics, which are those that most items have.

    They are what `hybrid_problems` makes for these topics, but for rounding; it would decompose the ratings each time.
    Features are scaled by singular values as there, which is our choice and not the thesis'.
    """
    told, perceived = (_first(n_topics, topics) for topics in (users[0].topics, users[0].environment.topics))
    found = []
    for user in users:
        old = user.environment
        theta = old.theta
        if n_topics < len(theta):
            theta = theta[:n_topics] / (theta[:n_topics].sum() or 1.0)
        new = HybridCascade(old.relevance, perceived, old.beta, theta, trade_off, name=old.name, warn=False)
        found.append(replace(user, environment=new, topics=told, topic_names=user.topic_names[:n_topics]))
    return found


def _first(n_topics: int, topics: Floats) -> Floats:
    """The first topics; read-only, so that users can share them."""
    if n_topics == topics.shape[1]:
        return topics
    first = np.array(topics[:, :n_topics], order="C")
    first.flags.writeable = False
    return first
