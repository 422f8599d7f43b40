"""Speed of fitting click models and of reading click logs, beside the plain form in the same run.

    python benchmarks/click_models.py [LOG] [--memory SESSIONS]

LOG is a click log in Yandex' format; without one a made-up log of as many sessions as the shared sample is taken.
`--memory` also writes a log in which every session has a query of its own, the worst case for memory, and reads it in
a process of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rankloop import click_models
from rankloop.datasets import ClickLog, read_yandex, synthetic_click_log, write_yandex

SAMPLE_SESSIONS = 35_064
REAL_SESSIONS = 30_000_000
REPEATS = 5

Session = tuple[str, Sequence[str], Sequence[int]]


def best_time(work: Callable[[], object], repeats: int = REPEATS) -> float:
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def plain_read(path: Path) -> list[Session]:
    sessions: list[tuple[str, list[str], list[int]]] = []
    identity = None
    for line in path.read_text().splitlines():
        fields = line.split("\t")
        if fields[2] == "Q":
            identity = fields[0]
            sessions.append((fields[3], fields[5:], [0] * len(fields[5:])))
        elif fields[0] == identity and fields[3] in sessions[-1][1]:
            sessions[-1][2][sessions[-1][1].index(fields[3])] = 1
    return sessions


def plain_counts(sessions: Sequence[Session]) -> dict[tuple[str, str], list[int]]:
    """Attraction of DCM and SDBN, with dictionaries."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [1, 2])
    for query, items, clicks in sessions:
        last = max((k for k, click in enumerate(clicks) if click), default=len(items))
        for k, item in enumerate(items[: last + 1]):
            count = counts[query, item]
            count[0] += clicks[k]
            count[1] += 1
    return counts


def plain_pbm_iteration(sessions: Sequence[Session]) -> None:
    """One iteration of EM of PBM, with dictionaries."""
    attraction: dict[tuple[str, str], list[float]] = defaultdict(lambda: [1.0, 5.0])
    examination: dict[int, list[float]] = defaultdict(lambda: [1.0, 5.0])
    for query, items, clicks in sessions:
        for k, (item, click) in enumerate(zip(items, clicks, strict=True)):
            a, e = 0.2, 0.2
            attraction[query, item][0] += click or (1 - e) * a / (1 - e * a)
            attraction[query, item][1] += 1
            examination[k][0] += click or (1 - a) * e / (1 - e * a)
            examination[k][1] += 1


def fitting(log: ClickLog, sessions: Sequence[Session]) -> None:
    n = len(log)
    per_session = 1e6 / n
    counting = best_time(lambda: plain_counts(sessions), 2) * per_session
    iteration = best_time(lambda: plain_pbm_iteration(sessions), 2) * per_session
    print(f"\nfitting {n:,} sessions, µs a session, CPU time, best of {REPEATS}; ratio to dictionaries in plain Python")
    print(f"{'model':<14}{'µs':>8}{'iterations':>12}{'plain µs':>10}{'ratio':>8}")
    for name in ("CM", "DCM", "SDBN", "DCM exact", "SDBN exact", "PBM", "UBM", "DBN"):
        kind, exact = click_models.ClickModel.known[name.split()[0]], name.endswith("exact")
        model = kind.fit(log, exact=exact)
        took = best_time(lambda kind=kind, exact=exact: kind.fit(log, exact=exact)) * per_session
        iterations = len(model.history)
        plain = counting if not iterations else iterations * iteration
        print(f"{name:<14}{took:>8.2f}{iterations or 'counted':>12}{plain:>10.1f}{plain / took:>8.0f}")
    print("(plain EM: one iteration of PBM timed, times the iterations)")


def reading(path: Path) -> list[Session]:
    log = read_yandex(path)
    took, plain = best_time(lambda: read_yandex(path)), best_time(lambda: plain_read(path), 2)
    size = path.stat().st_size / 1e6
    print(
        f"reading {size:.1f} MB: {took * 1e6 / len(log):.2f} µs a session, {size / took:.0f} MB/s; "
        f"plain Python {plain * 1e6 / len(log):.2f} µs, ratio {plain / took:.1f}"
    )
    return plain_read(path)


MEASURE = """
import resource, sys, time
from rankloop.datasets import read_yandex, synthetic_click_log, write_yandex
import tempfile, pathlib
small = pathlib.Path(tempfile.mkdtemp()) / "log"
write_yandex(synthetic_click_log(10), small)
read_yandex(small)  # compile before measuring
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begin = time.process_time()
log = read_yandex(sys.argv[1])
took = time.process_time() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(log), log.nbytes, (peak - before) * 1024, before * 1024, took)
"""


def memory(n_sessions: int) -> None:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.tsv"
        with open(path, "w") as file:
            for number in range(n_sessions):
                urls = rng.integers(0, 100_000_000, 10).tolist()
                file.write(f"{number}\t0\tQ\t{number}_1\t0\t" + "\t".join(map(str, urls)) + "\n")
                file.write(f"{number}\t3\tC\t{urls[0]}\n")
        size = path.stat().st_size
        out = subprocess.run([sys.executable, "-c", MEASURE, str(path)], check=True, capture_output=True, text=True)
    n, arrays, peak, before, took = (float(field) for field in out.stdout.split())
    projected = (before + REAL_SESSIONS * peak / n) / 1e9
    print(
        f"\nmemory, {n:,.0f} sessions with a query each ({size / 1e6:,.0f} MB in {took:.1f} s): "
        f"arrays {arrays / n:.0f} bytes a session, peak {peak / n:.0f} with names; "
        f"{REAL_SESSIONS:,} sessions: {projected:.2f} GB at the peak"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", nargs="?", type=Path)
    parser.add_argument("--memory", type=int, metavar="SESSIONS")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.log
        if path is None:
            path = Path(folder) / "log.tsv"
            write_yandex(synthetic_click_log(SAMPLE_SESSIONS, n_queries=20), path)
        sessions = reading(path)
        fitting(read_yandex(path), sessions)
    if options.memory:
        memory(options.memory)


if __name__ == "__main__":
    main()
