"""The whole journal as a table, for other programs: one row for each entry, in words instead of bytes."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rankloop.live.apply_entries import choice_in, unpack_list
from rankloop.live.entries import (
    Arm,
    Entry,
    Fate,
    Kind,
    unpack_closing,
    unpack_event,
    unpack_json,
)
from rankloop.live.loops import Loops
from rankloop.live.pages import page_of
from rankloop.live.propensity import propensity
from rankloop.live.replay import split_base
from rankloop.live.settings import Settings
from rankloop.live.stores import Store
from rankloop.storage import replacing

COLUMNS = (
    "seq", "at", "entry", "loop", "key", "impression", "policy", "arm", "items", "production", "propensity", "event",
    "item", "position", "seen", "event_id", "fate", "clicked", "winner", "details", "partition",
)  # fmt: skip
"""The columns of the table; those that do not apply to an entry are empty."""
ROWS_AT_ONCE = 20_000
REMEMBERED_LISTS = 50_000
FORMATS = (".jsonl", ".parquet")


def write_table(
    found: Iterator[dict[str, Any]], path: str | Path, progress: Callable[[int], None] | None = None
) -> int:
    """Write rows of a journal to a file, `.jsonl` or `.parquet`; how many there were."""
    target = Path(path)
    if target.suffix not in FORMATS:
        raise ValueError(f"{path} must end in {' or '.join(FORMATS)}: that decides about the format")
    if not target.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {target.parent}")
    write = _write_lines if target.suffix == ".jsonl" else _write_parquet
    return write(_counted(found, progress), target)


def _counted(found: Iterator[dict[str, Any]], progress: Callable[[int], None] | None) -> Iterator[dict[str, Any]]:
    for n, row in enumerate(found, 1):
        if progress is not None and n % 10_000 == 0:
            progress(n)
        yield row


def rows(store: Store, upto: int) -> Iterator[dict[str, Any]]:
    """The entries up to one of them, as mappings from column to value."""
    loops = Loops()
    lists = _Lists(store)
    shown: dict[int, list[str]] = {}
    """What open impressions show, for the events on them."""
    for entry in store.entries(0, upto):
        row: dict[str, Any] = dict.fromkeys(COLUMNS)
        kind = Kind(entry.kind)
        row.update(seq=entry.seq, at=_time(entry.at), entry=kind.name.lower(), impression=entry.impression)
        known = store.learner(entry.learner) if entry.learner else None
        if known is None:
            loops.take(entry)
            row["details"] = entry.body.decode()
            yield row
            continue
        settings = loops.by_number[known.loop].settings
        row.update(loop=loops.by_number[known.loop].name, key=known.key, policy=settings.policy)
        if kind == Kind.LIST:
            row["production"] = unpack_list(entry.body)[0]
        elif kind in (Kind.CHOICE, Kind.RECOVERED):
            row.update(_choice_row(entry, lists, settings))
            shown[entry.impression or entry.seq] = row["items"]
        else:
            row.update(_other_row(entry, shown))
        yield row


class _Lists:
    """The names of LIST entries, also of those that have been removed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[int, tuple[str, ...]] = OrderedDict()

    def names(self, version: int, learner: int) -> tuple[str, ...]:
        if version not in self._known:
            entry, base = self._store.entry(version), self._store.base(learner)
            if entry is not None:
                self._known[version] = tuple(unpack_list(entry.body)[0])
            elif base is not None:
                self._known[version] = tuple(split_base(base.state)[1]["lists"].get(str(version), ()))
            if len(self._known) > REMEMBERED_LISTS:
                self._known.popitem(last=False)
        return self._known.get(version, ())


def _choice_row(entry: Entry, lists: _Lists, settings: Settings) -> dict[str, Any]:
    choice = choice_in(entry)
    names = lists.names(choice.version, entry.learner)
    items: Any = range(len(names)) if choice.arm == Arm.SHADOW else choice.items
    return {
        "impression": entry.impression or entry.seq,
        "arm": Arm.NAMES[choice.arm],
        "items": page_of(names, items, choice.pinned, settings.positions) if names else [],
        "production": list(names),
        "propensity": propensity(settings.policy, choice, len(names)),
    }


def _other_row(entry: Entry, shown: dict[int, list[str]]) -> dict[str, Any]:
    if entry.kind == Kind.EVENT:
        event = unpack_event(entry.body)
        items = shown.get(entry.impression or 0, [])
        row: dict[str, Any] = {"event": event.type, "event_id": event.id or None}
        if event.type == "seen":
            row["seen"] = event.value
        elif event.type != "shown":
            row["position"] = event.value
            row["item"] = items[event.value] if event.value < len(items) else None
        return row
    if entry.kind == Kind.CLOSE:
        closing = unpack_closing(entry.body)
        shown.pop(entry.impression or 0, None)
        return {
            "arm": Arm.NAMES[closing.arm],
            "fate": Fate.NAMES[closing.fate],
            "clicked": list(closing.clicks),
            "seen": closing.seen,
            "winner": closing.winner if closing.winner >= 0 else None,
        }
    if entry.kind == Kind.PAGE:
        body = unpack_json(entry.body)
        shown[entry.impression or 0] = body["items"]
        return {"items": body["items"], "details": json.dumps({"lists": body["lists"]}, ensure_ascii=False)}
    return {"details": entry.body.decode() or None}


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


def _write_lines(found: Iterator[dict[str, Any]], path: Path) -> int:
    n = 0
    with replacing(path) as file:
        for row in found:
            kept = {name: value for name, value in row.items() if value is not None}
            file.write(json.dumps(kept, ensure_ascii=False).encode() + b"\n")
            n += 1
    return n


def _write_parquet(found: Iterator[dict[str, Any]], path: Path) -> int:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ValueError("Parquet needs pyarrow: pip install 'rankloop[parquet]', or export to .jsonl") from None
    whole = {"seq", "impression", "position", "seen", "winner", "partition"}
    listed = {"items": pa.list_(pa.string()), "production": pa.list_(pa.string()), "clicked": pa.list_(pa.int64())}
    types = {name: pa.int64() for name in whole} | listed | {"propensity": pa.float64()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])
    n = 0
    with replacing(path) as file, pq.ParquetWriter(file, schema) as writer:
        batch: list[dict[str, Any]] = []
        for row in found:
            batch.append(row)
            n += 1
            if len(batch) == ROWS_AT_ONCE:
                writer.write_table(pa.Table.from_pylist(batch, schema))
                batch = []
        if batch or not n:
            writer.write_table(pa.Table.from_pylist(batch, schema))
    return n
