"""Preference matrices of rankers, measured by interleaving before simulated users."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankloop.arrays import Floats, Ints
from rankloop.checks import check_choice, check_seed, check_whole
from rankloop.click_models.users import User
from rankloop.datasets import Rankers, Rankings
from rankloop.interleaving import Interleaver, Lists, Probabilistic
from rankloop.kernels import stream
from rankloop.preferences.loop import BINARY, COUNT, MARGINAL, SAMPLED, SQUARES, SUM, compare_rankers
from rankloop.preferences.matrix import MeasuredPreferences
from rankloop.runs import Advance, Folder, Job, Run, Runner, Store, Watcher

DEFAULT_COMPARISONS = 400_000
MOST_COMPARISONS = 100_000_000
PILOT = 2000
AT_ONCE = 1_000_000
"""Comparisons between two reports of progress, after each of which the measurement may stop."""
ESTIMATORS = {"marginal": MARGINAL, "sampled": SAMPLED, "binary": BINARY}


class Measurement(NamedTuple):
    """What every pair of rankers is compared on, and how."""

    rankings: Rankings
    labels: Ints
    offsets: Ints
    user: User
    interleaver: Interleaver
    length: int
    estimator: str
    seed: int
    comparisons: int
    error: float | None


def measure_preferences(
    rankers: Rankers, user: User, interleaver: Interleaver | None = None, *, comparisons: int | None = None,
    error: float | None = None, length: int = 10, estimator: str = "marginal", ties: str = "random", seed: int = 0,
    workers: int | None = None, progress: Watcher | None = None, keep: str | Path | None = None,
) -> MeasuredPreferences:  # fmt: skip
    """Compare every pair of rankers on the queries of their data, and return the matrix of who beats whom how often.

    p_ij is the mean score of ranker i over comparisons with j: 1 for a win, 1/2 for a tie, 0 for a loss. Queries are
    dealt like cards, every one once before any comes again, which leaves the mean over random queries as it is and
    takes their variance out of it. Each pair has random numbers of its own, so neither the number of workers nor an
    interruption changes a digit.

    Parameters
    ----------
    rankers
        Rankers to compare, with their data.
    user
        Simulated user who clicks.
    interleaver
        Method that makes one list of two; `Probabilistic()` if not given.
    comparisons
        Number of comparisons of each pair: 400,000 if neither this nor `error` is given. With `error`, the largest
        number.
    error
        Standard error wanted of every entry: each pair gets as many comparisons as that takes.
    length
        Number of items in a list.
    estimator
        `marginal` scores a clicked list with its expected outcome over all teams that could have made it, where the
        interleaver knows it (probabilistic); `sampled` with the outcome of the teams as drawn. Both have the same mean,
        the first less variance. `binary` gives the whole list to the ranker which that expected outcome favours, as the
        thesis' matrices do; its mean is another.
    ties
        Whether documents to which a ranker gives the same score come in `random` order, fixed for each query, or in
        `pessimistic` order, the less relevant first. `redrawn`, for the probabilistic interleaver: in random order,
        drawn anew for each list and once more for its credit, as in the software behind the thesis' matrices. That is
        biased against rankers with ties; use it to compare with such matrices only.
    seed
        Seed of all random numbers: of ties in a ranking, of lists and of clicks.
    workers
        Number of threads; as many as there are cores if not given.
    progress
        Watcher that is told how many pairs are finished (`rankloop.runs.Watcher`).
    keep
        Folder in which finished pairs are kept while this runs. The same call continues from there if it was
        interrupted. Remove it once the matrix is saved.

    Examples
    --------
    >>> from rankloop.datasets import Rankers, synthetic_letor
    >>> rankers = Rankers.from_features(synthetic_letor(10), features=[1, 2, 11, 12])
    >>> measured = measure_preferences(rankers, User.named("navigational"), comparisons=2000)
    >>> measured
    MeasuredPreferences(4 arms, name='synthetic navigational')
    >>> bool(measured.errors.max() < 0.01)
    True
    """
    interleaver = Probabilistic() if interleaver is None else interleaver
    data = rankers.data
    if len(rankers.names) < 2:
        raise ValueError(f"there must be at least 2 rankers to compare, not {len(rankers.names)}")
    if data.labels.max() >= user.n_grades:
        raise ValueError(
            f"the data has grades up to {data.labels.max()}, but {user!r} knows them only to {user.n_grades - 1}"
        )
    if error is not None and not 0 < error < 0.5:
        raise ValueError(f"error must lie between 0 and 0.5, not be {error!r}")
    if comparisons is None:
        comparisons = DEFAULT_COMPARISONS if error is None else MOST_COMPARISONS
    check_choice("estimator", estimator, ESTIMATORS)
    if ties == "redrawn" and (not isinstance(interleaver, Probabilistic) or estimator == "sampled"):
        raise ValueError(
            "ties can be redrawn only where credit is expected over teams: with the interleaver probabilistic and the "
            f"estimator marginal or binary, not with {interleaver.name} and {estimator}"
        )
    check_whole("comparisons", comparisons, 2)
    check_whole("length", length, 1)
    check_seed(seed)
    workers = None if workers is None else check_whole("workers", workers, 1)
    measurement = Measurement(
        rankers.rankings(seed, ties),
        data.labels.astype(np.int64),
        data.offsets,
        user,
        interleaver,
        length,
        estimator,
        seed,
        comparisons,
        error,
    )
    setting = _setting(measurement, rankers, ties)
    pairs = _Pairs(measurement, len(rankers.names))
    key = key_of(setting)
    job = Job(key, f"{data.name}, {user.name}", len(pairs.left), lambda _units: pairs, comparisons)
    store = Store() if keep is None else Folder(keep)
    with Runner(store, watcher=progress, workers=workers, strict=True) as runner:
        runner.place, runner.units = (job.label, 1, 1), "pairs"
        runner.prepare([job])
        runner.run([job])
    if runner.stopping:
        raise KeyboardInterrupt
    return pairs.matrix(store.runs(key), rankers.names, setting, f"{data.name} {user.name}")


class _Pairs:
    """The pairs of rankers, by number: the work of each, and the matrix of all."""

    def __init__(self, measurement: Measurement, n_rankers: int) -> None:
        self.measurement = measurement
        self.n_rankers = n_rankers
        self.left, self.right = np.triu_indices(n_rankers, 1)

    def __call__(self, unit: int, advance: Advance) -> Run:
        """Measure one pair."""
        begin = time.perf_counter()
        measured = measure_pair(self.measurement, int(self.left[unit]), int(self.right[unit]), advance)
        names = ("score", "count", "error")
        records = {name: np.array([value], np.float64) for name, value in zip(names, measured, strict=True)}
        return Run(records, seconds=time.perf_counter() - begin)

    def matrix(
        self, runs: Mapping[int, Run], names: tuple[str, ...], setting: Mapping[str, Any], name: str
    ) -> MeasuredPreferences:
        """The matrix of all pairs."""

        def upper(record: str) -> Floats:
            entries = np.zeros((self.n_rankers, self.n_rankers))
            entries[self.left, self.right] = [runs[unit].records[record][0] for unit in range(len(self.left))]
            return entries

        scores, counts, errors = upper("score"), upper("count").astype(np.int64), upper("error")
        preferences = scores + np.tril(1 - scores.T, -1)
        np.fill_diagonal(preferences, 0.5)
        return MeasuredPreferences(preferences, counts + counts.T, errors + errors.T, names, setting, name=name)


def measure_pair(
    measurement: Measurement, left: int, right: int, advance: Advance = lambda _: None
) -> tuple[float, int, float]:
    """The score of one ranker against another, the number of comparisons, and the standard error."""
    n_queries = len(measurement.offsets) - 1
    widest = int(np.diff(measurement.offsets).max())
    lists = Lists(np.zeros((2, widest), np.int32), np.zeros((2, widest), np.int32), np.zeros(2, np.int64))
    draft = measurement.interleaver.draft(lists, min(measurement.length, widest))
    credit = None
    if measurement.rankings.tied_until.size:
        credit = measurement.interleaver.draft(Lists(*map(np.zeros_like, lists)), min(measurement.length, widest))
    rng = stream(measurement.seed, left, right)
    deck = np.random.default_rng([measurement.seed, left, right]).permutation(n_queries)
    tally = np.zeros((n_queries, 3))

    def play(n: int) -> None:
        at_once = max(1, AT_ONCE // n_queries) * n_queries
        while n > at_once:
            play_part(at_once)
            n -= at_once
        play_part(n)

    def play_part(n: int) -> None:
        deal = np.full(n_queries, n // n_queries)
        deal[deck[: n % n_queries]] += 1
        compare_rankers(
            draft,
            credit,
            rng,
            *measurement.rankings,
            left,
            right,
            measurement.labels,
            measurement.offsets,
            deal,
            measurement.user.click,
            measurement.user.stop,
            ESTIMATORS[measurement.estimator],
            tally,
        )
        advance(n)

    if measurement.error is None:
        play(measurement.comparisons)
    else:
        # Whole decks only, so that every query counts the same, unless the limit allows no whole one.
        whole = max(1, measurement.comparisons // n_queries) * n_queries
        play(min(measurement.comparisons, whole, 2 * max(PILOT // n_queries + 1, 1) * n_queries))
        while (reached := standard_error(tally)) > measurement.error:
            count = int(tally[:, COUNT].sum())
            wanted = math.ceil(1.05 * count * (reached / measurement.error) ** 2)
            more = min(-(-(wanted - count) // n_queries) * n_queries, whole - count)
            if more <= 0:
                break
            play(more)
    count = int(tally[:, COUNT].sum())
    return float(tally[:, SUM].sum() / count), count, standard_error(tally)


def standard_error(tally: Floats) -> float:
    """The standard error of the mean score.

    With every query dealt at least twice, and equally often but for one, only the variance within queries is left.
    With fewer, it is taken from all scores alike, which is more than it is.
    """
    counts, sums, squares = tally[:, COUNT], tally[:, SUM], tally[:, SQUARES]
    total = counts.sum()
    if counts.min() >= 2:
        within = float((squares - sums**2 / counts).sum())
        return math.sqrt(max(0.0, within) / (total - len(counts)) / total)
    if total < 2:
        return 0.5
    spread = float(squares.sum() - sums.sum() ** 2 / total)
    return math.sqrt(max(0.0, spread) / (total - 1) / total)


def key_of(setting: Mapping[str, Any]) -> str:
    """The key under which the pairs of a measurement are kept, from the setting of its matrix."""
    return json.dumps(setting, sort_keys=True)


def _setting(measurement: Measurement, rankers: Rankers, ties: str) -> dict[str, Any]:
    digest = hashlib.blake2b(digest_size=16)
    for array in (measurement.rankings.order, measurement.labels, measurement.offsets):
        digest.update(np.ascontiguousarray(array).data)
    return {
        "data": rankers.data.name,
        "rankings": digest.hexdigest(),
        "user": measurement.user.name,
        "click": measurement.user.click.tolist(),
        "stop": measurement.user.stop.tolist(),
        "interleaver": repr(measurement.interleaver),
        "comparisons": measurement.comparisons,
        "error": measurement.error,
        "length": measurement.length,
        "estimator": measurement.estimator,
        "ties": ties,
        "seed": measurement.seed,
    }
