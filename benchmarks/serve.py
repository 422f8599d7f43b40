"""How fast `rankloop serve` is, beside an endpoint that does nothing on the same server, and beside its targets.

One worker, 32 keep-alive connections, BubbleRank with 10 items over 1,000 keys: durable rank + click pairs with SQLite
(synchronous=FULL) and with PostgreSQL (fsync), how long lists and clicks take at half of that load, events in batches
of 100, what it costs when the other of two workers has to be asked, and how long a service takes to start. The load
generator is a process of its own on the same machine: both share its cores.

PostgreSQL is started in a temporary folder; what needs it is left out where its programs are not installed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvloop

import rankloop as rl
from rankloop.live.partition_ids import partition_of

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import postgres_server

CONNECTIONS = 32
ITEMS = [f"item-{i}" for i in range(10)]
KEYS = [f"query {i}" for i in range(1_000)]
ADMIN = "the-key-of-the-benchmark"
BATCH = 100
HALF = 2_500
"""Pairs per second: half of what one worker is to reach with SQLite."""
PARTITIONS = 8
"""Of the store that two workers share."""

EMPTY = """
import sys, uvicorn
async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"{}"})
uvicorn.run(app, port=int(sys.argv[1]), loop="uvloop", http="httptools", lifespan="off", access_log=False,
            log_level="error", server_header=False, date_header=False)
"""


def request(method: str, path: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ADMIN}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class Connection(asyncio.Protocol):
    """One keep-alive connection: sends a request, and hands the answer's body on."""

    def __init__(self) -> None:
        self._got = b""
        self._answer: asyncio.Future[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._got += data
        end = self._got.find(b"\r\n\r\n")
        if end < 0:
            return
        start = self._got.find(b"content-length: ") + 16
        length = int(self._got[start : self._got.find(b"\r\n", start)])
        if len(self._got) < end + 4 + length:
            return
        assert self._answer is not None
        if not self._got.startswith(b"HTTP/1.1 20"):
            self._answer.set_exception(RuntimeError(self._got.decode()))
        else:
            self._answer.set_result(self._got[end + 4 :])
        self._got = b""

    def ask(self, message: bytes) -> asyncio.Future[bytes]:
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(message)
        return self._answer


async def load(port: int, seconds: float, work: Callable, rate: float = 0.0) -> tuple[float, dict[str, list[float]]]:
    """Rounds of work per second on all connections together, and the times of each kind of request."""
    loop = asyncio.get_running_loop()
    times: dict[str, list[float]] = {}
    done = 0
    begun = time.perf_counter()

    async def one(number: int) -> None:
        nonlocal done
        _, connection = await loop.create_connection(Connection, "127.0.0.1", port)
        chance = random.Random(number)
        planned = begun + (number / CONNECTIONS) * (CONNECTIONS / rate if rate else 0.0)
        while (now := time.perf_counter()) < begun + seconds:
            if rate:
                if planned > now:
                    await asyncio.sleep(planned - now)
                planned += CONNECTIONS / rate
            await work(connection, chance, times)
            done += 1
        connection.transport.close()

    await asyncio.gather(*(one(number) for number in range(CONNECTIONS)))
    return done / (time.perf_counter() - begun), times


async def timed(connection: Connection, what: str, message: bytes, times: dict[str, list[float]]) -> bytes:
    start = time.perf_counter()
    body = await connection.ask(message)
    times.setdefault(what, []).append(time.perf_counter() - start)
    return body


RANKS = [
    request("POST", "/v1/loops/search/rank", json.dumps({"key": key, "items": ITEMS, "user": "u1"}).encode())
    for key in KEYS
]


async def pair(connection: Connection, chance: random.Random, times: dict[str, list[float]]) -> None:
    await pair_for(connection, chance.choice(RANKS), chance, times)


async def pair_for(connection: Connection, rank: bytes, chance: random.Random, times: dict[str, list[float]]) -> None:
    body = await timed(connection, "rank", rank, times)
    id_ = body[7 : body.index(b'"', 7)]
    event = b'{"impression":"' + id_ + b'","item":"item-' + str(chance.randrange(10)).encode() + b'"}'
    answer = await timed(connection, "click", request("POST", "/v1/events", event), times)
    assert answer == b'{"fate":"accepted"}', answer


async def empty(connection: Connection, chance: random.Random, times: dict[str, list[float]]) -> None:
    await timed(connection, "empty", request("POST", "/", b"{}"), times)


def batches(ids: Iterator[bytes]) -> Callable:
    async def batch(connection: Connection, chance: random.Random, times: dict[str, list[float]]) -> None:
        events = b",".join(b'{"impression":"' + next(ids) + b'","item":"item-3"}' for _ in range(BATCH))
        answer = await timed(connection, "batch", request("POST", "/v1/events", b"[" + events + b"]"), times)
        assert answer.count(b"accepted") == BATCH, answer

    return batch


async def prepare(port: int, window: str = "30 min") -> None:
    _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    settings = {"kind": "rerank", "holdout": 0.0, "seed": 1, "window": window}
    await connection.ask(request("PUT", "/v1/loops/search", json.dumps(settings).encode()))
    for message in RANKS:
        await connection.ask(message)
    connection.transport.close()


async def many_ids(port: int, n: int) -> list[bytes]:
    found: list[bytes] = []

    async def one(number: int) -> None:
        _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
        chance = random.Random(number)
        while len(found) < n:
            body = await connection.ask(chance.choice(RANKS))
            found.append(body[7 : body.index(b'"', 7)])
        connection.transport.close()

    await asyncio.gather(*(one(number) for number in range(CONNECTIONS)))
    return found


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A program that runs meanwhile; what it logs is printed if something fails."""
    environment = {**os.environ, "RANKLOOP_ADMIN_KEY": ADMIN}
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        try:
            yield process
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read())
            raise
        finally:
            process.terminate()
            process.wait(60)


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def wait_for(port: int) -> None:
    import socket

    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.05)


def cpu(process: subprocess.Popen[str]) -> float:
    """Seconds of processor time that a process has taken, where Linux tells."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def quantile(values: list[float], q: float) -> float:
    return 1000 * sorted(values)[min(len(values) - 1, int(q * len(values)))]


class Table:
    """What was measured beside what was to be reached; each line is printed as soon as it is known."""

    WIDTHS = (66, 10, 14)

    def __init__(self) -> None:
        self._print("what", "target", "measured")
        self._print(*("-" * width for width in self.WIDTHS))

    def _print(self, *words: str) -> None:
        print("  ".join(word.ljust(width) for word, width in zip(words, self.WIDTHS, strict=True)), flush=True)

    def add(self, what: str, target: str, value: float, unit: str = "", digits: int = 0) -> None:
        """Add a line."""
        self._print(what, target, f"{value:,.{digits}f}{unit}")


def times_at(table: Table, when: str, times: dict[str, list[float]], target: str) -> None:
    """How long each kind of request took."""
    for what, values in times.items():
        table.add(f"{what} {when}: p50", "", quantile(values, 0.5), " ms", 1)
        table.add(f"{what} {when}: p99", target, quantile(values, 0.99), " ms", 1)


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A service that runs meanwhile: its port and its process."""
    with started([sys.executable, "-m", "rankloop", "serve", "--port", "0", *arguments]) as server:
        assert server.stdout is not None
        yield int(server.stdout.readline().rsplit(":", 1)[1]), server


def send_batches(port: int, server: subprocess.Popen[str], n: int) -> tuple[float, float]:
    """Events per second in batches, and seconds of processor time of each."""
    ids = iter(uvloop.run(many_ids(port, (n + CONNECTIONS) * BATCH)))
    begun, used = time.perf_counter(), cpu(server)

    async def send_all() -> None:
        left, send, loop = iter(range(n)), batches(ids), asyncio.get_running_loop()

        async def one() -> None:
            _, connection = await loop.create_connection(Connection, "127.0.0.1", port)
            for _ in left:
                await send(connection, random.Random(0), {})
            connection.transport.close()

        await asyncio.gather(*(one() for _ in range(CONNECTIONS)))

    uvloop.run(send_all())
    return n * BATCH / (time.perf_counter() - begun), (cpu(server) - used) / (n * BATCH)


def on_sqlite(table: Table, folder: Path, seconds: float, n_batches: int, window: str) -> None:
    """One worker with SQLite, beside an endpoint that does nothing."""
    empty_port = free_port()
    with (
        serving("--store", str(folder / "shop.db")) as (port, server),
        started([sys.executable, "-c", EMPTY, str(empty_port)]) as nothing,
    ):
        wait_for(empty_port)
        uvloop.run(prepare(port, window))
        before = uvloop.run(load(empty_port, seconds, empty))[0]
        used = cpu(server)
        pairs, times = uvloop.run(load(port, seconds, pair))
        used = (cpu(server) - used) / (pairs * seconds)
        taken = cpu(nothing)
        after = uvloop.run(load(empty_port, seconds, empty))[0]
        taken = (cpu(nothing) - taken) / (after * seconds)
        nothing_rate = (before + after) / 2
        table.add("requests per second of an empty endpoint", "", nothing_rate)
        table.add("SQLite: durable pairs per second", ">= 5,000", pairs)
        table.add("the same: its requests by those of the empty endpoint", ">= 0.25", 2 * pairs / nothing_rate, "", 2)
        table.add("the same: by processor time", "", 2 * taken / used, "", 2)
        table.add("the same: processor time per pair", "", 1e6 * used, " µs")
        times_at(table, "under full load", times, "")
        for rate, told in ((HALF, f"at {HALF:,} pairs per second"), (pairs / 2, "at half of what was reached")):
            reached, times = uvloop.run(load(port, seconds, pair, rate=rate))
            short = "" if reached > 0.95 * rate else f" (only {reached:,.0f} were reached)"
            times_at(table, told + short, times, "< 10 ms")
        rate, used = send_batches(port, server, n_batches)
        table.add(f"events per second in batches of {BATCH}", ">= 40,000", rate)
        table.add("the same: processor time per event", "", 1e6 * used, " µs")


def on_postgres(table: Table, server: postgres_server.Server, seconds: float, window: str) -> None:
    """One worker with PostgreSQL."""
    with serving("--store", server.empty_database("one")) as (port, _):
        uvloop.run(prepare(port, window))
        pairs, times = uvloop.run(load(port, seconds, pair))
        table.add("PostgreSQL: durable pairs per second", ">= 4,000", pairs)
        times_at(table, "with PostgreSQL, under full load", times, "")


def forwarding(table: Table, server: postgres_server.Server, n: int) -> None:
    """What it costs to ask the worker that does not own a key: the same keys by both ways, one request at a time."""
    store = server.empty_database("two")
    with serving("--store", store, "--partitions", str(PARTITIONS)) as (one, _), serving("--store", store) as (two, _):
        uvloop.run(prepare(one))
        ports = {one, two}
        while True:  # until each has its share
            held = server.sql(
                "SELECT partition, name FROM rankloop.partitions JOIN rankloop.workers USING (worker)", url=store
            )
            owners = {number: int(name.partition("/")[0].rpartition(":")[2]) for number, name in held}
            if [list(owners.values()).count(port) for port in ports] == [PARTITIONS // 2] * 2:
                break
            time.sleep(0.1)
        times = uvloop.run(by_both_ways(ports, owners, n))
    for what in ("rank", "click"):
        for q, target in ((0.5, ""), (0.99, "< 2 ms")):
            more = quantile(times[what, True], q) - quantile(times[what, False], q)
            table.add(f"{what} forwarded to another worker: more at p{100 * q:.0f}", target, more, " ms", 2)


async def by_both_ways(ports: set[int], owners: dict[int, int], n: int) -> dict[tuple[str, bool], list[float]]:
    """Times of requests by what they are and whether they had to be forwarded."""
    loop = asyncio.get_running_loop()
    connections = {port: (await loop.create_connection(Connection, "127.0.0.1", port))[1] for port in ports}
    times: dict[tuple[str, bool], list[float]] = {
        (what, far): [] for what in ("rank", "click") for far in (True, False)
    }
    chance = random.Random(1)
    for _ in range(n):
        number = chance.randrange(len(KEYS))
        owner = owners[partition_of("search", KEYS[number], PARTITIONS)]
        for port in ports:
            timed_here: dict[str, list[float]] = {}
            await pair_for(connections[port], RANKS[number], chance, timed_here)
            for what, (seconds,) in timed_here.items():
                times.setdefault((what, port != owner), []).append(seconds)
    for connection in connections.values():
        connection.transport.close()
    return times


def starting(table: Table, folder: Path, keys: int, runs: int) -> None:
    """How long it takes from the start of the command until the service is ready, with many keys in the store."""
    store = folder / "many.db"
    with rl.Live(store, background=False) as live:
        live.create("search", kind="rerank", holdout=0.0, seed=1)
        for number in range(keys):
            live.rank("search", f"query {number}", ITEMS)
            if number % 1_000 == 0:
                live.attend()
    taken = []
    for _ in range(runs):
        port = free_port()
        begun = time.perf_counter()
        with started([sys.executable, "-m", "rankloop", "serve", "--store", str(store), "--port", str(port)]):
            while not is_ready(port):
                time.sleep(0.01)
            taken.append(time.perf_counter() - begun)
    table.add(f"from start to ready with {keys:,} keys, warm code cache", "< 3 s", statistics.median(taken), " s", 2)


def is_ready(port: int) -> bool:
    """Whether a service answers, and says that it is ready."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each measurement")
    parser.add_argument("--batches", type=int, default=300, help="number of batches of 100 events")
    parser.add_argument("--window", default="30 min", help="window of impressions; a short one adds learning")
    parser.add_argument("--keys", type=int, default=100_000, help="keys in the store of a service that starts")
    parser.add_argument("--quick", action="store_true", help="only see that it works: figures mean nothing")
    given = parser.parse_args()
    if given.quick:
        given.seconds, given.batches, given.keys = 0.3, 5, 500
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        on_sqlite(table, Path(folder), given.seconds, given.batches, given.window)
        starting(table, Path(folder), given.keys, 1 if given.quick else 3)
    if postgres_server.programs() is None:
        print("PostgreSQL's server is not installed (Debian: apt-get install postgresql): what needs it is left out")
        return
    with postgres_server.running(settings=()) as server:
        on_postgres(table, server, given.seconds, given.window)
        forwarding(table, server, 20 if given.quick else 1_000)


if __name__ == "__main__":
    main()
