"""`rankloop diversify`: which policy learns lists that are relevant and not redundant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.options import RunOptions, Seed, Workers, option, policies_like

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rankloop.datasets import Ratings
    from rankloop.environments import HybridProblem
    from rankloop.policies import ClickPolicy

CHAPTER_5 = "CascadeHybrid,CascadeLinUCB,CascadeLinUCBFull,CascadeLSB,CascadeLSBFull"
"""The policies that the thesis compares in its chapter on relevance and diversity."""

FOLDER = "diversify-results"


def diversify(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="Ratings: MovieLens or Yahoo! Music R2, a folder or the archive as downloaded; a generated catalogue "
            "if not given.",
            show_default=False,
        ),
    ] = None,
    trade_off: Annotated[
        str,
        typer.Option("--lambda", metavar="X", help="What users want, from 0 (only diversity) to 1 (only relevance)."),
    ] = "0.5",
    policies: Annotated[str, policies_like("CascadeHybrid(gamma=0.5)")] = CHAPTER_5,
    positions: Annotated[str, typer.Option(metavar="K", help="Positions of a list.")] = "10",
    topics: Annotated[str, typer.Option(metavar="D", help="Number of topics, those with the most items.")] = "20",
    scaled: Annotated[
        bool,
        typer.Option(
            "--scaled/--unscaled",
            help="Whether relevance features are singular vectors times singular values (our choice), or the "
            "vectors alone.",
        ),
    ] = True,
    users: Annotated[str, typer.Option(metavar="N", help="Simulated users; the thesis has 500.")] = "10",
    runs: Annotated[str, typer.Option(metavar="N", help="Runs of each policy for each user; the thesis: 2.")] = "1",
    horizon: Annotated[str, typer.Option(metavar="N", help="Lists shown in a run; the thesis: 5e4.")] = "1e4",
    workers: Workers = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the results.", show_default=FOLDER)] = None,
    seed: Seed = "0",
    checkpoints: Annotated[str, option("Points of a curve, spread evenly.", "N")] = "50",
) -> None:
    """Compare policies that rank by features, with users who want relevance, diversity, or both.

    The results are a table, plots, and the list that each policy has learned for the first user, with the reasons.

    Runs are saved as they finish: the same command continues where it was interrupted, and more runs or policies add to
    what is there.
    """
    options = RunOptions.read(horizon, runs, seed, checkpoints, workers)

    from rankloop.cli.arguments import make_feature_policies, number, whole
    from rankloop.cli.errors import refusing
    from rankloop.cli.own_problem import OwnProblem, compare_policies
    from rankloop.environments import hybrid_problems
    from rankloop.experiments import Source
    from rankloop.simulation.checkpoints import evenly
    from rankloop.wording import count

    wanted = number("--lambda", trade_off, 0, 1)
    n_positions, n_users = whole("--positions", positions, 1), whole("--users", users, 1)
    ratings = read_data(data)
    n_topics = whole("--topics", topics, 1)
    with refusing():
        known = len(ratings.most_active().topics)
    if n_topics > known:
        print(f"{ratings.name} has {known} topics: all are taken, not {n_topics}", file=sys.stderr)
        n_topics = known
    with refusing():
        problems = hybrid_problems(
            ratings, trade_off=wanted, n_topics=n_topics, n_users=n_users, seed=options.seed, scaled=scaled
        )
    if len(problems) < n_users:
        print(f"{ratings.name} has {len(problems)} users to simulate, not {n_users}", file=sys.stderr)
    name = f"{ratings.name}, λ = {wanted:g}{'' if scaled else ', features without singular values'}"
    shape = f"{n_positions} of {problems[0].n_items:,} items shown, {n_topics} topics, {count(len(problems), 'user')}"

    def make(text: str) -> list[Any]:
        return make_feature_policies(text, problems[0], n_positions, options.horizon)

    own = OwnProblem(
        "diversify",
        5,
        name,
        f"{name}: {shape}, {options.horizon:,} lists per run",
        problems,
        Source(ratings.name, real=data is not None),
        make,
        log=False,
        checkpoints=evenly(options.horizon, options.checkpoints),
    )
    _, folder = compare_policies(own, policies, options, out, FOLDER)
    show_lists(make(policies), problems[0], options, folder)


def read_data(data: str | None) -> Ratings:
    """The ratings of a file or folder, or made-up ones."""
    from rankloop.cli.arguments import no_file
    from rankloop.cli.errors import Refused, refusing
    from rankloop.datasets import read_ratings, synthetic_ratings

    if data is None:
        return synthetic_ratings()
    if not Path(data).exists():
        raise Refused(no_file(data))
    with refusing():
        return read_ratings(data)


def show_lists(
    players: Sequence[Callable[[HybridProblem], ClickPolicy]], problem: HybridProblem, options: RunOptions, out: Path
) -> None:
    """What each policy would show the user now, in the terminal and as files."""
    from rankloop.cli.errors import refusing
    from rankloop.policies.features import FeaturePolicy, plot_coverage
    from rankloop.simulation import train
    from rankloop.simulation.setting import policy_name
    from rankloop.storage import replacing

    explained = {}
    for player in players:
        if not isinstance(player(problem), FeaturePolicy):
            continue
        policy = train(player, problem, horizon=options.horizon, seed=options.seed)
        explained[policy_name(policy, options.horizon)] = policy.explain(
            titles=problem.titles, topics=problem.topics, topic_names=problem.topic_names
        )
    if not explained:
        return
    text = "\n\n".join(f"{label}\n{explanation}" for label, explanation in explained.items())
    print(f"\nWhat {problem.environment.name} would be shown after {options.horizon:,} lists:\n\n{text}\n")
    with refusing("cannot write the lists"):
        with replacing(out / "lists.txt") as file:
            file.write(f"{text}\n".encode())
        with replacing(out / "coverage.png") as file:
            plot_coverage(explained).savefig(file, format="png", dpi=150)
    print(f"Lists: {out / 'lists.txt'}, topics covered: {out / 'coverage.png'}")
