"""Reading and listing the heads of a SQLite store, its owners and its large texts.

Plain functions on one connection. Every list starts from an index that holds what is asked for.
"""

import heapq
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple, get_args

from .base import Facts, Head, HeadQuery
from .encoding import Damage, StoredRow, decode_facts
from .lists import matches
from .records import SessionStatus
from .sqlite_journal import Journal, examine, read_journal
from .sqlite_places import CHUNK_ROWS, SqlitePlace, chunks, make_place, marks

_HEAD = """SELECT h.sid, h.num, h.status, h.epoch, h.seq, h.counter, h.oldest, h.last,
    l.epoch, l.seq, l.counter, l.last, l.facts_at, l.owner, o.name, o.lease_until_ms,
    CASE WHEN l.facts_at > 0 THEN f.facts ELSE h.facts END"""
_OWNED = """ LEFT JOIN owner o ON o.id = l.owner LEFT JOIN log f ON f.id = l.facts_at"""
_NAMED = f"{_HEAD} FROM head h LEFT JOIN live l ON l.num = h.num{_OWNED} WHERE h.sid IN "
# CROSS JOIN: SQLite shall start from the few live rows, never from all heads.
_LIVE = f"{_HEAD} FROM live l CROSS JOIN head h ON h.num = l.num{_OWNED} WHERE l.num < ?"
# A session's parent is that of its creation, so those below one are found together, in any status.
_BELOW = f"""{_HEAD} FROM head h INDEXED BY head_parent LEFT JOIN live l ON l.num = h.num{_OWNED}
    WHERE h.num < ? AND h.parent = ? ORDER BY h.num"""
# The left join with no row there is keeps the columns of both lists the same.
_REST = f"""{_HEAD} FROM head h INDEXED BY % LEFT JOIN live l ON l.num = 0{_OWNED}
    WHERE h.num < ? AND NOT EXISTS (SELECT 1 FROM live WHERE live.num = h.num)"""


class Found(NamedTuple):
    """A session's head as stored, and its place."""

    row: Sequence[Any]
    place: SqlitePlace


Listing = tuple[str, Sequence[object]]
"""A statement that lists heads but for its direction and number, and its values behind the first."""

_MAY_ASK: frozenset[SessionStatus] = frozenset({"running", "parked"})
_BY_ASKING = {"any": "head_asking", "untold": "head_untold"}


def read_found(connection: sqlite3.Connection, session_ids: Sequence[str]) -> dict[str, Found]:
    """Return what is stored of where these sessions stand; unknown ones are left out."""
    return {
        row[0]: Found(row, make_place(row[1:15]))
        for piece in chunks(session_ids)
        for row in connection.execute(f"{_NAMED}({marks(len(piece))})", piece)
    }


def read_head(connection: sqlite3.Connection, session_id: str) -> Head | None:
    """Return where a session stands, None where it is unknown."""
    found = read_found(connection, (session_id,)).get(session_id)
    return None if found is None else _head(connection, *found)


def session_of(
    connection: sqlite3.Connection, found: Found, rows: list[StoredRow], *, scan: bool = False
) -> tuple[Head, Journal]:
    """Return a session's head and its rows; ``rows`` are those in the log, ``scan`` as for `read_journal`."""
    journal = read_journal(connection, found.place, rows, scan=scan)
    newest = journal.rows[-1] if journal.rows else None
    whole = newest is not None and newest.seq == found.place.seq
    return _head(connection, *found, newest if whole else None), journal


def _head(
    connection: sqlite3.Connection,
    row: Sequence[Any],
    place: SqlitePlace,
    newest: StoredRow | None = None,
) -> Head:
    damaged = examine(connection, place, newest)
    try:
        facts = decode_facts(row[16] or b"")
    except (Damage, TypeError) as damage:
        facts = Facts(agent="")
        damaged = damaged or f"the facts cannot be read: {damage}"
    return Head(
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
    # Asked for each session that is taken up again, so it is one statement.
    listings = (
        [(_BELOW, [query.parent])]
        if query.parent is not None
        else [_listing(query, status) for status in sorted(wanted)]
    )
    sources = [_pages(connection, query, listing, below) for listing in listings]
    rows = heapq.merge(*sources, key=_num, reverse=True)
    heads = (_head(connection, row, make_place(row[1:15])) for row in rows)
    return list(islice((head for head in heads if matches(head, query)), query.limit))


def has_children(connection: sqlite3.Connection, session_id: str) -> bool:
    """Tell whether any session has this one for its parent."""
    found = connection.execute("SELECT 1 FROM head WHERE parent = ? LIMIT 1", (session_id,))
    return found.fetchone() is not None


def _num(row: Sequence[Any]) -> int:
    num: int = row[1]
    return num


def _pages(
    connection: sqlite3.Connection, query: HeadQuery, listing: Listing, below: int
) -> Iterable[Sequence[Any]]:
    sql, values = listing
    size = min(max(query.limit, 1), CHUNK_ROWS)
    while True:
        rows = connection.execute(f"{sql} DESC LIMIT ?", (below, *values, size)).fetchall()
        yield from rows
        if len(rows) < size:
            return
        below = _num(rows[-1])


def _listing(query: HeadQuery, status: str) -> Listing:
    """Return the statement for one status. Facts of running sessions are compared after reading."""
    if status == "running":
        return f"{_LIVE} ORDER BY l.num", []
    # Named, since SQLite has no statistics to tell that few sessions have a due time.
    index = "head_due" if query.due_before_ms is not None else "head_status"
    index = "head_left_open" if query.left_open else index
    index = index if query.asking is None else _BY_ASKING[query.asking]
    sql, values = f"{_REST.replace('%', index)} AND h.status = ?", list[object]([status])
    if query.agent is not None:
        sql, values = f"{sql} AND h.agent = ?", [*values, query.agent]
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


# Asked at each renewal of the lease: of the sessions that somebody drives, ``head`` is not looked at.
_ORPHANS = """SELECT h.sid FROM live l LEFT JOIN owner o ON o.id = l.owner
    CROSS JOIN head h ON h.num = l.num
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
