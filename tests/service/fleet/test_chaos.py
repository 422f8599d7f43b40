"""The short form of `make fleet-chaos`: every fault once, with fewer workers and a shorter lease."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from cut_connections import Detour
from postgres_server import Server

from rankloop.service.fleet.frames import Question, Told
from rankloop.service.fleet.peers import Asked, Listening, Peer

sys.path.insert(0, str(Path(__file__).parents[1]))

import fleet_chaos


def test_workers_under_load_and_everything_that_can_happen_to_them(postgres: Server, tmp_path: Path) -> None:
    world = fleet_chaos.World(postgres, workers=3, lease=1.5, partitions=4)
    with open(tmp_path / "log", "w") as log, world.running(log):
        everybody = fleet_chaos.torment(world, rounds=1, clients=2, stopped=4.0, calm=0.3, pause=0.01)
    assert world.check(everybody) > 100
    assert sum(len(each.acknowledged) for each in everybody) > 50


def test_a_worker_is_asked_on_another_connection_when_one_has_fallen_silent() -> None:
    """Something between two workers forgets their connection and tells neither."""

    async def ask() -> None:
        async def answer(asked: Asked) -> Told:
            return Told(asked.number, "here")

        listening = Listening(b"secret", answer)
        port = int((await listening.open("127.0.0.1")).rpartition(":")[2])
        detour = Detour()
        peer = Peer(f"127.{port // 256}.{port % 256}.2:{detour.port}", b"secret")
        try:
            assert await peer.ask(question, 60.0) == Told(1, "here")
            detour.swallow(True)
            with pytest.raises(TimeoutError):
                await peer.ask(question, 0.2)
            detour.swallow(False)
            assert await peer.ask(question, 60.0) == Told(3, "here")
        finally:
            peer.close()
            listening.close()
            detour.cut_all()
            detour.close()

    def question(number: int) -> Question:
        return Question(number, "where", [])

    asyncio.run(asyncio.wait_for(ask(), 100))
