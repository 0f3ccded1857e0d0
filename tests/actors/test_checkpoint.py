"""The checkpoint actor alone: who is told when, and what is committed meanwhile."""

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import anyio
import pytest

from ukemi.actors.checkpoint import PORTION_MIN, Asked, CheckpointActor, Commit
from ukemi.stores.base import Append, Done, Store, Write, Written
from ukemi.supervisor import Context
from ukemi.supervisor.clock import SystemClock
from ukemi.supervisor.loops import current_loop

SESSIONS = 4 * PORTION_MIN
ROWS = 6


class SlowStore:
    """Takes a second for each commit."""

    def __init__(self) -> None:
        self.committing = False
        self.stored: list[tuple[str, int]] = []
        self.batches: list[int] = []

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        assert not self.committing
        self.committing = True
        await anyio.sleep(1)
        self.committing = False
        rows = [cast(Append, write) for write in writes]
        self.stored += [(row.session_id, row.seq) for row in rows]
        self.batches.append(len(rows))
        return [Done(1, row.seq) for row in rows]


class Mailbox:
    """What the actor is run with, and spoken to by."""

    def __init__(self) -> None:
        self.ref = self
        self._messages: list[Commit] = []
        self._told = anyio.Event()

    def ready(self) -> None: ...

    def tell(self, message: Commit) -> None:
        self._messages.append(message)
        self._told.set()

    async def take(self) -> list[Commit]:
        while not self._messages:
            self._told = anyio.Event()
            await self._told.wait()
        taken, self._messages = self._messages, []
        return taken


class World:
    """Sessions that store one row after another, each when the one before it is acknowledged."""

    def __init__(self, sessions: int = SESSIONS) -> None:
        self.store = SlowStore()
        self.faults: list[str] = []
        self.actor = CheckpointActor(
            cast(Store, self.store),
            SystemClock(),
            retry_s_max=lambda: 1.0,
            on_fault=self.faults.append,
        )
        self.names = [f"s-{number}" for number in range(sessions)]
        self.told: list[tuple[str, int]] = []
        self.told_while_committing = 0

    async def run(self) -> None:
        """Serve, as the kernel has it done."""
        await self.actor.run(cast("Context[Commit]", Mailbox()))

    def ask(self, name: str, seq: int) -> None:
        row = Append(session_id=name, epoch=1, seq=seq, counter=seq, body=b"")
        self.actor.submit(Asked(row, partial(self._done, name, seq)))

    def ask_all(self) -> None:
        for name in self.names:
            self.ask(name, 1)

    def _done(self, name: str, seq: int, written: Written) -> None:
        assert written == Done(1, seq)
        assert (name, seq) in self.store.stored, "acknowledged before it was stored"
        self.told.append((name, seq))
        self.told_while_committing += self.store.committing
        if seq < ROWS:
            current_loop().call_soon(partial(self.ask, name, seq + 1))


async def served(world: World, seconds: float) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(world.run)
        await anyio.sleep(0.1)
        world.ask_all()
        await anyio.sleep(seconds)
        group.cancel_scope.cancel()


async def test_some_sessions_go_on_while_the_rows_of_others_are_committed() -> None:
    world = World()
    await served(world, 4.0 * ROWS)
    every = sorted((name, seq) for name in world.names for seq in range(1, ROWS + 1))
    assert sorted(world.told) == sorted(world.store.stored) == every
    assert not world.faults
    if not current_loop().is_trio:  # trio draws lots for who is next
        half = SESSIONS // 2
        assert world.store.batches == [SESSIONS, *[half] * 2 * (ROWS - 1)]
        assert world.told_while_committing == half * 2 * (ROWS - 1) - half


async def test_few_rows_are_not_parted() -> None:
    """A commit more would cost more than what it overlaps with."""
    few = 2 * PORTION_MIN - 1
    world = World(few)
    await served(world, 4.0 * ROWS)
    assert world.store.batches == [few] * ROWS
    assert world.told_while_committing == 0


@pytest.mark.parametrize("seconds", [1.0, 1.5, 2.0, 2.5])
async def test_an_actor_that_is_stopped_has_told_of_all_that_is_stored(seconds: float) -> None:
    world = World()
    await served(world, seconds)
    assert set(world.told) >= {each for each in world.store.stored if each[1] == 1}
    assert sorted(world.told) == sorted(world.store.stored)


async def test_whoever_fails_when_it_is_told_keeps_nobody_else_from_it() -> None:
    world = World()

    def fails(_: Any) -> None:
        raise RuntimeError("a hook")

    async with anyio.create_task_group() as group:
        group.start_soon(world.run)
        await anyio.sleep(0.1)
        for place, name in enumerate(world.names):
            if place % 40 == 7:
                row = Append(session_id=f"bad-{place}", epoch=1, seq=1, counter=1, body=b"")
                world.actor.submit(Asked(row, fails))
            world.ask(name, ROWS)
        await anyio.sleep(3)
        group.cancel_scope.cancel()
    assert sorted(world.told) == sorted((name, ROWS) for name in world.names)
    assert len(world.faults) == len(range(7, SESSIONS, 40))
