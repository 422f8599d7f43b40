"""Access keys: who may do what. The store holds digests of keys, never keys."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, get_args

import msgspec

from rankloop.checks import check_known, parse_duration
from rankloop.live.names import check_name
from rankloop.service.messages import KeyInfo, Role

ROLES: tuple[Role, ...] = get_args(Role)
ALLOWS: dict[Role, frozenset[Role]] = {
    "events": frozenset({"events"}),
    "rank": frozenset({"rank", "events"}),
    "read": frozenset({"read"}),
    "admin": frozenset(ROLES),
}
"""What a key of each role may do."""

LOOK_AGAIN = 2.0
"""Seconds after which the store is asked for keys again: how long a key that another process revoked still works."""
LEAST_LENGTH = 16
"""Characters of a key that somebody else has chosen."""

_SECRET = re.compile(r"[!-~]+")
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?")


class Key(msgspec.Struct, frozen=True):
    """An access key as it is kept."""

    id: str
    role: Role
    digest: bytes
    loops: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    note: str = ""
    created: float = 0.0
    expires: float | None = None
    revoked: float | None = None

    @property
    def info(self) -> KeyInfo:
        """What may be shown of it."""
        return KeyInfo(
            self.id,
            self.role,
            list(self.loops),
            list(self.origins),
            self.note,
            self.created,
            self.expires,
            self.revoked,
        )

    def allows(self, role: Role) -> bool:
        """Whether it may do what a role may do."""
        return role in ALLOWS[self.role]

    def sees(self, loop: str) -> bool:
        """Whether it is for a loop."""
        return not self.loops or loop in self.loops


def digest_of(text: str) -> bytes:
    """What is kept of a key. Keys are long and random, so that nothing slower is needed."""
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=32, person=b"rankloop key").digest()


def new_key(
    role: str,
    *,
    loops: Iterable[str] = (),
    expires: str | None = None,
    origins: Iterable[str] = (),
    note: str = "",
    now: float | None = None,
) -> tuple[str, Key]:
    """A new key: the text, which is shown once, and what is kept of it.

    >>> text, key = new_key("rank", loops=["search"], expires="90d", now=0.0)
    >>> text.startswith(f"rl_{key.id}_"), key.expires, text.encode() in msgspec.json.encode(key)
    (True, 7776000.0, False)
    """
    check_known("role", role, ROLES)
    created = time.time() if now is None else now
    ends = None if expires is None else created + parse_duration("expires", expires)
    named = tuple(check_name("loop", loop) for loop in loops)
    places = tuple(origin.lower().rstrip("/") for origin in origins)
    for origin in places:
        if not _ORIGIN.fullmatch(origin):
            raise ValueError(f"origin must be a scheme and a host such as https://shop.example, not {origin!r}")
    if places and role != "events":
        raise ValueError(f"origins are for keys of role events, which browsers hold, not {role}")
    id_ = secrets.token_hex(6)
    text = f"rl_{id_}_{secrets.token_urlsafe(32)}"
    return text, Key(id_, role, digest_of(text), named, places, note, created, ends)  # type: ignore[arg-type]


class KeyStore(Protocol):
    """Where digests of keys are kept."""

    def keys(self) -> Mapping[str, bytes]:
        """What is kept of each access key, by the key's name."""

    def put_key(self, name: str, record: bytes) -> None:
        """Keep something of an access key, in place of what is there, and return once it is durable."""


class KeyRing:
    """The access keys of a store.

    Parameters
    ----------
    store
        Where they are kept.
    admin
        An admin key that is set from outside and not kept.
    clock
        Function that tells the time in seconds.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from rankloop.live.sqlite import SQLiteStore
    >>> store = SQLiteStore(pathlib.Path(tempfile.mkdtemp()) / "shop.db")
    >>> header = store.open()
    >>> ring = KeyRing(store)
    >>> text, key = ring.make("read")
    >>> ring.find(text).role, ring.find("rl_somebody_guesses")
    ('read', None)
    >>> ring.revoke(key.id).revoked is not None, ring.find(text)
    (True, None)
    >>> store.close()
    """

    def __init__(self, store: KeyStore, *, admin: str | None = None, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self._fixed: Key | None = None
        if admin is not None:
            if len(admin) < LEAST_LENGTH or not _SECRET.fullmatch(admin):
                raise ValueError(
                    f"RANKLOOP_ADMIN_KEY must have at least {LEAST_LENGTH} characters, and none but printable ASCII "
                    "without blanks: `openssl rand -hex 32` makes a good one"
                )
            self._fixed = Key("environment", "admin", digest_of(admin))
        self._by_digest: dict[bytes, Key] = {}
        self.origins: frozenset[str] = frozenset()
        """All origins from which some browser key may be used."""
        self._looking = threading.Lock()
        self.look()

    def look(self) -> None:
        """Read the keys from the store."""
        with self._looking:  # else a look that began before a key was revoked could make it valid again
            valid = [key for key in self.all() if key.revoked is None]
            by_digest = {key.digest: key for key in valid}
            if self._fixed is not None:
                by_digest[self._fixed.digest] = self._fixed
            self._by_digest = by_digest
            self.origins = frozenset(origin for key in valid for origin in key.origins)

    @property
    def fixed(self) -> bool:
        """Whether an admin key was set from outside."""
        return self._fixed is not None

    @property
    def has_admin(self) -> bool:
        """Whether somebody can administer the service."""
        return any(key.role == "admin" and not key.loops for key in self._by_digest.values())

    def find(self, text: str) -> Key | None:
        """The key with this text, if it is valid now.

        Digests are looked up, of which nobody can choose a part, and compared in constant time.
        """
        digest = digest_of(text)
        key = self._by_digest.get(digest)
        if key is None or not hmac.compare_digest(key.digest, digest):
            return None
        if key.expires is not None and self._clock() >= key.expires:
            return None
        return key

    def make(
        self,
        role: str,
        *,
        loops: Iterable[str] = (),
        expires: str | None = None,
        origins: Iterable[str] = (),
        note: str = "",
    ) -> tuple[str, Key]:
        """Make a key and keep its digest; its text is not kept."""
        text, key = new_key(role, loops=loops, expires=expires, origins=origins, note=note, now=self._clock())
        self._store.put_key(key.id, msgspec.json.encode(key))
        self.look()
        return text, key

    def all(self) -> list[Key]:
        """All keys that were ever made, the oldest first."""
        kept = [msgspec.json.decode(record, type=Key) for record in self._store.keys().values()]
        return sorted(kept, key=lambda key: (key.created, key.id))

    def revoke(self, id_: str) -> Key:
        """Make a key invalid, at once and for ever."""
        key = next((key for key in self.all() if key.id == id_), None)
        if key is None:
            raise KeyError(f"there is no access key {id_!r}: `rankloop live keys list` shows them")
        if key.revoked is None:
            key = msgspec.structs.replace(key, revoked=self._clock())
            self._store.put_key(key.id, msgspec.json.encode(key))
        self.look()
        return key
