"""A SQLite connection in a thread of its own, which runs whole jobs.

One hop to the thread and back for a transaction, not one a statement; and for jobs that only read, one
hop for all that are waiting: a thousand sessions loaded side by side pay for a few hops. Where several
want the same thing done, each with something of its own, it is done for all of them at once.
"""

import asyncio
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from ctypes import py_object, pythonapi
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

import aiosqlite
from anyio import CancelScope, to_thread

from .errors import StoreUnusable

T = TypeVar("T")

Together = Callable[[sqlite3.Connection, Sequence[Any]], Sequence[object]]
"""Does the same for several items. Answers the first of them, at least one; an exception is raised to
whoever asked. The others are asked for again."""

TOGETHER_MAX = 32
"""Items at most that something is done for at once."""


class Wanted(NamedTuple):
    """What is to be done, for what, and who is told."""

    job: Together
    item: object
    asked: asyncio.Future[object]


Answer = tuple[asyncio.Future[object], object]
"""Who asked, and what is to be told; an exception is raised there."""

SHARE_S_MAX = 0.002
"""After so many seconds of work the thread hands back what it has: the first is not to wait for the last."""


class Channel(aiosqlite.Connection):
    """A connection whose thread runs whole jobs."""

    def __init__(self, connector: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connector, iter_chunk_size=64)
        # A program that ends without closing must end: to SQLite that is a crash, which is safe.
        self._thread.daemon = True
        self._shared = deque[Wanted]()
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

    async def abandon(self) -> None:
        """Leave the connection open for good, whatever closes this: not even the end of the process
        closes it, and with that nothing of it is written any more.
        """

        def swap(connection: sqlite3.Connection) -> None:
            pythonapi.Py_IncRef(py_object(connection))
            self._connection = sqlite3.connect(":memory:")

        await self.run(swap)

    async def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run one job, in the order of calls."""
        if self._connection is None or not self._running:
            raise _closed()
        # A subclass may use what aiosqlite keeps for itself, but it has no types.
        result = await self._execute(job, self._conn)  # type: ignore[no-untyped-call]  # pyright: ignore[reportUnknownMemberType]
        return cast(T, result)

    async def share(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run a job in one hop with others that wait; whatever it raises is its own caller's."""
        return cast(T, await self.join(partial(_alone, job), None))

    async def join(self, job: Together, item: object) -> object:
        """Have something done for an item, together with others that want the same done."""
        if self._connection is None or not self._running:
            raise _closed()
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._shared.append(Wanted(job, item, future))
        if self._under_way is None:
            self._send()
        return await future

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
            together = self._next()
            try:
                if self._connection is None:  # closed between the question and its turn
                    raise _closed()
                told = together[0].job(self._connection, [wanted.item for wanted in together])
            except BaseException as error:  # noqa: BLE001 - told to whoever asked
                told = [error] * len(together)
            answers += (
                (wanted.asked, answer) for wanted, answer in zip(together, told, strict=False)
            )
            self._shared.extendleft(reversed(together[len(told) :]))
        return answers

    def _next(self) -> list[Wanted]:
        """Take what waits first, and what follows it and wants the same done."""
        together = [self._shared.popleft()]
        job = together[0].job
        while len(together) < TOGETHER_MAX and self._shared and self._shared[0].job == job:
            together.append(self._shared.popleft())
        return together

    def _deliver(self, done: asyncio.Future[list[Answer]]) -> None:
        """Hand out the answers, in the event loop, and go on with what came meanwhile."""
        self._under_way = None
        for future, answer in done.result():
            if future.done():  # whoever waited was cancelled
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        if self._shared and self._running:
            self._send()
            return
        while self._shared:  # the connection was closed meanwhile
            asked = self._shared.popleft().asked
            if not asked.done():
                asked.set_exception(_closed())


def _alone(
    job: Callable[[sqlite3.Connection], object], connection: sqlite3.Connection, _: Sequence[None]
) -> Sequence[object]:
    return [job(connection)]


def _closed() -> sqlite3.ProgrammingError:
    # aiosqlite's own ValueError could not be told from one of a job.
    return sqlite3.ProgrammingError("the connection is closed")


def require_asyncio(name: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise StoreUnusable(
            f"{name}: the SQLite store runs on asyncio or uvloop only; on trio, use memory:"
        ) from None
