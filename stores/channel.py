"""A SQLite connection in a thread of its own, which runs whole jobs.

One hop to the thread and back for a transaction, not one a statement; and for jobs that only read, one
hop for all that are waiting: a thousand sessions loaded side by side pay for a few hops.
"""

import asyncio
import sqlite3
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar, cast

import aiosqlite
from anyio import CancelScope, to_thread

T = TypeVar("T")

Job = Callable[[sqlite3.Connection], object]

Answer = tuple[asyncio.Future[object], object, BaseException | None]
"""Who asked, and what is to be told: a result or an error."""

SHARE_S_MAX = 0.002
"""After so many seconds of work the thread hands back what it has: the first is not to wait for the last."""


class Channel(aiosqlite.Connection):
    """A connection whose thread runs whole jobs."""

    def __init__(self, connector: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connector, iter_chunk_size=64)
        # A program that ends without closing must end: to SQLite that is a crash, which is safe.
        self._thread.daemon = True
        self._shared = deque[tuple[Job, asyncio.Future[object]]]()
        self._under_way: asyncio.Future[list[Answer]] | None = None

    async def connect(self) -> None:
        """Connect; when that fails, return only after the thread has ended.

        aiosqlite leaves it ending by itself, and it would then report to a loop that is closed.
        """
        try:
            await self
        except BaseException:
            with CancelScope(shield=True):
                await to_thread.run_sync(self._thread.join)
            raise

    async def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run one job, in the order of calls."""
        if self._connection is None or not self._running:
            raise _closed()
        # A subclass may use what aiosqlite keeps for itself, but it has no types.
        result = await self._execute(job, self._conn)  # type: ignore[no-untyped-call]  # pyright: ignore[reportUnknownMemberType]
        return cast(T, result)

    async def share(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run a job together with others that wait; whatever it raises is its own caller's."""
        if self._connection is None or not self._running:
            raise _closed()
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._shared.append((job, future))
        if self._under_way is None:
            self._send()
        return cast(T, await future)

    def _send(self) -> None:
        """Have the thread do what waits."""
        self._under_way = asyncio.get_running_loop().create_future()
        self._under_way.add_done_callback(self._deliver)
        self._tx.put_nowait((self._under_way, self._work))  # pyright: ignore[reportUnknownMemberType]

    def _work(self) -> list[Answer]:
        """Do what waits, in the thread."""
        answers: list[Answer] = []
        until = time.monotonic() + SHARE_S_MAX
        while self._shared and (not answers or time.monotonic() < until):
            job, future = self._shared.popleft()
            try:
                if self._connection is None:  # closed between the question and its turn
                    raise _closed()
                answers.append((future, job(self._connection), None))
            except BaseException as error:  # noqa: BLE001 - told to whoever asked
                answers.append((future, None, error))
        return answers

    def _deliver(self, done: asyncio.Future[list[Answer]]) -> None:
        """Hand out the answers, in the event loop, and go on with what came meanwhile."""
        self._under_way = None
        for future, result, error in done.result():
            if future.done():  # whoever waited was cancelled
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
        if self._shared and self._running:
            self._send()
            return
        while self._shared:  # the connection was closed meanwhile
            _, future = self._shared.popleft()
            if not future.done():
                future.set_exception(_closed())


def _closed() -> sqlite3.ProgrammingError:
    # aiosqlite's own ValueError could not be told from one of a job.
    return sqlite3.ProgrammingError("the connection is closed")
