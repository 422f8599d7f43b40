"""What is handed out: a learner chooses, the journal notes it, and an impression begins."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence

from rankloop.checks import check_whole
from rankloop.live.entries import Arm, Choice, Kind, pack_choice, pack_json, pack_names, unpack_choice
from rankloop.live.impression import Impression
from rankloop.live.impressions import Impressions
from rankloop.live.journal import Journal
from rankloop.live.learner import Learner
from rankloop.live.learner_cache import WarmLearners
from rankloop.live.loops import Loop, Loops, count
from rankloop.live.names import check_names
from rankloop.live.pages import Pins, page_of
from rankloop.live.shown import LiveDuel, Shown
from rankloop.live.stores import StoreLost
from rankloop.live.tokens import Signer, Ticket
from rankloop.wording import shorten

logger = logging.getLogger("rankloop.live")

MOST_UNWRITTEN = 500_000
"""Entries that may wait for the disk; beyond, lists are production's until it answers."""
CLOSED_AT_ONCE = 16
"""Impressions whose windows have passed that one call closes on the way."""


class Showing:
    """Lets learners choose, and writes down what they chose."""

    def __init__(
        self, journal: Journal, loops: Loops, learners: WarmLearners, impressions: Impressions, signer: Signer
    ) -> None:
        self._journal, self._loops, self._learners = journal, loops, learners
        self._impressions, self._signer = impressions, signer

    def rank(
        self, target: Loop, key: str, names: tuple[str, ...], user: str | None, pins: Pins, deferred: bool
    ) -> Shown:
        """The list to show, if nothing fails; some impressions whose windows have passed are closed on the way."""
        journal = self._journal
        self.check_room()
        self._impressions.close_due(CLOSED_AT_ONCE, waiting=False)
        with self._learners.hold(target, key) as learner:
            shown, begun = self.show(target, learner, names, user, pins, deferred)
            needed = learner.version or learner.applied
        if needed > journal.durable:  # names are written before anybody sees them: an id need not carry them
            try:
                journal.commit(needed)
            except BaseException:
                self._impressions.withdraw(begun)
                raise
        return shown

    def check_room(self) -> None:
        """Refuse to show anything once nothing can be written any more, or too much waits for that."""
        journal = self._journal
        if journal.ended is not None:
            raise journal.ended
        if len(journal.rows) > MOST_UNWRITTEN:
            raise StoreLost(f"{journal.store.name} has not taken {len(journal.rows):,} entries")

    def show(
        self, target: Loop, learner: Learner, names: tuple[str, ...], user: str | None, pins: Pins, deferred: bool
    ) -> tuple[Shown, Impression]:
        """The list to show, from a learner whose lock is held, and the impression that begins with it."""
        journal, positions = self._journal, target.settings.positions
        bucket = target.bucket(user, journal.header.secret)
        arm = target.arm(bucket)
        if len(names) < 2:  # there is nothing to decide, nor to learn: the page stands as it is
            pins = tuple(enumerate(page_of(names, range(len(names)), pins, positions)))
            names, arm = (), Arm.OFF
        elif learner.names is not names or target.items is not None or not learner.version:
            self._list(target, learner, names)
        chooses = arm == Arm.POLICY or arm == Arm.SHADOW
        items, notes = self._choose(learner) if chooses else (tuple(range(min(positions, len(names)))), ())
        body = pack_choice(Choice(arm, bucket, learner.version, items, notes, deferred, pins))
        now = journal.now()
        with journal.lock:
            seq = journal.add_held(now, Kind.CHOICE, learner.number, None, body)
            begun = self._impressions.open_held(seq, now, learner.number, target, body, shown=not deferred)
            target.counts["holdout"] += arm == Arm.HOLDOUT
            if chooses:
                learner.applied = seq
        page = page_of(names, range(min(positions, len(names))) if arm == Arm.SHADOW else items, pins, positions)
        begun.id = id_ = self._signer.write(Ticket(seq, now, learner.number, body))
        return Shown(id_, page, target.name, learner.key, Arm.NAMES[arm]), begun

    def _list(self, target: Loop, learner: Learner, names: tuple[str, ...]) -> None:
        """Let a learner take production's list of today, if it is another one."""
        rows: tuple[int, ...] = ()
        if target.items is not None:
            rows = tuple(target.items.row[name] for name in names)
        if learner.version and learner.names == names and learner.rows == rows:
            return
        try:
            learner.relist(learner.version, names, rows)
        except BaseException:
            self._learners.discard(learner)
            raise
        body = pack_json({"names": names, "rows": rows}) if rows else pack_names(names)
        learner.version = version = self._journal.add_to(learner, Kind.LIST, body)
        self._learners.remember(version, names)
        self._learners.recount(learner)

    def _choose(self, learner: Learner) -> tuple[tuple[int, ...], tuple[float, ...]]:
        try:
            if self._loops.sessions and learner.session != self._loops.sessions[-1][0]:
                learner.reseed(*self._loops.sessions[-1])
            return learner.choose()
        except BaseException:
            self._learners.discard(learner)
            raise

    def fall_back(self, target: Loop, key: str, names: tuple[str, ...], pins: Pins, error: Exception) -> Shown:
        """Production's list, since something has failed."""
        logger.error("loop %s answers with production's list: %s", target.name, error, exc_info=error)
        count(self._journal, target, "fallbacks")
        page = page_of(names, range(len(names)), pins, target.settings.positions)
        return Shown("", page, target.name, key, "fallback", reason=str(error))

    def duel(self, target: Loop, key: str, user: str | None) -> LiveDuel:
        """The two rankers to run for the next user."""
        journal = self._journal
        if journal.ended is not None:
            raise journal.ended
        self._impressions.close_due(CLOSED_AT_ONCE, waiting=False)
        bucket = target.bucket(user, journal.header.secret)
        rankers = target.settings.rankers
        with self._learners.hold(target, key) as learner:
            self._list(target, learner, rankers)
            arm = target.arm(bucket)
            chooses = arm in (Arm.POLICY, Arm.SHADOW)
            pair, notes = self._choose(learner) if chooses else ((0, 0), ())
            body = pack_choice(Choice(arm, bucket, learner.version, pair, notes, deferred=True))
            now = journal.now()
            with journal.lock:
                seq = journal.add_held(now, Kind.CHOICE, learner.number, None, body)
                begun = self._impressions.open_held(seq, now, learner.number, target, body, shown=False)
                if chooses:
                    learner.applied = seq
            version = learner.version
        journal.commit(version)
        begun.id = id_ = self._signer.write(Ticket(seq, now, learner.number, body))
        return LiveDuel(id_, (rankers[pair[0]], rankers[pair[1]]), target.name)

    def interleave(
        self,
        duel: str,
        impression: Impression,
        lists: Mapping[str, Sequence[str]],
        positions: int | None,
        following: Callable[[], Shown],
    ) -> Shown:
        """The next page of a duel; `following` gives the one after it."""
        loop, before = impression.loop, impression.page
        length = loop.settings.positions if positions is None else check_whole("positions", positions, 1)
        pair = self._lists_of_rankers(impression, lists, length)
        if before is None:
            page = loop.interleaver.interleave(pair, length=length, seed=secrets.randbits(53))
        else:
            page = loop.interleaver.extend(before, pair, length=length)
        content = {"lists": pair, "length": length, "items": page.items, "notes": page.notes, "seed": page.seed}
        body, now = pack_json(content), self._journal.now()
        with self._journal.lock:
            if impression.closed or impression.away or impression.page is not before:
                raise ValueError("the duel's window has passed, or it is being shown elsewhere: ask for a new one")
            seq = self._journal.add_held(now, Kind.PAGE, impression.learner, impression.seq, body)
            impression.page = page
            if not impression.shown:
                impression.begin(now)
                loop.queue.push(impression.deadline, impression.seq)
        try:
            self._journal.commit(seq)
        except BaseException:
            with self._journal.lock:  # nobody will see this page: who asks again gets one in its place
                if impression.page is page:
                    impression.page = before
            raise
        return Shown(
            duel, list(map(str, page.items[0 if before is None else len(before) :])), loop.name, "", "policy",
            following=following,
        )  # fmt: skip

    def _lists_of_rankers(
        self, impression: Impression, lists: Mapping[str, Sequence[str]], length: int
    ) -> list[tuple[str, ...]]:
        """The lists of a duel's two rankers, as far as this page can need them."""
        choice = unpack_choice(impression.body)
        names = self._learners.names_of(choice.version, impression.learner)
        rankers = [names[ranker] for ranker in choice.items]
        if not isinstance(lists, Mapping) or set(lists) != set(rankers):
            given = sorted(map(str, lists)) if isinstance(lists, Mapping) else lists
            raise ValueError(f"give the lists of the rankers {rankers[0]!r} and {rankers[1]!r}, not {shorten(given)}")
        pair = [check_names(f"the list of {ranker}", lists[ranker]) for ranker in rankers]
        if impression.loop.settings.interleaver == "probabilistic":
            return pair
        enough = length + (0 if impression.page is None else len(impression.page)) + len(pair)
        return [names[:enough] for names in pair]
