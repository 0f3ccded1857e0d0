"""How a run knows that real threads are at work, so that its clock does not outrun them."""

import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any


class AtWork:
    """Counts calls in anyio's worker threads, those of the runtime's snapshots above all."""

    def __init__(self) -> None:
        self.count = 0


@contextmanager
def counted_threads() -> Generator[AtWork]:
    """Count the calls in anyio's worker threads for a block, on asyncio; elsewhere there are none.

    anyio has no place for an onlooker, so its backend's method is replaced for the time of the block.
    """
    at_work = AtWork()
    from anyio._backends._asyncio import AsyncIOBackend  # what no other library has loaded yet

    original: Callable[..., Any] = AsyncIOBackend.run_sync_in_worker_thread

    async def counted(*args: Any, **options: Any) -> Any:
        at_work.count += 1
        try:
            return await original(*args, **options)
        finally:
            at_work.count -= 1

    setattr(AsyncIOBackend, "run_sync_in_worker_thread", staticmethod(counted))  # noqa: B010
    try:
        yield at_work
    finally:
        setattr(AsyncIOBackend, "run_sync_in_worker_thread", original)  # noqa: B010


def send_home(loop: AbstractEventLoop) -> None:
    """End anyio's idle worker threads of a loop that is never turned again.

    They are no daemons and wait for the end of the loop's first task, so they would keep the
    interpreter from ending.
    """
    for thread in threading.enumerate():
        stop = getattr(thread, "stop", None)
        if getattr(thread, "loop", None) is loop and callable(stop):
            stop(None)
