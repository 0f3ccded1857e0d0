"""Writing a SQLite store: all pending writes in one transaction. Plain functions, no event loop."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import assert_never
from zlib import crc32

from ..supervisor.errors import UkemiError
from .base import (
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
    SessionDamaged,
    SessionExists,
    Warn,
    Warned,
    Write,
    Written,
)
from .encoding import encode_facts, stored
from .rules import (
    refuse_append,
    refuse_claim,
    refuse_create,
    refuse_forget,
    refuse_pack,
    refuse_rewrite,
)
from .sqlite_batch import Batch, Known
from .sqlite_heads import has_children
from .sqlite_inbox import post, take
from .sqlite_journal import examine
from .sqlite_pack import pack, rewrite
from .sqlite_places import SqlitePlace, is_broken, read_lease
from .sqlite_warnings import warn, warned

DAY_MS = 86_400_000

# What one write alone can be at fault for: values SQLite cannot take. A full disk or a lock is not.
CULPRIT_ERRORS = (
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    sqlite3.DataError,
    sqlite3.IntegrityError,
    UnicodeEncodeError,
    OverflowError,
    TypeError,
    ValueError,
)


def commit(
    connection: sqlite3.Connection,
    known: Known,
    writes: Sequence[Write],
    version: int,
    begin: Callable[[sqlite3.Connection], None],
) -> list[Written]:
    """Do all writes in one transaction; one that cannot be stored fails alone.

    Raises:
        sqlite3.Error: nothing was stored.
    """
    try:
        return _transaction(connection, known, version, begin, writes, careful=False)
    except (*CULPRIT_ERRORS, sqlite3.DatabaseError) as error:
        if not _is_culprits(error):
            raise
        # Rare: again from the start, each write in a savepoint of its own.
        return _transaction(connection, known, version, begin, writes, careful=True)


def _is_culprits(error: Exception) -> bool:
    """Tell whether a single write can be at fault: a bad value, or a damaged page it needs."""
    return is_broken(error) or isinstance(error, CULPRIT_ERRORS)


def _transaction(
    connection: sqlite3.Connection,
    known: Known,
    version: int,
    begin: Callable[[sqlite3.Connection], None],
    writes: Sequence[Write],
    *,
    careful: bool,
) -> list[Written]:
    begin(connection)
    batch = Batch(connection, known, version)
    done = False
    try:
        batch.refresh()
        if careful:
            results = [_do_alone(batch, write) for write in writes]
        else:
            batch.fetch(_sessions(writes))
            results = [_do(batch, write) for write in writes]
            batch.flush()
        connection.execute("COMMIT")
        done = True
    finally:
        if not done:
            known.forget()
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    batch.settle()
    return results


def _blame(write: Write, error: Exception) -> UkemiError:
    if is_broken(error):
        name = getattr(write, "session_id", "") or getattr(write, "owner", "")
        return SessionDamaged(f"session {name} is damaged and left untouched: {error}")
    return BadRecord(f"cannot be stored: {type(error).__name__}")


def _sessions(writes: Sequence[Write]) -> list[str]:
    # Nearly all are rows, and by far the cheapest question is asked of them.
    return [
        write.session_id
        for write in writes
        if type(write) is Append or not isinstance(write, (Renew, Leave, Warn, Warned))
    ]


def _do(batch: Batch, write: Write) -> Written:
    try:
        return _append(batch, write) if type(write) is Append else _apply(batch, write)
    except UkemiError as error:
        return error


def _do_alone(batch: Batch, write: Write) -> Written:
    """Do a write in a savepoint; an error that is its own fault undoes it alone."""
    batch.connection.execute("SAVEPOINT one")
    try:
        batch.fetch(_sessions([write]))
        result = _do(batch, write)
        batch.flush()
    except (*CULPRIT_ERRORS, sqlite3.DatabaseError) as error:
        if not _is_culprits(error):
            raise
        batch.connection.execute("ROLLBACK TO one")
        batch.drop()
        result = _blame(write, error)
    batch.connection.execute("RELEASE one")
    return result


# ---------------------------------------------------------------- the writes


def _apply(batch: Batch, write: Write) -> Written:
    match write:
        case Append():
            return _append(batch, write)
        case Create():
            return _create(batch, write)
        case Post():
            return post(batch, write)
        case Claim():
            return _claim(batch, write)
        case Renew():
            return _renew(batch, write)
        case Leave():
            batch.connection.execute(
                "UPDATE owner SET lease_until_ms = 0 WHERE name = ?", (write.owner,)
            )
            return Done()
        case Warn():
            warn(batch.connection, write)
            return Done()
        case Warned():
            warned(batch.connection, write)
            return Done()
        case Pack() | Rewrite():
            return _repack(batch, write)
        case Forget():
            return _forget(batch, write)
        case _:
            assert_never(write)


def _append(batch: Batch, write: Append) -> Written:
    place = batch.place(write.session_id)
    refusal: Written | None = refuse_append(place, write)
    if refusal is None and write.taken:
        refusal = take(batch, place, write)
    if refusal is not None:
        return refusal
    facts = None
    if write.facts is not None:
        facts = encode_facts(write.facts, place.extra), write.facts
    batch.add(write.session_id, place, write.seq, write.counter, facts, write.body)
    if write.blobs:
        _store_blobs(batch, place, write.blobs)
    if write.status != "running":
        place.status, place.owner, place.owner_num = write.status, None, 0
    return Done(place.epoch, place.seq)


def _create(batch: Batch, write: Create) -> Written:
    refusal = refuse_create(write)
    if refusal is not None:
        return refusal
    if write.session_id in batch.known.places:
        return SessionExists(f"session {write.session_id} exists already")
    place = SqlitePlace(
        num=batch.create(write.session_id, write.facts),
        status="running",
        epoch=1,
        seq=0,
        counter=0,
        owner=write.owner,
        owner_num=_owner(batch, write.owner),
        last=0,
        seen=batch.known.seen,
    )
    batch.add(write.session_id, place, 1, 0, None, write.body)
    batch.known.places[write.session_id] = place
    return Done(1, 1)


def _claim(batch: Batch, write: Claim) -> Written:
    place = batch.place(write.session_id)
    lease = read_lease(batch.connection, place.owner_num) if place.owner_num else None
    if not batch.is_gathered(place) and write.session_id not in batch.examined:
        place.damaged = examine(batch.connection, place)
    refusal = refuse_claim(place, write, lease)
    if refusal is not None:
        return refusal
    place.owner, place.owner_num = write.owner, _owner(batch, write.owner)
    place.epoch, place.status = place.epoch + 1, "running"
    batch.insert_heads()
    batch.dirty[write.session_id] = place
    return Done(place.epoch, place.seq, has_children(batch.connection, write.session_id))


def _owner(batch: Batch, name: str) -> int:
    """Return an owner's number; an owner without a lease gets one that has ended."""
    owners = batch.known.owners
    if name not in owners:
        batch.connection.execute("INSERT OR IGNORE INTO owner VALUES (NULL, ?, 0)", (name,))
        found = batch.connection.execute("SELECT id FROM owner WHERE name = ?", (name,))
        owners[name] = found.fetchone()[0]
    return owners[name]


def _renew(batch: Batch, write: Renew) -> Written:
    until = write.lease_until_ms
    if write.owner not in batch.known.owners:
        # A new owner sweeps out those that went long ago and own nothing.
        batch.connection.execute(
            "DELETE FROM owner WHERE lease_until_ms < ? AND id NOT IN (SELECT owner FROM live)"
            " AND name <> ?",
            (until - DAY_MS, write.owner),
        )
        batch.known.owners.clear()
    batch.connection.execute(
        "UPDATE owner SET lease_until_ms = ? WHERE id = ?", (until, _owner(batch, write.owner))
    )
    return Done()


def _store_blobs(batch: Batch, place: SqlitePlace, blobs: Sequence[tuple[str, bytes]]) -> None:
    for digest, body in blobs:
        batch.connection.execute(
            "INSERT OR IGNORE INTO blob(digest, crc, body) VALUES (?, ?, ?)",
            (digest, crc32(body), body),
        )
        batch.connection.execute(
            "INSERT OR IGNORE INTO blob_ref SELECT ?, id FROM blob WHERE digest = ?",
            (place.num, digest),
        )


def _forget(batch: Batch, write: Forget) -> Written:
    place = batch.place(write.session_id)
    refusal = refuse_forget(place, write)
    if refusal is not None:
        return refusal
    batch.insert_heads()
    batch.connection.execute(
        "UPDATE head SET oldest = ? WHERE num = ?", (write.oldest_counter, place.num)
    )
    place.oldest_counter = write.oldest_counter
    return Done(place.epoch, place.seq)


def _repack(batch: Batch, write: Pack | Rewrite) -> Written:
    place = batch.place(write.session_id)
    refusal = (
        refuse_pack(place, write)
        if isinstance(write, Pack)
        else refuse_rewrite(place, write, batch.version)
    )
    if refusal is not None:
        return refusal
    # Both read the session's rows, so what is gathered goes in first.
    batch.flush()
    if place.facts_at:
        batch.move_facts(place)
    batch.dirty[write.session_id] = place
    if isinstance(write, Pack):
        pack(batch.connection, write.session_id, place)
    else:
        rewrite(batch.connection, place, write, [stored(row) for row in write.rows])
    place.last = 0
    return Done(place.epoch, place.seq)
