"""Reading a SQLite store's rows: places, journals, heads. Plain functions on one connection.

Both connections use them: the writer inside its transaction, the reader inside a snapshot.
"""

import heapq
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar, get_args

from msgspec import Struct

from .base import Facts, Head, HeadQuery
from .encoding import (
    Damage,
    SegmentIndex,
    StoredRow,
    decode_facts,
    read_index,
    unpack_rows,
)
from .records import SessionStatus
from .rules import Place, damage_of, matches
from .sqlite_schema import SEQ_BITS

CHUNK_ROWS = 256

# Where a damaged schema holds no text, the driver cannot even decode SQLite's message about it.
DRIVER_ERRORS = (sqlite3.Error, UnicodeDecodeError)

_STATUSES = frozenset(get_args(SessionStatus))

T = TypeVar("T")


class SqlitePlace(Place, kw_only=True):
    """A place and where its rows lie.

    ``last``: id of the newest row in ``log``, 0 when all rows are packed. ``facts_at``: id of the
    ``log`` row that has the newest facts, 0 when ``head`` has them. ``owner_num``: the owner's id.
    ``extra``: fields of the facts that this version does not know. ``seen``: the state of the file
    this was read in.
    """

    num: int
    last: int
    facts_at: int = 0
    owner_num: int = 0
    extra: dict[str, Any] | None = None
    seen: int = 0


class Journal(Struct):
    """Stored rows, oldest first, and why they stop early where they do."""

    rows: list[StoredRow]
    broken: str | None = None


def chunks(items: Sequence[T], width: int = 1) -> Iterator[Sequence[T]]:
    """Cut a list of rows, ``width`` items each, into pieces of 256 rows, then of powers of two.

    Few lengths mean few statements: each is prepared once and kept.
    """
    start, size = 0, CHUNK_ROWS * width
    while start < len(items):
        while size > len(items) - start:
            size //= 2
        yield items[start : start + size]
        start += size


def marks(count: int) -> str:
    """Return ``?,?,...``."""
    return ",".join("?" * count)


# ---------------------------------------------------------------- places

_PLACE = """SELECT h.sid, h.num, h.status, h.epoch, h.seq, h.counter, h.oldest, h.last,
    l.epoch, l.seq, l.counter, l.last, l.facts_at, l.owner, o.name
    FROM head h LEFT JOIN live l ON l.num = h.num LEFT JOIN owner o ON o.id = l.owner
    WHERE h.sid IN """


def read_places(
    connection: sqlite3.Connection, session_ids: Sequence[str]
) -> dict[str, SqlitePlace]:
    """Return where these sessions stand; unknown ones are left out."""
    places: dict[str, SqlitePlace] = {}
    for piece in chunks(session_ids):
        for row in connection.execute(f"{_PLACE}({marks(len(piece))})", piece):
            places[row[0]] = _place(row[1:])
    return places


def _place(row: Sequence[Any]) -> SqlitePlace:
    """Make a place of the columns of ``_PLACE``; whatever they are not is damage, told with it."""
    num, status, epoch, seq, counter, oldest, last = row[:7]
    facts_at, owner_num, owner = 0, 0, None
    if row[7] is not None:
        status = "running"
        epoch, seq, counter, last, facts_at, owner_num, owner = row[7:]
        owner = owner or f"unknown owner {owner_num}"
    numbers = (num, epoch, seq, counter, oldest, last, facts_at, owner_num)
    if not all(type(number) is int for number in numbers) or status not in _STATUSES:
        return SqlitePlace(
            num=num if type(num) is int else 0,
            status="stopped",
            owner=None,
            epoch=0,
            seq=0,
            counter=0,
            last=0,
            damaged="its head cannot be read",
        )
    return SqlitePlace(
        num=num,
        status=status,
        owner=owner,
        epoch=epoch,
        seq=seq,
        counter=counter,
        oldest_counter=oldest,
        last=last,
        facts_at=facts_at,
        owner_num=owner_num,
    )


def read_lease(connection: sqlite3.Connection, owner_num: int) -> int | None:
    """Return the end of an owner's lease, None where it has gone."""
    found = connection.execute("SELECT lease_until_ms FROM owner WHERE id = ?", (owner_num,))
    row = found.fetchone()
    return None if row is None else int(row[0])


def read_facts(connection: sqlite3.Connection, place: SqlitePlace) -> bytes:
    """Return the sealed facts; empty where their row has gone."""
    sql, key = "SELECT facts FROM head WHERE num = ?", place.num
    if place.facts_at:
        sql, key = "SELECT facts FROM log WHERE id = ?", place.facts_at
    row = connection.execute(sql, (key,)).fetchone()
    return row[0] if row is not None and isinstance(row[0], bytes) else b""


# ---------------------------------------------------------------- journals

_CHAIN = """WITH RECURSIVE chain(id) AS (
    VALUES(?) UNION ALL
    SELECT log.prev FROM chain JOIN log ON log.id = chain.id
    WHERE log.prev > 0 AND log.prev < log.id AND log.num = ?)
    SELECT log.seq, log.counter, log.version, log.crc, log.body, log.id
    FROM chain JOIN log ON log.id = chain.id WHERE log.num = ?"""
_SCAN = "SELECT seq, counter, version, crc, body, id FROM log WHERE num = ? ORDER BY seq"


def segment_keys(num: int) -> tuple[int, int]:
    """Return the lowest and highest key a session's segments may have."""
    return num << SEQ_BITS, (num + 1 << SEQ_BITS) - 1


def read_chain(
    connection: sqlite3.Connection, place: SqlitePlace
) -> tuple[list[StoredRow], list[int]]:
    """Return the rows in the log and their ids, oldest first, as far as the chain holds."""
    if not place.last:
        return [], []
    found = connection.execute(_CHAIN, (place.last, place.num, place.num)).fetchall()
    # From newest to oldest; not sorted by seq, which may be what is damaged.
    found.reverse()
    return [_row(row[:5]) for row in found], [row[5] for row in found]


def _row(values: Sequence[Any]) -> StoredRow:
    """Make a row of five columns; values that are not of the right type never fit their sum."""
    *numbers, body = values
    if type(body) is bytes and all(type(number) is int for number in numbers):
        return StoredRow(*values)
    seq, counter = (value if type(value) is int else 0 for value in numbers[:2])
    return StoredRow(seq, counter, 0, -1, b"")


def read_journal(
    connection: sqlite3.Connection, place: SqlitePlace, *, scan: bool = False
) -> Journal:
    """Return all rows of a session.

    With ``scan``, a broken chain is mended by looking through the whole log; slow, and only for
    loading what is left of a damaged session.
    """
    journal = _read_segments(connection, place.num)
    if journal.broken is not None:
        return journal
    rows, _ = read_chain(connection, place)
    if scan and not _continues(journal.rows, rows, place.seq):
        found = connection.execute(_SCAN, (place.num,)).fetchall()
        rows = [_row(row[:5]) for row in found]
    for row in rows:
        expected = journal.rows[-1].seq + 1 if journal.rows else 1
        if row.seq != expected:
            journal.broken = f"row {expected} is missing"
            return journal
        journal.rows.append(row)
    return journal


def _continues(packed: list[StoredRow], rows: list[StoredRow], last: int) -> bool:
    first = packed[-1].seq + 1 if packed else 1
    return [row.seq for row in rows] == list(range(first, last + 1))


def _read_segments(connection: sqlite3.Connection, num: int) -> Journal:
    journal = Journal([])
    for key, idx, body in connection.execute(
        "SELECT key, idx, body FROM seg WHERE key BETWEEN ? AND ? ORDER BY key", segment_keys(num)
    ):
        try:
            index, rows = open_segment(idx, body)
        except (Damage, TypeError):
            first = key & ((1 << SEQ_BITS) - 1)
            journal.broken = f"the segment from row {first} on cannot be read"
            return journal
        last = journal.rows[-1].seq if journal.rows else 0
        if index.before != last:
            journal.broken = f"rows {last + 1} to {index.before} are missing"
            return journal
        journal.rows.extend(rows)
    return journal


def open_segment(idx: bytes, body: bytes) -> tuple[SegmentIndex, list[StoredRow]]:
    """Return a segment's index and rows.

    Raises:
        Damage: neither can be read; damage to single rows shows in their check sums instead.
    """
    index = read_index(idx)
    if type(body) is not bytes or len(body) != sum(entry[4] for entry in index.rows):
        raise Damage("segment body is not what the index says")
    return index, list(unpack_rows(index, body))


def read_last_row(connection: sqlite3.Connection, place: SqlitePlace) -> StoredRow | None:
    """Return a session's newest row, None where it cannot be found."""
    if place.last:
        row = connection.execute(
            "SELECT seq, counter, version, crc, body FROM log WHERE id = ? AND num = ?",
            (place.last, place.num),
        ).fetchone()
        return None if row is None or row[0] != place.seq else _row(row)
    found = last_segment(connection, place.num)
    if found is None or found[1].rows[-1][0] != place.seq:
        return None
    key, index = found
    seq, counter, version, crc, length = index.rows[-1]
    body = connection.execute("SELECT substr(body, 1, ?) FROM seg WHERE key = ?", (length, key))
    return _row((seq, counter, version, crc, body.fetchone()[0]))


def examine(connection: sqlite3.Connection, place: SqlitePlace) -> str | None:
    """Say what is wrong with a session as far as its head and newest row show, or None."""
    if place.damaged is not None:
        return place.damaged
    try:
        row = read_last_row(connection, place)
        if row is not None and row.intact and row.counter != place.counter:
            return f"the head says checkpoint {place.counter}, the last row {row.counter}"
        return damage_of(row)
    except DRIVER_ERRORS as error:
        if not is_broken(error):
            raise
        return f"checkpoint {place.counter} (row {place.seq}) lies on a damaged page"


def is_broken(error: Exception) -> bool:
    """Tell whether the file's own structure is damaged."""
    if isinstance(error, UnicodeDecodeError):
        return True
    code = int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def last_segment(connection: sqlite3.Connection, num: int) -> tuple[int, SegmentIndex] | None:
    """Return key and index of the newest segment, None where it cannot be read."""
    row = connection.execute(
        "SELECT key, idx FROM seg WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1",
        segment_keys(num),
    ).fetchone()
    try:
        return None if row is None else (int(row[0]), read_index(row[1]))
    except (Damage, TypeError):
        return None


# ---------------------------------------------------------------- heads

_HEAD = """SELECT h.sid, h.num, h.status, h.epoch, h.seq, h.counter, h.oldest, h.last,
    l.epoch, l.seq, l.counter, l.last, l.facts_at, l.owner, o.name, o.lease_until_ms,
    CASE WHEN l.facts_at > 0 THEN f.facts ELSE h.facts END"""
_OWNED = """ LEFT JOIN owner o ON o.id = l.owner LEFT JOIN log f ON f.id = l.facts_at"""
_ONE = f"{_HEAD} FROM head h LEFT JOIN live l ON l.num = h.num{_OWNED} WHERE h.sid = ?"
# CROSS JOIN: SQLite shall start from the few live rows, never from all heads.
_LIVE = f"{_HEAD} FROM live l CROSS JOIN head h ON h.num = l.num{_OWNED} WHERE l.num < ?"
# A session's parent is that of its creation, so few of the live rows need be looked at.
_LIVE_BELOW = f"""{_HEAD} FROM head h INDEXED BY head_parent CROSS JOIN live l ON l.num = h.num{_OWNED}
    WHERE l.num < ? AND h.parent = ?"""
# The left join with nothing keeps the columns of both lists the same.
_REST = f"""{_HEAD} FROM head h INDEXED BY % LEFT JOIN live l ON 0{_OWNED}
    WHERE h.num < ? AND NOT EXISTS (SELECT 1 FROM live WHERE live.num = h.num)"""


_MAY_ASK: frozenset[SessionStatus] = frozenset({"running", "parked"})
_BY_ASKING = {"any": "head_asking", "untold": "head_untold"}


def read_head(connection: sqlite3.Connection, session_id: str) -> tuple[Head, SqlitePlace] | None:
    """Return a session's head and place, None where it is unknown."""
    row = connection.execute(_ONE, (session_id,)).fetchone()
    return None if row is None else _head(connection, row)


def _head(connection: sqlite3.Connection, row: Sequence[Any]) -> tuple[Head, SqlitePlace]:
    place = _place(row[1:15])
    damaged = examine(connection, place)
    try:
        facts = decode_facts(row[16] or b"")
    except (Damage, TypeError) as damage:
        facts = Facts(agent="")
        damaged = damaged or f"the facts cannot be read: {damage}"
    head = Head(
        session_id=row[0],
        status=place.status,
        seq=place.seq,
        counter=place.counter,
        oldest_counter=place.oldest_counter,
        epoch=place.epoch,
        owner=place.owner,
        lease_until_ms=None if place.owner is None else row[15] or 0,
        facts=facts,
        damaged=damaged,
    )
    return head, place


def read_heads(connection: sqlite3.Connection, query: HeadQuery) -> list[Head]:
    """List heads, newest first; each status is read by its own index and the lists are merged."""
    below = 1 << 62
    if query.after is not None:
        found = connection.execute("SELECT num FROM head WHERE sid = ?", (query.after,)).fetchone()
        if found is None:
            return []
        below = found[0]
    wanted = query.status or frozenset(get_args(SessionStatus))
    if query.asking is not None:
        wanted &= _MAY_ASK  # for the others the whole index would be read, and nothing found
    sources = [_pages(connection, query, status, below) for status in sorted(wanted)]
    rows = heapq.merge(*sources, key=_num, reverse=True)
    heads = (_head(connection, row)[0] for row in rows)
    return list(islice((head for head in heads if matches(head, query)), query.limit))


def _num(row: Sequence[Any]) -> int:
    num: int = row[1]
    return num


def _pages(
    connection: sqlite3.Connection, query: HeadQuery, status: str, below: int
) -> Iterable[Sequence[Any]]:
    sql, values = _listing(query, status)
    size = min(max(query.limit, 1), CHUNK_ROWS)
    while True:
        rows = connection.execute(f"{sql} DESC LIMIT ?", (below, *values, size)).fetchall()
        yield from rows
        if len(rows) < size:
            return
        below = _num(rows[-1])


def _listing(query: HeadQuery, status: str) -> tuple[str, list[object]]:
    """Return the statement for one status. Facts of running sessions are compared after reading."""
    if status == "running" and query.parent is not None:
        return f"{_LIVE_BELOW} ORDER BY l.num", [query.parent]
    if status == "running":
        return f"{_LIVE} ORDER BY l.num", []
    # Named, since SQLite has no statistics to tell that few sessions have a parent or a due time.
    index = "head_due" if query.due_before_ms is not None else "head_status"
    index = "head_parent" if query.parent is not None else index
    index = "head_left_open" if query.left_open else index
    index = index if query.asking is None else _BY_ASKING[query.asking]
    sql, values = f"{_REST.replace('%', index)} AND h.status = ?", list[object]([status])
    for column, value in (("agent", query.agent), ("parent", query.parent)):
        if value is not None:
            sql, values = f"{sql} AND h.{column} = ?", [*values, value]
    if query.due_before_ms is not None:
        sql += " AND h.due_at_ms IS NOT NULL AND h.due_at_ms < ?"
        values.append(query.due_before_ms)
    if query.asking is not None:
        # As the index says it, or SQLite will not use it.
        sql += " AND h.asking > 0" if query.asking == "any" else " AND h.asking = 2"
    if query.left_open:
        sql += " AND h.left_open > 0"
    return f"{sql} ORDER BY h.num", values


# ---------------------------------------------------------------- owners, blobs


def read_owners(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the owners of running sessions and the ends of their leases."""
    return dict(
        connection.execute(
            "SELECT name, lease_until_ms FROM owner WHERE id IN (SELECT owner FROM live)"
        ).fetchall()
    )


_ORPHANS = """SELECT h.sid FROM live l CROSS JOIN head h ON h.num = l.num
    LEFT JOIN owner o ON o.id = l.owner
    WHERE o.id IS NULL OR o.lease_until_ms <= ? OR o.name IN (SELECT value FROM json_each(?))
    ORDER BY l.num LIMIT ?"""


def read_orphans(
    connection: sqlite3.Connection, now_ms: int, dead_json: str, limit: int
) -> list[str]:
    """Return running sessions nobody looks after; reads live sessions and owners only."""
    return [row[0] for row in connection.execute(_ORPHANS, (now_ms, dead_json, limit))]


def read_blob(connection: sqlite3.Connection, digest: str) -> tuple[bytes, int] | None:
    """Return a blob and its check sum."""
    row = connection.execute("SELECT body, crc FROM blob WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else (row[0], row[1])
