"""`rankloop clicks`: click models fitted to logs, and judged on others."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.errors import refusing

if TYPE_CHECKING:
    from rankloop.click_models import ClickModel
    from rankloop.datasets import ClickLog

app = typer.Typer(no_args_is_help=True, help="Fit click models to click logs, and judge them.")

SYNTHETIC = "synthetic"
SYNTHETIC_SESSIONS = 20_000

LogArgument = Annotated[
    str,
    typer.Argument(
        help="A click log: Yandex' format, CSV, Parquet or UBI queries as JSON lines, also packed with gzip; "
        f"or the word {SYNTHETIC} for one that is made up.",
        metavar="LOG",
    ),
]
EventsOption = Annotated[str | None, typer.Option(help="The UBI events that go with UBI queries.")]
PositionsOption = Annotated[int, typer.Option(help="How many results of each list to read.", min=1, max=64)]


@app.command()
def fit(
    log: LogArgument,
    model: Annotated[str, typer.Option(help="CM, DCM, SDBN, DBN, PBM, UBM; several with commas; or all.")] = "DCM",
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("models.json"),
    queries: Annotated[int | None, typer.Option(help="Take only this many of the most frequent queries.")] = None,
    among: Annotated[
        int | None, typer.Option(help="Draw the --queries at random from this many most frequent.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of that draw.", min=0)] = 0,
    min_items: Annotated[int, typer.Option(help="With --queries: only queries that show this many items.")] = 10,
    smoothing: Annotated[float, typer.Option(help="Pseudo-observations added to those of each parameter.")] = 5.0,
    exact: Annotated[bool, typer.Option("--exact", help="Fit DCM and SDBN by EM instead of counting.")] = False,
    tolerance: Annotated[float, typer.Option(help="EM ends when it gains less log-likelihood a session.")] = 1e-6,
    max_iterations: Annotated[int, typer.Option(help="EM ends after this many iterations anyway.")] = 500,
    events: EventsOption = None,
    positions: PositionsOption = 10,
) -> None:
    """Fit click models to a log and write them to a file."""
    with refusing():
        from rankloop.click_models import save

        kinds = _models(model)
        if not out.absolute().parent.is_dir():
            raise ValueError(f"--out: there is no directory {out.absolute().parent}")
        data = _read(log, events, positions, seed=0)
        if queries is not None:
            data = data.frequent(queries, n_items=min_items, among=among, seed=seed)
        elif among is not None:
            raise ValueError("--among says what to draw --queries from: give both")
        fitted, rows = [], []
        for kind in kinds:
            with _status(f"fitting {kind.__name__}") as show:
                begin = time.perf_counter()
                result = kind.fit(
                    data, smoothing=smoothing, exact=exact, tolerance=tolerance, max_iterations=max_iterations,
                    progress=lambda number, likelihood: show(f"iteration {number}: log-likelihood {likelihood:.5f}"),
                )  # fmt: skip
                seconds = time.perf_counter() - begin
            fitted.append(result)
            likelihood, perplexity = result.mean_log_likelihood(data), result.perplexity(data).overall
            iterations = str(len(result.history)) if result.history else "counted"
            rows.append([kind.__name__, f"{likelihood:.4f}", f"{perplexity:.4f}", iterations, f"{seconds:.2f}"])
            if len(result.history) == max_iterations:
                print(f"{kind.__name__} was stopped after {max_iterations} iterations", file=sys.stderr)
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
    positions: PositionsOption = 10,
) -> None:
    """Judge fitted click models on a log: log-likelihood a session and perplexity, overall and by position."""
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
    out: Annotated[Path, typer.Argument(help="The file to write, in Yandex' format, or as CSV if it ends so.")],
    sessions: Annotated[int, typer.Option(help="How many sessions.", min=1)] = SYNTHETIC_SESSIONS,
    queries: Annotated[int, typer.Option(help="How many queries.", min=1)] = 100,
    model: Annotated[str, typer.Option(help="The click model of the users: CM, DCM or PBM.")] = "DCM",
    seed: Annotated[int, typer.Option(help="Of the sessions; queries and their items stay the same.", min=0)] = 0,
) -> None:
    """Write a made-up click log."""
    with refusing():
        from rankloop.datasets import synthetic_click_log, write_csv, write_yandex

        log = synthetic_click_log(sessions, n_queries=queries, click_model=model.upper(), seed=seed)
        (write_csv if out.suffix == ".csv" else write_yandex)(log, out)
        print(f"{len(log):,} sessions of {queries:,} queries written to {out}")


def _models(text: str) -> list[type[ClickModel]]:
    from rankloop.click_models import ClickModel

    known = ClickModel.known
    names = [name.strip().upper() for name in text.split(",")]
    if names == ["ALL"]:
        names = ["CM", "DCM", "SDBN", "DBN", "PBM", "UBM"]
    for name in names:
        if name not in known:
            raise ValueError(f"--model: there is no click model {name!r}, only {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)]


def _read(name: str, events: str | None, positions: int, seed: int) -> ClickLog:
    """Read a log and say on standard error what was skipped."""
    from rankloop.datasets import read_click_log, synthetic_click_log

    if name == SYNTHETIC:
        return synthetic_click_log(SYNTHETIC_SESSIONS, seed=seed)
    with _status(f"reading {name}"):
        log = read_click_log(name, events=events, n_positions=positions)
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
