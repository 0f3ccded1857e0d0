"""The async front: off the event loop, and cancelled between two files."""

import threading
from pathlib import Path

import anyio
import pytest
from work_trees import make, put, told

from ukemi.stores.workspace import AsyncFiles, Rules, Window, WorkspaceFiles, folders, scan


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Any event loop will do: SQLite is only asked in threads."""
    return str(request.param)


async def test_the_whole_way(files: WorkspaceFiles, root: Path) -> None:
    """Snapshot, plan, restore, undo, collect: all from an event loop."""
    front = AsyncFiles(files)
    space = front.workspace(str(root), Rules())
    put(root, "a", "v1")
    before = await space.snapshot()
    put(root, "a", "v2")
    after = await space.snapshot(["a"])
    plan = await space.plan(before.root, [Window(before.root, after.root)])
    report = await space.restore(plan)
    assert told(root) == {"a": "v1"}
    assert await front.pending() == []
    assert (await front.finish(report.restore_id)).clean
    assert (await front.undo(report.restore_id)).clean
    assert told(root) == {"a": "v2"}
    assert (await front.collect([after.root])).contents == 0
    await front.close()


async def test_the_loop_goes_on_and_a_cancellation_ends_the_thread(
    files: WorkspaceFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled while files are read: no thread is left behind, and the next snapshot is right."""
    make(root, {f"{n % 9}/f{n}": f"text {n}" for n in range(300)})
    front = AsyncFiles(files)
    space = front.workspace(str(root))
    reading, go_on = anyio.Event(), threading.Event()
    real = folders.read_file

    def slow(folder: int, name: bytes, size_max: int) -> object:
        anyio_notify()
        go_on.wait(10)
        return real(folder, name, size_max)

    token = anyio.lowlevel.current_token()
    told_once = threading.Lock()

    def anyio_notify() -> None:
        if told_once.acquire(blocking=False):
            anyio.from_thread.run_sync(reading.set, token=token)

    with monkeypatch.context() as patch:
        patch.setattr(scan, "read_file", slow)
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(space.snapshot)
                await reading.wait()
                scope.cancel()
                go_on.set()
    assert scope.cancelled_caught
    assert not [one for one in threading.enumerate() if one.name.startswith("ukemi-snapshot")]
    kept = await space.snapshot()
    fresh = WorkspaceFiles(files.path)
    assert fresh.workspace(root).snapshot().root == kept.root
    assert kept.files == 300
    fresh.close()
