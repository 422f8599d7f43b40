"""MovieLens, in each format in which it was published."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankloop.arrays import Ints
from rankloop.datasets.archives import DAMAGES, Files, Member, called
from rankloop.datasets.ratings import Ratings
from rankloop.datasets.ratings_parser import LARGEST_ID, RatingColumns, read_columns

GENRES_OF_100K = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama", "Fantasy",
    "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western",
)  # fmt: skip
NO_GENRE = ("(no genres listed)", "unknown")
FORMATS = {"u.data": ("u.item", "\t"), "ratings.dat": ("movies.dat", "::"), "ratings.csv": ("movies.csv", ",")}


class Movie(NamedTuple):
    """A line of a file of movies."""

    id: int
    title: str
    genres: list[str]


def read_movielens(path: str | Path, *, name: str | None = None) -> Ratings:
    """Read MovieLens: 100K (`u.data`, `u.item`), 1M and 10M (`.dat`), 20M, 25M and later (`.csv`).

    Movies that the files say to be of unknown genre have none. A user who rated a movie twice is refused.

    Parameters
    ----------
    path
        The zip file as downloaded, or a folder that holds the two files, each packed with gzip or not.
    name
        Name of the data in tables and plots; that of the file or folder if not given.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "movies.dat").write_text("1::Heat (1995)::Action|Crime\\n7::Babe (1995)::Children's\\n")
    >>> _ = (folder / "ratings.dat").write_text("1::7::5::978300760\\n2::1::4::978300761\\n")
    >>> ratings = read_movielens(folder, name="two movies")
    >>> ratings
    Ratings(2 ratings of 2 items by 2 users, 3 genres, name='two movies')
    >>> ratings.titles, ratings.genres, ratings.values.tolist()
    (['Heat (1995)', 'Babe (1995)'], ['Action', "Children's", 'Crime'], [5.0, 4.0])
    """
    if not isinstance(path, str | Path):
        raise ValueError(f"path must be that of one file or folder, not {path!r}")
    with Files(path) as files:
        for base, (catalogue, separator) in FORMATS.items():
            ratings = files.find(base)
            if ratings is not None:
                movies = files.need(catalogue, base)
                return _read(movies, ratings, separator, called(path) if name is None else name)
        raise ValueError(f"{files.described} is not MovieLens: there is no u.data, ratings.dat or ratings.csv")


def _read(catalogue: Member, ratings: Member, separator: str, name: str) -> Ratings:
    movies = list(_movies(catalogue))
    ids = np.array([movie.id for movie in movies])
    genres = sorted({genre for movie in movies for genre in movie.genres})
    place = {genre: j for j, genre in enumerate(genres)}
    item_genres = np.zeros((len(movies), len(genres)), np.uint8)
    for i, movie in enumerate(movies):
        item_genres[i, [place[genre] for genre in movie.genres]] = 1
    columns = read_columns([ratings], separator, ids, catalogue.name)
    _refuse_repeated(columns, ids, ratings.name)
    return Ratings(
        **columns._asdict(),
        item_ids=ids,
        titles=[movie.title for movie in movies],
        genres=genres,
        item_genres=item_genres,
        name=name,
    )


def _refuse_repeated(columns: RatingColumns, item_ids: Ints, name: str) -> None:
    pairs = columns.users * np.int64(len(item_ids)) + columns.items
    pairs.sort()
    again = np.flatnonzero(pairs[1:] == pairs[:-1])
    if len(again):
        user, item = divmod(int(pairs[again[0]]), len(item_ids))
        raise ValueError(f"{name} has user {columns.user_ids[user]} rate item {item_ids[item]} more than once")


def _movies(member: Member) -> Iterator[Movie]:
    """The movies of a file; one that is no movie, or comes twice, is refused with its line."""
    text = read_text(member)
    seen: dict[int, int] = {}
    earlier: set[str] = set()
    last = None
    for line, fields in _fields(member, text):
        place = f"{member.name}, line {line}"
        movie = _movie(member.base, fields, place)
        if movie.id in seen:
            raise ValueError(f"{place} lists movie {movie.id} again, which line {seen[movie.id]} has: {fields!r}")
        seen[movie.id] = line
        earlier.update(last.genres if last else ())
        last = movie
        yield movie
    if last is None:
        raise ValueError(f"{member.name} lists no movies")
    if member.base != "u.item" and last.genres and not text.endswith("\n"):
        cut = last.genres[-1]
        longer = any(genre != cut and genre.startswith(cut) for genre in (*GENRES_OF_100K, *NO_GENRE))
        if longer and cut not in earlier:
            raise ValueError(f"{member.name}, line {line} ends too early: the file was cut short at {cut!r}")


def _fields(member: Member, text: str) -> Iterator[tuple[int, Sequence[str]]]:
    """The lines that are not blank, cut into fields, with their numbers."""
    if member.base == "movies.csv":
        for number, fields in _comma_separated(member, text):
            if fields and not (number == 1 and fields[0].lower() == "movieid"):
                yield number, fields
        return
    separator = "|" if member.base == "u.item" else "::"
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.removesuffix("\r").split(separator)


def _comma_separated(member: Member, text: str) -> Iterator[tuple[int, Sequence[str]]]:
    """The lines with their numbers; a quote that is not closed would swallow those below, and is refused."""
    reader = csv.reader(io.StringIO(text, newline=""))
    number = 1
    try:
        for fields in reader:
            if reader.line_num > number:
                raise csv.Error("a quote is opened there and not closed")
            yield number, fields
            number += 1
    except csv.Error as error:
        raise ValueError(f"{member.name}, line {number} cannot be cut into fields ({error})") from None


def _movie(base: str, fields: Sequence[str], place: str) -> Movie:
    if not fields[0].isdecimal() or int(fields[0]) > LARGEST_ID:
        raise ValueError(f"{place} does not begin with the number of a movie: {fields!r}")
    if base == "u.item":
        flags = fields[5:]
        if len(flags) != len(GENRES_OF_100K) or not set(flags) <= {"0", "1"}:
            raise ValueError(f"{place} does not have 24 fields, the last 19 of them 0 or 1: {fields!r}")
        genres = [genre for genre, flag in zip(GENRES_OF_100K, flags, strict=True) if flag == "1"]
    else:
        if len(fields) != 3 or not fields[2].strip():
            raise ValueError(f"{place} does not have the three fields movie, title and genres: {fields!r}")
        genres = [genre.strip() for genre in fields[2].split("|")]
        if not all(genres):
            raise ValueError(f"{place} has an empty name among its genres: {fields!r}")
    return Movie(int(fields[0]), fields[1].strip(), [genre for genre in genres if genre not in NO_GENRE])


def read_text(member: Member) -> str:
    """The text of a small file, in UTF-8 or, as the older ones are, Latin-1."""
    with member.open() as file:
        try:
            content = file.read()
        except DAMAGES as error:
            raise ValueError(f"{member.name} is damaged: it cannot be unpacked to its end ({error})") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")
