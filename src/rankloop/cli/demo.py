"""`rankloop demo`: what the package does, at small scale, ending in a page to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from rankloop.environments import PreferenceMatrix
    from rankloop.policies.features import Explanation

N_QUERIES = 3
"""Queries or users of the parts on lists; their runs are as many times fewer."""

FEWER_LISTS = 20
"""How many times fewer lists are shown where policies learn by features: they learn faster, and take longer to rank."""

IN_THE_REPORT = ("duels-cycle", "rerank-violations", "drift-regret", "diversity-positions-movielens")
"""One experiment of each chapter, to show what the report of a reproduction is like."""


class Part(NamedTuple):
    """One problem of the demo: its policies, each to be simulated in one environment, or for each of several."""

    title: str
    text: str
    policies: Sequence[Any]
    environment: Any
    facts: dict[str, str]
    runs: int
    records: Sequence[str] = ("regret",)
    log: bool = False
    top: int | None = None
    unit: str = "lists"
    horizon: int | None = None
    """Steps in a run, where fewer than in the other parts are enough."""


def live_evaluation(horizon: int, runs: int) -> Iterator[Part]:
    """Which of many rankers is best?"""
    from rankloop.cli.arguments import default_policies, make_policies
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
        policies = make_policies(",".join(default_policies()), problem.n_arms)
        facts = {
            "problem": problem.name,
            "rankers": f"{problem.n_arms}",
            "the winner's closest rival": _closest(problem),
        }
        yield Part(title, text, policies, problem, facts, runs, unit="duels")


def _closest(problem: PreferenceMatrix) -> str:
    """How often the winner beats the ranker that comes nearest to it."""
    [winner] = problem.winners
    return f"beaten {sorted(problem.preferences[winner])[1]:.1%} of the time"


def safe_reranking(horizon: int, runs: int) -> Iterator[Part]:
    """How to improve a list without ever breaking it?"""
    from rankloop.cli.arguments import make_click_policies
    from rankloop.cli.rerank import COUNTED
    from rankloop.environments.queries import built_in

    problems = built_in(N_QUERIES, "PBM")
    yield Part(
        "Improve a list, never break it",
        """A search engine already shows a decent list for each query; clicks tell how to improve it. Most policies
        begin by trying all kinds of lists, bad ones too. BubbleRank only ever exchanges neighbours, so its count of
        unsafe lists stays at zero, and its NDCG starts where production is, while the others first fall far below it.
        The price is that it learns more slowly.

        Users here look at every position with a probability of its own. CascadeKLUCB believes that they stop at the
        first click: it learns fast, but on some queries the wrong thing, and its regret then never stops growing.""",
        make_click_policies("BubbleRank,TopRank,CascadeKLUCB,FixedRanking", problems[0], problems[0].n_items, horizon),
        problems,
        {
            "problem": f"{N_QUERIES} built-in queries, PBM",
            "items": f"{problems[0].n_items}",
            "counted": f"top {COUNTED}",
        },
        max(1, runs // N_QUERIES),
        records=("regret", "violations", "ndcg"),
        log=True,
        top=COUNTED,
    )


def changing_preferences(horizon: int, runs: int) -> Iterator[Part]:
    """What to do when tastes change?"""
    from rankloop.cli.arguments import make_click_policies
    from rankloop.environments.queries import N_EPOCHS, built_in, drifting

    if horizon < N_EPOCHS:
        return
    users = drifting(built_in(N_QUERIES, "CM"), horizon, 0)
    yield Part(
        "Follow users who change their minds",
        """In every second epoch, grey in the picture, three items that nobody wanted become what everybody wants, and
        fall back at its end. A policy that remembers everything trusts old clicks: CascadeKLUCB is best in the first
        epoch, and far worse once it has much to unlearn. CascadeSWUCB, which looks at the last clicks only, and
        CascadeDUCB, which lets old ones fade, pay a little after each change and are right again.""",
        make_click_policies("CascadeSWUCB,CascadeDUCB,CascadeKLUCB,RankedEXP3", users[0], 3, horizon),
        users,
        {"problem": f"{N_QUERIES} built-in queries, CM, drifting", "items": f"{users[0].n_items}", "shown": "3"},
        max(1, runs // N_QUERIES),
    )


def relevance_and_diversity(horizon: int, runs: int) -> Iterator[Part]:
    """How to show what is relevant, but not ten of the same?"""
    from rankloop.cli.arguments import make_feature_policies
    from rankloop.datasets import synthetic_ratings
    from rankloop.environments import hybrid_problems

    n_steps = max(1, horizon // FEWER_LISTS)
    users = hybrid_problems(synthetic_ratings(), trade_off=0.5, n_users=N_QUERIES)
    yield Part(
        "Relevant, but not ten of the same",
        """A thousand films with genres, and users who like some films for what they are and others for what the list
        still lacks: the second crime story attracts less than the first. CascadeLinUCB learns what is relevant and is
        blind to topics; CascadeLSB covers topics and is blind to the rest; CascadeHybrid learns both at once, from
        clicks alone.""",
        make_feature_policies("CascadeHybrid,CascadeLinUCB,CascadeLSB", users[0], 10, n_steps),
        users,
        {"problem": f"{N_QUERIES} users of a made-up catalogue", "items": f"{users[0].n_items:,}", "shown": "10"},
        max(1, runs // N_QUERIES),
        horizon=n_steps,
    )


PARTS: tuple[Callable[[int, int], Iterator[Part]], ...] = (
    live_evaluation,
    safe_reranking,
    changing_preferences,
    relevance_and_diversity,
)
"""Each problem that the package solves adds one or more parts."""


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the report goes.")] = Path("demo-results"),
    horizon: Annotated[str, typer.Option(metavar="N", help="Steps in a run.")] = "1e5",
    runs: Annotated[str, typer.Option(metavar="N", help="Independent runs of each policy.")] = "10",
    seed: Annotated[str, typer.Option(metavar="N", help="Of everything random.")] = "0",
    judged: Annotated[
        bool, typer.Option("--claims/--no-claims", help="Whether to end with some of the thesis' claims, judged.")
    ] = True,
) -> None:
    """Compare policies on built-in problems, judge some claims of the thesis, and write reports of both."""
    from rankloop.cli.arguments import whole

    n_steps, n_runs, first_seed = whole("--horizon", horizon, 1), whole("--runs", runs, 1), whole("--seed", seed, 0)

    from rankloop import __version__
    from rankloop.cli.errors import refusing
    from rankloop.cli.running import check_writable
    from rankloop.cli.tables import print_results
    from rankloop.report import Section, page
    from rankloop.runs import display
    from rankloop.simulation import simulate
    from rankloop.storage import replacing

    check_writable(out)
    parts = [part for make in PARTS for part in make(n_steps, n_runs)]
    sections = []
    with display() as watcher:
        for part in parts:
            steps = part.horizon or n_steps
            results = simulate(
                list(part.policies),
                part.environment,
                horizon=steps,
                runs=part.runs,
                seed=first_seed,
                top=part.top,
                checkpoints=_checkpoints(part, steps),
                progress=watcher,
            )
            if any(result.interrupted for result in results):
                raise KeyboardInterrupt
            facts = {**part.facts, f"{part.unit} a run": f"{steps:,}", "runs": f"{len(results[0].finished):,}"}
            lists = _lists(part, steps, first_seed) if part.horizon else {}
            sections.append(Section(part.title, part.text, results, facts, part.log, part.records, lists))
    report = out / "index.html"
    with refusing("cannot write the report"):
        out.mkdir(parents=True, exist_ok=True)
        with replacing(report) as file:
            file.write(page("rankloop: a first look", INTRODUCTION, sections, _footer(__version__)).encode())
    for part, section in zip(parts, sections, strict=True):
        steps = part.horizon or n_steps
        print_results(section.results, f"{part.title} ({part.facts['problem']}, {steps:,} {part.unit} a run)")
    print(f"Report: {report}\nOpen it in a browser: {report.resolve().as_uri()}")
    if judged:
        _judge(out / "reproduction", first_seed)


def _judge(out: Path, seed: int) -> None:
    """A small part of what `rankloop reproduce` does: the thesis' experiments run anew, and its claims judged."""
    from rankloop.cli.reproduce import reproduce

    print(f"\nNow {len(IN_THE_REPORT)} of the thesis' experiments, at a small scale, and what they say of its claims:")
    reproduce(list(IN_THE_REPORT), out=out, seed=str(seed))


def _lists(part: Part, horizon: int, seed: int) -> dict[str, Explanation]:
    """What each policy would show the first user in the end."""
    from rankloop.simulation import train

    first = part.environment[0]
    trained = [train(policy, first, horizon=horizon, seed=seed) for policy in part.policies]
    return {
        type(policy).__name__: policy.explain(titles=first.titles, topics=first.topics, topic_names=first.topic_names)
        for policy in trained
    }


def _checkpoints(part: Part, horizon: int) -> list[int] | None:
    """When to record: lists at the end of every epoch too, and after the first hundred."""
    if part.unit == "duels":
        return None
    from rankloop.cli.drift import evenly
    from rankloop.cli.rerank import from_the_first

    return from_the_first(horizon, 60) if part.log else evenly(horizon, 200)


INTRODUCTION = """A ranking system can learn from its users while it serves them. Every choice it makes to learn costs
something, when it shows what is not the best; that cost is called regret, and a good policy keeps it low.

Each policy below plays the same problems, several times over, each time with other random numbers. All numbers were
computed on this machine when the page was made."""


def _footer(version: str) -> str:
    return (
        f"Made by rankloop {version} with the command: rankloop demo. “Found the winner” is the share of runs that "
        "believed in the best ranker at their end; “lost the winner” counts the runs that eliminated it. “Unsafe” are "
        "lists of K items with over K/2 more pairs in the wrong order than production's list has."
    )
