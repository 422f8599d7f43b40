"""Ratings of any known format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rankloop.datasets.archives import Files
from rankloop.datasets.movielens import FORMATS, read_movielens
from rankloop.datasets.ratings import Ratings
from rankloop.datasets.yahoo_music import RATINGS, read_yahoo_music


def read_ratings(path: str | Path | Sequence[str | Path], *, name: str | None = None) -> Ratings:
    """Read MovieLens or Yahoo! Music R2; the names of the files decide which.

    Parameters
    ----------
    path
        A folder, or the archive as downloaded; for Yahoo also several.
    name
        Name of the data in tables and plots; that of the file or folder if not given.
    """
    with Files(path) as files:
        movielens = any(files.find(base) for base in FORMATS)
        yahoo = bool(files.matching(RATINGS))
        described = files.described
    if movielens and isinstance(path, str | Path):
        return read_movielens(path, name=name)
    if yahoo:
        return read_yahoo_music(path, name=name)
    raise ValueError(
        f"{described} holds no ratings: MovieLens has {', '.join(FORMATS)}, Yahoo! Music R2 train_*.txt and test_*.txt"
    )
