"""All deadlines of a kernel in one binary heap, served by one task.

Arming and cancelling cost less than a microsecond; a cancelled timer stays in the heap until it
comes up or half of the heap is dead. A cancel scope per deadline costs twenty times as much.
"""

import math
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import final

import anyio
from anyio.lowlevel import checkpoint

from .loops import Loop, OneShot

_FIRED_PER_ROUND = 256
_DEAD_MIN = 64


@final
class Timer:
    """A callback that is due at a time; see ``Timers``."""

    __slots__ = ("_callback", "_timers", "armed", "when")

    def __init__(self, timers: "Timers", when: float, callback: Callable[[], object]) -> None:
        self._timers = timers
        self._callback: Callable[[], object] | None = callback
        self.when = when
        # Whether it will still fire. Not a property: compaction reads it of every timer.
        self.armed = True

    def cancel(self) -> None:
        """Do not fire; without effect if it has fired or was cancelled."""
        if self.armed:
            self.armed = False
            self._callback = None
            self._timers.note_dead()

    def fire(self) -> None:
        self.armed = False
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


@final
class Timers:
    """Deadlines on the kernel's clock. Callbacks are synchronous and must not raise."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._sequence = count()
        self._dead = 0
        self._now: Callable[[], float] = anyio.current_time
        self._sleeper: OneShot | None = None
        self._sleeps_until = math.inf
        self._stopped = False

    def __len__(self) -> int:
        """Return how many timers are armed."""
        return len(self._heap) - self._dead

    def at(self, when: float, callback: Callable[[], object]) -> Timer:
        """Call back at this time of the kernel's clock, or in the loop's next round if it is past.

        Timers of the same time fire in the order in which they were armed.
        """
        timer = Timer(self, when, callback)
        heappush(self._heap, (when, next(self._sequence), timer))
        if when < self._sleeps_until:
            self._wake()
        return timer

    def after(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Call back in so many seconds."""
        return self.at(self._now() + seconds, callback)

    def note_dead(self) -> None:
        self._dead = dead = self._dead + 1
        if dead > _DEAD_MIN and dead * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].armed]
            heapify(self._heap)
            self._dead = 0

    def stop(self) -> None:
        """Let ``serve`` return; timers that are armed will not fire."""
        self._stopped = True
        self._wake()

    def _wake(self) -> None:
        sleeper, self._sleeper = self._sleeper, None
        self._sleeps_until = -math.inf
        if sleeper is not None and not sleeper.done():
            sleeper.set_result(None)

    async def serve(self, loop: Loop, now: Callable[[], float]) -> None:
        """Fire what is due until ``stop`` is called."""
        self._now = now
        while not self._stopped:
            if self._fire_due():
                # More is due; let others run in between.
                await checkpoint()
                continue
            until = self._heap[0][0] if self._heap else math.inf
            sleeper = loop.future()
            self._sleeper, self._sleeps_until = sleeper, until
            with anyio.move_on_after(until - now()):
                await sleeper
            self._sleeper, self._sleeps_until = None, -math.inf

    def _fire_due(self) -> bool:
        """Fire what was armed before this round and is due; tell whether more may be due."""
        now, newest = self._now(), next(self._sequence)
        for _ in range(_FIRED_PER_ROUND):
            while self._heap and not self._heap[0][2].armed:
                heappop(self._heap)
                self._dead -= 1
            if not self._heap or self._heap[0][0] > now:
                return False
            if self._heap[0][1] > newest:
                return True
            heappop(self._heap)[2].fire()
        return True
