"""The limit: the same bytes through aiosqlite with group commit, and nothing else.

Each session waits for each record to be durable before it makes the next. The writer takes all
that waits, inserts it with statements of many rows and commits. No runtime, no tools, no model.
"""

import asyncio
from pathlib import Path

import aiosqlite
import msgspec

from .cells import Meter

ROWS_MAX = 256
SCHEMA = """
CREATE TABLE log(id INTEGER PRIMARY KEY, sid INTEGER, seq INTEGER, body BLOB);
CREATE UNIQUE INDEX log_by_session ON log(sid, seq);
"""

Record = tuple[int, int, bytes]


class Writer:
    """Group commit with aiosqlite's public calls, ``rows_max`` records in a statement."""

    def __init__(self, connection: aiosqlite.Connection, rows_max: int = ROWS_MAX) -> None:
        self._connection = connection
        self._rows_max = rows_max
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
            for start in range(0, len(batch), self._rows_max):
                piece = batch[start : start + self._rows_max]
                marks = ",".join(["(?,?,?)"] * len(piece))
                values = [value for record, _ in piece for value in record]
                await self._connection.execute(
                    f"INSERT INTO log(sid, seq, body) VALUES {marks}", values
                )
            await self._connection.execute("COMMIT")
            for _, stored in batch:
                stored.set_result(None)


async def measure(
    folder: Path, sessions: int, steps: int, durability: str, sizes: list[int]
) -> dict[str, float]:
    """Store ``sizes`` bytes, one record each, in every step of every session."""
    connection = await aiosqlite.connect(folder / "limit.db", isolation_level=None)
    await connection.execute("PRAGMA journal_mode = WAL")
    await connection.execute(f"PRAGMA synchronous = {durability.upper()}")
    await connection.execute("PRAGMA wal_autocheckpoint = 4000")
    await connection.executescript(SCHEMA)
    writer = Writer(connection)
    writing = asyncio.create_task(writer.run())

    async def session(number: int) -> None:
        seq = 0
        for _ in range(steps):
            for size in sizes:
                seq += 1
                body = msgspec.msgpack.encode({"n": seq, "content": "x" * (size - 16)})
                await writer.store((number, seq, body))

    meter = Meter()
    await asyncio.gather(*(session(number) for number in range(sessions)))
    measured = meter.read(sessions * steps)
    writing.cancel()
    await connection.close()
    return measured
