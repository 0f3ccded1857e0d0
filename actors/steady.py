"""A wall clock that does not jump: due times of waits inside one process."""

import math

from ..supervisor.clock import Clock


class SteadyWall:
    """The wall clock as it was when the process began, carried on by the monotonic one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wall_ms = clock.wall_ms()
        self._began = clock.now()

    def now_ms(self) -> int:
        return self._wall_ms + math.floor((self._clock.now() - self._began) * 1000)

    def after_ms(self, delay_s: float) -> int:
        """Return the time in this many seconds, never early."""
        return self.now_ms() + 1 + math.ceil(delay_s * 1000)

    def left_s(self, due_at_ms: int) -> float:
        """Return the seconds until then; zero or less once it is due."""
        return (due_at_ms - self.now_ms()) / 1000
