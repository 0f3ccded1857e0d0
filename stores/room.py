"""Back-pressure: no more is on its way to the disk at a time than fits, first come, first served."""

from collections import OrderedDict

import anyio

WRITES_MAX = 16_384
BYTES_MAX = 64 * 1024 * 1024
"""What may be on its way to the disk at a time. A batch of 1,024 writes is some 1 MB."""


class Room:
    """Room for writes and their bytes. What is larger than all of it goes alone.

    Args:
        writes: how many writes may be inside at a time.
        size: how many bytes of them.
    """

    def __init__(self, writes: int = WRITES_MAX, size: int = BYTES_MAX) -> None:
        self._most = (writes, size)
        self._inside = (0, 0)
        self._waiting = OrderedDict[anyio.Event, tuple[int, int]]()

    def _fits(self, load: tuple[int, int]) -> bool:
        return self._inside == (0, 0) or all(
            inside + more <= most
            for inside, more, most in zip(self._inside, load, self._most, strict=True)
        )

    async def enter(self, writes: int, size: int) -> None:
        """Return once there is room, which is then taken; cancelled, nothing is."""
        load = (writes, size)
        if not self._waiting and self._fits(load):
            self._take(load)
            return
        turn = anyio.Event()
        self._waiting[turn] = load
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():  # let in and cancelled at once
                self.leave(writes, size)
            else:
                del self._waiting[turn]
                self._admit()  # whoever is next may fit where this one did not
            raise

    def leave(self, writes: int, size: int) -> None:
        """Give room back, and let in who waits for it."""
        self._inside = (self._inside[0] - writes, self._inside[1] - size)
        self._admit()

    def _take(self, load: tuple[int, int]) -> None:
        self._inside = (self._inside[0] + load[0], self._inside[1] + load[1])

    def _admit(self) -> None:
        while self._waiting:
            turn, load = next(iter(self._waiting.items()))
            if not self._fits(load):
                return
            del self._waiting[turn]
            self._take(load)
            turn.set()
