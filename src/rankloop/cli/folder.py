"""A folder of results, one file a policy, to which later commands may add runs and policies."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.cli.errors import Refused, refusing
from rankloop.extras import can_plot
from rankloop.policies import Policy
from rankloop.report import as_csv, rows
from rankloop.simulation import Result, plot
from rankloop.storage import replacing

SAVE_EVERY = 1.0
"""Seconds between saves at least: writing must not take longer than the runs that are written."""


class Folder:
    """Where the results of one setting are kept: the same problem, horizon, seed and checkpoints."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        self._problem = problem
        self.results: dict[str, Result] = {}
        self._saved = -SAVE_EVERY
        check_writable(path)
        for file in sorted(path.glob("*.npz")) if path.is_dir() else []:
            if re.split(r"\W", file.name)[0] in Policy.known:
                with refusing():
                    try:
                        self.results[file.name] = Result.load(file)
                    except ValueError as error:
                        raise ValueError(f"{error}; remove it, or give another --out") from None

    def check(self, wanted: list[Result]) -> None:
        """Refuse to go on where the folder holds results of another setting."""
        for result in self.results.values():
            for key in ("horizon", "seed", "top", "problem"):
                old, new = result.setting.get(key), wanted[0].setting.get(key)
                if old != new:
                    if key == "problem":
                        old, new = result.environment, f"another, {wanted[0].environment}"
                    self._refuse(f"{self._problem if key == 'problem' else key} was {old} and is now {new}")
            if not np.array_equal(result.steps, wanted[0].steps):
                self._refuse(f"checkpoints were {len(result.steps)} other ones")
        for result in wanted:
            saved = self.saved(result)
            if saved is not None and saved.setting["parameters"] != result.setting["parameters"]:
                self._refuse(f"{result.policy} had the parameters {saved.setting['parameters']}")

    def _refuse(self, difference: str) -> None:
        raise Refused(f"{self.path} holds results of another setting ({difference}): give another --out, or remove it")

    def make(self) -> None:
        """Make the folder, if it is not there yet."""
        with refusing("cannot write the results"):
            self.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass

    def saved(self, wanted: Result) -> Result | None:
        """The runs that are there already."""
        return self.results.get(file_name(wanted.policy))

    def save(self, result: Result, at_once: bool = False) -> None:
        """Write what is finished, unless that was done a moment ago."""
        self.results[file_name(result.policy)] = result
        if at_once or time.monotonic() - self._saved > SAVE_EVERY:
            with refusing("cannot write the results"):
                result.save(self.path / file_name(result.policy))
            self._saved = time.monotonic()

    def finish(self, pictures: Mapping[str, Mapping[str, Any]]) -> tuple[Path, list[Path]]:
        """Write the table and, where matplotlib is there, the plots, each with its options, and say where they are."""
        table = self.path / "results.csv"
        with refusing("cannot write the results"):
            with replacing(table) as file:
                file.write(as_csv(rows(self.results.values())).encode())
            drawn = pictures if can_plot() else {}
            for name, options in drawn.items():
                with replacing(self.path / name) as file:
                    plot(self.results.values(), **options).savefig(file, format="png")
        return table, [self.path / name for name in drawn]

    def abandon(self) -> bool:
        """Whether there is nothing to keep; an empty folder is then removed."""
        if not any(result.finished for result in self.results.values()):
            with contextlib.suppress(OSError):
                self.path.rmdir()
            return True
        return False


def file_name(policy: str) -> str:
    """The file of a policy, told apart from the same policy with other parameters."""
    name = re.sub(r"[^\w.=+-]+", "-", policy).strip("-")
    if len(name) > 100:
        name = f"{name[:80]}-{hashlib.blake2b(policy.encode(), digest_size=6).hexdigest()}"
    return f"{name}.npz"


def check_writable(path: Path) -> None:
    """Refuse what cannot become a folder with results, without making anything."""
    if path.exists() and not path.is_dir():
        raise Refused(f"--out {path} is a file: give a folder")
    existing = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
    if not existing.is_dir():
        raise Refused(f"--out {path}: {existing} is a file, not a folder")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise Refused(f"--out {path}: {existing} is not writable: give another folder")
