"""Loading sessions of a SQLite store: one as it is asked for, or all that are wanted at the moment at once.

A statement costs more than the few rows of a session that it reads, so the heads of many sessions are
read by one, and their rows by another. Plain functions on one connection, in one snapshot each.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from msgspec import Struct

from .base import Head, SessionUnknown, StoredSession, StoreError
from .encoding import StoredRow
from .evolution import Conversions
from .loads import assemble
from .sqlite_heads import Found, read_found, session_of
from .sqlite_journal import Journal, read_chain, read_chains

ROWS_AT_ONCE = 512
"""Rows that are read at once, at most, but for a session that has more: it takes a millisecond."""

T = TypeVar("T")


class Loading(Struct, frozen=True):
    """Loads sessions of the store of this name."""

    name: str
    conversions: Conversions

    def one(
        self,
        connection: sqlite3.Connection,
        session_id: str,
        *,
        fallback: bool = False,
        upto: int | None = None,
    ) -> StoredSession:
        """Load a session; as `Store.load`."""
        found = read_found(connection, (session_id,)).get(session_id)
        if found is None:
            raise unknown(session_id, self.name)
        rows, _ = read_chain(connection, found.place)
        scan = fallback or upto is not None
        head, journal = session_of(connection, found, rows, scan=scan)
        return self._assembled(head, journal, fallback=fallback, upto=upto)

    def together(
        self, connection: sqlite3.Connection, session_ids: Sequence[str]
    ) -> list[StoredSession | Exception]:
        """Load the first of these sessions, as many as may be read at once; what cannot be is told instead."""
        try:
            return snapshot(connection, partial(self._all, session_ids=session_ids))
        except Exception:  # noqa: BLE001 - one of them is at fault, which is not to be the others'
            return [self._by_itself(connection, session_id) for session_id in session_ids]

    def _by_itself(
        self, connection: sqlite3.Connection, session_id: str
    ) -> StoredSession | Exception:
        try:
            return snapshot(connection, partial(self.one, session_id=session_id))
        except Exception as error:  # noqa: BLE001 - raised to whoever asked
            return error

    def _all(
        self, connection: sqlite3.Connection, session_ids: Sequence[str]
    ) -> list[StoredSession | Exception]:
        heads = read_found(connection, session_ids)
        asked = _as_many(session_ids, heads)
        chains = read_chains(connection, [heads[each].place for each in asked if each in heads])
        return [self._made(connection, each, heads.get(each), chains) for each in asked]

    def _made(
        self,
        connection: sqlite3.Connection,
        session_id: str,
        found: Found | None,
        chains: Mapping[int, list[StoredRow]],
    ) -> StoredSession | Exception:
        if found is None:
            return unknown(session_id, self.name)
        try:
            return self._assembled(*session_of(connection, found, chains.get(found.place.num, [])))
        except StoreError as error:
            return error

    def _assembled(
        self, head: Head, journal: Journal, *, fallback: bool = False, upto: int | None = None
    ) -> StoredSession:
        rows, broken = journal.rows, journal.broken
        return assemble(head, rows, self.conversions, fallback=fallback, upto=upto, broken=broken)


def _as_many(session_ids: Sequence[str], heads: Mapping[str, Found]) -> Sequence[str]:
    """Return the first of these sessions, as many as have no more rows than may be read at once."""
    rows = 0
    for count, session_id in enumerate(session_ids):
        rows += heads[session_id].place.seq if session_id in heads else 0
        if count and rows > ROWS_AT_ONCE:
            return session_ids[:count]
    return session_ids


def unknown(session_id: str, name: str) -> SessionUnknown:
    """Say that a store has no such session."""
    return SessionUnknown(f"no session {session_id} in {name}")


def snapshot(connection: sqlite3.Connection, job: Callable[[sqlite3.Connection], T]) -> T:
    """Run a reading job in one snapshot."""
    connection.execute("BEGIN")
    try:
        return job(connection)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
