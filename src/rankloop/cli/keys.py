"""`rankloop live keys`: who may use the service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.asking import WAY_OUT, Url, ask, path_of
from rankloop.cli.errors import Refused, refusing
from rankloop.cli.live import DEFAULT_STORE, AsJson, Store, print_json
from rankloop.extras import extra

if TYPE_CHECKING:
    from rankloop.service.keys import KeyRing

app = typer.Typer(no_args_is_help=True, help="Create, list and revoke the access keys of a service.")


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
            raise Refused(f"{error}. {WAY_OUT}") from error
        try:
            yield KeyRing(opened)
        except StoreError as error:
            raise Refused(str(error)) from error
        finally:
            opened.close()


@app.command()
def create(
    role: Annotated[str, typer.Option(help="Role of the key: rank (and events), events, read or admin.")],
    loop: Annotated[
        list[str] | None, typer.Option(help="Loop that it may use, repeatable; all loops if not given.")
    ] = None,
    expires: Annotated[str | None, typer.Option(help="Time for which it is valid, such as 90d.")] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            help="Origin of web pages that may send events with it, such as https://shop.example; repeatable."
        ),
    ] = None,
    note: Annotated[str, typer.Option(help="Note on its purpose, shown by `list`.")] = "",
    store: Store = DEFAULT_STORE,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Create an access key. It is shown once; the store keeps only a digest.

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
        made = ask(url, "POST", "/v1/keys", asked)
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
        infos = ask(url, "GET", "/v1/keys")["keys"]
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
    """Revoke an access key, at once and permanently."""
    if url is not None:
        ask(url, "DELETE", path_of("v1", "keys", id_))
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
