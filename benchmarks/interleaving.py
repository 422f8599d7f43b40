"""Interleaved comparisons and LETOR parsing: speed, and ratios to plain Python in the same run, on one core.

    python benchmarks/interleaving.py [LETOR_FILE]

Without a file, on synthetic data. Times are of the processor, so that other work on the machine counts little.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rankloop.click_models.users import User
from rankloop.datasets import Letor, Rankers, read_letor, synthetic_letor
from rankloop.interleaving import Balanced, Interleaver, Optimised, Probabilistic, TeamDraft
from rankloop.preferences.measure import Problem, measure_pair

PAIRS = 136 * 135 // 2
THESIS = 400_000


def seconds(work: Callable[[], object], repeat: int = 3) -> float:
    best = float("inf")
    for _ in range(repeat):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def plain_probabilistic(a: list[int], b: list[int], draw: random.Random) -> tuple[list[int], list[int]]:
    items: list[int] = []
    teams: list[int] = []
    for _ in range(min(10, len(a))):
        team = draw.randrange(2)
        left = [(d, (k + 1) ** -3.0) for k, d in enumerate((a, b)[team]) if d not in items]
        items.append(draw.choices([d for d, _ in left], [w for _, w in left])[0])
        teams.append(team)
    return items, teams


def plain_team_draft(a: list[int], b: list[int], draw: random.Random) -> tuple[list[int], list[int]]:
    items: list[int] = []
    teams: list[int] = []
    while len(items) < min(10, len(a)):
        for team in draw.sample((0, 1), 2):
            items.append(next(d for d in (a, b)[team] if d not in items))
            teams.append(team)
    return items[:10], teams[:10]


def plain_comparisons(n: int, make: Callable[..., tuple[list[int], list[int]]], problem: Problem) -> None:
    draw = random.Random(0)
    click, stop = problem.user.click.tolist(), problem.user.stop.tolist()
    labels, order = problem.labels.tolist(), problem.rankings.order
    for _ in range(n):
        query = draw.randrange(len(problem.offsets) - 1)
        begin, end = problem.offsets[query], problem.offsets[query + 1]
        items, teams = make(order[0, begin:end].tolist(), order[64, begin:end].tolist(), draw)
        lead = 0
        for d, team in zip(items, teams, strict=True):
            grade = labels[begin + d]
            if draw.random() < click[grade]:
                lead += 1 - 2 * team
                if draw.random() < stop[grade]:
                    break


def bench_comparisons(data: Letor) -> None:
    rankings = Rankers.from_features(data).rankings(0)
    n = 300_000
    plain = {"probabilistic": plain_probabilistic, "team-draft": plain_team_draft}
    interleavers: list[Interleaver] = [Probabilistic(), TeamDraft(), Balanced(), Optimised()]
    print(f"interleaver    user            {'comparisons/s':>14} {'plain Python':>14}   ratio   9,180 pairs, 2 cores")
    for interleaver in interleavers:
        for name in ("perfect", "navigational", "informational"):
            user = User.named(name)
            labels = data.labels.astype(np.int64)
            problem = Problem(rankings, labels, data.offsets, user, interleaver, 10, False, 0, n, None)
            measure_pair(problem._replace(comparisons=1000), 0, 64)
            rate = n / seconds(lambda problem=problem: measure_pair(problem, 0, 64))  # type: ignore[misc]
            slow = 0.0
            if interleaver.name in plain:
                make = plain[interleaver.name]
                slow = 1000 / seconds(lambda make=make, problem=problem: plain_comparisons(1000, make, problem), 1)  # type: ignore[misc]
            hours = PAIRS * THESIS / rate / 2 / 3600
            ratio = f"{slow:14,.0f} {rate / slow:7,.0f}" if slow else f"{'':14} {'':7}"
            print(f"{interleaver.name:14} {name:14} {rate:14,.0f} {ratio} {hours:20.2f} h", flush=True)


def plain_parse(text: str) -> None:
    for line in text.splitlines():
        fields = line.split("#")[0].split()
        int(fields[0])
        int(fields[1][4:])
        for field in fields[2:]:
            number, value = field.split(":")
            int(number)
            float(value)


def bench_parsing(path: Path) -> None:
    size = path.stat().st_size / 1e6
    read_letor(path, cache=False)
    fast = size / seconds(lambda: read_letor(path, cache=False))
    text = path.read_text()[: 1 << 20]
    text = text[: text.rindex("\n") + 1]
    slow = len(text) / 1e6 / seconds(lambda: plain_parse(text), 1)
    print(f"LETOR parsing: {fast:,.0f} MB/s; plain Python {slow:,.1f} MB/s, ratio {fast / slow:,.0f}", flush=True)


def bench_live() -> None:
    lists = [list(range(50)), list(range(49, -1, -1))]
    interleavers: list[Interleaver] = [Probabilistic(), TeamDraft(), Balanced(), Optimised()]
    for interleaver in interleavers:
        interleaver.interleave(lists, seed=0).outcome([1] * 10)
        took = seconds(lambda i=interleaver: [i.interleave(lists, seed=s).outcome([1] * 10) for s in range(300)])  # type: ignore[misc]
        print(
            f"live {interleaver.name:14} {took / 300 * 1e6:6.0f} µs for a list of 10 out of 50 and its outcome",
            flush=True,
        )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "synthetic.txt"
        if len(sys.argv) == 1:
            synthetic_letor(50).save(path)
        bench_parsing(path)
        bench_comparisons(read_letor(path, cache=False))
        bench_live()


if __name__ == "__main__":
    main()
