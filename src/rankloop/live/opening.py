"""Stores by their paths and addresses."""

from __future__ import annotations

from pathlib import Path

from rankloop.live.sqlite import SQLiteStore
from rankloop.live.stores import Store, StoreError


def open_store(store: str | Path | Store, *, read_only: bool = False) -> Store:
    """The store that a path or an address names."""
    if not isinstance(store, str | Path):
        return store
    scheme, separator, _ = str(store).partition("://")
    if not separator:
        if not str(store):
            raise ValueError("store must be a path or postgresql://..., not an empty text")
        return SQLiteStore(store, read_only=read_only)
    if scheme not in ("postgresql", "postgres"):
        raise ValueError(f"store must be a path or postgresql://..., not {scheme}://...")
    try:
        from rankloop.live.postgres import PostgresStore
    except ImportError:
        raise StoreError("a store in PostgreSQL needs psycopg: pip install 'rankloop[postgres]'") from None
    return PostgresStore(str(store), read_only=read_only)
