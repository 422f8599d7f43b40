"""`rankloop clicks`: click models fitted to logs, and judged on others."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.arguments import choice, number, whole, whole_or_none
from rankloop.cli.errors import refusing
from rankloop.cli.groups import Group
from rankloop.cli.options import option
from rankloop.wording import suggestion

if TYPE_CHECKING:
    from rankloop.click_models import ClickModel
    from rankloop.datasets import ClickLog

app = typer.Typer(cls=Group, no_args_is_help=True, help="Fit click models to click logs, and evaluate them.")

SYNTHETIC = "synthetic"
SYNTHETIC_SESSIONS = 20_000

LogArgument = Annotated[
    str,
    typer.Argument(
        help="A click log: Yandex' format, CSV, Parquet or UBI queries as JSON lines, also compressed with gzip; "
        f"or the word {SYNTHETIC} for a generated log.",
        metavar="LOG",
    ),
]
EventsOption = Annotated[str | None, typer.Option(help="The UBI events that go with UBI queries.")]
PositionsOption = Annotated[str, typer.Option(metavar="N", help="How many results of each list to read, at most 64.")]


@app.command()
def fit(
    log: LogArgument,
    model: Annotated[str, typer.Option(help="CM, DCM, SDBN, DBN, PBM, UBM; several with commas; or all.")] = "DCM",
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("models.json"),
    queries: Annotated[str | None, option("Take only this many of the most frequent queries.", "N")] = None,
    among: Annotated[str | None, option("Draw the --queries at random from this many most frequent.", "N")] = None,
    seed: Annotated[str, typer.Option(metavar="N", help="Seed of that draw.")] = "0",
    min_items: Annotated[str, option("With --queries: only queries that show this many items.", "N")] = "10",
    smoothing: Annotated[str, option("Pseudo-observations added to those of each parameter.", "X")] = "5",
    exact: Annotated[bool, typer.Option("--exact", help="Fit DCM and SDBN by EM instead of counting.")] = False,
    tolerance: Annotated[str, option("Gain of log-likelihood per session below which EM stops.", "X")] = "1e-6",
    max_iterations: Annotated[str, option("Iterations after which EM stops in any case.", "N")] = "500",
    events: EventsOption = None,
    positions: PositionsOption = "10",
) -> None:
    """Fit click models to a log and write them to a file."""
    with refusing():
        from rankloop.click_models import save

        kinds = _models(model)
        chosen, drawn_from = whole_or_none("--queries", queries, 1), whole_or_none("--among", among, 1)
        if drawn_from is not None and chosen is None:
            raise ValueError("--among says what to draw --queries from: give both")
        if drawn_from is not None and chosen is not None and drawn_from < chosen:
            raise ValueError(f"--among must be at least --queries, {chosen}, not {drawn_from}")
        n_items, first_seed = whole("--min-items", min_items, 1), whole("--seed", seed, 0)
        longest = whole("--max-iterations", max_iterations, 1)
        how: dict[str, Any] = {
            "smoothing": number("--smoothing", smoothing, 0),
            "tolerance": number("--tolerance", tolerance, 0),
            "max_iterations": longest,
            "exact": exact,
        }
        if not out.absolute().parent.is_dir():
            raise ValueError(f"--out: there is no directory {out.absolute().parent}")
        data = _read(log, events, positions, seed=0)
        if chosen is not None:
            data = data.frequent(chosen, n_items=n_items, among=drawn_from, seed=first_seed)
        fitted, rows = [], []
        for kind in kinds:
            with _status(f"fitting {kind.__name__}") as show:
                begin = time.perf_counter()
                result = kind.fit(
                    data, **how, progress=lambda n, likelihood: show(f"iteration {n}: log-likelihood {likelihood:.5f}")
                )
                seconds = time.perf_counter() - begin
            fitted.append(result)
            likelihood, perplexity = result.mean_log_likelihood(data), result.perplexity(data).overall
            iterations = str(len(result.history)) if result.history else "counted"
            rows.append([kind.__name__, f"{likelihood:.4f}", f"{perplexity:.4f}", iterations, f"{seconds:.2f}"])
            if len(result.history) == longest:
                print(f"{kind.__name__} was stopped after {longest:,} iterations", file=sys.stderr)
        save(out, fitted)
        pairs = fitted[0].pairs
        title = f"{len(data):,} sessions, {len(pairs.query_names):,} queries, {len(pairs):,} query-item pairs"
        _table(title, ["model", "log-likelihood", "perplexity", "iterations", "seconds"], rows)
        print(f"written to {out}; the figures are of the log fitted to: judge the models on another")


@app.command()
def evaluate(
    models: Annotated[Path, typer.Argument(help="A file that `rankloop clicks fit` wrote.", metavar="MODELS")],
    log: LogArgument,
    events: EventsOption = None,
    positions: PositionsOption = "10",
) -> None:
    """Evaluate fitted click models on a log: log-likelihood per session and perplexity, overall and by position."""
    with refusing():
        from rankloop.click_models import load

        fitted = load(models)
        data = _read(log, events, positions, seed=1)
        rows = []
        for name, model in fitted.items():
            perplexity = model.perplexity(data)
            figures = [perplexity.overall, *perplexity.by_position]
            rows.append([name, f"{model.mean_log_likelihood(data):.4f}", *(f"{figure:.4f}" for figure in figures)])
        known = next(iter(fitted.values())).known_share(data)
        at = [f"@{k}" for k in range(1, data.n_positions + 1)]
        title = f"{len(data):,} sessions; {known:.1%} of the items shown are known to the models for their query"
        _table(title, ["model", "log-likelihood", "perplexity", *at], rows)


@app.command()
def generate(
    out: Annotated[
        Path, typer.Argument(help="The file to write: CSV if its name ends with .csv, otherwise Yandex' format.")
    ],
    sessions: Annotated[str, typer.Option(metavar="N", help="Number of sessions.")] = str(SYNTHETIC_SESSIONS),
    queries: Annotated[str, typer.Option(metavar="N", help="Number of queries.")] = "100",
    model: Annotated[str, typer.Option(help="The click model of the users: CM, DCM or PBM.")] = "DCM",
    seed: Annotated[
        str, typer.Option(metavar="N", help="Seed of the sessions; queries and their items stay the same.")
    ] = "0",
) -> None:
    """Write a generated click log."""
    with refusing():
        from rankloop.datasets import synthetic_click_log, write_csv, write_yandex

        n_queries = whole("--queries", queries, 1)
        log = synthetic_click_log(
            whole("--sessions", sessions, 1),
            n_queries=n_queries,
            click_model=choice("--model", model, ("CM", "DCM", "PBM")),
            seed=whole("--seed", seed, 0),
        )
        (write_csv if out.suffix == ".csv" else write_yandex)(log, out)
        print(f"{len(log):,} sessions of {n_queries:,} queries written to {out}")


def _models(text: str) -> list[type[ClickModel]]:
    from rankloop.click_models import ClickModel

    known = ClickModel.known
    names = [name.strip().upper() for name in text.split(",")]
    if names == ["ALL"]:
        names = ["CM", "DCM", "SDBN", "DBN", "PBM", "UBM"]
    for name in names:
        if name not in known:
            raise ValueError(f"--model: there is no click model {name!r}{suggestion(name, known)}")
    return [known[name] for name in dict.fromkeys(names)]


def _read(name: str, events: str | None, positions: str, seed: int) -> ClickLog:
    """Read a log and say on standard error what was skipped."""
    from rankloop.datasets import read_click_log, synthetic_click_log

    if name == SYNTHETIC:
        return synthetic_click_log(SYNTHETIC_SESSIONS, seed=seed)
    n_positions = whole("--positions", positions, 1, 64)
    with _status(f"reading {name}"):
        log = read_click_log(name, events=events, n_positions=n_positions)
    if log.report.skipped:
        print(log.report, file=sys.stderr)
    return log


@contextmanager
def _status(label: str) -> Iterator[Callable[[str], None]]:
    """A line on standard error, shown only to a person, that tells what is going on."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(label) as status:
        yield lambda text: status.update(f"{label}, {text}")


def _table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table: the first column to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    print(title)
    for row in [columns, *rows]:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  ".join(cells))
