"""Somebody who looks at a `Live`: what is kept between two looks, so that each of them takes a bounded time."""

from __future__ import annotations

import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from rankloop.live.live import Live
from rankloop.live.loops import Loop
from rankloop.live.stores import KnownLearner
from rankloop.live.views.journal_counts import Following

SECONDS = 0.05
"""How long one look may count or replay what it has not seen yet."""
FRESH = 1.0
"""Seconds for which an answer is given again."""
MOST_ANSWERS = 200
MOST_FALLBACKS = 50


class Looking:
    """What looks at one `Live` have found so far.

    Parameters
    ----------
    live
        What is looked at.
    before
        Looks at an earlier `Live` of the same store, which this one takes the place of.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with Live(pathlib.Path(tempfile.mkdtemp()) / "shop.db") as live:
    ...     live.create("search", kind="rerank")
    ...     shown = live.rank("search", "laptop", ["sku-9", "sku-2"], user="u1")
    ...     fate = live.click(shown.id, "sku-9")  # all that came before it has been written as well
    ...     looking = looking_at(live)
    ...     looking.advance()
    ...     counts = looking.following.of_learner(1)
    >>> counts["impressions"], counts["clicks"]
    (1, 1)
    """

    def __init__(self, live: Live, before: Looking | None = None) -> None:
        self._live = weakref.ref(live)
        self.following: Following = Following(live.reader) if before is None else before.following
        self.following.store = live.reader
        self.histories: OrderedDict[Any, Any] = OrderedDict() if before is None else before.histories
        """Keys whose journal has been replayed, those used last at the end."""
        self.fallbacks: deque[dict[str, Any]] = deque(maxlen=MOST_FALLBACKS) if before is None else before.fallbacks
        """When lists of production had to be shown, as far as somebody looked."""
        self.fell_back: dict[str, float] = {} if before is None else before.fell_back
        """When each loop last had to show production's list; not there if it never did, or nobody knows when."""
        self._fallbacks: dict[str, int] = {} if before is None else before._fallbacks
        self._is_first = before is None
        self._answers: OrderedDict[Any, tuple[float, Any]] = OrderedDict()
        self.lock = threading.Lock()

    @property
    def live(self) -> Live:
        """What is looked at."""
        live = self._live()
        assert live is not None
        return live

    def advance(self, seconds: float = SECONDS) -> None:
        """Count for a while."""
        self.following.advance(seconds)
        self._notice_fallbacks()

    def _notice_fallbacks(self) -> None:
        """Note how many lists of each loop fell back since the last look, or ever if this is the first."""
        now = self.live._journal.now()
        with self.lock:
            for loop in self.live._loops:
                before, n = self._fallbacks.get(loop.name, 0), loop.counts["fallbacks"]
                if n <= before:
                    continue
                self._fallbacks[loop.name] = n
                noted = loop.counted_at.get("fallbacks", None if self._is_first else now)
                if noted is not None:
                    self.fell_back[loop.name] = noted / 1000
                at = (noted or now) / 1000
                self.fallbacks.append({"at": at, "loop": loop.name, "lists": n - before, "dated": noted is not None})
            self._is_first = False

    def fresh(self, question: Any, answer: Callable[[], Any]) -> Any:
        """The answer to a question, or the one that was given to it a moment ago."""
        with self.lock:
            at, known = self._answers.get(question, (0.0, None))
        if known is not None and time.monotonic() - at < FRESH:
            return known
        found = answer()
        if not self.following.counted["complete"]:  # whoever asks again helps to count
            return found
        with self.lock:
            self._answers[question] = (time.monotonic(), found)
            self._answers.move_to_end(question)
            while len(self._answers) > MOST_ANSWERS:
                self._answers.popitem(last=False)
        return found


_LOOKING: weakref.WeakKeyDictionary[Live, Looking] = weakref.WeakKeyDictionary()
_MAKING = threading.Lock()


def looking_at(live: Live, before: Looking | None = None) -> Looking:
    """The looks at a `Live`; the first one may go on from those at an earlier `Live` of the same store."""
    with _MAKING:
        looking = _LOOKING.get(live)
        if looking is None:
            looking = _LOOKING[live] = Looking(live, before)
        return looking


def known_key(live: Live, loop: Loop, key: str) -> KnownLearner:
    """A key that a loop has been asked for; ValueError if it has not."""
    live._asked_for(loop.name, key)
    known = live._learners.find(loop, key)
    assert known is not None
    return known
