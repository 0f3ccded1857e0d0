"""Something that happens once, and that others may wait for; costs next to nothing until they do."""

import anyio


class Latch:
    """Set once, for good. An event of anyio's takes a kilobyte, and most are never waited for."""

    __slots__ = ("_event", "_set")

    def __init__(self) -> None:
        self._set = False
        self._event: anyio.Event | None = None

    def set(self) -> None:
        """It has happened."""
        self._set = True
        if self._event is not None:
            self._event.set()

    def is_set(self) -> bool:
        """Whether it has happened."""
        return self._set

    async def wait(self) -> None:
        """Return once it has happened; at once if it has."""
        if self._event is None:
            self._event = anyio.Event()
            if self._set:
                self._event.set()
        await self._event.wait()
