"""Where sessions stand in a SQLite store: their heads, live rows and facts. Plain functions on one connection.

Both connections use them: the writer inside its transaction, the reader inside a snapshot.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, get_args

from .records import SessionStatus
from .rules import Place

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


def is_broken(error: Exception) -> bool:
    """Tell whether the file's own structure is damaged."""
    if isinstance(error, UnicodeDecodeError):
        return True
    code = int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


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
            places[row[0]] = make_place(row[1:])
    return places


def make_place(row: Sequence[Any]) -> SqlitePlace:
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
