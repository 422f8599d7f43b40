"""LETOR data: the fast reader against a plain one, odd files, the cache, and rankers."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from references import letor as slow
from shared_data import SHARED

from rankloop.datasets import (
    Letor,
    Rankers,
    letor_text,
    rankers_from_runs,
    rankers_from_scores,
    read_docids,
    read_letor,
    settings_family,
    synthetic_letor,
    train_lambdamart,
)

MSLR = SHARED / "letor" / "mslr_53_queries.txt"


def write(folder: Path, text: str, name: str = "data.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


numbers = st.one_of(
    st.floats(width=32, allow_infinity=False).map(repr),
    st.floats(allow_nan=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.decimals(-1000, 1000, places=6).map(str),
    st.sampled_from(
        ["nan", "NaN", "inf", "-inf", "+Infinity", "1e400", "-1e-400", "+.5", "5.", "1E5", "007", "0.0", "-0"]
    ),
)
documents = st.tuples(
    st.sampled_from(["0", "1", "2", "4", "3.0", "31"]),
    st.integers(0, 6),
    st.dictionaries(st.integers(1, 90), numbers, max_size=6),
    st.sampled_from([" ", "  ", "\t"]),
    st.sampled_from(["", " ", " # docid = 1 2:3 qid:9", "#", "\r"]),
)


@st.composite
def files(draw) -> str:
    lines = []
    for label, qid, features, gap, end in draw(st.lists(documents, min_size=1, max_size=12)):
        lines.append(gap.join([label, f"qid:{qid}", *(f"{n}:{v}" for n, v in features.items())]) + end)
        lines += draw(st.sampled_from([[], [], [""], ["# a comment"], ["   "]]))
    return "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n"]))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files(), st.sampled_from([40, 1 << 24]))
def test_the_reader_agrees_with_a_plain_one(tmp_path: Path, monkeypatch, text: str, block: int) -> None:
    monkeypatch.setattr(letor_text, "BLOCK", block)
    table = letor_text.read_letor_text(write(tmp_path, text))
    features, labels, qids = slow.read(text)
    assert table.features.shape == features.shape
    np.testing.assert_allclose(table.features, features, rtol=1.3e-7, atol=1e-45)
    assert table.labels.tolist() == labels
    assert table.qids.tolist() == qids
    numbered = text.split("\n")
    assert all(numbered[at - 1].split("#")[0].split()[1] == f"qid:{q}" for at, q in zip(table.lines, qids, strict=True))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.decimals(-(10**6), 10**6, places=6))
def test_ordinary_numbers_are_read_to_the_last_bit(tmp_path: Path, value) -> None:
    assert letor_text.read_letor_text(write(tmp_path, f"0 qid:1 1:{value}")).features[0, 0] == np.float32(float(value))


def test_documents_are_grouped_by_query_in_order_of_appearance(tmp_path: Path) -> None:
    lines = ["1 qid:9 1:1", "0 qid:3 1:2", "2 qid:9 1:3", "0 qid:5 1:4", "1 qid:3 1:5"]
    data = read_letor(write(tmp_path, "\n".join(lines)), cache=False)
    assert data.qids.tolist() == [9, 3, 5]
    assert data.offsets.tolist() == [0, 2, 4, 5]
    assert data.features[:, 0].tolist() == [1, 3, 2, 5, 4]
    assert data.labels.tolist() == [1, 2, 0, 1, 0]
    assert data.rows.tolist() == [0, 2, 1, 4, 3]
    assert data.counts == {
        "pieces of scattered queries brought together": 2,
        "queries of one document": 1,
        "queries without a relevant document": 1,
    }


def test_what_is_skipped_or_changed_is_counted(tmp_path: Path) -> None:
    data = read_letor(write(tmp_path, "\n# hello\n1 qid:1 1:nan 2:1e300\n0 qid:1 2:-inf\n"), cache=False)
    assert data.counts == {
        "blank lines and comments skipped": 2,
        "NaN values read as 0": 1,
        "values beyond single precision cut": 2,
    }
    assert np.isfinite(data.features).all()


BAD = [
    ("", "holds no documents"),
    ("\n\n# nothing\n", "holds no documents"),
    ("1 qid:1 1:2\nx qid:1 1:2\n", r"line 2 does not begin with a relevance grade.*'x qid:1 1:2'"),
    ("1.5 qid:1 1:2", "line 1 does not begin with a relevance grade"),
    ("-1 qid:1 1:2", "line 1 does not begin with a relevance grade"),
    ("32 qid:1 1:2", "line 1 does not begin with a relevance grade"),
    ("nan qid:1 1:2", "line 1 does not begin with a relevance grade"),
    ("# c\n\n1 1:2", "line 3 has no qid"),
    ("1", "line 1 has no qid"),
    ("1qid:1 1:2", "line 1 has no qid"),
    ("1 qid:abc 1:2", "line 1 has a qid that is not a whole number"),
    ("1 qid:1x 1:2", "line 1 has a qid that is not a whole number"),
    ("1 qid:99999999999999999999 1:2", "line 1 has a qid"),
    ("1 qid:1 1:2 3", "line 1 has a feature that is not of the form"),
    ("1 qid:1 a:2", "line 1 has a feature that is not of the form"),
    ("1 qid:1 1:2 3:", "line 1 has a feature value that is not a number"),
    ("1 qid:1 1:2 3:1.2.3", "line 1 has a feature value that is not a number"),
    ("1 qid:1 1:1e", "line 1 has a feature value that is not a number"),
    ("1 qid:1 0:1", "line 1 has a feature numbered 0"),
    ("1 qid:1 100001:1", "line 1 has a feature numbered above 100000"),
    ("1 qid:1 1:1 1:2", "line 1 has the same feature twice"),
    ("1 qid:1 1:1\x00 2:2", "line 1 has a feature"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_lines_are_refused_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        read_letor(write(tmp_path, text))
    assert "data.txt" in str(refused.value)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no file"):
        read_letor(tmp_path / "none.txt")
    with pytest.raises(ValueError, match="is not a file"):
        read_letor(tmp_path)
    whole = gzip.compress(b"1 qid:1 1:1\n" * 1000)
    (tmp_path / "cut.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"cut.gz cannot be read"):
        read_letor(tmp_path / "cut.gz")


def test_written_data_is_read_back_to_the_last_bit(tmp_path: Path) -> None:
    data = synthetic_letor(4, documents=(1, 30), seed=3)
    for name in ("data.txt", "data.txt.gz"):
        data.save(tmp_path / name)
        again = read_letor(tmp_path / name)
        for part in ("features", "labels", "offsets", "qids", "rows"):
            assert np.array_equal(getattr(again, part), getattr(data, part)), part


def test_the_cache_holds_as_long_as_the_file_does(tmp_path: Path, monkeypatch) -> None:
    path = write(tmp_path, "1 qid:1 1:nan 2:2\n0 qid:2 1:1\n1 qid:1 1:4\n")
    first = read_letor(path)
    assert (tmp_path / "data.txt.rankloop.npz").exists()
    with monkeypatch.context() as patch:
        patch.setattr("rankloop.datasets.letor.read_letor_text", None)  # not to be called
        second = read_letor(path)
    for part in ("features", "labels", "offsets", "qids", "rows"):
        assert np.array_equal(getattr(first, part), getattr(second, part)), part
    assert second.counts == first.counts
    path.write_text("1 qid:1 1:7\n")
    os.utime(path, ns=(1, 1))
    assert read_letor(path).features.tolist() == [[7]]
    (tmp_path / "data.txt.rankloop.npz").write_bytes(b"damaged")
    assert read_letor(path).features.tolist() == [[7]]


def test_a_folder_marked_read_only_gets_no_cache(tmp_path: Path) -> None:
    path = write(tmp_path, "1 qid:1 1:7\n")
    tmp_path.chmod(0o555)
    try:
        assert read_letor(path).features.tolist() == [[7]]
        assert os.listdir(tmp_path) == ["data.txt"]
    finally:
        tmp_path.chmod(0o755)


def test_features_are_rankers_with_ties_in_random_order() -> None:
    data = Letor.from_documents(np.zeros((40, 2)), labels=np.zeros(40), qids=np.arange(40) // 4)
    data.features[:, 1] = np.tile([1, 3, 3, 2], 10)
    rankings = Rankers.from_features(data).rankings(seed=1)
    order = rankings.order.reshape(2, 10, 4)
    assert {tuple(sorted(row)) for row in order[0].tolist()} == {(0, 1, 2, 3)}
    assert len({tuple(row) for row in order[0].tolist()}) > 4
    assert {tuple(row) for row in order[1].tolist()} == {(1, 2, 3, 0), (2, 1, 3, 0)}
    rank = rankings.rank.reshape(2, 10, 4)
    assert np.array_equal(
        np.take_along_axis(order, rank.astype(int), axis=2), np.broadcast_to(np.arange(4), order.shape)
    )
    assert np.array_equal(rankings.order, Rankers.from_features(data).rankings(seed=1).order)
    assert not np.array_equal(rankings.order, Rankers.from_features(data).rankings(seed=2).order)


def test_pessimistic_ties_put_the_less_relevant_first() -> None:
    data = Letor.from_documents([[1.0], [1.0], [0.0], [1.0]], labels=[2, 0, 4, 1], qids=[1] * 4)
    assert Rankers.from_features(data).rankings(ties="pessimistic").order.tolist() == [[1, 3, 0, 2]]
    with pytest.raises(ValueError, match="ties must be random, pessimistic or redrawn"):
        Rankers.from_features(data).rankings(ties="best")


def test_lists_whose_ties_are_redrawn_say_what_is_tied() -> None:
    data = Letor.from_documents(
        [[3, 0], [1, 0], [1, 0], [9, 9], [1, 0], [2, 0]], labels=[0] * 6, qids=[1, 1, 1, 2, 1, 1]
    )
    tied_until = Rankers.from_features(data).rankings(ties="redrawn").tied_until
    assert tied_until.tolist() == [[1, 2, 5, 5, 5, 1], [5, 5, 5, 5, 5, 1]]
    assert Rankers.from_features(data).rankings().tied_until.size == 0


def test_rankers_from_files_of_scores(tmp_path: Path) -> None:
    data = read_letor(write(tmp_path, "1 qid:9 1:1\n0 qid:3 1:2\n2 qid:9 1:3\n"), cache=False)
    rankers = rankers_from_scores(data, [write(tmp_path, "0.5\n0.1\n0.7\n", "good.txt")])
    assert rankers.scores[:, 0].tolist() == np.float32([0.5, 0.7, 0.1]).tolist()
    assert rankers.names == ("good",)
    for text, message in (
        ("1\n2\n", "has 2 scores, but the data has 3"),
        ("1\nx\n2", "line 2: 'x' is not"),
        ("nan", "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            rankers_from_scores(data, [write(tmp_path, text, "bad.txt")])


def test_rankers_from_trec_runs(tmp_path: Path) -> None:
    path = write(tmp_path, "1 qid:9 1:1 # docid = A\n0 qid:9 1:2 #docid = B inc = 1\n2 qid:3 1:3 # docid = A\n")
    data = read_letor(path, cache=False)
    docids = read_docids(path)
    assert docids == ["A", "B", "A"]
    run = write(tmp_path, "9 Q0 B 1 3.5 t\n9 Q0 X 2 3 t\n4 Q0 A 1 2 t\n3 Q0 A 1 2 t\n", "bm25.run")
    rankers, skipped = rankers_from_runs(data, [run], docids)
    assert rankers.scores[:, 0].tolist() == [-np.inf, 3.5, 2]
    assert skipped == {"lines of unknown queries": 1, "lines of unknown documents": 1}
    by_place, _ = rankers_from_runs(data, [write(tmp_path, "9 Q0 1 1 3 t\n", "place.run")])
    assert by_place.scores[:, 0].tolist() == [-np.inf, 3, -np.inf]
    assert read_docids(write(tmp_path, "1 qid:1 1:1\n", "plain.txt")) is None
    for text, message in (("9 Q0 B\n", "line 1.*is not of the form"), ("7 Q0 B 1 2 t\n", "returns no document")):
        with pytest.raises(ValueError, match=message):
            rankers_from_runs(data, [write(tmp_path, text, "bad.run")], docids)


def test_bad_rankers_are_refused() -> None:
    data = synthetic_letor(2, n_features=3)
    for numbers_, message in (([0], "there is no 0"), ([4], "there is no 4"), ([1, 1], "different names")):
        with pytest.raises(ValueError, match=message):
            Rankers.from_features(data, numbers_)
    with pytest.raises(ValueError, match="not NaN"):
        Rankers(data, np.full((data.n_documents, 1), np.nan), ["a"])
    with pytest.raises(ValueError, match="not the shape"):
        Rankers(data, np.zeros((3, 1)), ["a"])


def test_synthetic_data_looks_like_a_web_search_engines() -> None:
    data = synthetic_letor(60)
    assert data.n_features == 136
    shares = np.bincount(data.labels, minlength=5) / data.n_documents
    assert len(shares) == 5
    assert (np.diff(shares) < 0).all()
    assert 0.45 < shares[0] < 0.65
    assert shares[4] > 0.002
    query = data.features[: data.offsets[1]]
    varied = query.std(axis=0) > 0
    assert not varied.all(), "some features depend on the query alone"
    related = np.corrcoef(data.features[:, :5].T)
    assert related[np.triu_indices(5, 1)].mean() > 0.3, "a group's features are related"
    more = synthetic_letor(61)
    assert np.array_equal(more.features[: data.n_documents], data.features)
    assert not np.array_equal(synthetic_letor(60, seed=1).labels, data.labels)


def test_selected_queries_keep_their_documents() -> None:
    data = synthetic_letor(5, n_features=4)
    part = data.select([3, 1])
    assert part.qids.tolist() == [4, 2]
    assert np.array_equal(part.features[: part.offsets[1]], data.features[data.offsets[3] : data.offsets[4]])
    with pytest.raises(ValueError, match="numbered from 0 to 4"):
        data.select([5])


def test_trained_rankers_beat_features_or_say_what_is_missing() -> None:
    data, train = synthetic_letor(30, seed=1), synthetic_letor(60, seed=1).select(range(30, 60))
    try:
        import lightgbm  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match=r"pip install 'rankloop\[letor\]'"):
            train_lambdamart(data, train)
        return
    rankers = train_lambdamart(data, train, settings_family(3))
    assert len(set(rankers.names)) == 3

    def gain(of: Rankers) -> np.ndarray:
        order = of.rankings().order
        top = [data.labels[b + order[:, b : b + 5]].sum(axis=1) for b in data.offsets[:-1]]
        return np.mean(top, axis=0)

    assert gain(rankers).max() > gain(Rankers.from_features(data)).max()


@pytest.mark.skipif(not MSLR.exists(), reason="the shared data is not here")
def test_real_data_is_read_as_a_plain_reader_does() -> None:
    data = read_letor(MSLR, cache=False)
    features, labels, _ = slow.read(MSLR.read_text())
    assert np.array_equal(data.features, features)
    assert data.labels.tolist() == labels
    assert (data.n_queries, data.n_documents) == (53, 5488)
