"""Several writers to one store: one owner a session, stale ones fenced out, locks waited for."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from store_tools import append, bodies, claim, create, grow, listed, refuse, renew, row, write

from ukemi.stores.base import (
    Conflict,
    Done,
    Fenced,
    HeadQuery,
    Leave,
    Pack,
    Rewrite,
    SessionOwned,
    Store,
    StoreFailed,
)
from ukemi.stores.evolution import CURRENT, Conversions
from ukemi.stores.liveness import owner_id, owner_is_dead
from ukemi.stores.sqlite import SqliteStore

MakeStore = Callable[[Conversions], Store]
ASYNCIO = [("asyncio", {"use_uvloop": False})]


@pytest.fixture
async def pair(make_store: MakeStore) -> AsyncIterator[tuple[Store, Store]]:
    """Return two open stores on one place, each with its own connections."""
    a, b = make_store(CURRENT), make_store(CURRENT)
    await a.open()
    await b.open()
    try:
        yield a, b
    finally:
        await a.close()
        await b.close()


async def test_cw_01_one_owner_drives_and_the_other_reads(pair: tuple[Store, Store]) -> None:
    """Field case CW-01: the second gets a conflict before it has written anything."""
    a, b = pair
    await write(a, renew("a", 10_000), create("s-1", "a"), append("s-1", 2))
    await refuse(b, claim("s-1", "b", now_ms=5_000), SessionOwned)
    await refuse(b, append("s-1", 3, epoch=2), Fenced)
    assert await bodies(b, "s-1") == [b"row 1", b"row 2"]
    await write(a, append("s-1", 3))
    assert [r.seq for r in (await b.load("s-1")).rows] == [1, 2, 3]
    (done,) = await write(b, claim("s-1", "b", now_ms=10_000))
    assert done == Done(2, 3, has_children=False)
    await write(b, append("s-1", 4, epoch=2))
    assert [r.seq for r in (await a.load("s-1")).rows] == [1, 2, 3, 4]


async def test_takeover_is_seen_before_a_stale_row_is_written(pair: tuple[Store, Store]) -> None:
    """The former owner knew everything from memory; the next write still reads the truth."""
    a, b = pair
    await write(a, create("s-1", "a"), create("s-2", "a"))
    for seq in range(2, 20):
        await write(a, append("s-1", seq), append("s-2", seq))
    await write(b, claim("s-1", "b"))
    results = await a.commit([append("s-1", 20), append("s-2", 20)])
    assert isinstance(results[0], Fenced) and "epoch 2 of b" in str(results[0])
    assert results[1] == Done(1, 20)
    await write(b, append("s-1", 20, epoch=2, body=b"of b"))
    assert (await bodies(a, "s-1"))[-1] == b"of b"


async def test_claims_of_two_at_once_have_one_winner(pair: tuple[Store, Store]) -> None:
    a, b = pair
    await write(a, *(create(f"s-{number}", "gone") for number in range(20)))
    won: dict[str, list[str]] = {}

    async def take(store: Store, owner: str) -> None:
        await write(store, renew(owner, 10_000))
        for number in range(20):
            (result,) = await store.commit([claim(f"s-{number}", owner, now_ms=1)])
            if isinstance(result, Done):
                won.setdefault(f"s-{number}", []).append(owner)
            else:
                assert isinstance(result, SessionOwned)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(take, a, "a")
        tasks.start_soon(take, b, "b")
    assert sorted(len(owners) for owners in won.values()) == [1] * 20


async def test_rows_packed_by_another_are_still_the_owners(pair: tuple[Store, Store]) -> None:
    """Packing moves rows under the owner's feet: its next rows must not point to where they were."""
    a, b = pair
    await grow(a, "s-1", 5)
    await write(b, Pack(session_id="s-1"))
    await write(a, append("s-1", 6), append("s-1", 7))
    await write(b, Pack(session_id="s-1"))
    await write(a, append("s-1", 8, status="completed"))
    assert await bodies(b, "s-1") == [b"row %d" % seq for seq in range(1, 9)]


async def test_owner_that_left_elsewhere_is_known_to_have_left(pair: tuple[Store, Store]) -> None:
    a, b = pair
    await write(a, renew("a", 10_000), create("s-1", "a"))
    await write(b, Leave(owner="a"))
    await write(b, claim("s-1", "b", now_ms=1))
    await refuse(a, append("s-1", 2), Fenced)


async def test_cw_02_rewrite_must_have_seen_the_latest_state(pair: tuple[Store, Store]) -> None:
    """Field case CW-02: A summarises an old copy after B has added two turns."""
    a, b = pair
    await grow(a, "s-1", 10, owner="a")
    stale = await a.load("s-1")
    await write(b, claim("s-1", "b"))
    await write(b, append("s-1", 11, epoch=2, body=b"B 1"))
    await write(b, append("s-1", 12, epoch=2, body=b"B 2", status="parked"))

    def summary(rows: list[bytes], epoch: int) -> Rewrite:
        whole = row(len(rows), body=b"sum of " + b",".join(rows))
        return Rewrite(
            session_id="s-1",
            epoch=epoch,
            seq=len(rows),
            rows=(whole,),
            oldest_counter=len(rows) - 1,
        )

    old = [r.body for r in stale.rows]
    await refuse(a, summary(old, stale.head.epoch), Fenced)
    error = await refuse(a, summary(old, 2), Conflict)
    assert "row 10" in str(error) and "row 12" in str(error)
    assert (await bodies(b, "s-1"))[-2:] == [b"B 1", b"B 2"]
    fresh = await a.load("s-1")
    await write(a, summary([r.body for r in fresh.rows], fresh.head.epoch))
    assert (await bodies(b, "s-1"))[0].endswith(b"B 1,B 2")


# ---------------------------------------------------------------- two processes

WORKER = """
import asyncio, sys, time
import anyio
from store_tools import append, create, renew
from ukemi.stores.base import Done
from ukemi.stores.sqlite import SqliteStore

path, me, sessions, rows = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
worst = 0.0

async def watch():
    global worst
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0)
        # A pause between two turns of the loop that nobody asked for.
        worst = max(worst, time.perf_counter() - before)
        await asyncio.sleep(0.001)

async def session(store, name):
    results = await store.commit([create(name, me)])
    for seq in range(2, rows + 1):
        assert results == [Done(1, seq - 1)], results
        results = await store.commit([append(name, seq, body=b"x" * 900)])
    assert results == [Done(1, rows)], results

async def main():
    store = SqliteStore(path)
    await store.open()
    await store.commit([renew(me, 10**15)])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        async with anyio.create_task_group() as all_sessions:
            for number in range(sessions):
                all_sessions.start_soon(session, store, f"{me}-{number}")
        tasks.cancel_scope.cancel()
    await store.close()
    print(f"{worst:.6f}")

anyio.run(main)
"""


def spawn(script: str, *args: str) -> subprocess.Popen[str]:
    tools = str(Path(__file__).parent.parent / "support")
    return subprocess.Popen(
        [sys.executable, "-c", script, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": tools},
    )


@pytest.mark.realtime
@pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=["asyncio"])
@pytest.mark.parametrize(
    "sessions, rows",
    [
        pytest.param(10, 10, id="sample"),
        pytest.param(50, 40, id="whole", marks=pytest.mark.slow),
    ],
)
async def test_cw_03_two_processes_and_a_reader_share_a_file(
    tmp_path: Path, sessions: int, rows: int
) -> None:
    """Field case CW-03: no lock error, every acknowledged row there, no loop held up."""
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    await store.open()
    workers = [spawn(WORKER, str(path), me, str(sessions), str(rows)) for me in ("a", "b")]
    lists = 0
    while any(worker.poll() is None for worker in workers):
        await store.heads(HeadQuery(limit=20))
        lists += 1
        await anyio.sleep(0.002)  # the reader's own pace
    worst_s: list[float] = []
    for worker in workers:
        out, _ = await anyio.to_thread.run_sync(worker.communicate)
        assert worker.returncode == 0
        worst_s.append(float(out))
    assert lists > 5
    assert len(await listed(store, HeadQuery(limit=1_000))) == 2 * sessions
    for me in ("a", "b"):
        for number in range(sessions):
            loaded = await store.load(f"{me}-{number}")
            assert [r.seq for r in loaded.rows] == list(range(1, rows + 1))
            assert [r.counter for r in loaded.rows] == list(range(rows))
    assert max(worst_s) < 0.1
    await store.close()


HOLDER = """
import sys, anyio
from store_tools import append, create, renew, write
from ukemi.stores.liveness import owner_id
from ukemi.stores.sqlite import SqliteStore

async def main():
    store = SqliteStore(sys.argv[1])
    await store.open()
    me = owner_id()
    await write(store, renew(me, 10**15), create("s-1", me), append("s-1", 2))
    print(me, flush=True)
    sys.stdin.readline()

anyio.run(main)
"""


@pytest.mark.realtime
@pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=["asyncio"])
async def test_cw_01_killed_owner_is_followed_at_once(tmp_path: Path) -> None:
    """Field case CW-01: after a SIGKILL, B takes over without cleaning, long before the lease."""
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    await store.open()
    me = owner_id()
    with spawn(HOLDER, str(path)) as child:
        assert child.stdout is not None
        other = (await anyio.to_thread.run_sync(child.stdout.readline)).strip()
        assert not owner_is_dead(other) and not owner_is_dead(me)
        await refuse(store, claim("s-1", me, now_ms=1), SessionOwned)
        assert await store.orphans(1, frozenset(), 10) == []
        child.send_signal(signal.SIGKILL)
    begun = time.monotonic()
    dead = frozenset(owner for owner in await store.owners() if owner_is_dead(owner))
    assert dead == {other}
    assert await store.orphans(1, dead, 10) == ["s-1"]
    await write(store, claim("s-1", me, now_ms=1, dead=dead), append("s-1", 3, epoch=2))
    assert time.monotonic() - begun < 1
    await store.close()


# ---------------------------------------------------------------- locks


@pytest.mark.realtime
@pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=["asyncio"])
async def test_locked_beyond_the_bound_is_a_passing_fault(tmp_path: Path) -> None:
    """Waited for in the thread and only so long; the same writes then go through."""
    store = SqliteStore(tmp_path / "store.db", wait_s_max=0.2)
    await store.open()
    await write(store, create("s-1"))
    gaps: list[float] = []

    async def watch() -> None:
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(0.005)
            gaps.append(loop.time() - before)

    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        begun = time.monotonic()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            with pytest.raises(StoreFailed, match=r"locked.*0\.2 s"):
                await store.commit([append("s-1", 2)])
            tasks.cancel_scope.cancel()
        assert 0.19 < time.monotonic() - begun < 1
        assert len(await bodies(store, "s-1")) == 1
        other.execute("ROLLBACK")
    await write(store, append("s-1", 2))
    assert len(gaps) > 10 and max(gaps) < 0.1
    await store.close()
