"""`rankloop live keys`: who may use the service."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.errors import Refused, refusing
from rankloop.cli.live import DEFAULT_STORE, AsJson, Store, print_json
from rankloop.extras import extra

if TYPE_CHECKING:
    from rankloop.service.keys import KeyRing

app = typer.Typer(no_args_is_help=True, help="Make, list and revoke the access keys of a service.")

SECONDS = 10.0

Url = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="RANKLOOP_URL",
        help="Address of a service that runs, which is asked with the key in RANKLOOP_ADMIN_KEY.",
    ),
]


@contextmanager
def _ring(store: str) -> Iterator[KeyRing]:
    """The keys of a store that no service holds."""
    with refusing(), extra("serve", "access keys need msgspec"):
        from rankloop.service.keys import KeyRing
    from rankloop.live.opening import open_store
    from rankloop.live.stores import StoreError

    with refusing():
        opened: Any = open_store(store)
        if "://" in store:  # which needs no lease for that
            from rankloop.live.directory import Directory

            opened = Directory(store)
        try:
            opened.open()
        except StoreError as error:
            way_out = "While a service runs, ask it: --url http://127.0.0.1:8000, with RANKLOOP_ADMIN_KEY set"
            raise Refused(f"{error}. {way_out}") from error
        try:
            yield KeyRing(opened)
        except StoreError as error:
            raise Refused(str(error)) from error
        finally:
            opened.close()


def _ask(url: str, method: str, path: str, body: Any = None) -> Any:
    """What a running service answers."""
    key = os.environ.get("RANKLOOP_ADMIN_KEY")
    if not key:
        raise Refused("set RANKLOOP_ADMIN_KEY to an admin key of the service")
    if not url.startswith(("http://", "https://")):
        raise Refused(f"--url must be an address such as http://127.0.0.1:8000, not {url!r}")
    request = urllib.request.Request(
        url.rstrip("/") + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        try:
            told = json.load(error)["detail"]
        except (ValueError, KeyError):
            told = error.reason
        raise Refused(f"{url} refused: {told}") from None
    except OSError as error:
        raise Refused(f"{url} cannot be reached: {getattr(error, 'reason', error)}") from None


@app.command()
def create(
    role: Annotated[str, typer.Option(help="What it may do: rank (and events), events, read or admin.")],
    loop: Annotated[
        list[str] | None, typer.Option(help="Loop that it is for; repeat for several. All if none.")
    ] = None,
    expires: Annotated[str | None, typer.Option(help="How long it is valid, such as 90d.")] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            help="Origin of web pages that may send events with it, such as https://shop.example; repeatable."
        ),
    ] = None,
    note: Annotated[str, typer.Option(help="What it is for, to be listed.")] = "",
    store: Store = DEFAULT_STORE,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Make an access key. It is shown once; the store keeps a digest.

    Example: rankloop live keys create --role rank --loop search --expires 90d
    """
    asked: dict[str, Any] = {
        "role": role,
        "loops": loop or [],
        "expires": expires,
        "origins": origin or [],
        "note": note,
    }
    if url is not None:
        made = _ask(url, "POST", "/v1/keys", asked)
        text, info = made["key"], made["info"]
    else:
        with _ring(store) as ring:
            text, key = ring.make(**asked)
            info = _plain(key.info)
    print_json({"key": text, "info": info}) if as_json else print(text)


@app.command("list")
def list_(store: Store = DEFAULT_STORE, url: Url = None, as_json: AsJson = False) -> None:
    """List the access keys, without their secrets."""
    if url is not None:
        infos = _ask(url, "GET", "/v1/keys")["keys"]
    else:
        with _ring(store) as ring:
            infos = [_plain(key.info) for key in ring.all()]
    if as_json:
        print_json(infos)
        return
    from rich.markup import escape

    from rankloop.cli.tables import console, new_table

    table = new_table("Access keys")
    for heading in ("id", "role", "loops", "origins", "made", "expires", "revoked", "note"):
        table.add_column(heading, overflow="fold")
    for info in infos:
        words = [info["id"], info["role"], ", ".join(info["loops"]) or "all", ", ".join(info["origins"]) or "-"]
        words += [_date(info[word]) for word in ("created", "expires", "revoked")]
        table.add_row(*map(escape, words), escape(info["note"]))
    console().print(table)


@app.command()
def revoke(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as `list` shows it.", show_default=False)],
    store: Store = DEFAULT_STORE,
    url: Url = None,
) -> None:
    """Make an access key invalid, at once and for ever."""
    if url is not None:
        from urllib.parse import quote

        _ask(url, "DELETE", f"/v1/keys/{quote(id_, safe='')}")
    else:
        with _ring(store) as ring:
            try:
                ring.revoke(id_)
            except KeyError as error:
                raise Refused(error.args[0]) from None
    print(f"access key {id_} is not valid any more")


def _plain(info: Any) -> dict[str, Any]:
    return {name: getattr(info, name) for name in info.__struct_fields__}


def _date(seconds: float | None) -> str:
    return "-" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
