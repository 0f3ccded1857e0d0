"""Several things that go on side by side in virtual time."""

import heapq
from collections.abc import Generator, Sequence

Waiting = Generator[float, None, None]
"""Something that goes on in virtual time: it yields the time at which it wants to go on."""


class Clock:
    """Virtual time, in seconds of the record's wall clock."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at

    def wall_ms(self) -> int:
        return int(self.at * 1000)


def together(bodies: Sequence[Waiting], starts: Sequence[float]) -> Waiting:
    """Let several go on side by side, each from its start; yields the times in order."""
    due = [(at, number) for number, at in enumerate(starts)]
    heapq.heapify(due)
    while due:
        at, number = due[0]
        yield at
        wake = next(bodies[number], None)
        if wake is None:
            heapq.heappop(due)
        else:
            heapq.heapreplace(due, (wake, number))
