"""What a loop is told: its kind, its policy and the rules of its impressions."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import rankloop.policies as policies
from rankloop.checks import check_known, check_whole, is_number, parse_duration
from rankloop.interleaving import Interleaver
from rankloop.live.names import LONGEST_LIST, check_name, check_names
from rankloop.policies.making import make_policy

POLICIES: Mapping[str, tuple[str, ...]] = {
    "evaluate": ("MergeDTS", "MergeRUCB", "DTS", "RMED1", "SelfSparring", "REX3", "RUCB", "Sparring"),
    "rerank": ("BubbleRank", "TopRank", "BatchRank", "CascadeKLUCB", "CascadeUCB1", "RankedEXP3", "FixedRanking"),
    "follow": ("CascadeDUCB", "CascadeSWUCB", "RankedEXP3", "CascadeKLUCB", "CascadeUCB1", "BatchRank", "TopRank"),
    "diversify": (
        "CascadeHybrid", "CascadeLinUCB", "CascadeLSB", "CascadeLinUCBFull", "CascadeLSBFull", "CascadeHybridTS",
        "CascadeLinTS", "LSBGreedy", "C2UCB",
    ),
}  # fmt: skip
"""The policies of each kind of loop; the first is the one to begin with."""

NOT_OFFERED: Mapping[str, str] = {
    "RecurRank": "it splits one fixed set of items, phase by phase, and would begin anew with every other set of "
    "candidates: CascadeLinUCB learns the same model and takes candidates",
}
"""Policies that no loop runs, and why."""

MODES = ("live", "shadow", "off")
CHANGEABLE = ("mode", "traffic", "rankers", "paused")
"""What may be changed while a loop runs."""

TAKE_NEW_RANKERS = ("MergeDTS", "MergeRUCB")
DEFAULT_HORIZON = 1_000_000
NEED_A_HORIZON = ("BatchRank", "TopRank", "CascadeSWUCB")
"""Policies that must be told how many lists they will show, or whose memory of the last lists would be large."""


@dataclass(frozen=True)
class Settings:
    """What a loop is told. All but the kind have defaults.

    Parameters
    ----------
    kind
        What the loop is for: `evaluate`, `rerank`, `follow` or `diversify`.
    policy
        Name of the policy; that of the chapter if not given.
    positions
        Number of items that are shown.
    window
        How long an impression waits for events, in seconds or as a text such as "30 min".
    holdout
        Share of users who always get production's list, so that the two can be compared.
    mode
        `live`; `shadow`, where production's list is shown and what the policy would have shown is recorded; or `off`.
    traffic
        Share of users whom the policy serves.
    counts
        Type of event that counts as a click.
    seed
        Seed of the policies' random numbers: the first key's policy takes it, the next key's the next number.
    rankers
        Names of the rankers to evaluate.
    interleaver
        Method by which the lists of two rankers become one.
    relevance
        Number of relevance features of each item.
    topics
        Names of the topics of items.
    parameters
        Parameters of the policy, by name.
    paused
        Whether the loop shows production's list until it is resumed.

    Examples
    --------
    >>> settings = Settings.checked(kind="rerank", positions=5, horizon=100_000)
    >>> settings.policy, settings.window, settings.parameters
    ('BubbleRank', 1800.0, {'horizon': 100000})
    """

    kind: str
    policy: str
    positions: int = 10
    window: float = 1800.0
    holdout: float = 0.05
    mode: str = "live"
    traffic: float = 1.0
    counts: str = "click"
    seed: int | None = None
    rankers: tuple[str, ...] = ()
    interleaver: str = "team-draft"
    relevance: int = 0
    topics: tuple[str, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    paused: bool = False

    @classmethod
    def checked(cls, *, kind: str, policy: str | None = None, **given: Any) -> Settings:
        """Settings from what a user gives, policy parameters among them; ValueError says what is wrong."""
        kind = check_known("kind of loop", kind, POLICIES)
        if isinstance(policy, str) and policy in NOT_OFFERED:
            raise ValueError(f"{policy} cannot run in a loop, since {NOT_OFFERED[policy]}")
        name = POLICIES[kind][0] if policy is None else check_known(f"policy for {kind}", policy, POLICIES[kind])
        own = {f.name for f in fields(cls)} - {"kind", "policy", "parameters", "paused"}
        allowed = _parameters_of(name)
        parameters = {**given.pop("parameters", {})}
        for word in list(given):
            if word in allowed and word not in own:
                parameters[word] = given.pop(word)
        for word in given:
            check_known("setting", word, sorted(own | set(allowed)))
        for word in parameters:
            check_known(f"parameter of {name}", word, allowed)
        settings = cls(kind=kind, policy=name, **{**given, "parameters": parameters})
        return settings._checked()

    def _checked(self) -> Settings:
        values: dict[str, Any] = {
            "positions": check_whole("positions", self.positions, 1),
            "window": parse_duration("window", self.window),
            "holdout": _share("holdout", self.holdout, below_one=True),
            "traffic": _share("traffic", self.traffic),
            "mode": check_known("mode", self.mode, MODES),
            "counts": check_name("counts", self.counts),
            "seed": None if self.seed is None else check_whole("seed", self.seed, 0),
            "relevance": check_whole("relevance", self.relevance, 0),
            "topics": check_names("topics", self.topics) if self.topics else (),
        }
        if self.positions > LONGEST_LIST:
            raise ValueError(f"positions must be at most {LONGEST_LIST:,}, not {self.positions:,}")
        if self.kind == "evaluate":
            values["rankers"] = check_names("rankers", self.rankers, least=2)
            known = {method.replace("_", "-"): method for method in Interleaver.known}
            asked = self.interleaver.replace("_", "-") if isinstance(self.interleaver, str) else self.interleaver
            two = [method for method, own in known.items() if Interleaver.known[own].most_rankers == 2]
            values["interleaver"] = known[check_known("interleaver", asked, two)]
            values["holdout"] = 0.0  # there is no production list to hold out
        elif self.rankers:
            raise ValueError(f"rankers are for loops of kind evaluate, not {self.kind}")
        if self.kind == "diversify":
            _check_features(self.policy, values["relevance"], values["topics"])
        elif self.relevance or self.topics:
            raise ValueError(f"relevance and topics are for loops of kind diversify, not {self.kind}")
        settings = replace(self, **values)
        settings.make_policy(2 if self.kind == "evaluate" else max(1, min(3, settings.positions)))
        return settings

    def changed(self, **given: Any) -> Settings:
        """The settings with some that may be changed in a running loop."""
        for word in given:
            if word not in CHANGEABLE:
                check_known("setting", word, [f.name for f in fields(self)])
                raise ValueError(
                    f"{word} cannot be changed in a running loop, only {', '.join(CHANGEABLE[:3])}: create another loop"
                )
        if "rankers" in given and self.policy not in TAKE_NEW_RANKERS:
            raise ValueError(
                f"rankers can join and leave under {' and '.join(TAKE_NEW_RANKERS)}, not under {self.policy}: "
                "create another loop"
            )
        return replace(self, **given)._checked()

    def make_policy(self, n_items: int, *, seed: int | None = 0, features: Any = None) -> Any:
        """The policy of one key, for so many items or rankers; those that rank by features get the catalogue's."""
        parameters = dict(self.parameters)
        if self.policy in NEED_A_HORIZON and not {"horizon", "delta", "window"} & set(parameters):
            parameters["horizon"] = DEFAULT_HORIZON
        offered: dict[str, Any] = {"n_arms": n_items, "n_items": n_items, "initial": list(range(n_items))}
        if self.kind == "diversify":
            made_up = np.zeros((1, self.relevance)), np.zeros((1, len(self.topics)))
            relevance, topics = made_up if features is None else features
            offered, n_items = {"relevance": relevance, "features": relevance, "topics": topics}, len(relevance)
        offered["n_positions"] = min(self.positions, n_items)
        return make_policy(getattr(policies, self.policy), offered, {**parameters, "seed": seed})

    def warm_up(self) -> None:
        """Compile what the policy needs, or load it from the cache."""
        n = len(self.rankers) if self.kind == "evaluate" else max(2, self.positions)
        self.make_policy(n).warm_up()

    def to_json(self) -> dict[str, Any]:
        """The settings as JSON can hold them."""
        return {**asdict(self), "rankers": list(self.rankers), "topics": list(self.topics)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Settings:
        """The settings that `to_json` wrote."""
        return cls(**{**values, "rankers": tuple(values["rankers"]), "topics": tuple(values["topics"])})


def _check_features(policy: str, relevance: int, topics: tuple[str, ...]) -> None:
    takes = _arguments_of(getattr(policies, policy))
    if ("relevance" in takes or "features" in takes) and relevance == 0:
        raise ValueError(f"{policy} ranks by relevance features: say how many an item has, such as relevance=10")
    if "topics" in takes and not topics:
        raise ValueError(f'{policy} ranks by topics: name them, such as topics=["news", "sport"]')


def _parameters_of(policy: str) -> list[str]:
    kind = getattr(policies, policy)
    fixed = ("self", "seed", "initial", "n_items", "n_arms", "n_positions", "relevance", "topics", "features")
    return [name for name in _arguments_of(kind) if name not in fixed]


@cache
def _arguments_of(kind: Any) -> tuple[str, ...]:
    """Names of a policy's arguments: to look them up takes longer than to make a policy."""
    return tuple(inspect.signature(kind.__init__).parameters)


def _share(name: str, value: Any, *, below_one: bool = False) -> float:
    if not is_number(value) or not 0 <= value <= 1 or (below_one and value == 1):
        wanted = "from 0 to below 1" if below_one else "from 0 to 1"
        raise ValueError(f"{name} must be a share {wanted}, not {value!r}")
    return float(value)


def read_config(path: str | Path) -> dict[str, Any]:
    """A `rankloop.toml`: loops under `[loops.NAME]`, and what the store is told under `[live]`."""
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TOML file ({error})") from None
    for word in values:
        check_known(f"section of {path}", word, ("loops", "live", "serve"))
    loops = values.get("loops", {})
    if not isinstance(loops, dict) or not all(isinstance(loop, dict) for loop in loops.values()):
        raise ValueError(f"{path}: each loop is a section of its own, such as [loops.search]")
    for name, loop in loops.items():
        if "kind" not in loop:
            raise ValueError(f"{path}: loop {name!r} needs a kind, one of {', '.join(POLICIES)}")
    return values
