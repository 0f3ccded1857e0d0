"""What a store may accept, decided from plain data. Pure.

Every store keeps a ``Place`` per session in its own form and asks here, so that all stores refuse
the same writes for the same reasons.
"""

from itertools import pairwise

from msgspec import Struct

from .base import (
    AlreadyDecided,
    Append,
    BadRecord,
    Claim,
    Conflict,
    Create,
    Fenced,
    Forget,
    Pack,
    Post,
    RecordTooNew,
    Rewrite,
    SessionDamaged,
    SessionOwned,
    StoreError,
)
from .records import SessionStatus

BODY_BYTES_MAX = 512 * 1024 * 1024
"""Largest row body a store takes."""

COUNTER_MAX = 2**53
"""Largest counter; every reader, of any language, holds it exactly."""


class Place(Struct, kw_only=True):
    """Where a session stands, as far as deciding about a write needs it."""

    epoch: int
    seq: int
    counter: int
    status: SessionStatus
    owner: str | None
    oldest_counter: int = 0
    damaged: str | None = None


def refuse_create(write: Create) -> StoreError | None:
    """Say why a session cannot be created from this, or None."""
    try:
        encodable = bool(write.session_id and write.owner)
        write.session_id.encode()
        write.owner.encode()
    except (UnicodeEncodeError, AttributeError):
        encodable = False
    if not encodable:
        return BadRecord("session id and owner must be non-empty text that encodes as UTF-8")
    return _refuse_body(write.session_id, write.body)


def refuse_append(place: Place, write: Append) -> StoreError | None:
    """Say why a row must not be added, or None."""
    session_id = write.session_id
    if place.damaged is not None:
        return damaged(session_id, place.damaged)
    if write.epoch != place.epoch:
        return _fenced(session_id, place, write.epoch)
    if place.status != "running":
        return Fenced(f"session {session_id} is {place.status}: claim it before writing to it")
    if write.seq != place.seq + 1:
        return Conflict(
            f"session {session_id}: row {write.seq} does not follow the stored row {place.seq}"
        )
    if not place.counter <= write.counter <= COUNTER_MAX:
        return BadRecord(
            f"session {session_id}: counter {write.counter} is below the stored {place.counter}"
            if write.counter < place.counter
            else f"session {session_id}: counter {write.counter} is above {COUNTER_MAX}"
        )
    body = write.body
    if type(body) is bytes and len(body) <= BODY_BYTES_MAX:
        return None
    return _refuse_body(session_id, body)


def refuse_post(place: Place, write: Post, earlier: Post | None) -> StoreError | None:
    """Say why a decision must not be posted, or None.

    ``earlier`` is what was posted about the same question before; the same again is accepted.
    """
    if place.damaged is not None:
        return damaged(write.session_id, place.damaged)
    if earlier is not None and earlier != write:
        return AlreadyDecided(
            f"session {write.session_id}: {write.about} was decided by {earlier.by or 'somebody'}",
            about=earlier.about,
            by=earlier.by,
            at_ms=earlier.at_ms,
            body=earlier.body,
        )
    if not write.about:
        return BadRecord(f"session {write.session_id}: a decision must say what it is about")
    return _refuse_body(write.session_id, write.body)


def refuse_taking(write: Append, waiting: int) -> StoreError | None:
    """Say why a row must not take its posts, or None; ``waiting`` of them are there to be taken."""
    if waiting == len(set(write.taken)) == len(write.taken):
        return None
    return Conflict(
        f"session {write.session_id}: of the decisions {', '.join(write.taken)} only {waiting}"
        " wait to be taken"
    )


def refuse_claim(place: Place, write: Claim, lease_until_ms: int | None) -> StoreError | None:
    """Say why a session must not be taken over, or None.

    ``lease_until_ms`` is the end of the present owner's lease, None where it has none.
    """
    if place.damaged is not None:
        return damaged(write.session_id, place.damaged)
    if place.owner is None or place.owner == write.owner or place.owner in write.dead:
        return None
    if lease_until_ms is None or lease_until_ms <= write.now_ms:
        return None
    left_s = (lease_until_ms - write.now_ms) / 1000
    return SessionOwned(
        f"session {write.session_id} is owned by {place.owner}, whose lease lasts another"
        f" {left_s:.1f} s"
    )


def refuse_pack(place: Place, write: Pack) -> StoreError | None:
    """Say why rows must not be packed, or None."""
    return None if place.damaged is None else damaged(write.session_id, place.damaged)


def refuse_forget(place: Place, write: Forget | Rewrite) -> StoreError | None:
    """Say why old checkpoints must not be given up, or None."""
    session_id = write.session_id
    if place.damaged is not None:
        return damaged(session_id, place.damaged)
    if write.epoch != place.epoch:
        return _fenced(session_id, place, write.epoch)
    if write.seq != place.seq:
        return Conflict(
            f"session {session_id}: rewritten from row {write.seq}, but row {place.seq} is stored"
        )
    if not place.oldest_counter <= write.oldest_counter <= place.counter:
        return BadRecord(
            f"session {session_id}: oldest counter {write.oldest_counter} is outside"
            f" {place.oldest_counter} to {place.counter}"
        )
    return None


def refuse_rewrite(place: Place, write: Rewrite, version: int) -> StoreError | None:
    """Say why a journal must not be replaced, or None. ``version`` is the newest known."""
    refusal = refuse_forget(place, write)
    if refusal is not None:
        return refusal
    session_id = write.session_id
    newest = max((row.version for row in write.rows), default=0)
    if newest > version:
        return RecordTooNew(f"session {session_id}: rewritten rows are of version {newest}")
    return _refuse_rows(place, write)


def _refuse_rows(place: Place, write: Rewrite) -> StoreError | None:
    rows = write.rows
    ascending = all(a.seq < b.seq and a.counter <= b.counter for a, b in pairwise(rows))
    if not rows or not ascending or rows[0].seq < 1 or rows[0].counter < 0:
        return BadRecord(f"session {write.session_id}: rewritten rows are not in order")
    if (rows[-1].seq, rows[-1].counter) != (place.seq, place.counter):
        return BadRecord(
            f"session {write.session_id}: rewritten rows end with row {rows[-1].seq}, counter"
            f" {rows[-1].counter}, not with the stored {place.seq}, {place.counter}"
        )
    bad = (_refuse_body(write.session_id, row.body) for row in rows)
    return next((refusal for refusal in bad if refusal is not None), None)


def _refuse_body(session_id: str, body: object) -> StoreError | None:
    if not isinstance(body, bytes):
        return BadRecord(f"session {session_id}: a row's body is bytes, not {type(body).__name__}")
    if len(body) > BODY_BYTES_MAX:
        return BadRecord(
            f"session {session_id}: a row of {len(body)} bytes is above {BODY_BYTES_MAX}"
        )
    return None


def _fenced(session_id: str, place: Place, epoch: int) -> Fenced:
    owner = place.owner or "nobody"
    return Fenced(
        f"session {session_id} was taken over: epoch {place.epoch} of {owner} is stored,"
        f" the write is of epoch {epoch}"
    )


def damaged(session_id: str, damage: str) -> SessionDamaged:
    """Return what any use of a damaged session is answered with."""
    return SessionDamaged(f"session {session_id} is damaged and left untouched: {damage}")
