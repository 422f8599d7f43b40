"""The race of rankers: who is left, who leads, who was eliminated by whom, what it has cost, how long it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloop.arrays import Floats, Ints
from rankloop.live.entries import unpack_news
from rankloop.live.learner import Learner
from rankloop.live.live import Live
from rankloop.live.loops import Loop
from rankloop.live.replay import names_in_store
from rankloop.live.stores import StoreError, StoreLost
from rankloop.live.views.intervals import preference_intervals
from rankloop.live.views.view_cache import Looking, known_key, looking_at
from rankloop.policies.dueling.batches import OBSERVED
from rankloop.policies.dueling.merging import _MergePolicy
from rankloop.theory import merge_duels

ALPHA = 0.05
STANDINGS = 200
"""Rankers whose standing is told."""
PAIRS = 64
"""Rankers whose duels with each other are told."""
LEAST_GAP = 0.01
"""The smallest difference that an estimate of the time left speaks of."""
MINUTES_PER_DAY = 1440
KEEP_PAIRS = ("MergeDTS", "MergeRUCB", "DTS", "RUCB", "RMED1")
"""Policies that know how often each ranker has beaten each other one."""


REGRET = (
    "For every duel that was learned from, the mean of how much the leader is preferred to its two rankers: its share "
    "of wins against each, with one win and one loss added, less 1/2, and never below 0. A ranker that has never met "
    "the leader is judged by its share of wins against all."
)
DECISION = (
    "A survivor is eliminated after about α ln(t + C) / gap² duels with the leader, as the command rankloop advise "
    "rankers reckons. Here t is the number of duels until then, and gap is the leader's share of wins against the "
    "survivor, less 1/2. α = {alpha:g} and C = {c:,.0f} are settings of this loop: larger ones make a wrong "
    "elimination less likely, and take more duels. Duels that the two have had are counted."
)
ASSUMES = (
    "preferences stay as they are, and the leader is the best ranker",
    f"no gap is smaller than {LEAST_GAP:g} (rankers closer together take longer, as 1/gap²)",
    "duels have a winner as often as in the last 24 hours",
)

SHARED = "this key keeps its share of the loop's duels"


@dataclass
class Standings:
    """What a policy knows of its rankers, copied while its lock was held."""

    names: list[str]
    batches: list[list[int]]
    """Who is left, batch by batch, the largest first."""
    number: int = 0
    """Number of the learner; 0 before the first duel."""
    leader: int | None = None
    winner: int | None = None
    wins: Ints | None = None
    """How often each ranker has beaten each other one; None where the policy does not know."""
    beaten: dict[int, int] | None = None
    """By whom each of those was eliminated that are not left."""
    bounds: tuple[float, float, int] | None = None
    """alpha and C of the bounds by which rankers are eliminated, and how many duels have been observed."""

    @property
    def alive(self) -> list[int]:
        """All rankers that are left."""
        return [ranker for batch in self.batches for ranker in batch]


def race(live: Live, loop: str, key: str = "") -> dict[str, Any]:
    """The race of rankers in the duels of one key of a loop; no key unless one is given.

    Parameters
    ----------
    live
        The open `Live`.
    loop
        Name of the loop, of kind evaluate.
    key
        The key; ValueError if there has been no duel with it, though there need not have been one without a key.
    """
    target = live._loops.named(loop)
    if target.settings.kind != "evaluate":
        raise ValueError(f"loop {loop!r} is of kind {target.settings.kind}: only a loop of kind evaluate has a race")
    if key:
        known_key(live, target, key)
    looking = looking_at(live)
    found: dict[str, Any] = looking.fresh(("race", loop, key), lambda: _race(looking, target, key))
    return found


def _race(looking: Looking, target: Loop, key: str) -> dict[str, Any]:
    live = looking.live
    looking.advance()
    names = list(target.settings.rankers)
    now = Standings(names, [list(range(len(names)))])
    if live._learners.find(target, key) is not None:
        with live._learners.hold(target, key) as learner:
            now = _standings(learner) if learner.policy is not None else now
    noted = _eliminations(looking, target.number, now.number)
    order = _order(now, noted)
    return {
        "loop": target.name,
        "key": key,
        "policy": target.settings.policy,
        "rankers": len(now.names),
        "duels": None if now.wins is None else int(now.wins.sum()),
        "ties": target.counts["ties"] if target.counts["keys"] <= 1 else None,
        "leader": None if now.leader is None else now.names[now.leader],
        "winner": None if now.winner is None else now.names[now.winner],
        "batches": [[now.names[ranker] for ranker in batch] for batch in now.batches],
        "standings": _rows(now, order[:STANDINGS], noted),
        "left_out": max(0, len(now.names) - STANDINGS),
        "alpha": ALPHA,
        "pairs": _pairs(now, order[:PAIRS]),
        "regret": _regret(now),
        "decision": _decision(looking, target, now),
    }


def _standings(learner: Learner) -> Standings:
    """What a policy knows; the caller holds the learner's lock."""
    policy, names = learner.policy, list(learner.names)
    now = Standings(names, [], learner.number, int(policy.best), policy.winner)
    if isinstance(policy, _MergePolicy):
        inner, slots = policy._batches, policy._batches.slot_of
        now.batches = sorted(policy.batches, key=len, reverse=True)
        now.wins = np.array(policy.state.wins[np.ix_(slots, slots)])
        now.beaten = {ranker: policy.beaten_by(ranker) for ranker in policy.lost}
        now.bounds = (policy.alpha, float(inner.bonus_start), int(inner.counts[OBSERVED]))
    else:
        now.batches = [[ranker for ranker in range(len(names)) if not policy.eliminated(ranker)]]
        now.wins = policy.state.wins.copy() if learner.settings.policy in KEEP_PAIRS else None
    return now


def _eliminations(looking: Looking, loop: int, learner: int) -> dict[str, tuple[float, str]]:
    """When each ranker was eliminated and by whom, as far as the journal says; the last time counts."""
    found: dict[str, tuple[float, str]] = {}
    store = looking.following.store
    lists: dict[int, tuple[str, ...]] = {}
    for entry in looking.following.notable.get(loop, ()):
        news = unpack_news(entry.body) if entry.body and entry.learner == learner else None
        if news is None:
            continue
        if news.version not in lists:
            try:
                lists[news.version] = names_in_store(store, learner, news.version)
            except StoreLost:
                raise
            except StoreError:  # the list of rankers has been removed since
                lists[news.version] = ()
        names = lists[news.version]
        for better, worse in news.pairs if names else ():
            if better != worse:
                found[names[worse]] = (entry.at / 1000, names[better])
    return found


def _order(now: Standings, noted: dict[str, tuple[float, str]]) -> list[int]:
    """The leader, the other survivors by their share of wins, then the others, those eliminated last first."""
    alive, n = set(now.alive), len(now.names)
    won = np.zeros(n) if now.wins is None else now.wins.sum(axis=1)
    lost = np.zeros(n) if now.wins is None else now.wins.sum(axis=0)
    share = (won + 1) / (won + lost + 2)

    def place(ranker: int) -> tuple[Any, ...]:
        at = 0.0 if ranker in alive else noted.get(now.names[ranker], (0.0, ""))[0]
        return (ranker != now.leader, ranker not in alive, -at, -share[ranker], ranker)

    return sorted(range(n), key=place)


def _rows(now: Standings, order: list[int], noted: dict[str, tuple[float, str]]) -> list[dict[str, Any]]:
    batch_of = {ranker: number for number, batch in enumerate(now.batches) for ranker in batch}
    against, beaten, wins = _against(now, order), now.beaten or {}, now.wins
    rows = []
    for ranker in order:
        name, gone = now.names[ranker], ranker not in batch_of
        at, by = noted.get(name, (None, now.names[beaten[ranker]] if ranker in beaten else None))
        rows.append(
            {
                "ranker": name,
                "wins": None if wins is None else int(wins[ranker].sum()),
                "losses": None if wins is None else int(wins[:, ranker].sum()),
                "survives": not gone,
                "batch": batch_of.get(ranker),
                "against_leader": against.get(ranker),
                "eliminated_at": at if gone else None,
                "eliminated_by": by if gone else None,
            }
        )
    return rows


def _against(now: Standings, order: list[int]) -> dict[int, dict[str, Any]]:
    """How often rankers have beaten the leader, with an interval for their probability to."""
    wins, leader = now.wins, now.leader
    if wins is None or leader is None:
        return {}
    met = [ranker for ranker in order if ranker != leader and wins[ranker, leader] + wins[leader, ranker]]
    won, lost = wins[met, leader], wins[leader, met]
    low, high = preference_intervals(won, lost, ALPHA)
    return {
        ranker: {
            "wins": int(won[i]),
            "losses": int(lost[i]),
            "preference": float(won[i] / (won[i] + lost[i])),
            "low": float(low[i]),
            "high": float(high[i]),
        }
        for i, ranker in enumerate(met)
    }


def _pairs(now: Standings, order: list[int]) -> dict[str, Any]:
    if now.wins is None:
        return {"rankers": [], "duels": [], "wins": []}
    some = now.wins[np.ix_(order, order)]
    return {"rankers": [now.names[i] for i in order], "duels": (some + some.T).tolist(), "wins": some.tolist()}


def _gaps(wins: Ints, leader: int) -> Floats:
    """How much the leader is preferred to each ranker, less 1/2, as far as can be told; not below 0."""
    met = wins[leader] + wins[:, leader]
    preferred = (wins[leader] + 1) / (met + 2)
    won, lost = wins.sum(axis=1), wins.sum(axis=0)
    gaps = np.maximum(0.0, np.where(met > 0, preferred, (lost + 1) / (won + lost + 2)) - 0.5)
    gaps[leader] = 0.0
    return np.asarray(gaps, np.float64)


def _regret(now: Standings) -> dict[str, Any] | None:
    if now.wins is None or now.leader is None:
        return None
    duels, n = now.wins.sum(axis=1) + now.wins.sum(axis=0), int(now.wins.sum())
    spent = float((duels * _gaps(now.wins, now.leader)).sum() / 2)
    return {"spent": spent, "per_duel": spent / n if n else None, "how": REGRET}


def _decision(looking: Looking, target: Loop, now: Standings) -> dict[str, Any] | None:
    """How many duels it takes until one ranker is left, and how many days at the present traffic."""
    if now.wins is None or now.leader is None or now.bounds is None:
        return None
    alpha, c, observed = now.bounds
    rivals = [ranker for ranker in now.alive if ranker != now.leader]
    gaps = np.maximum(LEAST_GAP, _gaps(now.wins, now.leader)[rivals])
    met = (now.wins[now.leader] + now.wins[:, now.leader])[rivals]
    left = 0.0
    for _ in range(20):  # the need grows like the logarithm of all duels until then
        needed = merge_duels(observed + left + 1, gap=1.0, alpha=alpha, c=c) / gaps**2
        left = float(np.maximum(0.0, needed - met).sum())
    per_day = duels_per_day(looking, target) * _share(looking, target, now.number)
    return {
        "days": 0.0 if not rivals else left / per_day if per_day else None,
        "duels_left": round(left),
        "per_day": per_day,
        "gap": float(gaps.min()) if rivals else None,
        "how": DECISION.format(alpha=alpha, c=c),
        "assumes": list(ASSUMES) if target.counts["keys"] <= 1 else [*ASSUMES, SHARED],
    }


def _share(looking: Looking, target: Loop, learner: int) -> float:
    """The share of one key in the duels of a loop that were learned from."""
    of_key, of_all = looking.following.of_learner(learner)["learned"], looking.following.learned(target.number)
    return of_key / of_all if of_all else 1.0


def duels_per_day(looking: Looking, target: Loop) -> float:
    """Duels with a winner per day, from the last 24 hours or as long as there has been traffic in them."""
    now = looking.live._journal.now() // 60_000
    minutes = looking.following.minutes(target.number, range(now - MINUTES_PER_DAY + 1, now + 1))
    first = next((i for i, minute in enumerate(minutes) if any(minute)), MINUTES_PER_DAY - 1)
    return sum(minute[2] for minute in minutes) * MINUTES_PER_DAY / max(60, MINUTES_PER_DAY - first)
