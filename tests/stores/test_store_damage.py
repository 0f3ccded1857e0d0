"""Damaged sessions: told with their place, never read as emptiness, never written over."""

import os
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TypeVar

import anyio
import pytest
from store_faults import damage, stored_body
from store_tools import (
    FACTS,
    append,
    bodies,
    by_id,
    claim,
    create,
    grow,
    listed,
    refuse,
    row,
    write,
)

from ukemi.stores.base import (
    HeadQuery,
    Pack,
    Rewrite,
    SessionDamaged,
    SessionUnknown,
    Store,
    StoreUnusable,
)
from ukemi.stores.evolution import CURRENT, Conversions
from ukemi.stores.sqlite import SqliteStore

MakeStore = Callable[[Conversions], Store]
T = TypeVar("T")
ASYNCIO = [("asyncio", {"use_uvloop": False})]

# ---------------------------------------------------------------- CC-03


async def test_cc_03_damage_is_reported_and_nothing_is_saved_on_top(
    make_store: MakeStore,
) -> None:
    """Field case CC-03: list, load, save, load with the option to fall back."""
    store = make_store(CURRENT)
    await store.open()
    await grow(store, "s-3", 4)
    await write(store, append("s-3", 5, counter=4), create("s-4"), append("s-4", 2))
    await write(store, append("s-3", 6, counter=5, status="parked"))
    damage(store, "s-3", 6, random_bytes := secrets.token_bytes(300))
    await store.close()

    store = make_store(CURRENT)
    await store.open()
    heads = by_id(await store.heads(HeadQuery()))
    assert "checkpoint 5" in (heads["s-3"].damaged or "")
    assert heads["s-4"].damaged is None
    with pytest.raises(SessionDamaged, match=r"s-3.*checkpoint 5"):
        await store.load("s-3")
    await refuse(store, claim("s-3", "owner-b"), SessionDamaged)
    await refuse(store, append("s-3", 7), SessionDamaged)
    rewrite = Rewrite(session_id="s-3", epoch=1, seq=6, rows=(row(6),), oldest_counter=5)
    await refuse(store, rewrite, SessionDamaged)
    await refuse(store, Pack(session_id="s-3"), SessionDamaged)
    assert stored_body(store, "s-3", 6) == random_bytes

    rescued = await store.load("s-3", fallback=True)
    assert [r.seq for r in rescued.rows] == [1, 2, 3, 4, 5]
    assert rescued.lost is not None and "checkpoint 5" in rescued.lost
    assert await bodies(store, "s-4") == [b"row 1", b"row 2"]
    await write(store, append("s-4", 3))
    await store.close()


async def test_damage_while_the_session_runs_stops_its_writes(store: Store) -> None:
    """Once a load or a list has seen it, nobody's next row goes on top, the owner's neither."""
    await grow(store, "s-1", 3)
    await grow(store, "s-2", 3)
    damage(store, "s-1", 3)
    damage(store, "s-2", 2)
    assert by_id(await store.heads(HeadQuery()))["s-1"].damaged is not None
    with pytest.raises(SessionDamaged, match="checkpoint 1"):
        await store.load("s-2")
    for session_id in ("s-1", "s-2"):
        await refuse(store, append(session_id, 4), SessionDamaged)
    assert stored_body(store, "s-2", 2) == b"\xde\xad\xbe\xef"


async def test_intact_earlier_checkpoint_loads_on_request(store: Store) -> None:
    await grow(store, "s-1", 6)
    damage(store, "s-1", 5)
    loaded = await store.load("s-1", upto=3)
    assert [r.seq for r in loaded.rows] == [1, 2, 3, 4]
    assert loaded.lost is None
    for upto in (4, 5):
        with pytest.raises(SessionDamaged, match="checkpoint 4"):
            await store.load("s-1", upto=upto)


async def test_nothing_left_is_an_error_even_with_fallback(store: Store) -> None:
    await grow(store, "s-1", 3)
    damage(store, "s-1", 1)
    with pytest.raises(SessionDamaged, match="checkpoint 0"):
        await store.load("s-1", fallback=True)


STATEMENTS = [
    pytest.param("UPDATE log SET counter = 77 WHERE seq = 3", 2, id="counter of a row"),
    pytest.param("UPDATE log SET version = 9 WHERE seq = 3", 2, id="version of a row"),
    pytest.param("UPDATE log SET prev = 0 WHERE seq = 3", 5, id="pointer cut"),
    pytest.param("UPDATE log SET prev = id + 1 WHERE seq = 3", 5, id="pointer forward"),
    pytest.param("UPDATE log SET prev = 1 WHERE seq = 4", 5, id="pointer skips rows"),
    pytest.param("DELETE FROM log WHERE seq = 3", 2, id="row in the middle gone"),
    pytest.param("DELETE FROM log WHERE seq = 5", 4, id="last row gone"),
    pytest.param("UPDATE live SET last = 1", 5, id="head points elsewhere"),
    pytest.param("UPDATE live SET counter = 2", 5, id="head says another counter"),
]


@pytest.mark.parametrize("statement, rescued", STATEMENTS)
async def test_broken_chain_is_damage(sqlite: SqliteStore, statement: str, rescued: int) -> None:
    """Whatever number is wrong: an error, and with fallback every row before the fault."""
    await grow(sqlite, "s-1", 5)
    spoil(sqlite.path, statement)
    with pytest.raises(SessionDamaged, match="s-1"):
        await sqlite.load("s-1")
    assert len((await sqlite.load("s-1", fallback=True)).rows) == rescued


SEGMENT_STATEMENTS = [
    pytest.param("UPDATE seg SET idx = x'00'", 0, id="index is noise"),
    pytest.param("UPDATE seg SET body = zeroblob(length(body))", 0, id="bodies are noise"),
    pytest.param("UPDATE seg SET body = substr(body, 2)", 0, id="bodies shortened"),
    pytest.param("DELETE FROM seg WHERE key & 0xffffffff = 129", 128, id="segment gone"),
    pytest.param("DELETE FROM seg WHERE key & 0xffffffff = 257", 256, id="last segment gone"),
    pytest.param("UPDATE seg SET idx = x'00' WHERE key & 0xffffffff > 200", 256, id="last index"),
]


@pytest.mark.parametrize("statement, rescued", SEGMENT_STATEMENTS)
async def test_damaged_segment_is_damage(sqlite: SqliteStore, statement: str, rescued: int) -> None:
    await grow(sqlite, "s-1", 300)
    await write(sqlite, append("s-1", 301, status="parked"), Pack(session_id="s-1"))
    spoil(sqlite.path, statement)
    with pytest.raises(SessionDamaged, match="s-1"):
        await sqlite.load("s-1")
    if rescued:
        kept = await sqlite.load("s-1", fallback=True)
        assert len(kept.rows) == rescued and kept.lost is not None
    else:
        with pytest.raises(SessionDamaged):
            await sqlite.load("s-1", fallback=True)


async def test_random_bytes_in_a_segment_cost_only_the_rows_they_hit(sqlite: SqliteStore) -> None:
    await grow(sqlite, "s-1", 100)
    await write(sqlite, Pack(session_id="s-1"))
    # Newest first: these bytes lie in one of the last rows.
    spoil(sqlite.path, "UPDATE seg SET body = CAST(x'ffff' || substr(body, 3) AS BLOB)")
    assert (await sqlite.heads(HeadQuery()))[0].damaged is not None
    kept = await sqlite.load("s-1", fallback=True)
    assert len(kept.rows) == 99
    assert len((await sqlite.load("s-1", upto=98)).rows) == 99


async def test_damaged_facts_flag_the_session(sqlite: SqliteStore) -> None:
    await write(sqlite, create("s-1"), create("s-2"))
    spoil(sqlite.path, "UPDATE head SET facts = x'0102030405' WHERE sid = 's-1'")
    heads = by_id(await sqlite.heads(HeadQuery()))
    assert "facts" in (heads["s-1"].damaged or "")
    assert heads["s-2"].facts == FACTS


async def test_damaged_blob_is_told(sqlite: SqliteStore) -> None:
    await write(sqlite, create("s-1"), append("s-1", 2, blobs=(("d-1", b"long text"),)))
    spoil(sqlite.path, "UPDATE blob SET body = 'other'")
    with pytest.raises(SessionDamaged, match="d-1"):
        await sqlite.blob("d-1")


async def valuable(path: Path) -> bytes:
    """Make a file of six sessions of 40 rows, half of them packed; return its bytes."""
    store = SqliteStore(path)
    await store.open()
    for number in range(6):
        await grow(store, f"s-{number}", 40)
        if number % 2:
            parked = append(f"s-{number}", 41, status="parked", facts=FACTS)
            await write(store, parked, Pack(session_id=f"s-{number}"))
    await store.close()
    return await anyio.Path(path).read_bytes()


def spoiled(content: bytes, rng: Random) -> bytes:
    """Overwrite one or a few stretches by noise: a byte, some, a whole page."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 4))):
        size = rng.choice((1, 8, 200, 4096))
        at = rng.randrange(100, len(data))
        at = at - at % 4096 or 100 if size == 4096 else at
        data[at : at + size] = rng.randbytes(len(data[at : at + size]))
    return bytes(data)


@pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=["asyncio"])
@pytest.mark.parametrize("seed", range(6))
async def test_noise_anywhere_is_told_or_harmless(tmp_path: Path, seed: int) -> None:
    """Whatever is overwritten: whole sessions or errors of ours, no open transaction."""
    content = await valuable(tmp_path / "good.db")
    rng = Random(seed)
    told = 0
    for number in range(12):
        path = tmp_path / f"bad-{number}.db"
        await anyio.Path(path).write_bytes(spoiled(content, rng))
        store = SqliteStore(path, durability="normal", wait_s_max=0.1)
        told += await _use(store)
        await store.close()
    assert 0 < told < 12 * 15


async def _use(store: SqliteStore) -> int:
    """Do everything with a damaged file; return how often it said so."""
    told = 0

    async def attempt(call: Awaitable[T]) -> T | None:
        nonlocal told
        try:
            return await call
        except (SessionDamaged, SessionUnknown, StoreUnusable):
            told += 1
            return None

    names = [f"s-{number}" for number in range(6)]
    await attempt(store.open())
    if told:
        return told
    await attempt(store.heads(HeadQuery()))
    await attempt(store.owners())
    await attempt(store.orphans(0, frozenset(), 10))
    dead = frozenset({"owner-a"})
    await attempt(store.commit([claim(name, "b", dead=dead) for name in names]))
    await attempt(store.commit([create("new"), *(append(name, 42, epoch=2) for name in names)]))
    await attempt(store.commit([Pack(session_id=name) for name in names]))
    for name in names:
        loaded = await attempt(store.load(name))
        assert loaded is None or len(loaded.rows) >= 40
        kept = await attempt(store.load(name, fallback=True))
        for one in (loaded, kept):
            rows = [] if one is None else one.rows
            assert [r.body for r in rows] == [b"row %d" % seq for seq in range(1, len(rows) + 1)]
    writer = store._writer  # pyright: ignore[reportPrivateUsage]
    assert writer is not None
    assert not await writer.run(lambda connection: connection.in_transaction)
    return told


def spoil(path: Path, statement: str) -> None:
    """Change the file behind the store's back."""
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement).rowcount > 0


# ---------------------------------------------------------------- CC-01, CC-02

BIG = b"8" * 65_536


@pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=["asyncio"])
async def test_cc_01_write_cut_off_at_any_byte(tmp_path: Path) -> None:
    """Field case CC-01: the log cut at 60 places gives checkpoint 7 or 8, whole."""
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    await grow(store, "s-1", 8)
    wal = tmp_path / "store.db-wal"
    before = wal.stat().st_size
    await write(store, append("s-1", 9, body=BIG))
    after = wal.stat().st_size
    cuts = [before + (after - before) * part // 60 for part in range(61)]
    outcomes = [await _load_cut(tmp_path, cut) for cut in cuts]
    await store.close()
    assert after - before > len(BIG)
    assert outcomes == sorted(outcomes)
    assert (outcomes[0], outcomes[-2], outcomes[-1]) == (7, 7, 8)


async def _load_cut(folder: Path, cut: int) -> int:
    """Open a copy whose log ends at byte ``cut``; return the checkpoint found."""
    path = folder / f"cut-{cut}" / "store.db"
    path.parent.mkdir()
    shutil.copyfile(folder / "store.db", path)
    path.with_name("store.db-wal").write_bytes((folder / "store.db-wal").read_bytes()[:cut])
    store = SqliteStore(path)
    await store.open()
    try:
        loaded = await store.load("s-1")
        rows = [r.body for r in loaded.rows]
        assert rows == [b"row %d" % seq for seq in range(1, 9)] + [BIG] * (len(rows) - 8)
        assert await listed(store) == ["s-1"]
        # The next write goes behind what is whole, and lasts.
        seq = loaded.head.seq + 1
        await write(store, append("s-1", seq))
        assert len(await bodies(store, "s-1")) == seq
        return loaded.head.counter
    finally:
        await store.close()


@pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=["asyncio"])
async def test_commit_of_many_sessions_is_never_torn(tmp_path: Path) -> None:
    """A law: wherever the log is cut, a commit's rows are all there or none is."""
    names = [f"s-{number}" for number in range(20)]
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    await write(store, *map(create, names))
    wal = tmp_path / "store.db-wal"
    ends = [wal.stat().st_size]
    for seq in (2, 3, 4):
        await write(store, *(append(name, seq, body=b"x" * 900) for name in names))
        ends.append(wal.stat().st_size)
    content, main = wal.read_bytes(), store.path.read_bytes()
    await store.close()
    for part in range(41):
        cut = ends[0] + (ends[-1] - ends[0]) * part // 40
        path = tmp_path / f"cut-{part}.db"
        path.write_bytes(main)
        path.with_name(f"{path.name}-wal").write_bytes(content[:cut])
        torn = SqliteStore(path)
        await torn.open()
        heads = await torn.heads(HeadQuery())
        whole = sum(cut >= end for end in ends)
        assert [head.seq for head in heads] == [whole] * len(names)
        assert all(head.damaged is None for head in heads)
        await torn.close()


KILLED = """
import sys, anyio
from store_tools import append, grow, write
from ukemi.stores.sqlite import SqliteStore

async def main():
    store = SqliteStore(sys.argv[1])
    await store.open()
    await grow(store, "s-1", 8)
    print("ready", flush=True)
    sys.stdin.readline()
    await write(store, append("s-1", 9, body=b"8" * 65536))
    print("stored", flush=True)
    sys.stdin.readline()

anyio.run(main)
"""


def spawn(script: str, *args: str) -> subprocess.Popen[str]:
    """Start a child that can import the test tools."""
    tools = str(Path(__file__).parent.parent / "support")
    return subprocess.Popen(
        [sys.executable, "-c", script, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": tools},
    )


def killed_after(path: Path, delay_s: float) -> bool:
    """Kill a child that long after it was told to write checkpoint 8; had it said "stored"?"""
    with spawn(KILLED, str(path)) as child:
        assert child.stdin is not None and child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.stdin.write("go\n")
        child.stdin.flush()
        time.sleep(delay_s)  # the moment of the kill, not a wait for anything
        child.send_signal(signal.SIGKILL)
        return child.stdout.read() == "stored\n"


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=["asyncio"])
async def test_cc_01_killed_while_writing_a_checkpoint(tmp_path: Path) -> None:
    """Field case CC-01: a real SIGKILL at 20 moments from before the write to after it."""
    seen: set[tuple[bool, int]] = set()
    for moment in range(20):
        path = tmp_path / f"store-{moment}.db"
        # The write takes about 1 ms; the last moments are surely after it.
        delay_s = moment * 0.000_2 if moment < 17 else 0.5
        acknowledged = await anyio.to_thread.run_sync(killed_after, path, delay_s)
        store = SqliteStore(path)
        await store.open()
        loaded = await store.load("s-1")
        rows = [r.body for r in loaded.rows]
        assert rows == [b"row %d" % seq for seq in range(1, 9)] + [BIG] * (len(rows) - 8)
        assert loaded.head.counter in (7, 8)
        assert loaded.head.counter == 8 or not acknowledged
        await write(store, append("s-1", loaded.head.seq + 1))
        assert await listed(store) == ["s-1"]
        await store.close()
        seen.add((acknowledged, loaded.head.counter))
    assert (True, 8) in seen


READ = """
import sys, anyio
from store_tools import bodies
from ukemi.stores.sqlite import SqliteStore

async def main():
    store = SqliteStore(sys.argv[1])
    await store.open()
    print(b",".join(await bodies(store, "s-1")).decode())
    await store.close()

anyio.run(main)
"""


@pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=["asyncio"])
async def test_cc_02_fragment_at_the_end_does_not_spoil_the_next_row(tmp_path: Path) -> None:
    """Field case CC-02: half of r5, then r6 appended, then a new process reads r1..r4 and r6."""
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    await grow(store, "s-1", 4)
    wal = tmp_path / "store.db-wal"
    before = wal.stat().st_size
    await write(store, append("s-1", 5, body=b"row five" * 200))
    half = (before + wal.stat().st_size) // 2
    torn = tmp_path / "torn" / "store.db"
    torn.parent.mkdir()
    shutil.copyfile(store.path, torn)
    torn.with_name("store.db-wal").write_bytes(wal.read_bytes()[:half])
    await store.close()

    again = SqliteStore(torn)
    await again.open()
    head = await again.head("s-1")
    await write(again, append("s-1", head.seq + 1, body=b"row six"))
    await again.close()
    with spawn(READ, str(torn)) as child:
        out, _ = await anyio.to_thread.run_sync(child.communicate)
    assert out.strip() == "row 1,row 2,row 3,row 4,row six"
