"""One opening of a session at a time: whoever starts it, speaks to it, or takes it over."""

from .latch import Futures, Latch


class Opening:
    """The lock of one session, as a block to enter; it goes when nobody wants it any more.

    Those who wait have it in the order in which they came. Nearly always nobody does: then it is a
    number, and an entry among ``openings``.

    Args:
        openings: all of them, by session.
        futures: makes what is waited for.
    """

    __slots__ = ("_futures", "_line", "_openings", "_session_id", "_users")

    def __init__(self, openings: "dict[str, Opening]", session_id: str, futures: Futures) -> None:
        self._openings = openings
        self._session_id = session_id
        self._futures = futures
        self._users = 0
        """Who is in the block, and who waits for it."""
        self._line: list[Latch] | None = None

    async def __aenter__(self) -> None:
        self._users += 1
        if self._users > 1:
            await self._wait()

    async def __aexit__(self, *error: object) -> None:
        self._leave()

    async def _wait(self) -> None:
        turn = Latch(self._futures)
        line = self._line = self._line if self._line is not None else []
        line.append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():
                self._leave()  # cut off when it was our turn already: it is the next one's
            else:
                line.remove(turn)
                self._users -= 1
            raise

    def _leave(self) -> None:
        self._users -= 1
        if self._line:
            self._line.pop(0).set()
        elif not self._users:
            del self._openings[self._session_id]
