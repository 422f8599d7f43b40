"""The scorecard and all results as data, for those who want to judge for themselves.

`scorecard.json` has each claim with its verdict, rule and comparisons. `results.parquet` is one tidy table, or
`all-results.csv` where pyarrow is missing. Its columns:

- `experiment`: the name, as `rankloop experiments` lists it;
- `problem`: the panel, and after a colon the query or user where it has several;
- `policy`: the label;
- `run`: its number, from 0, for that problem;
- `step`: the step at which something was measured;
- `measure`: `regret`, `violations`, `ndcg` and what else was recorded; at the last step also `seconds` (of the whole
  run), `failed` (1 where the winner was eliminated) and `best` (the arm believed best, -1 where there is none);
- `value`.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankloop.arrays import Floats, Ints
from rankloop.experiments import Finding, Outcome
from rankloop.report.scorecard import Judged, counts
from rankloop.simulation import Result
from rankloop.storage import replacing

SCORECARD = "scorecard.json"
COLUMNS = ("experiment", "problem", "policy", "run", "step", "measure", "value")


def scorecard(judged: Sequence[Judged], outcomes: Sequence[Outcome] = ()) -> str:
    """The claims with their verdicts and comparisons, as JSON.

    >>> json.loads(scorecard([]))["counts"]
    {'holds': 0, 'fails': 0, 'undecided': 0}
    """
    scales = {outcome.experiment.name: outcome.scale for outcome in outcomes}
    claims = [
        {
            "name": each.claim.name,
            "chapter": each.chapter,
            "section": each.claim.section,
            "experiment": each.claim.experiment,
            "scale": scales.get(each.claim.experiment),
            "claim": each.claim.text,
            "changed_after_results_were_seen": each.claim.changed or None,
            **_finding(each.finding),
        }
        for each in judged
    ]
    return json.dumps({"counts": counts(judged), "claims": claims}, indent=1, ensure_ascii=False) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "verdict": finding.verdict,
        "rule": finding.rule,
        "found": finding.text,
        "effect": _number(finding.effect),
        "standard_error": _number(finding.error),
        "on_stand_ins_alone": finding.on_stand_ins,
        "waits_for": finding.waits or None,
        "comparisons": [
            {
                "comparison": one.text,
                "verdict": one.verdict,
                "effect": _number(one.effect),
                "standard_error": _number(one.error),
                "claimed": one.claimed,
                "panels": list(one.panels),
                "real_data": one.real,
                "decides": one.decides,
                "waits_for": one.waits or None,
            }
            for one in finding.comparisons
        ],
    }


def _number(value: float) -> float | None:
    """A number that JSON knows."""
    return value if math.isfinite(value) else None


class Rows(NamedTuple):
    """Rows of the table that have experiment, problem, policy and measure in common."""

    experiment: str
    problem: str
    policy: str
    measure: str
    runs: Ints
    steps: Ints
    values: Floats


def row_batches(outcomes: Iterable[Outcome]) -> Iterator[Rows]:
    """All results, as many rows at a time as one problem, policy and measure have."""
    for outcome in outcomes:
        for (panel, policy), result in outcome.results.items():
            yield from _rows(outcome.experiment.name, panel, policy, result)


def _rows(experiment: str, panel: str, policy: str, result: Result) -> Iterator[Rows]:
    for problem, units in _by_problem(panel, result):
        for measure, runs, steps, values in _measures(result, units):
            yield Rows(experiment, problem, policy, measure, runs, steps, values)


def _by_problem(panel: str, result: Result) -> Iterator[tuple[str, dict[int, int]]]:
    """Each query or user of a panel, with its units by the number of the run."""
    names = [str(name) for name in result.setting.get("queries", ())]
    for k, name in enumerate(names or [""]):
        units = {unit // max(1, len(names)): unit for unit in sorted(result.finished) if unit % max(1, len(names)) == k}
        if units:
            yield (f"{panel}: {name}" if name else panel), units


def _measures(result: Result, units: dict[int, int]) -> Iterator[tuple[str, Any, Any, Any]]:
    runs = np.array(list(units), np.int64)
    found = [result.finished[unit] for unit in units.values()]
    width = len(result.steps)
    for measure in sorted({name for run in found for name in run.records}):
        having = [k for k, run in enumerate(found) if measure in run.records]
        values = np.concatenate([np.asarray(found[k].records[measure], np.float64) for k in having])
        yield measure, np.repeat(runs[having], width), np.tile(result.steps, len(having)), values
    ends = np.full(len(runs), result.steps[-1], np.int64)
    yield "seconds", runs, ends, np.array([run.seconds for run in found])
    yield "failed", runs, ends, np.array([float(run.failed) for run in found])
    yield "best", runs, ends, np.array([float(run.best) for run in found])


def results_file() -> str:
    """The name of the table's file, by what can be written here."""
    return "results.parquet" if find_spec("pyarrow") else "all-results.csv"


def write_results(outcomes: Iterable[Outcome], folder: Path) -> Path:
    """Write the table of all results to a folder, piece by piece, since it can be large."""
    path = folder / results_file()
    with replacing(path) as file:
        (_write_parquet if path.suffix == ".parquet" else _write_csv)(row_batches(outcomes), file)
    return path


def write_results_of(results: Iterable[tuple[str, Result]], path: Path) -> None:
    """Write results, each with the name of its experiment, to a CSV file with the same columns."""
    pieces = (piece for name, result in results for piece in _rows(name, result.environment, result.policy, result))
    with replacing(path) as file:
        _write_csv(pieces, file)


def _write_csv(pieces: Iterable[Rows], file: Any) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for piece in pieces:
        for run, step, value in zip(piece.runs.tolist(), piece.steps.tolist(), piece.values.tolist(), strict=True):
            writer.writerow((piece.experiment, piece.problem, piece.policy, run, step, piece.measure, value))
    text.flush()
    text.detach()


ROW_GROUP = 1_000_000
"""Rows that are written at once."""


def _write_parquet(pieces: Iterable[Rows], file: Any) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    words = arrow.dictionary(arrow.int32(), arrow.string())
    kinds = {"run": arrow.int64(), "step": arrow.int64(), "value": arrow.float64()}
    schema = arrow.schema([(name, kinds.get(name, words)) for name in COLUMNS])

    def table(several: Sequence[Rows]) -> Any:
        lengths = [len(piece.values) for piece in several]

        def named(texts: Sequence[str]) -> Any:
            known = list(dict.fromkeys(texts))
            codes = np.repeat([known.index(text) for text in texts], lengths).astype(np.int32)
            return arrow.DictionaryArray.from_arrays(arrow.array(codes), arrow.array(known, arrow.string()))

        columns = {
            "run": arrow.array(np.concatenate([piece.runs for piece in several])),
            "step": arrow.array(np.concatenate([piece.steps for piece in several])),
            "value": arrow.array(np.concatenate([piece.values for piece in several])),
            **{
                name: named([getattr(piece, name) for piece in several])
                for name in ("experiment", "problem", "policy", "measure")
            },
        }
        return arrow.table([columns[name] for name in COLUMNS], schema=schema)

    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        waiting: list[Rows] = []
        for piece in pieces:
            waiting.append(piece)
            if sum(len(each.values) for each in waiting) >= ROW_GROUP:
                writer.write_table(table(waiting))
                waiting = []
        if waiting:
            writer.write_table(table(waiting))
