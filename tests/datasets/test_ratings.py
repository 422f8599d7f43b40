"""Ratings: every format as published, files that are cut short or wrong, and the matrices made of them."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import SHARED

from rankloop.datasets import (
    Ratings,
    ratings_parser,
    read_movielens,
    read_ratings,
    read_yahoo_music,
    streams,
    synthetic_ratings,
)

MOVIELENS = SHARED / "movielens"

MOVIES = [(1, "Toy Story (1995)", ["Animation", "Comedy"]), (3, "Mis\xe9rables, Les (1995)", ["Drama"]),
          (70, "Hea,t \"!\" (1995)", ["Action", "Drama"])]  # fmt: skip
RATED = [(6, 1, 5.0), (6, 70, 3.0), (2, 3, 5.0), (900, 1, 1.0), (2, 70, 4.0)]
GENRES = ["Action", "Animation", "Comedy", "Drama"]


def flags(genres: list[str]) -> str:
    from rankloop.datasets.movielens import GENRES_OF_100K

    return "|".join(str(int(genre in genres)) for genre in GENRES_OF_100K)


def movielens_files(kind: str, half: bool = False) -> dict[str, bytes]:
    rated = [(u, i, r - 0.5 if half and r < 5 else r) for u, i, r in RATED]
    if kind == "100K":
        data = "".join(f"{u}\t{i}\t{r:g}\t88125094{u % 10}\n" for u, i, r in rated)
        items = "".join(f"{i}|{title}|01-Jan-1995||http://x|{flags(genres)}\n" for i, title, genres in MOVIES)
        return {"u.data": data.encode(), "u.item": items.encode("latin-1"), "u1.base": b"junk"}
    if kind == "csv":
        quote = '"{}"'.format
        data = "userId,movieId,rating,timestamp\r\n" + "".join(f"{u},{i},{r:.1f},1112486027\r\n" for u, i, r in rated)
        movies = "movieId,title,genres\r\n"
        movies += "".join(f"{i},{quote(t.replace(chr(34), 2 * chr(34)))},{'|'.join(g)}\r\n" for i, t, g in MOVIES)
        return {"ratings.csv": data.encode(), "movies.csv": movies.encode(), "tags.csv": b"1,2"}
    time = "::978300760" if kind == "dat" else ""
    data = "".join(f"{u}::{i}::{r:g}{time}\n" for u, i, r in rated)
    movies = "".join(f"{i}::{title}::{'|'.join(genres)}\n" for i, title, genres in MOVIES)
    return {"ratings.dat": data.encode(), "movies.dat": movies.encode("latin-1"), "README": b""}


YAHOO = {
    "genre-hierarchy.txt": b"0\t0\t1\tUnknown\n1\t1\t1\tElectronic/Dance\n2\t1\t2\tAmbient\n3\t2\t3\tAmbient Dub\n",
    "song-attributes.txt": b"143\t124143\t22021\t0\n144\t107638\t-99\t3\n146\t20089\t124124\t1\n",
    "train_0.txt": b"49\t143\t5\n49\t144\t2\n50\t143\t5\n",
    "test_0.txt": b"49\t146\t3\n50\t146\t1\n",
    "train_1.txt": b"70\t144\t5\n",
    "readme.txt": b"Yahoo",
}
KINDS = ["100K", "dat", "dat without time", "csv"]


def put(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def packed(path: Path, files: dict[str, bytes], inside: str) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(inside + name, content)
    else:
        with tarfile.open(path, "w:gz") as archive:
            for name, content in files.items():
                info = tarfile.TarInfo(inside + name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def check(ratings: Ratings, half: bool = False) -> None:
    assert ratings.user_ids.tolist() == [2, 6, 900]
    assert ratings.item_ids.tolist() == [1, 3, 70]
    read = zip(ratings.user_ids[ratings.users], ratings.item_ids[ratings.items], ratings.values, strict=True)
    assert list(read) == [(u, i, r - 0.5 if half and r < 5 else r) for u, i, r in RATED]
    assert ratings.titles == [title for _, title, _ in MOVIES]
    assert ratings.genres == GENRES
    assert ratings.item_genres.tolist() == [[int(g in genres) for g in GENRES] for _, _, genres in MOVIES]


@pytest.mark.parametrize("kind", KINDS)
def test_movielens_in_folders_and_archives(tmp_path: Path, kind: str) -> None:
    files = movielens_files(kind)
    check(read_movielens(put(tmp_path / "plain", files)))
    check(read_ratings(packed(tmp_path / "ml.zip", files, "ml-x/")))
    assert read_ratings(tmp_path / "ml.zip").name == "ml"
    outer = tmp_path / "outer"
    outer.mkdir()
    put(outer / "ml-x", {name + ".gz": gzip.compress(content, mtime=0) for name, content in files.items()})
    check(read_ratings(outer, name="mine"))


@pytest.mark.parametrize("kind", ["dat", "csv"])
def test_half_stars(tmp_path: Path, kind: str) -> None:
    check(read_movielens(put(tmp_path / "half", movielens_files(kind, half=True))), half=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_last_line_needs_no_newline(tmp_path: Path, kind: str) -> None:
    files = {name: content.rstrip() for name, content in movielens_files(kind).items()}
    check(read_movielens(put(tmp_path / "stripped", files)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere_is_never_read_as_if_it_were_whole(tmp_path: Path, kind: str) -> None:
    """Cut at each byte: refused, unless the lines that are left are whole.

    Of an only line the time may be missing: nothing tells whether it should be there, and the rating is right.
    """
    name = {"100K": "u.data", "csv": "ratings.csv"}.get(kind, "ratings.dat")
    files, header = movielens_files(kind), int(kind == "csv")
    content = files[name]
    lines = content.splitlines()
    for end in range(len(content)):
        left = content[:end].splitlines()
        whole = len(left) > header and left == lines[: len(left)]
        cut = put(tmp_path / "cut", files | {name: content[:end]})
        try:
            ratings = read_movielens(cut)
        except ValueError as error:
            complaint = str(error)
        else:
            complaint = ""
            assert whole or len(left) == header + 1
            assert ratings.values.tolist() == [rating for _, _, rating in RATED[: len(left) - header]]
        assert not (whole and complaint)
        assert whole or not complaint or f"{name}, line {max(len(left), 1)} " in complaint or "no ratings" in complaint


@pytest.mark.parametrize(("kind", "name"), [("100K", "u.item"), ("dat", "movies.dat"), ("csv", "movies.csv")])
def test_movies_cut_short_are_refused(tmp_path: Path, kind: str, name: str) -> None:
    files = movielens_files(kind)
    content = files[name]
    lines = content.splitlines(keepends=True)
    for end in range(len(content) - len(lines[-1]) + 1, len(content.rstrip())):
        cut = put(tmp_path / "cut", files | {name: content[:end]})
        if content[:end].endswith(b"Action"):  # the second genre is lost, and nothing tells
            continue
        with pytest.raises(ValueError, match=rf"{name}, line|rates item 70"):
            read_movielens(cut)


BAD_LINES = [
    ("6::1", "lacks a field"),
    ("6", "lacks a field"),
    ("6::1::", "lacks a field"),
    ("6::1::5::", "lacks a field"),
    ("6::1::5", "lacks a field"),
    ("6::1::5::1::2", "not have as many fields"),
    ("x::1::5::1", "number of a user"),
    ("-6::1::5::1", "number of a user"),
    ("6:1::5::1", "number of a user"),
    ("99999999999::1::5::1", "number of a user"),
    ("6::one::5::1", "number of an item"),
    ("6::1.5::5::1", "number of an item"),
    ("6::1::6::1", "no rating from 0.5 to 5"),
    ("6::1::0::1", "no rating"),
    ("6::1::5.5::1", "no rating"),
    ("6::1::4.3::1", "no rating"),
    ("6::1::4.::1", "no rating"),
    ("6::1::55::1", "no rating"),
    ("6::1::nan::1", "no rating"),
    ("6::1::-1::1", "no rating"),
    ("6::2::5::1", r"rates item 2, which .*movies.dat does not know: '6::2::5::1'"),
    ("6::1000000::5::1", "rates item 1000000"),
]


@pytest.mark.parametrize(("line", "complaint"), BAD_LINES)
def test_wrong_ratings_are_refused_with_file_and_line(tmp_path: Path, line: str, complaint: str) -> None:
    files = movielens_files("dat")
    lines = files["ratings.dat"].decode().splitlines()
    lines[3:3] = ["", line]
    files["ratings.dat"] = ("\n".join(lines) + "\n").encode()
    with pytest.raises(ValueError, match=rf"ratings\.dat, line 5 .*{complaint}"):
        read_movielens(put(tmp_path / "bad", files))


@pytest.mark.parametrize("size", [7, 40, 64])
def test_lines_across_blocks_are_counted_and_read(tmp_path: Path, monkeypatch, size: int) -> None:
    monkeypatch.setattr(ratings_parser, "BLOCK", size)
    for kind in KINDS:
        check(read_movielens(put(tmp_path / kind, movielens_files(kind))))
    files = movielens_files("dat")
    files["ratings.dat"] += b"6::4::5::978300760\n"
    with pytest.raises(ValueError, match="line 6 rates item 4"):
        read_movielens(put(tmp_path / "bad", files))
    files["ratings.dat"] = movielens_files("dat")["ratings.dat"][:-4]
    with pytest.raises(ValueError, match="line 5 has no newline"):
        read_movielens(put(tmp_path / "bad", files))


@pytest.mark.parametrize(
    ("kind", "name", "content", "complaint"),
    [
        ("dat", "movies.dat", b"1::A::Drama\nx::B::Drama\n", "movies.dat, line 2 does not begin with the number"),
        ("dat", "movies.dat", b"1::A::Drama\n1::B::Drama\n", "line 2 lists movie 1 again, which line 1 has"),
        ("dat", "movies.dat", b"1::A\n", "line 1 does not have the three fields"),
        ("dat", "movies.dat", b"\n", "lists no movies"),
        ("csv", "movies.csv", b"movieId,title,genres\n1,A\n", "line 2 does not have the three fields"),
        ("100K", "u.item", b"1|A|x||y|0|1\n", "line 1 does not have 24 fields"),
        ("dat", "ratings.dat", b"", "holds no ratings"),
        ("csv", "ratings.csv", b"userId,movieId,rating,timestamp\n", "holds no ratings"),
        ("dat", "ratings.dat.gz", gzip.compress(b"1::1::5::0\n" * 9, mtime=0)[:-9], "2 files ratings.dat"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, kind: str, name: str, content: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_movielens(put(tmp_path / "bad", movielens_files(kind) | {name: content}))


@pytest.mark.parametrize(
    ("kind", "content", "line"),
    [
        ("dat", b"1::1::5::9\r2::1::5::9\r", 1),
        ("dat", b"1::1::5::9\r2::1::5::9\n", 1),
        ("dat", b"1::1::5::9\r\n2::1::5::9\r3::1::5::9\r\n", 2),
        ("dat", b"1::1::5::9\n\r2::1::5::9\n", 2),
        ("dat", b"1::1::5\r2::1::5\n", 1),
        ("csv", b"userId,movieId,rating,timestamp\r1,1,5.0,9\n2,1,5.0,9\n", 1),
        ("csv", b"userId,movieId,rating,timestamp\r1,1,5.0,9\r", 1),
    ],
)
def test_a_carriage_return_alone_loses_no_rating(tmp_path: Path, kind: str, content: bytes, line: int) -> None:
    files = movielens_files(kind) | {f"ratings.{kind}": content}
    with pytest.raises(ValueError, match=rf"ratings.{kind}, line {line} has a carriage return with no newline"):
        read_movielens(put(tmp_path / "bad", files))


def test_windows_lines_are_read(tmp_path: Path) -> None:
    for kind in KINDS:
        files = {name: content.replace(b"\r", b"").replace(b"\n", b"\r\n\r\n")
                 for name, content in movielens_files(kind).items()}  # fmt: skip
        check(read_movielens(put(tmp_path / kind, files)))
        check(read_movielens(put(tmp_path / kind, {name: content[:-3] for name, content in files.items()})))


def test_a_user_who_rates_a_movie_twice_is_refused(tmp_path: Path) -> None:
    files = movielens_files("dat")
    files["ratings.dat"] += b"900::70::5::978300760\n6::70::5::978300760\n"
    with pytest.raises(ValueError, match=r"ratings.dat has user 6 rate item 70 more than once"):
        read_movielens(put(tmp_path / "twice", files))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ["", "\n"])
def test_movies_of_unknown_genre_have_none(tmp_path: Path, kind: str, end: str) -> None:
    files = movielens_files(kind)
    name = next(name for name in ("u.item", "movies.dat", "movies.csv") if name in files)
    line = {
        "u.item": f"71|Unheard|01-Jan-1995||http://x|{flags(['unknown'])}",
        "movies.dat": "71::Unheard::(no genres listed)",
        "movies.csv": "71,Unheard,(no genres listed)",
    }[name]
    ratings = read_movielens(put(tmp_path / "unknown", files | {name: files[name] + (line + end).encode()}))
    assert ratings.genres == GENRES
    assert ratings.item_genres[-1].tolist() == [0, 0, 0, 0]
    assert ratings.titles[-1] == "Unheard"
    if name != "u.item" and not end:
        put(tmp_path / "unknown", {name: files[name] + line[:-3].encode()})
        with pytest.raises(ValueError, match=r"line .* ends too early"):
            read_movielens(tmp_path / "unknown")


def test_a_last_genre_that_other_movies_have_is_whole(tmp_path: Path) -> None:
    files = movielens_files("csv")
    last = b"72,B,Drama|Children"
    cut = put(tmp_path / "one", files | {"movies.csv": files["movies.csv"] + last})
    with pytest.raises(ValueError, match="cut short at 'Children'"):
        read_movielens(cut)
    files["movies.csv"] += b"71,A,Children\n" + last
    assert "Children" in read_movielens(put(tmp_path / "two", files)).genres


def test_only_newlines_end_lines(tmp_path: Path) -> None:
    files = movielens_files("dat")
    files["movies.dat"] += "71::What\x85 next\x1c::Drama\n".encode("latin-1")
    assert read_movielens(put(tmp_path / "ml", files)).titles[-1] == "What\x85 next"
    songs = YAHOO["song-attributes.txt"] + b"147\t1\tx\x85y\t1\r\n"
    ratings = read_yahoo_music(put(tmp_path / "yahoo", YAHOO | {"song-attributes.txt": songs}))
    assert ratings.titles[-1] == "song 147 by artist x\x85y"


@pytest.mark.parametrize(
    "below",
    [['2,"B",Drama'], ["2,B,Drama"] * 20_000],
    ids=["closed by the next quote", "too long to be read"],
)
def test_an_unclosed_quote_is_refused(tmp_path: Path, below: list[str]) -> None:
    lines = ["movieId,title,genres", "", '1,"A",Drama', '70,"Heat,Drama', *below, ""]
    files = movielens_files("csv") | {"movies.csv": "\n".join(lines).encode()}
    with pytest.raises(ValueError, match=r"movies.csv, line 4 cannot be cut into fields"):
        read_movielens(put(tmp_path / "bad", files))


@pytest.mark.parametrize("files", [movielens_files("dat"), YAHOO], ids=["MovieLens", "Yahoo"])
@pytest.mark.parametrize("archive", ["data.zip", "data.tgz", None])
def test_damaged_catalogues_are_refused_by_name(tmp_path: Path, files: dict[str, bytes], archive: str | None) -> None:
    """Some byte in the middle, of what is mostly the catalogue, is wrong."""
    draw = np.random.default_rng(1)
    name, line = ("song-attributes.txt", b"%d\t%d\t7\t1\n") if files is YAHOO else ("movies.dat", b"%d::%d::Drama\n")
    catalogue = files[name] + b"".join(line % (i, draw.integers(10**9)) for i in range(1000, 3000))
    others = {other: content for other, content in files.items() if other != name}
    if archive is None:
        path = put(tmp_path, {f"{name}.gz": gzip.compress(catalogue, mtime=0), **others}) / f"{name}.gz"
    else:
        path = packed(tmp_path / archive, {name: catalogue, **others}, "x/")
    whole = path.read_bytes()
    for at in range(len(whole) // 5, len(whole) * 4 // 5, len(whole) // 20):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        with pytest.raises(ValueError, match=re.escape(path.name)):
            read_ratings(tmp_path if archive is None else path)


def test_data_are_called_after_their_folder_or_file(tmp_path: Path, monkeypatch) -> None:
    files = movielens_files("dat")
    assert read_ratings(put(tmp_path / "ml-1.5k", files)).name == "ml-1.5k"
    assert read_ratings(packed(tmp_path / "ml-1.5k.zip", files, "x/")).name == "ml-1.5k"
    assert read_ratings([put(tmp_path / "r2.1", YAHOO)]).name == "r2.1"
    monkeypatch.chdir(tmp_path / "ml-1.5k")
    assert read_ratings(".").name == "ml-1.5k"


@pytest.mark.parametrize("path", [5, None, [5], b"ml", {"ml"}])
def test_what_is_no_path_is_refused(path) -> None:
    for read in (read_ratings, read_movielens, read_yahoo_music):
        with pytest.raises(ValueError, match="path"):
            read(path)


def test_damaged_and_missing_archives_are_refused(tmp_path: Path) -> None:
    files = movielens_files("dat")
    path = packed(tmp_path / "ml.zip", files, "ml/")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"ml.zip is damaged"):
        read_ratings(path)
    with pytest.raises(ValueError, match="no file or folder"):
        read_ratings(tmp_path / "none")
    with pytest.raises(ValueError, match="holds no ratings: MovieLens has"):
        read_ratings(put(tmp_path / "empty", {}))
    with pytest.raises(ValueError, match="is not MovieLens"):
        read_movielens(tmp_path / "empty")
    with pytest.raises(ValueError, match=r"has ratings.dat but no movies.dat"):
        read_ratings(put(tmp_path / "half", {"ratings.dat": files["ratings.dat"]}))
    del files["ratings.dat"]
    files["ratings.dat.gz"] = gzip.compress(movielens_files("dat")["ratings.dat"] * 500)[:-40]
    with pytest.raises(ValueError, match=r"ratings.dat.gz is damaged"):
        read_ratings(put(tmp_path / "gz", files))


def check_yahoo(ratings: Ratings) -> None:
    rows = zip(ratings.user_ids[ratings.users], ratings.item_ids[ratings.items], ratings.values, strict=True)
    assert sorted(rows) == [(49, 143, 5), (49, 144, 2), (49, 146, 3), (50, 143, 5), (50, 146, 1), (70, 144, 5)]
    assert ratings.genres == ["Electronic/Dance", "Unknown"]
    assert ratings.item_genres.tolist() == [[0, 1], [1, 0], [1, 0]]
    assert ratings.titles[1] == "song 144 by artist -99"


def test_yahoo_music_in_folders_and_archives(tmp_path: Path) -> None:
    check_yahoo(read_yahoo_music(put(tmp_path / "plain", YAHOO)))
    check_yahoo(read_ratings(packed(tmp_path / "r2.tgz", YAHOO, "ydata-v1_0/")))
    check_yahoo(read_ratings(packed(tmp_path / "r2.zip", YAHOO, "ydata-v1_0/")))
    zipped = {name + ".gz": gzip.compress(content, mtime=0) for name, content in YAHOO.items()}
    check_yahoo(read_ratings(put(tmp_path / "gz", zipped)))
    check_yahoo(read_ratings(packed(tmp_path / "r2gz.tgz", zipped, "x/")))
    dashed = {name.replace("_", "-"): content for name, content in YAHOO.items()}
    check_yahoo(read_ratings(put(tmp_path / "dashed", dashed)))


def test_yahoo_music_comes_in_several_archives(tmp_path: Path) -> None:
    first = {name: YAHOO[name] for name in ("train_0.txt", "test_0.txt", "genre-hierarchy.txt")}
    second = {name: content for name, content in YAHOO.items() if name not in first}
    paths = [packed(tmp_path / "a.tgz", first, "x/"), packed(tmp_path / "b.tgz", second, "x/")]
    check_yahoo(read_ratings(paths))
    with pytest.raises(ValueError, match=r"a.tgz has train_0.txt but no song-attributes.txt"):
        read_yahoo_music(paths[0])


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("train_1.txt", b"70\t144\t5\n70\t145\t5\n", r"train_1.txt, line 2 rates item 145, which .*song-attr"),
        ("train_1.txt", b"70\t144\t5\n70\t146", r"train_1.txt, line 2 ends too early"),
        ("train_1.txt", b"70 144 5\n", "train_1.txt, line 1"),
        ("song-attributes.txt", b"143\t1\t2\n", "song-attributes.txt, line 1 does not have 4 tab-separated fields"),
        ("song-attributes.txt", b"143\t1\t2\t77\n", "line 1 has genre 77, which genre-hierarchy.txt does not know"),
        ("song-attributes.txt", b"143\t1\t2\t0\n143\t1\t2\t0\n", "lists song 143 twice"),
        ("song-attributes.txt", b"", "is empty"),
        ("genre-hierarchy.txt", b"0\t0\t1\tUnknown\n5\t4\t2\tDub\n", "genre 5 has no top-level genre"),
        ("genre-hierarchy.txt", b"4\t5\t2\tA\n5\t4\t2\tB\n", "genre 4 has no top-level genre"),
        ("genre-hierarchy.txt", b"x\t0\t1\tUnknown\n", "line 1 has 'x' where a number is wanted"),
    ],
)
def test_wrong_yahoo_files_are_refused(tmp_path: Path, name: str, content: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_yahoo_music(put(tmp_path / "bad", YAHOO | {name: content}))


def test_ids_may_be_large_and_sparse(tmp_path: Path) -> None:
    files = movielens_files("dat")
    files["ratings.dat"] = b"2147483647::1::5::1\n3::70::4::1\n2147483647::3::5::1\n"
    ratings = read_movielens(put(tmp_path / "sparse", files))
    assert ratings.user_ids.tolist() == [3, 2147483647]
    assert ratings.users.tolist() == [1, 0, 1]


def some_ratings(rows: list[tuple[int, int, int]], genres: list[list[int]]) -> Ratings:
    users, items, half_stars = np.array(rows).T
    return Ratings(
        users.astype(np.int32), items.astype(np.int32), half_stars.astype(np.uint8), user_ids=np.arange(5) + 10,
        item_ids=np.arange(4) + 100, titles=list("abcd"), genres=["G0", "G1", "G2"],
        item_genres=np.array(genres, np.uint8),
    )  # fmt: skip


def pair(row: tuple[int, int, int]) -> tuple[int, int]:
    return row[:2]


triples = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(1, 10)), min_size=1, unique_by=pair)


@given(triples, st.integers(1, 6), st.integers(1, 6))
@settings(deadline=None)
def test_most_active_is_that_of_plain_python(rows, n_users: int, n_items: int) -> None:
    ratings = some_ratings(rows, [[1, 0, 0], [0, 1, 1], [1, 0, 0], [0, 1, 0]])
    found = ratings.most_active(n_users, n_items)
    by_user = {u: sum(row[0] == u for row in rows) for u in range(5)}
    by_item = {i: sum(row[1] == i for row in rows) for i in range(4)}
    users = sorted(range(5), key=lambda u: (-by_user[u], u))[:n_users]
    items = [i for i in sorted(range(4), key=lambda i: (-by_item[i], i)) if by_item[i]][:n_items]
    assert found.users.tolist() == [u + 10 for u in users]
    assert found.items.tolist() == [i + 100 for i in items]
    assert found.titles == ["abcd"[i] for i in items]
    assert found.attractive.tolist() == [[int((u, i, 10) in rows) for i in items] for u in users]
    sizes = {g: sum(int(ratings.item_genres[i, g]) for i in items) for g in range(3)}
    topics = [g for g in sorted(range(3), key=lambda g: (-sizes[g], g)) if sizes[g]]
    assert found.topics == [f"G{g}" for g in topics]
    assert found.item_topics.tolist() == [[int(ratings.item_genres[i, g]) for g in topics] for i in items]


def test_only_five_stars_attract_and_topics_are_those_with_most_items() -> None:
    ratings = some_ratings([(0, 0, 9), (0, 1, 10), (1, 1, 8), (1, 2, 10), (1, 3, 1)],
                           [[1, 0, 0], [0, 1, 1], [1, 0, 0], [0, 1, 0]])  # fmt: skip
    found = ratings.most_active(n_topics=1)
    assert found.topics == ["G0"], "two items each: the tie goes to the first in alphabetical order"
    assert found.item_topics[:, 0].tolist() == [0, 1, 1, 0], "items without the topic stay"
    assert found.density == 2 / 20
    for wrong in (0, 4, 1.5, True):
        with pytest.raises(ValueError, match="n_topics must be a whole number from 1 to 3"):
            ratings.most_active(n_topics=wrong)
    for arguments in ((0, 1), (1, 0), (1.5, 1), (True, 1)):
        with pytest.raises(ValueError, match=r"n_(users|items) must be a whole number"):
            ratings.most_active(*arguments)


def test_synthetic_ratings_have_the_shape_of_movielens() -> None:
    ratings = synthetic_ratings(seed=3)
    found = ratings.most_active()
    assert found.attractive.shape == (1000, 1000)
    assert found.item_topics.shape == (1000, 20)
    assert 0.06 < found.density < 0.08
    assert set(ratings.item_genres.sum(axis=1).tolist()) == {1, 2, 3, 4}
    assert len(set(ratings.titles)) == 1000
    assert set(ratings.half_stars.tolist()) == {2, 4, 6, 8, 10}
    strength = np.linalg.svd(found.attractive - found.attractive.mean(axis=0), compute_uv=False)
    noise = np.random.default_rng(0).permuted(found.attractive, axis=0)
    by_chance = np.linalg.svd(noise - noise.mean(axis=0), compute_uv=False)
    assert (strength[:5] > 1.3 * by_chance[0]).all(), "tastes are of low rank: the decomposition finds them"


def test_synthetic_ratings_come_in_any_size_and_from_a_seed() -> None:
    one, same, other = (synthetic_ratings(50, 600, n_genres=25, density=0.2, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.half_stars, same.half_stars)
    np.testing.assert_array_equal(one.item_genres, same.item_genres)
    assert one.titles == same.titles != other.titles
    assert "Genre 25" in one.genres
    assert len(set(one.titles)) == 600
    single = synthetic_ratings(50, 600, n_genres=25, most_genres=1, density=0.2, seed=1)
    assert (single.item_genres.sum(axis=1) == 1).all()
    assert single.most_active().density == pytest.approx(0.2, abs=0.03)
    tiny = synthetic_ratings(3, 2)
    assert tiny.n_users == len(set(tiny.users.tolist())) == 3
    for arguments, complaint in (({"n_users": 0}, "n_users"), ({"n_items": 1.5}, "n_items"), ({"n_genres": 3}, "n_ge"),
                                 ({"most_genres": 0}, "most_g"), ({"most_genres": 5}, "most_g"),
                                 ({"most_genres": True}, "most_g"), ({"density": 0.5}, "density"),
                                 ({"most_genres": 2.0}, "most_g"), ({"most_genres": "2"}, "most_g"),
                                 ({"density": "x"}, "density"), ({"density": None}, "density"),
                                 ({"seed": -1}, "seed"), ({"seed": 1.5}, "seed"), ({"seed": None}, "seed"),
                                 ({"density": float("nan")}, "density")):  # fmt: skip
        with pytest.raises(ValueError, match=complaint):
            synthetic_ratings(**arguments)


def test_streams_keep_a_missing_newline() -> None:
    assert list(streams.whole_lines(io.BytesIO(b"a\nb\nc"), "x", 3)) == [b"a\n", b"b\n", b"c"]


@pytest.mark.skipif(not MOVIELENS.exists(), reason="needs the shared data")
def test_real_movielens_has_the_sparsity_of_the_thesis() -> None:
    ratings = read_ratings(MOVIELENS)
    assert (len(ratings), ratings.n_users, len(ratings.genres)) == (999_714, 6040, 18)
    slow = [line.split("::")[:3] for line in (MOVIELENS / "ratings.dat").read_text("latin-1").splitlines()]
    read = np.array([ratings.user_ids[ratings.users], ratings.item_ids[ratings.items], ratings.values]).T
    np.testing.assert_array_equal(read, np.array(slow, float))
    assert 0.07 < ratings.most_active().density < 0.08
