"""Reading a session's rows in a SQLite store: its chain in ``log``, its packed segments, its newest row.

Plain functions on one connection, as in ``sqlite_places``.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from .encoding import Damage, SegmentIndex, StoredRow, read_index, unpack_rows
from .loads import damage_of
from .sqlite_places import DRIVER_ERRORS, SqlitePlace, is_broken
from .sqlite_schema import SEQ_BITS


class Journal(Struct):
    """Stored rows, oldest first, and why they stop early where they do."""

    rows: list[StoredRow]
    broken: str | None = None


# CROSS JOIN: from one row to the one before it, never the other way round.
_CHAIN = """WITH RECURSIVE chain(id) AS (
    VALUES(?1) UNION ALL
    SELECT log.prev FROM chain CROSS JOIN log ON log.id = chain.id
    WHERE log.prev > 0 AND log.prev < log.id AND log.num = ?2)
    SELECT log.seq, log.counter, log.version, log.crc, log.body, log.id
    FROM chain CROSS JOIN log ON log.id = chain.id WHERE log.num = ?2"""
# The same for many sessions: each root as [id, num]. Rows of one come from newest to oldest here too.
_CHAINS = """WITH RECURSIVE chain(id, num) AS (
    SELECT value ->> 0, value ->> 1 FROM json_each(?) UNION ALL
    SELECT log.prev, log.num FROM chain CROSS JOIN log ON log.id = chain.id
    WHERE log.prev > 0 AND log.prev < log.id AND log.num = chain.num)
    SELECT log.seq, log.counter, log.version, log.crc, log.body, log.num
    FROM chain CROSS JOIN log ON log.id = chain.id WHERE log.num = chain.num"""
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
    found = connection.execute(_CHAIN, (place.last, place.num)).fetchall()
    # From newest to oldest; not sorted by seq, which may be what is damaged.
    found.reverse()
    return [_row(row) for row in found], [row[5] for row in found]


def read_chains(
    connection: sqlite3.Connection, places: Iterable[SqlitePlace]
) -> dict[int, list[StoredRow]]:
    """Return the rows in the log of many sessions by their numbers, oldest first, as far as each chain holds."""
    roots = {place.num: place.last for place in places if place.last}
    chains: dict[int, list[StoredRow]] = {num: [] for num in roots}
    listed = json.dumps([(last, num) for num, last in roots.items()])
    for values in connection.execute(_CHAINS, (listed,)):
        chains[values[5]].append(_row(values))
    for rows in chains.values():
        rows.reverse()
    return chains


def _row(values: Sequence[Any]) -> StoredRow:
    """Make a row of its first five columns; values that are not of the right type never fit their sum."""
    seq, counter, version, crc, body = values[:5]
    # Spelled out: this is where loading spends its time.
    if (
        type(body) is bytes
        and type(seq) is int
        and type(counter) is int
        and type(version) is int
        and type(crc) is int
    ):
        return StoredRow(seq, counter, version, crc, body)
    seq, counter = (value if type(value) is int else 0 for value in (seq, counter))
    return StoredRow(seq, counter, 0, -1, b"")


def read_journal(
    connection: sqlite3.Connection,
    place: SqlitePlace,
    rows: list[StoredRow],
    *,
    scan: bool = False,
) -> Journal:
    """Return all rows of a session; ``rows`` are those in the log.

    With ``scan``, a broken chain is mended by looking through the whole log; slow, and only for
    loading what is left of a damaged session.
    """
    if _continues([], rows, place.seq):
        return Journal(rows)  # nothing of it was ever packed
    journal = _read_segments(connection, place.num)
    if journal.broken is not None:
        return journal
    if scan and not _continues(journal.rows, rows, place.seq):
        rows = [_row(row) for row in connection.execute(_SCAN, (place.num,))]
    first = journal.rows[-1].seq + 1 if journal.rows else 1
    whole = next((at for at, row in enumerate(rows) if row.seq != first + at), len(rows))
    if whole < len(rows):
        journal.broken = f"row {first + whole} is missing"
    journal.rows += rows[:whole]
    return journal


def _continues(packed: list[StoredRow], rows: list[StoredRow], last: int) -> bool:
    """Tell whether ``rows`` go on behind the packed ones and end with number ``last``, without a gap."""
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


def examine(
    connection: sqlite3.Connection, place: SqlitePlace, newest: StoredRow | None = None
) -> str | None:
    """Say what is wrong with a session as far as its head and newest row show, or None.

    ``newest`` is that row where it has been read already.
    """
    if place.damaged is not None:
        return place.damaged
    try:
        row = newest or read_last_row(connection, place)
        damage = damage_of(row)
        if row is not None and damage is None and row.counter != place.counter:
            return f"the head says checkpoint {place.counter}, the last row {row.counter}"
        return damage
    except DRIVER_ERRORS as error:
        if not is_broken(error):
            raise
        return f"checkpoint {place.counter} (row {place.seq}) lies on a damaged page"


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
