"""Policies compared on a problem of one's own: an experiment is declared for it, run and reported."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import typer

from rankloop.cli.errors import Refused, refusing
from rankloop.cli.options import RunOptions
from rankloop.cli.running import check_writable, finish, run, write_report
from rankloop.cli.tables import print_results
from rankloop.environments.problems import each_of, is_several
from rankloop.experiments import Amount, Experiment, Outcome, Panel, Player, Source
from rankloop.extras import PLOTS, how_to_install
from rankloop.policies import Policy
from rankloop.report import as_csv, rows
from rankloop.simulation import Result
from rankloop.simulation.jobs import SimulationJob
from rankloop.storage import replacing

SETTING = "setting.json"
"""File of a folder that says what its results are of."""


@dataclass(frozen=True)
class OwnProblem:
    """A problem of one's own, and how policies are compared on it."""

    command: str
    chapter: int
    name: str
    title: str
    environment: Any
    """An environment, or a list of them."""
    source: Source
    make: Callable[[str], list[Any]]
    """Makes the policies that a text names."""
    records: Sequence[str] = ("regret",)
    log: bool = True
    checkpoints: int | Sequence[int] | None = None
    top: int | None = None
    remarks: Callable[[Sequence[Result]], list[str]] = lambda _results: []
    """Gives what the terminal says below the table of results."""

    def job(self, policy: Any, options: RunOptions) -> SimulationJob:
        """The runs of one policy, which also says what the policy is called."""
        return SimulationJob(
            policy,
            self.environment,
            horizon=options.horizon,
            runs=options.runs,
            seed=options.seed,
            checkpoints=self.checkpoints,
            top=self.top,
        )

    def experiment(self, players: Sequence[Player], runs: dict[str, int], options: RunOptions) -> Experiment:
        """The experiment, declared as those of the thesis are."""
        panel = Panel(self.name, self.environment, self.source, players, top=self.top, checkpoints=self.checkpoints)
        n_problems = len(self.environment) if is_several(self.environment) else None
        others = {f"*: {glob.escape(name)}": Amount(options.horizon, n, n_problems) for name, n in runs.items()}
        amount = Amount(options.horizon, options.runs, n_problems, others)
        return Experiment(
            self.command,
            self.chapter,
            "",
            self.title,
            "",
            lambda _data, _amount: [panel],
            {"own": amount},
            self.records,
            log=self.log,
        )


def compare_policies(
    problem: OwnProblem, policies: str, options: RunOptions, out: Path | None, default: str
) -> tuple[Outcome, Path]:
    """Run policies on a problem, continuing from what the folder holds, and report what came out.

    Without `out` it is the folder `default`, or the next of the same name with a number that holds no results of
    another setting.
    """
    made = _made(problem, policies, options)
    setting = _setting(problem.command, next(iter(made.values())).blank)
    folder = _own_folder(default, setting) if out is None else out
    check_writable(folder)
    kept = _kept(folder, setting)
    texts = {**{label: text for label, (text, _) in kept.items()}, **dict.fromkeys(made, policies)}
    runs = {label: max(n, options.runs) if label in made else n for label, (_, n) in kept.items()}
    by_text = {policies: made, **{text: _made(problem, text, options) for text in set(texts.values()) - {policies}}}
    players = [Player(label, by_text[text][label].policy) for label, text in texts.items()]
    _keep(folder, setting, kept)
    experiment = problem.experiment(players, runs, options)
    outcomes, left = run([experiment], "own", None, folder, seed=options.seed, workers=options.workers)
    if not outcomes or not any(result.finished for result in outcomes[0].results.values()):
        _abandon(folder, outcomes, left)
    [outcome] = outcomes
    results = {label: result for (_, label), result in outcome.results.items()}
    done = {label: len(result.finished) // len(each_of(problem.environment)) for label, result in results.items()}
    _keep(folder, setting, {label: (texts[label], n) for label, n in done.items() if n})
    _report(problem, outcome, list(results.values()), folder, left, options.workers)
    return outcome, folder


def _report(
    problem: OwnProblem, outcome: Outcome, results: Sequence[Result], folder: Path, left: int, workers: int | None
) -> None:
    with refusing("cannot write the results"):
        with replacing(folder / "results.csv") as file:
            file.write(as_csv(rows(results)).encode())
        for result in results:
            result.save(folder / file_name(result.policy))
    command = f"rankloop {problem.command}"
    report = write_report([outcome], (), folder, command, workers, title=problem.title, introduction="")
    print_results(results, f"{problem.title}{' (interrupted)' * bool(left)}")
    for remark in problem.remarks(results):
        print(remark)
    print(f"Table:    {folder / 'results.csv'}")
    drawn = ", ".join(str(folder / name) for name in report.pictures)
    print(f"Plots:    {drawn}" if drawn else how_to_install("plots", PLOTS))
    print(f"Runs:     {', '.join(str(folder / file_name(result.policy)) for result in results)}")
    finish([outcome], report, folder, left)


class _Made(NamedTuple):
    policy: Any
    blank: Result
    """Its result before the first run."""


def _made(problem: OwnProblem, text: str, options: RunOptions) -> dict[str, _Made]:
    """The policies that a text names, by the names that tables show, each tried on the problem."""
    made: dict[str, _Made] = {}
    for policy in problem.make(text):
        with refusing():
            blank = problem.job(policy, options).blank
        if blank.policy in made:
            raise Refused(f"two different policies are both called {blank.policy}: leave one of them out")
        made[blank.policy] = _Made(policy, blank)
    return made


def _setting(command: str, blank: Result) -> dict[str, Any]:
    steps = hashlib.blake2b(blank.steps.tobytes(), digest_size=8).hexdigest()
    names = ("horizon", "seed", "top", "problem", "environment")
    setting = {name: blank.setting.get(name) for name in names}
    return {"command": command, **setting, "checkpoints": len(blank.steps), "steps": steps}


def _difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    """What a folder's results differ in from those that are wanted; empty where it is nothing."""
    for name in ("horizon", "seed", "top", "problem", "checkpoints", "steps", "command"):
        if old.get(name) != new[name]:
            if name == "problem":
                return f"problem was {old.get('environment')} and is now another, {new['environment']}"
            return f"{name} was {old.get(name)} and is now {new[name]}"
    return ""


def _read(folder: Path) -> dict[str, Any] | None:
    """The setting of a folder's results; empty where they are of an earlier version, None where there are none."""
    try:
        return dict(json.loads((folder / SETTING).read_text()))
    except (OSError, ValueError, TypeError):
        of_policies = [file for file in folder.glob("*.npz") if re.split(r"\W", file.name)[0] in Policy.known]
        old = of_policies or any((folder / name).exists() for name in (SETTING, "results.csv"))
        return {} if old else None


def _kept(folder: Path, setting: dict[str, Any]) -> dict[str, tuple[str, int]]:
    """The policies whose runs the folder holds: the text that names each, and the number of runs."""
    there = _read(folder)
    if there is None:
        return {}
    if not there:
        raise Refused(f"{folder} holds results of an earlier version of rankloop: give another --out, or remove it")
    if different := _difference(there, setting):
        raise Refused(f"{folder} holds results of another setting ({different}): give another --out, or remove it")
    return {str(label): (str(text), int(runs)) for label, (text, runs) in there.get("policies", {}).items()}


def _own_folder(default: str, setting: dict[str, Any]) -> Path:
    names = (Path(default if number == 1 else f"{default}-{number}") for number in count(1))
    return next(path for path in names if (there := _read(path)) is None or (there and not _difference(there, setting)))


def _keep(folder: Path, setting: dict[str, Any], policies: dict[str, tuple[str, int]]) -> None:
    with refusing("cannot write the results"):
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / SETTING) as file:
            file.write(json.dumps({**setting, "policies": policies}, indent=1).encode())


def _abandon(folder: Path, outcomes: Sequence[Outcome], left: int) -> None:
    """Leave no trace of a command of which no run has finished."""
    (folder / SETTING).unlink(missing_ok=True)
    for path in (folder / "runs", folder):
        with contextlib.suppress(OSError):
            path.rmdir()
    for failure in [failure for outcome in outcomes for failure in outcome.failures][:1]:
        raise Refused(f"{failure.player}: {failure.error}")
    print("No run had finished, so nothing is kept.")
    raise typer.Exit(130 if left else 1)


def file_name(policy: str) -> str:
    """The file of a policy, told apart from the same policy with other parameters."""
    name = re.sub(r"[^\w.=+-]+", "-", policy).strip("-")
    if len(name) > 100:
        name = f"{name[:80]}-{hashlib.blake2b(policy.encode(), digest_size=6).hexdigest()}"
    return f"{name}.npz"
