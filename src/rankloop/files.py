"""Whatever rankloop has saved, read back."""

from __future__ import annotations

from pathlib import Path

from rankloop.policies import Policy, Segments, load_policy
from rankloop.simulation import Result
from rankloop.storage import read_archive


def load(path: str | Path) -> Policy | Segments | Result:
    """Read a saved policy or saved segments, which go on bit for bit where they were saved, or a saved result.

    >>> import rankloop as rl, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "policy.npz"
    >>> policy = rl.MergeDTS(n_arms=4, seed=1)
    >>> policy.save(path)
    >>> rl.load(path).duel() == policy.duel()
    True
    """
    header, _ = read_archive(path)
    if header["rankloop"] == "result":
        return Result.load(path)
    return Segments.load(path) if header["rankloop"] == "segments" else load_policy(path)
