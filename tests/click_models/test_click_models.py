"""Click models against enumeration and plain counting, and the claims made for them."""

from __future__ import annotations

import json
from copy import copy
from functools import cache
from itertools import product

import numpy as np
import pytest
from references import click_models as slow
from scipy import stats
from shared_data import SHARED

from rankloop import click_models as cm
from rankloop.click_models import browsing, chain, estimation
from rankloop.click_models.pairs import QueryItems, index_pairs
from rankloop.click_models.sessions import group_sessions
from rankloop.datasets import ClickLog, SyntheticQueries, read_yandex, synthetic_click_log

SAMPLE = SHARED / "click_logs" / "yandex_relpred_sample.tsv"
needs_sample = pytest.mark.skipif(not SAMPLE.exists(), reason="the shared click log is not here")

ALL = [cm.CM, cm.DCM, cm.SDBN, cm.DBN, cm.PBM, cm.UBM]
BY_EM = [(cm.DCM, True), (cm.SDBN, True), (cm.DBN, False), (cm.PBM, False), (cm.UBM, False)]
ITEMS = ["a", "b", "c", "d"]


def random_model(kind: type[cm.ClickModel], seed: int = 0) -> cm.ClickModel:
    """A model of one query with four items, and its parameters drawn at random."""
    rng = np.random.default_rng(seed)
    pairs = QueryItems(["q"], np.array([0, 4]), ITEMS, np.array([1]), np.array([4]))
    shape = {0: (), 1: (4,), 2: (4, 4)}[kind.shared_dimensions]
    parameters = {name: rng.uniform(0.1, 0.9, 5) for name in kind.pair_parameters}
    parameters |= {name: rng.uniform(0.1, 0.9, shape) for name in kind.shared_parameters}
    return kind(pairs, parameters, n_positions=4)


def enumerated(model: cm.ClickModel, items: list[str]) -> dict[tuple[int, ...], float]:
    """The probability of each pattern of clicks, from the story that each model tells."""
    values = model.parameters
    index = [ITEMS.index(item) for item in items]
    a = [values["attraction"][i] for i in index]
    match type(model).__name__:
        case "CM":
            return slow.click_distribution(slow.walks(a, [1.0] * len(a), 1.0))
        case "DCM":
            return slow.click_distribution(slow.walks(a, list(values["abandonment"]), 1.0))
        case "SDBN":
            return slow.click_distribution(slow.walks(a, [values["satisfaction"][i] for i in index], 1.0))
        case "DBN":
            leaving = [values["satisfaction"][i] for i in index]
            return slow.click_distribution(slow.walks(a, leaving, 1 - float(values["abandonment"])))
        case "PBM":
            return slow.click_distribution(slow.looks(a, lambda k, _: values["examination"][k]))
        case _:
            return slow.click_distribution(slow.looks(a, lambda k, last: values["examination"][k, last + 1]))


@pytest.mark.parametrize("kind", ALL)
def test_probabilities_match_enumeration(kind) -> None:
    model = random_model(kind)
    for items in (["a", "b", "c", "d"], ["d", "a", "c"], ["b"]):
        truth = enumerated(model, items)
        assert sum(truth.values()) == pytest.approx(1)
        for k, p in enumerate(model.click_probabilities("q", items)):
            assert p == pytest.approx(sum(q for clicks, q in truth.items() if clicks[k]), abs=1e-12)
        for clicks in product((0, 1), repeat=len(items)):
            if truth.get(clicks, 0) > 0:
                assert model.log_likelihood("q", items, clicks) == pytest.approx(np.log(truth[clicks]), abs=1e-4)


@pytest.mark.parametrize("kind", ALL)
def test_draws_follow_the_probabilities(kind) -> None:
    """20,000 sessions: a chi-square test over click patterns, false alarms once in 10,000."""
    model = random_model(kind, 3)
    items = ["c", "a", "d", "b"]
    truth = {clicks: p for clicks, p in enumerated(model, items).items() if p > 0}
    drawn = model.draw_clicks("q", items, 20_000, seed=1)
    patterns, counts = np.unique(drawn, axis=0, return_counts=True)
    seen = dict(zip(map(tuple, patterns.tolist()), counts.tolist(), strict=True))
    assert set(seen) <= set(truth)
    test = stats.chisquare([seen.get(c, 0) for c in truth], [20_000 * p for p in truth.values()])
    assert test.pvalue > 1e-4


@pytest.mark.parametrize("kind", [cm.CM, cm.DCM, cm.PBM])
def test_reward_is_what_the_thesis_defines(kind) -> None:
    model = random_model(kind, 5)
    items = ["b", "d", "a"]
    truth = enumerated(model, items)
    if kind is cm.CM:
        expected = 1 - truth[0, 0, 0]
    elif kind is cm.PBM:
        expected = sum(p * sum(clicks) for clicks, p in truth.items())
    else:
        a = [model.attraction[ITEMS.index(item)] for item in items]
        walks = slow.walks(a, list(model.parameters["abandonment"]), 1.0)
        expected = sum(p for p, _, _, satisfied in walks if any(satisfied))
    assert model.reward("q", items) == pytest.approx(expected)


def as_sessions(log: ClickLog) -> list[slow.Session]:
    sessions = []
    for query, items, clicks in zip(log.queries, log.items.tolist(), log.clicks.tolist(), strict=True):
        names = tuple(log.item_name(code) for code in items if code >= 0)
        sessions.append((log.query_names[query], names, tuple(clicks[: len(names)])))
    return sessions


def ragged_log(n: int = 400, seed: int = 0) -> ClickLog:
    """Lists of one to five items, of two queries that share items."""
    rng = np.random.default_rng(seed)
    sessions = []
    for _ in range(n):
        length = int(rng.integers(1, 6))
        items = [str(item) for item in rng.permutation(7)[:length]]
        sessions.append((f"q{rng.integers(2)}", items, rng.integers(0, 2, length).tolist()))
    return ClickLog.from_sessions(sessions)


def test_counts_match_plain_counting() -> None:
    log = ragged_log()
    sessions = as_sessions(log)
    clicked, seen = slow.count_cm(sessions)
    cascade = cm.CM.fit(log, smoothing=0)
    for query in ("q0", "q1"):
        for item, value in cascade.attraction_of(query).items():
            if seen[query, item]:
                assert value == pytest.approx(clicked[query, item] / seen[query, item], abs=1e-9)
    clicked, seen, ended, at, last_at = slow.count_to_last_click(sessions)
    smoothing = 3.0
    dependent, simplified = cm.DCM.fit(log, smoothing=smoothing), cm.SDBN.fit(log, smoothing=smoothing)
    mean, sat_mean = dependent.attraction[-1], simplified.parameters["satisfaction"][-1]
    for query in ("q0", "q1"):
        span = simplified.pairs.of(query)
        for item, a, s in zip(
            simplified.pairs.items(query), simplified.attraction[span], simplified.parameters["satisfaction"][span],
            strict=True,
        ):  # fmt: skip
            pair = query, item
            assert a == pytest.approx((clicked[pair] + smoothing * mean) / (seen[pair] + smoothing))
            assert a == dependent.attraction_of(query)[item]
            assert s == pytest.approx((ended[pair] + smoothing * sat_mean) / (clicked[pair] + smoothing))
    for k, v in enumerate(dependent.parameters["abandonment"]):
        assert v == pytest.approx((last_at[k] + smoothing / 2) / (at[k] + smoothing))


def test_the_typical_mean_reproduces_itself() -> None:
    rng = np.random.default_rng(0)
    trials = rng.integers(0, 50, 200).astype(float)
    successes = np.floor(trials * rng.random(200))
    for smoothing in (0.1, 2.0, 100.0):
        mean = estimation.typical_mean(successes, trials, smoothing)
        values = estimation.smoothed(successes, trials, mean, smoothing)[trials > 0]
        assert values.mean() == pytest.approx(mean)
    assert estimation.typical_mean(successes, trials, 1e9) == pytest.approx(successes.sum() / trials.sum(), rel=1e-4)


@pytest.mark.parametrize("going_on", [0.7, 1 - 1e-12])
def test_the_chains_e_step_matches_enumeration(going_on) -> None:
    log = ragged_log(60, seed=4)
    pairs, sessions = index_pairs(log, group_sessions(log))
    rng = np.random.default_rng(1)
    a, s = rng.uniform(0.1, 0.9, len(pairs)), rng.uniform(0.1, 0.9, len(pairs))
    counts = [np.zeros(n) for n in (len(pairs), len(pairs), len(pairs), len(pairs), 2)]
    likelihood = chain.expect(
        sessions.lists, sessions.of_list, sessions.clicks, sessions.weight, sessions.lists, a, s, going_on, *counts
    )
    expected = [np.zeros_like(count) for count in counts]
    total = 0.0
    for g, clicks, weight in zip(sessions.of_list, sessions.clicks, sessions.weight, strict=True):
        row = [int(i) for i in sessions.lists[g] if i >= 0]
        n = len(row)
        observed = tuple(clicks[:n].tolist())
        ways = [w for w in slow.walks([a[i] for i in row], [s[i] for i in row], going_on) if w[2] == observed]
        probability = sum(w[0] for w in ways)
        total += weight * np.log(probability)
        for p, seen, clicked, satisfied in ways:
            share = weight * p / probability
            for k, i in enumerate(row):
                expected[0][i] += share * clicked[k]
                expected[1][i] += share * seen[k]
                if clicked[k] and k < n - 1:
                    expected[2][i] += share * satisfied[k]
                    expected[3][i] += share
                if seen[k] and not satisfied[k] and k < n - 1:
                    expected[4][0] += share * seen[k + 1]
                    expected[4][1] += share
    assert likelihood == pytest.approx(total)
    for got, wanted in zip(counts, expected, strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-9)


def test_the_browsing_e_step_matches_enumeration() -> None:
    log = ragged_log(40, seed=5)
    pairs, sessions = index_pairs(log, group_sessions(log))
    n_positions = sessions.n_positions
    rng = np.random.default_rng(1)
    a, e = rng.uniform(0.1, 0.9, len(pairs)), rng.uniform(0.1, 0.9, n_positions**2)
    place_of = np.arange(n_positions**2, dtype=np.int32).reshape(n_positions, n_positions)
    counts = [np.zeros(n) for n in (len(pairs), len(pairs), len(e), len(e))]
    likelihood = browsing.expect(
        sessions.lists, sessions.of_list, sessions.clicks, sessions.weight, place_of, a, e, *counts
    )
    expected = [np.zeros_like(count) for count in counts]
    total = 0.0
    for g, clicks, weight in zip(sessions.of_list, sessions.clicks, sessions.weight, strict=True):
        row = [int(i) for i in sessions.lists[g] if i >= 0]
        observed = tuple(clicks[: len(row)].tolist())
        looks = slow.looks([a[i] for i in row], lambda k, last: e[k * n_positions + last + 1])
        ways = [w for w in looks if w[2] == observed]
        probability = sum(w[0] for w in ways)
        total += weight * np.log(probability)
        for p, seen, clicked, _ in ways:
            share = weight * p / probability
            last = -1
            for k, i in enumerate(row):
                expected[0][i] += share * clicked[k]
                expected[1][i] += share * seen[k]
                expected[2][k * n_positions + last + 1] += share * seen[k]
                expected[3][k * n_positions + last + 1] += share
                last = k if clicked[k] else last
    assert likelihood == pytest.approx(total)
    for got, wanted in zip(counts, expected, strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-9)


@pytest.mark.parametrize("smoothing", [0.0, 5.0])
@pytest.mark.parametrize(("kind", "exact"), BY_EM)
def test_likelihood_never_falls(kind, exact, smoothing) -> None:
    log = ragged_log(300, seed=9)
    seen: list[float] = []
    model = kind.fit(
        log, smoothing=smoothing, exact=exact, tolerance=0, max_iterations=60,
        progress=lambda _, likelihood: seen.append(likelihood),
    )  # fmt: skip
    gains = np.diff(model.history)
    assert len(gains) > 5
    assert (gains > -1e-12).all()
    assert gains.sum() > 1e-3
    if smoothing == 0:
        np.testing.assert_allclose(seen, model.history)
        assert (np.diff(seen) > -1e-12).all()
        assert model.mean_log_likelihood(log) == pytest.approx(model.history[-1], abs=1e-3)


@cache
def shuffled_lists(n: int, n_queries: int, seed: int) -> ClickLog:
    """Random orders of six items, so that every parameter shows in the clicks; nobody has clicked yet."""
    rng = np.random.default_rng(seed)
    queries = rng.integers(0, n_queries, n)
    lists = rng.permuted(np.tile(np.arange(6), (n, 1)), axis=1)
    return ClickLog.from_sessions(
        (f"q{q}", [str(item) for item in row], [0] * 6) for q, row in zip(queries, lists.tolist(), strict=True)
    )


@pytest.mark.parametrize("kind", ALL)
def test_known_parameters_are_recovered(kind) -> None:
    """60,000 sessions of 2 queries with 6 items: each pair is shown 60,000 / 2 times."""
    log = copy(shuffled_lists(60_000, 2, seed=1))
    truth = kind.fit(log, max_iterations=1)
    rng = np.random.default_rng(2)
    for name in kind.pair_parameters:
        truth.parameters[name] = rng.uniform(0.2, 0.7, len(truth.pairs) + 1)
    for name in kind.shared_parameters:
        truth.parameters[name] = rng.uniform(0.3, 0.8, truth.parameters[name].shape)
    if kind is cm.PBM:
        truth.parameters["examination"][0] = 1.0  # only products show in clicks: one factor must be known
    log.clicks = truth.draw(log, seed=3)
    model = kind.fit(log, exact=True, smoothing=0, tolerance=1e-9, max_iterations=3000)
    assert model.mean_log_likelihood(log) >= truth.mean_log_likelihood(log)
    order = [truth.pairs.find(q, model.pairs.items(q))[0] for q in model.pairs.query_names]
    a, b = model.attraction[:-1], truth.attraction[np.concatenate(order)]
    if kind in (cm.PBM, cm.UBM):
        # The scale of attraction is not determined by clicks.
        assert np.corrcoef(a, b)[0, 1] > 0.99
        a, b = a / a.mean(), b / b.mean()
    np.testing.assert_allclose(a, b, atol=0.05)
    if kind is cm.DCM:
        v, w = model.parameters["abandonment"], truth.parameters["abandonment"]
        np.testing.assert_allclose(v[:-1], w[:-1], atol=0.05)
        assert v[-1] > 0.999  # at the end of the list nothing can tell: whoever is there leaves
    if kind in (cm.SDBN, cm.DBN):
        s, t = model.parameters["satisfaction"][:-1], truth.parameters["satisfaction"][np.concatenate(order)]
        np.testing.assert_allclose(s, t, atol=0.08)
    if kind is cm.DBN:
        assert float(model.parameters["abandonment"]) == pytest.approx(float(truth.parameters["abandonment"]), abs=0.03)


@pytest.mark.parametrize("click_model", ["CM", "DCM", "PBM"])
def test_the_synthetic_logs_truth_is_recovered(click_model) -> None:
    queries = SyntheticQueries(5, seed=1)
    model = cm.ClickModel.known[click_model].fit(queries.log(100_000, click_model=click_model, seed=4), exact=True)
    for q in range(2):
        fitted = model.attraction_of(f"q{q}")
        truth = [queries.attraction[q, int(item) % 1000] for item in fitted]
        if click_model == "PBM":
            assert np.corrcoef(list(fitted.values()), truth)[0, 1] > 0.97
        else:
            np.testing.assert_allclose(list(fitted.values())[:10], truth[:10], atol=0.02)
    if click_model == "DCM":
        np.testing.assert_allclose(model.parameters["abandonment"][:6], queries.abandonment[:6], atol=0.05)


def test_perplexity_is_the_mean_over_positions() -> None:
    mixed = ragged_log(50)
    for kind in ALL:
        model = kind.fit(mixed)
        assert model.perplexity(mixed).overall == pytest.approx(
            slow.perplexity(model.click_probabilities, as_sessions(mixed))
        )
    model = random_model(cm.PBM)
    log = ClickLog.from_sessions([("q", ["a", "b"], [1, 0]), ("q", ["b"], [0])])
    sessions = as_sessions(log)
    result = model.perplexity(log)
    assert result.overall == pytest.approx(slow.perplexity(model.click_probabilities, sessions))
    a, e = model.attraction, model.parameters["examination"]
    second = 2 ** -np.log2(1 - a[1] * e[1])
    assert result.by_position[1] == pytest.approx(second)
    assert result.overall == pytest.approx(np.mean(result.by_position))


@needs_sample
@pytest.mark.parametrize("share", [0.02, 0.3, 0.75])
def test_perplexity_is_not_worse_than_that_of_the_usual_estimators(share) -> None:
    early, late = read_yandex(SAMPLE).split(share)
    usual, test = slow.UsualEstimators(as_sessions(early)), as_sessions(late)
    for kind, predict in ((cm.DCM, usual.dcm), (cm.SDBN, usual.sdbn), (cm.PBM, usual.fit_pbm(50))):
        ours = kind.fit(early).perplexity(late).overall
        assert ours <= slow.perplexity(predict, test), kind.__name__
        assert ours == pytest.approx(slow.perplexity(kind.fit(early).click_probabilities, test))


def test_unknown_items_queries_and_positions_are_predicted() -> None:
    log = synthetic_click_log(3000, n_queries=5)
    for kind in ALL:
        model = kind.fit(log)
        known = model.pairs.items("q0")
        typical = model.attraction[-1]
        assert 0.02 < typical < 0.6
        first = model.click_probabilities("no such query", ["x"])[0]
        assert first == model.click_probabilities("q0", ["x"])[0]
        assert first == pytest.approx(
            typical * model.click_probabilities("q0", known[:1])[0] / model.attraction_of("q0")[known[0]]
        )
        longer = model.click_probabilities("q0", [*known[:10], *"uvwxyz"])
        assert len(longer) == 16
        assert min(longer) > 0
        other = ClickLog.from_sessions([("new", ["a", "b"], [0, 1]), ("q0", [known[0], "b"], [1, 0])])
        assert np.isfinite(model.perplexity(other).overall)
        assert model.known_share(other) == 0.25


@pytest.mark.parametrize("smoothing", [0, 5])
@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    "sessions",
    [
        [("q", ["a"], [0])],
        [("q", ["a"], [1])],
        [("q", ["a", "b", "c"], [0, 0, 0])] * 3,
        [("q", ["a", "b", "c"], [1, 1, 1])] * 3,
        [("q", ["a", "b"], [0, 1]), ("r", ["a"], [1]), ("r", ["b", "c", "d"], [0, 0, 1])],
    ],
)
def test_odd_logs_are_fitted(sessions, kind, smoothing) -> None:
    """One item, no click, all clicks, lists of different lengths: probabilities come out, and finite figures."""
    log = ClickLog.from_sessions(sessions)
    for exact in (False, True):
        model = kind.fit(log, smoothing=smoothing, exact=exact)
        for values in model.parameters.values():
            assert ((values >= 0) & (values <= 1)).all()
        assert 1 <= model.perplexity(log).overall < np.inf
        likelihood = model.mean_log_likelihood(log)
        assert np.isfinite(likelihood)
        if smoothing == 0 and len(set(map(str, sessions))) == 1 and kind is not cm.CM:
            assert likelihood > -1e-3  # what always happens is certain
        assert (model.draw(log, seed=0) <= (log.items >= 0)).all()


def test_distinct_sessions_stand_for_all() -> None:
    log = ragged_log(2000, seed=3)
    sessions = group_sessions(log)
    assert sessions.n_sessions == 2000 == sessions.weight.sum()
    assert len(sessions.of_list) < 2000
    expected: dict[tuple, int] = {}
    for row in zip(log.queries.tolist(), map(tuple, log.items.tolist()), map(tuple, log.clicks.tolist()), strict=True):
        expected[row] = expected.get(row, 0) + 1
    got = {}
    for g, clicks, weight in zip(sessions.of_list, sessions.clicks.tolist(), sessions.weight, strict=True):
        got[int(sessions.list_query[g]), tuple(sessions.lists[g].tolist()), tuple(clicks)] = weight
    assert got == expected


def test_items_stand_in_the_order_of_the_most_frequent_list() -> None:
    log = ClickLog.from_sessions(
        [("q", "abc", [0, 0, 0])] * 2
        + [("q", "cab", [0, 0, 0])] * 3
        + [("q", "dea", [0, 0, 0])]
        + [("q", "exy", [0, 0, 0])]
    )
    model = cm.CM.fit(log)
    assert model.initial_list("q") == ["c", "a", "b"]
    assert model.pairs.items("q")[:4] == ["c", "a", "b", "e"]


def test_models_are_written_and_read(tmp_path) -> None:
    log = synthetic_click_log(2000, n_queries=8)
    fitted = [kind.fit(log) for kind in ALL]
    cm.save(tmp_path / "models.json", fitted)
    loaded = cm.load(tmp_path / "models.json")
    assert list(loaded) == [kind.__name__ for kind in ALL]
    for model in fitted:
        twin = loaded[type(model).__name__]
        assert twin.perplexity(log) == model.perplexity(log)
        assert twin.mean_log_likelihood(log) == model.mean_log_likelihood(log)
        assert twin.initial_list("q1") == model.initial_list("q1")
    content = json.loads((tmp_path / "models.json").read_text())
    (tmp_path / "bare.json").write_text(json.dumps(content["queries"]))
    assert set(cm.load(tmp_path / "bare.json")) == set(loaded)


@pytest.mark.skipif(not SHARED.exists(), reason="the shared click models are not here")
def test_the_shared_models_are_read() -> None:
    path = SHARED / "click_models" / "yandex_40_queries.json"
    queries = cm.read_query_models(path)
    assert len(queries) == 40
    assert queries[0].list_length == 10
    assert set(cm.load(path)) == {"CM", "DCM", "PBM", "DBN"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "is not JSON"),
        ("[]", "no list of queries"),
        ('{"rankloop": "policy"}', "not a file of click models"),
        ("[1]", "query 1 has no name"),
        ('[{"query": "q"}]', "none of the models"),
        ('[{"query": "q", "CM": {}}]', "numbers under 'attraction'"),
        ('[{"query": "q", "CM": {"attraction": [0.5, 1.5]}}]', r"must be probabilities in \[0, 1\], not 1.5"),
        ('[{"query": "q", "CM": {"attraction": [NaN]}}]', r"must be probabilities in \[0, 1\], not nan"),
        ('[{"query": "q", "CM": {"attraction": 0.5}}]', "wrong shape"),
        ('[{"query": "q", "items": ["a", "a"], "CM": {"attraction": [0.5, 0.5]}}]', "distinct"),
        ('[{"query": "q", "items": ["a"], "CM": {"attraction": [0.5, 0.5]}}]', "one value each"),
        ('[{"query": "q", "list_length": 3, "CM": {"attraction": [0.5, 0.5]}}]', "list_length"),
    ],
)
def test_broken_files_are_refused(tmp_path, content, complaint) -> None:
    path = tmp_path / "models.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=complaint):
        cm.load(path)


@pytest.mark.parametrize(
    "setting", [{"smoothing": -1}, {"smoothing": float("nan")}, {"tolerance": -1}, {"max_iterations": 0}]
)
def test_bad_settings_are_refused(setting) -> None:
    with pytest.raises(ValueError, match=next(iter(setting))):
        cm.PBM.fit(synthetic_click_log(10), **setting)
    with pytest.raises(ValueError, match="clicks must be"):
        random_model(cm.CM).log_likelihood("q", ["a", "b"], [1])
    with pytest.raises(ValueError, match="no query"):
        random_model(cm.CM).initial_list("other")
