"""`rankloop serve`: the live loop over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.errors import Refused, refusing
from rankloop.cli.live import DEFAULT_STORE, Store
from rankloop.extras import extra

if TYPE_CHECKING:
    from rankloop.service.run import Greeting

NEEDED = "serving needs uvicorn, uvloop, httptools and msgspec"
SEVERAL_ON_SQLITE = (
    "an SQLite store has one writer, so it takes one worker: leave out --workers, or give all workers a database that "
    "they can share with --store postgresql://user:password@host/name"
)


def serve(
    store: Store = DEFAULT_STORE,
    config: Annotated[str | None, typer.Option(metavar="FILE", help="A rankloop.toml with loops and limits.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free port.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes; several need PostgreSQL.")] = 1,
    partitions: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of partitions of a new store in PostgreSQL, which workers share: 4 for each worker, or 1.",
        ),
    ] = None,
    peer_host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address of this machine for workers on other machines.")
    ] = "127.0.0.1",
    peer_port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65535,
            help="First of the ports for other workers, one per worker and one more; 0 for any free ports.",
        ),
    ] = 0,
    lease: Annotated[
        float,
        typer.Option(min=0.5, max=60, help="Seconds after which others take over from a worker that does not respond."),
    ] = 5.0,
    demo: Annotated[bool, typer.Option("--demo", help="Serve an example: a search site with simulated users.")] = False,
) -> None:
    """Serve the loops of a store over HTTP until Ctrl-C or SIGTERM.

    Without arguments it serves only this machine, with the store rankloop.db in the current folder.

    Example: rankloop serve --store shop.db --config rankloop.toml --port 8000
    """
    if "://" not in store and (workers > 1 or partitions is not None):
        raise Refused(SEVERAL_ON_SQLITE)
    if demo:
        options: dict[str, object] = {"--config": config, "--workers": workers, "--partitions": partitions}
        options |= {"--peer-host": peer_host, "--lease": lease}
        given = [text for name, value in options.items() if value is not None for text in (name, str(value))]
        _demonstrate(store, host, port, given)
        return
    from rankloop.live import StoreError

    with refusing():
        with extra("serve", NEEDED):
            from rankloop.service.run import serve as run
        try:
            if "://" in store:
                from rankloop.live.opening import open_store

                open_store(store)  # refuses other addresses, and says what is missing
                from rankloop.service.fleet.launch import prepare
                from rankloop.service.fleet.launch import serve as run_workers

                n, first_key, fixed = prepare(store, workers=workers, partitions=partitions, peer_host=peer_host)
                if n > 1:
                    run_workers(
                        store, config=config, host=host, port=port, workers=workers, peer_host=peer_host,
                        peer_port=peer_port, lease=lease, first_key=first_key, fixed=fixed, when_ready=_greet,
                    )  # fmt: skip
                    return
            run(store, config=config, host=host, port=port, when_ready=_greet)
        except StoreError as error:
            raise Refused(str(error)) from error


def _greet(told: Greeting) -> None:
    """Print the address, the access key if it is new, and how to begin."""
    address = told.address
    lines = [f"rankloop serves {told.store} at {address}"]
    key = "$RANKLOOP_ADMIN_KEY"
    if told.first_key is not None:
        key = told.first_key
        lines.append(f"admin key, shown this once: {key}")
    elif not told.fixed:
        lines.append("its admin key was shown when it was made: rankloop live keys create --role admin makes another")
    header = f'-H "Authorization: Bearer {key}"'
    lines += [
        "try:",
        f"""  curl -X PUT {address}/v1/loops/search {header} -d '{{"kind": "rerank"}}'""",
        f"""  curl {address}/v1/loops/search/rank {header} -d '{{"key": "laptop", "items": ["sku-9", "sku-2"]}}'""",
        f"  curl {address}/v1/loops/search {header}",
    ]
    print("\n".join(lines), flush=True)


def _demonstrate(store: str, host: str, port: int, arguments: Sequence[str]) -> None:
    """A service with a search site and simulated users, until Ctrl-C or SIGTERM."""
    with refusing("cannot run the demo"), extra("serve", NEEDED), extra("client", "the search site needs httpx"):
        from rankloop.demo.children import interruptible
        from rankloop.demo.endless import FOLDER, on_show, wait_for_end

        store = str(FOLDER / "live.db") if store == DEFAULT_STORE else store
        arguments = ["--store", store, "--host", host, "--port", str(port), *arguments]
        code = 0
        with suppress(KeyboardInterrupt), interruptible():
            print("getting ready: an index of Python's documentation, and policies to compile", flush=True)
            with on_show(arguments, host=host, site_port=port + 1 if port else 0) as shown:
                lines = [
                    f"search Python's documentation at {shown.site}",
                    f"see what rankloop learns at {shown.service}/#key={shown.key}",
                    f"some {shown.pace:.0f} simulated users per second search, read and click",
                    f"everything is kept in {store}",
                    "Ctrl-C ends it",
                ]
                print("\n".join(lines), flush=True)
                code = wait_for_end(shown)
    if code:
        raise Refused(f"the service has ended: {FOLDER / 'service.log'} says why")
