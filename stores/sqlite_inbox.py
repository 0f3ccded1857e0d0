"""People's decisions in a SQLite store: posted by any process, taken with the row that applies them.

Plain functions on one connection: the writes inside the writer's transaction, the list inside the
reader's snapshot.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from .base import Append, Done, Post, Posted, PostQuery, Written
from .rules import refuse_post, refuse_taking
from .sqlite_batch import Batch
from .sqlite_places import SqlitePlace, marks


def post(batch: Batch, write: Post) -> Written:
    """Store a decision; refused where another about the same question was stored before."""
    place = batch.place(write.session_id)
    earlier = _earlier(batch.connection, place, write)
    refusal = refuse_post(place, write, earlier)
    if refusal is not None:
        return refusal
    if earlier is None:
        batch.connection.execute(
            "INSERT INTO post(num, about, author, at_ms, crc, body) VALUES (?, ?, ?, ?, ?, ?)",
            (place.num, write.about, write.by, write.at_ms, crc32(write.body), write.body),
        )
    return Done(place.epoch, place.seq)


def _earlier(connection: sqlite3.Connection, place: SqlitePlace, write: Post) -> Post | None:
    row = connection.execute(
        "SELECT author, at_ms, body, crc FROM post WHERE num = ? AND about = ?",
        (place.num, write.about),
    ).fetchone()
    return None if row is None else _posted((write.session_id, write.about, *row)).post


def take(batch: Batch, place: SqlitePlace, write: Append) -> Written | None:
    """Note that a row applies its posts, before it is added; the refusal where one is not there."""
    named = f"num = ? AND taken = 0 AND about IN ({marks(len(write.taken))})"
    values = (place.num, *write.taken)
    found = batch.connection.execute(f"SELECT count(*) FROM post WHERE {named}", values)
    refusal = refuse_taking(write, found.fetchone()[0])
    if refusal is None:
        batch.connection.execute(f"UPDATE post SET taken = ? WHERE {named}", (write.seq, *values))
    return refusal


# CROSS JOIN fixes the order: from one session to its posts, or from the few posts that wait to their
# sessions; never from all sessions.
_COLUMNS = "SELECT h.sid, p.about, p.author, p.at_ms, p.body, p.crc FROM "
_OF_ONE = "head h CROSS JOIN post p INDEXED BY post_waiting ON p.num = h.num"
_OF_ALL = "post p INDEXED BY post_waiting CROSS JOIN head h ON h.num = p.num"
_OWNED = " LEFT JOIN live l ON l.num = p.num LEFT JOIN owner o ON o.id = l.owner WHERE p.taken = 0"
_MAY_TAKE = " AND (o.id IS NULL OR o.name = ? OR o.lease_until_ms <= ?)"


def read_posts(connection: sqlite3.Connection, query: PostQuery) -> list[Posted]:
    """Return the decisions that wait to be taken, oldest first."""
    tables = _OF_ALL if query.session_id is None else _OF_ONE
    sql, values = f"{_COLUMNS}{tables}{_OWNED}", list[object]()
    if query.session_id is not None:
        sql, values = f"{sql} AND h.sid = ?", [query.session_id]
    if query.owner is not None:
        sql += _MAY_TAKE
        values += [query.owner, query.now_ms]
    if query.agents is not None:
        sql += " AND h.agent IN (SELECT value FROM json_each(?))"
        values.append(json.dumps(sorted(query.agents)))
    rows = connection.execute(f"{sql} ORDER BY p.id LIMIT ?", (*values, query.limit))
    return [_posted(row) for row in rows]


def _posted(row: Sequence[Any]) -> Posted:
    session_id, about, by, at_ms, body, crc = row
    intact = type(body) is bytes and crc32(body) == crc
    post = Post(
        session_id=session_id, about=about, by=by, at_ms=at_ms, body=body if intact else b""
    )
    return Posted(post, damaged=not intact)
