"""What workers say to each other: who is let in, and what is refused."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import msgspec
import pytest

from rankloop.service.fleet import frames, peers
from rankloop.service.fleet.frames import Answer, Forward, Question, Told
from rankloop.service.fleet.peers import Answered, Asked, Listening, Peer, PeerLost

SECRET = frames.peer_secret(b"the store's secret")
SECONDS = 60.0


def run(doing: Coroutine[Any, Any, Any]) -> Any:
    async def limited() -> Any:
        async with asyncio.timeout(SECONDS):
            return await doing

    return asyncio.run(limited())


async def echo(asked: Asked) -> Answered:
    if isinstance(asked, Forward):
        return Answer(asked.number, 200, asked.body)
    if asked.what == "slow":
        await asyncio.sleep(0.2)
    if asked.what == "fail":
        raise ArithmeticError("a bug")
    return Told(asked.number, asked.arguments)


async def listening(answer: Callable[[Asked], Awaitable[Answered]] = echo) -> tuple[Listening, str]:
    server = Listening(SECRET, answer)
    return server, await server.open("127.0.0.1")


def ask(what: str, *arguments: Any) -> Callable[[int], Asked]:
    return lambda number: Question(number, what, list(arguments))


def test_many_questions_at_once_get_their_own_answers() -> None:
    async def scene() -> None:
        server, address = await listening()
        peer = Peer(address, SECRET)
        questions = [peer.ask(ask("slow" if n % 7 == 0 else "echo", n), SECONDS) for n in range(100)]
        answers = await asyncio.gather(*questions)
        assert [answer.value for answer in answers if isinstance(answer, Told)] == [[n] for n in range(100)]
        body = bytes(3_000_000)
        answer = await peer.ask(lambda number: Forward(number, "rank", {"loop": "é"}, body, [], "1"), SECONDS)
        assert isinstance(answer, Answer)
        assert answer.body == body
        peer.close()
        server.close()

    run(scene())


def test_a_bug_there_is_told() -> None:
    async def scene() -> None:
        server, address = await listening()
        peer = Peer(address, SECRET)
        answer = await peer.ask(ask("fail"), SECONDS)
        assert isinstance(answer, Told)
        assert answer.error == "ArithmeticError: a bug"
        peer.close()
        server.close()

    run(scene())


def test_who_does_not_know_the_secret_is_not_heard() -> None:
    heard: list[Asked] = []

    async def note(asked: Asked) -> Answered:
        heard.append(asked)
        return Told(asked.number, None)

    async def scene() -> None:
        server, address = await listening(note)
        peer = Peer(address, frames.peer_secret(b"another"))
        with pytest.raises(PeerLost):
            await peer.ask(ask("look"), SECONDS)
        server.close()

    run(scene())
    assert not heard


def test_an_impostor_that_listens_gets_nothing() -> None:
    """Who answers must prove itself too, before it is asked anything."""
    got = bytearray()

    async def impostor(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((32).to_bytes(4, "big") + bytes(32))
        got.extend(await reader.read(1_000))
        await asyncio.sleep(0.05)
        writer.write((32).to_bytes(4, "big") + bytes(32))
        got.extend(await reader.read(1_000))
        writer.close()

    async def scene() -> None:
        server = await asyncio.start_server(impostor, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        peer = Peer(f"127.0.0.1:{port}", SECRET)
        with pytest.raises(PeerLost):
            await peer.ask(ask("look at my secrets"), SECONDS)
        server.close()

    run(scene())
    assert b"secrets" not in got


async def rest(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """What still comes until the other side ends the connection."""
    got = b""
    with contextlib.suppress(ConnectionResetError):
        while data := await reader.read(1_000):
            got += data
    writer.close()
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        await writer.wait_closed()
    return got


async def proven(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that has been let in, by hand."""
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    theirs = (await reader.readexactly(36))[4:]
    mine = bytes(range(32))
    for message in (mine, frames.proof(SECRET, b"asks", theirs, mine)):
        writer.write(len(message).to_bytes(4, "big") + message)
    await reader.readexactly(36)
    return reader, writer


@pytest.mark.parametrize(
    "frame",
    [
        (frames.LARGEST + 1).to_bytes(4, "big"),
        (3).to_bytes(4, "big") + b"\xc1\xc1\xc1",
        (1).to_bytes(4, "big") + b"\x01",
        msgspec.msgpack.encode(["q", "no number", "look", []]),
        msgspec.msgpack.encode(["x", 1, "look", []]),
        msgspec.msgpack.encode(["q", 1, "look", []]) + b"more",
        b"\x91" * 100_000,
    ],
    ids=["too large", "no MessagePack", "a number", "a field", "a tag", "too long", "nested"],
)
def test_what_makes_no_sense_ends_the_connection(frame: bytes) -> None:
    async def scene() -> None:
        server, address = await listening()
        reader, writer = await proven(address)
        if int.from_bytes(frame[:4], "big") != len(frame) - 4 and len(frame) != 4:
            writer.write(len(frame).to_bytes(4, "big"))
        writer.write(frame)
        assert await rest(reader, writer) == b""
        peer = Peer(address, SECRET)  # others are served as before
        answer = await peer.ask(ask("echo", 1), SECONDS)
        assert isinstance(answer, Told)
        peer.close()
        server.close()

    run(scene())


@pytest.mark.parametrize(
    "data",
    [
        (frames.LARGEST_BEFORE + 1).to_bytes(4, "big"),
        (5).to_bytes(4, "big") + b"hello",
        b"GET / HTTP/1.1\r\n\r\n",
        ((32).to_bytes(4, "big") + bytes(32)) * 2,
    ],
    ids=["too large", "no random number", "HTTP", "no proof"],
)
def test_strangers_are_sent_away(data: bytes) -> None:
    async def scene() -> None:
        server, address = await listening()
        host, port = address.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(data)
        assert len(await rest(reader, writer)) <= 36  # the random number, and then the end
        server.close()

    run(scene())


def test_who_says_nothing_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "SECONDS_TO_PROVE", 0.1)

    async def scene() -> None:
        server, address = await listening()
        host, port = address.split(":")
        assert len(await rest(*await asyncio.open_connection(host, int(port)))) == 36
        server.close()

    run(scene())


def test_an_answer_that_comes_too_late_is_not_forgotten() -> None:
    late: list[Answered] = []

    async def scene() -> None:
        server, address = await listening()
        peer = Peer(address, SECRET)
        with pytest.raises(TimeoutError):
            await peer.ask(ask("slow", "too late"), 0.05, late.append)
        await peer.ask(ask("slow"), SECONDS)
        peer.close()
        server.close()

    run(scene())
    assert [answer.value for answer in late if isinstance(answer, Told)] == [["too late"]]


def test_a_peer_that_goes_away_and_comes_back() -> None:
    async def scene() -> None:
        server, address = await listening()
        peer = Peer(address, SECRET)
        asked = asyncio.ensure_future(peer.ask(ask("slow"), SECONDS))
        await asyncio.sleep(0.05)
        server.close()
        with pytest.raises(PeerLost):
            await asked
        with pytest.raises(PeerLost):
            await peer.ask(ask("echo"), SECONDS)

    run(scene())


def test_too_many_questions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "MOST_WAITING", 3)

    async def scene() -> None:
        server, address = await listening()
        peer = Peer(address, SECRET)
        await peer.ask(ask("echo"), SECONDS)
        answers = await asyncio.gather(*(peer.ask(ask("slow"), SECONDS) for _ in range(5)), return_exceptions=True)
        assert sum(isinstance(answer, PeerLost) for answer in answers) == 2
        peer.close()
        server.close()

    run(scene())
