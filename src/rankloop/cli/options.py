"""The options that commands with simulations share."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import typer

from rankloop.cli.arguments import whole, whole_or_none


def needed(text: str, metavar: str) -> Any:
    """An option that has no default, described by this text."""
    return typer.Option(metavar=metavar, help=text, show_default=False)


def option(text: str, metavar: str, default: bool | str = True) -> Any:
    """An option that has a default, described by this text; `default` is what to show in its place."""
    return typer.Option(metavar=metavar, help=text, show_default=default)


def policies_like(example: str) -> Any:
    """The option that names policies, with an example of how to give one a parameter."""
    return typer.Option(help=f"Names separated by commas, parameters in brackets: '{example}'; or all.")


Runs = Annotated[str, typer.Option(metavar="N", help="Independent runs of each policy.")]
RunsOfQuery = Annotated[str, typer.Option(metavar="N", help="Independent runs of each policy on each query.")]
Workers = Annotated[str | None, typer.Option(metavar="N", help="Threads.", show_default="all cores")]
Seed = Annotated[str, typer.Option(metavar="N", help="Seed of all random numbers.")]
ListLength = Annotated[str, needed("Items in the list.", "K")]
Matrix = Annotated[
    str,
    typer.Argument(
        metavar="MATRIX",
        help="A preference matrix: a file (CSV, text, npy, npz), or cycle, cycle2 or features:136.",
        show_default=False,
    ),
]
Models = Annotated[
    str | None,
    typer.Argument(
        metavar="[MODELS.json]",
        help="Fitted click models, query by query, as `click_models.save` writes them; built-in queries if not given.",
        show_default=False,
    ),
]
ClickModelName = Annotated[str, typer.Option(metavar="NAME", help="How users click: CM, DCM or PBM.")]
ListsShown = Annotated[str, option("Lists shown in a run.", "N")]
LogarithmicPoints = Annotated[str, option("Points of a curve, spread evenly on a logarithmic scale.", "N")]
Queries = Annotated[
    str | None,
    typer.Option(metavar="N", help="Number of queries, the first N.", show_default="all of a file, 10 built-in"),
]


OPTIONS = {
    "n_arms": "--rankers",
    "n_rankers": "--rankers",
    "n_items": "--items",
    "n_positions": "--positions",
    "n_features": "--features",
    "initial_inversions": "--wrong-pairs",
    "wrong_pairs": "--wrong-pairs",
    "batch_size": "--batch-size",
    "chi_min": "--chi-min",
    "chi_max": "--chi-max",
    "largest_attraction": "--largest-attraction",
}
"""What parameters of the theory are called on the command line, where that is not their own name."""


class RunOptions(NamedTuple):
    """How long, how often and with what random numbers to simulate."""

    horizon: int
    runs: int
    seed: int
    checkpoints: int
    workers: int | None

    @classmethod
    def read(cls, horizon: str, runs: str, seed: str, checkpoints: str, workers: str | None) -> RunOptions:
        """What the options say, or `Refused`."""
        return cls(
            whole("--horizon", horizon, 1),
            whole("--runs", runs, 1),
            whole("--seed", seed, 0),
            whole("--checkpoints", checkpoints, 1),
            whole_or_none("--workers", workers, 1),
        )
