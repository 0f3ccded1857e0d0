"""Time spent inside models and tools, added up over all bodies of a session at once.

Bodies side by side consume it side by side, so the moment at which the limit is reached moves
whenever one begins or ends.
"""

from typing import Protocol

from ..supervisor import Timer, Timers
from ..supervisor.clock import Clock
from .budget import ACTIVE_SECONDS, Account

_EPSILON_S = 1e-6


class Spender(Protocol):
    """Whose time it is."""

    def out_of_active_time(self) -> None:
        """Hear that the limit is reached, while bodies run."""
        ...


class ActiveTime:
    """Meters the active seconds of one session."""

    __slots__ = (
        "_account",
        "_booked_at",
        "_clock",
        "_limited",
        "_running",
        "_spender",
        "_timer",
        "_timers",
    )

    def __init__(self, account: Account, clock: Clock, timers: Timers, spender: Spender) -> None:
        self._account = account
        self._clock = clock
        self._timers = timers
        self._spender: Spender | None = spender
        self._running = 0
        self._booked_at = 0.0
        self._timer: Timer | None = None
        self._limited = account.limits("active_seconds")

    def release(self) -> None:
        """No body runs any more: lead back to nobody, so that all of it is freed at once."""
        self._spender = None

    def enter(self, now: float | None = None) -> None:
        """A body begins; ``now`` where the clock has just been read."""
        if now is None:
            now = self._clock.now()
        if self._running:
            self._book(now)
        else:
            self._booked_at = now
        self._running += 1
        if self._limited:
            self._arm()
            self._check()

    def leave(self) -> None:
        """A body has ended."""
        now = self._clock.now()
        passed_s = now - self._booked_at
        if passed_s > 0.0:
            self._account.add(ACTIVE_SECONDS, passed_s * self._running)
        self._booked_at = now
        self._running -= 1
        if self._limited:
            self._arm()
            self._check()

    def _book(self, now: float) -> None:
        passed_s = now - self._booked_at
        if self._running and passed_s > 0.0:
            self._account.add(ACTIVE_SECONDS, passed_s * self._running)
        self._booked_at = now

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._running:
            left_s = max(0.0, self._account.left("active_seconds")) / self._running
            self._timer = self._timers.after(left_s, self._due)

    def _check(self) -> bool:
        """Tell if the limit is reached; a body that never waits gives no timer a chance to."""
        spent = self._account.left("active_seconds") <= _EPSILON_S
        if spent and self._spender is not None:
            self._spender.out_of_active_time()
        return spent

    def _due(self) -> None:
        self._book(self._clock.now())
        if not self._check():
            self._arm()  # a group's time was given back, or the clock is a hair early
