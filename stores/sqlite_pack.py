"""Packing and rewriting journals of a SQLite store, inside the writer's transaction."""

import sqlite3
from collections.abc import Sequence

from .base import Rewrite, SessionDamaged
from .encoding import (
    SEGMENT_BYTES_MAX,
    SEGMENT_ROWS_MAX,
    Damage,
    Segment,
    StoredRow,
    pack_rows,
)
from .loads import damage_of
from .sqlite_journal import last_segment, open_segment, read_chain, segment_keys
from .sqlite_places import SqlitePlace, chunks, marks


def pack(connection: sqlite3.Connection, session_id: str, place: SqlitePlace) -> None:
    """Move a session's rows from the log into segments; a small last segment is filled up.

    Raises:
        SessionDamaged: a row cannot be read; nothing was moved.
    """
    rows, ids = read_chain(connection, place)
    if not rows:
        return
    key, before, packed = _open_segment(connection, place)
    damage = next((found for found in map(damage_of, [*packed, *rows]) if found), None)
    if damage is None and not _whole(rows, packed, before, place):
        damage = "rows are missing"
    if damage is not None:
        raise SessionDamaged(f"session {session_id} is damaged and left unpacked: {damage}")
    if key is not None:
        connection.execute("DELETE FROM seg WHERE key = ?", (key,))
    # The pages of the rows are free before the segments need some, so the file does not grow by both.
    _delete_log(connection, ids)
    insert_segments(connection, place, pack_rows([*packed, *rows], before))


def _whole(
    rows: Sequence[StoredRow], packed: Sequence[StoredRow], before: int, place: SqlitePlace
) -> bool:
    first = (packed[-1].seq if packed else before) + 1
    return [row.seq for row in rows] == list(range(first, place.seq + 1))


def _open_segment(
    connection: sqlite3.Connection, place: SqlitePlace
) -> tuple[int | None, int, list[StoredRow]]:
    """Return key, ``before`` and rows of the last segment where there is room in it."""
    found = last_segment(connection, place.num)
    if found is None:
        return None, 0, []
    key, index = found
    if (
        len(index.rows) >= SEGMENT_ROWS_MAX
        or sum(entry[4] for entry in index.rows) >= SEGMENT_BYTES_MAX
    ):
        return None, index.rows[-1][0], []
    row = connection.execute("SELECT idx, body FROM seg WHERE key = ?", (key,)).fetchone()
    try:
        return key, index.before, open_segment(*row)[1]
    except Damage as damage:
        raise SessionDamaged(f"the last segment cannot be read: {damage}") from damage


def rewrite(
    connection: sqlite3.Connection, place: SqlitePlace, write: Rewrite, rows: list[StoredRow]
) -> None:
    """Replace a session's whole journal, and free the blobs nobody refers to any more."""
    _, ids = read_chain(connection, place)
    _delete_log(connection, ids)
    connection.execute("DELETE FROM seg WHERE key BETWEEN ? AND ?", segment_keys(place.num))
    insert_segments(connection, place, pack_rows(rows, 0))
    connection.execute(
        "UPDATE head SET oldest = ? WHERE num = ?", (write.oldest_counter, place.num)
    )
    place.oldest_counter = write.oldest_counter
    _keep_blobs(connection, place.num, write.blobs)


def insert_segments(
    connection: sqlite3.Connection, place: SqlitePlace, segments: Sequence[Segment]
) -> None:
    """Store segments under the session's keys."""
    low, _ = segment_keys(place.num)
    connection.executemany(
        "INSERT INTO seg(key, idx, body) VALUES (?, ?, ?)",
        [(low + segment.first_seq, segment.index, segment.body) for segment in segments],
    )


def _delete_log(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    for piece in chunks(ids):
        connection.execute(f"DELETE FROM log WHERE id IN ({marks(len(piece))})", piece)


def _keep_blobs(connection: sqlite3.Connection, num: int, digests: frozenset[str]) -> None:
    """Make ``digests`` the session's references and free what nobody refers to now."""
    found = connection.execute("SELECT blob FROM blob_ref WHERE num = ?", (num,)).fetchall()
    connection.execute("DELETE FROM blob_ref WHERE num = ?", (num,))
    for digest in digests:
        connection.execute(
            "INSERT OR IGNORE INTO blob_ref SELECT ?, id FROM blob WHERE digest = ?", (num, digest)
        )
    for (blob,) in found:
        connection.execute(
            "DELETE FROM blob WHERE id = ? AND NOT EXISTS (SELECT 1 FROM blob_ref WHERE blob = ?)",
            (blob, blob),
        )
