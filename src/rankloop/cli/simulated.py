"""The simulated part of `rankloop demo`: policies compared on built-in problems, far longer than live."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rankloop.environments import PreferenceMatrix
    from rankloop.policies.features import Explanation
    from rankloop.simulation import Result

N_QUERIES = 3
"""Queries of the parts on lists."""

N_USERS = 24
"""Users of the part on diversity: enough to see a ratio of 1.5 of two policies, at a level of 1 %, 9 times in 10."""

FEWER_LISTS = 20
"""How many times fewer lists are shown where policies learn by features: they learn faster, and take longer to rank."""

CHANCE = 0.01
"""The probability that the interval of a comparison misses the truth."""

PAGE, DATA = "simulated.html", "results.csv"
"""The files that it writes."""

Results = Mapping[str, "Result"]
"""The results of one part by the names of their policies."""


class Part(NamedTuple):
    """One problem of the demo: its policies, each to be simulated in one environment, or for each of several."""

    title: str
    text: str
    """What the problem is about, and what a run of this length can show."""
    policies: Sequence[Any]
    environment: Any
    facts: dict[str, str]
    horizon: int
    runs: int
    answer: Callable[[Results], str]
    """What the results say, in words."""
    records: Sequence[str] = ("regret",)
    log: bool = False
    top: int | None = None
    unit: str = "lists"


def live_evaluation(horizon: int | None, runs: int | None) -> Iterator[Part]:
    """Which of many rankers is best?"""
    from rankloop.cli.arguments import make_policies
    from rankloop.environments import PreferenceMatrix

    steps, n_runs = horizon or 1_000_000, runs or 6
    problems = (
        (
            "Which of 64 rankers is best?",
            """64 rankers are compared two at a time, by interleaving their lists and counting clicks. One of them beats
            every other by a little. A comparison of two bad rankers is a bad page for a user; regret adds up these
            costs.

            What this can show: within a million comparisons MergeDTS and MergeRUCB eliminate all rankers but one, and
            from then on they cost nothing. SelfSparring never stops exploring, so its regret never stops growing.""",
            PreferenceMatrix.like_features(64),
            _settled,
        ),
        (
            "Twenty rankers with cyclic preferences",
            """One ranker beats the 19 others by a small margin, while these beat each other in a cycle, with certainty.
            The best ranker is not the one that wins most often, but the one that loses to no other.

            What this can show: a hundred thousand comparisons are enough for MergeDTS and MergeRUCB to find that ranker
            with certainty, so the rest of the million shows what it costs not to be certain.""",
            PreferenceMatrix.cycle(),
            lambda results: _compared(results["MergeDTS"], results["SelfSparring"]),
        ),
    )
    for title, text, problem, answer in problems:
        policies = make_policies("MergeDTS,MergeRUCB,SelfSparring", problem.n_arms)
        facts = {
            "problem": problem.name,
            "rankers": f"{problem.n_arms}",
            "the winner's closest rival": _closest(problem),
        }
        yield Part(title, text, policies, problem, facts, steps, n_runs, answer, unit="comparisons")


def _closest(problem: PreferenceMatrix) -> str:
    """How often the winner beats the ranker that comes nearest to it."""
    [winner] = problem.winners
    return f"beaten {sorted(problem.preferences[winner])[1]:.1%} of the time"


def _settled(results: Results) -> str:
    """What each policy still paid in the last tenth of its steps, and when SelfSparring will have paid more in all."""
    found = [f"{name} in {int(each.found.sum())} of {len(each.found)}" for name, each in results.items()]
    paid = [f"{name} {_growth(each):,.0f}" for name, each in results.items()]
    lines = [
        f"Runs that found the best ranker: {', '.join(found)}. Regret of the last tenth of the comparisons: "
        f"{', '.join(paid)}."
    ]
    first, last = results["MergeDTS"], results["SelfSparring"]
    ahead = float(first.mean()[-1] - last.mean()[-1])
    if ahead > 0 and _growth(last) > _growth(first):
        steps = int(first.steps[-1])
        more = 0.1 * steps * ahead / (_growth(last) - _growth(first))
        lines.append(
            f"So far SelfSparring has paid less than MergeDTS. At the pace of the last tenth, it will have paid more "
            f"after {_rounded(steps + more)} comparisons."
        )
    return " ".join(lines)


def _growth(result: Result) -> float:
    """The mean regret of the last tenth of the steps, or of what comes nearest to that."""
    import numpy as np

    begin = int(np.searchsorted(result.steps, 0.9 * result.steps[-1], side="right")) - 1
    return float(result.mean()[-1] - (result.mean()[begin] if begin >= 0 else 0.0))


def _rounded(value: float) -> str:
    """A number of steps with two digits that count."""
    return f"{float(f'{value:.1e}'):,.0f}"


def safe_reranking(horizon: int | None, runs: int | None) -> Iterator[Part]:
    """How to improve a list without ever breaking it?"""
    from rankloop.cli.arguments import make_click_policies
    from rankloop.cli.rerank import COUNTED
    from rankloop.environments.synthetic_queries import built_in

    steps, problems = horizon or 1_000_000, built_in(N_QUERIES, "PBM")
    yield Part(
        "Improve a list, never break it",
        """A search engine already shows a good list for each query, and clicks tell how to improve it. Most policies
        begin by trying all kinds of lists, including bad ones. BubbleRank only exchanges neighbours. The price of this
        safety is that it learns more slowly.

        What this can show: unsafe lists are shown early or never, so a million lists per query show how many there are.
        They also show whether the safe policy improves on production's list, which FixedRanking always shows.""",
        make_click_policies("BubbleRank,TopRank,FixedRanking", problems[0], problems[0].n_items, steps),
        problems,
        {
            "problem": f"{N_QUERIES} built-in queries, PBM",
            "items": f"{problems[0].n_items}",
            "counted": f"top {COUNTED}",
        },
        steps,
        runs or 5,
        _safety,
        records=("violations", "ndcg", "regret"),
        log=True,
        top=COUNTED,
    )


def _safety(results: Results) -> str:
    """How many unsafe lists each policy showed, and what safety gained over production."""
    shown = [
        f"{name} showed {result.violations[:, -1].sum():,.0f}"
        for name, result in results.items()
        if name != "FixedRanking"
    ]
    n_lists = len(results["BubbleRank"].finished) * int(results["BubbleRank"].steps[-1])
    return (
        f"Unsafe lists among {n_lists:,}: {'; '.join(shown)}. "
        f"{_compared(results['BubbleRank'], results['FixedRanking'])}"
    )


def changing_preferences(horizon: int | None, runs: int | None) -> Iterator[Part]:
    """What to do when tastes change?"""
    from rankloop.cli.arguments import make_click_policies
    from rankloop.environments.synthetic_queries import N_EPOCHS, built_in, drifting

    steps = horizon or 100_000
    if steps < N_EPOCHS:
        return
    users = drifting(built_in(N_QUERIES, "CM"), steps, 0)
    yield Part(
        "Follow users whose tastes change",
        f"""In every second epoch, grey in the picture, three items that nobody wanted become what everybody wants, and
        fall back at its end. A policy that remembers everything trusts old clicks. CascadeSWUCB uses only the latest
        lists, and CascadeDUCB discounts old ones: they lose a little after each change, and then recover.

        What this can show: ten epochs of {steps // N_EPOCHS:,} lists, so nine changes. What counts is the regret after
        the first of them; in the first epoch nothing has changed yet, and CascadeKLUCB is best there.""",
        make_click_policies("CascadeSWUCB,CascadeDUCB,CascadeKLUCB", users[0], 3, steps),
        users,
        {"problem": f"{N_QUERIES} built-in queries, CM, drifting", "items": f"{users[0].n_items}", "shown": "3"},
        steps,
        runs or 5,
        lambda results: " ".join(
            _compared(results[name], results["CascadeKLUCB"], "regret after the first change", after_change=True)
            for name in ("CascadeSWUCB", "CascadeDUCB")
        ),
    )


def relevance_and_diversity(horizon: int | None, runs: int | None) -> Iterator[Part]:
    """How to show what is relevant, but not ten of the same?"""
    from rankloop.cli.arguments import make_feature_policies
    from rankloop.datasets import synthetic_ratings
    from rankloop.environments import hybrid_problems

    steps = max(1, (horizon or 100_000) // FEWER_LISTS)
    users = hybrid_problems(synthetic_ratings(), trade_off=0.5, n_users=N_USERS if runs is None else N_QUERIES)
    others = ("CascadeLSB", "CascadeLinUCB")
    yield Part(
        "Show relevant items, but not ten of the same kind",
        f"""There are a thousand films with genres. Users like a film for its relevance, and for topics that the list
        still lacks: a second crime story attracts less than the first. CascadeLinUCB learns relevance and ignores
        topics; CascadeLSB covers topics and ignores relevance; CascadeHybrid learns both at once.

        What this can show: policies are paired by user, and {N_USERS} users are enough to see one policy have 1.5 times
        the regret of another. Smaller differences need more users.""",
        make_feature_policies("CascadeHybrid,CascadeLinUCB,CascadeLSB", users[0], 10, steps),
        users,
        {"problem": f"{len(users)} users of a generated catalogue", "items": f"{users[0].n_items:,}", "shown": "10"},
        steps,
        runs or 1,
        lambda results: " ".join(_compared(results["CascadeHybrid"], results[name]) for name in others),
    )


PARTS: tuple[Callable[[int | None, int | None], Iterator[Part]], ...] = (
    live_evaluation,
    safe_reranking,
    changing_preferences,
    relevance_and_diversity,
)
"""Each problem that the package solves adds one or more parts."""


def _compared(one: Result, other: Result, what: str = "regret", *, after_change: bool = False) -> str:
    """How many times as much one policy has as another, with an interval, or what it would take to tell them apart."""
    from rankloop.experiments.comparisons import log_ratio
    from rankloop.experiments.statistics import jackknife, three_digits
    from rankloop.simulation.difference import student_bound

    samples = [_sample(result, after_change=after_change) for result in (one, other)]
    effect, error, freedom = jackknife(lambda means: log_ratio(means[0], means[1]), samples)
    if not math.isfinite(effect):
        return f"{one.policy} and {other.policy} have no ratio: one of them has no {what}."
    ratio = f"{one.policy} has {three_digits(math.exp(effect))} times the {what} of {other.policy}"
    if not math.isfinite(error):
        return f"{ratio}; an interval needs more runs."
    room = student_bound(CHANCE / 2, freedom) * error
    interval = f"{three_digits(math.exp(effect - room))} to {three_digits(math.exp(effect + room))}"
    told = f"{ratio} ({1 - CHANCE:.0%} interval: {interval})."
    if abs(effect) > room:
        return told
    times = (room / abs(effect)) ** 2 if effect else math.inf
    factor = f"about {_rounded(times)}" if times < 1000 else "more than 1,000"
    kind = "users" if one.setting.get("hybrid") else "runs"
    return f"{told} To find out which of the two has less takes {factor} times as many {kind}."


def _sample(result: Result, *, after_change: bool) -> Any:
    """The last regret of each run: one row for each query, or one row of all users, who are a sample themselves."""
    import numpy as np

    from rankloop.experiments.statistics import Sample

    values = result.regret[:, -1]
    if after_change:
        values = values - result.regret[:, int(np.searchsorted(result.steps, result.setting["epochs"][0]))]
    n_queries = len(result.setting.get("queries", [""]))
    if result.setting.get("hybrid"):
        return Sample(values.reshape(-1, n_queries).mean(axis=0, keepdims=True), "users")
    return Sample(values.reshape(-1, n_queries).T, result.policy)


def simulated(out: Path, horizon: int | None, runs: int | None, seed: int, version: str) -> None:
    """Run all parts, write their page and data into a folder, and print their tables."""
    from rankloop.cli.tables import print_results
    from rankloop.report import Section, page
    from rankloop.report.data import write_results_of
    from rankloop.storage import replacing

    parts = [part for make in PARTS for part in make(horizon, runs)]
    played = _play(parts, seed)
    sections = []
    for part, results in zip(parts, played, strict=True):
        facts = {**part.facts, f"{part.unit} per run": f"{part.horizon:,}"}
        facts["runs"] = f"{len(results[0].finished):,}"
        lists = _lists(part, seed) if results[0].setting.get("hybrid") else {}
        answer = part.answer({result.policy.partition("(")[0]: result for result in results})
        sections.append(Section(part.title, part.text, results, facts, part.log, part.records, lists, answer))
    out.mkdir(parents=True, exist_ok=True)
    write_results_of(
        ((part.title, result) for part, found in zip(parts, played, strict=True) for result in found), out / DATA
    )
    with replacing(out / PAGE) as file:
        files = {DATA: "all results, one row for each run, step and measure", "index.html": "the same problems, live"}
        file.write(page(TITLE, INTRODUCTION, sections, _footer(version), files).encode())
    for part, section in zip(parts, sections, strict=True):
        print_results(section.results, f"{part.title} ({part.facts['problem']}, {part.horizon:,} {part.unit} per run)")
        print(f"{section.answer}\n")


def _play(parts: Sequence[Part], seed: int) -> list[list[Result]]:
    """The results of each part, one for each of its policies."""
    from rankloop.runs import display
    from rankloop.simulation import simulate

    _compile(parts)
    played: list[list[Result]] = []
    with display() as watcher:
        for part in parts:
            results = simulate(
                list(part.policies),
                part.environment,
                horizon=part.horizon,
                runs=part.runs,
                seed=seed,
                top=part.top,
                checkpoints=_checkpoints(part),
                progress=watcher,
            )
            if any(result.interrupted for result in results):
                raise KeyboardInterrupt
            played.append(results)
    return played


def _compile(parts: Sequence[Part]) -> None:
    """Compile the loops of all parts, in several processes at once."""
    from rankloop.experiments.warm_up import kind, warm_up
    from rankloop.simulation.jobs import simulations

    pairs = {}
    for part in parts:
        for policy in part.policies:
            [first, *_] = simulations(policy, part.environment, part.top, None)
            pairs[kind(first)] = first
    warm_up(pairs, os.cpu_count() or 1, lambda _: None, lambda: False)


def _lists(part: Part, seed: int) -> dict[str, Explanation]:
    """What each policy would show the first user in the end."""
    from rankloop.simulation import train

    first = part.environment[0]
    trained = [train(policy, first, horizon=part.horizon, seed=seed) for policy in part.policies]
    return {
        type(policy).__name__: policy.explain(titles=first.titles, topics=first.topics, topic_names=first.topic_names)
        for policy in trained
    }


def _checkpoints(part: Part) -> list[int] | None:
    """When to record: lists at the end of every epoch too, and after the first hundred."""
    if part.unit != "lists":
        return None
    from rankloop.cli.drift import evenly
    from rankloop.cli.rerank import from_the_first

    return from_the_first(part.horizon, 60) if part.log else evenly(part.horizon, 200)


TITLE = "rankloop: policies in simulation"

INTRODUCTION = """A ranking system can learn from its users while it serves them. Whenever it shows something other than
the best list in order to learn, this has a cost, called regret. A good policy keeps it low.

Each policy below is run several times on the same problems, each time with other random numbers. All numbers were
computed on this machine when the page was made."""


def _footer(version: str) -> str:
    return (
        f"Made by rankloop {version} with the command: rankloop demo --simulated. “Found the winner” is the share of "
        "runs that named the best ranker at their end; “lost the winner” counts the runs that eliminated it. "
        "A list of K items is unsafe if it has over K/2 more pairs in the wrong order than production's list. "
        "Bold marks the best value of the main measure. For the experiments of the thesis: rankloop reproduce."
    )
