"""What loops have counted, found and learned, for whoever asks: nothing is changed by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rankloop.live.explain import LiveExplanation, explain
from rankloop.live.export import rows, write_table
from rankloop.live.loops import Loop
from rankloop.live.names import check_name
from rankloop.live.open_loops import OpenLoops
from rankloop.live.settings import Settings
from rankloop.live.tokens import Foreign, Unknown
from rankloop.live.verify import Verification, Verifier
from rankloop.policies import SafetyReceipt
from rankloop.wording import shorten


class LoopAnswers(OpenLoops):
    """Loops that can be asked what they know."""

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of all loops."""
        return tuple(self._loops.by_name)

    def settings(self, loop: str) -> Settings:
        """What a loop was told."""
        return self._loops.named(loop).settings

    def status(self, loop: str | None = None) -> dict[str, Any]:
        """What a loop has counted and found; all loops by name if none is given."""
        self._check_usable()
        if loop is None:
            return {name: self.status(name) for name in self._loops.by_name}
        target = self._loops.named(loop)
        if not self._read_only:
            self._impressions.close_due()
        settings = target.settings
        with self._journal.lock:
            counts = dict(target.counts)
            for name, strange in self._loops.strange.items():
                counts[name] += strange
        status: dict[str, Any] = {
            "loop": target.name,
            "kind": settings.kind,
            "policy": settings.policy,
            "mode": "paused" if settings.paused else settings.mode,
            "traffic": settings.traffic,
            **counts,
            "open": counts["impressions"] - counts["closed"],
            "unwritten": len(self._journal.rows),
            "warm": len(self._learners),
        }
        status |= self._standings(target) if settings.kind == "evaluate" else {"uplift": target.comparison.uplift()}
        return status

    def _standings(self, target: Loop) -> dict[str, Any]:
        rankers = target.settings.rankers
        if self._learners.find(target, "") is None:
            return {"survivors": list(rankers), "winner": None, "best": None}
        with self._learners.hold(target, "") as learner:
            policy, names = learner.policy, learner.names
            if policy is None:
                return {"survivors": list(rankers), "winner": None, "best": None}
            winner = policy.winner
            return {
                "survivors": [name for i, name in enumerate(names) if not policy.eliminated(i)],
                "winner": None if winner is None else names[winner],
                "best": names[policy.best],
            }

    def comparison(self, loop: str) -> bytes:
        """The packed counts of the comparison between a loop and its holdout."""
        target = self._loops.named(loop)
        with self._journal.lock:
            return target.comparison.pack()

    def best(self, loop: str, key: str = "") -> list[str]:
        """The list that looks best for a key now, with nothing shown for the sake of learning; or the best ranker."""
        target = self._asked_for(loop, key)
        with self._learners.hold(target, key) as learner:
            if learner.policy is None:
                raise self._nothing_to_say(loop, key)
            return learner.best()

    def receipt(self, loop: str, key: str) -> SafetyReceipt:
        """What BubbleRank has decided for a key, on what evidence, and what is guaranteed."""
        target = self._asked_for(loop, key)
        if target.settings.policy != "BubbleRank":
            raise ValueError(f"only BubbleRank gives a receipt; loop {loop!r} runs {target.settings.policy}")
        with self._learners.hold(target, key) as learner:
            if learner.policy is None:
                raise self._nothing_to_say(loop, key)
            return learner.policy.receipt().named(learner.names)

    def _asked_for(self, loop: str, key: str) -> Loop:
        """A loop that has been asked for a key."""
        self._check_usable()
        target = self._loops.named(loop)
        if key or target.settings.kind != "evaluate":
            check_name("key", key)
        if self._learners.find(target, key) is None:
            raise self._nothing_to_say(loop, key)
        return target

    def _nothing_to_say(self, loop: str, key: str) -> ValueError:
        return ValueError(f"loop {loop!r} has not been asked for {shorten(key)} yet: it has nothing to say of it")

    def explain(self, impression: str) -> LiveExplanation:
        """Why this list: who decided, what was exchanged, the evidence at that moment, what was learned from it."""
        self._check_usable()
        try:
            ticket = self._signer.read(impression)
        except (Unknown, Foreign):
            raise ValueError(f"there is no impression {shorten(impression)} here: give an id of this store") from None
        self._journal.flush()
        with self._upkeep.reading:
            return explain(self.reader, self._impressions.trimmed, self._journal.durable, ticket)

    def loop_of(self, impression: str) -> str | None:
        """The name of the loop that an impression belongs to; None if it is none of this store's."""
        self._check_usable()
        try:
            loop = self._impressions.loop_of(self._signer.read(impression).learner)
        except (Unknown, Foreign):
            return None
        return None if loop is None else loop.name

    def verify(self, progress: Callable[[int], None] | None = None) -> Verification:
        """Replay the journal: derive every list and every learned state anew, and compare.

        Lists go on being served meanwhile; what happens after the call began is left for the next one.
        """
        self._check_usable()
        with self._upkeep.reading:
            with self._journal.writing:
                self._journal.flush()
                upto = self._journal.durable
                states = self._learners.states()
            return Verifier(self._store, self._impressions.trimmed, upto, states).run(progress)

    def export(self, path: str | Path, progress: Callable[[int], None] | None = None) -> int:
        """Write the whole journal to a file, `.jsonl` or `.parquet`; the number of rows."""
        return write_table(self.rows(), path, progress)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The whole journal as mappings from column to value."""
        self._check_usable()
        self._journal.flush()
        with self._upkeep.reading:
            yield from rows(self._store, self._journal.durable)
