"""What the tests of pages share: traffic of every kind, and the journal counted in plain SQL."""

from __future__ import annotations

import math
import sqlite3
import struct
from collections import Counter
from pathlib import Path
from typing import Any

from live_world import Clock

import rankloop as rl
from rankloop.live.views.keys import keys_in, merge_keys
from rankloop.live.views.overview import merge_overviews, overview_of

ODD_KEYS = ("laptop", "a/b c?d=e#f", "<script>alert(1)</script>", "שלום עולם", "👩🏽‍💻 💻", "100 %", "laptop bag")
LIST = ["a", "b", "c", "d"]


def overview(live: rl.Live, loops: list[str] | None = None) -> dict[str, Any]:
    return merge_overviews([overview_of(live, loops)])


def keys(live: rl.Live, loop: str, after: str = "", limit: int = 50, search: str = "") -> dict[str, Any]:
    page = keys_in(live, loop, after, limit, search)
    assert page is not None
    return merge_keys([page], after, limit)


def busy(live: rl.Live, clock: Clock, loop: str = "search", rounds: int = 30) -> None:
    """Traffic over several keys: the k-th is asked for every k-th time, and some clicks are told twice."""
    for n in range(rounds):
        for k, key in enumerate(ODD_KEYS, 1):
            if n % k == 0:
                shown = live.rank(loop, key, LIST, user=f"user {n}")
                for _ in range((n % 3 > 0) + (n % 7 == 1)):
                    live.click(shown.id, shown.items[n % 4])
        clock.now += 20.0
    live.commit(live.last)


def wanted(live: rl.Live, loop: str, key: str, item: str, n: int, items: list[str] = LIST) -> str:
    """So many users who click one item alone; the id of the last list."""
    id_ = ""
    for _ in range(n):
        shown = live.rank(loop, key, items)
        id_ = shown.id
        live.events([{"impression": id_, "item": item}])
        live.finish(id_)
    return id_


def raced(live: rl.Live, loop: str, n: int, order: list[str], key: str = "") -> None:
    """So many duels, each of which the ranker wins that stands first in an order."""
    for _ in range(n):
        duel = live.duel(loop, key)
        better = min(duel.rankers, key=order.index)
        lists = {ranker: [f"{ranker} {i}" for i in range(4)] for ranker in duel.rankers}
        shown = live.interleave(duel.id, lists, positions=4)
        live.events([{"impression": shown.id, "item": next(item for item in shown.items if item.startswith(better))}])
        live.finish(shown.id)


class InSQL:
    """An SQLite journal counted in plain SQL, with struct: no code of the package."""

    def __init__(self, path: Path) -> None:
        connection = sqlite3.connect(path)
        self.rows = connection.execute(
            "SELECT seq, at, kind, learner, impression, body, loop, key FROM journal LEFT JOIN learners "
            "ON number = learner ORDER BY seq"
        ).fetchall()
        self.totals = dict(connection.execute("SELECT loop, json(CAST(counts AS TEXT)) FROM totals"))
        connection.close()

    def of_loop(self, loop: int, *, window: float = 0.0, now: float = 0.0) -> dict[str, float]:
        """Open and closed impressions of a loop, those in the holdout, and for how long windows have been over."""
        begun = {
            (seq if kind == 5 else impression): (at, body)
            for seq, at, kind, _, impression, body, number, _ in self.rows
            if number == loop and kind in (5, 6)
        }
        closed = {impression for _, _, kind, _, impression, _, number, _ in self.rows if number == loop and kind == 9}
        waiting = [now - at / 1000 - window for seq, (at, _) in begun.items() if seq not in closed]
        return {
            "impressions": len(begun),
            "closed": len(closed),
            "open": len(begun) - len(closed),
            "holdout": sum(body[0] & 7 == 1 for _, body in begun.values()),
            "lag": max(0.0, *waiting, 0.0),
        }

    def uplift(self, loop: int, alpha: float = 0.05) -> dict[str, Any]:
        """The comparison with the holdout by its formula, from the closings of a loop."""
        seen: dict[bool, dict[int, list[int]]] = {False: {}, True: {}}
        for _, _, kind, _, _, body, number, _ in self.rows:
            if number == loop and kind == 9:
                fate, arm, bucket, _, _, n = struct.unpack_from("<BBHhhH", body)
                if arm & 7 in (0, 1) and fate != 2:  # the policy's or the holdout's, and shown
                    counts = seen[arm & 7 == 1].setdefault(bucket, [0, 0])
                    counts[0] += 1
                    counts[1] += n > 0
        rates, errors = [], []
        for of_arm in (seen[False], seen[True]):
            shown, clicked = (sum(counts[i] for counts in of_arm.values()) for i in (0, 1))
            rates.append(clicked / shown)
            spread = sum((c - rates[-1] * s) ** 2 for s, c in of_arm.values()) / shown**2
            errors.append(spread * len(of_arm) / (len(of_arm) - 1))
        t = sum(counts[0] for of_arm in seen.values() for counts in of_arm.values())
        r2 = (-2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha))) / 20_000
        sd = math.sqrt(t * sum(errors))
        half = sd * math.sqrt(2 * (t * r2 + 1) / (t**2 * r2) * math.log(math.sqrt(t * r2 + 1) / alpha))
        difference = rates[0] - rates[1]
        return {
            "loop": rates[0],
            "holdout": rates[1],
            "difference": difference,
            "low": difference - half,
            "high": difference + half,
        }

    def looks(self, key: str, names: list[str], gamma: float) -> dict[str, tuple[float, float]]:
        """Clicks on each item and looks at it, of which each list that was learned from makes the older ones fade."""
        known = dict.fromkeys(names, (0.0, 0.0))
        shown = {}
        for seq, _, kind, _, impression, body, _, of in self.rows:
            if of == key and kind == 5:
                n = struct.unpack_from("<BHqH", body)[3]
                shown[seq] = struct.unpack_from(f"<{n}H", body, struct.calcsize("<BHqH"))
            elif of == key and kind == 9 and body[0] == 0:
                n = struct.unpack_from("<BBHhhH", body)[5]
                clicks = struct.unpack_from(f"<{n}H", body, struct.calcsize("<BBHhhH"))
                known = {item: (gamma * clicked, gamma * looks) for item, (clicked, looks) in known.items()}
                last = min(clicks, default=len(shown[impression]) - 1)
                for place in range(last + 1):
                    item = names[shown[impression][place]]
                    known[item] = (known[item][0] + (place in clicks), known[item][1] + 1)
        return known

    def of_keys(self, loop: int) -> dict[str, Counter[str]]:
        """Impressions, clicks, impressions learned from and impressions that were clicked, of each key of a loop."""
        counts: dict[str, Counter[str]] = {}
        clicked: dict[str, set[int]] = {}
        for _, _, kind, _, impression, body, number, key in self.rows:
            if number == loop:
                counts.setdefault(key, Counter()).update(self._counts(kind, body))
                if kind == 8 and not body[0]:
                    clicked.setdefault(key, set()).add(impression)
        for key, impressions in clicked.items():
            counts[key]["clicked"] = len(impressions)
        return counts

    def of_minutes(self, loop: int) -> dict[int, Counter[str]]:
        """The same for each minute."""
        counts: dict[int, Counter[str]] = {}
        for _, at, kind, _, _, body, number, _ in self.rows:
            if number == loop:
                counts.setdefault(at // 60_000, Counter()).update(self._counts(kind, body))
        return counts

    def _counts(self, kind: int, body: bytes) -> dict[str, int]:
        first = struct.unpack_from("<B", body)[0] if body else -1
        named = {"impressions": kind in (5, 6), "clicks": kind == 8 and not first, "learned": kind == 9 and not first}
        return {name: int(value) for name, value in named.items()}

    def duels(self, rankers: list[str]) -> dict[tuple[str, str], int]:
        """How often each ranker has beaten each other one, from choices and closings."""
        pairs, won = {}, Counter[tuple[str, str]]()
        for seq, _, kind, _, impression, body, _, _ in self.rows:
            if kind == 5:
                n = struct.unpack_from("<BHqH", body)[3]
                pairs[seq] = struct.unpack_from(f"<{n}H", body, struct.calcsize("<BHqH"))
            elif kind == 9:
                fate, _, _, _, winner, _ = struct.unpack_from("<BBHhhH", body)
                left, right = pairs[impression]
                if fate == 0 and left != right:
                    ends = (left, right) if winner == 0 else (right, left)
                    won[rankers[ends[0]], rankers[ends[1]]] += 1
        return dict(won)
