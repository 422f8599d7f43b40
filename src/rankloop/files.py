"""Reading back what rankloop has saved."""

from __future__ import annotations

from pathlib import Path

from rankloop.checks import check_seed
from rankloop.policies import Policy, Segments
from rankloop.policies.base import load_policy
from rankloop.simulation import Result
from rankloop.storage import read_archive

__all__ = ["load"]


def load(path: str | Path, *, seed: int | None = None, fresh_randomness: bool = False) -> Policy | Segments | Result:
    """Read a saved policy or saved segments, which continue bit for bit where they were saved, or a saved result.

    Continuing bit for bit is right for one process that takes over from another. If several processes load one file,
    each needs random numbers of its own: with the same ones they all show the same "random" lists.

    Parameters
    ----------
    path
        The file.
    seed
        Seed of random numbers of its own, another one for each process that loads the file. They depend on what was
        saved too, so that a file saved later gives others for the same seed.
    fresh_randomness
        Whether to take its own random numbers from the operating system, which no seed repeats.

    Examples
    --------

    >>> import rankloop as rl, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "policy.npz"
    >>> policy = rl.MergeDTS(n_arms=4, seed=1)
    >>> policy.save(path)
    >>> rl.load(path).duel() == policy.duel()
    True
    >>> rl.load(path, seed=1).duel() == rl.load(path, seed=1).duel()
    True
    """
    if seed is not None and fresh_randomness:
        raise ValueError(f"give either seed = {seed!r} or fresh_randomness, not both")
    if seed is not None:
        check_seed(seed)
    header, _ = read_archive(path)
    if header["rankloop"] == "result":
        if seed is not None or fresh_randomness:
            raise ValueError(f"{path} holds a result, which draws no random numbers: load it without seed")
        return Result.load(path)
    loaded = Segments.load(path) if header["rankloop"] == "segments" else load_policy(path)
    if seed is not None or fresh_randomness:
        loaded.reseed(seed)
    return loaded
