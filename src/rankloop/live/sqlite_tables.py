"""The tables of a journal in SQLite, and what is asked of them."""

from __future__ import annotations

from rankloop.live.entries import CLICK, WITH_NEWS, Fate, Kind

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
CREATE TABLE journal (
    seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind INTEGER NOT NULL, learner INTEGER NOT NULL,
    impression INTEGER, body BLOB NOT NULL
);
CREATE INDEX journal_by_impression ON journal (impression, seq) WHERE impression IS NOT NULL;
CREATE INDEX journal_of_store ON journal (seq) WHERE learner = 0;
CREATE TABLE learners (number INTEGER PRIMARY KEY, loop INTEGER NOT NULL, key TEXT NOT NULL, UNIQUE (loop, key));
CREATE TABLE snapshots (learner INTEGER PRIMARY KEY, seq INTEGER NOT NULL, state BLOB NOT NULL);
CREATE TABLE bases (learner INTEGER PRIMARY KEY, seq INTEGER NOT NULL, state BLOB NOT NULL);
CREATE TABLE totals (loop INTEGER PRIMARY KEY, counts BLOB NOT NULL);
"""
KEYS = "CREATE TABLE keys (name TEXT PRIMARY KEY, record BLOB NOT NULL);"

TALLY = f"""
SELECT learner, coalesce((SELECT loop FROM learners WHERE number = learner), 0), at / 60000,
       count(*), min(seq), max(seq), min(at), max(at),
       sum(kind IN ({Kind.CHOICE:d}, {Kind.RECOVERED:d})),
       sum(kind = {Kind.EVENT:d} AND substr(body, 1, 1) = x'{CLICK:02x}'),
       sum(kind = {Kind.CLOSE:d} AND substr(body, 1, 1) = x'{Fate.LEARNED:02x}')
FROM (SELECT * FROM journal WHERE seq > ? AND seq <= ? ORDER BY seq DESC LIMIT ?) GROUP BY learner, at / 60000
"""
NOTABLE = f"""
SELECT seq, at, kind, learner, impression, body FROM journal
WHERE seq > ? AND seq <= ? AND (kind IN ({Kind.OPENED:d}, {Kind.LOOP:d}, {Kind.REVERT:d})
      OR kind = {Kind.CLOSE:d} AND substr(body, 2, 1) >= x'{WITH_NEWS:02x}')
ORDER BY seq DESC LIMIT ?
"""

MIGRATIONS: dict[int, str] = {1: KEYS}
"""What turns a file of one version into one of the next."""
