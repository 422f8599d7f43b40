"""One worker among several: it holds its share of a store's partitions, and passes on what concerns those of others."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from rankloop.checks import parse_size
from rankloop.live import StoreError
from rankloop.live.directory import Directory, Sight, Worker
from rankloop.live.settings import read_config
from rankloop.live.shared_loops import SharedLoops
from rankloop.service.fleet.frames import Answer, Forward, Question, Told, peer_secret
from rankloop.service.fleet.held_partitions import Holding
from rankloop.service.fleet.own_answers import answer_request, families, gather_here
from rankloop.service.fleet.peers import Answered, Asked, Listening, Peer, PeerLost, cannot_reach
from rankloop.service.fleet.planning import plan
from rankloop.service.fleet.worker_messages import LEASE, THIS_MACHINE
from rankloop.service.keys import KeyRing
from rankloop.service.logs import logger
from rankloop.service.owned_partitions import Elsewhere, Partitions
from rankloop.service.partition_queries import GATHERED
from rankloop.service.problems import ProblemDetails
from rankloop.service.request import Reply, Request
from rankloop.service.routes import BY_NAME
from rankloop.service.service import Service

LOOKS = 5
"""Looks around per lease."""
HOLD = 8.0
"""Seconds that an event waits for a partition that changes hands."""
SECONDS_TO_GATHER = 3.0
"""How long a worker may take to say what its partitions have counted, before it is asked again."""
SECONDS_TO_HEAR = 2.0
"""How long to wait for others to have heard of a change."""


class Fleet:
    """This worker, and what it knows of the others.

    Parameters
    ----------
    url
        Address of the store in PostgreSQL.
    config
        Path of a `rankloop.toml`.
    admin
        Admin key that is set from outside.
    machine
        What the workers of one supervisor have in common in their ids, and share with nobody else.
    name
        What to call the worker in metrics: `host:port/number`.
    peer_host
        Address at which other workers reach this one.
    peer_port
        Port at which other workers reach this one; 0 for any that is free.
    lease
        Seconds after which others take over from a worker that is silent.
    workers
        How many workers there will be, among whom the memory for partitions is planned.
    """

    def __init__(
        self, url: str, *, config: str | Path | None = None, admin: str | None = None, machine: str = "",
        name: str = "worker", peer_host: str = THIS_MACHINE, peer_port: int = 0, lease: float = LEASE,
        workers: int = 1, memory: str | int = "256 MB", keep: Any = None,
    ) -> None:  # fmt: skip
        self._url, self._admin, self._lease, self._count = url, admin, lease, workers
        self._host, self._port = peer_host, peer_port
        declared = {} if config is None else read_config(config)
        self._declared = declared.get("loops", {})
        self._options = {"memory": memory, "keep": keep, **declared.get("live", {})}
        self._directory = Directory(url)
        self.store_name = self._directory.name
        self._me = Worker(f"{machine}-{secrets.token_hex(8)}", name, "")
        self._peers: dict[str, Peer] = {}
        self._sight = Sight({}, (), 0)
        self._blind = False
        """Whether the store did not answer when this worker last looked."""
        self._leaving = False
        self._warm: set[str] = set()
        """Loops whose policies have been compiled or loaded."""
        self._look_now = asyncio.Event()
        self._seen: asyncio.Future[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._looking: asyncio.Task[None] | None = None

    # -- joining and leaving -------------------------------------------------------------------------------------

    async def open(self, service: Service) -> None:
        """Join the workers, and return once every partition is held by somebody."""
        self._service = service
        await service.run(self._prepare)
        service.partitions = self._partitions = Partitions(self._directory.partitions, self._directory.store)
        n = self._directory.partitions
        memory = parse_size("memory", self._options["memory"]) // -(-n // min(n, self._count))
        self._holding = Holding(
            self._url, self._me.id, self._lease, self._partitions, self._loops, service.run,
            memory=memory, keep=self._options["keep"],
        )  # fmt: skip
        self._secret = peer_secret(self._directory.secret)
        self._listening = Listening(self._secret, self._answer)
        try:
            self._me = self._me._replace(address=await self._listening.open(self._host, self._port))
            await service.run(self._introduce)
        except StoreError:
            self._listening.close()
            await service.run(self._directory.close)
            raise
        self._looking = asyncio.create_task(self._look_around())
        while not self._whole:
            await self._wait(self._lease)
            if self._looking.done():
                self._looking.result()

    def _prepare(self) -> None:
        self._directory.open()
        self.keys = KeyRing(self._directory, admin=self._admin)
        self._loops = SharedLoops(self._directory)
        for loop, settings in self._declared.items():
            self._loops.create(loop, **settings)
        self._warm_up()

    def _introduce(self) -> None:
        """Say that this worker is there, and refuse to be so where others could not reach it."""
        sight = self._directory.look(self._me, self._lease)
        others = [worker for worker in sight.workers.values() if cannot_reach(worker, self._me)]
        if others:
            self._directory.leave(self._me.id)
            raise StoreError(
                f"the worker {others[0].name} is on another machine, and cannot reach this one at {self._me.address}: "
                "give every machine's own address with --peer-host"
            )

    def _warm_up(self) -> None:
        """Load what new loops need, before a request has to wait for that."""
        for loop in self._loops.loops:
            if loop not in self._warm:
                self._loops.settings(loop).warm_up()
                self._warm.add(loop)

    @property
    def manager(self) -> SharedLoops:
        """Who creates and changes loops."""
        return self._loops

    @property
    def id(self) -> str:
        """Id of this worker."""
        return self._me.id

    @property
    def _whole(self) -> bool:
        """Whether every partition is held by a worker that answers."""
        held = {lease.partition for lease in self._sight.leases if lease.left > 0 and lease.worker != self._me.id}
        return len(held | self._partitions.owned.keys()) == self._partitions.n

    async def leave(self) -> None:
        """Hand over all partitions; requests are passed on from now on."""
        if self._leaving:
            return
        self._leaving = True
        with suppress(StoreError):
            await self._service.run(lambda: self._directory.leave(self._me.id))
        self._look_now.set()
        await asyncio.gather(*(self._hand_over(part.number) for part in self._partitions))

    async def close(self) -> None:
        """Leave, and let go of everything."""
        if self._looking is None:
            return
        await self.leave()
        self._looking.cancel()
        self._listening.close()
        for task in self._tasks:
            task.cancel()
        for peer in self._peers.values():
            peer.close()
        await self._service.run(self._directory.close)

    # -- looking around ------------------------------------------------------------------------------------------

    async def _look_around(self) -> None:
        while True:
            self._look_now.clear()
            try:
                await self._look()
            except StoreError as error:
                self._blind = True
                logger.warning("the other workers cannot be seen: %s", error)
            except Exception:
                logger.exception("looking around failed")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._look_now.wait(), self._lease / LOOKS)

    async def _look(self) -> None:
        me = None if self._leaving else self._me
        was_blind = self._blind
        self._sight = sight = await self._service.run(lambda: self._directory.look(me, self._lease))
        self._blind = False
        for gone in self._peers.keys() - sight.workers.keys():
            self._peers.pop(gone).close()
        for worker in sight.workers.values():
            if worker.id != self._me.id and worker.id not in self._peers:
                self._peers[worker.id] = Peer(worker.address, self._secret)
                if cannot_reach(self._me, worker) or cannot_reach(worker, self._me):
                    logger.error(
                        "the workers %s at %s and %s at %s are on two machines, and cannot reach each other: "
                        "give every machine's own address with --peer-host",
                        self._me.name, self._me.address, worker.name, worker.address,
                    )  # fmt: skip
        for lease in sight.leases:
            part = self._partitions.owned.get(lease.partition)
            if part is not None and (lease.worker != self._me.id or part.live.over):
                self._start(self._holding.drop(lease.partition))
        if sight.version > self._loops.version:
            await self._take_changes()
        self._tell()
        if not self._leaving:
            wanted = plan(self._me.id, sight.workers, sight.leases, self._holding.mine)
            for number in wanted.release:
                self._start(self._hand_over(number))
            if wanted.claim and not was_blind:  # else those who could not renew their leases come first
                if any(await asyncio.gather(*map(self._holding.claim, wanted.claim))):
                    self._tell_peers("look")  # requests that wait for an owner have found one
                self._look_now.set()

    def _tell(self) -> None:
        """Wake those who wait for something to change."""
        seen, self._seen = self._seen, None
        if seen is not None:
            seen.set_result(None)

    async def _wait(self, seconds: float) -> None:
        """Return when something may have changed."""
        if self._seen is None:
            self._seen = asyncio.get_running_loop().create_future()
        await asyncio.wait((self._seen,), timeout=seconds)

    def _start(self, doing: Any) -> None:
        task = asyncio.create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _hand_over(self, number: int) -> None:
        await self._holding.release(number)
        self._tell_peers("look")

    def _tell_peers(self, what: str) -> None:
        for peer in self._peers.values():
            self._start(self._question(peer, what, [], SECONDS_TO_HEAR))

    async def _take_changes(self) -> None:
        await self._service.run(self.keys.look)
        await self._service.run(self._loops.look)
        await self._service.run(self._warm_up)
        await self._holding.bring_up_to_date()

    async def spread(self) -> None:
        """Return once all workers that can be reached know the access keys, and what loops were told."""
        await self._take_changes()
        asked = [self._question(peer, "changed", [], SECONDS_TO_HEAR) for peer in self._peers.values()]
        await asyncio.gather(*asked)

    # -- asking others -------------------------------------------------------------------------------------------

    async def _question(self, peer: Peer, what: str, arguments: list[Any], seconds: float) -> Any:
        """What a worker says; None if it does not answer."""
        try:
            answer = await peer.ask(lambda number: Question(number, what, arguments), seconds)
        except (PeerLost, TimeoutError):
            return None
        return answer.value if isinstance(answer, Told) and not answer.error else None

    def _owner(self, partition: int) -> tuple[str, Peer | None]:
        lease = self._sight.leases[partition]
        return lease.worker, self._peers.get(lease.worker) if lease.left > 0 else None

    async def forward(self, partition: int, route: str, request: Request) -> Reply:
        """What the owner of a partition answers; it is waited for while the partition changes hands."""
        loop = asyncio.get_running_loop()
        quickly = BY_NAME[route].fall_back is not None
        until = loop.time() + (self._service.limits.patience if quickly else HOLD)
        loops = [] if request.key is None else list(request.key.loops)

        def make(number: int) -> Forward:
            return Forward(number, route, request.parameters, request.body, loops, request.id)

        while True:
            if self._partitions.at(partition) is not None:
                with suppress(Elsewhere):
                    return await BY_NAME[route].handler(self._service, request)
            worker, peer = self._owner(partition)
            if peer is not None:
                answer = await self._ask_owner(partition, worker, peer, make, until - loop.time())
                if answer is not None and answer.status:
                    return Reply(answer.status, answer.body, answer.media, answer.headers)
                self._look_now.set()
            elif quickly and self._blind:
                raise ProblemDetails(
                    503, "the store does not answer, so nobody can tell whose key this is", retry_after=1
                )
            if loop.time() >= until:
                break
            await self._wait(min(until - loop.time(), 0.1))
        raise ProblemDetails(503, "the key's partition is changing hands: send again in a moment", retry_after=1)

    async def _ask_owner(self, partition: int, worker: str, peer: Peer, make: Any, seconds: float) -> Answer | None:
        """What a worker answers to a request; None if it is gone, too slow, or not the owner any more."""
        asking = asyncio.ensure_future(peer.ask(make, seconds, lambda late: self._late(peer, late)))
        try:
            while not asking.done():
                if self._seen is None:
                    self._seen = asyncio.get_running_loop().create_future()
                await asyncio.wait((asking, self._seen), return_when=asyncio.FIRST_COMPLETED)
                if self._owner(partition)[0] != worker:
                    break
            if not asking.done():
                return None
            answer = asking.result()
        except (PeerLost, TimeoutError):
            return None
        finally:
            asking.cancel()
        return answer if isinstance(answer, Answer) else None

    def _late(self, peer: Peer, answer: Answered) -> None:
        """A list has come too late: nobody sees it."""
        if isinstance(answer, Answer) and answer.status == 200:
            with suppress(msgspec.MsgspecError, KeyError, TypeError):
                id_ = msgspec.json.decode(answer.body)["id"]
                self._start(self._question(peer, "withdraw", [id_], SECONDS_TO_HEAR))

    async def gather(self, name: str, arguments: tuple[Any, ...]) -> list[Any]:
        """What a function gives for each partition; it waits while some of them change hands."""
        loop = asyncio.get_running_loop()
        until = loop.time() + HOLD
        while True:
            here = gather_here(self._service, name, list(arguments))
            there = [
                self._question(peer, "gather", [name, list(arguments)], SECONDS_TO_GATHER)
                for peer in self._peers.values()
            ]
            found: dict[int, Any] = {}
            for part in await asyncio.gather(here, *there):
                found.update((number, value) for number, value in part or ())
            if len(found) == self._partitions.n:
                return list(found.values())
            if loop.time() >= until:
                told = f"{self._partitions.n - len(found)} of {self._partitions.n} partitions do not answer"
                raise ProblemDetails(503, f"{told}: send again in a moment", retry_after=1)
            await self._wait(0.1)

    async def metrics(self) -> list[tuple[str, list[Any]]]:
        """What each worker of this machine counts of itself, by its name; those that do not answer are left out."""
        found = [(self._me.name, families(self._service))]
        asked = [
            (worker.name, self._question(self._peers[worker.id], "metrics", [], self._service.limits.patience))
            for worker in self._sight.workers.values()
            if worker.id in self._peers and worker.machine == self._me.machine
        ]
        answers = await asyncio.gather(*(question for _, question in asked))
        return found + [(name, answer) for (name, _), answer in zip(asked, answers, strict=True) if answer is not None]

    # -- answering others ----------------------------------------------------------------------------------------

    async def _answer(self, asked: Asked) -> Answered:
        if isinstance(asked, Forward):
            return await answer_request(self._service, asked)
        match asked.what, asked.arguments:
            case "look", _:
                self._look_now.set()
            case "changed", _:
                await self._take_changes()
            case "withdraw", [str(id_)]:
                part = self._service.find_id(id_)
                if part is not None:
                    with part:
                        await self._service.run(lambda: self._service.withdraw(part, id_))
            case "gather", [str(name), list(arguments)] if name in GATHERED:
                return Told(asked.number, await gather_here(self._service, name, arguments))
            case "metrics", _:
                return Told(asked.number, families(self._service))
            case _:
                return Told(asked.number, None, f"there is no question {asked.what[:40]!r}")
        return Told(asked.number, True)
