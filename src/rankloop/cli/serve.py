"""`rankloop serve`: the live loop over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.errors import Refused, refusing
from rankloop.cli.live import DEFAULT_STORE, Store
from rankloop.extras import extra

if TYPE_CHECKING:
    from rankloop.service.service import Service

NEEDED = "serving needs uvicorn, uvloop, httptools and msgspec"
SEVERAL_ON_SQLITE = (
    "an SQLite store has one writer, so it takes one worker: leave out --workers, or give all workers a database that "
    "they can share with --store postgresql://user:password@host/name"
)


def serve(
    store: Store = DEFAULT_STORE,
    config: Annotated[str | None, typer.Option(metavar="FILE", help="A rankloop.toml with loops and limits.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any that is free.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes; several need PostgreSQL.")] = 1,
) -> None:
    """Serve the loops of a store over HTTP until Ctrl-C or SIGTERM.

    Without arguments: on this machine alone, with the store rankloop.db in this folder.

    Example: rankloop serve --store shop.db --config rankloop.toml --port 8000
    """
    if workers > 1 and "://" not in store:
        raise Refused(SEVERAL_ON_SQLITE)
    if workers > 1:
        raise Refused(
            "several workers on one store are not there yet: start one, which another can replace at any time"
        )
    from rankloop.live import StoreError

    with refusing():
        with extra("serve", NEEDED):
            from rankloop.service.run import serve as run
        try:
            run(store, config=config, host=host, port=port, when_ready=_greet)
        except StoreError as error:
            raise Refused(str(error)) from error


def _greet(service: Service, address: str) -> None:
    """Where it is, the key if it was made just now, and how to begin."""
    lines = [f"rankloop serves {service.live.store.name} at {address}"]
    key = "$RANKLOOP_ADMIN_KEY"
    if service.first_key is not None:
        key = service.first_key
        lines.append(f"admin key, shown this once: {key}")
    elif not service.keys.fixed:
        lines.append("its admin key was shown when it was made: rankloop live keys create --role admin makes another")
    header = f'-H "Authorization: Bearer {key}"'
    lines += [
        "try:",
        f"""  curl -X PUT {address}/v1/loops/search {header} -d '{{"kind": "rerank"}}'""",
        f"""  curl {address}/v1/loops/search/rank {header} -d '{{"key": "laptop", "items": ["sku-9", "sku-2"]}}'""",
        f"  curl {address}/v1/loops/search {header}",
    ]
    print("\n".join(lines), flush=True)
