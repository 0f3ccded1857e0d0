"""Two clocks: a monotonic one for durations, a wall clock for people and for leases.

A duration is never computed from the wall clock, which may jump. Both are parameters, so a test
can fake either; the default monotonic clock is the event loop's own, which under virtual time
jumps along with it.
"""

import time
from collections.abc import Callable
from typing import Protocol

import anyio

from .loops import current_loop


class Clock(Protocol):
    """Where the runtime takes its time from."""

    def now(self) -> float:
        """Return monotonic seconds; only differences mean something."""
        ...

    def wall_ms(self) -> int:
        """Return milliseconds since the epoch, for records people read and for leases."""
        ...


class SystemClock:
    """The event loop's clock and the machine's wall clock.

    Until it is bound it looks the running loop up at each call, which costs microseconds.
    """

    def __init__(self) -> None:
        self.now: Callable[[], float] = anyio.current_time
        self._wall_ms = 0

    def bind(self) -> None:
        """Read the running loop's clock from now on; other loops need a clock of their own."""
        self.now = current_loop().now

    def wall_ms(self) -> int:
        now_ms = time.time_ns() // 1_000_000
        if now_ms != self._wall_ms:
            self._wall_ms = now_ms
        return self._wall_ms  # one number for all that happens in a millisecond, and is kept
