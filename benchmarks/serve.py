"""Durable rank + click pairs per second of `rankloop serve`, beside an endpoint that does nothing on the same server.

One worker, 32 keep-alive connections, BubbleRank with 10 items over 1,000 keys, SQLite with synchronous=FULL (or
PostgreSQL with --store). The load generator is a process of its own, on the same machine: both share its cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvloop

CONNECTIONS = 32
ITEMS = [f"item-{i}" for i in range(10)]
KEYS = [f"query {i}" for i in range(1_000)]
ADMIN = "the-key-of-the-benchmark"
BATCH = 100

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


Step = Callable[[Connection, random.Random], "asyncio.Future[None]"]


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
    body = await timed(connection, "rank", chance.choice(RANKS), times)
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
def started(command: list[str], **more: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "RANKLOOP_ADMIN_KEY": ADMIN, **more}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield process
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


def told(times: dict[str, list[float]]) -> str:
    return ", ".join(f"{what} p50 {quantile(v, 0.5):.1f} p99 {quantile(v, 0.99):.1f} ms" for what, v in times.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each measurement")
    parser.add_argument("--store", default="", help="store to serve from, if not an SQLite file of its own")
    parser.add_argument("--batches", type=int, default=300, help="number of batches of 100 events")
    parser.add_argument("--window", default="30 min", help="window of impressions; a short one adds learning")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = arguments.store or str(Path(folder) / "shop.db")
        command = [sys.executable, "-m", "rankloop", "serve", "--store", store, "--port", "0"]
        empty_port = free_port()
        with started(command) as server, started([sys.executable, "-c", EMPTY, str(empty_port)]) as nothing_server:
            assert server.stdout is not None
            port = int(server.stdout.readline().rsplit(":", 1)[1])
            wait_for(empty_port)
            uvloop.run(prepare(port, arguments.window))
            rates, taken = [], cpu(nothing_server)
            rates.append(uvloop.run(load(empty_port, arguments.seconds, empty))[0])
            used = cpu(server)
            pairs, times = uvloop.run(load(port, arguments.seconds, pair))
            used = (cpu(server) - used) / (pairs * arguments.seconds)
            rates.append(uvloop.run(load(empty_port, arguments.seconds, empty))[0])
            nothing = sum(rates) / 2
            taken = (cpu(nothing_server) - taken) / (2 * nothing * arguments.seconds)
            print(f"empty endpoint: {nothing:,.0f} requests per second, {1e6 * taken:.0f} µs of processor time each")
            print(
                f"pairs: {pairs:,.0f} durable pairs per second ({told(times)}), {1e6 * used:.0f} µs of processor time "
                f"each; {2 * pairs / nothing:.2f} of the empty endpoint's requests, {2 * taken / used:.2f} by time"
            )
            half, times = uvloop.run(load(port, arguments.seconds, pair, rate=pairs / 2))
            print(f"at half of that load: {half:,.0f} pairs per second ({told(times)})")
            ids = iter(uvloop.run(many_ids(port, (arguments.batches + CONNECTIONS) * BATCH)))
            begun, used, n = time.perf_counter(), cpu(server), arguments.batches

            async def send_all() -> None:
                left = iter(range(n))
                send = batches(ids)
                loop = asyncio.get_running_loop()

                async def one() -> None:
                    _, connection = await loop.create_connection(Connection, "127.0.0.1", port)
                    for _ in left:
                        await send(connection, random.Random(0), {})
                    connection.transport.close()

                await asyncio.gather(*(one() for _ in range(CONNECTIONS)))

            uvloop.run(send_all())
            rate = n * BATCH / (time.perf_counter() - begun)
            used = (cpu(server) - used) / (n * BATCH)
            print(f"events in batches of {BATCH}: {rate:,.0f} per second, {1e6 * used:.0f} µs of processor time each")


if __name__ == "__main__":
    main()
