"""When things in a journal happened, which has no clock of its own.

A time is worked out from the session's start and the seconds it had spent; waits that were stored with the
time they end at, and decisions of people, put it right.
"""

from collections.abc import Sequence

from msgspec import Struct

from ...stores.records import Retried

SLACK_S = 0.005
"""Times are worked out from numbers that are rounded to milliseconds."""


class Times:
    """The times of one session, in seconds of the wall clock.

    ``known``: nothing of unknown length has happened since the last time that is certain.
    """

    def __init__(self) -> None:
        self._offset = 0.0
        self._floor = 0.0
        self.known = True

    def begin(self, at: float) -> None:
        """The session begins."""
        self._offset = at

    def anchor(self, at: float) -> None:
        """Nothing that follows was before this."""
        if at:
            self.floor(at)
            self.known = True

    def floor(self, at: float) -> None:
        """Nothing that follows was before this, which may be after all that came before."""
        self._floor = max(self._floor, at)

    def lose(self) -> None:
        """Something follows of which nobody knows how long it took."""
        self.known = False

    def at(self, seconds: float, least_s: float = 0.0) -> float:
        """Return when so many seconds were spent; ``least_s`` after what is known, at least."""
        at = self._offset + seconds
        least = self._floor + least_s
        if at + SLACK_S < least:
            self._offset += least - at
            at = least
        return at


class Failed(Struct, frozen=True):
    """A failed attempt, and when it ended; 0: not known yet."""

    entry: Retried
    at: float


def took_s(entry: Retried, before: Sequence[Failed]) -> float:
    """Return the seconds of this attempt alone; older records tell only those since the first."""
    if entry.took_s or entry.marks is not None:
        return entry.took_s
    if not before:
        return entry.elapsed_s
    last = before[-1].entry
    return max(0.0, entry.elapsed_s - last.elapsed_s - last.wait_s)
