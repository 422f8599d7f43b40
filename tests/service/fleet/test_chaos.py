"""The short form of `make fleet-chaos`: every fault once, with fewer workers and a shorter lease."""

from __future__ import annotations

import sys
from pathlib import Path

from postgres_server import Server

sys.path.insert(0, str(Path(__file__).parents[1]))

import fleet_chaos


def test_workers_under_load_and_everything_that_can_happen_to_them(postgres: Server, tmp_path: Path) -> None:
    world = fleet_chaos.World(postgres, workers=3, lease=1.5, partitions=4)
    with open(tmp_path / "log", "w") as log, world.running(log):
        everybody = fleet_chaos.torment(world, rounds=1, clients=2, stopped=4.0, calm=0.3, pause=0.01)
    assert world.check(everybody) > 100
    assert sum(len(each.acknowledged) for each in everybody) > 50
