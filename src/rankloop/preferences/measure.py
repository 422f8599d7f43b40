"""Preference matrices of rankers, measured by interleaving before simulated users."""

from __future__ import annotations

import hashlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankloop.click_models.users import User
from rankloop.datasets import Rankers, Rankings
from rankloop.interleaving import Interleaver, Lists, Probabilistic
from rankloop.kernels import stream
from rankloop.preferences.loop import BINARY, COUNT, MARGINAL, SAMPLED, SQUARES, SUM, compare
from rankloop.preferences.matrix import Ledger, MeasuredPreferences

DEFAULT_COMPARISONS = 400_000
MOST_COMPARISONS = 100_000_000
PILOT = 2000
AT_ONCE = 1_000_000
"""Comparisons after which to see whether anybody wants to stop."""
SECONDS_BETWEEN_SAVES = 20.0
ESTIMATORS = {"marginal": MARGINAL, "sampled": SAMPLED, "binary": BINARY}

Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]


class Problem(NamedTuple):
    """All that a comparison of two rankers needs."""

    rankings: Rankings
    labels: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    user: User
    interleaver: Interleaver
    length: int
    estimator: str
    seed: int
    comparisons: int
    error: float | None
    stop: threading.Event | None = None


class _Stopped(Exception):
    """The measurement was interrupted within a pair."""


def measure_preferences(
    rankers: Rankers,
    user: User,
    interleaver: Interleaver | None = None,
    *,
    comparisons: int | None = None,
    error: float | None = None,
    length: int = 10,
    estimator: str = "marginal",
    ties: str = "random",
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
    keep: str | Path | None = None,
) -> MeasuredPreferences:
    """Compare every pair of rankers on the queries of their data, and return the matrix of who beats whom how often.

    p_ij is the mean score of ranker i over comparisons with j: 1 for a win, 1/2 for a tie, 0 for a loss. Queries are
    dealt like cards, every one once before any comes again, which leaves the mean over random queries as it is and
    takes their variance out of it. Each pair has random numbers of its own, so neither the number of workers nor an
    interruption changes a digit.

    Parameters
    ----------
    rankers
        The rankers and their data.
    user
        Who clicks.
    interleaver
        How lists are made of two; `Probabilistic()` if not given.
    comparisons
        How many for each pair: 400,000 if neither this nor `error` is given. With `error`, at most so many.
    error
        The standard error wanted of every entry: each pair gets as many comparisons as that takes.
    length
        Items in a list.
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
        Of everything random: how ties in a ranking are broken, the lists, the clicks.
    workers
        Threads; all cores if not given.
    progress
        Given a label and the number of pairs, a context whose value is called with the number of pairs just finished,
        from any thread.
    keep
        A file in which finished pairs are kept while this runs, and from which it goes on if it was interrupted. Remove
        it once the matrix is saved.

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
    if estimator not in ESTIMATORS:
        raise ValueError(f"estimator must be {', '.join(ESTIMATORS)}, not {estimator!r}")
    if ties == "redrawn" and (not isinstance(interleaver, Probabilistic) or estimator == "sampled"):
        raise ValueError(
            "ties can be redrawn only where credit is expected over teams: with the interleaver probabilistic and the "
            f"estimator marginal or binary, not with {interleaver.name} and {estimator}"
        )
    _whole("comparisons", comparisons, 2)
    _whole("length", length, 1)
    _whole("seed", seed, 0)
    workers = os.cpu_count() or 1 if workers is None else _whole("workers", workers, 1)
    problem = Problem(
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
    ledger = Ledger(len(rankers.names), _setting(problem, rankers, ties), None if keep is None else Path(keep))
    if missing := ledger.missing():
        _measure_all(problem, ledger, missing, workers, progress, f"{data.name}, {user.name}")
        ledger.keep()
    return ledger.finished(rankers.names, f"{data.name} {user.name}")


def _measure_all(
    problem: Problem,
    ledger: Ledger,
    missing: list[tuple[int, int]],
    workers: int,
    progress: Progress | None,
    label: str,
) -> None:
    """Measure pairs in threads; keep what is finished now and then, and when anything goes wrong."""
    lock = threading.Lock()
    stop = threading.Event()
    problem = problem._replace(stop=stop)
    pairs: Iterator[tuple[int, int]] = iter(missing)
    saved = time.monotonic()
    with (
        nullcontext(_nothing) if progress is None else progress(label, len(missing)) as advance,
        ThreadPoolExecutor(min(workers, len(missing))) as pool,
    ):

        def work() -> None:
            while not stop.is_set():
                with lock:
                    pair = next(pairs, None)
                if pair is None:
                    return
                try:
                    measured = measure_pair(problem, *pair)
                except _Stopped:
                    return
                with lock:
                    ledger.record(pair, *measured)
                advance(1)

        try:
            waiting = {pool.submit(work) for _ in range(min(workers, len(missing)))}
            while waiting:
                done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                if time.monotonic() - saved > SECONDS_BETWEEN_SAVES:
                    with lock:
                        ledger.keep()
                    saved = time.monotonic()
        except BaseException:
            stop.set()
            pool.shutdown(wait=True)
            ledger.keep()
            raise


def measure_pair(problem: Problem, left: int, right: int) -> tuple[float, int, float]:
    """The score of one ranker against another, the number of comparisons, and the standard error."""
    n_queries = len(problem.offsets) - 1
    widest = int(np.diff(problem.offsets).max())
    lists = Lists(np.zeros((2, widest), np.int32), np.zeros((2, widest), np.int32), np.zeros(2, np.int64))
    draft = problem.interleaver.draft(lists, min(problem.length, widest))
    credit = None
    if problem.rankings.tied_until.size:
        credit = problem.interleaver.draft(Lists(*map(np.zeros_like, lists)), min(problem.length, widest))
    rng = stream(problem.seed, left, right)
    deck = np.random.default_rng([problem.seed, left, right]).permutation(n_queries)
    tally = np.zeros((n_queries, 3))

    def play(n: int) -> None:
        at_once = max(1, AT_ONCE // n_queries) * n_queries
        while n > at_once:
            play_part(at_once)
            n -= at_once
        play_part(n)

    def play_part(n: int) -> None:
        if problem.stop is not None and problem.stop.is_set():
            raise _Stopped
        deal = np.full(n_queries, n // n_queries)
        deal[deck[: n % n_queries]] += 1
        compare(
            draft,
            credit,
            rng,
            *problem.rankings,
            left,
            right,
            problem.labels,
            problem.offsets,
            deal,
            problem.user.click,
            problem.user.stop,
            ESTIMATORS[problem.estimator],
            tally,
        )

    if problem.error is None:
        play(problem.comparisons)
    else:
        # Whole decks only, so that every query counts the same, unless the limit allows no whole one.
        whole = max(1, problem.comparisons // n_queries) * n_queries
        play(min(problem.comparisons, whole, 2 * max(PILOT // n_queries + 1, 1) * n_queries))
        while (reached := standard_error(tally)) > problem.error:
            count = int(tally[:, COUNT].sum())
            wanted = math.ceil(1.05 * count * (reached / problem.error) ** 2)
            more = min(-(-(wanted - count) // n_queries) * n_queries, whole - count)
            if more <= 0:
                break
            play(more)
    count = int(tally[:, COUNT].sum())
    return float(tally[:, SUM].sum() / count), count, standard_error(tally)


def standard_error(tally: npt.NDArray[np.float64]) -> float:
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


def _setting(problem: Problem, rankers: Rankers, ties: str) -> dict[str, Any]:
    digest = hashlib.blake2b(digest_size=16)
    for array in (problem.rankings.order, problem.labels, problem.offsets):
        digest.update(np.ascontiguousarray(array).data)
    return {
        "data": rankers.data.name,
        "rankings": digest.hexdigest(),
        "user": problem.user.name,
        "click": problem.user.click.tolist(),
        "stop": problem.user.stop.tolist(),
        "interleaver": repr(problem.interleaver),
        "comparisons": problem.comparisons,
        "error": problem.error,
        "length": problem.length,
        "estimator": problem.estimator,
        "ties": ties,
        "seed": problem.seed,
    }


def _nothing(_pairs: int) -> None:
    pass


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)
