"""Ratings of items that have genres, and the matrices of chapter 5 that are made of them."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankloop.arrays import Bytes, Ints, Ints32
from rankloop.checks import check_whole

ATTRACTIVE = 10
"""Half stars of a rating that makes an item attractive: five stars."""


class Attractive(NamedTuple):
    """What some users find attractive, and the topics of the items: the thesis' matrices F and G.

    Attributes
    ----------
    attractive
        F: 1 where a user (row) gave an item (column) five stars, else 0.
    item_topics
        G: 1 where an item (row) belongs to a topic (column), else 0.
    users
        The ids of the users.
    items
        The ids of the items.
    titles
        Names of the items.
    topics
        Names of the topics.
    """

    attractive: Bytes
    item_topics: Bytes
    users: Ints
    items: Ints
    titles: list[str]
    topics: list[str]

    @property
    def density(self) -> float:
        """The share of pairs of user and item that are attractive."""
        return float(self.attractive.mean())


class Ratings:
    """Ratings from half a star to five stars, one entry each in `users`, `items` and `half_stars`.

    Attributes
    ----------
    users, items
        User and item of each rating, as places in `user_ids` and `item_ids`.
    half_stars
        The rating, doubled, so that half stars are whole numbers; `values` has it in stars.
    user_ids, item_ids
        Ids of users and items in the files.
    titles
        The title of each item.
    genres
        The names of the genres, in alphabetical order.
    item_genres
        1 where an item (row) belongs to a genre (column), else 0.
    name
        Name of the data in tables and plots.

    Examples
    --------
    >>> from rankloop.datasets import synthetic_ratings
    >>> ratings = synthetic_ratings(200, 150, n_genres=8)
    >>> ratings
    Ratings(7,241 ratings of 150 items by 200 users, 8 genres, name='synthetic')
    >>> matrices = ratings.most_active(100, 50, n_topics=5)
    >>> matrices.attractive.shape, matrices.item_topics.shape
    ((100, 50), (50, 5))
    """

    def __init__(
        self,
        users: Ints32,
        items: Ints32,
        half_stars: Bytes,
        *,
        user_ids: Ints,
        item_ids: Ints,
        titles: list[str],
        genres: list[str],
        item_genres: Bytes,
        name: str = "ratings",
    ) -> None:
        self.users = users
        self.items = items
        self.half_stars = half_stars
        self.user_ids = user_ids
        self.item_ids = item_ids
        self.titles = titles
        self.genres = genres
        self.item_genres = item_genres
        self.name = name

    def __len__(self) -> int:
        return len(self.users)

    @property
    def n_users(self) -> int:
        """The number of users who rated anything."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """The number of items, rated or not."""
        return len(self.item_ids)

    @property
    def values(self) -> npt.NDArray[np.float32]:
        """The ratings in stars."""
        return self.half_stars * np.float32(0.5)

    @cached_property
    def ratings_by_user(self) -> Ints:
        """How many items each user rated."""
        return np.bincount(self.users, minlength=self.n_users)

    @cached_property
    def ratings_of_item(self) -> Ints:
        """How many users rated each item."""
        return np.bincount(self.items, minlength=self.n_items)

    def most_active(self, n_users: int = 1000, n_items: int = 1000, *, n_topics: int | None = None) -> Attractive:
        """The users who rated most and the items that were rated most, with five stars as attractive.

        Users and items are chosen independently and come most active first, ties in the order of the data. Where there
        are fewer, all are taken; items that nobody rated are left out.

        Parameters
        ----------
        n_users, n_items
            Number of users and of items to take.
        n_topics
            Take only the genres that most of these items have, ties in alphabetical order; all that any item has, if
            not given. Items with none of them are kept, without topics.
        """
        for what, number in (("n_users", n_users), ("n_items", n_items)):
            check_whole(what, number, 1)
        users = np.argsort(-self.ratings_by_user, kind="stable")[:n_users]
        rated = int((self.ratings_of_item > 0).sum())
        items = np.argsort(-self.ratings_of_item, kind="stable")[: min(n_items, rated)]
        topics = self._topics(items, n_topics)
        row, column = np.full(self.n_users, -1, np.int32), np.full(self.n_items, -1, np.int32)
        row[users], column[items] = np.arange(len(users)), np.arange(len(items))
        chosen = np.flatnonzero(self.half_stars == ATTRACTIVE)
        rows, columns = row[self.users[chosen]], column[self.items[chosen]]
        within = (rows >= 0) & (columns >= 0)
        attractive = np.zeros((len(users), len(items)), np.uint8)
        attractive[rows[within], columns[within]] = 1
        return Attractive(
            attractive,
            self.item_genres[np.ix_(items, topics)],
            self.user_ids[users],
            self.item_ids[items],
            [self.titles[i] for i in items],
            [self.genres[j] for j in topics],
        )

    def _topics(self, items: Ints, n_topics: int | None) -> Ints:
        sizes = self.item_genres[items].sum(axis=0, dtype=np.int64)
        known = int((sizes > 0).sum())
        n = known if n_topics is None else n_topics
        check_whole("n_topics", n, 1, known)
        return np.argsort(-sizes, kind="stable")[:n]

    def __repr__(self) -> str:
        return (
            f"Ratings({len(self):,} ratings of {self.n_items:,} items by {self.n_users:,} users, "
            f"{len(self.genres)} genres, name={self.name!r})"
        )
