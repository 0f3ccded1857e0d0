"""The limit of durable records: group commit by aiosqlite's public calls, as anybody would write it.

Each session waits for each of its records. The writer takes all that waits, inserts it with one
``executemany`` and commits.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite

SCHEMA = """
CREATE TABLE log(id INTEGER PRIMARY KEY, sid INTEGER, seq INTEGER, body BLOB);
CREATE UNIQUE INDEX log_by_session ON log(sid, seq);
"""
INSERT = "INSERT INTO log(sid, seq, body) VALUES (?, ?, ?)"

Record = tuple[int, int, bytes]


def settings(durability: str) -> str:
    """Return what a connection is told first; the store's own settings."""
    return (
        "PRAGMA journal_mode = WAL;"
        f"PRAGMA synchronous = {durability.upper()};"
        "PRAGMA wal_autocheckpoint = 4000;"
    )


class Writer:
    """Makes records durable, all that wait in one transaction."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection
        self._waiting: list[tuple[Record, asyncio.Future[None]]] = []
        self._more = asyncio.Event()

    def store(self, record: Record) -> asyncio.Future[None]:
        stored = asyncio.get_running_loop().create_future()
        self._waiting.append((record, stored))
        self._more.set()
        return stored

    async def run(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            batch, self._waiting = self._waiting, []
            await self._connection.execute("BEGIN IMMEDIATE")
            await self._connection.executemany(INSERT, [record for record, _ in batch])
            await self._connection.execute("COMMIT")
            for _, stored in batch:
                stored.set_result(None)


@asynccontextmanager
async def group_commit(folder: Path, durability: str) -> AsyncGenerator[Writer]:
    """Open ``limit.db`` in the folder, and write to it for as long as this is entered."""
    connection = await aiosqlite.connect(folder / "limit.db", isolation_level=None)
    await connection.executescript(settings(durability) + SCHEMA)
    writer = Writer(connection)
    writing = asyncio.create_task(writer.run())
    try:
        yield writer
    finally:
        writing.cancel()
        await connection.close()
