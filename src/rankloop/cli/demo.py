"""`rankloop demo`: the four problems live, at small scale, with a report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.errors import Refused, refusing
from rankloop.cli.options import Seed, option

if TYPE_CHECKING:
    from rankloop.demo.answers import DemoAnswer
    from rankloop.report import Section

IN_THE_REPORT = ("duels-cycle", "rerank-violations", "drift-regret", "diversity-positions-movielens")
"""One experiment of each chapter, to show what the report of a reproduction is like."""


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the report and the data.")] = Path(
        "demo-results"
    ),
    visits: Annotated[str | None, option("Visitors of each problem.", "N", "as each problem needs")] = None,
    in_simulation: Annotated[
        bool, typer.Option("--simulated/--no-simulated", help="Whether to add longer comparisons in simulation.")
    ] = False,
    horizon: Annotated[str | None, option("Steps in a simulated run.", "N", "as each problem needs")] = None,
    runs: Annotated[str | None, option("Simulated runs of each policy.", "N", "as each problem needs")] = None,
    seed: Seed = "0",
    judged: Annotated[
        bool, typer.Option("--claims/--no-claims", help="Whether to add tests of some of the thesis' claims.")
    ] = False,
) -> None:
    """Run all four problems live: a service, simulated visitors, a table for each question, and a report."""
    from rankloop.cli.arguments import whole, whole_or_none

    n_visits = whole_or_none("--visits", visits, 1)
    n_steps = whole_or_none("--horizon", horizon, 1)
    n_runs = whole_or_none("--runs", runs, 1)
    first_seed = whole("--seed", seed, 0)
    if not in_simulation and (n_steps or n_runs):
        raise Refused("--horizon and --runs are for simulations: add --simulated")

    from rankloop import __version__
    from rankloop.cli.running import check_writable
    from rankloop.runs import display

    check_writable(out)
    beside = {}
    if in_simulation:
        from rankloop.demo.simulated import PAGE, compare_in_simulation

        beside[PAGE] = "longer comparisons in simulation"
    beside |= {"reproduction/index.html": "claims of the thesis, tested"} if judged else {}
    with refusing("cannot run the demo"):
        from rankloop.demo.children import interruptible
        from rankloop.demo.running import look_again, replayed, report, run

        out.mkdir(parents=True, exist_ok=True)
        with interruptible(), display() as watcher:
            found = run(out, visits=n_visits, seed=first_seed, watcher=watcher)
        page = report(found, out, __version__, beside)
    for answer in found.answers:
        _print(answer)
    print(f"{replayed(found)}\n{look_again(found)}\n")
    print(f"Report: {page}\nData:   {out / 'visits.csv'}, {out / 'answers.json'}")
    print(f"Open it in a browser: {page.resolve().as_uri()}")
    if in_simulation:
        with refusing("cannot write the report"):
            _print_results(compare_in_simulation(out, n_steps, n_runs, first_seed, __version__))
    if judged:
        _judge(out / "reproduction", first_seed)
    if found.differences:
        raise typer.Exit(1)


def _print(answer: DemoAnswer) -> None:
    """A table, what it can show, and what it says."""
    from rich.markup import escape

    from rankloop.cli.tables import console, new_table

    table = new_table(f"{answer.title} ({', '.join(f'{name}: {value}' for name, value in answer.facts.items())})")
    words = (0, 1) if answer.kind == "evaluate" else (0,)
    for k, heading in enumerate(answer.headings):
        table.add_column(heading, justify="left" if k in words else "right", overflow="fold")
    for row in answer.rows:
        table.add_row(*map(escape, row))
    print(f"What this can show: {' '.join(answer.able.split())}\n")
    console().print(table)
    print(f"{answer.found}\n")


def _print_results(sections: Iterable[Section]) -> None:
    """The tables of what was simulated, each with what it says."""
    from rankloop.cli.tables import print_results

    for section in sections:
        length = ", ".join(f"{value} {name}" for name, value in section.facts.items() if name.endswith("per run"))
        print_results(section.results, f"{section.title} ({section.facts['problem']}, {length})")
        print(f"{section.answer}\n")


def _judge(out: Path, seed: int) -> None:
    """A small part of what `rankloop reproduce` does: some of the thesis' experiments, and tests of its claims."""
    from rankloop.cli.reproduce import reproduce

    print(f"\nNow {len(IN_THE_REPORT)} of the thesis' experiments, at a small scale, with tests of its claims:")
    reproduce(list(IN_THE_REPORT), out=out, seed=str(seed), beside="../index.html")
