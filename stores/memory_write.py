"""Writes to the memory store; refused by the same rules as those to a file."""

from typing import Any, assert_never

from msgspec import Struct

from ..supervisor.errors import UkemiError
from .base import (
    WARNINGS_MAX,
    Append,
    BadRecord,
    Claim,
    Create,
    Done,
    Forget,
    Leave,
    Pack,
    Post,
    Renew,
    Rewrite,
    Row,
    SessionExists,
    Warn,
    Warned,
    Write,
    Written,
)
from .encoding import encode_facts, stored, unknown_facts
from .loads import damage_of
from .memory_data import Data, Session, readable
from .rules import (
    Place,
    refuse_append,
    refuse_claim,
    refuse_create,
    refuse_forget,
    refuse_pack,
    refuse_post,
    refuse_rewrite,
    refuse_taking,
)


class Writer(Struct, frozen=True):
    """Writes to the data of one store, in records of one version."""

    data: Data
    name: str
    version: int

    def write(self, write: Write) -> Written:
        """Do one write; one that is refused changes nothing, and its refusal is returned."""
        try:
            return self._apply(write)
        except UkemiError as error:
            return error
        except (UnicodeEncodeError, OverflowError, TypeError) as error:
            return BadRecord(f"cannot be stored: {type(error).__name__}")

    def _apply(self, write: Write) -> Done:
        match write:
            case Create():
                return self._create(write)
            case Renew(owner=owner, lease_until_ms=until):
                self.data.owners[owner] = until
                return Done()
            case Leave(owner=owner):
                self.data.owners.pop(owner, None)
                return Done()
            case Warn():
                return self._warn(write)
            case Warned(name=name):
                self.data.warnings.pop(name, None)
                return Done()
            case Append() | Post() | Claim() | Pack() | Rewrite() | Forget():
                session = self.data.session(write.session_id, self.name)
                return self._change(session, write)
            case _:
                assert_never(write)

    def _warn(self, write: Warn) -> Done:
        for text in (write.name, write.owner, write.session_id, write.text):
            text.encode()  # as a file would refuse it
        kept = self.data.warnings
        kept.setdefault(write.name, write)
        while len(kept) > WARNINGS_MAX:
            del kept[next(iter(kept))]
        return Done()

    def _create(self, write: Create) -> Done:
        _raise(refuse_create(write))
        if write.session_id in self.data.sessions:
            raise SessionExists(f"session {write.session_id} exists already")
        row = stored(Row(1, 0, self.version, write.body))
        place = Place(epoch=1, seq=1, counter=0, status="running", owner=write.owner)
        session = Session(place, [row], encode_facts(write.facts))
        self.data.sessions[write.session_id] = session
        if write.facts.parent is not None:
            self.data.parents.add(write.facts.parent)
        return Done(1, 1)

    def _change(
        self, session: Session, write: Append | Post | Claim | Pack | Rewrite | Forget
    ) -> Done:
        place = session.place
        if place.damaged is None:
            place.damaged = damage_of(session.rows[-1])
        match write:
            case Append():
                _raise(refuse_append(place, write))
                self._take(write)
                self._append(session, write)
            case Post():
                earlier = session.posts.get(write.about)
                _raise(refuse_post(place, write, earlier))
                self._post(session, write, earlier)
            case Claim(owner=owner):
                lease = self.data.owners.get(place.owner or "")
                _raise(refuse_claim(place, write, lease))
                place.epoch, place.owner, place.status = place.epoch + 1, owner, "running"
                return Done(place.epoch, place.seq, write.session_id in self.data.parents)
            case Pack():
                _raise(refuse_pack(place, write))
            case Rewrite():
                _raise(refuse_rewrite(place, write, self.version))
                self._rewrite(session, write)
            case Forget():
                _raise(refuse_forget(place, write))
                place.oldest_counter = write.oldest_counter
            case _:
                assert_never(write)
        return Done(place.epoch, place.seq)

    def _post(self, session: Session, write: Post, earlier: Post | None) -> None:
        for text in (write.about, write.by):
            text.encode()  # as a file would refuse it
        if earlier is None:
            session.posts[write.about] = self.data.waiting[write.session_id, write.about] = write

    def _take(self, write: Append) -> None:
        waiting = self.data.waiting
        named = {(write.session_id, about) for about in write.taken}
        _raise(refuse_taking(write, len(named & waiting.keys())) if named else None)
        for each in named:
            del waiting[each]

    def _append(self, session: Session, write: Append) -> None:
        place = session.place
        if write.facts is not None:
            session.facts = encode_facts(write.facts, _extra(session.facts))
        row = Row(write.seq, write.counter, self.version, write.body)
        session.rows.append(stored(row))
        for digest, body in write.blobs:
            self.data.blobs.setdefault(digest, body)
            session.blobs.add(digest)
        place.seq, place.counter, place.status = write.seq, write.counter, write.status
        if write.status != "running":
            place.owner = None

    def _rewrite(self, session: Session, write: Rewrite) -> None:
        session.rows = [stored(row) for row in write.rows]
        session.place.oldest_counter = write.oldest_counter
        freed = session.blobs - write.blobs
        session.blobs = {digest for digest in write.blobs if digest in self.data.blobs}
        for other in self.data.sessions.values():
            freed -= other.blobs
        for digest in freed:
            del self.data.blobs[digest]


def _raise(refusal: UkemiError | None) -> None:
    if refusal is not None:
        raise refusal


def _extra(facts: bytes) -> dict[str, Any] | None:
    return readable(unknown_facts, facts)
