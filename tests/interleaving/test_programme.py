"""The linear programme of optimised interleaving against SciPy's solver and plain enumeration."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from references import interleaving as slow
from scipy.optimize import linprog

from rankloop.interleaving import Optimised, optimised
from rankloop.interleaving.drafts import open_draft
from rankloop.interleaving.lists import arrange
from rankloop.interleaving.programme import candidates
from rankloop.kernels import stream


def allowed_lists(a: list[int], b: list[int], length: int) -> set[tuple[int, ...]]:
    lists: set[tuple[int, ...]] = {()}
    for _ in range(length):
        tops = {shown: {slow.best_left(ranking, shown) for ranking in (a, b)} - {None} for shown in lists}
        lists = {(*shown, top) for shown in lists for top in tops[shown]}
    return lists


def credit_lead(a: list[int], b: list[int], item: int) -> float:
    return sum(sign / (ranking.index(item) + 1) for sign, ranking in ((1, a), (-1, b)) if item in ranking)


def bits_told(leads: list[float]) -> float:
    clicks = np.array([1 / (k + 1) for k in range(len(leads))])
    clicks /= clicks.sum()
    win = clicks[np.array(leads) > 1e-12].sum()
    loss = clicks[np.array(leads) < -1e-12].sum()
    tie = 1 - win - loss
    return (1 - tie) * sum(-p / (1 - tie) * math.log2(p / (1 - tie)) for p in (win, loss) if p > 0)


def scipy_optimum(a: list[int], b: list[int], length: int) -> float | None:
    lists = sorted(allowed_lists(a, b, length))
    leads = [[credit_lead(a, b, item) for item in shown] for shown in lists]
    equations = np.vstack([np.array(leads).T, np.ones(len(lists))])
    best = linprog([-bits_told(lead) for lead in leads], A_eq=equations, b_eq=[0.0] * length + [1.0], method="highs")
    return -best.fun if best.status == 0 else None


def solution(a: list[int], b: list[int], horizon: int) -> tuple[dict[tuple[int, ...], float], int]:
    items, arranged = arrange([a, b])
    draft = Optimised(horizon).draft(arranged, min(horizon, len(items)))
    open_draft(draft, stream(0))
    depth = int(draft.fair[optimised.DEPTH])
    chosen = np.flatnonzero(draft.weights)
    return {tuple(items[d] for d in draft.choices[c, :depth]): draft.weights[c] for c in chosen}, depth


def noisy_pair(rng: np.random.Generator, n_items: int, noise: float) -> tuple[list[int], list[int]]:
    worth = rng.normal(size=n_items)
    first, second = (np.argsort(noise * rng.normal(size=n_items) - worth).tolist() for _ in range(2))
    return first, second


def pairs() -> list[tuple[list[int], list[int], int]]:
    rng = np.random.default_rng(1)
    cases = [(*noisy_pair(rng, 30, noise), horizon) for noise in (0.1, 0.5, 3.0) for horizon in (1, 2, 3, 5, 8, 10)]
    cases += [(*noisy_pair(rng, n, 1.0), n) for n in (2, 3, 5, 8, 10)]  # down to the last item
    cases += [(list(range(20)), list(range(50, 70)), 10), (list(range(20)), list(range(20)), 10)]
    cases += [
        (rng.permutation(12)[:n].tolist(), rng.permutation(12)[:m].tolist(), 8) for n, m in ((2, 9), (4, 7), (1, 1))
    ]
    cases += [(*noisy_pair(rng, 30, 1.0), 12)]
    return cases


@pytest.mark.parametrize(("a", "b", "horizon"), pairs())
def test_the_solution_is_fair_allowed_and_as_good_as_scipys(a, b, horizon) -> None:
    chances, depth = solution(a, b, horizon)
    longest = min(horizon, len({*a, *b}))
    assert 1 <= depth <= longest
    assert len(chances) <= depth + 1
    assert set(chances) <= allowed_lists(a, b, depth)
    assert min(chances.values()) > 0
    assert abs(sum(chances.values()) - 1) < 1e-9
    for k in range(depth):  # a click on position k that does not look at the item
        assert abs(sum(p * credit_lead(a, b, shown[k]) for shown, p in chances.items())) < 1e-9
    told = sum(p * bits_told([credit_lead(a, b, item) for item in shown]) for shown, p in chances.items())
    assert told == pytest.approx(scipy_optimum(a, b, depth), abs=1e-8)
    if depth < longest:
        assert scipy_optimum(a, b, depth + 1) is None


def test_the_programme_covers_ten_positions_of_long_lists() -> None:
    rng = np.random.default_rng(2)
    depths = [solution(*noisy_pair(rng, 50, 0.5), 10)[1] for _ in range(100)]
    assert np.mean(np.array(depths) == 10) > 0.97


def test_candidates_are_all_allowed_lists_once() -> None:
    rng = np.random.default_rng(3)
    for n, m in ((9, 9), (3, 9), (9, 5)):
        a, b = rng.permutation(12)[:n].tolist(), rng.permutation(12)[:m].tolist()
        items, arranged = arrange([a, b])
        depth = min(7, len(items))
        found = [tuple(items[d] for d in row) for row in candidates(*arranged, depth)]
        assert len(found) == len(set(found))
        assert set(found) == allowed_lists(a, b, depth)


def test_pages_show_the_lists_of_the_solution_as_often_as_it_says() -> None:
    """3,000 pages of 4 + 4 positions: each list within 5 standard errors (false alarms: 1 in 200,000)."""
    a, b = noisy_pair(np.random.default_rng(4), 20, 1.0)
    chances, _ = solution(a, b, 8)
    interleaver = Optimised(8)
    n = 3000
    shown = [interleaver.extend(interleaver.interleave([a, b], 4, seed), [a, b], 4).items for seed in range(n)]
    assert set(shown) <= set(chances)
    for items, p in chances.items():
        assert abs(shown.count(items) / n - p) <= 5 * math.sqrt(p * (1 - p) / n)


def test_solutions_are_kept_and_change_nothing(monkeypatch) -> None:
    monkeypatch.setattr(optimised, "MOST_KEPT", 3)
    rng = np.random.default_rng(5)
    lists = []
    for _ in range(8):
        a, b = noisy_pair(rng, 20, 1.0)
        lists += [(a, b), (a, [*b[:10], *b[:9:-1]])]  # the same down to rank 10, but credited otherwise
    keeping = Optimised()
    for pair in lists:
        for seed in range(5):
            assert keeping.interleave(pair, 10, seed) == Optimised().interleave(pair, 10, seed)
        assert 1 <= len(keeping._solutions) <= 3
    assert pickle.loads(pickle.dumps(keeping)).interleave(lists[0], 10, 1) == Optimised().interleave(lists[0], 10, 1)


@pytest.mark.parametrize("horizon", [0, 13, 2.0, True, "10"])
def test_bad_horizons_are_refused(horizon) -> None:
    with pytest.raises(ValueError, match="horizon must be a whole number from 1 to 12"):
        Optimised(horizon)
