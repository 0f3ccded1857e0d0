"""Several writers to one session or one store: CW-01 to CW-03, with processes of their own."""

import json
import os
import sqlite3
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from sessions import REAL_BACKENDS, agent, ended, opened, put_history, raw_rows, until

from ukemi import Agent, Completed, Runtime, tool
from ukemi.models import call
from ukemi.stores.base import Conflict, Done, Fenced, HeadQuery, Rewrite, SessionOwned
from ukemi.stores.records import Opened, Said, decode_row
from ukemi.stores.sqlite import SqliteStore

pytestmark = pytest.mark.realtime
CHILD = Path(__file__).parent.parent / "support/case_child.py"


@pytest.fixture(params=REAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Processes and files take real time."""
    backend: tuple[str, dict[str, object]] = request.param
    return backend


class Child:
    """A process that carries out commands over a store."""

    def __init__(self, process: Process) -> None:
        self.process = process
        assert process.stdout is not None
        self._lines = BufferedByteReceiveStream(process.stdout)

    async def heard(self, key: str) -> dict[str, Any]:
        """Return the next line that has this key."""
        with anyio.fail_after(20.0):
            while True:
                line = await self._lines.receive_until(b"\n", 1_000_000)
                told: dict[str, Any] = json.loads(line)
                if key in told:
                    return told

    async def do(self, *words: str) -> dict[str, Any]:
        """Give a command and return what came of it."""
        assert self.process.stdin is not None
        await self.process.stdin.send(" ".join(words).encode() + b"\n")
        return await self.heard("done")


@asynccontextmanager
async def child(*words: object) -> AsyncGenerator[Child]:
    """Run a child for a block, and kill it at its end."""
    command = [sys.executable, str(CHILD), *map(str, words)]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(
            [str(CHILD.parent), *sys.path[:1], os.environ.get("PYTHONPATH", "")]
        ),
    }
    process = await anyio.open_process(command, env=environment, stderr=None)
    try:
        yield Child(process)
    finally:
        if process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.wait()
            await process.aclose()


# ---------------------------------------------------------------- CW-01


@asynccontextmanager
async def two_on_one_session(
    folder: Path,
) -> AsyncGenerator[tuple[Path, Path, list[Child], list[dict[str, Any]]]]:
    """Let A take the session's turn and B send it a message, within 10 ms of one another."""
    path, effects = folder / "store.db", folder / "effects.txt"
    async with opened(SqliteStore(path)) as store:
        await put_history(store, "s-1", [[Opened("agent", 1), Said(1, "go")]])
    async with child("talk", path, effects) as a, child("talk", path, effects) as b:
        await a.heard("event")
        await b.heard("event")
        replies: list[dict[str, Any]] = [{}, {}]

        async def tell(at: int, who: Child, *words: str) -> None:
            replies[at] = await who.do(*words)

        async with anyio.create_task_group() as group:
            group.start_soon(tell, 0, a, "resume", "s-1")
            group.start_soon(tell, 1, b, "send", "s-1", "hello")
        yield path, effects, [a, b], replies


async def test_CW_01_one_owns_it_and_the_other_is_refused_before_it_does_anything(
    tmp_path: Path,
) -> None:
    async with two_on_one_session(tmp_path) as (path, effects, children, replies):
        errors = [reply.get("error") for reply in replies]
        assert sorted(errors, key=str) == [None, "SessionOwned"]
        loser = errors.index("SessionOwned")
        assert (replies[loser]["asked"], replies[loser]["ran"]) == (0, 0)
        assert "s-1" in replies[loser]["text"]
        # The winner is at work; reading works for anybody meanwhile.
        await until(effects.exists)
        async with Runtime(path, agents=[agent(["x"])], adopt=False) as reader:
            inspection = await reader.session("s-1").inspect()
            assert inspection.status == "running"
            assert inspection.owner is not None
            assert (await reader.session("s-1").checkpoint()).messages
            with pytest.raises(SessionOwned, match="s-1"):
                await reader.session("s-1").send("me too")
        again = await children[loser].do("send", "s-1", "again")
        assert again["error"] == "SessionOwned"
        assert (again["asked"], again["ran"]) == (0, 0)
    assert len(effects.read_text().split()) == 1


async def test_CW_01_sequence_numbers_are_unique_and_without_gaps(tmp_path: Path) -> None:
    async with two_on_one_session(tmp_path) as (path, effects, _, _):
        await until(effects.exists)
    async with opened(SqliteStore(path)) as store:
        stored = await store.load("s-1")
    assert [row.seq for row in stored.rows] == list(range(1, len(stored.rows) + 1))
    numbers = [
        each.n for row in stored.rows for each in decode_row(row.body) if isinstance(each, Said)
    ]
    assert len(numbers) == len(set(numbers))


async def test_CW_01_after_a_kill_the_other_takes_over_within_the_lease(tmp_path: Path) -> None:
    async with two_on_one_session(tmp_path) as (path, effects, children, replies):
        winner = next(at for at, reply in enumerate(replies) if "error" not in reply)
        loser = 1 - winner
        await until(effects.exists)
        children[winner].process.kill()
        await children[winner].process.wait()
        killed_at = time.monotonic()
        with anyio.fail_after(12.0):
            while "error" in (reply := await children[loser].do("send", "s-1", "again")):
                assert reply["error"] == "SessionOwned"
                await anyio.sleep(0.2)
        assert time.monotonic() - killed_at <= 10.0
        outcome = await children[loser].do("outcome", "s-1")
        # The killed call is in doubt and is not run again; what was sent lets the session go on.
        assert outcome["result"] == repr(Completed("done"))
        async with Runtime(path, adopt=False) as reader:
            (doubt,) = (await reader.session("s-1").inspect()).in_doubt
            assert doubt.tool == "effect"
    assert len(effects.read_text().split()) == 1


# ---------------------------------------------------------------- CW-02


async def test_CW_02_a_stale_copy_is_refused_and_the_added_turns_are_there(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    talkative = agent([f"answer {at}" for at in range(20)])
    async with Runtime(path, agents=[talkative]) as runtime_a:
        handle = await runtime_a.start("agent", "go", session_id="s-1")
        await ended(runtime_a, "s-1", 10.0)
        for at in range(4):
            await handle.send(f"question {at}")
            await ended(runtime_a, "s-1", 10.0)
        async with opened(SqliteStore(path)) as store_a:
            copy = await store_a.load("s-1")  # A idles with this
            # A's ownership has ended with the session's end. B adds two turns and exits.
            async with Runtime(path, agents=[talkative]) as runtime_b:
                for at in range(2):
                    await runtime_b.session("s-1").send(f"from B {at}")
                    await ended(runtime_b, "s-1", 10.0)
            after_b = await raw_rows(store_a, "s-1")
            assert len(after_b) > len(copy.rows)

            def summary(of: Any) -> Rewrite:
                return Rewrite(
                    session_id="s-1",
                    epoch=of.head.epoch,
                    seq=of.head.seq,
                    rows=tuple(of.rows),
                    oldest_counter=of.head.oldest_counter,
                )

            (refused,) = await store_a.commit([summary(copy)])
            assert isinstance(refused, Conflict | Fenced)
            assert "s-1" in str(refused)
            assert await raw_rows(store_a, "s-1") == after_b
            # A loads again and does it on what is there now.
            (done,) = await store_a.commit([summary(await store_a.load("s-1"))])
            assert isinstance(done, Done)
            assert await raw_rows(store_a, "s-1") == after_b
        # A's old handle goes on from B's turns, not from its own copy.
        await handle.send("from A again")
        await ended(runtime_a, "s-1", 10.0)
        async with opened(SqliteStore(path)) as store:
            rows = await raw_rows(store, "s-1")
    assert rows[: len(after_b)] == after_b
    said = [each.text for _, _, body in rows for each in decode_row(body) if isinstance(each, Said)]
    assert said[-3:] == ["from B 0", "from B 1", "from A again"]


# ---------------------------------------------------------------- CW-03


async def run_load(path: Path, sessions: int, steps: int) -> list[dict[str, Any]]:
    """Run two processes and a reader that lists all the time; return what the processes told."""
    async with opened(SqliteStore(path)):
        pass
    told: list[dict[str, Any]] = []
    lists = 0

    async def run(name: str) -> None:
        async with child("load", path, name, sessions, steps) as one:
            with anyio.fail_after(120.0):
                told.append(await one.heard("ran"))

    async with opened(SqliteStore(path)) as store, anyio.create_task_group() as readers:

        async def read() -> None:
            nonlocal lists
            while True:
                await store.heads(HeadQuery(limit=1000))
                lists += 1
                await anyio.sleep(0.005)

        readers.start_soon(read)
        async with anyio.create_task_group() as group:
            group.start_soon(run, "one")
            group.start_soon(run, "two")
        readers.cancel_scope.cancel()
    assert lists > 10
    return told


async def check_load(path: Path, told: list[dict[str, Any]], sessions: int, steps: int) -> None:
    for each in told:
        assert each["alerts"] == []
        assert set(each["outcomes"].values()) == {"Completed"}
        assert each["ran"] == sessions * steps
        assert each["acknowledged"] == sessions * steps
    async with opened(SqliteStore(path)) as store:
        heads = await store.heads(HeadQuery(limit=1000))
        assert len(heads) == 2 * sessions
        for head in heads:
            stored = await store.load(head.session_id)
            assert head.counter == steps
            kept = [row for row in stored.rows if row.counter >= max(1, head.oldest_counter)]
            assert sorted({row.counter for row in kept}) == list(
                range(max(1, head.oldest_counter), steps + 1)
            )
            assert stored.rows[-1].seq == head.seq


@pytest.mark.parametrize(
    ("sessions", "steps"),
    [(10, 10), pytest.param(50, 20, marks=pytest.mark.slow, id="full load")],
)
async def test_CW_03_two_processes_write_into_one_file_and_nobody_sees_a_lock(
    tmp_path: Path, sessions: int, steps: int
) -> None:
    """Each step is two writes, so 20 steps are the case's 40. The lag is the best of three."""
    lags: list[float] = []
    for number in range(3):
        path = tmp_path / f"store{number}.db"
        told = await run_load(path, sessions, steps)
        await check_load(path, told, sessions, steps)
        lags.append(max(each["lag"] for each in told))
        if lags[-1] <= 0.1:
            return
    pytest.fail(f"the event loops were blocked for {lags} s")


async def test_CW_03_a_write_that_waits_too_long_is_repeated_alone(tmp_path: Path) -> None:
    """Longer than the store's bounded wait: the tool that led to the write is not run again."""
    path = tmp_path / "store.db"
    ran: list[int] = []
    holding = anyio.Event()

    @tool
    async def effect(number: int) -> str:
        ran.append(number)
        if number == 2:
            lock.execute("BEGIN IMMEDIATE")
            holding.set()
        return "ok"

    of: Agent = agent([*[call("effect", number=at) for at in range(4)], "done"], [effect])
    async with Runtime(SqliteStore(path, wait_s_max=0.3), agents=[of]) as runtime:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=5.0)) as lock:
            handle = await runtime.start("agent", "go", session_id="s-1")
            with anyio.fail_after(10.0):
                await holding.wait()
            await anyio.sleep(1.0)
            assert (await handle.inspect()).status == "running"
            lock.execute("ROLLBACK")
            assert await ended(runtime, "s-1", 10.0) == Completed("done")
        assert any("locked" in each or "lock" in each for each in runtime.alerts)
        assert (await handle.checkpoint()).checkpoint_counter == 4
    assert ran == [0, 1, 2, 3]
