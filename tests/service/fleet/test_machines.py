"""Two machines that share a store: two supervisors with workers of their own, which reach each other by addresses."""

from __future__ import annotations

import http.client
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import processes
from postgres_server import Server
from prometheus_client.parser import text_string_to_metric_families
from service_client import ADMIN

from rankloop.live import Whole
from rankloop.live.partition_ids import partition_of

PARTITIONS = 6
ITEMS = ["a", "b", "c"]
SECONDS = 60.0


class Machine:
    """A service on one address."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, self.address = process, address
        host, port = address.removeprefix("http://").rsplit(":", 1)
        self._target = (host, int(port))

    def connect(self) -> http.client.HTTPConnection:
        """A connection; OSError if nobody listens."""
        connection = http.client.HTTPConnection(*self._target, timeout=SECONDS)
        connection.connect()
        return connection

    def get(self, path: str) -> str:
        connection = self.connect()
        try:
            return answered(connection, "GET", path)[1].decode()
        finally:
            connection.close()

    def owned(self) -> dict[str, float]:
        """Partitions by worker, as one scrape tells."""
        found = {family.name: family for family in text_string_to_metric_families(self.get("/metrics"))}
        assert {sample.value for sample in found["rankloop_partitions"].samples} == {PARTITIONS}
        return {sample.labels["worker"]: sample.value for sample in found["rankloop_partitions_owned"].samples}


def answered(
    connection: http.client.HTTPConnection, method: str, path: str, body: Any = None
) -> tuple[int, bytes]:  # fmt: skip
    content = None if body is None else json.dumps(body)
    connection.request(method, path, content, {"Authorization": f"Bearer {ADMIN}"})
    answer = connection.getresponse()
    return answer.status, answer.read()


@contextmanager
def machine(url: str, log: Path, *, workers: int, peer_host: str, peer_port: int) -> Iterator[Machine]:
    command = [
        sys.executable, "-m", "rankloop", "serve", "--port", "0", "--store", url, "--workers", str(workers),
        "--partitions", str(PARTITIONS), "--peer-host", peer_host, "--peer-port", str(peer_port),
    ]  # fmt: skip
    with open(log, "w") as errors:
        environment = processes.environment(RANKLOOP_ADMIN_KEY=ADMIN)
        with processes.started(command, env=environment, stderr=errors) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "http://" in line, log.read_text()
            yield Machine(process, line.split()[-1])


def free_ports(host: str, n: int) -> int:
    """The first of some ports that are free, one after the other."""
    chance = random.Random(time.monotonic_ns())
    while True:
        first = chance.randrange(20_000, 30_000)
        try:
            for port in range(first, first + n):
                socket.create_server((host, port)).close()
        except OSError:
            continue
        return first


class Balancer:
    """A load balancer and its clients: any machine gets any request; what could not be sent goes to the other one."""

    def __init__(self, machines: list[Machine], seed: int) -> None:
        self._machines, self._chance = machines, random.Random(seed)
        self._open: dict[Machine, http.client.HTTPConnection] = {}
        self.acknowledged = 0
        self.failures: list[str] = []

    def ask(self, path: str, body: Any) -> Any:
        for machine in self._chance.sample(self._machines, len(self._machines)):
            connection = self._open.get(machine)
            if connection is None or connection.sock is None:  # closed, because the last answer said so
                try:
                    connection = self._open[machine] = machine.connect()
                except OSError:
                    continue
            status, answer = answered(connection, "POST", path, body)
            assert status == 200, (status, answer)
            return json.loads(answer)
        raise AssertionError("no machine takes connections")

    def work(self, stop: threading.Event) -> None:
        try:
            while not stop.is_set():
                key = f"key {self._chance.randrange(60)}"
                shown = self.ask("/v1/loops/search/rank", {"key": key, "items": ITEMS})
                if shown.get("fallback"):  # an answer too, though nothing is learned from it
                    continue
                event = {"impression": shown["id"], "item": self._chance.choice(ITEMS)}
                assert self.ask("/v1/events", event) == {"fate": "accepted"}
                self.acknowledged += 1
                time.sleep(0.01)
        except Exception as error:
            self.failures.append(f"{type(error).__name__}: {error}")
        for connection in self._open.values():
            connection.close()


def key_of(partition: int) -> str:
    return next(key for key in map(str, range(10_000)) if partition_of("search", key, PARTITIONS) == partition)


def answers(machine: Machine, partition: int) -> bool:
    """Whether a list for a key of a partition is the loop's, and not production's because of something."""
    connection = machine.connect()
    try:
        body = {"key": key_of(partition), "items": ITEMS}
        status, answer = answered(connection, "POST", "/v1/loops/search/rank", body)
        assert status == 200, answer
        return not json.loads(answer).get("fallback")
    finally:
        connection.close()


def eventually(so: Any) -> None:
    until = time.monotonic() + SECONDS
    while not so():
        assert time.monotonic() < until, "it does not come to that"
        time.sleep(0.05)


def test_two_machines_share_a_store(postgres: Server, tmp_path: Path) -> None:
    url = postgres.empty_database("machines")
    hosts = ("127.0.0.1", "127.0.0.2")
    ports = [free_ports(host, 3) for host in hosts]
    with (
        machine(url, tmp_path / "one", workers=2, peer_host=hosts[0], peer_port=ports[0]) as one,
        machine(url, tmp_path / "two", workers=1, peer_host=hosts[1], peer_port=ports[1]) as two,
    ):
        connection = one.connect()
        settings = {"kind": "rerank", "holdout": 0}
        assert answered(connection, "PUT", "/v1/loops/search", settings)[0] == 201
        connection.close()
        eventually(lambda: sorted([*one.owned().values(), *two.owned().values()]) == [2, 2, 2])
        assert (len(one.owned()), len(two.owned())) == (2, 1), "a machine tells of its own workers"
        addresses = {address for (address,) in postgres.sql("SELECT address FROM rankloop.workers", url=url)}
        wanted = {f"{hosts[0]}:{ports[0]}", f"{hosts[0]}:{ports[0] + 1}", f"{hosts[1]}:{ports[1]}"}
        assert addresses == wanted
        for each in (one, two):
            for number in range(PARTITIONS):
                eventually(lambda each=each, number=number: answers(each, number))

        stop = threading.Event()
        clients = [Balancer([one, two], seed) for seed in range(3)]
        threads = [threading.Thread(target=each.work, args=(stop,)) for each in clients]
        for thread in threads:
            thread.start()
        try:
            eventually(lambda: sum(each.acknowledged for each in clients) > 50)
            one.process.send_signal(signal.SIGTERM)
            assert one.process.wait(SECONDS) == 0, (tmp_path / "one").read_text()
            so_far = sum(each.acknowledged for each in clients)
            eventually(
                lambda: sum(each.acknowledged for each in clients) > so_far + 50 or any(e.failures for e in clients)
            )
        finally:
            stop.set()
            for thread in threads:
                thread.join(SECONDS)
        assert [failure for each in clients for failure in each.failures] == []
        assert list(two.owned().values()) == [PARTITIONS]
        for number in range(PARTITIONS):
            eventually(lambda number=number: answers(two, number))
        two.process.send_signal(signal.SIGTERM)
        assert two.process.wait(SECONDS) == 0, (tmp_path / "two").read_text()
    with Whole(url) as whole:
        assert whole.status("search")["clicks"] == sum(each.acknowledged for each in clients)
        found = whole.verify()
        assert found.ok, found.differences
