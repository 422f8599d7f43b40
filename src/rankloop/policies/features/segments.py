"""One model for each user, or each segment of users, over one catalogue."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.policies.base import Policy
from rankloop.policies.clicks.base import Ranking
from rankloop.policies.features.base import FeaturePolicy, Feedback, parts
from rankloop.policies.features.ridge import Ridge, new_ridge
from rankloop.storage import read_archive, write_archive


class Segments(Mapping[str, FeaturePolicy]):
    """Policies of one kind that share a catalogue, while each learns from its own users.

    A segment begins when it is first asked for, knowing nothing. Lists remember their segment, so that clicks find
    their way back. Items are added and removed for all segments at once, here. Segments share what they work with:
    they are not for several threads at once.

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
        self._policy.state.rng[:] = policy.state.rng
        self._segments: dict[str, FeaturePolicy] = {}

    def __getitem__(self, segment: str) -> FeaturePolicy:
        """The policy of a segment, which begins now if it was never asked for."""
        if not isinstance(segment, str) or not segment:
            raise ValueError(f"a segment is named by a text, not by {segment!r}")
        if segment not in self._segments:
            self._segments[segment] = self._begin(segment)
        return self._segments[segment]

    def __contains__(self, segment: object) -> bool:
        return segment in self._segments

    def get(self, segment: str, default: Any = None) -> Any:
        """The policy of a segment, if it has begun."""
        return self._segments.get(segment, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    def __repr__(self) -> str:
        return f"Segments({self._policy!r}, {len(self)} segments)"

    def update(self, ranking: Ranking, clicks: Sequence[int] | npt.NDArray[Any], *, seen: int | None = None) -> None:
        """Learn from the clicks on a list of one of the segments, of which the first `seen` positions were seen."""
        self.update_many([(ranking, clicks, seen)])

    def update_many(self, feedback: Iterable[Feedback]) -> None:
        """Learn from many lists at once, of any segments; where one of them is refused, none is learned from."""
        checked = []
        for ranking, clicks, seen in map(parts, feedback):
            segment = self._segment_of(ranking)
            policy = self._segments.get(segment) or self._begin(segment)
            checked.append((segment, policy.check_update(ranking, clicks, seen)))
        for segment, observation in checked:
            self[segment].learn(*observation)

    def add_items(self, *features: Any, **named: Any) -> list[int]:
        """Add items for all segments, with the features that the policy's own `add_items` takes."""
        add: Any = self._policy.add_items  # type: ignore[attr-defined]  # each kind of policy takes its own features
        numbers: list[int] = add(*features, **named)
        for policy in self._segments.values():
            policy.adopt_catalogue(self._policy)
        return numbers

    def remove_items(self, items: Iterable[int]) -> None:
        """Show these items to no segment any more."""
        self._policy.remove_items(items)  # all segments look at the same array

    def save(self, path: str | Path) -> None:
        """Write all segments to one file; `rankloop.load` brings them back to go on bit for bit."""
        policy = self._policy
        arrays: dict[str, npt.NDArray[Any]] = {"rng": policy.state.rng, "eligible": policy.state.catalogue.eligible}
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
        write_archive(path, "segments", header, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Segments:
        """Read segments written by `save`."""
        header, arrays = read_archive(path, "segments")
        kind = Policy.known.get(header.get("class", ""))
        if kind is None or not issubclass(kind, FeaturePolicy):
            name = header.get("class")
            raise ValueError(
                f"{path} holds policies of class {name!r}, which is not known here: import its module first"
            )
        given = {key.partition(".")[2]: value for key, value in arrays.items() if key.startswith("parameter.")}
        parameters: dict[str, Any] = {**header["parameters"], **given}
        segments = cls(kind(**parameters))
        own = segments._policy
        own.identity = header["identity"]
        own.state.rng[:] = arrays["rng"]
        own.state.catalogue.eligible[:] = arrays["eligible"]
        for number, name in enumerate(header["segments"]):
            model = segments[name].state.model
            for field in Ridge._fields:
                own_array, saved = getattr(model, field), arrays[f"model.{field}"][number]
                if own_array.shape != saved.shape:
                    raise ValueError(f"{path} does not hold segments of this version of rankloop: save them anew")
                own_array[...] = saved
        return segments

    def _segment_of(self, ranking: Ranking) -> str:
        identity, _, segment = getattr(ranking, "policy", "").partition("/")
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
