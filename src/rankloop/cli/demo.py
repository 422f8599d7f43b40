"""`rankloop demo`: what the package does, at small scale, ending in a page to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from rankloop.environments import PreferenceMatrix
    from rankloop.policies import Policy


class Part(NamedTuple):
    """One problem of the demo: its policies, each to be simulated in one environment."""

    title: str
    text: str
    policies: list[Policy]
    environment: PreferenceMatrix
    facts: dict[str, str]


def live_evaluation() -> Iterator[Part]:
    """Which of many rankers is best?"""
    from rankloop.cli.arguments import dueling_policies
    from rankloop.environments import PreferenceMatrix

    problems = (
        (
            "Which of 64 rankers is best?",
            """64 rankers are compared two at a time, by interleaving their lists and counting clicks. They look like
            the features of a learning-to-rank dataset: groups of near-duplicates, a few uninformative ones, and one
            that beats every other by a little. A comparison of two bad rankers is a bad page for a user; regret adds
            up how bad. A good policy soon stops showing the bad ones.""",
            PreferenceMatrix.like_features(64),
        ),
        (
            "Twenty rankers that run in a circle",
            """One ranker beats the 19 others by a hair; these beat each other in a circle, with certainty. What counts
            is not how often a ranker wins, but that it loses to nobody.""",
            PreferenceMatrix.cycle(),
        ),
    )
    for title, text, problem in problems:
        policies = [cls(n_arms=problem.n_arms) for _, cls in sorted(dueling_policies().items())]
        facts = {
            "problem": problem.name,
            "rankers": f"{problem.n_arms}",
            "the winner's closest rival": _closest(problem),
        }
        yield Part(title, text, list(policies), problem, facts)


def _closest(problem: PreferenceMatrix) -> str:
    """How often the winner beats the ranker that comes nearest to it."""
    [winner] = problem.winners
    return f"beaten {sorted(problem.preferences[winner])[1]:.1%} of the time"


PARTS: tuple[Callable[[], Iterator[Part]], ...] = (live_evaluation,)
"""Each problem that the package solves adds one or more parts."""


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the report goes.")] = Path("demo-results"),
    horizon: Annotated[str, typer.Option(metavar="N", help="Steps in a run.")] = "2e5",
    runs: Annotated[str, typer.Option(metavar="N", help="Independent runs of each policy.")] = "10",
    seed: Annotated[str, typer.Option(metavar="N", help="Of everything random.")] = "0",
) -> None:
    """Compare all policies on built-in problems, in about a minute, and write a report."""
    from rankloop.cli.arguments import whole

    n_steps, n_runs, first_seed = whole("--horizon", horizon, 1), whole("--runs", runs, 1), whole("--seed", seed, 0)

    from rankloop import __version__
    from rankloop.cli.errors import refusing
    from rankloop.cli.folder import check_writable
    from rankloop.cli.progress import Board
    from rankloop.cli.tables import print_results
    from rankloop.report import Section, page
    from rankloop.simulation import simulate
    from rankloop.storage import replacing

    check_writable(out)
    parts = [part for make in PARTS for part in make()]
    sections = []
    with Board(sum(len(part.policies) for part in parts)) as board:
        for part in parts:
            results = []
            for policy in part.policies:
                board.start(f"{type(policy).__name__} on {part.environment.name}", n_runs)
                result = simulate(
                    policy,
                    part.environment,
                    horizon=n_steps,
                    runs=n_runs,
                    seed=first_seed,
                    progress=board.progress,
                    after_run=board.ran,
                )
                if result.interrupted:
                    raise KeyboardInterrupt
                board.finish(result)
                results.append(result)
            facts = {**part.facts, "duels a run": f"{n_steps:,}", "runs": f"{n_runs:,}"}
            sections.append(Section(part.title, part.text, results, facts, log=False))
    report = out / "index.html"
    with refusing("cannot write the report"):
        out.mkdir(parents=True, exist_ok=True)
        with replacing(report) as file:
            file.write(page("rankloop: a first look", INTRODUCTION, sections, _footer(__version__)).encode())
    for section in sections:
        print_results(section.results, f"{section.title} ({section.facts['problem']}, {n_steps:,} duels a run)")
    print(f"Report: {report}\nOpen it in a browser: {report.resolve().as_uri()}")


INTRODUCTION = """A ranking system can learn from its users while it serves them. Every choice it makes to learn costs
something, when it shows what is not the best; that cost is called regret, and a good policy keeps it low.

Each policy below plays the same problems, several times over, each time with other random numbers. All numbers were
computed on this machine when the page was made."""


def _footer(version: str) -> str:
    return (
        f"Made by rankloop {version} with the command: rankloop demo. “Found the winner” is the share of runs that "
        "believed in the best ranker at their end; “lost the winner” counts the runs that eliminated it."
    )
