"""What the sessions of a group or a tenant have consumed, summed up as they are stored: a start must not read them all.

``tally`` sums the facts in ``head``. Those of sessions that somebody drives may be newer, in ``log``: they
are few, and are added when somebody asks. Plain functions on one connection.
"""

import sqlite3
from typing import Literal

from .base import Facts
from .encoding import Damage, decode_facts
from .records import Spent
from .shares import Share, Sums, shares

COLUMNS = Spent.__struct_fields__
_UPSERT = (
    f"INSERT INTO tally(kind, name, {', '.join(COLUMNS)}) VALUES (?, ?{', ?' * len(COLUMNS)})"
    f" ON CONFLICT(kind, name) DO UPDATE SET {', '.join(f'{c} = {c} + excluded.{c}' for c in COLUMNS)}"
)
_NEWER = """SELECT h.facts, f.facts FROM live l CROSS JOIN head h ON h.num = l.num
    CROSS JOIN log f ON f.id = l.facts_at WHERE l.facts_at > 0"""


class Tally:
    """Differences to the stored sums, gathered until they are written."""

    def __init__(self) -> None:
        self._sums: dict[Share, Sums] = {}

    def add(self, facts: Facts, sign: Literal[1, -1] = 1) -> None:
        """Count what these facts say was consumed, or, with -1, count it no longer."""
        for share in shares(facts):
            self._sums.setdefault(share, Sums()).add(facts.spent, sign)

    def write(self, connection: sqlite3.Connection) -> None:
        """Add the differences to the stored sums, and forget them."""
        if self._sums:
            rows = [(*share, *sums.values) for share, sums in self._sums.items()]
            connection.executemany(_UPSERT, rows)
            self._sums.clear()

    def drop(self) -> None:
        """Forget the differences."""
        self._sums.clear()


def read_spent(connection: sqlite3.Connection, share: Share) -> Spent:
    """Return what the sessions of a group or tenant have consumed."""
    sql = f"SELECT {', '.join(COLUMNS)} FROM tally WHERE kind = ? AND name = ?"
    sums = Sums(connection.execute(sql, share).fetchone())
    for before, now in connection.execute(_NEWER):
        for sign, facts in _pair(before, now):
            if facts is not None and share in shares(facts):
                sums.add(facts.spent, sign)
    return sums.spent()


def _pair(before: object, now: object) -> list[tuple[Literal[1, -1], Facts | None]]:
    return [(-1, readable_facts(before)), (1, readable_facts(now))]


def readable_facts(sealed: object) -> Facts | None:
    """Return sealed facts, None where they cannot be read."""
    try:
        return decode_facts(sealed) if isinstance(sealed, bytes) else None
    except Damage:
        return None


def sum_up(connection: sqlite3.Connection) -> None:
    """Make the sums of a store that has none yet; reads every session, once in the store's life."""
    tally = Tally()
    for (sealed,) in connection.execute("SELECT facts FROM head"):
        facts = readable_facts(sealed)
        if facts is not None:
            tally.add(facts)
    tally.write(connection)
