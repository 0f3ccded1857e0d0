"""A store that fails, hangs or tells on its k-th call, by plan; and bytes damaged on purpose."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Literal

import anyio
from msgspec import Struct, structs

from ukemi.stores.base import Store, StoredSession, StoreFailed, Write, Written
from ukemi.stores.memory import MemoryStore
from ukemi.stores.sqlite import SqliteStore
from ukemi.testing.passing_on import PassingOn

When = Literal["before", "after"]
Hook = Callable[[int, When], None]


class Fault(Struct, kw_only=True):
    """Fail the ``at``-th call (from 1) of an operation, ``before`` or ``after`` its effect.

    ``always``: that call and every later one. ``hang``: wait for ``FaultyStore.release`` at this
    point; with ``error=None`` go on afterwards.
    """

    at: int
    op: Literal["commit", "load"] = "commit"
    when: When = "before"
    always: bool = False
    hang: bool = False
    error: Exception | None = StoreFailed("planned fault")

    def hits(self, op: str, number: int, when: When) -> bool:
        counted = number >= self.at if self.always else number == self.at
        return self.op == op and self.when == when and counted


class FaultyStore(PassingOn):
    """Wrap any store. ``commits`` and ``loads`` count the calls so far, failed ones included;
    ``committed`` those commits that have come back, whatever became of them.

    Args:
        store: where everything goes that no fault stops.
        plan: the faults; add to ``plan`` at any time.
        on_commit: called with the number of the commit, before and after its effect, ahead of
            any fault; may kill the process.
    """

    def __init__(
        self, store: Store, plan: Sequence[Fault] = (), *, on_commit: Hook | None = None
    ) -> None:
        super().__init__(store)
        self.name = f"faulty:{store.name}"
        self.plan = list(plan)
        self.on_commit = on_commit
        self.commits = 0
        self.committed = 0
        self.loads = 0
        self.hanging = anyio.Event()
        self._released = anyio.Event()

    def release(self) -> None:
        """Let every hanging call go on."""
        self._released.set()

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        self.commits += 1
        number = self.commits
        try:
            await self._point("commit", number, "before")
            results = await self.inner.commit(writes)
            await self._point("commit", number, "after")
        finally:
            self.committed += 1
        return results

    async def load(
        self, session_id: str, *, fallback: bool = False, upto: int | None = None
    ) -> StoredSession:
        self.loads += 1
        number = self.loads
        await self._point("load", number, "before")
        loaded = await self.inner.load(session_id, fallback=fallback, upto=upto)
        await self._point("load", number, "after")
        return loaded

    async def _point(self, op: str, number: int, when: When) -> None:
        if op == "commit" and self.on_commit is not None:
            self.on_commit(number, when)
        for fault in self.plan:
            if not fault.hits(op, number, when):
                continue
            if fault.hang:
                self.hanging.set()
                await self._released.wait()
            if fault.error is not None:
                raise fault.error


def damage(store: Store, session_id: str, seq: int, body: bytes = b"\xde\xad\xbe\xef") -> None:
    """Replace the body of a stored, unpacked row by other bytes, behind the store's back."""
    if isinstance(store, MemoryStore):
        rows = store._data.sessions[session_id].rows  # pyright: ignore[reportPrivateUsage]
        at = next(at for at, row in enumerate(rows) if row.seq == seq)
        rows[at] = structs.replace(rows[at], body=body)
        return
    assert isinstance(store, SqliteStore)
    with closing(sqlite3.connect(store.path)) as connection, connection:
        changed = connection.execute(
            "UPDATE log SET body = ? WHERE seq = ? AND num = (SELECT num FROM head WHERE sid = ?)",
            (body, seq, session_id),
        )
        assert changed.rowcount == 1, f"{session_id} has no unpacked row {seq}"


def stored_body(store: Store, session_id: str, seq: int) -> bytes:
    """Return the bytes of a stored, unpacked row as they lie there."""
    if isinstance(store, MemoryStore):
        rows = store._data.sessions[session_id].rows  # pyright: ignore[reportPrivateUsage]
        return next(row.body for row in rows if row.seq == seq)
    assert isinstance(store, SqliteStore)
    with closing(sqlite3.connect(store.path)) as connection:
        (body,) = connection.execute(
            "SELECT body FROM log WHERE seq = ? AND num = (SELECT num FROM head WHERE sid = ?)",
            (seq, session_id),
        ).fetchone()
        return bytes(body)
