"""Back-pressure: what is on its way to the disk is bounded, in order, and nobody who leaves blocks the others."""

import random

import anyio
import pytest
from store_tools import append, create, write

from ukemi.stores import SqliteStore
from ukemi.stores.base import Done
from ukemi.stores.room import Room

Load = tuple[int, int]


class Visitor:
    """Enters with its load and stays until it is told to leave."""

    def __init__(self, room: Room, load: Load, log: list["Visitor"]) -> None:
        self.room, self.load, self.log = room, load, log
        self.scope, self.go = anyio.CancelScope(), anyio.Event()
        self.inside = False

    async def run(self) -> None:
        with self.scope:
            await self.room.enter(*self.load)
            self.log.append(self)
            self.inside = True
            try:
                await self.go.wait()
            finally:
                self.inside = False
                self.room.leave(*self.load)


async def visit(loads: list[Load], acts: list[tuple[str, int]]) -> None:
    room, log = Room(4, 40), list[Visitor]()
    visitors = [Visitor(room, load, log) for load in loads]

    def check() -> None:
        inside = [each.load for each in visitors if each.inside]
        heavy = [load for load in inside if load != (0, 0)]
        assert len(heavy) <= 1 or (
            sum(w for w, _ in inside) <= 4 and sum(b for _, b in inside) <= 40
        )

    async with anyio.create_task_group() as group:
        for each in visitors:
            group.start_soon(each.run)
        await anyio.wait_all_tasks_blocked()
        check()
        for act, number in acts:
            each = visitors[number % len(visitors)]
            each.scope.cancel() if act == "cancel" else each.go.set()
            await anyio.wait_all_tasks_blocked()
            check()
        for each in visitors:  # in any order, everybody gets in and out
            each.go.set()
    cancelled = {visitors.index(each) for each in visitors if each.scope.cancelled_caught}
    entered = [visitors.index(each) for each in log]
    assert entered == sorted(entered), "first come, first served"
    assert set(entered) | cancelled == set(range(len(visitors)))
    await room.enter(4, 40)  # nothing is left behind
    room.leave(4, 40)


@pytest.mark.parametrize("seed", range(60))
async def test_never_more_inside_than_fits_and_in_order(seed: int) -> None:
    rng = random.Random(seed)
    loads = [(rng.randint(0, 6), rng.randint(0, 60)) for _ in range(rng.randint(1, 12))]
    acts = [
        (rng.choice(("leave", "cancel")), rng.randint(0, 50)) for _ in range(rng.randint(0, 30))
    ]
    await visit(loads, acts)


async def test_a_store_hands_its_writer_no_more_than_fits(sqlite: SqliteStore) -> None:
    sqlite._room = Room(writes=2)  # pyright: ignore[reportPrivateUsage]
    await write(sqlite, *(create(f"s-{n}") for n in range(6)))
    writer = sqlite._writer  # pyright: ignore[reportPrivateUsage]
    assert writer is not None
    handed: list[int] = []
    most = 0
    run = writer.run

    async def counted(job: object) -> object:
        nonlocal most
        handed.append(1)
        most = max(most, len(handed))
        try:
            return await run(job)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType,reportUnknownVariableType]
        finally:
            handed.pop()

    writer.run = counted  # type: ignore[method-assign,assignment]  # pyright: ignore[reportAttributeAccessIssue]
    results: list[object] = []
    queued = 0

    async def commit(number: int) -> None:
        nonlocal queued
        results.extend(await sqlite.commit([append(f"s-{number}", 2)]))
        queued = max(queued, sqlite.health().queued)

    async with anyio.create_task_group() as group:
        for number in range(6):
            group.start_soon(commit, number)
    assert len(results) == 6 and all(isinstance(each, Done) for each in results)
    assert (most, queued) == (2, 5)
    assert sqlite.health().queued == 0


async def test_who_waits_for_room_can_be_cancelled_and_has_stored_nothing(
    sqlite: SqliteStore,
) -> None:
    sqlite._room = Room(writes=1)  # pyright: ignore[reportPrivateUsage]
    await write(sqlite, create("s-1"))
    await sqlite._room.enter(1, 0)  # pyright: ignore[reportPrivateUsage]
    with anyio.move_on_after(0) as scope:
        await sqlite.commit([append("s-1", 2)])
    assert scope.cancelled_caught and sqlite.health().queued == 0
    sqlite._room.leave(1, 0)  # pyright: ignore[reportPrivateUsage]
    assert [each.seq for each in (await sqlite.load("s-1")).rows] == [1]
    await write(sqlite, append("s-1", 2))
