"""`rankloop duel`: which of many rankers is best, and which policy finds out at the least cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.options import Matrix, RunOptions, Runs, Seed, Workers

if TYPE_CHECKING:
    from rankloop.environments import PreferenceMatrix
    from rankloop.simulation import Result

FOLDER = "rankloop-results"


def duel(
    matrix: Matrix,
    policies: Annotated[
        str | None,
        typer.Option(
            help="Names separated by commas, parameters in brackets: 'MergeDTS,MergeDTS(alpha=1.01)'; or all.",
            show_default="those of the thesis",
        ),
    ] = None,
    horizon: Annotated[str, typer.Option(metavar="N", help="Duels in a run.")] = "1e6",
    runs: Runs = "10",
    workers: Workers = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the results.", show_default=FOLDER)] = None,
    seed: Seed = "0",
    checkpoints: Annotated[
        str, typer.Option(metavar="N", help="Points of a regret curve, spread evenly on a logarithmic scale.")
    ] = "60",
) -> None:
    """Run dueling bandits on a preference matrix and compare their regret.

    Runs are saved as they finish: the same command continues where it was interrupted, and more runs or policies add to
    what is there.
    """
    options = RunOptions.read(horizon, runs, seed, checkpoints, workers)

    from rankloop.cli.arguments import default_policies, make_policies, read_matrix
    from rankloop.cli.own_problem import OwnProblem, compare_policies
    from rankloop.experiments import Source

    problem = read_matrix(matrix)
    real = Path(matrix).exists()
    own = OwnProblem(
        "duel",
        2,
        problem.name,
        f"{problem.name}: {problem.n_arms} rankers, {options.horizon:,} duels per run",
        problem,
        Source(Path(matrix).name if real else f"the made-up matrix {problem.name}", real),
        lambda text: make_policies(text, problem.n_arms),
        checkpoints=options.checkpoints,
        remarks=lambda results: list(_remarks(problem, results)),
    )
    compare_policies(own, ",".join(default_policies()) if policies is None else policies, options, out, FOLDER)


def _remarks(matrix: PreferenceMatrix, results: Sequence[Result]) -> Iterator[str]:
    """Which ranker is best, in which one each policy believed, and where the theory does not hold."""
    from rankloop.wording import listed

    best = listed(matrix.names[arm] for arm in matrix.winners)
    if matrix.condorcet_winner is None:
        yield f"No ranker beats every other; {best} beat{'s' * (len(matrix.winners) == 1)} most others."
    else:
        yield f"Best ranker: {best}, which beats every other."
    for result in results:
        [(arm, runs)] = Counter(result.best.tolist()).most_common(1)
        if arm >= 0:
            of_all = f"{runs:,} of {len(result.finished):,} runs"
            yield f"{result.policy} believes in {matrix.names[arm]} at the end of {of_all}."
    merging = [name for name in ("MergeDTS", "MergeRUCB") if any(each.policy.startswith(name) for each in results)]
    if merging and not matrix.assumptions.met:
        yield f"Theory: no bound of {listed(merging)} holds here, since {matrix.assumptions.failure}"
