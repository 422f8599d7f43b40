"""What travels: the bodies of requests and answers, which the OpenAPI document is made from as well."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from rankloop.live.names import LONGEST_LIST, LONGEST_NAME

MOST_EVENTS = 1_000
"""Events in one request."""

MOST_FEATURES = 1_000
"""Features of an item: a learner's memory grows with their square."""

Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
Names = Annotated[list[Name], Meta(min_length=1, max_length=LONGEST_LIST)]
Role = Literal["rank", "events", "read", "admin"]


class RankRequest(Struct, forbid_unknown_fields=True):
    """Production's list, to be ranked for a key."""

    key: Name
    items: Names
    user: Name | None = None
    pinned: dict[int, Name] | None = None
    deferred: bool = False


class Ranked(Struct, omit_defaults=True):
    """The list to show, with the id that its events carry. A fallback has no id: nothing is learned from it."""

    id: str
    items: list[str]
    loop: str
    arm: str
    fallback: bool = False
    reason: str = ""


class DuelRequest(Struct, forbid_unknown_fields=True):
    """A user for whom two rankers are to be run."""

    key: Annotated[str, Meta(max_length=LONGEST_NAME)] = ""
    user: Name | None = None


class DuelAnswer(Struct):
    """The two rankers to run; their lists go to interleave with this id."""

    id: str
    rankers: list[str]
    loop: str


class InterleaveRequest(Struct, forbid_unknown_fields=True):
    """The lists of a duel's two rankers. The same duel again gives the next page."""

    duel: Annotated[str, Meta(min_length=1, max_length=8_192)]
    lists: dict[str, list[Name]]
    positions: Annotated[int, Meta(ge=1, le=LONGEST_LIST)] | None = None


class Event(Struct, omit_defaults=True):
    """Something that a user did with an impression."""

    impression: str
    item: Name | None = None
    type: Name = "click"
    """`click` or another type that a loop counts; `seen`, `shown` or `finish`, which need no item."""
    id: Annotated[str, Meta(max_length=LONGEST_NAME)] | None = None
    at: float | None = None
    """Time of the event in seconds since 1970, if it is not now."""
    seen: Annotated[int, Meta(ge=0)] | None = None
    """Number of positions that came into view."""


class Heard(Struct, omit_defaults=True):
    """What became of an event."""

    fate: str
    """accepted, duplicate, ignored, late, expired, unknown, foreign or invalid; of a UBI record also not_understood."""
    reason: str = ""


class HeardAll(Struct):
    """What became of each event, in the order in which they were sent."""

    events: list[Heard]


class LoopRequest(Struct):
    """The settings of a loop; parameters of its policy may stand among them."""

    kind: Literal["evaluate", "rerank", "follow", "diversify"]
    policy: str | UnsetType | None = UNSET
    positions: int | UnsetType = UNSET
    window: float | str | UnsetType = UNSET
    holdout: float | UnsetType = UNSET
    mode: str | UnsetType = UNSET
    traffic: float | UnsetType = UNSET
    counts: str | UnsetType = UNSET
    seed: int | UnsetType | None = UNSET
    rankers: list[str] | UnsetType = UNSET
    interleaver: str | UnsetType = UNSET
    relevance: Annotated[int, Meta(ge=0, le=MOST_FEATURES)] | UnsetType = UNSET
    topics: Annotated[list[str], Meta(max_length=MOST_FEATURES)] | UnsetType = UNSET
    parameters: dict[str, float | bool | str | None] | UnsetType = UNSET


class LoopAnswer(Struct):
    """A loop: its settings, and what it has counted and found."""

    loop: str
    settings: dict[str, Any]
    status: dict[str, Any]


class LoopsAnswer(Struct):
    """All loops that the key may see."""

    loops: list[LoopAnswer]


class RevertRequest(Struct, forbid_unknown_fields=True):
    """The key that is set back to production's list."""

    key: Annotated[str, Meta(max_length=LONGEST_NAME)]


class Done(Struct):
    """It has been done, and written for good."""

    loop: str
    done: str


class ItemFeatures(Struct, forbid_unknown_fields=True):
    """What is known of an item."""

    relevance: list[float] | UnsetType = UNSET
    topics: list[float] | UnsetType = UNSET


class ItemsRequest(Struct, forbid_unknown_fields=True):
    """Features of items, by name."""

    items: dict[str, ItemFeatures]


class KeyRequest(Struct, forbid_unknown_fields=True):
    """An access key to be made."""

    role: Role
    loops: list[Name] = []
    """Loops that the key is for; all if none is named."""
    expires: str | None = None
    """How long it is valid, such as `90d`; for ever if not given."""
    origins: list[str] = []
    """Web origins from which browsers may use it, for a key of role events."""
    note: Annotated[str, Meta(max_length=200)] = ""


class KeyInfo(Struct):
    """What is known of an access key. Its secret is not."""

    id: str
    role: Role
    loops: list[str]
    origins: list[str]
    note: str
    created: float
    expires: float | None
    revoked: float | None


class KeyUsed(Struct):
    """What the key that asks may do."""

    id: str
    role: Role
    loops: list[str]
    expires: float | None
    read_only: bool = False
    """Whether nobody can change anything here, whatever their key."""


class KeyMade(Struct):
    """A new access key: the only time that it is shown."""

    key: str
    info: KeyInfo


class KeysAnswer(Struct):
    """All access keys."""

    keys: list[KeyInfo]


class Health(Struct, omit_defaults=True):
    """Whether the service is alive, or ready."""

    status: str
    reason: str = ""


class ProblemAnswer(Struct, omit_defaults=True):
    """Why something was not done (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    request: str | None = None


encode = msgspec.json.Encoder(enc_hook=lambda value: vars(value) if hasattr(value, "__dict__") else str(value)).encode
