"""One model for each user, or each segment of users, over one catalogue."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.kernels.arrays import Array
from rankloop.policies.base import Policy, own_stream, serialised
from rankloop.policies.clicks.base import Ranking
from rankloop.policies.features.base import FeaturePolicy, Feedback, check_feedback
from rankloop.policies.features.ridge import Ridge, new_ridge
from rankloop.storage import read_archive, write_archive


class Segments(Mapping[str, FeaturePolicy]):
    """Policies of one kind that share a catalogue, while each learns from its own users.

    A segment begins when it is first asked for, knowing nothing. Lists remember their segment, so that clicks find
    their way back. Items are added and removed for all segments at once, here. Threads may share segments, which work
    one after the other: they have one lock between them.

    Parameters
    ----------
    policy
        Whose kind, parameters and catalogue all segments have; what it has learned is left behind.

    Examples
    --------
    >>> import rankloop as rl
    >>> segments = Segments(rl.CascadeLinUCB([[1, 0], [0, 1]], n_positions=1, seed=1))
    >>> for _ in range(50):
    ...     for name, wish in [("alice", 0), ("bob", 1)]:
    ...         ranking = segments[name].rank()
    ...         segments.update(ranking, clicks=[int(ranking[0] == wish)])
    >>> segments["alice"].best, segments["bob"].best
    ([0], [1])
    >>> list(segments)
    ['alice', 'bob']
    """

    def __init__(self, policy: FeaturePolicy) -> None:
        if not isinstance(policy, FeaturePolicy):
            raise ValueError(f"segments need a policy that ranks by features, such as CascadeHybrid, not {policy!r}")
        # A copy whose generator goes on where the policy's is, and which has seen nothing.
        self._policy = policy.fresh()
        self._policy.state.rng[:] = policy.snapshot()["rng"]
        self._segments: dict[str, FeaturePolicy] = {}

    @property
    def _lock(self) -> threading.RLock:
        return self._policy._lock  # which all segments share, being shallow copies

    def __reduce__(self) -> tuple[Any, ...]:
        return _put_together, self._parts()

    @serialised
    def __getitem__(self, segment: str) -> FeaturePolicy:
        """The policy of a segment, which begins now if it was never asked for."""
        if not isinstance(segment, str) or not segment:
            raise ValueError(f"a segment is named by a text, not by {segment!r}")
        if segment not in self._segments:
            self._segments[segment] = self._begin(segment)
        return self._segments[segment]

    def __contains__(self, segment: object) -> bool:
        return isinstance(segment, str) and segment in self._segments

    def get(self, segment: str, default: Any = None) -> Any:
        """The policy of a segment, if it has begun."""
        return self._segments[segment] if segment in self else default

    @serialised
    def __iter__(self) -> Iterator[str]:
        return iter(list(self._segments))  # of now: others may begin meanwhile

    def __len__(self) -> int:
        return len(self._segments)

    def __repr__(self) -> str:
        return f"Segments({self._policy!r}, {len(self)} segments)"

    def update(self, ranking: Ranking, clicks: Sequence[int] | Array, *, seen: int | None = None) -> None:
        """Learn from the clicks on a list of one of the segments, of which the first `seen` positions were seen."""
        self.update_many([(ranking, clicks, seen)])

    @serialised
    def update_many(self, feedback: Iterable[Feedback]) -> None:
        """Learn from many lists at once, of any segments; where one of them is refused, none is learned from."""
        checked = []
        for ranking, clicks, seen in check_feedback(feedback):
            segment = self._segment_of(ranking)
            policy = self._segments.get(segment) or self._begin(segment)
            checked.append((segment, policy.check_update(ranking, clicks, seen)))
        for segment, observation in checked:
            self[segment].learn(*observation)

    @serialised
    def add_items(self, *features: Any, **named: Any) -> list[int]:
        """Add items for all segments, with the features that the policy's own `add_items` takes."""
        add: Any = self._policy.add_items  # type: ignore[attr-defined]  # each kind of policy takes its own features
        numbers: list[int] = add(*features, **named)
        for policy in self._segments.values():
            policy.adopt_catalogue(self._policy)
        return numbers

    def remove_items(self, items: Iterable[int]) -> None:
        """Show these items to no segment any more."""
        self._policy.remove_items(items)  # all segments look at the same array and share the lock

    def warm_up(self) -> None:
        """Compile what the calls of all segments need, or load it from the cache, before traffic comes."""
        self._policy.warm_up()

    @serialised
    def reseed(self, seed: int | None = None) -> None:
        """Take random numbers of their own from now on: for a process that has got a copy of another's segments.

        They depend on the seed and on all that was learned. Without a seed they come from the operating system.
        """
        self._policy._take_stream(own_stream(seed, self._parts()[1]))

    def save(self, path: str | Path) -> None:
        """Write all segments to one file; `rankloop.load` reads them, and they continue bit for bit."""
        write_archive(path, "segments", *self._parts())

    @serialised
    def _parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """All there is to know of the segments: what JSON can hold, and arrays."""
        policy = self._policy
        arrays = {"rng": policy.state.rng.copy(), "eligible": policy.state.catalogue.eligible.copy()}
        parameters = {}
        for name, value in policy.parameters.items():
            if isinstance(value, np.ndarray):
                arrays[f"parameter.{name}"] = value
            else:
                parameters[name] = value
        for field in Ridge._fields:
            models = [getattr(segment.state.model, field) for segment in self._segments.values()]
            arrays[f"model.{field}"] = np.array(models) if models else np.zeros(0)
        header = {
            "class": type(policy).__name__,
            "identity": policy.identity,
            "parameters": parameters,
            "segments": list(self._segments),
        }
        return header, arrays

    @classmethod
    def load(cls, path: str | Path) -> Segments:
        """Read segments written by `save`."""
        try:
            return _put_together(*read_archive(path, "segments"))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def _segment_of(self, ranking: Ranking) -> str:
        tag = ranking.policy if isinstance(ranking, Ranking) and isinstance(ranking.policy, str) else ""
        identity, _, segment = tag.partition("/")
        if identity != self._policy.identity or not segment:
            raise ValueError(f"{ranking!r} is not a list of these segments: feedback belongs to those that chose it")
        return str(segment)

    def _begin(self, segment: str) -> FeaturePolicy:
        policy = copy.copy(self._policy)
        n_features = len(self._policy.state.model.weights)
        policy.state = policy.state._replace(
            model=new_ridge(n_features, policy.ridge), widths=self._policy.state.widths.copy()
        )
        policy.segment = segment
        return policy


def _put_together(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Segments:
    """Segments of what they told about themselves."""
    name = header.get("class", "")
    kind = Policy.known.get(name)
    if kind is None or not issubclass(kind, FeaturePolicy):
        raise ValueError(f"policies of class {name!r} are not known here: import their module first")
    given = {key.partition(".")[2]: value for key, value in arrays.items() if key.startswith("parameter.")}
    parameters: dict[str, Any] = {**header["parameters"], **given}
    segments = Segments(kind(**parameters))
    own = segments._policy
    own.identity = header["identity"]
    own.state.rng[:] = arrays["rng"]
    own.state.catalogue.eligible[:] = arrays["eligible"]
    for number, segment in enumerate(header["segments"]):
        model = segments[segment].state.model
        for field in Ridge._fields:
            own_array, saved = getattr(model, field), arrays[f"model.{field}"][number]
            if own_array.shape != saved.shape:
                raise ValueError("these are segments of another version of rankloop: use the version that wrote them")
            own_array[...] = saved
    return segments
