"""The environment of dueling bandits: what it says of a matrix, what it refuses, what it reads and generates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rankloop import PreferenceMatrix

ROCK_PAPER_SCISSORS_AND_LOSER = [
    [0.5, 0.6, 0.4, 0.9],
    [0.4, 0.5, 0.7, 0.8],
    [0.6, 0.3, 0.5, 0.5],
    [0.1, 0.2, 0.5, 0.5],
]


@pytest.mark.parametrize(
    ("problem", "best", "others", "gap"),
    [(PreferenceMatrix.cycle(), 10.19, 9.99, 0.01), (PreferenceMatrix.cycle2(), 11.90, 9.9, 0.01)],
)
def test_the_cycles_of_the_thesis(problem: PreferenceMatrix, best: float, others: float, gap: float) -> None:
    assert problem.n_arms == 20
    assert problem.condorcet_winner == 0
    assert problem.winners == problem.copeland_winners == [0]
    assert problem.borda_scores[0] == pytest.approx(best)
    assert problem.borda_scores[1:] == pytest.approx(np.full(19, others))
    assert problem.smallest_gap == pytest.approx(gap)


def test_condorcet_regret_is_the_mean_gap_to_the_winner() -> None:
    problem = PreferenceMatrix([[0.5, 0.6, 0.9], [0.4, 0.5, 0.7], [0.1, 0.3, 0.5]])
    assert problem.regret(0, 0) == 0
    assert problem.regret(1, 2) == pytest.approx((0.1 + 0.4) / 2)
    assert problem.regret(0, 2) == problem.regret(2, 0) == pytest.approx(0.2)


def test_copeland_regret_where_nobody_beats_everybody() -> None:
    problem = PreferenceMatrix(ROCK_PAPER_SCISSORS_AND_LOSER)
    assert problem.condorcet_winner is None
    assert problem.copeland_scores == pytest.approx([2 / 3, 2 / 3, 1 / 3, 0])
    assert problem.winners == problem.copeland_winners == [0, 1]
    assert problem.regret(0, 1) == 0
    assert problem.regret(0, 3) == pytest.approx(1 / 3)
    assert problem.regret(2, 3) == pytest.approx((1 / 3 + 2 / 3) / 2)


def test_relabelling_moves_every_arm_with_its_losses() -> None:
    problem = PreferenceMatrix(ROCK_PAPER_SCISSORS_AND_LOSER, name="game")
    order = [2, 0, 3, 1]
    moved = problem.relabelled(order)
    assert moved.name == "game"
    for new, old in enumerate(order):
        assert moved.losses[new] == pytest.approx(problem.losses[old])
        for other_new, other_old in enumerate(order):
            assert moved.preferences[new, other_new] == pytest.approx(problem.preferences[old, other_old])


def test_a_matrix_cannot_be_changed_afterwards() -> None:
    given = np.array([[0.5, 0.6], [0.4, 0.5]])
    problem = PreferenceMatrix(given)
    given[0, 1] = 0.9
    assert problem.preferences[0, 1] == 0.6
    with pytest.raises(ValueError, match="read-only"):
        problem.preferences[0, 1] = 0.9


def test_rounded_entries_are_made_complementary() -> None:
    problem = PreferenceMatrix([[0.5, 0.3333333], [0.6666666, 0.5]])
    assert (problem.preferences + problem.preferences.T == 1).all()


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ([[0.5, 0.6], [0.6, 0.5]], r"p\[0, 1\] = 0.6, p\[1, 0\] = 0.6: p\[0, 1\] must be 1 - p\[1, 0\]"),
        ([[0.5, 0.6], [0.39999, 0.5]], r"p\[0, 1\] = 0.6"),
        ([[0.4, 0.6], [0.4, 0.5]], r"p\[0, 0\] = 0.4"),
        ([[0.5, 1.2], [-0.2, 0.5]], r"p\[0, 1\] = 1.2.*must lie in \[0, 1\]"),
        ([[0.5, np.nan], [0.4, 0.5]], r"p\[0, 1\] = nan.*not a finite number"),
        ([[0.5, np.inf], [0.4, 0.5]], r"p\[0, 1\] = inf"),
        ([[0.5, 0.6, 0.7], [0.4, 0.5, 0.6]], r"square, not of shape \(2, 3\)"),
        ([0.5, 0.5], r"square, not of shape \(2,\)"),
        ([[0.5]], "at least 2 arms, not 1"),
        ([], "square"),
        ([[0.5, 0.6], [0.4]], "square table of numbers"),
        ([["a", "b"], ["c", "d"]], "square table of numbers"),
        (None, "square"),
    ],
)
def test_what_is_no_preference_matrix_is_refused(table, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        PreferenceMatrix(table)


@pytest.mark.parametrize("suffix", [".csv", ".txt", ".npz"])
def test_a_saved_matrix_reads_back_to_the_last_bit(tmp_path: Path, suffix: str) -> None:
    problem = PreferenceMatrix.like_features(12, seed=4)
    path = tmp_path / f"twelve{suffix}"
    problem.save(path)
    back = PreferenceMatrix.read(path)
    assert np.array_equal(back.preferences, problem.preferences)
    assert back.name == "twelve"


@pytest.mark.parametrize(
    "text",
    [
        "0.5,0.6\n0.4,0.5\n",
        "0.5, 0.6\n0.4, 0.5",
        "0.5 0.6\n0.4 0.5\n",
        "0.5\t0.6\r\n0.4\t0.5\r\n",
        "# two rankers\n\n0.5,6e-1  # a row\n0.4,0.5\n\n",
        "\ufeff0.5,0.6\n0.4,0.5\n",
    ],
)
def test_texts_that_are_understood(tmp_path: Path, text: str) -> None:
    path = tmp_path / "matrix.csv"
    path.write_bytes(text.encode())
    assert PreferenceMatrix.read(path).preferences[0].tolist() == [0.5, 0.6]


def test_npy_is_read(tmp_path: Path) -> None:
    path = tmp_path / "matrix.npy"
    np.save(path, np.array([[0.5, 0.6], [0.4, 0.5]]))
    assert PreferenceMatrix.read(path).preferences[0, 1] == 0.6


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"\n# nothing\n", "is empty"),
        (b"0.5,0.6\n0.4\n", "line 2: 1 numbers, where the first row has 2"),
        (b"0.5,\n0.4,0.5\n", "line 1: '' is not a number"),
        (b"left,right\n0.4,0.5\n", r"must be square, not of shape \(1, 2\)"),
        (b"left,right\n0.5,x\n0.4,0.5\n", "line 2: 'x' is not a number"),
        (b"0.5,0.6\n0.6,0.5\n", r"matrix.csv: p\[0, 1\] = 0.6"),
        (b"0.5\n", "at least 2 arms"),
        (b"\xff\xfe\x00", "cannot be read as text"),
    ],
)
def test_texts_that_are_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "matrix.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=complaint) as caught:
        PreferenceMatrix.read(path)
    assert "matrix.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_binary_files_that_are_refused(tmp_path: Path) -> None:
    whole = tmp_path / "whole.npz"
    PreferenceMatrix.like_features(30).save(whole)
    content = whole.read_bytes()
    half, flipped, other = tmp_path / "half.npz", tmp_path / "flipped.npz", tmp_path / "other.npz"
    half.write_bytes(content[: len(content) // 2])
    middle = len(content) // 2
    flipped.write_bytes(
        content[:middle] + bytes(255 - byte for byte in content[middle : middle + 40]) + content[middle + 40 :]
    )
    np.savez(other, counts=np.zeros(3))
    objects = tmp_path / "objects.npz"
    np.savez(objects, preferences=np.array([None, {}], dtype=object))
    for path in (half, flipped, objects):
        with pytest.raises(ValueError, match=f"{path.name} is not a NumPy file, or is damaged"):
            PreferenceMatrix.read(path)
    with pytest.raises(ValueError, match="has no array 'preferences', only counts"):
        PreferenceMatrix.read(other)
    for missing in (tmp_path / "missing.npz", tmp_path / "missing.csv"):
        with pytest.raises(ValueError, match=f"no file .*{missing.name}"):
            PreferenceMatrix.read(missing)


@pytest.mark.parametrize("n_arms", [2, 3, 5, 10, 11, 64, 136, 300])
@pytest.mark.parametrize("seed", range(5))
def test_problems_like_features_have_the_promised_shape(n_arms: int, seed: int) -> None:
    problem = PreferenceMatrix.like_features(n_arms, uninformative=0.2, seed=seed)
    idle = int(0.2 * n_arms)
    useful = n_arms - idle
    assert problem.n_arms == n_arms
    assert problem.name == f"features:{n_arms}"
    assert problem.condorcet_winner is not None
    assert problem.condorcet_winner < useful
    assert (problem.preferences[useful:, useful:] == 0.5).all()
    assert (problem.preferences[:useful, useful:] > 0.5).all()
    lead = np.delete(problem.preferences[problem.condorcet_winner], problem.condorcet_winner) - 0.5
    assert lead.min() > 0.002
    again = PreferenceMatrix.like_features(n_arms, uninformative=0.2, seed=seed)
    assert np.array_equal(again.preferences, problem.preferences)


def test_near_duplicates_are_nearer_than_strangers() -> None:
    problem = PreferenceMatrix.like_features(300, uninformative=0, group_size=5, seed=1)
    distance = np.abs(problem.preferences - 0.5)
    group = np.arange(300) // 5
    same = (group[:, None] == group[None, :]) & ~np.eye(300, dtype=bool)
    assert distance[same].mean() < 0.4 * distance[group[:, None] != group[None, :]].mean()


@pytest.mark.parametrize("uninformative", [0.0, 0.5, 0.99])
def test_any_share_of_uninformative_arms_leaves_a_winner(uninformative: float) -> None:
    for n_arms in (2, 7, 50):
        assert PreferenceMatrix.like_features(n_arms, uninformative=uninformative).condorcet_winner is not None


@pytest.mark.parametrize("bad", [{"n_arms": 1}, {"n_arms": 5, "uninformative": 1.0}, {"n_arms": 5, "group_size": 0}])
def test_generator_refuses(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must"):
        PreferenceMatrix.like_features(**bad)


def test_utilities() -> None:
    problem = PreferenceMatrix.from_utilities([0.0, 2.0, 1.0])
    assert problem.condorcet_winner == 1
    assert problem.preferences[1, 0] == pytest.approx(1 / (1 + np.exp(-2)))
    assert PreferenceMatrix.from_utilities([1000.0, 0.0]).preferences[0, 1] == 1
    for bad, link, complaint in (
        ([0, np.nan], "logistic", "finite"),
        ([0, 2], "linear", "at most 1"),
        ([0, 1], "probit", "'probit'"),
        ([[0, 1]], "logistic", "sequence"),
    ):
        with pytest.raises(ValueError, match=complaint):
            PreferenceMatrix.from_utilities(bad, link=link)


def ordered(n_arms: int, ties: list[tuple[int, int]] = [], idle: int = 0) -> PreferenceMatrix:  # noqa: B006
    """Arm i beats j > i with probability 0.6, but for ties, and for the last arms, which tie among themselves."""
    table = np.full((n_arms, n_arms), 0.5)
    for i in range(n_arms):
        for j in range(i + 1, n_arms):
            if (i, j) not in ties and i < n_arms - idle:
                table[i, j], table[j, i] = 0.6, 0.4
    return PreferenceMatrix(table)


@pytest.mark.parametrize(
    ("problem", "met", "rankers"),
    [
        (ordered(2), (True, True, True), ((), ())),
        (PreferenceMatrix.cycle(), (True, True, True), ((), ())),
        (PreferenceMatrix.like_features(136), (True, True, True), ((), ())),
        (ordered(6, idle=2), (True, True, True), ((), ())),  # just a third
        (ordered(5, idle=2), (True, True, False), ((), (3, 4))),
        (ordered(5, ties=[(1, 2)]), (True, False, True), ((1, 2), ())),
        (ordered(6, ties=[(3, 4), (3, 5)]), (True, False, True), ((3, 4), ())),  # 3 and 5 beat nobody, 4 does
        (ordered(3, ties=[(1, 2)]), (True, True, False), ((), (1, 2))),  # both beat nobody: uninformative
        (ordered(4, ties=[(0, 1)]), (False, False, True), ((0, 1), ())),
        (ordered(3, idle=3), (False, True, False), ((), (0, 1, 2))),
        (PreferenceMatrix([[0.5, 0.6, 0.4], [0.4, 0.5, 0.6], [0.6, 0.4, 0.5]]), (False, True, True), ((), ())),
    ],
)
def test_which_assumptions_of_the_thesis_a_matrix_meets(problem, met, rankers) -> None:
    winner, distinguishable, informative = found = problem.assumptions
    assert (winner.met, distinguishable.met, informative.met) == met
    assert (distinguishable.rankers, informative.rankers) == rankers
    assert winner.met == (problem.condorcet_winner is not None)
    assert found.met == all(met)
    assert (found.failure == "") == all(met)
    assert len(str(found).splitlines()) == 3


def test_assumptions_by_their_definition_on_random_matrices() -> None:
    """Every pair and every ranker looked at in turn, on 300 small matrices with many ties."""
    draw = np.random.default_rng(0)
    outcomes = set()
    for _ in range(300):
        n = int(draw.integers(2, 7))
        table = np.full((n, n), 0.5)
        for i in range(n):
            for j in range(i + 1, n):
                table[i, j] = draw.choice([0.5, 0.7, 0.7, 0.3])
                table[j, i] = 1 - table[i, j]
        idle = [i for i in range(n) if all(table[i, j] <= 0.5 for j in range(n))]
        if len(idle) == 1:
            idle = []  # nothing tells it from a ranker that is merely the worst
        pairs = [(i, j) for i in range(n) for j in range(i) if table[i, j] == 0.5 and not (i in idle and j in idle)]
        found = PreferenceMatrix(table).assumptions
        assert found.distinguishable.met == (not pairs)
        assert set(found.distinguishable.rankers) == {arm for pair in pairs for arm in pair}
        assert found.informative.met == (len(idle) <= n / 3)
        assert found.winner.met == any(all(table[i, j] > 0.5 for j in range(n) if j != i) for i in range(n))
        outcomes.add((found.winner.met, found.distinguishable.met, found.informative.met))
    assert len(outcomes) >= 6


def test_assumptions_name_few_and_count_the_rest() -> None:
    found = ordered(9, ties=[(1, j) for j in range(2, 8)]).assumptions
    assert found.failure == (
        "assumption 2.1 is not met: 6 pairs tie and are not both uninformative: "
        "1 and 2; 1 and 3; 1 and 4; 1 and 5; 1 and 6; and 1 more"
    )
