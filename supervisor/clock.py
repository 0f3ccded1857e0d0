"""Two clocks: a monotonic one for durations, a wall clock for people and for leases.

A duration is never computed from the wall clock, which may jump. Both are parameters, so a test
can fake either; the default monotonic clock is the event loop's own, which under virtual time
jumps along with it.
"""

import time
from typing import Protocol

import anyio


class Clock(Protocol):
    """Where the runtime takes its time from."""

    def now(self) -> float:
        """Return monotonic seconds; only differences mean something."""
        ...

    def wall_ms(self) -> int:
        """Return milliseconds since the epoch, for records people read and for leases."""
        ...


class SystemClock:
    """The running event loop's clock and the machine's wall clock."""

    def now(self) -> float:
        return anyio.current_time()

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000
