"""A connection's thread: whole jobs, and one hop for all that wait."""

import sqlite3
import threading
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

import anyio
import pytest

from ukemi.stores.channel import Channel


@pytest.fixture
async def channel(tmp_path: Path) -> AsyncIterator[Channel]:
    channel = Channel(partial(sqlite3.connect, tmp_path / "x.db", isolation_level=None))
    await channel.connect()
    try:
        yield channel
    finally:
        await channel.close()


class Gate:
    """A job that holds the thread until it is opened, and others that note their order."""

    def __init__(self) -> None:
        self.held = threading.Event()
        self.open = threading.Event()
        self.done: list[int] = []
        self.threads: set[int] = set()

    def hold(self, _: sqlite3.Connection) -> None:
        self.held.set()
        assert self.open.wait(10)

    def job(self, number: int, connection: sqlite3.Connection) -> int:
        self.threads.add(threading.get_ident())
        self.done.append(number)
        if number % 10 == 7:
            raise LookupError(number)
        return int(connection.execute("SELECT ?", (number,)).fetchone()[0])


async def ask(channel: Channel, gate: Gate, number: int, answers: dict[int, object]) -> None:
    try:
        answers[number] = await channel.share(partial(gate.job, number))
    except LookupError as error:
        answers[number] = error.args[0] + 1_000


@pytest.mark.parametrize(("seconds", "expected"), [(60.0, 1), (-1.0, 101)])
async def test_each_gets_its_own_answer_or_error_and_a_hop_serves_all_there_is_time_for(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, seconds: float, expected: int
) -> None:
    monkeypatch.setattr("ukemi.stores.channel.SHARE_S_MAX", seconds)
    gate, answers = Gate(), dict[int, object]()
    hops = 0
    work = channel._work  # pyright: ignore[reportPrivateUsage]

    def counted() -> object:
        nonlocal hops
        hops += 1
        return work()

    channel._work = counted  # type: ignore[method-assign,assignment]  # pyright: ignore[reportPrivateUsage,reportAttributeAccessIssue]
    async with anyio.create_task_group() as group:
        group.start_soon(channel.share, gate.hold)
        for number in range(100):
            group.start_soon(ask, channel, gate, number, answers)
        await anyio.to_thread.run_sync(gate.held.wait)
        await anyio.wait_all_tasks_blocked()
        gate.open.set()
    assert answers == {n: n + 1_000 if n % 10 == 7 else n for n in range(100)}
    assert gate.done == list(range(100))
    assert len(gate.threads) == 1 and threading.get_ident() not in gate.threads
    assert hops == expected


async def test_what_several_want_done_is_done_for_all_of_them_at_once(channel: Channel) -> None:
    gate, answers, done = Gate(), dict[int, object](), list[list[int]]()

    def double(_: sqlite3.Connection, items: Sequence[int]) -> list[object]:
        done.append(list(items))
        # No more than five at once; an odd one has an error of its own.
        return [LookupError(each) if each % 2 else 2 * each for each in items[:5]]

    async def ask_for(number: int) -> None:
        try:
            answers[number] = await channel.join(double, number)
        except LookupError as error:
            answers[number] = error.args[0]

    async with anyio.create_task_group() as group:
        group.start_soon(channel.share, gate.hold)
        for number in range(7):
            group.start_soon(ask_for, number)
        group.start_soon(ask, channel, gate, 100, answers)
        group.start_soon(ask_for, 8)
        await anyio.to_thread.run_sync(gate.held.wait)
        await anyio.wait_all_tasks_blocked()
        gate.open.set()
    assert answers == {n: n if n % 2 else 2 * n for n in (*range(7), 8)} | {100: 100}
    assert done == [[0, 1, 2, 3, 4, 5, 6], [5, 6], [8]]


async def test_who_is_cancelled_waits_no_longer_and_the_others_are_served(channel: Channel) -> None:
    gate, answers = Gate(), dict[int, object]()
    async with anyio.create_task_group() as group:
        group.start_soon(channel.share, gate.hold)
        await anyio.to_thread.run_sync(gate.held.wait)
        with anyio.move_on_after(0):
            await ask(channel, gate, 1, answers)
        group.start_soon(ask, channel, gate, 2, answers)
        await anyio.wait_all_tasks_blocked()
        gate.open.set()
    assert answers == {2: 2}
    assert await channel.share(partial(gate.job, 3)) == 3


async def test_closing_leaves_nobody_waiting(tmp_path: Path) -> None:
    channel = Channel(partial(sqlite3.connect, tmp_path / "y.db", isolation_level=None))
    await channel.connect()
    gate, ended = Gate(), list[str]()

    async def ask_on(number: int) -> None:
        try:
            await channel.share(partial(gate.job, number))
            ended.append("answered")
        except sqlite3.ProgrammingError:
            ended.append("closed")

    async with anyio.create_task_group() as group:
        group.start_soon(channel.share, gate.hold)
        await anyio.to_thread.run_sync(gate.held.wait)
        group.start_soon(channel.close)
        await anyio.wait_all_tasks_blocked()
        for number in range(5):
            group.start_soon(ask_on, number)
        await anyio.wait_all_tasks_blocked()
        gate.open.set()
    assert len(ended) == 5
    for ask in (channel.share, channel.run):
        with pytest.raises(sqlite3.ProgrammingError):
            await ask(partial(gate.job, 9))
