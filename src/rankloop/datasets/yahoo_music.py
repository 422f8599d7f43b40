"""Yahoo! Music ratings of songs with genres (Webscope R2), as published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from rankloop.arrays import Ints
from rankloop.datasets.archives import Files, Member, called
from rankloop.datasets.movielens import read_text
from rankloop.datasets.ratings import Ratings
from rankloop.datasets.ratings_parser import LARGEST_ID, read_columns

RATINGS = r"(train|test)[_-]\d+\.txt"
SONGS, HIERARCHY = "song-attributes.txt", "genre-hierarchy.txt"


def read_yahoo_music(paths: str | Path | Sequence[str | Path], *, name: str | None = None) -> Ratings:
    """Read the ratings of songs that Yahoo! published as R2; the genre of a song is its top-level one.

    Songs have no titles there: they are called by their number and artist. A user who rated a song twice counts as two
    ratings, of which the higher says whether it is attractive: to look for such pairs would take as much memory
    again.

    Parameters
    ----------
    paths
        A folder, a .zip, .tar or .tgz file, or several of them, with `song-attributes.txt`, `genre-hierarchy.txt` and
        some or all of `train_*.txt` and `test_*.txt`, each packed with gzip or not. Ratings take 9 bytes each in
        memory, 6.5 GB for all 717 million.
    name
        Name of the data in tables and plots; that of the first file or folder if not given.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "genre-hierarchy.txt").write_text("1\\t1\\t1\\tElectronic/Dance\\n2\\t1\\t2\\tAmbient\\n")
    >>> _ = (folder / "song-attributes.txt").write_text("143\\t12\\t7\\t2\\n144\\t13\\t8\\t1\\n")
    >>> _ = (folder / "train_0.txt").write_text("49\\t143\\t5\\n50\\t144\\t1\\n")
    >>> ratings = read_yahoo_music(folder, name="two songs")
    >>> ratings
    Ratings(2 ratings of 2 items by 2 users, 1 genres, name='two songs')
    >>> ratings.titles, ratings.genres
    (['song 143 by artist 7', 'song 144 by artist 8'], ['Electronic/Dance'])
    """
    with Files(paths) as files:
        members = files.matching(RATINGS)
        if not members:
            raise ValueError(f"{files.described} is not Yahoo! Music R2: there is no train_*.txt or test_*.txt")
        top_level = _top_level(files.need(HIERARCHY, members[0].base))
        songs = files.need(SONGS, members[0].base)
        ids, titles, genre_of = _songs(songs, top_level)
        columns = read_columns(members, "\t", ids, songs.name)
    genres = sorted(set(genre_of))
    place = {genre: j for j, genre in enumerate(genres)}
    item_genres = np.zeros((len(ids), len(genres)), np.uint8)
    item_genres[np.arange(len(ids)), [place[genre] for genre in genre_of]] = 1
    first = paths if isinstance(paths, str | Path) else paths[0]
    return Ratings(
        **columns._asdict(),
        item_ids=ids,
        titles=titles,
        genres=genres,
        item_genres=item_genres,
        name=called(first) if name is None else name,
    )


def _top_level(member: Member) -> dict[int, str]:
    """The name of the top-level genre above each genre; its parent is itself."""
    parent: dict[int, int] = {}
    names: dict[int, str] = {}
    for place, fields in _lines(member, 4):
        genre, above = _number(fields[0], place), _number(fields[1], place)
        parent[genre] = genre if fields[2].strip() in ("0", "1") else above
        names[genre] = fields[3].strip()
    top = {}
    for genre in parent:
        at, steps = genre, 0
        while parent[at] != at:
            at, steps = parent[at], steps + 1
            if at not in parent or steps > len(parent):
                raise ValueError(f"{member.name}: genre {genre} has no top-level genre above it, only genre {at}")
        top[genre] = names[at]
    return top


def _songs(member: Member, top_level: dict[int, str]) -> tuple[Ints, list[str], list[str]]:
    ids, titles, genres = [], [], []
    for place, fields in _lines(member, 4):
        song, genre = _number(fields[0], place), _number(fields[3], place)
        if genre not in top_level:
            raise ValueError(f"{place} has genre {genre}, which {HIERARCHY} does not know")
        ids.append(song)
        titles.append(f"song {song} by artist {fields[2].strip()}")
        genres.append(top_level[genre])
    known, times = np.unique(ids, return_counts=True)
    if (times > 1).any():
        raise ValueError(f"{member.name} lists song {known[times > 1][0]} twice")
    return np.array(ids, np.int64), titles, genres


def _lines(member: Member, n_fields: int) -> Iterator[tuple[str, list[str]]]:
    """The lines that are not blank, cut into fields, with where they stand."""
    empty = True
    for number, line in enumerate(read_text(member).split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip():
            continue
        empty = False
        fields = line.split("\t")
        if len(fields) != n_fields or not all(field.strip() for field in fields):
            raise ValueError(f"{member.name}, line {number} does not have {n_fields} tab-separated fields: {line!r}")
        yield f"{member.name}, line {number}", fields
    if empty:
        raise ValueError(f"{member.name} is empty")


def _number(text: str, place: str) -> int:
    if not text.strip().isdecimal() or int(text) > LARGEST_ID:
        raise ValueError(f"{place} has {text!r} where a number is wanted")
    return int(text)
