"""The live loop over HTTP for programs that run on asyncio."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from rankloop.client.attempts import Answer, Call, Sending, Steps, Waiting, attempts
from rankloop.client.base import BaseClient
from rankloop.client.calls import merged
from rankloop.client.errors import ServiceAway
from rankloop.extras import extra
from rankloop.live.shown import LiveDuel, Shown

if TYPE_CHECKING:
    from rankloop.client.sending import AsyncSender
    from rankloop.live import LiveExplanation
    from rankloop.policies import SafetyReceipt

Result = TypeVar("Result")


class AsyncShown(Shown):
    """A list to show, whose next page is awaited."""

    async def next_page(self) -> AsyncShown:  # type: ignore[override]
        """The next page of an interleaved list."""
        following: Any = super().next_page()
        return await following


class AsyncClient(BaseClient):
    """`Client` for asyncio: the same methods with the same arguments, awaited.

    Parameters
    ----------
    url, key, timeout, patience, retries, positions, verify
        As in `Client`.

    Examples
    --------
    >>> async def page():
    ...     async with AsyncClient("http://127.0.0.1:9", "rl_a_key", timeout=0.1) as client:  # nobody listens there
    ...         return await client.rank("search", "laptop", ["sku-9", "sku-2"], user="u1")
    >>> asyncio.run(page()).fallback
    True
    """

    _lists: ClassVar[type[Shown]] = AsyncShown

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = 0.25,
        patience: float = 10.0,
        retries: int = 10,
        positions: int | Mapping[str, int] = 10,
        verify: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(url, key, timeout, patience, retries, positions)
        with extra("client", "a client of the service needs httpx"):
            from rankloop.client.sending import AsyncSender
        self._make_sender: Callable[[], AsyncSender] = lambda: AsyncSender(self._url, self._key, verify)
        self._sender: AsyncSender | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def _connected(self) -> AsyncSender:
        """What sends in the event loop that runs; another one's connections are of no use here."""
        loop = asyncio.get_running_loop()
        if self._sender is None or self._loop is not loop:
            self._sender, self._loop = self._make_sender(), loop
        return self._sender

    async def close(self) -> None:
        """Let go of all connections."""
        self._closed = True
        if self._sender is not None and self._loop is asyncio.get_running_loop():
            await self._sender.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _do(self, call: Call[Result]) -> Result:
        return await self._drive(attempts(call))

    async def _drive(self, steps: Steps[Result]) -> Result:
        self._check_open()
        sender = self._connected()
        try:
            step = next(steps)
            while True:
                try:
                    answer = await self._perform(sender, step)
                except ServiceAway as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as done:
            return done.value
        finally:
            steps.close()

    async def _perform(self, sender: AsyncSender, step: Sending | Waiting) -> Answer | None:
        if isinstance(step, Sending):
            return await sender.send(step)
        await asyncio.sleep(step.seconds)
        return None

    # -- lists ---------------------------------------------------------------------------------------------------

    async def rank(
        self,
        loop: str,
        key: str,
        items: Sequence[str],
        *,
        user: str | None = None,
        pinned: Mapping[int, str] | None = None,
        deferred: bool = False,
    ) -> Shown:
        """The list to show, from production's list; production's if the service is away. Bad arguments raise."""
        return await self._drive(self._guarded(self._calls.rank(loop, key, items, user, pinned, deferred)))

    async def duel(self, loop: str, key: str = "", *, user: str | None = None, default: str | None = None) -> LiveDuel:
        """The two rankers to run for the next user; the default one against itself if the service is away.

        Without a default, `ServiceAway` is raised.
        """
        return await self._drive(self._duel(self._calls.duel(loop, key, user, default)))

    async def interleave(
        self,
        duel: str | LiveDuel,
        lists: Mapping[str, Sequence[str]],
        *,
        positions: int | None = None,
        loop: str | None = None,
    ) -> AsyncShown:
        """One list of the two rankers' lists; the first of the lists if the service is away."""
        steps: Steps[Any] = self._interleaved(duel, lists, positions, loop)
        return await self._drive(steps)

    # -- events --------------------------------------------------------------------------------------------------

    async def _tell(self, event: Mapping[str, Any]) -> str:
        return "ignored" if event["impression"] == "" else await self._do(self._calls.event(event))

    async def click(
        self, impression: str, item: str, *, seen: int | None = None, at: float | None = None, event: str = ""
    ) -> str:
        """Tell of a click; what became of it, as in `Live.click`. One on a fallback is ignored."""
        told = {"impression": impression, "item": item, "seen": seen, "at": at, "id": event}
        return await self._tell(told)

    async def seen(self, impression: str, positions: int) -> str:
        """Tell that the first positions of an impression came into view, and no more."""
        return await self._tell({"impression": impression, "type": "seen", "seen": positions})

    async def shown(self, impression: str) -> str:
        """Say that a deferred list has been shown."""
        return await self._tell({"impression": impression, "type": "shown"})

    async def finish(self, impression: str, *, seen: int | None = None) -> str:
        """Close an impression before its window has passed; "late" if that has happened before."""
        return await self._tell({"impression": impression, "type": "finish", "seen": seen})

    async def events(self, batch: Iterable[Mapping[str, Any]]) -> list[str]:
        """Tell of many events, in as many requests as it takes; what became of each."""
        known, calls = self._calls.events(batch)
        return merged(known, [fate for call in calls for fate in await self._do(call)])

    # -- what is known, and what is changed ----------------------------------------------------------------------

    async def loops(self) -> tuple[str, ...]:
        """The names of all loops that the key may see."""
        return await self._do(self._calls.loops())

    async def status(self, loop: str | None = None) -> dict[str, Any]:
        """What a loop has counted and found; all loops by name if none is given."""
        return await self._do(self._calls.status(loop))

    async def best(self, loop: str, key: str = "") -> list[str]:
        """The list that looks best for a key now."""
        return await self._do(self._calls.best(loop, key))

    async def receipt(self, loop: str, key: str) -> SafetyReceipt:
        """What BubbleRank has decided for a key, and what is guaranteed."""
        return await self._do(self._calls.receipt(loop, key))

    async def explain(self, impression: str) -> LiveExplanation:
        """Why this list."""
        return await self._do(self._calls.explain(impression))

    async def create(self, loop: str, *, kind: str, **settings: Any) -> None:
        """Create a loop; nothing happens if it is there with the same settings."""
        await self._do(self._calls.put_loop(loop, {"kind": kind, **settings}))

    async def change(self, loop: str, **settings: Any) -> None:
        """Change the mode, the share of traffic or the rankers of a running loop."""
        fixed = await self._do(self._calls.fixed_settings(loop))
        await self._do(self._calls.put_loop(loop, {**fixed, **settings}))

    async def put_items(self, loop: str, items: Mapping[str, Mapping[str, Any]]) -> None:
        """Give the features of items to a loop that diversifies."""
        await self._do(self._calls.put_items(loop, items))

    async def pause(self, loop: str) -> None:
        """Show production's lists from now on."""
        await self._do(self._calls.intervene(loop, "pause"))

    async def resume(self, loop: str) -> None:
        """Let the policy choose again."""
        await self._do(self._calls.intervene(loop, "resume"))

    async def revert(self, loop: str, key: str) -> None:
        """Set a key back to production's list."""
        await self._do(self._calls.intervene(loop, "revert", key=key))
