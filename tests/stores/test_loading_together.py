"""Sessions loaded side by side are read together, and each is told what it would be told by itself."""

import sqlite3
from contextlib import closing
from random import Random

import anyio
import pytest
from store_tools import append, grow, write

from ukemi.stores.base import Pack, Store, StoreError
from ukemi.stores.sqlite import SqliteStore
from ukemi.stores.sqlite_loading import ROWS_AT_ONCE

SPOILED = [
    "UPDATE log SET prev = 0 WHERE num = 3 AND seq = 3",
    "UPDATE log SET body = x'00' WHERE num = 4 AND seq = 2",
    "DELETE FROM log WHERE num = 5 AND seq = 4",
    "UPDATE seg SET idx = x'00' WHERE key >> 32 = 6",
    "UPDATE head SET epoch = 'noise' WHERE num = 7",
    "UPDATE live SET seq = 'noise' WHERE num = 7",
    "UPDATE live SET last = last + 1 WHERE num = 8",
]


async def told(store: Store, session_id: str) -> object:
    """What a load answers: a session, or its error in words."""
    try:
        return await store.load(session_id)
    except StoreError as error:
        return type(error), str(error)


async def told_together(store: Store, ids: list[str]) -> list[object]:
    answers: dict[int, object] = {}

    async def one(at: int) -> None:
        answers[at] = await told(store, ids[at])

    async with anyio.create_task_group() as group:
        for at in range(len(ids)):
            group.start_soon(one, at)
    return [answers[at] for at in range(len(ids))]


async def filled(store: Store) -> list[str]:
    """Sessions of all kinds: short, packed in part or whole, parked, and longer than is read at once."""
    ids = [f"s-{number}" for number in range(1, 41)]
    for number, session_id in enumerate(ids, 1):
        rows = 3 + number % 4
        await grow(store, session_id, rows)
        if number % 6 == 0:
            await write(store, Pack(session_id=session_id))
        if number % 12 == 0:
            rows += 1
            await write(store, append(session_id, rows))
        if number % 9 == 0:
            await write(store, append(session_id, rows + 1, status="parked"))
    await grow(store, "long", ROWS_AT_ONCE + 10)
    return [*ids, "long", "nobody", "\ud800", "s-2", "s-2"]


@pytest.mark.parametrize("spoiled", [False, True], ids=["whole", "damaged"])
async def test_what_is_told_is_what_each_would_be_told_alone(
    sqlite: SqliteStore, spoiled: bool
) -> None:
    ids = await filled(sqlite)
    Random(7).shuffle(ids)
    if spoiled:
        with closing(sqlite3.connect(sqlite.path)) as connection, connection:
            for statement in SPOILED:
                assert connection.execute(statement).rowcount > 0, statement
    together = await told_together(sqlite, ids)
    assert together == [await told(sqlite, session_id) for session_id in ids]
    if not spoiled:
        # Without the one that has no bytes in a file, nothing has to be read one by one.
        readable = [each for each in ids if each != "\ud800"]
        assert await told_together(sqlite, readable) == [await told(sqlite, x) for x in readable]
