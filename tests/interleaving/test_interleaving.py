"""Interleavers against enumeration, and what they promise."""

from __future__ import annotations

import json
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import interleaving as slow
from scipy import stats

from rankloop.interleaving import (
    Balanced,
    Interleaver,
    Interleaving,
    Optimised,
    Probabilistic,
    ProbabilisticMultileaving,
    TeamDraft,
    TeamDraftMultileaving,
)
from rankloop.interleaving.drafts import open_draft
from rankloop.interleaving.lists import arrange
from rankloop.kernels import stream

PAIRWISE = [Probabilistic(), TeamDraft(), Balanced(), Optimised()]
MANY = [ProbabilisticMultileaving(), TeamDraftMultileaving()]
EVERY = [*PAIRWISE, *MANY]
FAIR = [Probabilistic(), TeamDraft(), Optimised(), *MANY]


def named(interleaver: Interleaver) -> str:
    return interleaver.name


every = pytest.mark.parametrize("interleaver", EVERY, ids=named)


# Probabilistic: exact credit


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(6)), st.permutations(range(6)), st.integers(0, 10**6), st.integers(1, 5), st.data())
def test_probabilistic_outcome_equals_the_sum_over_all_assignments(a, b, seed, length, data) -> None:
    page = Probabilistic().interleave([a, b], length, seed)
    clicks = data.draw(st.lists(st.integers(0, 1), min_size=length, max_size=length))
    expected = slow.assignment_outcome([a, b], page.items, clicks)
    np.testing.assert_allclose(page.preference(clicks), expected, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.permutations(range(5)), min_size=3, max_size=3), st.integers(0, 10**6), st.data())
def test_probabilistic_multileaving_outcome_equals_the_sum_over_all_assignments(rankings, seed, data) -> None:
    page = ProbabilisticMultileaving().interleave(rankings, 4, seed)
    clicks = data.draw(st.lists(st.integers(0, 1), min_size=4, max_size=4))
    expected = slow.assignment_outcome(rankings, page.items, clicks)
    np.testing.assert_allclose(page.preference(clicks), expected, atol=1e-12)


def test_probabilistic_lists_have_the_probabilities_of_the_definition() -> None:
    """Lists of 3 out of 5 items, 10,000 draws: a chi-square test, false alarms once in 10,000."""
    a, b = [0, 1, 2, 3, 4], [3, 1, 4, 0, 2]
    expected = slow.probabilistic_lists([a, b], 3)
    counts = dict.fromkeys(expected, 0)
    n = 10_000
    for seed in range(n):
        counts[Probabilistic().interleave([a, b], 3, seed).items] += 1
    often = [shown for shown, p in expected.items() if p * n >= 10]
    seen = np.array([counts[shown] for shown in often])
    wanted = np.array([expected[shown] * n for shown in often])
    rest = n - seen.sum(), n - wanted.sum()
    assert stats.chisquare([*seen, rest[0]], [*wanted, rest[1]]).pvalue > 1e-4


def test_weights_stay_exact_to_the_end_of_a_long_list() -> None:
    """The last shares of 3,000 items are what the weights say, though the sums have lost nearly all they had."""
    rng = np.random.default_rng(0)
    a, b = rng.permutation(3000).tolist(), rng.permutation(3000).tolist()
    page = Probabilistic().interleave([a, b], 3000, seed=1)
    assert sorted(page.items) == list(range(3000))
    for k in (2500, 2990, 2998, 2999):
        left = [slow.softmax(ranking, set(page.items[:k]))[page.items[k]] for ranking in (a, b)]
        np.testing.assert_allclose(page.notes[k], np.array(left) / sum(left), rtol=1e-9)


# Fair to equal rankers, and under clicks that do not look


@every
def test_two_equal_rankers_are_equal(interleaver: Interleaver) -> None:
    """The mean score of 1,000 lists is within 5 standard errors of 1/2 (false alarms: 1 in 1.7 million)."""
    rng = np.random.default_rng(5)
    scores = []
    for seed in range(1000):
        page = interleaver.interleave([list("abcdef")] * 2, 5, seed)
        scores.append(page.preference((rng.random(5) < [0.7, 0.5, 0.4, 0.3, 0.2]).astype(int).tolist()).score)
    spread = np.std(scores) / np.sqrt(len(scores))
    assert abs(np.mean(scores) - 0.5) <= 5 * spread + 1e-12


def rankings_of(n_rankers: int, seed: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.permutation(9)[:size].tolist() for size in rng.integers(3, 9, n_rankers)]


@pytest.mark.parametrize("interleaver", FAIR, ids=named)
@pytest.mark.parametrize("case", range(4))
def test_clicks_that_do_not_look_earn_all_rankers_the_same(interleaver: Interleaver, case: int) -> None:
    """At every position, lists of different lengths and overlap: 5 standard errors over 1,500 lists, some 200 checks
    (false alarms: 1 in 8,000)."""
    n_rankers = 2 if interleaver.most_rankers == 2 else 3
    lists = rankings_of(n_rankers, case)
    notes = [interleaver.interleave(lists, 6, seed).notes for seed in range(1500)]
    shares = np.array(notes)
    gaps = shares - shares.mean(axis=2, keepdims=True)
    error = gaps.std(axis=0) / np.sqrt(len(notes))
    assert (np.abs(gaps.mean(axis=0)) <= 5 * error + 1e-9).all(), (lists, gaps.mean(axis=0))
    assert shares[:, 0].sum() > 0


def expected_lead(draft, k: int) -> float:
    """What a click on position k earns the first ranker more than the second, over all lists of the lattice."""
    lead = 0.0
    for i in np.flatnonzero(draft.mass[k]):
        j = draft.second[k, i]
        options = [draft.order[r, at] if at < draft.sizes[r] else None for r, at in ((0, i), (1, j))]
        chance = draft.take[k, i]
        for item, p in ((options[0], chance), (options[1], 1 - chance)):
            item = item if item is not None else next(o for o in options if o is not None)
            gain = [1 / (draft.rank[r, item] + 1) if draft.rank[r, item] < draft.sizes[r] else 0 for r in (0, 1)]
            lead += draft.mass[k, i] * p * (gain[0] - gain[1])
    return lead


@settings(max_examples=200, deadline=None)
@given(st.permutations(range(12)), st.permutations(range(12)), st.integers(4, 12), st.integers(4, 12))
def test_optimised_interleaving_is_fair_at_every_position_that_earns(a, b, n_a, n_b) -> None:
    items, lists = arrange([a[:n_a], b[:n_b]])
    draft = Optimised().draft(lists, min(8, len(items)))
    open_draft(draft, stream(0))
    assert draft.fair[0] >= 1
    for k in range(draft.fair[0]):
        np.testing.assert_allclose(draft.mass[k].sum(), 1)
        assert abs(expected_lead(draft, k)) < 1e-8


def test_optimised_interleaving_of_long_lists_is_nearly_always_fair_throughout() -> None:
    rng = np.random.default_rng(3)
    fair = []
    for _ in range(150):
        worth = rng.normal(size=50)
        lists = [np.argsort(rng.normal(size=50) * 0.5 - worth).tolist() for _ in range(2)]
        draft = Optimised().draft(arrange(lists)[1], 10)
        open_draft(draft, stream(0))
        fair.append(draft.fair[0] == 10)
    assert np.mean(fair) > 0.97


@pytest.mark.parametrize("case", range(3))
def test_optimised_interleaving_walks_its_lattice(case: int) -> None:
    """Items at position 3 occur as often as the lattice says: chi-square, 2,000 lists, false alarms 1 in 10,000."""
    rng = np.random.default_rng(case)
    lists = [rng.permutation(7).tolist(), rng.permutation(7).tolist()]
    items, arranged = arrange(lists)
    draft = Optimised().draft(arranged, 5)
    open_draft(draft, stream(0))
    k = 3
    expected = dict.fromkeys(items, 0.0)
    for i in np.flatnonzero(draft.mass[k]):
        one, other = draft.order[0, i], draft.order[1, draft.second[k, i]]
        expected[items[one]] += draft.mass[k, i] * draft.take[k, i]
        expected[items[other]] += draft.mass[k, i] * (1 - draft.take[k, i])
    n = 2000
    seen = [Optimised().interleave(lists, 5, seed).items[k] for seed in range(n)]
    often = [item for item in items if expected[item] * n >= 10]
    counts = [seen.count(item) for item in often]
    wanted = np.array([expected[item] for item in often])
    assert abs(wanted.sum() - 1) < 0.01
    assert stats.chisquare(counts, wanted / wanted.sum() * sum(counts)).pvalue > 1e-4


def test_balanced_interleaving_is_biased_where_the_docs_say_so() -> None:
    """One random click on a b c and b c a: the second ranker wins more often than the first."""
    scores = []
    for seed in range(300):
        page = Balanced().interleave([list("abc"), list("bca")], 3, seed)
        scores += [page.preference(np.eye(3, dtype=int)[k].tolist()).score for k in range(3)]
    assert np.mean(scores) < 0.45


# Team draft and balanced: the lists they may show


@pytest.mark.parametrize("rankings", [[[0, 1, 2, 3], [1, 3, 0, 2]], [[0, 1, 2, 3], [2, 1, 0, 3], [3, 1, 2, 0]]])
def test_team_drafts_have_the_probabilities_of_the_definition(rankings) -> None:
    """5,000 lists: chi-square, false alarms once in 10,000."""
    interleaver = TeamDraft() if len(rankings) == 2 else TeamDraftMultileaving()
    expected = slow.team_drafts(rankings, 4)
    counts = dict.fromkeys(expected, 0)
    n = 5000
    for seed in range(n):
        page = interleaver.interleave(rankings, 4, seed)
        counts[tuple((d, int(np.argmax(note))) for d, note in zip(page.items, page.notes, strict=True))] += 1
    wanted = np.array(list(expected.values())) * n
    assert stats.chisquare(list(counts.values()), wanted).pvalue > 1e-4


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(8)), st.permutations(range(8)), st.integers(0, 10**6), st.integers(1, 8))
def test_teams_differ_by_at_most_one(a, b, seed, length) -> None:
    page = TeamDraft().interleave([a, b], length, seed)
    ours = [d for d, (first, _) in zip(page.items, page.notes, strict=True) if first]
    theirs = [d for d in page.items if d not in ours]
    assert abs(len(ours) - len(theirs)) <= 1
    for k, d in enumerate(page.items):
        ranking = a if d in ours else b
        assert d == slow.best_left(ranking, page.items[:k])


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(7)), st.permutations(range(7)), st.integers(0, 10**6), st.data())
def test_balanced_lists_and_credit_are_those_of_the_definition(a, b, seed, data) -> None:
    page = Balanced().interleave([a, b], 5, seed)
    assert list(page.items) in [slow.balanced_list(a, b, 5, a_first) for a_first in (True, False)]
    clicks = data.draw(st.lists(st.integers(0, 1), min_size=5, max_size=5))
    lead = slow.balanced_lead(a, b, list(page.items), clicks)
    assert page.preference(clicks).score == 0.5 * (1 + np.sign(lead))


def test_optimised_lists_are_allowed() -> None:
    for seed, (a, b) in enumerate(product(list(permutations(range(4)))[::5], repeat=2)):
        items = Optimised().interleave([a, b], 4, seed).items
        for k, d in enumerate(items):
            assert d in (slow.best_left(a, items[:k]), slow.best_left(b, items[:k]))


# Live use


@every
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.text("abcdefgh", min_size=1, max_size=1), min_size=1, max_size=9), min_size=2, max_size=2),
    st.integers(1, 6),
    st.integers(0, 2**63),
)
def test_any_lists_give_distinct_items_of_them_and_travel_as_json(interleaver, lists, length, seed) -> None:
    page = interleaver.interleave(lists, length, seed)
    everything = set(lists[0]) | set(lists[1])
    assert len(page) == min(length, len(everything))
    assert len(set(page.items)) == len(page)
    assert set(page.items) <= everything
    again = Interleaving.from_json(json.dumps(json.loads(page.to_json())))
    assert again == page
    clicks = [k % 2 for k in range(len(page))]
    assert again.preference(clicks) == page.preference(clicks)
    assert again.credit(clicks) == page.credit(clicks)
    assert sum(page.preference(clicks)) == pytest.approx(1)
    assert interleaver.interleave(lists, length, seed) == page


@every
def test_a_second_page_goes_on_with_the_draft(interleaver: Interleaver) -> None:
    lists = [list("abcdefgh"), list("hgcbiajk")]
    page = interleaver.interleave(lists, 3, seed=11)
    longer = interleaver.extend(Interleaving.from_json(page.to_json()), lists, 4)
    assert longer.items[:3] == page.items
    assert longer.notes[:3] == page.notes
    assert len(set(longer.items)) == 7
    assert longer == interleaver.extend(page, lists, 4)
    whole = interleaver.extend(longer, lists, 100)
    assert set(whole.items) == set("abcdefghijk")
    assert whole.credit([1, 0, 0] + [0] * 8) == page.credit([1, 0, 0])


@pytest.mark.parametrize("interleaver", [TeamDraft(), TeamDraftMultileaving()], ids=named)
def test_a_round_of_team_draft_goes_on_over_the_page(interleaver: Interleaver) -> None:
    lists = [list("abcdefgh"), list("hgfedcba")]
    for seed in range(50):
        longer = interleaver.extend(interleaver.interleave(lists, 3, seed), lists, 3)
        teams = np.argmax(longer.notes, axis=1)
        assert [sorted(teams[k : k + 2]) for k in (0, 2, 4)] == [[0, 1]] * 3


def test_balanced_pages_are_the_pages_of_one_list() -> None:
    lists = [list("abcdefgh"), list("hgcbiajk")]
    for seed in range(20):
        page = Balanced().interleave(lists, 3, seed)
        assert Balanced().extend(page, lists, 4).items == Balanced().interleave(lists, 7, seed).items


@pytest.mark.parametrize("interleaver", [Probabilistic(), Optimised()], ids=named)
def test_two_pages_are_distributed_as_one_list(interleaver: Interleaver) -> None:
    """The item at position 3 after a page of 2, against lists in one go: chi-square, 2,000 each, 1 in 10,000."""
    lists = [[0, 1, 2, 3, 4], [2, 4, 0, 3, 1]]
    table = np.zeros((2, 5))
    for seed in range(2000):
        table[0, interleaver.extend(interleaver.interleave(lists, 2, seed), lists, 2).items[3]] += 1
        table[1, interleaver.interleave(lists, 4, seed + 10**6).items[3]] += 1
    table = table[:, table.sum(axis=0) > 20]
    assert stats.chi2_contingency(table).pvalue > 1e-4


@every
def test_pages_go_on_when_the_lists_have_changed(interleaver: Interleaver) -> None:
    page = interleaver.interleave([list("abcd"), list("cdef")], 3, seed=1)
    longer = interleaver.extend(page, [list("xyab"), list("zxcd")], 10)
    assert longer.items[:3] == page.items
    assert set(longer.items) == {*page.items, *"xyzabcd"}
    longer.credit([1] * len(longer))


@every
def test_what_follows_the_end_of_a_list_earns_nothing(interleaver: Interleaver) -> None:
    page = interleaver.interleave([["a"], list("bcdefg")], 6, seed=3)
    credit = page.credit([0] * 4 + [1, 1])
    assert credit[0] == credit[1]


BAD_CALLS = [
    ([["a"], []], 5, 0, "list 1 is empty"),
    ([[], []], 5, 0, "list 0 is empty"),
    ([["a"]], 5, 0, "lists, not 1"),
    ([["a"], "bc"], 5, 0, "must be a sequence of items"),
    ([["a"], [1.5]], 5, 0, "strings or whole numbers, not 1.5"),
    ([["a"], [True]], 5, 0, "not True"),
    ([["a"], ["b"]], 0, 0, "length must be"),
    ([["a"], ["b"]], 5, -1, "seed must be"),
    ([["a"], ["b"]], 5, "x", "seed must be"),
]


@every
@pytest.mark.parametrize(("lists", "length", "seed", "message"), BAD_CALLS)
def test_bad_lists_are_refused(interleaver: Interleaver, lists, length, seed, message) -> None:
    with pytest.raises(ValueError, match=message):
        interleaver.interleave(lists, length, seed)


@pytest.mark.parametrize("interleaver", PAIRWISE, ids=named)
def test_pairwise_interleavers_refuse_a_third_list(interleaver: Interleaver) -> None:
    with pytest.raises(ValueError, match="interleaves two lists, not 3"):
        interleaver.interleave([["a"], ["b"], ["c"]])


@every
@pytest.mark.parametrize(
    "clicks", [[], [1], [0, 1, 0, 0], [0, 2, 0], [0, -1, 0], [0, 0.5, 0], ["0", 0, 0], [None, 0, 0]]
)
def test_bad_clicks_are_refused(interleaver: Interleaver, clicks) -> None:
    page = interleaver.interleave([list("abc"), list("bca")], 3, seed=0)
    with pytest.raises(ValueError, match="clicks"):
        page.credit(clicks)
    with pytest.raises(ValueError, match="clicks"):
        page.preference(clicks)
    with pytest.raises(ValueError, match="rankers go from 0 to 1"):
        page.preference([0, 0, 0], 0, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"method": "none"},
        {"items": []},
        {"items": ["a", "a", "b"]},
        {"notes": [[1.0, 0.0]]},
        {"notes": [[1.0], [1.0], [1.0]]},
        {"notes": [[float("nan"), 0.0]] * 3},
        {"seed": "x"},
        {"items": None},
    ],
)
def test_bad_json_is_refused(change) -> None:
    fields = json.loads(TeamDraft().interleave([list("abc"), list("bca")], 3, seed=0).to_json())
    with pytest.raises(ValueError, match=r"not an interleaving|seed must be"):
        Interleaving.from_json({**fields, **change})


def test_pages_of_another_method_or_number_of_lists_are_refused() -> None:
    page = TeamDraft().interleave([list("abc"), list("bca")], 3, seed=0)
    with pytest.raises(ValueError, match="cannot be extended by 'balanced'"):
        Balanced().extend(page, [list("abc"), list("bca")])
    with pytest.raises(ValueError, match="made of 2 lists, not 3"):
        TeamDraft().extend(page, [list("abc"), list("bca"), list("abc")])
