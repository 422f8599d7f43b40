"""Several workers on a real PostgreSQL under load, while everything that can happen to them happens.

    python tests/service/fleet_chaos.py --rounds 3

Workers are killed, and stopped and continued; the database is restarted, connections to it are cut, and its disk is
full; all workers are replaced one after the other. After each of these: every partition answers again, held by exactly
one worker; every event that was acknowledged is in the journal, once; the journal replays; and every request got an
answer, at once or when it was sent again. Everything talks to this machine alone, and ends by itself.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import signal
import subprocess
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
from cut_connections import Proxy
from live_world import Told, in_journal
from service_client import ADMIN

import rankloop as rl
from rankloop.live.partitions import partition_named, partition_of
from rankloop.live.postgres import PostgresStore

KEYS = 40
WINDOW = 5.0
ITEMS = ["a", "b", "c", "d", "e"]
PATIENCE = 4.0
"""Seconds after which a client gives up on a connection."""
MOST_SECONDS = 60.0
"""How long a request may take to be answered, with everything that is done to the workers."""
RECOVERED_WITHIN = 10.0
FULL_AT = 20_000_000
"""Bytes of a file that the database may not extend any further, where its disk is to be full."""


class Client:
    """Somebody who asks for lists and clicks, and sends again what was not answered."""

    def __init__(self, port: int, seed: int, told: Counter[str], pause: float = 0.0) -> None:
        self._port, self._chance, self.told, self._pause = port, random.Random(seed), told, pause
        self._connection: http.client.HTTPConnection | None = None
        self.acknowledged: list[tuple[str, int]] = []
        self.failures: list[str] = []
        self.longest = 0.0
        self.patience = PATIENCE

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """What is answered; OSError if the connection breaks, or nothing comes for a while."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=self.patience)
        try:
            content = None if body is None else json.dumps(body)
            self._connection.request(method, path, content, {"Authorization": f"Bearer {ADMIN}"})
            answer = self._connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise OSError(f"{type(error).__name__}: {error}") from None
        return answer.status, json.loads(data) if "json" in answer.headers["content-type"] else data.decode()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def until_answered(self, path: str, body: Any) -> Any:
        """What is answered in the end; how often it took another try is counted."""
        begun = time.monotonic()
        while True:
            try:
                status, answer = self.ask("POST", path, body)
            except OSError:
                self.told["connections lost"] += 1
            else:
                if status == 200:
                    self.longest = max(self.longest, time.monotonic() - begun)
                    return answer
                assert status == 503, (status, answer)
                self.told["sent again after 503"] += 1
            if time.monotonic() - begun > MOST_SECONDS:
                raise AssertionError(f"{path} was not answered")
            time.sleep(0.1)

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
        body = {"key": f"key {self._chance.randrange(KEYS)}", "items": ITEMS}
        shown = self.until_answered("/v1/loops/search/rank", body)
        self.told["lists"] += 1
        if shown.get("fallback"):
            self.told["of them production's"] += 1
            return
        if self._chance.random() < 0.6:
            item = self._chance.choice(shown["items"])
            heard = self.until_answered("/v1/events", {"impression": shown["id"], "item": item})
            self.told[f"events {heard['fate']}"] += 1
            if heard["fate"] in ("accepted", "duplicate"):
                self.acknowledged.append((shown["id"], shown["items"].index(item)))


class World:
    """Workers, their database, and the load on them."""

    def __init__(self, server: postgres_server.Server, *, workers: int, lease: float, partitions: int) -> None:
        self.server, self.workers, self.lease, self.partitions = server, workers, lease, partitions
        self.direct = server.empty_database("fleet")
        self.proxy = Proxy(server.socket)
        self.url = f"postgresql://tester@127.0.0.1:{self.proxy.port}/fleet"
        self.told: Counter[str] = Counter()
        self.chance = random.Random(1)
        self.recoveries: dict[str, list[float]] = {}

    @contextmanager
    def running(self, log: Any) -> Iterator[None]:
        """The workers run meanwhile."""
        command = [
            sys.executable, "-m", "rankloop", "serve", "--port", "0", "--store", self.url, "--workers",
            str(self.workers), "--partitions", str(self.partitions), "--lease", str(self.lease),
        ]  # fmt: skip
        environment = processes.environment(RANKLOOP_ADMIN_KEY=ADMIN)
        with processes.started(command, env=environment, stderr=log) as self.supervisor:
            assert self.supervisor.stdout is not None
            line = self.supervisor.stdout.readline()
            assert "http://" in line, line
            self.port = int(line.rsplit(":", 1)[1])
            self.client = Client(self.port, 0, self.told)
            self.client.patience = MOST_SECONDS  # the first worker compiles
            status, answer = self.client.ask(
                "PUT", "/v1/loops/search", {"kind": "rerank", "positions": 3, "window": WINDOW, "holdout": 0.1}
            )
            assert status == 201, answer
            self.client.close()
            self.client.patience = PATIENCE
            try:
                yield
            finally:
                self.client.close()
                self.proxy.close()
            self.supervisor.send_signal(signal.SIGTERM)
            assert self.supervisor.wait(60) == 0

    @contextmanager
    def load(self, clients: int, seed: int, pause: float) -> Iterator[list[Client]]:
        """Clients ask and click meanwhile."""
        stop = threading.Event()
        made = [Client(self.port, seed * 100 + number, self.told, pause) for number in range(1, clients + 1)]
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
        folder = Path(f"/proc/{self.supervisor.pid}/task")
        children = " ".join((task / "children").read_text() for task in folder.iterdir())
        return [int(pid) for pid in children.split()]

    def owned(self) -> int:
        """Partitions that workers say they own, together."""
        status, text = self.client.ask("GET", "/metrics")
        assert status == 200, text
        return sum(int(n) for n in re.findall(r"^rankloop_partitions_owned\{.*\} (\d+)", text, re.MULTILINE))

    def answers(self, number: int) -> bool:
        """Whether a partition gives lists, and acknowledges events."""
        key = next(key for key in map(str, range(10_000)) if partition_of("search", key, self.partitions) == number)
        status, shown = self.client.ask("POST", "/v1/loops/search/rank", {"key": key, "items": ITEMS})
        if status != 200 or shown.get("fallback"):
            return False
        event = {"impression": shown["id"], "item": shown["items"][0]}
        return self.client.ask("POST", "/v1/events", event) == (200, {"fate": "accepted"})

    def recovered(self, since: float) -> float:
        """Wait until all partitions answer, each held by one worker; the seconds since a moment."""
        while True:
            with suppress(OSError, AssertionError):
                if all(map(self.answers, range(self.partitions))) and self.owned() == self.partitions:
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

    def kill(self) -> float:
        """A worker is killed."""
        pid = self.chance.choice(self.pids())
        begun = time.monotonic()
        subprocess.run(["kill", "-9", str(pid)], check=True)
        return begun

    def stop_and_continue(self, seconds: float) -> float:
        """A worker stands still, others take over from it, and it wakes up."""
        pid = self.chance.choice(self.pids())
        begun = time.monotonic()
        subprocess.run(["kill", "-STOP", str(pid)], check=True)
        try:
            self.note("a worker stopped: taken over", self.recovered(begun))
            time.sleep(max(0.0, seconds - (time.monotonic() - begun)))
        finally:
            subprocess.run(["kill", "-CONT", str(pid)], check=True)
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
        """The file of the journal cannot grow: the server says that its disk is full."""
        size = "SELECT pg_relation_size('rankloop.journal')"
        missing = FULL_AT - self.server.sql(size, url=self.direct)[0][0]
        if missing > 0:  # the files of the server's own log are smaller, and are not to be refused
            self.server.sql(
                "INSERT INTO rankloop.journal SELECT 9999, number, 0, 0, 0, NULL, "
                "convert_to(string_agg(md5(number::text || part::text), ''), 'UTF8') "
                "FROM generate_series(1, %s) AS number, generate_series(1, 60) AS part GROUP BY number",
                missing // 2_000 + 10,
                url=self.direct,
            )
        refused = self.told["sent again after 503"]
        self.server.limit_files(self.server.sql(size, url=self.direct)[0][0])
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
            assert time.monotonic() < until, "the workers were not replaced"
            time.sleep(0.1)
        for word in ("connections lost", "sent again after 503"):
            failed = self.told[word] - before.get(word, 0)
            self.note(f"all replaced: requests {word}", failed)
            assert not failed, f"{failed} requests failed while workers were replaced: {word}"
        return time.monotonic()

    def note(self, what: str, value: float) -> None:
        self.recoveries.setdefault(what, []).append(value)


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
        "connections cut": world.cut_connections,
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
                world.note(name, world.recovered(since))
                time.sleep(calm)
            print(f"{name}: all partitions answered after {world.recoveries[name][-1]:.1f} s, "
                  f"{world.check(everybody):,} entries are whole", flush=True)  # fmt: skip
            assert world.recoveries[name][-1] < RECOVERED_WITHIN
            while len(world.pids()) < world.workers:  # one that was killed is started again
                time.sleep(0.1)
    return everybody


def report(world: World, everybody: list[Client]) -> Iterator[str]:
    """What happened, in lines."""
    for what, values in world.recoveries.items():
        yield f"{what}: {', '.join(f'{value:.1f}' for value in values)}"
    acknowledged = sum(len(each.acknowledged) for each in everybody)
    yield f"{acknowledged:,} events acknowledged; the longest wait for an answer was " + (
        f"{max(each.longest for each in everybody):.1f} s"
    )
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
        with world.running(log):
            everybody = torment(
                world, rounds=given.rounds, clients=given.clients, stopped=given.stopped, calm=2.0, pause=given.pause
            )  # fmt: skip
        world.check(everybody)
        print("\n".join(report(world, everybody)))


if __name__ == "__main__":
    main()
