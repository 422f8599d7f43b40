"""One call as a sequence of attempts: what to send, when to wait, when to give up. Nothing here does any I/O.

`attempts` is a generator. Whoever drives it performs what it yields, sends or waits, and gives back the answer or
throws `ServiceAway`. The client and its asynchronous twin differ in nothing but how they do that.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Generic, NamedTuple, TypeVar

from rankloop.client.errors import ServiceAway, ServiceError, ServiceRefused

Result = TypeVar("Result")

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds before the second attempt, which double from there on, and the most."""
SHORTEST_ATTEMPT = 0.02
"""Seconds that must be left for another attempt."""
TRY_LATER = (408, 429, 503)
"""Statuses that say that nothing was done, and that it may be done later."""


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: bytes
    retry_after: str = ""


class Sending(NamedTuple):
    """A request to send, and the seconds in which its answer must have come."""

    method: str
    path: str
    body: bytes | None
    seconds: float


class Waiting(NamedTuple):
    """A pause."""

    seconds: float


Steps = Generator[Sending | Waiting, Answer | None, Result]


@dataclass(frozen=True)
class Call(Generic[Result]):
    """Something to ask of the service.

    Parameters
    ----------
    method, path, body
        The request.
    read
        Makes the result of what was answered; a TypeError, KeyError or ValueError says that it is rubbish.
    seconds
        Time that all attempts may take together.
    attempt
        Time that one may take.
    retries
        Number of further attempts.
    repeatable
        Whether it may be sent again where nobody knows whether it was done.
    """

    method: str
    path: str
    body: bytes | None
    read: Callable[[Any], Result]
    seconds: float
    attempt: float
    retries: int
    repeatable: bool = True


def attempts(
    call: Call[Result], *, clock: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random.random
) -> Steps[Result]:
    """Send a call until it has been answered, has been refused, or its time is over.

    >>> call = Call("GET", "/v1/loops", None, lambda told: told["loops"], seconds=1.0, attempt=0.5, retries=3)
    >>> steps = attempts(call, clock=lambda: 0.0, chance=lambda: 1.0)
    >>> next(steps).path
    '/v1/loops'
    >>> steps.throw(ServiceAway("nobody listens"))
    Waiting(seconds=0.05)
    >>> _ = steps.send(None)
    >>> try:
    ...     steps.send(Answer(200, b'{"loops": []}'))
    ... except StopIteration as done:
    ...     print(done.value)
    []
    """
    end, pause = clock() + call.seconds, FIRST_PAUSE
    for left in reversed(range(call.retries + 1)):
        try:
            answer = yield Sending(call.method, call.path, call.body, min(call.attempt, end - clock()))
            assert answer is not None
            return understand(call.read, answer)
        except ServiceAway as error:
            wait = max(error.retry_after, pause * (0.5 + 0.5 * chance()))
            again = call.repeatable or error.undone
            if not again or left == 0 or clock() + wait + SHORTEST_ATTEMPT >= end:
                raise
            failure = error
        yield Waiting(wait)
        if clock() + SHORTEST_ATTEMPT > end:
            raise failure
        pause = min(2 * pause, LONGEST_PAUSE)
    raise AssertionError


def understand(read: Callable[[Any], Result], answer: Answer) -> Result:
    """The result that an answer brings; what it says instead is raised."""
    if 200 <= answer.status < 300:
        try:
            return read(json.loads(answer.body))
        except ServiceError:
            raise
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            told = f"the service answered what makes no sense ({type(error).__name__}: {str(error)[:200]})"
            raise ServiceAway(told, status=answer.status) from None
    detail, field = _detail(answer)
    if answer.status in TRY_LATER or answer.status >= 500:
        undone = answer.status in TRY_LATER
        wait = _seconds(answer.retry_after)
        raise ServiceAway(detail, status=answer.status, undone=undone, retry_after=wait)
    raise ServiceRefused(detail, status=answer.status, field=field)


def _detail(answer: Answer) -> tuple[str, str | None]:
    """What a problem says, and the field that it names."""
    try:
        problem = json.loads(answer.body)
        field = problem.get("field")
        return str(problem["detail"]), field if isinstance(field, str) else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return f"the service answered with status {answer.status}, and did not say why", None


def _seconds(retry_after: str) -> float:
    """Seconds to wait, from a number of seconds or a date."""
    try:
        return max(0.0, float(retry_after)) if float(retry_after) < 1e9 else 0.0
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0
