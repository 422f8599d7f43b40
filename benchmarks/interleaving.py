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


Plain = tuple[list[int], Callable[[list[int]], int]]
"""A list, and the lead of the first ranker for clicked positions."""


def plain_probabilistic(a: list[int], b: list[int], draw: random.Random) -> Plain:
    items: list[int] = []
    teams: list[int] = []
    for _ in range(min(10, len(a))):
        team = draw.randrange(2)
        left = [(d, (k + 1) ** -3.0) for k, d in enumerate((a, b)[team]) if d not in items]
        items.append(draw.choices([d for d, _ in left], [w for _, w in left])[0])
        teams.append(team)
    return items, lambda clicked: sum(1 - 2 * teams[k] for k in clicked)


def plain_team_draft(a: list[int], b: list[int], draw: random.Random) -> Plain:
    items: list[int] = []
    teams: list[int] = []
    while len(items) < min(10, len(a)):
        for team in draw.sample((0, 1), 2):
            items.append(next(d for d in (a, b)[team] if d not in items))
            teams.append(team)
    return items[:10], lambda clicked: sum(1 - 2 * teams[k] for k in clicked)


def plain_balanced(a: list[int], b: list[int], draw: random.Random) -> Plain:
    items: list[int] = []
    tops = [0, 0]
    first = draw.randrange(2)
    while len(items) < min(10, len(a)):
        team = first if tops[0] == tops[1] else int(tops[1] < tops[0])
        d = (a, b)[team][tops[team]]
        tops[team] += 1
        if d not in items:
            items.append(d)

    def lead(clicked: list[int]) -> int:
        if not clicked:
            return 0
        depth = min(a.index(items[clicked[-1]]), b.index(items[clicked[-1]])) + 1
        return sum((items[k] in a[:depth]) - (items[k] in b[:depth]) for k in clicked)

    return items, lead


def plain_comparisons(n: int, make: Callable[..., Plain], problem: Problem) -> float:
    draw = random.Random(0)
    click, stop = problem.user.click.tolist(), problem.user.stop.tolist()
    labels, order = problem.labels.tolist(), problem.rankings.order
    total = 0.0
    for _ in range(n):
        query = draw.randrange(len(problem.offsets) - 1)
        begin, end = problem.offsets[query], problem.offsets[query + 1]
        items, lead = make(order[0, begin:end].tolist(), order[64, begin:end].tolist(), draw)
        clicked = []
        for k, d in enumerate(items):
            grade = labels[begin + d]
            if draw.random() < click[grade]:
                clicked.append(k)
                if draw.random() < stop[grade]:
                    break
        ahead = lead(clicked)
        total += 0.5 * (1 + (ahead > 0) - (ahead < 0))
    return total / n


def bench_comparisons(data: Letor) -> None:
    rankings = Rankers.from_features(data).rankings(0)
    n = 40_000
    draw = random.Random(0)
    pairs = [draw.sample(range(data.n_features), 2) for _ in range(10)]
    plain = {"probabilistic": plain_probabilistic, "team-draft": plain_team_draft, "balanced": plain_balanced}
    interleavers: list[Interleaver] = [Probabilistic(), TeamDraft(), Balanced(), Optimised()]
    print(f"interleaver    user            {'comparisons/s':>14} {'plain Python':>14}   ratio   9,180 pairs, 2 cores")
    for interleaver in interleavers:
        for name in ("perfect", "navigational", "informational"):
            user = User.named(name)
            labels = data.labels.astype(np.int64)
            problem = Problem(rankings, labels, data.offsets, user, interleaver, 10, "marginal", 0, n, None)
            measure_pair(problem._replace(comparisons=1000), 0, 64)
            took = seconds(lambda p=problem: [measure_pair(p, *pair) for pair in pairs])  # type: ignore[misc]
            rate = len(pairs) * n / took
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
        interleaver.interleave(lists, seed=0).preference([1] * 10)
        took = seconds(lambda i=interleaver: [i.interleave(lists, seed=s).preference([1] * 10) for s in range(300)])  # type: ignore[misc]
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
