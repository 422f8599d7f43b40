"""Whether lists were drawn independently: a small memory of the random draws behind those that were answered."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from rankloop.kernels.arrays import Stream

REMEMBERED = 512
"""Number of draws remembered among the latest ones, and among all."""

BITS = 53
"""Number of bits of a fingerprint, as many as a float holds exactly."""

Draws = npt.NDArray[np.uint64]


def no_draws() -> Draws:
    """An empty memory."""
    return np.zeros((2, REMEMBERED), np.uint64)


def fingerprint(rng: Stream) -> float:
    """A number that tells what a generator draws next from all other draws, and gives none of it away.

    >>> from rankloop.kernels import stream
    >>> fingerprint(stream(7)) == fingerprint(stream(7)), fingerprint(stream(7)) == fingerprint(stream(8))
    (True, False)
    """
    digest = hashlib.blake2b(rng.tobytes(), digest_size=8).digest()
    return float(int.from_bytes(digest, "little") >> (64 - BITS))


def is_fingerprint(note: float) -> bool:
    """Whether a number can be a fingerprint."""
    return 0 <= note < 2**BITS and note == int(note)


def repeats(draws: Draws, note: float) -> bool:
    """Whether this draw is remembered; from now on it is.

    Each fingerprint has its place by its remainder, where the latest one is kept, and the largest one ever. The latest
    tell of lists that repeat each other in close succession, as those of workers that loaded one file: after m other
    draws one is still known with probability exp(-m / REMEMBERED). The largest are a random choice of all draws there
    were, and tell of repetitions after any time: of n draws, REMEMBERED / n are in it.

    >>> draws = no_draws()
    >>> [repeats(draws, note) for note in (5.0, 6.0, 5.0)]
    [False, False, True]
    """
    number = int(note) + 1  # 0 is none
    place = number % REMEMBERED
    latest, largest = draws[:, place].tolist()
    draws[:, place] = number, max(number, largest)
    return number in (latest, largest)
