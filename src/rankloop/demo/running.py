"""The whole demo: a service, four problems with their visitors, what they say, and a proof that it can be replayed."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from rankloop.demo import home, trending
from rankloop.demo.answers import DemoAnswer, diversifying, evaluating, following, reranking
from rankloop.demo.compiling import POLICIES, compile_policies
from rankloop.demo.home import Home
from rankloop.demo.pictures import pictures
from rankloop.demo.searching import FREQUENT_SEARCHES, SEARCHES, Evaluating, Reranking, Searching
from rankloop.demo.service_process import service
from rankloop.demo.traffic import Visit, World, play
from rankloop.demo.trending import Trending
from rankloop.examples.docs_search.corpus import open_corpus
from rankloop.extras import can_plot, extra
from rankloop.report.drawings import NO_PLOTS
from rankloop.report.markdown import Cell, Picture, Table, facts, folded, heading, links, plain, prose
from rankloop.report.page import as_html
from rankloop.runs.watcher import Display, Status
from rankloop.storage import replacing
from rankloop.wording import count

PATIENCE = 60.0
"""Seconds that a simulated visitor waits: none of them falls back because the machine is busy."""

TITLE = "rankloop: four problems, live"

INTRODUCTION = """A ranking system can learn from its users while it serves them. This page shows how rankloop did so a
moment ago, on this machine, for four problems: a service answered over HTTP, simulated visitors saw lists and clicked,
and everything was written to a journal.

Each section begins with its result, and says what a run of this length can show. The 95 % intervals say how much of a
result may be chance, since other visitors might have come."""


class Demo(NamedTuple):
    """What the demo found, and where its store is."""

    answers: list[DemoAnswer]
    store: Path
    lists: int
    """Number of lists derived again from the journal."""
    differences: list[str]


def run(out: Path, *, visits: int | None, seed: int, watcher: Display) -> Demo:
    """Run all problems and keep their store.

    Parameters
    ----------
    out
        Folder for everything that is written.
    visits
        Number of visitors of each problem; as many as each problem needs if not given.
    seed
        Seed of the visitors' random numbers.
    watcher
        Display of the progress.
    """
    with extra("serve", "the demo starts a service, which needs uvicorn, uvloop, httptools and msgspec"):
        import rankloop.service.run  # noqa: F401
    from rankloop.client import Client

    store = out / "live.db"
    for file in out.glob("live.db*"):
        file.unlink()
    steps = _Steps(watcher)
    compile_policies(steps.begin("compiling the policies", len(POLICIES), "compiling"))
    steps.begin("making an index of Python's documentation")
    corpus = open_corpus(out / "index")
    with (
        service(["--store", str(store), "--port", "0"], store.with_suffix(".log")) as serving,
        Client(serving.address, serving.key, timeout=PATIENCE, patience=PATIENCE) as client,
    ):
        searching = Searching(corpus, client)
        n_searches = visits or SEARCHES
        lengths = trending.LENGTHS if visits is None else _shorter(trending.LENGTHS, visits)
        evaluate = Evaluating(searching, n_searches)
        rerank = Reranking(searching, visits or FREQUENT_SEARCHES)
        follow, diversify = Trending(client, lengths, seed=seed), Home(client, seed=seed)

        def visited(world: World, n: int) -> list[Visit]:
            tell = steps.begin(world.title, n, units="visitors")
            world.create()
            return play(world, n, seed=seed, tell=tell)

        found = {
            "evaluate": visited(evaluate, n_searches),
            "rerank": visited(rerank, visits or FREQUENT_SEARCHES),
            "follow": visited(follow, follow.changes[-1]),
            "diversify": visited(diversify, visits or home.VISITS),
        }
        status = client.status("rankers")
    steps.begin("measuring the rankers on the queries held out")
    answers = [
        evaluating(evaluate, searching, found["evaluate"], status),
        reranking(rerank, found["rerank"]),
        following(follow, found["follow"]),
        diversifying(diversify, found["diversify"]),
    ]
    corpus.close()
    _write(out, answers, [visit for visits_of in found.values() for visit in visits_of])
    return Demo(answers, store, *_verified(store, steps))


class _Steps:
    """Reports the progress of the demo."""

    parts = 8

    def __init__(self, watcher: Display) -> None:
        self._watcher, self._number = watcher, 0

    def begin(self, title: str, total: int = 1, doing: str = "running", units: str = "steps") -> Callable[[int], None]:
        """Begin the next step; the function that is given is called with how much of it is done."""
        self._number += 1
        number = self._number

        def tell(done: int) -> None:
            status = Status(title, number, self.parts, doing, min(done, total), total, units=units)
            self._watcher.show(status)

        tell(0)
        return tell


def _shorter(lengths: Sequence[int], visits: int) -> list[int]:
    """Periods for a quick look."""
    return [max(1, visits * length // (len(trending.SECTIONS) * sum(lengths))) for length in lengths]


def _verified(store: Path, steps: _Steps) -> tuple[int, list[str]]:
    """Derive every list that was shown again from the journal."""
    from rankloop.live import Live

    steps.begin("replaying the journal")
    with Live(store, read_only=True) as live:
        found = live.verify()
    return found.choices, list(map(str, found.differences))


def _write(out: Path, answers: Sequence[DemoAnswer], visits: Sequence[Visit]) -> None:
    """All visits as a table, and all answers as JSON."""
    with (out / "visits.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Visit._fields)
        writer.writerows(visits)
    with replacing(out / "answers.json") as binary:
        binary.write(json.dumps([asdict(answer) for answer in answers], indent=1).encode())


def report(demo: Demo, out: Path, version: str, beside: dict[str, str]) -> Path:
    """Write the page."""
    drawn: list[Picture] = []
    files = {"visits.csv": "what every visitor got", "answers.json": "the data of the tables and pictures", **beside}
    parts = [heading(1, TITLE), prose(INTRODUCTION), links("Beside this page", files)]
    parts += [] if can_plot() else [prose(NO_PLOTS)]
    for number, answer in enumerate(demo.answers, 1):
        picture = pictures(answer)
        drawn += picture
        rows = [[Cell(text) for text in row] for row in answer.rows]
        words = (0, 1) if answer.kind == "evaluate" else (0,)
        parts += [heading(2, answer.title, f"s{number}"), f"**{plain(answer.found)}**"]
        parts += [str(Table(answer.headings, rows, words=words)), *map(str, picture)]
        if answer.all_rows:
            every = Table(answer.headings, [[Cell(text) for text in row] for row in answer.all_rows], words=words)
            parts.append(folded(f"All {len(answer.all_rows)} rankers", every))
        parts += [prose(answer.text), prose(f"What this can show: {answer.able}"), facts(answer.facts)]
    parts += [heading(2, "The journal replayed", "replayed"), prose(replayed(demo)), prose(look_again(demo)), "---"]
    parts.append(prose(f"Made by rankloop {version} with the command: rankloop demo."))
    path = out / "index.html"
    with replacing(path) as file:
        file.write(as_html("\n\n".join(part for part in parts if part), drawn).encode())
    return path


def replayed(demo: Demo) -> str:
    """The result of the replay, in words."""
    found = "no difference."
    if demo.differences:
        found = f"{count(len(demo.differences), 'difference')}: {demo.differences[0]}"
    return f"{count(demo.lists, 'list')} re-derived from the journal, {found}"


def look_again(demo: Demo) -> str:
    """The command that opens the demo's store in the dashboard."""
    store = shlex.quote(str(demo.store))
    return f"To see every loop, list and click in the dashboard: rankloop live dashboard --store {store}"
