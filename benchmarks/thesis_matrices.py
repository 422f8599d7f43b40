"""How the thesis' preference matrices were made: candidate settings, judged by the matrices of all three users at once.

    python benchmarks/thesis_matrices.py mslr_53_queries.txt FOLDER

FOLDER holds the author's `mslr_perfect.csv`, `mslr_navigational.csv` and `mslr_informational.csv`; the last leaves
ranker 109 (from 0) out, and so do the pairs compared here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.click_models.users import NAMES, User
from rankloop.datasets import Letor, Rankers, read_letor
from rankloop.interleaving import Probabilistic
from rankloop.preferences.measure import Problem, measure_pair

Floats = npt.NDArray[np.float64]

LEFT_OUT = 109
N_PAIRS = 300
TIMES = 20
"""Comparisons of a pair on each query."""
SETTINGS: list[dict[str, Any]] = [
    {},
    {"ties": "pessimistic"},
    {"ties": "pessimistic", "estimator": "binary"},
    {"ties": "redrawn"},
    {"ties": "redrawn", "estimator": "binary"},
    {"ties": "redrawn", "estimator": "binary", "length": 5},
    {"ties": "redrawn", "estimator": "binary", "length": 20},
    {"ties": "redrawn", "estimator": "binary", "exponent": 1.0},
    {"ties": "redrawn", "estimator": "binary", "exponent": 2.0},
    {"ties": "redrawn", "estimator": "binary", "exponent": 4.0},
]
BEST = SETTINGS[4]
N_BOOTSTRAP = 500


def read_matrices(folder: Path) -> dict[str, Floats]:
    """Each user's matrix, without ranker 109."""
    matrices = {}
    for name in NAMES:
        matrix = np.loadtxt(folder / f"mslr_{name}.csv", delimiter=",")
        kept = np.delete(np.arange(136), LEFT_OUT) if len(matrix) == 136 else np.arange(135)
        matrices[name] = matrix[np.ix_(kept, kept)]
    return matrices


def common_denominator(values: Floats, most: int = 1_000_000) -> int:
    """The smallest whole number that makes all of the values whole."""
    numbers = np.arange(1, most + 1)
    for value in values:
        products = value * numbers
        numbers = numbers[np.abs(products - np.round(products)) < 1e-6]
    return int(numbers[0])


def same_lists(data: Letor) -> list[tuple[int, int]]:
    """Pairs of features that order and tie all documents alike, numbered as in matrices without ranker 109."""
    features = np.delete(data.features, LEFT_OUT, axis=1)
    bounds = list(zip(data.offsets, data.offsets[1:], strict=False))
    seen: dict[bytes, list[int]] = {}
    for feature in range(135):
        ranks = [np.unique(features[begin:end, feature], return_inverse=True)[1] for begin, end in bounds]
        seen.setdefault(np.concatenate(ranks).tobytes(), []).append(feature)
    return [(one, other) for group in seen.values() for one in group for other in group if one < other]


def describe(data: Letor, matrices: dict[str, Floats]) -> None:
    """What the matrices themselves say about their making."""
    bounds = list(zip(data.offsets, data.offsets[1:], strict=False))
    tops = [data.features[begin:end] == data.features[begin:end].max(axis=0) for begin, end in bounds]
    tied = np.delete(np.mean([top.mean(axis=0) for top in tops], axis=0), LEFT_OUT)
    pairs = same_lists(data)
    for name, matrix in matrices.items():
        upper = matrix[np.triu_indices(135, 1)]
        apart = np.array([matrix[pair] - 0.5 for pair in pairs])
        print(
            f"{name:14} mean |p - 1/2| {strength(upper):.3f}; multiples of 1 / {common_denominator(upper):,}; "
            f"{len(pairs)} pairs of equal lists lie {np.sqrt((apart**2).mean()):.5f} around 1/2, as "
            f"{0.25 / (apart**2).mean():,.0f} fair coins; mean preference and ties at the top are correlated by "
            f"{np.corrcoef(matrix.mean(axis=1), tied)[0, 1]:.2f}"
        )


def problem_of(data: Letor, user: str, *, ties: str = "random", estimator: str = "marginal", **rest: float) -> Problem:
    return Problem(
        Rankers.from_features(data, np.delete(np.arange(1, 137), LEFT_OUT).tolist()).rankings(0, ties),
        data.labels.astype(np.int64),
        data.offsets,
        User.named(user),
        Probabilistic(rest.get("exponent", 3.0)),
        int(rest.get("length", 10)),
        estimator,
        0,
        TIMES * data.n_queries,
        None,
    )


def preferences(problem: Problem, pairs: list[tuple[int, int]]) -> Floats:
    return np.array([measure_pair(problem, *pair)[0] for pair in pairs])


def strength(p: Floats) -> float:
    return float(np.abs(p - 0.5).mean())


def compare_settings(data: Letor, matrices: dict[str, Floats], pairs: list[tuple[int, int]]) -> None:
    print("\nfor each user: correlation with the author's entries, our strength / theirs, root mean square difference")
    for setting in SETTINGS:
        cells = []
        for name, matrix in matrices.items():
            theirs = np.array([matrix[pair] for pair in pairs])
            ours = preferences(problem_of(data, name, **setting), pairs)
            apart = np.sqrt(((ours - theirs) ** 2).mean())
            cells.append(
                f"{np.corrcoef(ours, theirs)[0, 1]:6.3f} {strength(ours) / strength(theirs):5.2f} {apart:6.3f}"
            )
        label = ", ".join(f"{key} {value}" for key, value in setting.items()) or "as by default"
        print(f"{label:50} {' | '.join(cells)}", flush=True)


def judge_best(data: Letor, matrices: dict[str, Floats], pairs: list[tuple[int, int]]) -> None:
    """How far 53 other queries of the same kind might have led."""
    print(f"\n{BEST}: what the choice of queries explains")
    draw = np.random.default_rng(1)
    for name, matrix in matrices.items():
        theirs = np.array([matrix[pair] for pair in pairs])
        whole = problem_of(data, name, **BEST)
        by_query = np.array(
            [
                preferences(whole._replace(offsets=data.offsets[q : q + 2], comparisons=3 * TIMES, seed=q), pairs)
                for q in range(data.n_queries)
            ]
        )
        ours = by_query.mean(axis=0)
        expected = np.sqrt((by_query.var(axis=0, ddof=1) / data.n_queries).mean())
        others = (by_query[draw.integers(0, data.n_queries, data.n_queries)] for _ in range(N_BOOTSTRAP))
        low, high = np.quantile([strength(other.mean(axis=0)) / strength(theirs) for other in others], [0.025, 0.975])
        print(
            f"{name:14} strength ratio {strength(ours) / strength(theirs):.2f} ({low:.2f} to {high:.2f}); difference "
            f"{np.sqrt(((ours - theirs) ** 2).mean()):.3f}, of which {expected:.3f} for want of queries; "
            f"same winner in {((ours > 0.5) == (theirs > 0.5)).mean():.0%} of pairs"
        )


def main() -> None:
    data = read_letor(sys.argv[1], cache=False)
    matrices = read_matrices(Path(sys.argv[2]))
    upper = np.array(np.triu_indices(135, 1)).T
    chosen = upper[np.random.default_rng(0).permutation(len(upper))[:N_PAIRS]]
    pairs = [(int(left), int(right)) for left, right in chosen]
    describe(data, matrices)
    compare_settings(data, matrices, pairs)
    judge_best(data, matrices, pairs)


if __name__ == "__main__":
    main()
