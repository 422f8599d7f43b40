"""What calls to the service raise."""

from __future__ import annotations


class ServiceError(Exception):
    """Something that was asked of the service was not done; the message says why.

    Parameters
    ----------
    told
        Why not, in a sentence.
    status
        HTTP status of the answer; 0 if there was none.
    field
        The argument that was wrong, where the service names one.
    """

    def __init__(self, told: str, *, status: int = 0, field: str | None = None) -> None:
        super().__init__(told)
        self.status, self.field = status, field


class ServiceRefused(ServiceError, ValueError):
    """The service will not do this: an argument is wrong, there is no such loop, or the key may not do it."""


class ServiceAway(ServiceError, ConnectionError):
    """The service did not answer in time, or could not do it now; the same call may work later.

    Parameters
    ----------
    told, status
        As in `ServiceError`.
    undone
        Whether it is certain that the service has done nothing.
    retry_after
        Seconds after which the service asks to be called again.
    """

    def __init__(self, told: str, *, status: int = 0, undone: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(told, status=status)
        self.undone, self.retry_after = undone, retry_after
