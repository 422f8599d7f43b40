"""How fast ratings and LETOR text are read, beside what a library or a loop in Python takes, in CPU time."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rankloop.datasets import read_letor, read_movielens

N_RATINGS, N_DOCUMENTS, N_FEATURES = 500_000, 20_000, 46


def rate(read: Callable[[], object], n: int) -> float:
    """How many rows are read per second of CPU time, in the best of five runs."""
    seconds = []
    for _ in range(5):
        begin = time.process_time()
        read()
        seconds.append(time.process_time() - begin)
    return n / min(seconds)


def in_python(path: Path) -> None:
    for line in path.read_text().splitlines():
        _label, _qid, *fields = line.partition("#")[0].split()
        [float(field.partition(":")[2]) for field in fields]


def main() -> None:
    draw = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = draw.choice(6000 * 4000, N_RATINGS, replace=False)
        rows = zip(
            (pairs // 4000).tolist(), (pairs % 4000).tolist(), draw.integers(1, 6, N_RATINGS).tolist(), strict=True
        )
        ratings = folder / "ratings.csv"
        (folder / "movies.csv").write_text("movieId,title,genres\n" + "".join(f"{k},T,Drama\n" for k in range(4000)))
        ratings.write_text("userId,movieId,rating,timestamp\n" + "".join(f"{u},{i},{r},9783\n" for u, i, r in rows))
        read_movielens(folder)  # compiles
        print(f"ratings      rankloop       {rate(lambda: read_movielens(folder), N_RATINGS):12,.0f} per second")
        by_numpy = rate(lambda: np.loadtxt(ratings, delimiter=",", skiprows=1), N_RATINGS)
        print(f"             numpy.loadtxt  {by_numpy:12,.0f}")
        try:
            from pyarrow import csv
        except ImportError:
            print("             pyarrow is not installed")
        else:
            alone = csv.ReadOptions(use_threads=False)
            by_arrow = rate(lambda: csv.read_csv(ratings, read_options=alone), N_RATINGS)
            print(f"             pyarrow.csv    {by_arrow:12,.0f}")
        letor = folder / "letor.txt"
        with letor.open("w") as file:
            for k, values in enumerate(draw.random((N_DOCUMENTS, N_FEATURES)).round(6).tolist()):
                fields = " ".join(f"{number}:{value}" for number, value in enumerate(values, 1))
                file.write(f"{k % 3} qid:{k // 20} {fields} # document {k}\n")
        read_letor(letor, cache=False)  # compiles
        print(f"documents    rankloop       {rate(lambda: read_letor(letor, cache=False), N_DOCUMENTS):12,.0f}")
        print(f"             Python         {rate(lambda: in_python(letor), N_DOCUMENTS):12,.0f}")


if __name__ == "__main__":
    main()
