"""Interleaving in plain Python, by enumeration: every list with its probability, every assignment of teams."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import product


def softmax(ranking: Sequence[int], shown: Sequence[int], exponent: float = 3.0) -> dict[int, float]:
    """The chance of each item not shown yet, by 1 / rank^exponent."""
    weights = {d: (k + 1) ** -exponent for k, d in enumerate(ranking) if d not in shown}
    total = sum(weights.values())
    return {d: weight / total for d, weight in weights.items()}


def assignment_outcome(rankings: Sequence[Sequence[int]], items: Sequence[int], clicks: Sequence[int]) -> list[float]:
    """Win, tie and loss of ranker 0 against 1, summed over every assignment of rankers to positions."""
    n = len(rankings)
    outcome = [0.0, 0.0, 0.0]
    total = 0.0
    for teams in product(range(n), repeat=len(items)):
        chance = 1.0
        for k, team in enumerate(teams):
            chance *= softmax(rankings[team], items[:k]).get(items[k], 0.0) / n
        total += chance
        lead = sum(c * ((t == 0) - (t == 1)) for c, t in zip(clicks, teams, strict=True))
        outcome[0 if lead > 0 else 1 if lead == 0 else 2] += chance
    return [part / total for part in outcome]


def probabilistic_lists(rankings: Sequence[Sequence[int]], length: int) -> dict[tuple[int, ...], float]:
    """Every list of probabilistic interleave with its probability, while no ranking runs out."""
    lists: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(length):
        longer: dict[tuple[int, ...], float] = defaultdict(float)
        for shown, chance in lists.items():
            for ranking in rankings:
                for d, p in softmax(ranking, shown).items():
                    longer[(*shown, d)] += chance * p / len(rankings)
        lists = longer
    return lists


def best_left(ranking: Sequence[int], shown: Sequence[int]) -> int | None:
    return next((d for d in ranking if d not in shown), None)


def team_drafts(rankings: Sequence[Sequence[int]], length: int) -> dict[tuple[tuple[int, int], ...], float]:
    """Every list of team draft, as (item, team) pairs, with its probability, while no ranking runs out."""
    drafts: dict[tuple[tuple[int, int], ...], float] = {(): 1.0}
    n = len(rankings)
    for k in range(length):
        longer: dict[tuple[tuple[int, int], ...], float] = defaultdict(float)
        for draft, chance in drafts.items():
            in_round = {team for _, team in draft[k - k % n :]}
            free = [team for team in range(n) if team not in in_round]
            for team in free:
                d = best_left(rankings[team], [item for item, _ in draft])
                assert d is not None
                longer[(*draft, (d, team))] += chance / len(free)
        drafts = longer
    return drafts


def balanced_list(a: Sequence[int], b: Sequence[int], length: int, a_first: bool) -> list[int]:
    items: list[int] = []
    i = j = 0
    while len(items) < length:
        if i < j or (i == j and a_first):
            if a[i] not in items:
                items.append(a[i])
            i += 1
        else:
            if b[j] not in items:
                items.append(b[j])
            j += 1
    return items


def balanced_lead(a: Sequence[int], b: Sequence[int], items: Sequence[int], clicks: Sequence[int]) -> int:
    clicked = [d for d, c in zip(items, clicks, strict=True) if c]
    if not clicked:
        return 0
    k = min(a.index(clicked[-1]), b.index(clicked[-1])) + 1
    return sum(d in a[:k] for d in clicked) - sum(d in b[:k] for d in clicked)


def one_comparison(
    a: Sequence[int], b: Sequence[int], labels: Sequence[int], click: Sequence[float], stop: Sequence[float],
    length: int, draw: random.Random,
) -> float:  # fmt: skip
    """One impression of probabilistic interleave before a user, scored by the teams as drawn."""
    items: list[int] = []
    teams: list[int] = []
    for _ in range(min(length, len(a))):
        team = draw.randrange(2)
        chances = softmax((a, b)[team], items)
        items.append(draw.choices(list(chances), list(chances.values()))[0])
        teams.append(team)
    lead = 0
    for d, team in zip(items, teams, strict=True):
        if draw.random() < click[labels[d]]:
            lead += 1 - 2 * team
            if draw.random() < stop[labels[d]]:
                break
    return 0.5 * (1 + (lead > 0) - (lead < 0))


def one_redrawn_comparison(
    scores: Sequence[Sequence[float]], labels: Sequence[int], click: Sequence[float], stop: Sequence[float],
    length: int, draw: random.Random,
) -> list[float]:  # fmt: skip
    """One impression whose ties are broken once for the list and once more for its credit: win, tie and loss."""

    def ranking(of: Sequence[float]) -> list[int]:
        return sorted(range(len(of)), key=lambda d: (-of[d], draw.random()))

    rankings = [ranking(of) for of in scores]
    items: list[int] = []
    for _ in range(length):
        chances = softmax(rankings[draw.randrange(2)], items)
        items.append(draw.choices(list(chances), list(chances.values()))[0])
    clicks = [0] * length
    for k, d in enumerate(items):
        if draw.random() < click[labels[d]]:
            clicks[k] = 1
            if draw.random() < stop[labels[d]]:
                break
    return assignment_outcome([ranking(of) for of in scores], items, clicks)
