"""What one transaction on a SQLite store gathers, and what the writer knows between transactions.

What this process knows of its sessions is kept, so that an append reads nothing. Inside each write
transaction SQLite is asked whether another connection has written since; if so, what is known is
read again before it decides anything. A takeover by another process is therefore always seen
before a stale row could be written.
"""

import sqlite3
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from .base import Facts, SessionUnknown
from .encoding import Damage, decode_facts, encode_facts, row_crc, unknown_facts
from .lists import asking
from .shares import shares
from .sqlite_journal import examine
from .sqlite_places import CHUNK_ROWS, SqlitePlace, chunks, marks, read_facts, read_places
from .sqlite_tally import Tally, readable_facts

LOG_COLUMNS, LIVE_COLUMNS, HEAD_COLUMNS = 9, 7, 6

_SIZES = [1 << bit for bit in range(CHUNK_ROWS.bit_length())]
# Built once; many rows a statement hold the interpreter lock far shorter than executemany. OR FAIL: should one
# not go in, the whole transaction is rolled back here, so SQLite need keep no copies of pages to undo a statement.
_INSERT_LOG = {
    size: "INSERT OR FAIL INTO log(id, prev, num, seq, counter, version, crc, facts, body) VALUES "
    + ",".join([f"({marks(LOG_COLUMNS)})"] * size)
    for size in _SIZES
}
_INSERT_HEAD = {
    size: "INSERT OR FAIL INTO head(num, sid, status, epoch, seq, counter, oldest, last,"
    " agent, parent, due_at_ms, facts) VALUES "
    + ",".join(["(?, ?, 'running', 1, 1, 0, 0, 0, ?, ?, ?, ?)"] * size)
    for size in _SIZES
}
# On a table without secondary indexes, REPLACE overwrites the row in place.
_REPLACE_LIVE = {
    size: "REPLACE INTO live(num, epoch, owner, seq, counter, last, facts_at) VALUES "
    + ",".join([f"({marks(LIVE_COLUMNS)})"] * size)
    for size in _SIZES
}

_PLACE = "UPDATE head SET status = ?, epoch = ?, seq = ?, counter = ?, last = ?"
_FACTS = "facts = ?, agent = ?, parent = ?, due_at_ms = ?, asking = ?, left_open = ?"


class Known(Struct):
    """What a writer connection knows of the file. ``seen`` counts the changes by others.

    ``damaged``: what loading or listing found; kept until the store is opened again.
    """

    places: dict[str, SqlitePlace] = field(default_factory=dict[str, SqlitePlace])
    owners: dict[str, int] = field(default_factory=dict[str, int])
    damaged: dict[str, str] = field(default_factory=dict[str, str])
    next_id: int = 0
    next_num: int = 0  # 0: to be asked for when a session is created
    data_version: int = -1
    seen: int = 0

    def forget(self) -> None:
        """Trust nothing known; ``damaged`` was found by reading and stays."""
        self.places.clear()
        self.owners.clear()
        self.data_version = -1


class Batch:
    """One transaction: rows to insert and places to store are gathered and written at its end."""

    def __init__(self, connection: sqlite3.Connection, known: Known, version: int) -> None:
        self.connection = connection
        self.known = known
        self.version = version
        self.dirty: dict[str, SqlitePlace] = {}
        self._log: list[object] = []  # the columns of all rows, one after another
        self._log_from = 0
        self._heads: list[object] = []  # of new sessions, likewise
        self._facts: dict[int, tuple[bytes, Facts]] = {}  # of these rows, sealed and as they are
        self._passing: set[str] = set()
        self.examined: set[str] = set()
        """Sessions whose last row was looked at in this transaction, before any write to them."""
        self.tally = Tally()

    # ------------------------------------------------------------ reading

    def refresh(self) -> None:
        """Notice what other connections have written since the last transaction."""
        known, connection = self.known, self.connection
        data_version = connection.execute("PRAGMA data_version").fetchone()[0]
        if data_version != known.data_version:
            known.data_version = data_version
            known.seen += 1
            known.owners.clear()
            known.next_num = 0
            newest = connection.execute("SELECT max(id) FROM log").fetchone()[0]
            known.next_id = (newest or 0) + 1

    def fetch(self, session_ids: Iterable[str]) -> None:
        """Read the places of those sessions that are not known, together."""
        places, seen = self.known.places, self.known.seen
        missing: dict[str, None] = {}
        for session_id in session_ids:
            place = places.get(session_id)
            if place is None or place.seen != seen:
                missing[session_id] = None
        if missing:
            self._read(list(missing))
        for session_id, damage in list(self.known.damaged.items()):
            if session_id in places:
                places[session_id].damaged = damage

    def _read(self, session_ids: Sequence[str]) -> None:
        known = self.known
        found = read_places(self.connection, session_ids)
        self._passing.update(session_ids)
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
                self.examined.add(session_id)
            known.places[session_id] = place

    def _examine(self, place: SqlitePlace) -> None:
        """Look at the last row and the facts of a session that is new to this process."""
        place.damaged = examine(self.connection, place)
        try:
            place.extra = unknown_facts(read_facts(self.connection, place))
        except Damage:
            place.damaged = place.damaged or "the facts cannot be read"

    def place(self, session_id: str) -> SqlitePlace:
        """Return where a fetched session stands.

        Raises:
            SessionUnknown: there is no such session.
        """
        place = self.known.places.get(session_id)
        if place is None:
            raise SessionUnknown(f"no session {session_id} in this store")
        return place

    def is_gathered(self, place: SqlitePlace) -> bool:
        """Tell whether the newest row is still to be inserted by this transaction."""
        return bool(self._log) and place.last >= self._log_from

    # ------------------------------------------------------------ gathering

    def add(
        self,
        session_id: str,
        place: SqlitePlace,
        seq: int,
        counter: int,
        facts: tuple[bytes, Facts] | None,
        body: bytes,
    ) -> None:
        """Gather one row of the log, and the place it leads to; facts are sealed, and as they are."""
        known, version = self.known, self.version
        row_id = known.next_id
        known.next_id = row_id + 1
        crc = row_crc(seq, counter, version, body)
        if not self._log:
            self._log_from = row_id
        sealed = None if facts is None else facts[0]
        self._log += (row_id, place.last, place.num, seq, counter, version, crc, sealed, body)
        place.last, place.seq, place.counter = row_id, seq, counter
        if facts is not None:
            place.facts_at = row_id
            self._facts[row_id] = facts
        self.dirty[session_id] = place

    def create(self, session_id: str, facts: Facts) -> int:
        """Gather the head of a new session, and return its number."""
        known = self.known
        if not known.next_num:
            newest = self.connection.execute("SELECT max(num) FROM head").fetchone()[0]
            known.next_num = (newest or 0) + 1
        num = known.next_num
        known.next_num = num + 1
        sealed = encode_facts(facts)
        self._heads += (num, session_id, facts.agent, facts.parent, facts.due_at_ms, sealed)
        self.tally.add(facts)
        return num

    def insert_heads(self) -> None:
        """Insert the heads that have been gathered: before anything that reads or changes ``head``."""
        for piece in chunks(self._heads, HEAD_COLUMNS):
            self.connection.execute(_INSERT_HEAD[len(piece) // HEAD_COLUMNS], piece)
        self._heads = []

    def flush(self) -> None:
        """Write what has been gathered."""
        execute = self.connection.execute
        self.insert_heads()
        for piece in chunks(self._log, LOG_COLUMNS):
            execute(_INSERT_LOG[len(piece) // LOG_COLUMNS], piece)
        self._log = []
        owned: list[int] = []
        over: list[SqlitePlace] = []
        for session_id, place in self.dirty.items():
            if place.status != "running":
                self._passing.add(session_id)
                over.append(place)
                continue
            owned += (
                place.num,
                place.epoch,
                place.owner_num,
                place.seq,
                place.counter,
                place.last,
                place.facts_at,
            )
        for live in chunks(owned, LIVE_COLUMNS):
            execute(_REPLACE_LIVE[len(live) // LIVE_COLUMNS], live)
        if over:
            self._store_heads(over)
        self.dirty.clear()
        self._facts.clear()
        self.tally.write(self.connection)

    def _store_heads(self, over: Sequence[SqlitePlace]) -> None:
        """Store sessions that are parked or over: out of ``live``, into ``head``."""
        plain: list[tuple[object, ...]] = []
        told: list[tuple[object, ...]] = []
        for place in over:
            where = (place.status, place.epoch, place.seq, place.counter, place.last)
            facts = self._facts.get(place.facts_at)
            if facts is not None:
                # They came with these rows, as those of nearly every end do: nothing is to be read.
                place.facts_at = 0
                self._count(place, facts[1])
                told.append((*where, *_columns(*facts), place.num))
                continue
            if place.facts_at:
                self.move_facts(place)
            plain.append((*where, place.num))
        many = self.connection.executemany
        many("DELETE FROM live WHERE num = ?", [(place.num,) for place in over])
        many(f"{_PLACE} WHERE num = ?", plain)
        many(f"{_PLACE}, {_FACTS} WHERE num = ?", told)

    def move_facts(self, place: SqlitePlace) -> None:
        """Move the newest facts from the log into ``head``, with the columns lists are made by."""
        sealed = read_facts(self.connection, place)
        place.facts_at = 0
        try:
            facts = decode_facts(sealed)
        except Damage:
            # The bytes go as they are: the list shows the session as damaged.
            self.connection.execute("UPDATE head SET facts = ? WHERE num = ?", (sealed, place.num))
            return
        self._count(place, facts)
        self.connection.execute(
            f"UPDATE head SET {_FACTS} WHERE num = ?", (*_columns(sealed, facts), place.num)
        )

    def _count(self, place: SqlitePlace, facts: Facts) -> None:
        """Count what a session consumed, in place of what its head has so far."""
        if shares(facts):
            before = readable_facts(read_facts(self.connection, place))
            if before is not None:
                self.tally.add(before, -1)
            self.tally.add(facts)

    # ------------------------------------------------------------ the end

    def drop(self) -> None:
        """Forget what an undone write had gathered."""
        self.known.places.clear()
        self.known.owners.clear()
        self._log = []
        self._heads = []
        self._facts.clear()
        self.dirty.clear()
        self.tally.drop()

    def settle(self) -> None:
        """After COMMIT: keep only what is running in memory."""
        places = self.known.places
        for session_id in self._passing:
            place = places.get(session_id)
            if place is not None and place.status != "running":
                del places[session_id]


def _columns(sealed: bytes, facts: Facts) -> tuple[object, ...]:
    """Return what ``head`` holds of facts: themselves, and the columns lists are made by."""
    return (
        sealed,
        facts.agent,
        facts.parent,
        facts.due_at_ms,
        asking(facts),
        facts.left_open,
    )
