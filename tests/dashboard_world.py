"""A store with known content for the dashboard: four kinds of loops, made-up users, and odd names."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from unittest import mock

from live_world import Clock

import rankloop as rl

NOW = 1_794_988_800.0
"""When its last day ends: 18 November 2026, at 8 in the morning (UTC)."""
PATIENCE = 0.8
"""Chance that a user who has not clicked goes on to the next item."""
BETWEEN = 28.8
"""Seconds from one user to the next."""
HTML = '<img src=x onerror="document.title=1">'
ARABIC = "شاشة كمبيوتر"
EMOJI = "headphones 🎧"
REVERTED = "usb c cable"
QUERIES = ("laptop", "running shoes", REVERTED, "desk lamp", HTML, ARABIC, EMOJI, "water bottle")
LISTS = {
    "laptop": [
        "ThinkPad T14", "MacBook Air 13", "IdeaPad 5", "Zenbook 14", "Latitude 7450", "Pavilion 15", "Aspire 3",
        "Framework 13",
    ],
    REVERTED: ["2 m, braided", "1 m", "3 m, right-angled", "0.5 m", "with adapter"],
    ARABIC: ["شاشة 27 بوصة", "شاشة 24 بوصة", "ذراع شاشة", "كابل"],
    HTML: ["<b>bold</b>", "a & b", '"quoted"', "</script>"],
}  # fmt: skip
LAPTOPS = (0.03, 0.40, 0.04, 0.09, 0.02, 0.36, 0.03, 0.32)
"""How attractive the laptops are: the second, the sixth and the last stand too low in production's list."""
RANKERS = {
    "bm25": 0.50, "bm25+title": 0.58, "bm25+stems": 0.55, "bm25+titles+stems": 0.62, "dense-small": 0.52,
    "dense-large": 0.60, "hybrid": 0.70, "hybrid+boost": 0.66, "ltr-6": 0.64, "ltr-7": 0.68, "body only": 0.35,
    "title only": 0.42, "newest first": 0.25, "by name": 0.15, "by length": 0.12, "random": 0.05,
}  # fmt: skip
"""How good each ranker is."""
STORIES = ("election", "weather", "football", "recipes", "film", "markets")
TOPICS = ("news", "sport", "culture", "science")


class Users:
    """Users of all loops; what they click is told in batches, as a program would that is in a hurry."""

    def __init__(self, live: rl.Live, queries: Sequence[str]) -> None:
        self.live, self.queries, self.rng = live, queries, random.Random(15)
        self.clicks: list[dict[str, str]] = []

    def look(self, shown: rl.Shown, attraction: Callable[[str], float]) -> None:
        """Look down a list, click what attracts first, and give up at times: so the order matters."""
        for item in shown.items:
            if self.rng.random() < attraction(item):
                self.clicks += [{"impression": shown.id, "item": item}] * (2 if self.rng.random() < 0.02 else 1)
                return
            if self.rng.random() > PATIENCE:
                return

    def tell(self) -> None:
        """Deliver all clicks; a few come twice."""
        self.live.events(self.clicks)
        self.clicks = []

    def search(self) -> None:
        """Somebody searches a shop."""
        rng = self.rng
        query = "laptop" if rng.random() < 0.7 else rng.choice(self.queries)
        items = LISTS.get(query) or [f"{query} {number}" for number in range(1, 7)]
        strength = dict(zip(LISTS["laptop"], LAPTOPS, strict=True))
        shown = self.live.rank("search", query, items, user=f"user {rng.randrange(20_000)}")
        self.look(shown, lambda item: strength.get(item, 0.12))

    def duel(self) -> None:
        """Two rankers share a page."""
        duel = self.live.duel("rankers", user=f"user {self.rng.randrange(20_000)}")
        lists = {ranker: [f"{ranker}: {number}" for number in range(3)] for ranker in set(duel.rankers)}
        shown = self.live.interleave(duel.id, lists, positions=4)
        self.look(shown, lambda item: 0.5 * RANKERS[item.rpartition(": ")[0]] ** 2)

    def front_page(self, when: float) -> None:
        """Somebody reads the news, of which other ones are hot after each third of the time."""
        page, reader = self.rng.choices(("morning", "evening"), (3, 1))[0], f"user {self.rng.randrange(20_000)}"
        hot = STORIES[0] if when < 0.35 else STORIES[2] if when < 0.7 else STORIES[4]
        shown = self.live.rank("front page", page, list(STORIES), user=reader)
        self.look(shown, lambda item: 0.45 if item == hot else 0.08)

    def home(self) -> None:
        """Somebody looks for something relevant that is not the same again."""
        reader, articles = f"reader {self.rng.randrange(4)}", _articles()
        shown = self.live.rank("home", reader, list(articles), user=f"{reader}, device {self.rng.randrange(5_000)}")
        liked, seen = (0.30, 0.05, 0.15, 0.10), set[int]()

        def attraction(item: str) -> float:
            topic = TOPICS.index(item.partition(" ")[0])
            new = 0.0 if topic in seen else liked[topic]
            seen.add(topic)
            return 0.15 * articles[item]["relevance"][0] + new

        self.look(shown, attraction)


def fill(path: Path, *, steps: int, queries: Sequence[str] = QUERIES) -> Clock:
    """Make the store with so many users of most loops, and twice as many of `search`; the clock shows its end.

    What a store draws at random, such as who is in the holdout, is the same each time.
    """
    drawn = random.Random(16)
    with (
        mock.patch.object(secrets, "token_bytes", drawn.randbytes),
        mock.patch.object(secrets, "randbits", drawn.getrandbits),
    ):
        return _fill(path, steps, queries)


def _fill(path: Path, steps: int, queries: Sequence[str]) -> Clock:
    clock = Clock(NOW - BETWEEN * steps)
    with rl.Live(path, clock=clock, background=False) as live:
        live.create("search", kind="rerank", holdout=0.3, window="10 min", seed=1, horizon=10_000)
        live.create("rankers", kind="evaluate", rankers=list(RANKERS), window="10 min", seed=2)
        live.create("front page", kind="follow", positions=4, holdout=0.2, window="10 min", seed=3)
        live.create(
            "home", kind="diversify", relevance=3, topics=TOPICS, positions=5, holdout=0.2, window="10 min", seed=4
        )
        live.create("new loop", kind="rerank", seed=5)
        live.put_items("home", _articles())
        users = Users(live, queries)
        for step in range(steps):
            clock.now = NOW - BETWEEN * (steps - step)
            users.search()
            users.search()
            users.duel()
            users.front_page(step / steps)
            if step % 2 == 0:
                users.home()
            if step % 10 == 9:
                users.tell()
                live.attend()
            if step == steps * 9 // 10:
                live.revert("search", REVERTED)
        users.tell()
        clock.now = NOW
    return clock


@cache
def _articles() -> dict[str, dict[str, list[float]]]:
    rng = random.Random(4)
    return {
        f"{TOPICS[number % 4]} {number // 4 + 1}": {
            "relevance": [round(rng.random(), 2) for _ in range(3)],
            "topics": [1.0 if topic == number % 4 else 0.0 for topic in range(4)],
        }
        for number in range(20)
    }
