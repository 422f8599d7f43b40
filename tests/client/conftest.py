"""Both clients, as one: tests call them alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from service_client import Running, served

import rankloop as rl
from rankloop.service.limits import Limits

LIMITS = Limits(guesses=0.0, browser_rate=0.0, patience=30.0)
"""None that a test would run into by being quick, or on a busy machine."""

Make = Callable[..., Any]


class Awaited:
    """An AsyncClient that is called like a Client."""

    def __init__(self, runner: asyncio.Runner, *arguments: Any, **options: Any) -> None:
        self._runner, self._client = runner, rl.AsyncClient(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name == "loops":
            return self._run(found)
        return (lambda *a, **k: self._run(found, *a, **k)) if asyncio.iscoroutinefunction(found) else found

    def _run(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        result = self._runner.run(call(*arguments, **options))
        if isinstance(result, rl.client.AsyncShown):
            following, run = result.next_page, self._run
            result.__class__ = type("Paged", (type(result),), {"next_page": lambda _: run(following)})
        return result


@pytest.fixture(params=("threads", "asyncio"))
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes clients of either kind; they are closed in the end."""
    made: list[Any] = []
    with asyncio.Runner() as runner:

        def new(address: str, key: str = "rl_a_key", **options: Any) -> Any:
            either = rl.Client if request.param == "threads" else lambda *a, **k: Awaited(runner, *a, **k)
            made.append(either(address, key, **options))
            return made[-1]

        yield new
        for client in made:
            client.close()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service that the tests share."""
    with served(tmp_path_factory.mktemp("client") / "shop.db", limits=LIMITS) as service:
        yield service
