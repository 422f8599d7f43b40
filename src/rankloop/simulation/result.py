"""What a simulation leaves behind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankloop.arrays import Flags, Floats, Ints
from rankloop.extras import MissingExtra
from rankloop.runs import Run
from rankloop.storage import read_archive, write_archive

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(repr=False)
class Result:
    """The runs of one policy in one environment, recorded at checkpoints.

    `setting` says what was simulated: the policy and its parameters, the problem, horizon and seed. A result of the
    same setting can be given to `simulate` to add runs to it.

    >>> run = Run({"regret": np.array([1.0, 4.0])}, best=3, failed=False, seconds=0.1)
    >>> result = Result({"policy": "MergeDTS"}, np.array([10, 100]), {0: run, 1: run})
    >>> result.regret
    array([[1., 4.],
           [1., 4.]])
    >>> result
    Result(MergeDTS: regret 4 ± 0 after 100 steps, 2 runs)
    """

    setting: dict[str, Any]
    steps: Ints
    finished: dict[int, Run] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def policy(self) -> str:
        """The name of the policy, as tables and plots show it."""
        return str(self.setting["policy"])

    @property
    def environment(self) -> str:
        """The name of the environment."""
        return str(self.setting.get("environment", ""))

    def record(self, name: str) -> Floats:
        """What was recorded under a name: one row per run (and query), one column per checkpoint."""
        recorded = {key for run in self.finished.values() for key in run.records}
        if self.finished and name not in recorded:
            raise ValueError(f"{self.policy} has no record {name!r}, only {', '.join(sorted(recorded))}")
        rows = [run.records[name] for _, run in sorted(self.finished.items())]
        return np.array(rows).reshape(len(rows), len(self.steps))

    @property
    def regret(self) -> Floats:
        """Cumulative regret, one row per run, one column per checkpoint."""
        return self.record("regret")

    @property
    def violations(self) -> Floats:
        """Lists so far that were less safe than allowed, one row per run, one column per checkpoint."""
        return self.record("violations")

    @property
    def ndcg(self) -> Floats:
        """NDCG of the list shown at each checkpoint, the attraction of an item being its gain."""
        return self.record("ndcg")

    @property
    def clicks(self) -> Floats:
        """Clicks so far, one row per run, one column per checkpoint."""
        return self.record("clicks")

    @property
    def queries(self) -> list[str]:
        """The query of each row, where a collection of queries was simulated."""
        names = self.setting.get("queries", [self.environment])
        return [str(names[unit % len(names)]) for unit in sorted(self.finished)]

    def by_query(self, name: str = "regret") -> dict[str, Floats]:
        """What was recorded under a name for each query, averaged over its runs."""
        record, rows = self.record(name), np.array(self.queries)
        return {query: record[rows == query].mean(axis=0) for query in dict.fromkeys(self.queries)}

    @property
    def best(self) -> Ints:
        """The arm that each run believed best at its end, as the environment counts them; -1 where it won't say."""
        return np.array([run.best for _, run in sorted(self.finished.items())], np.int64)

    @property
    def found(self) -> Flags:
        """Whether the arm that each run believed best is one without regret."""
        return np.isin(self.best, self.setting.get("winners", []))

    @property
    def failures(self) -> Flags:
        """Whether each run eliminated the winner."""
        return np.array([run.failed for _, run in sorted(self.finished.items())], np.bool_)

    @property
    def seconds(self) -> Floats:
        """How long each run took, compilation left out."""
        return np.array([run.seconds for _, run in sorted(self.finished.items())])

    def mean(self, name: str = "regret") -> Floats:
        """The mean over runs at each checkpoint."""
        return self.record(name).mean(axis=0)

    def standard_error(self, name: str = "regret") -> Floats:
        """The standard error of that mean; 0 for a single run."""
        record = self.record(name)
        if len(record) < 2:
            return np.zeros(len(self.steps))
        return record.std(axis=0, ddof=1) / np.sqrt(len(record))

    def summary(self) -> list[dict[str, float]]:
        """One row per checkpoint: steps, mean and standard error of the regret."""
        rows = zip(self.steps.tolist(), self.mean().tolist(), self.standard_error().tolist(), strict=True)
        return [{"steps": steps, "mean": mean, "standard_error": error} for steps, mean, error in rows]

    def __str__(self) -> str:
        if not self.finished:
            return f"{self.policy}: no finished run"
        regret = f"{readable(self.mean()[-1])} ± {readable(self.standard_error()[-1])}"
        runs = f"{len(self.finished)} run{'s' * (len(self.finished) != 1)}"
        return f"{self.policy}: regret {regret} after {self.steps[-1]:,} steps, {runs}"

    def __repr__(self) -> str:
        return f"Result({self})"

    def to_pandas(self) -> Any:
        """One row for each run and checkpoint, one column for each record: a pandas DataFrame.

        Where pandas is not installed, it is a table of pyarrow with the same columns.

        >>> run = Run({"regret": np.array([1.0, 4.0])}, seconds=0.1)
        >>> len(Result({"policy": "MergeDTS"}, np.array([10, 100]), {0: run}).to_pandas())
        2
        """
        n_runs, n_steps = len(self.finished), len(self.steps)
        n_queries = len(self.setting.get("queries", [""]))
        columns: dict[str, Any] = {
            "policy": [self.policy] * (n_runs * n_steps),
            "environment": [self.environment] * (n_runs * n_steps),
            "query": np.repeat(self.queries, n_steps).tolist(),
            "run": np.repeat(np.array(sorted(self.finished), np.int64) // n_queries, n_steps),
            "step": np.tile(self.steps, n_runs),
        }
        for name in next(iter(self.finished.values())).records if self.finished else ():
            columns[name] = self.record(name).ravel()
        if find_spec("pandas") is not None:
            return import_module("pandas").DataFrame(columns)
        if find_spec("pyarrow") is not None:
            return import_module("pyarrow").table(columns)
        raise MissingExtra("to_pandas needs pandas or pyarrow: pip install pandas")

    def save(self, path: str | Path) -> None:
        """Write the result to one file."""
        runs = sorted(self.finished)
        arrays: dict[str, npt.NDArray[Any]] = {
            "steps": self.steps,
            "runs": np.array(runs, np.int64),
            "best": self.best,
            "failures": self.failures,
            "seconds": self.seconds,
        }
        for name in self.finished[runs[0]].records if runs else ():
            arrays[f"record.{name}"] = self.record(name)
        write_archive(path, "result", {"setting": self.setting, "interrupted": self.interrupted}, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a result written by `save`."""
        header, arrays = read_archive(path, "result")
        try:
            setting, steps, runs = dict(header["setting"]), arrays["steps"], arrays["runs"].tolist()
            records = {key.partition(".")[2]: value for key, value in arrays.items() if key.startswith("record.")}
            ends = [arrays[name].tolist() for name in ("best", "failures", "seconds")]
            shapes = {value.shape for value in records.values()} | {(len(end), len(steps)) for end in ends}
            if "policy" not in setting or shapes != {(len(runs), len(steps))} or (runs and "regret" not in records):
                raise ValueError("its parts do not fit together")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged or was not written by rankloop ({error})") from None
        finished = {
            run: Run({name: record[row] for name, record in records.items()}, int(best), bool(failed), float(seconds))
            for row, (run, best, failed, seconds) in enumerate(zip(runs, *ends, strict=True))
        }
        return cls(setting, steps, finished, bool(header.get("interrupted", False)))

    def plot(self, *, log: bool = True, record: str = "regret") -> Figure:
        """The mean over runs against time, with a band of one standard error; needs the extra `plots`."""
        return plot([self], log=log, record=record)


def plot(results: Iterable[Result], *, log: bool = True, record: str = "regret", title: str | None = None) -> Figure:
    """Several results in one picture, on logarithmic or linear axes; returns the matplotlib figure.

    Needs the extra `plots`.
    """
    from rankloop.simulation.plots import plot_results

    return plot_results(list(results), log=log, record=record, title=title)


def readable(value: float) -> str:
    """A number with as many digits as a person wants to see.

    >>> readable(15489.7), readable(33.14159), readable(0.0123456)
    ('15,490', '33.1', '0.0123')
    """
    if abs(value) < 1e-9:  # what rounding leaves of nothing
        return "0"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
