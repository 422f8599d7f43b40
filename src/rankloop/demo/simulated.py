"""The simulated part of the demo: policies compared on built-in problems, far longer than live."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rankloop.demo.simulated_problems import PARTS, Part
from rankloop.experiments.warm_up import kind, warm_up
from rankloop.policies.features import Explanation
from rankloop.report import Section, page
from rankloop.report.data import write_results_of
from rankloop.runs import display
from rankloop.simulation import Result, simulate, train
from rankloop.simulation.jobs import simulations
from rankloop.storage import replacing

PAGE, DATA = "simulated.html", "results.csv"
"""The files that it writes."""

TITLE = "rankloop: policies in simulation"

INTRODUCTION = """A ranking system can learn from its users while it serves them. Whenever it shows something other than
the best list in order to learn, this has a cost, called regret. A good policy keeps it low.

Each policy below is run several times on the same problems, each time with other random numbers. All numbers were
computed on this machine when the page was made."""


def compare_in_simulation(out: Path, horizon: int | None, runs: int | None, seed: int, version: str) -> list[Section]:
    """Run all parts, write their page and data into a folder, and return the page's sections."""
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
    return sections


def _play(parts: Sequence[Part], seed: int) -> list[list[Result]]:
    """The results of each part, one for each of its policies."""
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
                checkpoints=part.checkpoints(),
                progress=watcher,
            )
            if any(result.interrupted for result in results):
                raise KeyboardInterrupt
            played.append(results)
    return played


def _compile(parts: Sequence[Part]) -> None:
    """Compile the loops of all parts, in several processes at once."""
    pairs = {}
    for part in parts:
        for policy in part.policies:
            [first, *_] = simulations(policy, part.environment, part.top, None)
            pairs[kind(first)] = first
    warm_up(pairs, os.cpu_count() or 1, lambda _: None, lambda: False)


def _lists(part: Part, seed: int) -> dict[str, Explanation]:
    """What each policy would show the first user in the end."""
    first = part.environment[0]
    trained = [train(policy, first, horizon=part.horizon, seed=seed) for policy in part.policies]
    return {
        type(policy).__name__: policy.explain(titles=first.titles, topics=first.topics, topic_names=first.topic_names)
        for policy in trained
    }


def _footer(version: str) -> str:
    return (
        f"Made by rankloop {version} with the command: rankloop demo --simulated. “Found the winner” is the share of "
        "runs that named the best ranker at their end; “lost the winner” counts the runs that eliminated it. "
        "A list of K items is unsafe if it has over K/2 more pairs in the wrong order than production's list. "
        "Bold marks the best value of the main measure. For the experiments of the thesis: rankloop reproduce."
    )
