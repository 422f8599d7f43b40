"""The tables of a journal in PostgreSQL, and what is said to them."""

from __future__ import annotations

VERSION = 3
"""Of the tables."""

SCHEMA = """
CREATE TABLE rankloop.meta (version integer NOT NULL, store bytea NOT NULL, secret bytea NOT NULL);
CREATE TABLE rankloop.partitions (
    partition integer PRIMARY KEY, owner text NOT NULL, epoch bigint NOT NULL, expires timestamptz NOT NULL,
    clean boolean NOT NULL, checkpoint bigint NOT NULL, cursor bigint NOT NULL, trimmed bigint NOT NULL
);
CREATE TABLE rankloop.journal (
    partition integer NOT NULL, seq bigint NOT NULL, at bigint NOT NULL, kind smallint NOT NULL,
    learner bigint NOT NULL, impression bigint, body bytea NOT NULL, PRIMARY KEY (partition, seq)
);
CREATE INDEX journal_by_impression ON rankloop.journal (partition, impression, seq) WHERE impression IS NOT NULL;
CREATE INDEX journal_of_store ON rankloop.journal (partition, seq) WHERE learner = 0;
CREATE TABLE rankloop.learners (
    partition integer NOT NULL, number bigint NOT NULL, loop bigint NOT NULL, key bytea NOT NULL,
    PRIMARY KEY (partition, number)
);
CREATE UNIQUE INDEX learners_by_key ON rankloop.learners (partition, loop, sha256(key));
CREATE TABLE rankloop.snapshots (
    partition integer NOT NULL, learner bigint NOT NULL, seq bigint NOT NULL, state bytea NOT NULL,
    PRIMARY KEY (partition, learner)
);
CREATE TABLE rankloop.bases (
    partition integer NOT NULL, learner bigint NOT NULL, seq bigint NOT NULL, state bytea NOT NULL,
    PRIMARY KEY (partition, learner)
);
CREATE TABLE rankloop.totals (
    partition integer NOT NULL, loop bigint NOT NULL, counts bytea NOT NULL, PRIMARY KEY (partition, loop)
);
"""
# Keys are UTF-8 in bytea, so that any database holds any of them, whatever its encoding; and their index holds digests,
# because an entry of an index has at most 2,704 bytes.

KEYS = "CREATE TABLE rankloop.keys (name text PRIMARY KEY, record bytea NOT NULL);"

SHARED = """
ALTER TABLE rankloop.partitions ADD worker text NOT NULL DEFAULT '';
ALTER TABLE rankloop.meta ADD changes bigint NOT NULL DEFAULT 0;
CREATE TABLE rankloop.changes (version bigint PRIMARY KEY, body bytea NOT NULL);
CREATE TABLE rankloop.workers (
    worker text PRIMARY KEY, name text NOT NULL, address text NOT NULL, seen timestamptz NOT NULL
);
"""
"""What several workers share: who they are, and what they have been told of loops, which every partition takes over."""

MIGRATIONS: dict[int, str] = {1: KEYS, 2: SHARED}
"""What turns the tables of one version into those of the next."""

MAKING = 0x524C6F70
"""Advisory lock of whoever makes the tables."""

SESSION = """
SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
                                        THEN 'on' ELSE current_setting('synchronous_commit') END, false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('default_transaction_read_only', %(read_only)s, false),
       set_config('lock_timeout', %(patience)s, false),
       set_config('idle_in_transaction_session_timeout', '30s', false)
"""
FREE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name = %s AND datname = current_database() AND state <> 'idle'
      AND wait_event = 'ClientRead' AND pid <> pg_backend_pid()
"""
"""End the sessions of an owner that has gone away, or was paused, in the middle of a transaction."""
CLAIM = """
UPDATE rankloop.partitions SET owner = %(owner)s, epoch = epoch + 1, expires = now() + make_interval(secs => %(lease)s)
WHERE partition = %(partition)s AND (expires < now() OR owner = %(owner)s) RETURNING epoch
"""
CLAIM_FOR_WORKER = CLAIM.replace("epoch = epoch + 1", "epoch = epoch + 1, worker = %(worker)s")
"""For stores that several workers share. Tables of an older version get the column only after they were claimed."""
RECLAIM = """
UPDATE rankloop.partitions SET epoch = epoch + 1, expires = now() + make_interval(secs => %(lease)s)
WHERE partition = %(partition)s AND owner = %(owner)s RETURNING epoch
"""
HOLDER = """
SELECT owner, epoch, expires::text, extract(epoch FROM expires - clock_timestamp())::float8
FROM rankloop.partitions WHERE partition = %s
"""
FENCE = """
UPDATE rankloop.partitions
SET expires = now() + make_interval(secs => %(lease)s), clean = coalesce(%(clean)s, clean),
    checkpoint = coalesce(%(checkpoint)s, checkpoint), cursor = coalesce(%(cursor)s, cursor),
    trimmed = greatest(trimmed, %(trimmed)s)
WHERE partition = %(partition)s AND owner = %(owner)s AND epoch = %(epoch)s
"""
PUT_KEY = "INSERT INTO rankloop.keys VALUES (%s, %b) ON CONFLICT (name) DO UPDATE SET record = excluded.record"
MAKE_PARTITIONS = """
INSERT INTO rankloop.partitions SELECT number, '', 0, 'epoch', true, 0, 0, 0 FROM generate_series(0, %s) AS number
"""
RELEASE = "UPDATE rankloop.partitions SET expires = 'epoch' WHERE partition = %s AND owner = %s AND epoch = %s"
HEADER = """
SELECT meta.store, meta.secret,
       greatest(mine.trimmed, (SELECT max(seq) FROM rankloop.journal WHERE partition = mine.partition)),
       coalesce((SELECT max(number) FROM rankloop.learners WHERE partition = mine.partition), 0),
       mine.clean, mine.checkpoint, mine.cursor, mine.trimmed
FROM rankloop.meta, rankloop.partitions AS mine WHERE mine.partition = %s
"""
