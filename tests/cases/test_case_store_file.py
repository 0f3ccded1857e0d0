"""The store's own file: two openings in one process, and a file that is taken away.

From get-bb/bb#2190 and holon-run/holon#2850: a second opening of the same file in one process dropped
that process's locks, the next process that closed the store unlinked the living log, and what was
reported as stored afterwards was gone. WiseLibs/better-sqlite3#1237: the file was deleted under a
running process, and every write went on succeeding.
"""

import sqlite3
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from sessions import REAL_BACKENDS, agent, ended

from ukemi import Completed, HandedOver, Policy, Runtime, tool
from ukemi.models import call
from ukemi.stores.base import Create, Facts, StoreUnusable, Written
from ukemi.stores.records import Opened, encode_row
from ukemi.stores.sqlite import SqliteStore
from ukemi.supervisor.policy_sessions import StoragePolicy

pytestmark = pytest.mark.realtime

LOOK = """
import sqlite3, sys
with_store = sqlite3.connect(sys.argv[1])
print(with_store.execute("SELECT count(*) FROM head").fetchone()[0])
with_store.close()
"""


@pytest.fixture(params=REAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Files and processes take real time."""
    backend: tuple[str, dict[str, object]] = request.param
    return backend


async def seen_elsewhere(path: Path) -> int:
    """Open the file in another process, count its sessions, and close it."""
    done = await anyio.run_process([sys.executable, "-S", "-c", LOOK, str(path)])
    return int(done.stdout)


async def put(store: SqliteStore, name: str) -> list[Written]:
    facts = Facts(agent="agent", title="", created_at_ms=1, updated_at_ms=1)
    body = encode_row([Opened("agent", 1)])
    return await store.commit([Create(session_id=name, owner="o", facts=facts, body=body)])


async def opened_and_closed(path: Path) -> None:
    second = SqliteStore(path)
    await second.open()
    await second.close()


async def refused(path: Path) -> None:
    """Another program's file would be refused; ours is looked at in the same way."""
    with pytest.raises(StoreUnusable):
        await SqliteStore(path / "x").open()
    await opened_and_closed(path)


async def entered_and_left(path: Path) -> None:
    async with Runtime(path):
        pass


@pytest.mark.parametrize("again", [opened_and_closed, refused, entered_and_left])
async def test_a_second_opening_in_the_process_costs_the_first_no_stored_row(
    tmp_path: Path, again: Callable[[Path], Awaitable[None]]
) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    await store.open()
    await put(store, "s-1")
    before = (path.parent / "store.db-wal").stat().st_ino
    await again(path)
    assert await seen_elsewhere(path) == 1
    await put(store, "s-2")
    assert (path.parent / "store.db-wal").stat().st_ino == before
    assert await seen_elsewhere(path) == 2, "it was reported as stored"
    await store.close()


async def unlinked(path: Path) -> None:
    for name in ("store.db", "store.db-wal", "store.db-shm"):
        (path.parent / name).unlink()


async def replaced(path: Path) -> None:
    """A copy from before is put in its place."""
    copy = path.with_suffix(".copy")
    with closing(sqlite3.connect(path)) as ours, closing(sqlite3.connect(copy)) as theirs:
        ours.backup(theirs)
    await unlinked(path)
    copy.rename(path)


async def without_its_log(path: Path) -> None:
    """The process itself copies the file by hand; the next that closes it takes the log away."""
    await anyio.Path(path).read_bytes()
    await seen_elsewhere(path)


TAKEN = [unlinked, replaced, without_its_log]


@pytest.mark.parametrize("take", TAKEN)
async def test_a_store_whose_file_is_taken_away_reports_nothing_as_stored(
    tmp_path: Path, take: Callable[[Path], Awaitable[None]]
) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    await store.open()
    await put(store, "s-1")
    await take(path)
    for name in ("s-2", "s-3"):
        with pytest.raises(StoreUnusable, match="deleted or replaced"):
            await put(store, name)
    with pytest.raises(StoreUnusable, match="deleted or replaced"):
        await store.head("s-1")
    await store.close()
    if await anyio.Path(path).exists():
        assert await seen_elsewhere(path) == 1, "closing moved a dead log into a living file"
    if take is without_its_log:
        with pytest.raises(StoreUnusable, match="start the process again"):
            await store.open()
        return
    await store.open()  # another file under the name is a store as any other
    await put(store, "s-4")
    await store.close()
    assert await seen_elsewhere(path) == (2 if take is replaced else 1)


async def test_a_session_whose_store_is_taken_away_is_handed_over_with_what_was_not_stored(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    ran: list[int] = []

    @tool
    async def act(step: int) -> str:
        ran.append(step)
        if step == 2:
            await unlinked(path)
        return f"did {step}"

    of = agent([call("act", step=1), call("act", step=2), call("act", step=3), "done"], [act])
    policy = Policy(storage=StoragePolicy(retry_s_max=0.2))
    async with Runtime(path, agents=[of], policy=policy) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        outcome = await ended(runtime, handle.id, 20.0)
        assert any("deleted or replaced" in each for each in runtime.alerts)
    assert isinstance(outcome, HandedOver)
    assert outcome.dossier.unsaved is not None and "did 2" in outcome.dossier.unsaved
    assert ran == [1, 2]


# ---------------------------------------------------------------- what else may lie under the name


async def filled(path: Path, sessions: range) -> None:
    of = agent(lambda _: "done " * 500, [])
    async with Runtime(path, agents=[of]) as runtime:
        for number in sessions:
            await ended(runtime, (await runtime.start("agent", "go", session_id=f"s-{number}")).id)


@pytest.mark.parametrize("bytes_left", [50, 600, 4096, 8192, 20_000])
async def test_a_file_that_was_cut_off_is_refused_and_left_as_it_is(
    tmp_path: Path, bytes_left: int
) -> None:
    path = tmp_path / "store.db"
    await filled(path, range(8))
    left = (await anyio.Path(path).read_bytes())[:bytes_left]
    await anyio.Path(path).write_bytes(left)
    with pytest.raises(StoreUnusable):
        await filled(path, range(8, 9))
    assert await anyio.Path(path).read_bytes() == left


@pytest.mark.parametrize("name", ["a?b#c%20d.db", "two words .db", "-dash.db", "ünï.db"])
async def test_a_store_may_have_any_name(tmp_path: Path, name: str) -> None:
    await filled(tmp_path / name, range(1))
    assert [each.name async for each in anyio.Path(tmp_path).iterdir()] == [name]
    async with Runtime(f"sqlite:{tmp_path / name}") as runtime:
        assert isinstance(await runtime.session("s-0").outcome(), Completed)


async def test_a_store_opened_by_a_link_and_by_its_name_is_one(tmp_path: Path) -> None:
    """From DataBiosphere/toil#2947: by another name SQLite looked for another log."""
    await anyio.Path(tmp_path / "link.db").symlink_to(tmp_path / "store.db")
    await filled(tmp_path / "link.db", range(1))
    async with Runtime(tmp_path / "link.db") as first:
        await filled(tmp_path / "store.db", range(1, 2))
        assert isinstance(await first.session("s-1").outcome(), Completed)
        await filled(tmp_path / "link.db", range(2, 3))
    assert await seen_elsewhere(tmp_path / "store.db") == 3


async def test_a_store_is_found_after_the_process_has_changed_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    of = agent(lambda _: "done", [])
    async with Runtime("store.db", agents=[of]) as runtime:
        monkeypatch.chdir("/")
        handle = await runtime.start("agent", "go")
        assert await ended(runtime, handle.id, 20.0) == Completed("done")
