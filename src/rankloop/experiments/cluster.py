"""A Dask cluster as an executor for experiments."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

PATIENCE = 10.0
"""Seconds to wait for the scheduler."""


class Cluster(Executor):
    """Runs functions on the workers of a Dask cluster; `shutdown`, or leaving `with`, only ends the connection."""

    def __init__(self, client: Any) -> None:
        self._client = client
        # Not pure: to find out whether Dask already knows the result takes longer than a small unit.
        self._executor = client.get_executor(pure=False)

    @property
    def n_workers(self) -> int:
        """How many units the cluster can play at once, now: workers come and go; 0 where it does not answer."""
        try:
            return sum(self._client.nthreads().values())
        except OSError:
            return 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function on some worker; where that worker is lost, on another."""
        future: Future[Any] = self._executor.submit(fn, *args, **kwargs)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Disconnect, after what runs has ended or, with `cancel_futures`, at once."""
        self._executor.shutdown(wait=wait and not cancel_futures)
        self._client.close()


def connect(address: str, *, n_workers: int = 1, timeout: float = PATIENCE) -> Cluster:
    """An executor on the Dask cluster whose scheduler has this address, `tcp://10.0.0.1:8786` for example.

    A worker may be lost at any time: the scheduler gives its units to the others. Every worker needs rankloop in the
    same version, and, where policies of your own play, must be able to import their modules: install them there, or
    start the workers with their folder in PYTHONPATH. The connection is made once there are `n_workers` workers.

    Needs distributed: `pip install 'rankloop[dask]'`.
    """
    try:
        import distributed
    except ImportError:
        raise ValueError("a cluster needs Dask: pip install 'rankloop[dask]'") from None
    client: Any
    try:  # typed in some versions of Dask only
        client = distributed.Client(address, timeout=timeout)  # type: ignore[no-untyped-call, unused-ignore]
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(f"no Dask scheduler answers at {address}: {error}") from None
    try:
        client.wait_for_workers(n_workers, timeout=timeout)
    except TimeoutError:
        client.close()
        raise ValueError(f"the Dask cluster at {address} does not have {n_workers} workers: start some first") from None
    return Cluster(client)
