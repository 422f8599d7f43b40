"""Whatever rankloop has saved, read back."""

from __future__ import annotations

from pathlib import Path

from rankloop.policies import Policy, load_policy
from rankloop.simulation import Result
from rankloop.storage import read_archive


def load(path: str | Path) -> Policy | Result:
    """Read a saved policy, which goes on bit for bit where it was saved, or a saved result.

    >>> import rankloop as rl, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "policy.npz"
    >>> policy = rl.MergeDTS(n_arms=4, seed=1)
    >>> policy.save(path)
    >>> rl.load(path).duel() == policy.duel()
    True
    """
    header, _ = read_archive(path)
    return Result.load(path) if header["rankloop"] == "result" else load_policy(path)
