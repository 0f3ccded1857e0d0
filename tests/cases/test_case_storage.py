"""Kills in the middle of a write, damage, cancelled writes, and what is kept: CC, CA-02, CG-01."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from sessions import (
    PATIENT,
    REAL_BACKENDS,
    agent,
    answers,
    conversation,
    ended,
    journal,
    opened,
    run_one,
    until,
)
from store_faults import Fault, FaultyStore, damage, stored_body

from ukemi import Agent, Budget, Completed, HandedOver, Runtime, SessionHandle, Stopped, tool
from ukemi.actors.model import AssistantMessage, ModelReply, ModelRequest, ToolMessage
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.base import CheckpointUnknown, SessionDamaged, Store
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Intended, Resulted
from ukemi.stores.sqlite import SqliteStore
from ukemi.supervisor.policy import Policy

pytestmark = pytest.mark.slow  # no bound in real time is asserted, so they need not run alone
CHILD = Path(__file__).parent.parent / "support/case_child.py"


@pytest.fixture(params=REAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Processes and files take real time."""
    backend: tuple[str, dict[str, object]] = request.param
    return backend


def run_child(path: Path, *words: object, until_line: str | None = None) -> list[dict[str, Any]]:
    """Run a process that is killed, by itself or when it has told a line; return what it told."""
    environment = {**os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(CHILD.parent), os.environ.get("PYTHONPATH", "")]
    )
    command = [sys.executable, str(CHILD), "steps", str(path), *map(str, words)]
    told: list[dict[str, Any]] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        watchdog = threading.Timer(30.0, process.kill)
        watchdog.start()
        assert process.stdout is not None
        for line in process.stdout:
            told.append(json.loads(line))
            if until_line is not None and until_line in line:
                process.kill()
        watchdog.cancel()
    assert process.returncode == -signal.SIGKILL, f"the child ended with {process.returncode}"
    return told


def producer(count: int) -> Agent:
    """The same agent as in the child, which ends after so many steps."""

    @tool(effect="read")
    async def produce(number: int) -> str:
        return f"{number} again"

    def says(request: ModelRequest) -> Reply:
        done = answers(request)
        return call("produce", number=done + 1) if done < count else "done"

    return agent(says, [produce])


# ---------------------------------------------------------------- CC-01

SIZE = 64 * 1024
# Before the first byte, after the last one, and at moments in between: microseconds after the
# commit was asked for.
MOMENTS = [("before", 0), ("after", 0), *(("before", delay) for delay in (
    1, 20, 50, 100, 150, 200, 300, 400, 500, 600, 700, 800, 1_000, 1_200, 1_500, 2_000, 3_000, 5_000
))]  # fmt: skip
SAMPLE = (0, 1, 6, 12)


@pytest.mark.parametrize(
    "at",
    [
        pytest.param(at, marks=() if at in SAMPLE else pytest.mark.slow)
        for at in range(len(MOMENTS))
    ],
)
async def test_CC_01_a_write_cut_off_by_a_kill_leaves_one_whole_checkpoint(
    tmp_path: Path, at: int
) -> None:
    path = tmp_path / "store.db"
    when, delay_us = MOMENTS[at]
    told = await anyio.to_thread.run_sync(run_child, path, 8, SIZE, 8, when, delay_us)
    acknowledged = max(each["stored"] for each in told if "stored" in each)
    assert acknowledged >= 7
    async with Runtime(path, adopt=False) as reader:
        assert [head.session_id for head in await reader.sessions()] == ["s-1"]
        (head,) = await reader.sessions()
        assert head.damaged is None
        checkpoint = await reader.session("s-1").checkpoint()
        assert checkpoint.checkpoint_counter in (7, 8)
        assert checkpoint.checkpoint_counter >= acknowledged
        contents = [each.content for each in checkpoint.tool_history]
        assert contents[:7] == [f"{number} " + chr(96 + number) * 50 for number in range(1, 8)]
        if checkpoint.checkpoint_counter == 8:
            assert await reader.session("s-1").result_text(8) == "8 " + "h" * SIZE
    # The next write works, and leaves nothing behind of the one that was cut off.
    of = producer(10)
    async with Runtime(path, agents=[of]) as runtime:
        assert await ended(runtime, "s-1", 20.0) == Completed("done")
        assert len(await runtime.sessions()) == 1
        assert (await runtime.session("s-1").checkpoint()).checkpoint_counter == 10
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


# ---------------------------------------------------------------- CC-02


@pytest.mark.parametrize("cut", [1, 100, 2_000, 4_000])
async def test_CC_02_half_a_record_at_the_end_is_cut_off_before_the_next_append(
    tmp_path: Path, cut: int
) -> None:
    """The last record is in the log's file by half, as after a power cut in the middle of it."""
    whole, path = tmp_path / "whole.db", tmp_path / "store.db"
    await anyio.to_thread.run_sync(
        lambda: run_child(whole, 5, 50, 0, "before", 0, until_line="hangs")
    )
    cut_off_the_end(whole, path, cut)
    async with opened(SqliteStore(path)) as store:
        before = await store.load("s-1")
    assert before.head.counter == 4
    of = producer(5)
    async with Runtime(path, agents=[of]) as runtime:
        assert await ended(runtime, "s-1", 20.0) == Completed("done")
    async with opened(SqliteStore(path)) as store:  # another process would read the same
        after = await store.load("s-1")
        results = [each for each in await journal(store, "s-1") if isinstance(each, Resulted)]
    assert [(row.seq, row.body) for row in after.rows[: len(before.rows)]] == [
        (row.seq, row.body) for row in before.rows
    ]
    assert [row.seq for row in after.rows] == list(range(1, len(after.rows) + 1))
    assert [each.counter for each in results] == [1, 2, 3, 4, 5]
    assert results[-1].content == "5 again"


def cut_off_the_end(whole: Path, path: Path, cut: int) -> None:
    """Copy a store whose process was killed, without the last bytes of its log."""
    shutil.copy(whole, path)
    wal = Path(f"{whole}-wal").read_bytes()
    Path(f"{path}-wal").write_bytes(wal[: last_frame_end(wal) - cut])


def last_frame_end(wal: bytes) -> int:
    """Return where the last valid frame of a write-ahead log ends; what follows is of no account."""
    page = int.from_bytes(wal[8:12])
    salt, end = wal[16:24], 32
    while end + 24 + page <= len(wal) and wal[end + 8 : end + 16] == salt:
        end += 24 + page
    return end


# ---------------------------------------------------------------- CC-03


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "store.db")


@asynccontextmanager
async def damaged(place: Store, *, running: bool) -> AsyncGenerator[bytes]:
    """Make s-3 with checkpoints 1 and 2 and a broken 3, beside s-1; yield the broken bytes."""
    of = producer(3)
    hanging = anyio.Event()

    async def hang() -> None:
        hanging.set()
        await anyio.sleep_forever()

    def says(request: ModelRequest) -> Any:
        done = answers(request)
        if done < 3:
            return call("produce", number=done + 1)
        return hang() if running and request.session_id == "s-3" else "done"

    of = agent(says, of.tools)
    with anyio.CancelScope() as scope:
        async with Runtime(place, agents=[of]) as runtime:
            await run_one(runtime, of, session_id="s-1")
            await runtime.start("agent", "go", session_id="s-3")
            with anyio.fail_after(10.0):
                if not running:
                    await runtime.session("s-3").outcome()
                else:
                    await hanging.wait()
                    scope.cancel()
    async with opened(place):
        stored = await place.load("s-3")
        last = next(row.seq for row in stored.rows if row.counter == 3)
    noise = b"\xc1" + bytes(range(256))
    damage(place, "s-3", last, noise)
    yield noise
    assert stored_body(place, "s-3", last) == noise


@pytest.mark.parametrize("running", [False, True], ids=["ended", "unfinished"])
async def test_CC_03_damage_is_told_and_never_read_as_emptiness(
    place: Store, running: bool
) -> None:
    of = producer(3)
    async with damaged(place, running=running), Runtime(place, agents=[of]) as runtime:
        if running:
            assert any("s-3" in each for each in runtime.alerts)
        with pytest.raises(SessionDamaged, match=r"s-3.*3"):
            await runtime.session("s-3").checkpoint()
        with pytest.raises(SessionDamaged, match=r"s-3.*3"):
            await runtime.session("s-3").inspect()
        heads = {head.session_id: head for head in await runtime.sessions()}
        assert heads.keys() == {"s-1", "s-3"}
        assert heads["s-1"].damaged is None
        if running:
            # A list reads the last row of each session; behind an end there is one more.
            assert heads["s-3"].damaged is not None
            assert "3" in heads["s-3"].damaged


@pytest.mark.parametrize("running", [False, True], ids=["ended", "unfinished"])
async def test_CC_03_a_save_on_top_is_refused_and_the_bytes_stay(
    place: Store, running: bool
) -> None:
    of = producer(3)
    async with damaged(place, running=running):
        for _ in range(2):
            async with Runtime(place, agents=[of]) as runtime:
                with pytest.raises(SessionDamaged, match="s-3"):
                    await runtime.session("s-3").send("go on")
                with pytest.raises(SessionDamaged, match="s-3"):
                    await runtime.session("s-3").cancel()


async def test_CC_03_the_checkpoint_before_is_loaded_on_request_and_the_loss_told(
    place: Store,
) -> None:
    async with damaged(place, running=True):
        async with Runtime(place, adopt=False) as runtime:
            checkpoint = await runtime.session("s-3").checkpoint(2)
            assert checkpoint.checkpoint_counter == 2
            assert [each.content for each in checkpoint.tool_history] == ["1 again", "2 again"]
            (head,) = [each for each in await runtime.sessions() if each.session_id == "s-3"]
            assert head.damaged is not None
        async with opened(place):
            stored = await place.load("s-3", fallback=True)
        assert stored.lost is not None
        assert "3" in stored.lost
        assert max(row.counter for row in stored.rows) == 2


async def test_CC_03_other_sessions_of_the_store_go_on_as_usual(place: Store) -> None:
    of = agent(["done again"] * 9)
    async with damaged(place, running=True), Runtime(place, agents=[of]) as runtime:
        assert (await runtime.session("s-1").checkpoint()).checkpoint_counter == 3
        await runtime.session("s-1").send("go on")
        assert await ended(runtime, "s-1", 10.0) == Completed("done again")
        assert await run_one(runtime, of, session_id="s-4") == Completed("done again")


# ---------------------------------------------------------------- CA-02


class Writing:
    """A session whose one effect's result is being stored when somebody cancels."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = FaultyStore(SqliteStore(path))
        self.ran = 0
        self.armed = anyio.Event()
        self.plan: list[Fault] = []
        self.before_result: Any = None

        @tool
        async def effect() -> str:
            self.ran += 1
            if self.before_result is not None:
                self.before_result()
            for fault in self.plan:
                fault.at += self.store.commits
            self.store.plan += self.plan
            self.armed.set()
            return "done it"

        self.first = agent([call("effect"), "done", "done again"], [effect], name="first")
        self.second = producer(2)


@asynccontextmanager
async def external_lock(path: Path) -> AsyncGenerator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=1.0)) as connection:
        yield connection


async def check_CA_02(runtime: Runtime, writing: Writing, handle: SessionHandle) -> None:
    """The second session writes within a second; the first is wholly there or wholly absent."""
    with anyio.fail_after(1.0):
        await runtime.start("agent", "go", session_id="second")
        assert await runtime.session("second").outcome() == Completed("done")
    outcome = await ended(runtime, "first", 5.0)
    inspection = await handle.inspect()
    async with opened(SqliteStore(writing.path)) as store:
        entries = await journal(store, "first")
    results = [each for each in entries if isinstance(each, Resulted)]
    assert len(results) == 1
    if results[0].state == "succeeded":
        assert results[0].content == "done it"
        assert inspection.in_doubt == ()
    else:
        assert [each.tool for each in inspection.in_doubt] == ["effect"]
    assert isinstance(outcome, Stopped | HandedOver | Completed)
    assert inspection.checkpoint == 1
    assert writing.ran == 1
    # Nobody holds a transaction: another connection can begin one at once.
    with closing(sqlite3.connect(writing.path, isolation_level=None, timeout=0.0)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")


async def test_CA_02_cancelled_while_begin_waits_for_the_lock(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "store.db")
    async with Runtime(writing.store, agents=[writing.first, writing.second]) as runtime:
        async with external_lock(writing.path) as lock:
            writing.before_result = lambda: lock.execute("BEGIN IMMEDIATE")
            handle = await runtime.start("first", "go", session_id="first")
            await writing.armed.wait()
            await anyio.sleep(0.1)
            async with anyio.create_task_group() as group:
                group.start_soon(handle.cancel)
                await anyio.sleep(0.2)
                lock.execute("ROLLBACK")
        await check_CA_02(runtime, writing, handle)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("who", ["the session", "its caller"])
async def test_CA_02_cancelled_around_the_commit(tmp_path: Path, when: str, who: str) -> None:
    """Before: after the insert was asked for. After: it is done and nobody has been told yet."""
    writing = Writing(tmp_path / "store.db")
    moment: Any = when
    writing.plan = [Fault(at=1, when=moment, hang=True, error=None)]
    async with Runtime(writing.store, agents=[writing.first, writing.second]) as runtime:
        handle = await runtime.start("first", "go", session_id="first")
        await writing.store.hanging.wait()
        async with anyio.create_task_group() as group:
            if who == "the session":
                group.start_soon(handle.cancel)
            else:
                group.start_soon(handle.outcome)
            await anyio.sleep(0.1)
            writing.store.release()
            if who == "its caller":
                group.cancel_scope.cancel()
        await check_CA_02(runtime, writing, handle)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_CA_02_the_runtime_is_left_during_the_commit(tmp_path: Path, when: str) -> None:
    """The next runtime finds the checkpoint wholly there or wholly absent, and no lock."""
    writing = Writing(tmp_path / "store.db")
    moment: Any = when
    writing.plan = [Fault(at=1, when=moment, hang=True, error=None)]
    with anyio.CancelScope() as scope:
        async with Runtime(writing.store, agents=[writing.first, writing.second]) as runtime:
            await runtime.start("first", "go", session_id="first")
            await writing.store.hanging.wait()
            writing.store.release()
            scope.cancel()
            await anyio.sleep(1.0)
    assert writing.ran == 1
    async with Runtime(writing.path, agents=[writing.first, writing.second]) as runtime:
        handle = runtime.session("first")
        await ended(runtime, "first", 5.0)
        await check_CA_02(runtime, writing, handle)
    assert writing.ran == 1


async def nothing_runs(runtime: Runtime) -> bool:
    return all(head.status != "running" for head in await runtime.sessions())


@pytest.mark.parametrize("when", ["before", "after"])
async def test_CA_02_a_start_that_is_cancelled_is_wholly_there_or_wholly_absent(
    tmp_path: Path, when: Literal["before", "after"]
) -> None:
    """Nothing is left that is stored as running and that nobody runs."""
    faulty = FaultyStore(SqliteStore(tmp_path / "store.db"))
    async with Runtime(faulty, agents=[producer(1)], lease_s=1.5) as runtime:
        hung = faulty.commits + 1
        faulty.plan.append(Fault(at=hung, when=when, hang=True, error=None))
        async with anyio.create_task_group() as group:
            group.start_soon(runtime.start, "agent", "go")
            await faulty.hanging.wait()
            group.cancel_scope.cancel()
        faulty.plan.clear()
        faulty.release()
        # Before its commit is through, a session that is yet to come looks like none.
        await until(lambda: faulty.committed >= hung)
        await until(partial(nothing_runs, runtime))
        assert {head.status for head in await runtime.sessions()} <= {"completed"}


# ---------------------------------------------------------------- CG-01

STEPS, ASSISTANT, RESULT = 200, 200, 2_000
CONTENT = STEPS * (ASSISTANT + RESULT)


class Growing:
    """CG-01's session: each step says 200 bytes and gets 2,000 back; it waits at two points."""

    def __init__(self) -> None:
        self.at = {100: anyio.Event(), 200: anyio.Event()}
        self.go_on = {100: anyio.Event(), 200: anyio.Event()}

        @tool(effect="read")
        async def look(number: int) -> str:
            return f"{number:04}" + chr(97 + number % 26) * (RESULT - 4)

        @tool(timeout_s=0.05)
        async def unsure() -> str:
            await anyio.sleep(5.0)
            return "never"

        async def says(request: ModelRequest) -> Reply:
            done = answers(request)
            if done in self.at:
                self.at[done].set()
                await self.go_on[done].wait()
            if done < STEPS:
                text = f"{done:04}" + "s" * (ASSISTANT - 4)
                return ModelReply(text=text, calls=(call("look", number=done + 1),))
            return call("unsure") if done == STEPS else "done"

        self.agent = agent(says, [look, unsure], record=False)


def stored_bytes(path: Path) -> int:
    """Return the size of the file once its log has been moved into it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size


def used_pages(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    return int(pages) - int(free)


async def test_CG_01_storage_grows_with_the_content_and_retention_frees_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    growing = Growing()
    async with Runtime(path, agents=[growing.agent], policy=PATIENT) as runtime:
        handle = await runtime.start(
            "agent", "go", session_id="s-1", budget=Budget(steps=None, seconds=None)
        )
        sizes: dict[int, int] = {}
        for at in (100, 200):
            with anyio.fail_after(60.0):
                await growing.at[at].wait()
            sizes[at] = stored_bytes(path)
            if at == 100:
                growing.go_on[at].set()
        assert sizes[200] <= 4 * CONTENT
        assert sizes[200] / sizes[100] <= 2.3
        for counter in range(1, STEPS + 1):
            checkpoint = await handle.checkpoint(counter)
            said = [each for each in checkpoint.messages if isinstance(each, AssistantMessage)]
            got = [each for each in checkpoint.messages if isinstance(each, ToolMessage)]
            assert [each.text[:4] for each in said] == [f"{n:04}" for n in range(counter)]
            assert [each.content[:4] for each in got] == [f"{n:04}" for n in range(1, counter + 1)]
            assert all(len(each.content) == RESULT for each in got)
        # Step 201 is in doubt and hands the session over; then the default retention is applied.
        growing.go_on[200].set()
        outcome = await ended(runtime, "s-1", 10.0)
        assert isinstance(outcome, HandedOver)
        assert outcome.reason == "in_doubt"
    kept = Policy().storage.checkpoints_kept
    assert kept is not None
    async with Runtime(path, agents=[growing.agent], policy=PATIENT) as runtime:
        handle = runtime.session("s-1")
        last = STEPS + 1
        for counter in range(last - kept + 1, last + 1):
            checkpoint = await handle.checkpoint(counter)
            assert checkpoint.checkpoint_counter == counter
            assert len(checkpoint.tool_history) == counter
        for counter in (1, 100, last - kept):
            with pytest.raises(CheckpointUnknown, match=str(counter)):
                await handle.checkpoint(counter)
        (doubt,) = (await handle.inspect()).in_doubt
        assert doubt.tool == "unsure"
        await handle.send("go on")
        assert await ended(runtime, "s-1", 10.0) == Completed("done")
    async with opened(SqliteStore(path)) as store:
        messages = await conversation(store, "s-1")
        entries = await journal(store, "s-1")
    assert len([each for each in messages if isinstance(each, ToolMessage)]) == last
    assert len([each for each in entries if isinstance(each, Intended)]) == 1
    assert stored_bytes(path) <= 4 * CONTENT


async def test_CG_01_the_full_texts_of_large_results_are_freed_and_those_in_doubt_kept(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"

    @tool(effect="read")
    async def large(number: int) -> str:
        return f"{number} " * 40_000

    def says(request: ModelRequest) -> Reply:
        done = answers(request)
        return call("large", number=done) if done < 80 else "done"

    of = agent(says, [large], record=False)
    async with Runtime(path, agents=[of]) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        await ended(runtime, "s-1", 30.0)
        handle = runtime.session("s-1")
        assert await handle.result_text(80) == "79 " * 40_000
    async with Runtime(path, agents=[of]) as runtime:
        assert await runtime.session("s-1").result_text(80) == "79 " * 40_000
        with pytest.raises(CheckpointUnknown):
            await runtime.session("s-1").result_text(3)
    # Left are ten of eighty texts of 120 kB, and the excerpts of 32 kB the model has seen.
    assert used_pages(path) * 4096 < 1.1 * (10 * 120_000 + 80 * 32 * 1024)
