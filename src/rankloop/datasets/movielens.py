"""MovieLens, in each format in which it was published."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankloop.datasets.archives import Files, Member
from rankloop.datasets.ratings import Ratings
from rankloop.datasets.ratings_parser import LARGEST_ID, read_columns

GENRES_OF_100K = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama", "Fantasy",
    "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western",
)  # fmt: skip
FORMATS = {"u.data": ("u.item", "\t"), "ratings.dat": ("movies.dat", "::"), "ratings.csv": ("movies.csv", ",")}


class Movie(NamedTuple):
    """A line of a file of movies."""

    id: int
    title: str
    genres: list[str]


def read_movielens(path: str | Path, *, name: str | None = None) -> Ratings:
    """Read MovieLens: 100K (`u.data`, `u.item`), 1M and 10M (`.dat`), 20M, 25M and later (`.csv`).

    Parameters
    ----------
    path
        The zip file as downloaded, or a folder that holds the two files, each packed with gzip or not.
    name
        What tables and plots call the data; the name of the file or folder if not given.

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
    with Files(path) as files:
        for base, (catalogue, separator) in FORMATS.items():
            ratings = files.find(base)
            if ratings is not None:
                movies = files.need(catalogue, base)
                return _read(movies, ratings, separator, Path(path).stem if name is None else name)
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
    return Ratings(
        columns.users,
        columns.items,
        columns.half_stars,
        user_ids=columns.user_ids,
        item_ids=ids,
        titles=[movie.title for movie in movies],
        genres=genres,
        item_genres=item_genres,
        name=name,
    )


def _movies(member: Member) -> Iterator[Movie]:
    """The movies of a file; one that is no movie, or comes twice, is refused with its line."""
    text = read_text(member)
    seen: dict[int, int] = {}
    last = None
    for line, fields in _fields(member.base, text):
        place = f"{member.name}, line {line}"
        movie = _movie(member.base, fields, place)
        if movie.id in seen:
            raise ValueError(f"{place} lists movie {movie.id} again, which line {seen[movie.id]} has: {fields!r}")
        seen[movie.id] = line
        last = movie
        yield movie
    if last is None:
        raise ValueError(f"{member.name} lists no movies")
    if member.base != "u.item" and not text.endswith("\n"):
        cut = last.genres[-1]
        if any(genre != cut and genre.startswith(cut) for genre in GENRES_OF_100K):
            raise ValueError(f"{member.name}, line {line} ends too early: the file was cut short at {cut!r}")


def _fields(base: str, text: str) -> Iterator[tuple[int, Sequence[str]]]:
    """The lines that are not blank, cut into fields, with their numbers."""
    if base == "movies.csv":
        reader = csv.reader(io.StringIO(text, newline=""))
        for number, fields in enumerate(reader):
            if fields and not (number == 0 and fields[0].lower() == "movieid"):
                yield reader.line_num, fields
        return
    separator = "|" if base == "u.item" else "::"
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield number, line.split(separator)


def _movie(base: str, fields: Sequence[str], place: str) -> Movie:
    if not fields[0].isdecimal() or int(fields[0]) > LARGEST_ID:
        raise ValueError(f"{place} does not begin with the number of a movie: {fields!r}")
    if base == "u.item":
        flags = fields[5:]
        if len(flags) != len(GENRES_OF_100K) or not set(flags) <= {"0", "1"}:
            raise ValueError(f"{place} has not 24 fields, the last 19 of them 0 or 1: {fields!r}")
        genres = [genre for genre, flag in zip(GENRES_OF_100K, flags, strict=True) if flag == "1"]
    else:
        if len(fields) != 3 or not fields[2].strip():
            raise ValueError(f"{place} has not the three fields movie, title and genres: {fields!r}")
        genres = [genre.strip() for genre in fields[2].split("|")]
        if not all(genres):
            raise ValueError(f"{place} has an empty name among its genres: {fields!r}")
    return Movie(int(fields[0]), fields[1].strip(), genres)


def read_text(member: Member) -> str:
    """The text of a small file, in UTF-8 or, as the older ones are, Latin-1."""
    with member.open() as file:
        try:
            content = file.read()
        except (EOFError, OSError) as error:
            raise ValueError(f"{member.name} is damaged: it cannot be unpacked to its end ({error})") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")
