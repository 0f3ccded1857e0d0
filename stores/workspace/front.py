"""The same in async: work goes on in threads, and a cancellation is seen between two files or steps.

A call that is cancelled ends when its thread has ended, so that nothing goes on behind the caller's back.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from anyio import CapacityLimiter, from_thread, to_thread

from .changes import Window
from .collect import GRACE_S, Collected
from .plans import Plan
from .restores import Record, Report
from .rules import Rules
from .scan import Snapshot
from .workspace import Workspace, WorkspaceFiles

THREADS = 4
"""Trees looked at or restored at a time, apart from other threads of the application."""

T = TypeVar("T")


class AsyncFiles:
    """`WorkspaceFiles` for an event loop; made inside of it."""

    def __init__(self, files: WorkspaceFiles, *, threads: int = THREADS) -> None:
        self.files = files
        self.limiter = CapacityLimiter(threads)

    def workspace(self, directory: str, rules: Rules | None = None) -> "AsyncWorkspace":
        return AsyncWorkspace(self, self.files.workspace(directory, rules))

    async def run(self, work: Callable[[], T]) -> T:
        """Do blocking work in a thread of ours; the caller waits for its end even when cancelled."""
        return await to_thread.run_sync(work, limiter=self.limiter)

    async def pending(self) -> list[Record]:
        return await self.run(self.files.pending)

    async def finish(self, restore_id: str) -> Report:
        return await self.run(partial(self.files.finish, restore_id, pause=_pause))

    async def undo(
        self, restore_id: str, *, rules: Rules | None = None, force: bool = False
    ) -> Report:
        work = partial(self.files.undo, restore_id, rules=rules, force=force, pause=_pause)
        return await self.run(work)

    async def collect(
        self, roots: Iterable[str], *, grace_s: float = GRACE_S, dry_run: bool = False
    ) -> Collected:
        work = partial(self.files.collect, list(roots), grace_s=grace_s, dry_run=dry_run)
        return await self.run(work)

    async def close(self) -> None:
        await self.run(self.files.close)


class AsyncWorkspace:
    """`Workspace` for an event loop."""

    def __init__(self, files: AsyncFiles, space: Workspace) -> None:
        self.space = space
        self._files = files

    async def snapshot(self, paths: Sequence[str | bytes] | None = None) -> Snapshot:
        return await self._files.run(partial(self.space.snapshot, paths, pause=_pause))

    async def plan(self, to: str, windows: Iterable[Window], *, force: bool = False) -> Plan:
        work = partial(self.space.plan, to, list(windows), force=force, pause=_pause)
        return await self._files.run(work)

    async def restore(self, plan: Plan) -> Report:
        return await self._files.run(partial(self.space.restore, plan, pause=_pause))


def _pause() -> None:
    """End the thread's work if the one who waits for it is cancelled."""
    from_thread.check_cancelled()
