"""The limits' cells: the same bytes, the same waits, and nothing else.

Each session waits for each of its records to be durable before it makes the next. No runtime, tool,
model, budget, event or lease.
"""

import asyncio
import gc
import shutil
import sqlite3
import time
from functools import partial
from pathlib import Path

import aiosqlite
import anyio
import msgspec

from ukemi.stores import SqliteStore

from ..cells import Meter, cell_main, rss_bytes
from .group_commit import INSERT, SCHEMA, group_commit, settings
from .work import Peak, Steps, name_of, stored, timed_ms, written_bytes


def body(seq: int, size: int) -> bytes:
    """Encode a record of this size."""
    return msgspec.msgpack.encode({"n": seq, "content": "x" * (size - 16)})


def durable_aiosqlite(
    folder: str, sessions: int, steps: int, durability: str, sizes: list[int]
) -> dict[str, float]:
    """B1: records of ``sizes`` bytes in every step, by aiosqlite with group commit."""

    async def measure() -> dict[str, float]:
        async with group_commit(Path(folder), durability) as writer:

            async def session(number: int) -> None:
                seq = 0
                for _ in range(steps):
                    for size in sizes:
                        seq += 1
                        await writer.store((number, seq, body(seq, size)))

            meter = Meter()
            await asyncio.gather(*(session(number) for number in range(sessions)))
            return meter.read(sessions * steps)

    return asyncio.run(measure())


def durable_sqlite3(
    folder: str, sessions: int, steps: int, durability: str, sizes: list[int]
) -> dict[str, float]:
    """B1: the same by sqlite3 in one thread, each batch one record of every session."""
    connection = sqlite3.connect(Path(folder) / "limit.db", isolation_level=None)
    connection.executescript(settings(durability) + SCHEMA)
    meter = Meter()
    seq = 0
    for _ in range(steps):
        for size in sizes:
            seq += 1
            connection.execute("BEGIN IMMEDIATE")
            records = [(number, seq, body(seq, size)) for number in range(sessions)]
            connection.executemany(INSERT, records)
            connection.execute("COMMIT")
    measured = meter.read(sessions * steps)
    connection.close()
    return measured


def length(folder: str, steps: int, sessions: int, sizes: list[int]) -> dict[str, float]:
    """B2: sessions of one length, one after another, by aiosqlite."""
    marks = Steps()
    inner = Path(folder) / "store"
    inner.mkdir()

    async def measure() -> dict[str, float]:
        async with group_commit(inner, "normal") as writer:
            meter = Meter()
            for number in range(sessions):
                for step in range(steps):
                    marks.mark()
                    for place, size in enumerate(sizes):
                        seq = step * len(sizes) + place
                        await writer.store((number, seq, body(seq, size)))
                marks.mark()
                marks.session_ended()
            return meter.read(sessions * steps)

    wrote = written_bytes()
    spent = asyncio.run(measure())
    figures = stored(str(inner), sessions, steps, wrote, marks, spent)
    return {**figures, "load_ms": timed_ms(partial(asyncio.run, _load(inner / "limit.db")))}


async def _load(path: Path) -> None:
    async with aiosqlite.connect(path) as connection:
        rows = await connection.execute_fetchall("SELECT body FROM log WHERE sid = 0 ORDER BY seq")
        for (found,) in rows:
            msgspec.msgpack.decode(found)


def wait_anyio(folder: str, sessions: int, turns: int, seconds: float) -> dict[str, float]:
    """B3: bare tasks that sleep."""
    del folder

    async def session() -> None:
        for _ in range(turns):
            await anyio.sleep(seconds)

    async def measure() -> dict[str, float]:
        peak, meter = Peak(), Meter()
        async with anyio.create_task_group() as group:
            for _ in range(sessions):
                group.start_soon(session)
        return {**meter.read(sessions * turns), **peak.read(sessions)}

    return anyio.run(measure)


def wait_aiosqlite(
    folder: str, sessions: int, turns: int, seconds: float, sizes: list[int]
) -> dict[str, float]:
    """B3: tasks that sleep and have a record stored after each sleep."""

    async def measure() -> dict[str, float]:
        async with group_commit(Path(folder), "normal") as writer:

            async def session(number: int) -> None:
                for turn in range(turns):
                    await anyio.sleep(seconds)
                    await writer.store((number, turn, body(turn, sum(sizes))))

            peak, meter = Peak(), Meter()
            async with anyio.create_task_group() as group:
                for number in range(sessions):
                    group.start_soon(session, number)
            return {**meter.read(sessions * turns), **peak.read(sessions)}

    return anyio.run(measure)


def hold_anyio(folder: str, sessions: int) -> dict[str, float]:
    """B3: what a bare task holds that waits."""
    del folder

    async def measure() -> dict[str, float]:
        before = held = rss_bytes()
        async with anyio.create_task_group() as group:
            for _ in range(sessions):
                group.start_soon(anyio.sleep_forever)
            await anyio.sleep(0.5)
            gc.collect()
            held = rss_bytes() - before
            group.cancel_scope.cancel()
        return {"held_bytes_per_session": held / sessions}

    return anyio.run(measure)


def read_rows(folder: str, store: str, sessions: int) -> dict[str, float]:
    """B4: how long aiosqlite takes to read all rows of a store, session by session.

    They lie in a plain table with an index, so that this does not depend on how the store keeps them.
    """
    copied = Path(folder) / "copy"
    shutil.copytree(Path(store).parent, copied)
    plain = Path(folder) / "plain.db"
    asyncio.run(_copy_rows(copied / Path(store).name, plain, sessions))
    shutil.rmtree(copied)

    async def measure() -> dict[str, float]:
        began, cpu = time.perf_counter(), time.process_time()
        count = 0
        async with aiosqlite.connect(plain) as connection:
            for number in range(sessions):
                rows = await connection.execute_fetchall(
                    "SELECT seq, body FROM log WHERE sid = ? ORDER BY seq", (number,)
                )
                count += len(list(rows))
        wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
        return {"read_s": wall_s, "read_cpu_s": cpu_s, "rows": float(count)}

    return asyncio.run(measure())


async def _copy_rows(source: Path, plain: Path, sessions: int) -> None:
    store = SqliteStore(source)
    await store.open()
    connection = sqlite3.connect(plain)
    connection.executescript(SCHEMA)
    for number in range(sessions):
        rows = (await store.load(name_of(number))).rows
        connection.executemany(INSERT, [(number, row.seq, row.body) for row in rows])
    connection.commit()
    connection.close()
    await store.close()


if __name__ == "__main__":
    cell_main(
        {
            "durable_aiosqlite": durable_aiosqlite,
            "durable_sqlite3": durable_sqlite3,
            "length": length,
            "wait_anyio": wait_anyio,
            "hold_anyio": hold_anyio,
            "wait_aiosqlite": wait_aiosqlite,
        }
    )
