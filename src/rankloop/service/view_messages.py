"""What travels to those who look: the answers that pages are made of. All times are in seconds since 1970."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Counted(Struct):
    """How far back the journal has been counted; the newest entries are counted first."""

    complete: bool
    since: float | None
    entries: int


class StoreSize(Struct):
    """How large the store is."""

    name: str
    """Name of the file, without its folder, or address of the database."""
    bytes: int
    entries: int


class UpliftAnswer(Struct):
    """The click rate with the loop minus that of the holdout, with an interval that may be looked at every day."""

    loop: float | None
    holdout: float | None
    difference: float | None
    low: float | None
    high: float | None
    impressions: list[int]
    decided: bool


class RaceSummary(Struct):
    """How far an evaluation is."""

    rankers: int
    survivors: int
    best: str | None
    winner: str | None


class Series(Struct, rename={"from_": "from"}):
    """Counts per minute."""

    from_: float
    step: int
    impressions: list[int]
    clicks: list[int]


class LoopSeen(Struct):
    """A loop at a glance."""

    loop: str
    kind: str
    policy: str
    mode: str
    traffic: float
    holdout_share: float
    keys: int
    impressions: int
    clicks: int
    open: int
    closed: int
    learned: int
    holdout: int
    duplicates: int
    late: int
    fallbacks: int
    recovered: int
    lag: float
    """Seconds for which windows that have passed wait to be closed."""
    fell_back: float | None
    """When a list last fell back to production's, as far as is known."""
    uplift: UpliftAnswer | None
    race: RaceSummary | None
    per_hour: int
    """Impressions in the last hour."""
    series: Series


class Happening(Struct):
    """Something that happened: a decision of a policy, an intervention, a change of settings, a failure."""

    at: float
    loop: str | None
    kind: str
    key: str | None
    items: list[str]
    text: str


class OverviewAnswer(Struct):
    """All loops that the key may see, and what happened lately."""

    at: float
    store: StoreSize | None
    counted: Counted
    loops: list[LoopSeen]
    happenings: list[Happening]


class KeySeen(Struct):
    """A key with its traffic, as far as the journal has been counted."""

    key: str
    impressions: int
    clicks: int
    learned: int
    last: float | None


class KeysPage(Struct):
    """Keys of a loop, those with the most impressions first; `next` is given as `after` for those that follow."""

    loop: str
    kind: str
    total: int
    matches: int | None
    keys: list[KeySeen]
    next: str | None
    counted: Counted


class ItemSeen(Struct):
    """What is known of an item: the estimated probability of a click on it once it is looked at."""

    item: str
    attraction: float | None
    looks: float


class Weight(Struct, omit_defaults=True):
    """What a user is estimated to care for a topic, or for a feature of relevance."""

    weight: float
    error: float
    topic: str | None = None
    feature: int | None = None


class ItemExplained(Struct):
    """One position of a list, and why it attracts."""

    item: str
    topics: list[str]
    attraction: float
    relevance: float
    novelty: float
    uncertainty: float


class Explained(Struct, rename={"shown": "list"}):
    """What was learned of topics and features, the best list item by item, and the topics covered down it."""

    topics: list[Weight]
    relevance: list[Weight]
    shown: list[ItemExplained]
    covered: list[list[float]]


class KeyAnswer(Struct, omit_defaults=True):
    """What a loop knows for a key: production's list, the one that looks best now, and what that rests on."""

    loop: str
    key: str
    kind: str
    policy: str
    production: list[str]
    best: list[str]
    impressions: int
    clicks: int
    learned: int
    last: float | None
    counted: Counted
    reverted: float | None
    items: list[ItemSeen]
    receipt: dict[str, Any] | None = None
    receipt_text: str | None = None
    explained: Explained | None = None


class Progress(Struct):
    """How far a key's journal has been replayed, the oldest entries first."""

    complete: bool
    entries: int
    since: float | None
    upto: float | None


class Traffic(Struct):
    """Impressions that began between two moments, and how many of them have been clicked."""

    impressions: int
    clicked: int


class Change(Struct, omit_defaults=True):
    """Something that changed for a key, with the traffic since the change before and until the next one."""

    at: float
    kind: str
    """exchange, first, listed, reverted, eliminated or winner.

    `first`: another item looks best, and has done so for 30 lists in a row that were learned from.
    """
    best: list[str]
    before: Traffic | None
    after: Traffic
    raised: str | None = None
    lowered: str | None = None
    attractions: list[float | None] | None = None
    """Those of the item that came to look best and of the one before it, once the change had lasted."""
    lead: int | None = None
    of: int | None = None
    needs: float | None = None
    added: list[str] | None = None
    removed: list[str] | None = None


class ItemSeries(Struct):
    """The attraction of an item over time."""

    item: str
    attraction: list[float | None]


class TopicSeries(Struct):
    """What a topic was estimated to be worth over time."""

    topic: str
    weight: list[float | None]


class HistorySeries(Struct):
    """Traffic between points of time, and what was known at each of them."""

    at: list[float]
    impressions: list[int]
    clicked: list[int]
    items: list[ItemSeries]
    topics: list[TopicSeries]


class HistoryAnswer(Struct):
    """How a key came to be what it is."""

    loop: str
    key: str
    kind: str
    progress: Progress
    changes: list[Change]
    dropped: int
    """Older changes that are left out."""
    series: HistorySeries


class AgainstLeader(Struct):
    """How often a ranker has beaten the leader, and an interval for its probability to."""

    wins: int
    losses: int
    preference: float
    low: float
    high: float


class Standing(Struct):
    """How a ranker stands."""

    ranker: str
    wins: int | None
    losses: int | None
    survives: bool
    batch: int | None
    against_leader: AgainstLeader | None
    eliminated_at: float | None
    eliminated_by: str | None


class Pairs(Struct):
    """Duels between rankers, and how many of them the ranker of the row has won."""

    rankers: list[str]
    duels: list[list[int]]
    wins: list[list[int]]


class Regret(Struct):
    """What the duels have cost so far, estimated."""

    spent: float
    per_duel: float | None
    how: str


class Decision(Struct):
    """How long it takes until one ranker is left, estimated."""

    days: float | None
    duels_left: int
    per_day: float
    gap: float | None
    how: str
    assumes: list[str]


class RaceAnswer(Struct):
    """The race of rankers in the duels of one key."""

    loop: str
    key: str
    policy: str
    rankers: int
    duels: int | None
    ties: int | None
    """Duels without a winner; None where several keys have races, since they are counted for all together."""
    leader: str | None
    winner: str | None
    batches: list[list[str]]
    standings: list[Standing]
    left_out: int
    alpha: float
    pairs: Pairs
    regret: Regret | None
    decision: Decision | None
