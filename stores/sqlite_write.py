"""Writing a SQLite store: all pending writes in one transaction. Plain functions, no event loop.

What this process knows of its sessions is kept between transactions, so that an append reads
nothing. Inside each write transaction SQLite is asked whether another connection has written since;
if so, what is known is read again before it decides anything. A takeover by another process is
therefore always seen before a stale row could be written.
"""

import sqlite3
from collections.abc import Callable, Sequence
from typing import assert_never
from zlib import crc32

from msgspec import Struct, field

from ..supervisor.errors import UkemiError
from .base import (
    Append,
    BadRecord,
    Claim,
    Create,
    Done,
    Facts,
    Leave,
    Pack,
    Renew,
    Rewrite,
    SessionDamaged,
    SessionExists,
    SessionUnknown,
    Write,
    Written,
)
from .encoding import Damage, decode_facts, encode_facts, row_crc, stored, unknown_facts
from .rules import refuse_append, refuse_claim, refuse_create, refuse_pack, refuse_rewrite
from .sqlite_pack import pack, rewrite
from .sqlite_rows import (
    CHUNK_ROWS,
    SqlitePlace,
    chunks,
    examine,
    is_broken,
    marks,
    read_facts,
    read_lease,
    read_places,
)

DAY_MS = 86_400_000
LOG_COLUMNS, LIVE_COLUMNS = 9, 7

SIZES = [1 << bit for bit in range(CHUNK_ROWS.bit_length())]
INSERT_LOG = {
    size: "INSERT INTO log(id, prev, num, seq, counter, version, crc, facts, body) VALUES "
    + ",".join([f"({marks(LOG_COLUMNS)})"] * size)
    for size in SIZES
}
# On a table without secondary indexes, REPLACE overwrites the row in place.
REPLACE_LIVE = {
    size: "REPLACE INTO live(num, epoch, owner, seq, counter, last, facts_at) VALUES "
    + ",".join([f"({marks(LIVE_COLUMNS)})"] * size)
    for size in SIZES
}

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


class Known(Struct):
    """What a writer connection knows of the file. ``seen`` counts the changes by others."""

    places: dict[str, SqlitePlace] = field(default_factory=dict[str, SqlitePlace])
    owners: dict[str, int] = field(default_factory=dict[str, int])
    damaged: dict[str, str] = field(default_factory=dict[str, str])
    next_id: int = 0
    data_version: int = -1
    seen: int = 0

    def forget(self) -> None:
        """Trust nothing known; ``damaged`` was found by reading and stays."""
        self.places.clear()
        self.owners.clear()
        self.data_version = -1


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
    if isinstance(error, sqlite3.DatabaseError) and is_broken(error):
        return True
    return isinstance(error, CULPRIT_ERRORS)


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
            results = [batch.do_alone(write) for write in writes]
        else:
            batch.fetch(writes)
            results = [batch.do(write) for write in writes]
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
    if isinstance(error, sqlite3.DatabaseError) and is_broken(error):
        name = getattr(write, "session_id", "") or getattr(write, "owner", "")
        return SessionDamaged(f"session {name} is damaged and left untouched: {error}")
    return BadRecord(f"cannot be stored: {type(error).__name__}")


class Batch:
    """One transaction: rows to insert and places to store are gathered and written at its end."""

    def __init__(self, connection: sqlite3.Connection, known: Known, version: int) -> None:
        self.connection = connection
        self.known = known
        self.version = version
        self.log: list[tuple[object, ...]] = []
        self.dirty: dict[str, SqlitePlace] = {}
        self.touched: set[str] = set()

    # ------------------------------------------------------------ the frame

    def refresh(self) -> None:
        """Notice what other connections have written since the last transaction."""
        known, connection = self.known, self.connection
        data_version = connection.execute("PRAGMA data_version").fetchone()[0]
        if data_version != known.data_version:
            known.data_version = data_version
            known.seen += 1
            known.owners.clear()
            newest = connection.execute("SELECT max(id) FROM log").fetchone()[0]
            known.next_id = (newest or 0) + 1

    def fetch(self, writes: Sequence[Write]) -> None:
        """Read the places of all sessions that are not known, together."""
        places, seen = self.known.places, self.known.seen
        missing: dict[str, None] = {}
        for write in writes:
            if isinstance(write, Renew | Leave):
                continue
            place = places.get(write.session_id)
            if place is None or place.seen != seen:
                missing[write.session_id] = None
        if missing:
            self._read(list(missing))

    def _read(self, session_ids: Sequence[str]) -> None:
        known = self.known
        found = read_places(self.connection, session_ids)
        for session_id in session_ids:
            place = found.get(session_id)
            if place is None:
                known.places.pop(session_id, None)
                continue
            before = known.places.get(session_id)
            place.seen = known.seen
            if before is not None and (before.epoch, before.seq) == (place.epoch, place.seq):
                place.extra, place.damaged = before.extra, before.damaged
            else:
                self._examine(place)
            known.places[session_id] = place

    def _examine(self, place: SqlitePlace) -> None:
        """Look at the last row and the facts of a session that is new to this process."""
        place.damaged = examine(self.connection, place)
        try:
            place.extra = unknown_facts(read_facts(self.connection, place))
        except Damage:
            place.damaged = place.damaged or "the facts cannot be read"

    def do(self, write: Write) -> Written:
        try:
            return self._apply(write)
        except UkemiError as error:
            return error

    def do_alone(self, write: Write) -> Written:
        """Do a write in a savepoint; an error that is its own fault undoes it alone."""
        self.connection.execute("SAVEPOINT one")
        try:
            self.fetch([write])
            result = self.do(write)
            self.flush()
        except (*CULPRIT_ERRORS, sqlite3.DatabaseError) as error:
            if not _is_culprits(error):
                raise
            self.connection.execute("ROLLBACK TO one")
            self._drop()
            result = _blame(write, error)
        self.connection.execute("RELEASE one")
        return result

    def _drop(self) -> None:
        """Forget what the undone write had gathered."""
        self.known.places.clear()
        self.known.owners.clear()
        self.log.clear()
        self.dirty.clear()

    def flush(self) -> None:
        """Write what has been gathered."""
        self._flush_log()
        owned: list[tuple[int, ...]] = []
        for place in self.dirty.values():
            if place.status == "running":
                owned.append(
                    (
                        place.num,
                        place.epoch,
                        place.owner_num,
                        place.seq,
                        place.counter,
                        place.last,
                        place.facts_at,
                    )
                )
            else:
                self._store_head(place)
        for piece in chunks(owned):
            self.connection.execute(
                REPLACE_LIVE[len(piece)], [value for row in piece for value in row]
            )
        self.dirty.clear()

    def _flush_log(self) -> None:
        for piece in chunks(self.log):
            self.connection.execute(
                INSERT_LOG[len(piece)], [value for row in piece for value in row]
            )
        self.log.clear()

    def _store_head(self, place: SqlitePlace) -> None:
        """Store a session that is parked or over: out of ``live``, into ``head``."""
        if place.facts_at:
            self._move_facts(place)
        self.connection.execute("DELETE FROM live WHERE num = ?", (place.num,))
        self.connection.execute(
            "UPDATE head SET status = ?, epoch = ?, seq = ?, counter = ?, last = ? WHERE num = ?",
            (place.status, place.epoch, place.seq, place.counter, place.last, place.num),
        )

    def _move_facts(self, place: SqlitePlace) -> None:
        """Move the newest facts from the log into ``head``, with the columns lists are made by."""
        sealed = read_facts(self.connection, place)
        place.facts_at = 0
        try:
            facts = decode_facts(sealed)
        except Damage:
            # The bytes go as they are: the list shows the session as damaged.
            self.connection.execute("UPDATE head SET facts = ? WHERE num = ?", (sealed, place.num))
            return
        self.connection.execute(
            "UPDATE head SET facts = ?, agent = ?, parent = ?, due_at_ms = ? WHERE num = ?",
            (sealed, facts.agent, facts.parent, facts.due_at_ms, place.num),
        )

    def settle(self) -> None:
        """After COMMIT: keep only what is running in memory."""
        places = self.known.places
        for session_id in self.touched:
            place = places.get(session_id)
            if place is not None and place.status != "running":
                del places[session_id]

    # ------------------------------------------------------------ the writes

    def _apply(self, write: Write) -> Written:
        match write:
            case Append():
                return self._append(write)
            case Create():
                return self._create(write)
            case Claim():
                return self._claim(write)
            case Renew():
                return self._renew(write)
            case Leave():
                self.connection.execute(
                    "UPDATE owner SET lease_until_ms = 0 WHERE name = ?", (write.owner,)
                )
                return Done()
            case Pack() | Rewrite():
                return self._repack(write)
            case _:
                assert_never(write)

    def _place(self, session_id: str) -> SqlitePlace:
        place = self.known.places.get(session_id)
        if place is None:
            raise SessionUnknown(f"no session {session_id} in this store")
        self.touched.add(session_id)
        if self.known.damaged:
            place.damaged = self.known.damaged.get(session_id, place.damaged)
        return place

    def _append(self, write: Append) -> Written:
        place = self._place(write.session_id)
        refusal = refuse_append(place, write)
        if refusal is not None:
            return refusal
        facts = None if write.facts is None else encode_facts(write.facts, place.extra)
        self._add(place, write.seq, write.counter, facts, write.body)
        if write.blobs:
            self._store_blobs(place, write.blobs)
        place.status = write.status
        if write.status != "running":
            place.owner, place.owner_num = None, 0
        self.dirty[write.session_id] = place
        return Done(place.epoch, place.seq)

    def _add(
        self, place: SqlitePlace, seq: int, counter: int, facts: bytes | None, body: bytes
    ) -> None:
        """Gather one row of the log."""
        row_id = self.known.next_id
        self.known.next_id = row_id + 1
        version = self.version
        crc = row_crc(seq, counter, version, body)
        self.log.append((row_id, place.last, place.num, seq, counter, version, crc, facts, body))
        place.last, place.seq, place.counter = row_id, seq, counter
        if facts is not None:
            place.facts_at = row_id

    def _create(self, write: Create) -> Written:
        refusal = refuse_create(write)
        if refusal is not None:
            return refusal
        if write.session_id in self.known.places:
            return SessionExists(f"session {write.session_id} exists already")
        place = SqlitePlace(
            num=self._insert_head(write.session_id, write.facts),
            status="running",
            epoch=1,
            seq=0,
            counter=0,
            owner=write.owner,
            owner_num=self._owner(write.owner),
            last=0,
            seen=self.known.seen,
        )
        self._add(place, 1, 0, None, write.body)
        self.known.places[write.session_id] = self.dirty[write.session_id] = place
        return Done(1, 1)

    def _insert_head(self, session_id: str, facts: Facts) -> int:
        inserted = self.connection.execute(
            "INSERT INTO head(sid, status, epoch, seq, counter, oldest, last,"
            " agent, parent, due_at_ms, facts) VALUES (?, 'running', 1, 1, 0, 0, 0, ?, ?, ?, ?)",
            (session_id, facts.agent, facts.parent, facts.due_at_ms, encode_facts(facts)),
        )
        assert inserted.lastrowid is not None
        return inserted.lastrowid

    def _claim(self, write: Claim) -> Written:
        place = self._place(write.session_id)
        lease = read_lease(self.connection, place.owner_num) if place.owner_num else None
        if not self._pending(place):
            place.damaged = examine(self.connection, place)
        refusal = refuse_claim(place, write, lease)
        if refusal is not None:
            return refusal
        place.owner, place.owner_num = write.owner, self._owner(write.owner)
        place.epoch, place.status = place.epoch + 1, "running"
        self.dirty[write.session_id] = place
        return Done(place.epoch, place.seq)

    def _pending(self, place: SqlitePlace) -> bool:
        """Tell whether the newest row is still to be inserted by this transaction."""
        return bool(self.log) and place.last >= int(str(self.log[0][0]))

    def _owner(self, name: str) -> int:
        """Return an owner's number; an owner without a lease gets one that has ended."""
        owners = self.known.owners
        if name not in owners:
            self.connection.execute("INSERT OR IGNORE INTO owner VALUES (NULL, ?, 0)", (name,))
            found = self.connection.execute("SELECT id FROM owner WHERE name = ?", (name,))
            owners[name] = found.fetchone()[0]
        return owners[name]

    def _renew(self, write: Renew) -> Written:
        until = write.lease_until_ms
        if write.owner not in self.known.owners:
            # A new owner sweeps out those that went long ago and own nothing.
            self.connection.execute(
                "DELETE FROM owner WHERE lease_until_ms < ? AND id NOT IN (SELECT owner FROM live)"
                " AND name <> ?",
                (until - DAY_MS, write.owner),
            )
            self.known.owners.clear()
        self.connection.execute(
            "UPDATE owner SET lease_until_ms = ? WHERE id = ?", (until, self._owner(write.owner))
        )
        return Done()

    def _store_blobs(self, place: SqlitePlace, blobs: Sequence[tuple[str, bytes]]) -> None:
        for digest, body in blobs:
            self.connection.execute(
                "INSERT OR IGNORE INTO blob(digest, crc, body) VALUES (?, ?, ?)",
                (digest, crc32(body), body),
            )
            self.connection.execute(
                "INSERT OR IGNORE INTO blob_ref SELECT ?, id FROM blob WHERE digest = ?",
                (place.num, digest),
            )

    def _repack(self, write: Pack | Rewrite) -> Written:
        place = self._place(write.session_id)
        refusal = (
            refuse_pack(place, write)
            if isinstance(write, Pack)
            else refuse_rewrite(place, write, self.version)
        )
        if refusal is not None:
            return refusal
        # Both read the session's rows, so what is gathered goes in first.
        self.flush()
        if place.facts_at:
            self._move_facts(place)
        self.dirty[write.session_id] = place
        if isinstance(write, Pack):
            pack(self.connection, write.session_id, place)
        else:
            rewrite(self.connection, place, write, [stored(row) for row in write.rows])
        place.last = 0
        return Done(place.epoch, place.seq)
