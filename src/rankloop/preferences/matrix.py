"""Preference matrices that were measured: each entry with its count and standard error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.environments import PreferenceMatrix
from rankloop.storage import replacing


class MeasuredPreferences(PreferenceMatrix):
    """A preference matrix that comes from comparisons.

    Parameters
    ----------
    preferences
        p_ij = (wins + ties / 2) / comparisons.
    counts
        Number of comparisons behind each entry; 0 on the diagonal.
    errors
        The standard error of each entry: how far it may be from what infinitely many comparisons would give.
    names
        The rankers' names.
    setting
        Settings of the measurement.
    name
        Name of the problem in tables and plots.

    Examples
    --------
    >>> measured = MeasuredPreferences([[0.5, 0.6], [0.4, 0.5]], [[0, 9], [9, 0]], [[0, 0.1], [0.1, 0]], ["a", "b"], {})
    >>> measured
    MeasuredPreferences(2 arms, name='matrix')
    >>> measured.names[measured.condorcet_winner]
    'a'
    """

    def __init__(
        self,
        preferences: npt.ArrayLike,
        counts: npt.ArrayLike,
        errors: npt.ArrayLike,
        names: Sequence[str],
        setting: Mapping[str, Any],
        *,
        name: str = "matrix",
    ) -> None:
        super().__init__(preferences, name=name, names=names)
        self.counts = np.asarray(counts, np.int64)
        self.errors = np.asarray(errors, np.float64)
        self.setting = dict(setting)
        shape = (self.n_arms, self.n_arms)
        if self.counts.shape != shape or self.errors.shape != shape:
            raise ValueError(f"counts and errors must be of shape {shape}")

    def save(self, path: str | Path) -> None:
        """Write everything as npz, or the bare matrix as CSV where the path does not end so."""
        if Path(path).suffix != ".npz":
            super().save(path)
            return
        with replacing(path) as file:
            np.savez_compressed(
                file,
                preferences=self.preferences,
                counts=self.counts,
                errors=self.errors,
                names=np.array(self.names),
                setting=np.frombuffer(json.dumps(self.setting).encode(), np.uint8),
            )

    @classmethod
    def read(cls, path: str | Path) -> MeasuredPreferences:
        """Read a matrix that `save` wrote as npz."""
        plain = PreferenceMatrix.read(path)
        try:
            with np.load(path, allow_pickle=False) as archive:
                setting = json.loads(archive["setting"].tobytes())
                counts, errors, names = archive["counts"], archive["errors"], archive["names"].tolist()
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} holds a matrix, but not how it was measured ({error})") from None
        return cls(plain.preferences, counts, errors, names, setting, name=plain.name)

    def __repr__(self) -> str:
        return f"MeasuredPreferences({self.n_arms} arms, name={self.name!r})"
