"""What late and lost feedback costs each policy, through rl.Live.

Twice the same users are served: once every click is told at once, and once the feedback to each list comes after up to
10,000 further impressions of the loop, in any order, and that to every fifth list never: its window passes, and it is
learned as a list without clicks. Regret comes from the users' expected clicks, so that no clicks are lost to it.

Theory adds two terms to the regret of a policy that hears at once. Some 6,000 impressions are unanswered at any time
(4 in 5 for 5,000 further impressions on average, 1 in 5 for the 10,000 until its window has passed): what these cost
while nothing is known is paid once, and is called "blind" here. And where every fifth answer is lost, a policy that
needs a number of answers shows a quarter more lists for them. So (late - blind) / at once should be at most 1.25.

The store keeps the journal in memory: no figure here depends on a disk.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import rankloop as rl
from rankloop.environments.click_environment import click_once
from rankloop.kernels import stream
from rankloop.live.entries import Entry
from rankloop.live.settings import POLICIES
from rankloop.live.stores import Batch, Header, KnownLearner, Snapshot

DELAY = 10_000
LOST = 0.2
UNANSWERED = (1 - LOST) * DELAY / 2 + LOST * DELAY
"""Impressions that wait for their feedback, or for the end of their window, at any time."""
FIRST = 1_000
"""Impressions of the late run from which the regret of a policy that knows nothing is taken."""
N_ITEMS, N_POSITIONS = 10, 5
N_RANKERS = 32
Answer = tuple[str, list[str]]
"""The id of an impression, and what was clicked."""


class MemoryStore:
    """A journal in memory, which ends with the program."""

    def __init__(self) -> None:
        self.name = "memory"
        self._entries: dict[int, Entry] = {}
        self._about: dict[int, list[Entry]] = {}
        self._learners: dict[int, KnownLearner] = {}
        self._snapshots: dict[int, Snapshot] = {}
        self._bases: dict[int, Snapshot] = {}
        self._totals: dict[int, bytes] = {}

    def open(self) -> Header:
        """What an empty store says of itself."""
        return Header(b"memo", bytes(32), last=0, last_learner=0, clean=True, checkpoint=0, cursor=0, trimmed=0)

    def write(self, batch: Batch) -> None:
        """Keep what a batch holds."""
        for entry in batch.entries:
            self._entries[entry.seq] = entry
            if entry.impression is not None:
                self._about.setdefault(entry.impression, []).append(entry)
        self._learners.update({learner.number: learner for learner in batch.learners})
        self._snapshots.update({snapshot.learner: snapshot for snapshot in batch.snapshots})
        self._totals.update(batch.totals)

    def entries(self, after: int, upto: int | None = None, learner: int | None = None) -> Iterator[Entry]:
        """Entries in order."""
        for seq, entry in self._entries.items():
            if seq > after and (upto is None or seq <= upto) and learner in (None, entry.learner):
                yield entry

    def entry(self, seq: int) -> Entry | None:
        """One entry."""
        return self._entries.get(seq)

    def of_impressions(self, first: int, last: int) -> Iterable[Entry]:
        """What was written about impressions."""
        return [entry for seq in range(first, last + 1) for entry in self._about.get(seq, ())]

    def find_learner(self, loop: int, key: str) -> KnownLearner | None:
        """The learner of a key."""
        return next((known for known in self._learners.values() if known[1:] == (loop, key)), None)

    def learner(self, number: int) -> KnownLearner | None:
        """A learner by its number."""
        return self._learners.get(number)

    def learners(self, loop: int | None = None, after: int = 0, limit: int | None = None) -> Iterator[KnownLearner]:
        """Learners in order."""
        known = [each for each in self._learners.values() if each.number > after and loop in (None, each.loop)]
        return iter(known[:limit])

    def snapshot(self, learner: int) -> Snapshot | None:
        """The last snapshot of a learner."""
        return self._snapshots.get(learner)

    def base(self, learner: int) -> Snapshot | None:
        """Where the journal of a learner begins."""
        return self._bases.get(learner)

    def totals(self) -> Mapping[int, bytes]:
        """Counts of loops."""
        return self._totals

    def trim(self, upto: int, bases: Iterable[Snapshot]) -> None:
        """Forget the first entries."""
        self._bases.update({base.learner: base for base in bases})
        for seq in [seq for seq in self._entries if seq <= upto]:
            del self._entries[seq]

    def size(self) -> int:
        """Bytes of all bodies."""
        return sum(len(entry.body) for entry in self._entries.values())

    def close(self) -> None:
        """Nothing is held."""


@dataclass
class Clock:
    """A clock that goes on by one second per impression."""

    now: float = 1e9

    def __call__(self) -> float:
        return self.now


@dataclass
class Queries:
    """Users who search: for each key a cascade model of its own, with production's list in random order."""

    n_keys: int
    seed: int
    _known: list[dict[tuple[int, ...], float]] = field(init=False)

    def __post_init__(self) -> None:
        draw = np.random.default_rng(self.seed)
        self.names = [f"item {i}" for i in range(N_ITEMS)]
        self.number = {name: i for i, name in enumerate(self.names)}
        attraction = draw.permuted(np.tile(np.linspace(0.05, 0.35, N_ITEMS), (self.n_keys, 1)), axis=1)
        self.users: list[Any] = [rl.CascadeModel(row) for row in attraction]
        self.rng = stream(self.seed)
        self.draw = random.Random(self.seed)
        self._known = [{} for _ in self.users]

    def settings(self) -> dict[str, Any]:
        """What the loop is told."""
        return {"positions": N_POSITIONS}

    def prepare(self, live: rl.Live) -> None:
        """Nothing to do before users come."""

    def visit(self, live: rl.Live) -> tuple[float, Answer]:
        """One user: the regret of the list, and the clicks on it."""
        key = self.draw.randrange(self.n_keys)
        shown = live.rank("loop", f"query {key}", self.names)
        return self.look(key, shown)

    def look(self, key: int, shown: Any) -> tuple[float, Answer]:
        """What the user of a list does."""
        items = np.array([self.number[name] for name in shown.items])
        clicks = np.zeros(len(items), np.int64)
        click_once(self.users[key].state, self.rng, items, clicks)
        ranking = tuple(items.tolist())
        if ranking not in self._known[key]:
            self._known[key][ranking] = self.users[key].regret(ranking)
        return self._known[key][ranking], (shown.id, [shown.items[k] for k in np.flatnonzero(clicks)])


class Readers(Queries):
    """Users with tastes for topics, whose lists are made from features."""

    def __post_init__(self) -> None:
        super().__post_init__()
        draw = np.random.default_rng(self.seed)
        self.relevance = draw.dirichlet(np.ones(4), N_ITEMS)
        self.topics = (draw.random((N_ITEMS, 3)) < 0.5).astype(np.float64)
        self.users = [
            rl.HybridCascade(self.relevance, self.topics, draw.uniform(0, 0.6, 4), draw.dirichlet(np.ones(3)), 0.5)
            for _ in range(self.n_keys)
        ]

    def settings(self) -> dict[str, Any]:
        """What the loop is told."""
        return {"positions": N_POSITIONS, "relevance": 4, "topics": ["a", "b", "c"]}

    def prepare(self, live: rl.Live) -> None:
        """Tell the features of the items."""
        features = zip(self.names, self.relevance.tolist(), self.topics.tolist(), strict=True)
        live.put_items("loop", {name: {"relevance": z, "topics": x} for name, z, x in features})


@dataclass
class Rankers:
    """Rankers to compare: each has documents of its own, and the first one of who wins a duel is clicked."""

    seed: int

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        utilities = np.random.default_rng(self.seed).permutation(np.linspace(0, 2, N_RANKERS))
        self.matrix = rl.PreferenceMatrix.from_utilities(utilities)
        self.names = [f"ranker {i}" for i in range(N_RANKERS)]
        self.number = {name: i for i, name in enumerate(self.names)}

    def settings(self) -> dict[str, Any]:
        """What the loop is told."""
        return {"rankers": self.names}

    def prepare(self, live: rl.Live) -> None:
        """Nothing to do before users come."""

    def visit(self, live: rl.Live) -> tuple[float, Answer]:
        """One user: the regret of the duel, and the click that decides it."""
        duel = live.duel("loop")
        left, right = (self.number[name] for name in duel.rankers)
        live.interleave(duel.id, {name: [f"of {name}", f"more of {name}"] for name in duel.rankers}, positions=2)
        winner = left if self.draw.random() < self.matrix.preferences[left, right] else right
        return self.matrix.regret(left, right), (duel.id, [f"of {self.names[winner]}"])


def serve(kind: str, policy: str, users: Any, n: int, *, delay: int, lost: float, seed: int = 1) -> tuple[float, float]:
    """The regret of n impressions, and that of the first of them."""
    clock, draw = Clock(), random.Random(seed)
    live = rl.Live(MemoryStore(), clock=clock, background=False)
    window = delay + 1 if delay else 10
    live.create("loop", kind=kind, policy=policy, window=window, holdout=0.0, seed=seed, **users.settings())
    users.prepare(live)
    due: dict[int, list[Answer]] = {}
    regret = first = 0.0
    for t in range(n):
        clock.now += 1
        if t == FIRST:
            first = regret
        for answer in due.pop(t, ()):
            tell(live, answer)
        loss, answer = users.visit(live)
        regret += loss
        if delay == 0:
            tell(live, answer)
        elif draw.random() >= lost:
            due.setdefault(t + 1 + draw.randrange(delay), []).append(answer)
    status = live.status("loop")
    assert status["fallbacks"] == status["late"] == status["refused"] == 0, status
    assert delay or status["ties"] == 0, status
    return regret, first


def tell(live: rl.Live, answer: Answer) -> None:
    """Tell what was clicked, and close the impression."""
    impression, clicked = answer
    if clicked:
        live.events([{"impression": impression, "item": item} for item in clicked])
    live.finish(impression)


def cases(kinds: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each policy with a kind of loop that it is for, once."""
    told = set()
    for kind in kinds:
        for policy in POLICIES[kind]:
            if policy not in told and policy != "FixedRanking":
                told.add(policy)
                yield kind, policy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--impressions", type=int, default=60_000, help="how many lists or duels")
    parser.add_argument("--keys", type=int, default=10, help="how many queries or readers a loop has")
    parser.add_argument("--kinds", nargs="+", default=["rerank", "follow", "evaluate", "diversify"], choices=POLICIES)
    parser.add_argument("--policies", nargs="+", help="only these")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(f"{given.impressions:,} impressions, {given.keys} keys (evaluate: 1), delay up to {DELAY:,}, {LOST:.0%} lost")
    print(f"{'policy':18} {'at once':>9} {'late':>9} {'ratio':>6} {'blind':>7} {'without it':>10} {'cpu s':>6}")
    chosen = list(cases(given.kinds))
    if given.policies:
        chosen = sorted(
            (case for case in chosen if case[1] in given.policies), key=lambda c: given.policies.index(c[1])
        )
    for kind, policy in chosen:
        of: dict[str, Callable[[], Any]] = {
            "evaluate": lambda: Rankers(given.seed),
            "diversify": lambda: Readers(given.keys, given.seed),
        }
        users = of.get(kind, lambda: Queries(given.keys, given.seed))
        n = given.impressions
        begun = time.process_time()
        at_once, _ = serve(kind, policy, users(), n, delay=0, lost=0.0)
        late, first = serve(kind, policy, users(), n, delay=DELAY, lost=LOST)
        blind = first / FIRST * UNANSWERED
        print(
            f"{policy:18} {at_once:9.1f} {late:9.1f} {late / at_once:6.2f} {blind:7.1f} "
            f"{(late - blind) / at_once:10.2f} {time.process_time() - begun:6.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
