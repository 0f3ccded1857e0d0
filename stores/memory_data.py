"""What the memory store keeps."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct, field

from .base import Facts, Head, Post, SessionUnknown, Warn
from .encoding import Damage, StoredRow, decode_facts
from .loads import damage_of
from .rules import Place

T = TypeVar("T")


class Session(Struct):
    """Where a session stands, and its rows, oldest first."""

    place: Place
    rows: list[StoredRow]
    facts: bytes
    blobs: set[str] = field(default_factory=set[str])
    posts: dict[str, Post] = field(default_factory=dict[str, Post])


class Data(Struct):
    """What outlives a store object. Sessions are in order of creation."""

    sessions: dict[str, Session] = field(default_factory=dict[str, Session])
    parents: set[str] = field(default_factory=set[str])  # what their sessions name as such
    owners: dict[str, int] = field(default_factory=dict[str, int])
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])
    waiting: dict[tuple[str, str], Post] = field(
        default_factory=dict[tuple[str, str], Post]
    )  # posts nobody has taken, the oldest first, by session and what they are about
    warnings: dict[str, Warn] = field(default_factory=dict[str, Warn])  # the oldest first

    def session(self, session_id: str, store: str) -> Session:
        """Return a session.

        Raises:
            SessionUnknown: there is none of this id; says so of a store of this name.
        """
        try:
            return self.sessions[session_id]
        except KeyError:
            raise SessionUnknown(f"no session {session_id} in {store}") from None


def readable(decode: Callable[[bytes], T], facts: bytes) -> T | None:
    """Return the facts, or None where they are damaged."""
    try:
        return decode(facts)
    except Damage:
        return None


def head_of(session_id: str, session: Session, leases: dict[str, int]) -> Head:
    """Return what is known of a session without its rows."""
    place = session.place
    facts = readable(decode_facts, session.facts)
    damaged = place.damaged or damage_of(session.rows[-1] if session.rows else None)
    if facts is None:
        damaged = damaged or "the facts cannot be read"
    return Head(
        session_id=session_id,
        status=place.status,
        seq=place.seq,
        counter=place.counter,
        oldest_counter=place.oldest_counter,
        epoch=place.epoch,
        owner=place.owner,
        lease_until_ms=leases.get(place.owner, 0) if place.owner is not None else None,
        facts=facts or Facts(agent=""),
        damaged=damaged,
    )
