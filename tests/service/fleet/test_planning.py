"""Who should have which partitions: whatever workers come and go, each partition ends up with one of them."""

from __future__ import annotations

import random

import pytest

from rankloop.live.directory import Lease
from rankloop.service.fleet.planning import plan, share


@pytest.mark.parametrize("n", [1, 2, 7, 16])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 20])
def test_shares_add_up(n: int, k: int) -> None:
    workers = [f"worker {number}" for number in range(k)]
    shares = [share(worker, workers, n) for worker in workers]
    assert sum(shares) == n
    assert max(shares) - min(shares) <= 1


@pytest.mark.parametrize("seed", range(20))
def test_workers_that_come_and_go(seed: int) -> None:
    """Everybody acts on what they see, in any order: after two rounds without a change all are content."""
    chance = random.Random(seed)
    n = chance.choice([1, 4, 8, 13])
    owner: list[str] = [""] * n
    alive: set[str] = set()
    for turn in range(30):
        alive ^= {f"worker {chance.randrange(6)}"} if turn < 25 else set()
        alive = alive or {"worker 0"}
        owner = [worker if worker in alive else "" for worker in owner]  # leases of the others end
        for worker in chance.sample(sorted(alive), len(alive)):
            leases = [Lease(number, name, 3.0 if name else -1.0) for number, name in enumerate(owner)]
            mine = [number for number, name in enumerate(owner) if name == worker]
            claim, release = plan(worker, alive, leases, mine)
            assert not claim or not release
            assert all(owner[number] == "" for number in claim)
            assert set(release) <= set(mine)
            for number in claim:
                owner[number] = worker
            for number in release:
                owner[number] = ""
    assert "" not in owner
    assert [owner.count(worker) for worker in sorted(alive)] == [share(worker, alive, n) for worker in sorted(alive)]


def test_workers_that_start_together_do_not_ask_for_the_same() -> None:
    leases = [Lease(number, "", -1.0) for number in range(8)]
    workers = ["a", "b", "c", "d"]
    asked = [number for worker in workers for number in plan(worker, workers, leases, ()).claim]
    assert sorted(asked) == list(range(8))
