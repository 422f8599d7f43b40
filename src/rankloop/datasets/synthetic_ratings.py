"""A catalogue like MovieLens, made up: so that everything can be tried with nothing downloaded."""

from __future__ import annotations

import numpy as np

from rankloop.arrays import Bytes, Floats
from rankloop.checks import check_between, check_seed, check_whole
from rankloop.datasets.ratings import Ratings

GENRES = (
    "Drama", "Comedy", "Action", "Thriller", "Romance", "Adventure", "Crime", "Science Fiction", "Family", "Fantasy",
    "Mystery", "War", "Animation", "Horror", "Musical", "History", "Western", "Documentary", "Noir", "Sport",
)  # fmt: skip
FIRST = (
    "Silent", "Broken", "Golden", "Hidden", "Distant", "Last", "Paper", "Winter", "Crimson", "Borrowed", "Restless",
    "Hollow", "Northern", "Second", "Velvet", "Burning", "Quiet", "Wild", "Lost", "Electric",
)  # fmt: skip
SECOND = (
    "Harbour", "Road", "Garden", "Letter", "Country", "Summer", "Detective", "Island", "Orchestra", "Mirror", "River",
    "Station", "Kingdom", "Promise", "Stranger", "Circus", "Mountain", "Telephone", "Daughter", "Machine", "Horizon",
    "Wedding", "Lighthouse", "Winner", "Shadow",
)  # fmt: skip
N_TASTES = 10
USERS_AT_ONCE = 256


def synthetic_ratings(
    n_users: int = 1000, n_items: int = 1000, *, n_genres: int = 20, most_genres: int = 4, density: float = 0.07,
    seed: int = 0,
) -> Ratings:  # fmt: skip
    """Generated ratings in the shape of MovieLens' most active users and most rated movies.

    Whether a user likes an item depends on the quality of the item, on how easily the user is pleased, on ten hidden
    tastes and on the genres; so both a decomposition of the ratings and the genres tell something about it. Items have
    1 to 4 genres, some of which are much more common than others.

    Parameters
    ----------
    n_users, n_items
        The size of the catalogue; every user has rated something.
    n_genres
        Number of genres.
    most_genres
        Largest number of genres of an item, 1 to 4. Songs have a single one in Yahoo's music ratings.
    density
        The share of all pairs of user and item that have five stars.
    seed
        Seed of all random numbers.

    Examples
    --------
    >>> ratings = synthetic_ratings(300, 200, seed=1)
    >>> round(ratings.most_active().density, 2)
    0.07
    >>> ratings.titles[0], [genre for genre, has in zip(ratings.genres, ratings.item_genres[0]) if has]
    ('The Winter Garden (1983)', ['Romance', 'War'])
    """
    for what, number, least in (("n_users", n_users, 1), ("n_items", n_items, 1), ("n_genres", n_genres, 4)):
        check_whole(what, number, least)
    check_whole("most_genres", most_genres, 1, 4)
    check_between("density", density, 0, 0.5)
    check_seed(seed)
    draw = np.random.default_rng([seed, 0])
    has = _item_genres(draw, n_items, n_genres, most_genres)
    # In the spaces of genres and of hidden tastes, what an item is and what users want.
    of_item = np.hstack([has / np.sqrt(has.sum(axis=1, keepdims=True)), draw.normal(0, 1, (n_items, N_TASTES))])
    spread = np.concatenate([np.full(n_genres, 1.0), 0.9 * 0.8 ** np.arange(N_TASTES)])
    quality = draw.normal(0, 1.2, n_items)
    shift = _shift(draw, of_item, spread, quality, density)
    users, items, half_stars = [], [], []
    for begin in range(0, n_users, USERS_AT_ONCE):
        draw = np.random.default_rng([seed, 1, begin])
        logit = _logits(draw, min(USERS_AT_ONCE, n_users - begin), of_item, spread, quality) + shift
        five = draw.random(logit.shape) < _probability(logit)
        # What is liked less is rated too, and lower: about three ratings for each of five stars.
        other = ~five & (draw.random(logit.shape) < _probability(logit + 2.0))
        stars = np.clip(np.round(3.3 + 0.5 * logit - 0.5 * shift + draw.normal(0, 0.8, logit.shape)), 1, 4)
        stars[five] = 5
        rated = five | other
        lone = np.flatnonzero(~rated.any(axis=1))
        rated[lone, draw.integers(0, n_items, len(lone))] = True
        user, item = np.nonzero(rated)
        users.append(user + begin)
        items.append(item)
        half_stars.append(2 * stars[user, item])
    names = [*GENRES, *(f"Genre {number}" for number in range(len(GENRES) + 1, n_genres + 1))][:n_genres]
    order = np.argsort(names)
    return Ratings(
        np.concatenate(users).astype(np.int32),
        np.concatenate(items).astype(np.int32),
        np.concatenate(half_stars).astype(np.uint8),
        user_ids=np.arange(1, n_users + 1),
        item_ids=np.arange(1, n_items + 1),
        titles=_titles(np.random.default_rng([seed, 2]), n_items),
        genres=[names[j] for j in order],
        item_genres=has[:, order],
        name="synthetic",
    )


def _item_genres(draw: np.random.Generator, n_items: int, n_genres: int, most: int) -> Bytes:
    """1 to 4 genres an item, but no more than allowed, the k-th genre in proportion to 1 / k^0.8."""
    sizes = np.minimum(draw.choice([1, 2, 3, 4], n_items, p=[0.3, 0.38, 0.24, 0.08]), most)
    weight = np.arange(1, n_genres + 1) ** -0.8
    # The largest of such keys are a draw without replacement in proportion to the weights.
    keys = np.log(draw.random((n_items, n_genres))) / weight
    rank = np.argsort(np.argsort(-keys, axis=1), axis=1)
    return (rank < sizes[:, None]).astype(np.uint8)


def _logits(draw: np.random.Generator, n_users: int, of_item: Floats, spread: Floats, quality: Floats) -> Floats:
    wanted = draw.normal(0, 1, (n_users, len(spread))) * spread
    pleased = draw.normal(0, 0.7, (n_users, 1))
    return np.asarray(wanted @ of_item.T + quality + pleased)


def _probability(logit: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-logit)))


def _shift(draw: np.random.Generator, of_item: Floats, spread: Floats, quality: Floats, density: float) -> float:
    """What to add to the logits so that the wanted share of pairs has five stars, by bisection on some users."""
    logit = _logits(draw, 2000 if len(quality) <= 2000 else 200, of_item, spread, quality)
    low, high = -20.0, 20.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if _probability(logit + middle).mean() > density else (middle, high)
    return low


def _titles(draw: np.random.Generator, n_items: int) -> list[str]:
    """The Silent Harbour (1987): different for each item; after 500 the words come again as a sequel."""
    pairs = [f"{first} {second}" for first in FIRST for second in SECOND]
    titles = []
    for turn in range(-(-n_items // len(pairs))):
        part = f" {turn + 1}" if turn else ""
        titles += [f"The {pairs[k]}{part} ({draw.integers(1950, 2021)})" for k in draw.permutation(len(pairs))]
    return titles[:n_items]
