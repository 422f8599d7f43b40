"""The live loop over HTTP, with the methods of `Live`."""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rankloop.client.attempts import Answer, Call, Sending, Steps, Waiting, attempts
from rankloop.client.base import BaseClient
from rankloop.client.calls import merged
from rankloop.client.errors import ServiceAway
from rankloop.client.outbox import Outbox
from rankloop.extras import extra
from rankloop.live.shown import LiveDuel, Shown

if TYPE_CHECKING:
    from rankloop.client.sending import Sender
    from rankloop.live import LiveExplanation
    from rankloop.policies import SafetyReceipt

Result = TypeVar("Result")


class Client(BaseClient):
    """The service from a program in Python: the methods of `Live`, with the same arguments.

    `rank` answers with a list whatever happens to the service: production's, with `fallback` set, if it is slow, gone,
    overloaded, or answers rubbish. Events are sent again until they have been acknowledged, which is safe since each
    has an id. All methods may be called from several threads, and after a fork.

    Parameters
    ----------
    url
        Address of the service; `RANKLOOP_URL` in the environment if not given.
    key
        Access key; `RANKLOOP_KEY` in the environment if not given.
    timeout
        Seconds that `rank`, `duel` and `interleave` wait for the service, all attempts together.
    patience
        Seconds within which everything else must have been done, all attempts together.
    retries
        Number of further attempts.
    positions
        Number of items that a fallback shows, a number or one for each loop. It matters until a loop has answered with
        fewer items than it was given, from which the client learns it.
    queue
        Events that may wait to be sent in the background.
    verify
        How certificates are checked, if not by those that are usually trusted.

    Examples
    --------
    >>> with Client("http://127.0.0.1:9", "rl_a_key", timeout=0.1) as client:  # nobody listens there
    ...     shown = client.rank("search", "laptop", ["sku-9", "sku-2", "sku-7"], user="u1")
    ...     shown.items, shown.fallback, client.click(shown.id, "sku-2")
    (['sku-9', 'sku-2', 'sku-7'], True, 'ignored')
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = 0.25,
        patience: float = 10.0,
        retries: int = 10,
        positions: int | Mapping[str, int] = 10,
        queue: int = 10_000,
        verify: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(url, key, timeout, patience, retries, positions)
        self._verify, self._queue = verify, queue
        self._begin()

    def _begin(self) -> None:
        """Begin without connections, as in a process that has just been forked."""
        with extra("client", "a client of the service needs httpx"):
            from rankloop.client.sending import Sender
        self._forget()
        self._process = os.getpid()
        self._sender: Sender = Sender(self._url, self._key, self._verify)
        self._outbox = Outbox(self._queue, self.events)

    def close(self) -> None:
        """Send what waits in the background, for as long as `patience` allows, and let go of all connections."""
        if self._closed:
            return
        if self._process == os.getpid():
            self._outbox.close()
            self._sender.close()
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def dropped(self) -> int:
        """Events that were to be sent in the background and were not."""
        return self._outbox.dropped

    def _do(self, call: Call[Result]) -> Result:
        return self._drive(attempts(call))

    def _drive(self, steps: Steps[Result]) -> Result:
        self._check_open()
        if self._process != os.getpid():
            self._begin()
        try:
            step = next(steps)
            while True:
                try:
                    answer = self._perform(step)
                except ServiceAway as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as done:
            return done.value
        finally:
            steps.close()

    def _perform(self, step: Sending | Waiting) -> Answer | None:
        if isinstance(step, Sending):
            return self._sender.send(step)
        time.sleep(step.seconds)
        return None

    # -- lists ---------------------------------------------------------------------------------------------------

    def rank(
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
        return self._drive(self._guarded(self._calls.rank(loop, key, items, user, pinned, deferred)))

    def duel(self, loop: str, key: str = "", *, user: str | None = None, default: str | None = None) -> LiveDuel:
        """The two rankers to run for the next user; the default one against itself if the service is away.

        Without a default, `ServiceAway` is raised.
        """
        return self._drive(self._duel(self._calls.duel(loop, key, user, default)))

    def interleave(
        self,
        duel: str | LiveDuel,
        lists: Mapping[str, Sequence[str]],
        *,
        positions: int | None = None,
        loop: str | None = None,
    ) -> Shown:
        """One list of the two rankers' lists; the first of the lists if the service is away.

        Parameters
        ----------
        duel
            The duel, or its id.
        lists
            The list of each of its rankers, by name.
        positions
            Number of items to show; as the loop's settings say if not given.
        loop
            Name of the loop, where another process asked for the duel and only its id is known.
        """
        return self._drive(self._interleaved(duel, lists, positions, loop))

    # -- events --------------------------------------------------------------------------------------------------

    def _tell(self, event: Mapping[str, Any], wait: bool) -> str:
        if event["impression"] == "":  # of a list that nobody recorded
            return "ignored"
        if wait:
            return self._do(self._calls.event(event))
        self._check_open()
        if self._process != os.getpid():
            self._begin()
        return self._outbox.put(event)

    def click(
        self, impression: str, item: str, *, seen: int | None = None, at: float | None = None, event: str = "",
        wait: bool = True,
    ) -> str:  # fmt: skip
        """Tell of a click; what became of it, as in `Live.click`. One on a fallback is ignored.

        With `wait=False` it is sent in the background, "queued"; `close` sends what is left.
        """
        told = {"impression": impression, "item": item, "seen": seen, "at": at, "id": event}
        return self._tell(told, wait)

    def seen(self, impression: str, positions: int, *, wait: bool = True) -> str:
        """Tell that the first positions of an impression came into view, and no more."""
        return self._tell({"impression": impression, "type": "seen", "seen": positions}, wait)

    def shown(self, impression: str, *, wait: bool = True) -> str:
        """Say that a deferred list has been shown."""
        return self._tell({"impression": impression, "type": "shown"}, wait)

    def finish(self, impression: str, *, seen: int | None = None) -> str:
        """Close an impression before its window has passed; "late" if that has happened before."""
        return self._tell({"impression": impression, "type": "finish", "seen": seen}, True)

    def events(self, batch: Iterable[Mapping[str, Any]]) -> list[str]:
        """Tell of many events, in as many requests as it takes; what became of each."""
        known, calls = self._calls.events(batch)
        return merged(known, [fate for call in calls for fate in self._do(call)])

    # -- what is known, and what is changed ----------------------------------------------------------------------

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of all loops that the key may see."""
        return self._do(self._calls.loops())

    def status(self, loop: str | None = None) -> dict[str, Any]:
        """What a loop has counted and found; all loops by name if none is given."""
        return self._do(self._calls.status(loop))

    def best(self, loop: str, key: str = "") -> list[str]:
        """The list that looks best for a key now."""
        return self._do(self._calls.best(loop, key))

    def receipt(self, loop: str, key: str) -> SafetyReceipt:
        """What BubbleRank has decided for a key, and what is guaranteed."""
        return self._do(self._calls.receipt(loop, key))

    def explain(self, impression: str) -> LiveExplanation:
        """Why this list."""
        return self._do(self._calls.explain(impression))

    def create(self, loop: str, *, kind: str, **settings: Any) -> None:
        """Create a loop; nothing happens if it is there with the same settings."""
        self._do(self._calls.put_loop(loop, {"kind": kind, **settings}))

    def change(self, loop: str, **settings: Any) -> None:
        """Change the mode, the share of traffic or the rankers of a running loop."""
        fixed = self._do(self._calls.fixed_settings(loop))
        self._do(self._calls.put_loop(loop, {**fixed, **settings}))

    def put_items(self, loop: str, items: Mapping[str, Mapping[str, Any]]) -> None:
        """Give the features of items to a loop that diversifies."""
        self._do(self._calls.put_items(loop, items))

    def pause(self, loop: str) -> None:
        """Show production's lists from now on."""
        self._do(self._calls.intervene(loop, "pause"))

    def resume(self, loop: str) -> None:
        """Let the policy choose again."""
        self._do(self._calls.intervene(loop, "resume"))

    def revert(self, loop: str, key: str) -> None:
        """Set a key back to production's list."""
        self._do(self._calls.intervene(loop, "revert", key=key))
