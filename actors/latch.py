"""Something that happens once, and that others may wait for; costs next to nothing until they do."""

from typing import Protocol

from anyio.lowlevel import checkpoint

from ..supervisor.loops import OneShot


class Futures(Protocol):
    """Who makes the futures that are waited for."""

    def future(self) -> OneShot:
        """Return a future for one waiter."""
        ...


class Latch:
    """Set once, for good.

    A future for each waiter: an event of anyio's takes a kilobyte, and several times as long.

    Args:
        futures: makes them.
    """

    __slots__ = ("_futures", "_set", "_waiters")

    def __init__(self, futures: Futures) -> None:
        self._futures = futures
        self._set = False
        self._waiters: list[OneShot] | None = None

    def set(self) -> None:
        """It has happened."""
        self._set = True
        for waiter in self._waiters or ():
            if not waiter.done():  # it is done where whoever waited was cancelled
                waiter.set_result(None)

    def is_set(self) -> bool:
        """Whether it has happened."""
        return self._set

    async def wait(self) -> None:
        """Return once it has happened; if it has, others have their turn first."""
        if self._set:
            await checkpoint()
            return
        waiter = self._futures.future()
        waiters = self._waiters = self._waiters if self._waiters is not None else []
        waiters.append(waiter)
        try:
            await waiter
        finally:
            waiters.remove(waiter)
