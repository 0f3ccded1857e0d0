"""Alerts in a SQLite store that nobody was told of yet. Plain functions on one connection."""

import sqlite3

from .base import WARNINGS_MAX, Warn, Warned, WarningQuery


def warn(connection: sqlite3.Connection, write: Warn) -> None:
    """Keep an alert, and no more of them than there may be."""
    connection.execute(
        "INSERT OR IGNORE INTO warning(name, owner, sid, at_ms, body) VALUES (?, ?, ?, ?, ?)",
        (write.name, write.owner, write.session_id, write.at_ms, write.text),
    )
    connection.execute(
        "DELETE FROM warning WHERE id IN (SELECT id FROM warning ORDER BY id DESC LIMIT -1 OFFSET ?)",
        (WARNINGS_MAX,),
    )


def warned(connection: sqlite3.Connection, write: Warned) -> None:
    """Keep an alert no longer."""
    connection.execute("DELETE FROM warning WHERE name = ?", (write.name,))


_MAY_TELL = """SELECT w.name, w.owner, w.sid, w.at_ms, w.body FROM warning w
    LEFT JOIN owner o ON o.name = w.owner
    WHERE w.owner = ? OR o.id IS NULL OR o.lease_until_ms <= ? ORDER BY w.id LIMIT ?"""


def read_warnings(connection: sqlite3.Connection, query: WarningQuery) -> list[Warn]:
    """Return the alerts that an owner may tell, oldest first."""
    rows = connection.execute(_MAY_TELL, (query.owner, query.now_ms, query.limit))
    return [
        Warn(name=name, owner=owner, session_id=session_id, at_ms=at_ms, text=text)
        for name, owner, session_id, at_ms, text in rows
    ]
