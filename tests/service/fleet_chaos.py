"""Several workers on a real PostgreSQL under load, while everything that can happen to them happens.

    python tests/service/fleet_chaos.py --rounds 3

Workers are killed, and stopped and continued; the database is restarted, connections to it and between workers are cut,
and its disk is full; all workers are replaced one after the other. After each of these: every partition answers again
within 10 seconds, held by exactly one worker; every event that was acknowledged is in the journal, once; the journal
replays; and every request got an answer. Who asks for a list has one with the first answer, production's at least; who
tells of an event may be asked to send it again; and no connection is lost but those of a worker that was killed or
stopped. Everything talks to this machine alone, and ends by itself.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import postgres_server
import processes
import psycopg
from cut_connections import DETOUR, Detour, Proxy
from live_world import Told, in_journal
from service_client import ADMIN

import rankloop as rl
from rankloop.live.directory import Directory
from rankloop.live.partition_ids import partition_named, partition_of
from rankloop.live.postgres import PostgresStore

KEYS = 40
WINDOW = 5.0
ITEMS = ["a", "b", "c", "d", "e"]
POSITIONS = 3
PATIENCE = 15.0
"""Seconds after which a client gives up on a connection: more than an event waits for a partition to change hands."""
PROBING = 2.0
"""The same for who looks whether all partitions answer, and may ask another worker instead."""
MOST_SECONDS = 60.0
"""How long a request may take to be answered, with everything that is done to the workers."""
SECONDS_PER_ROUND = 600.0
"""How long the workers may run, in the long form, for everything to happen to them once."""
RECOVERED_WITHIN = 10.0
MOST_PROBES = 500
"""Connections that are made until each worker has taken one."""
FULL_AT = 20_000_000
"""Bytes of a file that the database may not extend any further, where its disk is to be full."""
MOST_IN_STOCK = 1_000
"""Rows that may fit into pages that the database has in stock, because several asked for one at the same time."""


class Lost(Exception):
    """A connection that broke, or on which nothing came; the port of this end, 0 if there was no connection."""

    def __init__(self, why: str, port: int) -> None:
        super().__init__(why)
        self.port = port


class Client:
    """Somebody who asks for lists and clicks, and sends again what was not answered.

    Parameters
    ----------
    port
        Port of the service.
    seed
        Seed of what it asks for.
    told
        What happened to all clients, counted.
    broken
        Ports of clients whose connection was with a worker that has been killed or stopped.
    pause
        Seconds between a click and the next list.
    """

    def __init__(self, port: int, seed: int, told: Counter[str], broken: set[int], pause: float = 0.0) -> None:
        self._port, self._chance, self.told, self._broken, self._pause = port, random.Random(seed), told, broken, pause
        self._connection: http.client.HTTPConnection | None = None
        self.acknowledged: list[tuple[str, int]] = []
        self.failures: list[str] = []
        self.longest: Counter[str] = Counter()
        self.patience = PATIENCE
        self.own = 0
        """Port of this end of the connection."""

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """What is answered; Lost if the connection breaks, or nothing comes for a while."""
        own = 0
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=self.patience)
            if self._connection.sock is None:
                self._connection.connect()
            self.own = own = self._connection.sock.getsockname()[1]
            content = None if body is None else json.dumps(body)
            self._connection.request(method, path, content, {"Authorization": f"Bearer {ADMIN}"})
            answer = self._connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Lost(f"{type(error).__name__}: {error}", own) from None
        return answer.status, json.loads(data) if "json" in answer.headers["content-type"] else data.decode()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def until_answered(self, path: str, body: Any, *, again: bool) -> Any:
        """What is answered, at once or, if it may be refused for now, when it is sent again."""
        begun = time.monotonic()
        while True:
            try:
                status, answer = self.ask("POST", path, body)
            except Lost as lost:
                if lost.port not in self._broken:
                    raise AssertionError(f"{path} lost its connection, and its worker was well: {lost}") from None
                self.told["connections lost with their worker"] += 1
            else:
                if status == 200:
                    self.longest[path] = max(self.longest[path], time.monotonic() - begun)
                    return answer
                assert again, (path, status, answer)
                assert status == 503, (path, status, answer)
                self.told["sent again after 503"] += 1
                time.sleep(0.1)
            assert time.monotonic() - begun < MOST_SECONDS, f"{path} was not answered"

    def work(self, go_on: Callable[[], bool]) -> None:
        """Ask and click until it is enough."""
        try:
            while go_on():
                self._one()
        except Exception as error:
            self.failures.append(f"{type(error).__name__}: {error}")
        self.close()

    def _one(self) -> None:
        time.sleep(self._pause)
        chance = self._chance
        key = f"key {chance.randrange(KEYS)}" if chance.random() < 0.9 else f"new {chance.random()}"
        shown = self.until_answered("/v1/loops/search/rank", {"key": key, "items": ITEMS}, again=False)
        self.told["lists"] += 1
        if shown.get("fallback"):
            self.told["of them production's"] += 1
            assert (shown["id"], shown["items"]) == ("", ITEMS[:POSITIONS]), shown
            assert shown["reason"], shown
            return
        assert len(set(shown["items"]) & set(ITEMS)) == len(shown["items"]) == POSITIONS, shown
        if chance.random() < 0.6:
            item = chance.choice(shown["items"])
            heard = self.until_answered("/v1/events", {"impression": shown["id"], "item": item}, again=True)
            self.told[f"events {heard['fate']}"] += 1
            if heard["fate"] in ("accepted", "duplicate"):
                self.acknowledged.append((shown["id"], shown["items"].index(item)))


def sockets(pid: int) -> Iterator[tuple[int, int]]:
    """The ports of both ends of each connection of a process; 0 for the other end where it listens."""
    held = set()
    with suppress(OSError):  # it may end meanwhile
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                held.add(str(link.readlink()))
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if f"socket:[{words[9]}]" in held:
            here, there = (int(words[n].rpartition(":")[2], 16) for n in (1, 2))
            yield here, there


class World:
    """Workers, their database, and the load on them."""

    def __init__(self, server: postgres_server.Server, *, workers: int, lease: float, partitions: int) -> None:
        self.server, self.workers, self.lease, self.partitions = server, workers, lease, partitions
        self.direct = server.empty_database("fleet")
        server.settle()
        directory = Directory(self.direct, partitions=partitions)
        directory.open()
        directory.close()
        self.proxy, self.detour = Proxy(server.socket), Detour()
        server.sql(DETOUR.format(port=self.detour.port).replace("%%", "%"), url=self.direct)
        self.broken: set[int] = set()
        """Ports of clients whose connection was with a worker that has been killed or stopped."""
        self.url = f"postgresql://tester@127.0.0.1:{self.proxy.port}/fleet"
        self.told: Counter[str] = Counter()
        self.chance = random.Random(1)
        self.recoveries: dict[str, list[float]] = {}

    @contextmanager
    def running(self, log: Any, seconds: float | None = None) -> Iterator[None]:
        """The workers run meanwhile, for so many seconds at most if they are given."""
        command = [
            sys.executable, "-m", "rankloop", "serve", "--port", "0", "--store", self.url, "--workers",
            str(self.workers), "--partitions", str(self.partitions), "--lease", str(self.lease),
        ]  # fmt: skip
        environment = processes.environment(RANKLOOP_ADMIN_KEY=ADMIN)
        with processes.started(command, seconds, env=environment, stderr=log) as self.supervisor:
            assert self.supervisor.stdout is not None
            line = self.supervisor.stdout.readline()
            assert "http://" in line, line
            self.port = int(line.rsplit(":", 1)[1])
            client = Client(self.port, 0, self.told, self.broken)
            client.patience = MOST_SECONDS  # the first worker compiles
            settings = {"kind": "rerank", "positions": POSITIONS, "window": WINDOW, "holdout": 0.1}
            status, answer = client.ask("PUT", "/v1/loops/search", settings)
            client.close()
            assert status == 201, answer
            try:
                yield
            finally:
                self.proxy.close()
                self.detour.close()
            self.supervisor.send_signal(signal.SIGTERM)
            assert self.supervisor.wait(60) == 0

    @contextmanager
    def load(self, clients: int, seed: int, pause: float) -> Iterator[list[Client]]:
        """Clients ask and click meanwhile."""
        stop = threading.Event()
        seeds = range(seed * 100 + 1, seed * 100 + 1 + clients)
        made = [Client(self.port, each, self.told, self.broken, pause) for each in seeds]
        threads = [threading.Thread(target=each.work, args=(lambda: not stop.is_set(),)) for each in made]
        for thread in threads:
            thread.start()
        try:
            yield made
        finally:
            stop.set()
            for thread in threads:
                thread.join(2 * MOST_SECONDS)
        assert not any(thread.is_alive() for thread in threads)
        failures = [failure for each in made for failure in each.failures]
        assert not failures, failures

    def pids(self) -> list[int]:
        """The worker processes."""
        found = []
        for task in Path(f"/proc/{self.supervisor.pid}/task").iterdir():
            with suppress(OSError):  # the thread has ended meanwhile; the one that starts workers does not
                found += [int(pid) for pid in (task / "children").read_text().split()]
        return found

    def joined(self) -> dict[int, str]:
        """The ids of those that have joined the others, by process."""
        known = dict(self.server.sql("SELECT address, worker FROM rankloop.workers", url=self.direct))
        found = {}
        for pid in self.pids():
            for here, there in sockets(pid):
                id_ = known.get(f"127.{here // 256}.{here % 256}.2:{self.detour.port}")
                if id_ is not None and not there:
                    found[pid] = id_
        return found

    @contextmanager
    def probes(self, without: int) -> Iterator[list[Client]]:
        """A client of each worker, whichever takes a connection: it is tried until each has taken one."""
        with ExitStack() as stack:
            made: dict[int, Client] = {}
            found: dict[int, Client] = {}
            while set(self.joined()) - {without} - set(found):
                assert len(made) < MOST_PROBES, "there are workers who take no connections"
                client = Client(self.port, 0, self.told, self.broken)
                client.patience = PROBING
                stack.callback(client.close)
                client.ask("GET", "/health/live")
                made[client.own] = client
                found = {pid: made[there] for pid in self.joined() for _, there in sockets(pid) if there in made}
            yield list(found.values())

    def owned(self, client: Client) -> int:
        """Partitions that workers say they own, together."""
        status, text = client.ask("GET", "/metrics")
        assert status == 200, text
        return sum(int(n) for n in re.findall(r"^rankloop_partitions_owned\{.*\} (\d+)", text, re.MULTILINE))

    def answers(self, client: Client, number: int) -> bool:
        """Whether a partition gives lists, and acknowledges events."""
        key = next(key for key in map(str, range(10_000)) if partition_of("search", key, self.partitions) == number)
        status, shown = client.ask("POST", "/v1/loops/search/rank", {"key": key, "items": ITEMS})
        if status != 200 or shown.get("fallback"):
            return False
        event = {"impression": shown["id"], "item": shown["items"][0]}
        return client.ask("POST", "/v1/events", event) == (200, {"fate": "accepted"})

    def recovered(self, since: float, without: int = 0) -> float:
        """Wait until all partitions answer whichever worker is asked, each held by one; the seconds since a moment."""
        while True:
            with suppress(Lost, AssertionError), self.probes(without) as probes:
                ways = [(probe, number) for probe in probes for number in range(self.partitions)]
                if all(self.answers(*way) for way in ways) and self.owned(probes[0]) == self.partitions:
                    return time.monotonic() - since
            assert time.monotonic() - since < MOST_SECONDS, "the partitions do not come back"
            time.sleep(0.05)

    def check(self, clients: list[Client]) -> int:
        """Nothing acknowledged is lost, nothing is there twice, the journals replay; the number of entries."""
        acknowledged = [each for client in clients for each in client.acknowledged]
        entries = 0
        for number in range(self.partitions):
            store = PostgresStore(self.direct, partition=number, read_only=True)
            with rl.Live(store, background=False, read_only=True) as live:
                if number == 0:
                    mark = live.mark
                journal = in_journal(live)
                told = Told(journal)
                told.check()
                entries += len(journal)
                mine = [
                    (live._signer.read(id_).seq, position)
                    for id_, position in acknowledged
                    if partition_named(id_, mark, self.partitions) == number
                ]
                lost = [each for each in mine if each not in told.clicks]
                assert not lost, f"{len(lost)} acknowledged events are lost"
                found = live.verify()
                assert found.ok, found.differences
        return entries

    # -- what happens to them ------------------------------------------------------------------------------------

    def _stop(self) -> tuple[int, str]:
        """Stop a worker, and note whose connections are with it; its process and its id."""
        pid, id_ = self.chance.choice(list(self.joined().items()))
        os.kill(pid, signal.SIGSTOP)
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.001)
        self.broken.update(there for here, there in sockets(pid) if here == self.port)
        return pid, id_

    def _taken_over(self, id_: str, since: float) -> float:
        """Wait until others hold all partitions of a worker; the seconds since a moment."""
        held = "SELECT count(*) FROM rankloop.partitions WHERE expires > clock_timestamp() AND worker <> %s"
        while self.server.sql(held, id_, url=self.direct) != [(self.partitions,)]:
            assert time.monotonic() - since < MOST_SECONDS, "nobody takes over"
            time.sleep(0.05)
        return time.monotonic() - since

    def kill(self) -> float:
        """A worker is killed."""
        pid, _ = self._stop()
        begun = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        return begun

    def stop_and_continue(self, seconds: float) -> float:
        """A worker stands still, others take over from it, and it wakes up."""
        begun = time.monotonic()
        pid, id_ = self._stop()
        try:
            self.hold("a worker stopped: its partitions are held by others", self._taken_over(id_, begun))
            self.hold("a worker stopped: all partitions answer", self.recovered(begun, without=pid))
            time.sleep(max(0.0, seconds - (time.monotonic() - begun)))
        finally:
            os.kill(pid, signal.SIGCONT)
        return time.monotonic()

    def cut_peers(self, seconds: float) -> float:
        """Connections between workers are cut in the middle of requests, then all of them; then they stand still."""
        for deliver in (True, False, True):
            self.detour.cut(pieces=self.chance.randrange(1, 50), deliver=deliver)
            time.sleep(0.4)
        self.detour.stop_cutting()
        assert self.detour.cut_all() > 0
        time.sleep(0.4)
        self.detour.swallow(True)
        time.sleep(seconds)
        self.detour.swallow(False)
        return time.monotonic()

    def restart_database(self) -> float:
        """The database crashes, and starts again."""
        self.server.stop()
        time.sleep(self.chance.uniform(0.2, 1.5))
        self.server.start()
        return time.monotonic()

    def cut_connections(self) -> float:
        """Connections are cut in the middle of commits, before and after the server has heard of them; then all."""
        for deliver in (True, False, True):
            self.proxy.cut(pieces=self.chance.randrange(1, 200), deliver=deliver)
            time.sleep(0.4)
        self.proxy.stop_cutting()
        begun = time.monotonic()
        self.server.end_connections(self.direct)
        return begun

    def fill_disk(self, seconds: float) -> float:
        """The file of the journal cannot grow: the server says that its disk is full.

        Rows fill the file, and then the pages that it has in stock. They are not long enough to be compressed, and four
        of them leave less room in a page than an entry needs.
        """
        size = "SELECT pg_relation_size('rankloop.journal')"
        fill = (
            "INSERT INTO rankloop.journal SELECT 9999, number, 0, 0, 0, NULL, convert_to(repeat('x', 1952), 'UTF8') "
            "FROM generate_series(%s::bigint, %s) AS number"
        )
        [(begin,)] = self.server.sql(
            "SELECT coalesce(max(seq), 0) + 1 FROM rankloop.journal WHERE partition = 9999", url=self.direct
        )
        missing = FULL_AT - self.server.sql(size, url=self.direct)[0][0]
        rows = missing // 2_000 + 10 if missing > 0 else 0
        if rows:  # the files of the server's own log are smaller, and are not to be refused
            self.server.sql(fill, begin, begin + rows - 1, url=self.direct)
        refused = self.told["sent again after 503"]
        self.server.limit_files(self.server.sql(size, url=self.direct)[0][0])
        with suppress(psycopg.Error):
            for number in range(begin + rows, begin + rows + MOST_IN_STOCK):
                self.server.sql(fill, number, number, url=self.direct)
        until = time.monotonic() + MOST_SECONDS
        try:
            while self.told["sent again after 503"] == refused:  # until the last pages are full
                assert time.monotonic() < until, "the disk was not full"
                time.sleep(0.02)
            time.sleep(seconds)
        finally:
            self.server.limit_files(None)
        return time.monotonic()

    def replace_all(self) -> float:
        """All workers are replaced, one after the other; no request may fail meanwhile."""
        before, old = dict(self.told), set(self.pids())
        self.supervisor.send_signal(signal.SIGHUP)
        until = time.monotonic() + 4 * MOST_SECONDS
        while old & set(self.pids()) or len(self.pids()) != self.workers:
            assert self.supervisor.poll() is None, "the supervisor has ended"
            assert time.monotonic() < until, "the workers were not replaced"
            time.sleep(0.1)
        failed = self.told["sent again after 503"] - before.get("sent again after 503", 0)
        assert not failed, f"{failed} requests failed while workers were replaced"
        return time.monotonic()

    def hold(self, what: str, seconds: float) -> None:
        """Note how long something took, which must not be too long."""
        self.recoveries.setdefault(what, []).append(seconds)
        assert seconds < RECOVERED_WITHIN, f"{what} after {seconds:.1f} s"


def torment(world: World, *, rounds: int, clients: int, stopped: float, calm: float, pause: float) -> list[Client]:
    """Let everything happen to the workers, under load, and check what is left each time.

    Parameters
    ----------
    world
        The workers.
    rounds
        How often everything happens.
    clients
        Number of clients.
    stopped
        Seconds that a worker stands still.
    calm
        Seconds before and after.
    pause
        Seconds that a client waits between a click and the next list.
    """
    everybody: list[Client] = []
    faults: dict[str, Callable[[], float]] = {
        "a worker killed": world.kill,
        "a worker stopped and continued": lambda: world.stop_and_continue(stopped),
        "connections to the database cut": world.cut_connections,
        "connections between workers cut": lambda: world.cut_peers(stopped / 2),
        "the database restarted": world.restart_database,
        "the disk full": lambda: world.fill_disk(1.0),
        "all workers replaced": world.replace_all,
    }
    for turn in range(rounds):
        for number, (name, fault) in enumerate(faults.items()):
            with world.load(clients, turn * len(faults) + number, pause) as some:
                everybody += some
                time.sleep(calm)
                since = fault()
                world.hold(name, world.recovered(since))
                time.sleep(calm)
            print(f"{name}: all partitions answered after {world.recoveries[name][-1]:.1f} s, "
                  f"{world.check(everybody):,} entries are whole", flush=True)  # fmt: skip
            while len(world.joined()) < world.workers:  # one that was killed is started again
                time.sleep(0.1)
    return everybody


def report(world: World, everybody: list[Client]) -> Iterator[str]:
    """What happened, in lines."""
    for what, values in world.recoveries.items():
        yield f"{what}: after {', '.join(f'{value:.1f}' for value in values)} s"
    yield f"{sum(len(each.acknowledged) for each in everybody):,} events acknowledged"
    for path in ("/v1/loops/search/rank", "/v1/events"):
        yield f"the longest wait for an answer of {path}: {max(each.longest[path] for each in everybody):.1f} s"
    yield ", ".join(f"{n:,} {what}" for what, n in sorted(world.told.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--pause", type=float, default=0.01, help="seconds that a client waits between lists")
    parser.add_argument("--lease", type=float, default=5.0)
    parser.add_argument("--stopped", type=float, default=20.0, help="seconds that a worker stands still")
    parser.add_argument("--log", default="/dev/null", help="file for what the workers log")
    given = parser.parse_args()
    with ExitStack() as stack:
        server = stack.enter_context(postgres_server.running())
        world = World(server, workers=given.workers, lease=given.lease, partitions=given.partitions)
        log = stack.enter_context(open(given.log, "w"))
        with world.running(log, given.rounds * SECONDS_PER_ROUND):
            everybody = torment(
                world, rounds=given.rounds, clients=given.clients, stopped=given.stopped, calm=2.0, pause=given.pause
            )  # fmt: skip
        world.check(everybody)
        print("\n".join(report(world, everybody)))


if __name__ == "__main__":
    main()
