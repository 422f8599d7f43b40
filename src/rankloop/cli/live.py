"""`rankloop live`: look at the loops of a store, check its journal, undo what was learned."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.asking import WAY_OUT, Url, ask, path_of
from rankloop.cli.errors import Refused, refusing
from rankloop.cli.groups import Group

if TYPE_CHECKING:
    from rankloop.live import Whole

app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Inspect live loops, verify their journal, undo what was learned."
)

Store = Annotated[
    str,
    typer.Option(
        metavar="STORE",
        envvar="RANKLOOP_STORE",
        help="Path of the SQLite file, or postgresql://...; also the environment variable RANKLOOP_STORE.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
DEFAULT_STORE = "rankloop.db"


@contextmanager
def _refusing(store: str, way_out: str = "") -> Iterator[None]:
    """Errors about a store as one line, and what to do instead."""
    from rankloop.live import StoreError

    if "://" not in store and not Path(store).exists():
        raise Refused(f"there is no store {store}: name one with --store, or set RANKLOOP_STORE")
    with refusing():
        try:
            yield
        except StoreError as error:
            raise Refused(f"{error}. {way_out}" if way_out else str(error)) from error


@contextmanager
def opened(store: str) -> Iterator[Whole]:
    """The whole store, to look at beside the programs that serve from it."""
    with _refusing(store):
        from rankloop.live import Whole

        with Whole(store) as whole:
            yield whole


def print_json(value: Any) -> None:
    """JSON that other programs read, names of any script as they are."""
    print(json.dumps(value, ensure_ascii=False, indent=2, default=_plain))


def _plain(value: Any) -> Any:
    return vars(value) if hasattr(value, "__dict__") else str(value)


@app.command()
def status(
    loop: Annotated[str | None, typer.Argument(help="Name of one loop; all if not given.", show_default=False)] = None,
    store: Store = DEFAULT_STORE,
    as_json: AsJson = False,
) -> None:
    """Show the counts, uplift and results of each loop.

    Example: rankloop live status --store shop.db
    """
    with opened(store) as live:
        found = {loop: live.status(loop)} if loop else live.status()
    if as_json:
        print_json({name: {**each, "uplift": _uplift(each)} for name, each in found.items()})
        return
    from rich.markup import escape

    from rankloop.cli.tables import console, new_table

    if not found:
        print(f"{store} has no loops yet: create one with rl.Live(...).create, or in rankloop.toml")
        return
    table = new_table(f"Loops of {store}")
    for heading in ("loop", "kind", "policy", "mode", "keys", "impressions", "open", "learned", "clicks", "found"):
        left = heading in ("loop", "kind", "policy", "mode", "found")
        table.add_column(heading, justify="left" if left else "right", overflow="fold")
    for name, each in found.items():
        style = "yellow" if each["mode"] in ("paused", "off") else ""
        numbers = [f"{each[word]:,}" for word in ("keys", "impressions", "open", "learned", "clicks")]
        words = [escape(text) for text in (name, each["kind"], each["policy"], each["mode"])]
        table.add_row(*words, *numbers, escape(_finding(each)), style=style)
    console().print(table)
    for name, each in found.items():
        odd = {word: each[word] for word in _ODD if each[word]}
        if odd:
            told = ", ".join(f"{count:,} {word.replace('_', ' ')}" for word, count in odd.items())
            console().print(f"{escape(name)}: {told}")


_ODD = (
    "duplicates", "late", "expired", "unknown", "foreign", "ignored", "not_shown", "fallbacks", "recovered",
    "never_shown", "reverted", "outdated", "refused",
)  # fmt: skip


def _finding(status: dict[str, Any]) -> str:
    if status["kind"] == "evaluate":
        if status["winner"] is not None:
            return f"winner: {status['winner']}"
        return f"{len(status['survivors'])} rankers left, best so far: {status['best'] or '-'}"
    return f"click rate against holdout: {status['uplift']}"


def _uplift(status: dict[str, Any]) -> Any:
    return vars(status["uplift"]) if "uplift" in status else None


@app.command()
def explain(
    impression: Annotated[str, typer.Argument(help="Id of the impression.", show_default=False)],
    store: Store = DEFAULT_STORE,
    as_json: AsJson = False,
) -> None:
    """Explain why a list was shown: who decided, on what evidence, the user's events, and what was learned."""
    with opened(store) as live:
        found = live.explain(impression)
    print_json(found.to_json()) if as_json else print(found)


@app.command()
def verify(store: Store = DEFAULT_STORE, as_json: AsJson = False) -> None:
    """Replay the journal and derive every list and every state again; exit code 1 at the first difference."""
    with opened(store) as live, _counting("entries replayed") as progress:
        found = live.verify(progress)
    print_json({"ok": found.ok, **vars(found)}) if as_json else print(found)
    if not found.ok:
        raise typer.Exit(1)


Loop = Annotated[str, typer.Argument(help="Name of the loop.", show_default=False)]


@app.command()
def revert(
    loop: Loop,
    key: Annotated[str, typer.Argument(help="Key to revert.", show_default=False)],
    store: Store = DEFAULT_STORE,
    url: Url = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Return a key to production's list, and forget all evidence about it."""

    def confirm(best: Sequence[str]) -> None:
        if not yes:
            typer.confirm(f"Forget what was learned for {key!r} (best list now: {', '.join(best)})?", abort=True)

    if url is not None:
        path = path_of("v1", "loops", loop, "keys", key)
        confirm(ask(url, "GET", path)["best"])
        ask(url, "POST", f"{path}/revert")
    else:
        with _refusing(store, WAY_OUT):
            from rankloop.live.all_partitions import open_for_key

            with open_for_key(store, loop, key) as live:
                confirm(live.best(loop, key))
                live.revert(loop, key)
    print(f"{key!r} of loop {loop!r} is back at production's list")


@app.command()
def pause(loop: Loop, store: Store = DEFAULT_STORE, url: Url = None) -> None:
    """Show production's lists from now on.

    Example: rankloop live pause search --url http://127.0.0.1:8000
    """
    _pause(loop, store, url, paused=True)
    print(f"loop {loop!r} shows production's lists")


@app.command()
def resume(loop: Loop, store: Store = DEFAULT_STORE, url: Url = None) -> None:
    """Let the policy choose again, after a pause."""
    _pause(loop, store, url, paused=False)
    print(f"the policy of loop {loop!r} chooses again")


def _pause(loop: str, store: str, url: str | None, *, paused: bool) -> None:
    if url is not None:
        ask(url, "POST", path_of("v1", "loops", loop, "pause" if paused else "resume"))
        return
    with _refusing(store, WAY_OUT):
        from rankloop.live.all_partitions import open_for_loops

        with open_for_loops(store) as loops:
            loops.change(loop, paused=paused)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="File to write, .jsonl or .parquet.", show_default=False)],
    store: Store = DEFAULT_STORE,
) -> None:
    """Write the whole journal as a table: lists with their propensities, events, and what was learned."""
    with opened(store) as live, _counting("rows written") as progress:
        n = live.export(file, progress)
    print(f"{n:,} rows in {file}")


@contextmanager
def _counting(what: str) -> Iterator[Callable[[int], None] | None]:
    """How far a long command is, on a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    yield lambda n: print(f"\r{n:,} {what}", end="", file=sys.stderr, flush=True)
    print("\r\033[K", end="", file=sys.stderr)
