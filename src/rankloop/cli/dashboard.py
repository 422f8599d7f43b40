"""`rankloop live dashboard`: the pages of a store, read-only."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.errors import Refused, refusing
from rankloop.cli.live import DEFAULT_STORE, Store
from rankloop.extras import extra


def dashboard(
    store: Store = DEFAULT_STORE,
    host: Annotated[
        str, typer.Option(help="Address of this machine to listen on: 127.0.0.1, ::1 or localhost.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free port.")] = 8001,
) -> None:
    """Show a store in a browser, read-only, until Ctrl-C.

    A service may write to the store at the same time: nothing is locked.

    The printed address contains an access key, and works only on this machine.

    Example: rankloop live dashboard --store shop.db
    """
    from rankloop.live import StoreError

    if not _is_loopback(host):
        raise Refused(
            f"--host {host} could be reached from other machines: this dashboard is for this machine alone, and "
            "`rankloop serve` has one for others"
        )
    if "://" not in store and not Path(store).is_file():
        raise Refused(f"there is no store {store}: name one with --store, or set RANKLOOP_STORE")
    with refusing():
        with extra("serve", "the dashboard needs uvicorn, uvloop, httptools and msgspec"):
            from rankloop.service.read_only import show
        try:
            show(store, host=host, port=port, when_ready=lambda address, key: _greet(store, address, key))
        except StoreError as error:
            raise Refused(str(error)) from error


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _greet(store: str, address: str, key: str) -> None:
    from rankloop.live.opening import open_store

    name = open_store(store, read_only=True).name  # an address may hold a password, a name does not
    print(f"{name}, read-only: {address}/#key={key}\nCtrl-C ends it", flush=True)
