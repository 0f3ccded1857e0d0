"""What a store's writer has to do, and how long its commits have taken: cheap enough to count always."""

import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from math import ceil

from .base import Append, Create, StoreHealth, Write

COMMITS_KEPT = 128
"""Commits whose durations are looked at; older ones are forgotten."""


def weight(write: Write) -> int:
    """Return the bytes that a write holds in memory until it is stored, its few fixed fields aside."""
    if not isinstance(write, (Append, Create)):
        return 0
    # What is no bytes is refused by itself, later.
    size = len(write.body) if type(write.body) is bytes else 0
    if type(write) is Append and write.blobs:
        size += sum(len(body) for _, body in write.blobs)
    return size


def quantile(values: Collection[float], share: float) -> float:
    """Return the smallest value that at least ``share`` of all do not exceed; 0 where there are none."""
    if not values:
        return 0.0
    ranked = sorted(values)
    return ranked[max(ceil(len(ranked) * share), 1) - 1]


class Commitment:
    """Writes on their way to the disk: how many, of how many bytes, and since when."""

    __slots__ = ("bytes", "since", "writes")

    def __init__(self, writes: int, size: int, since: float) -> None:
        self.writes = writes
        self.bytes = size
        self.since = since


class CommitGauge:
    """Counts what is on its way to the disk.

    Args:
        now: seconds of a clock that never goes back.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._under_way: dict[int, Commitment] = {}
        self._durations = deque[float](maxlen=COMMITS_KEPT)
        self.queued = 0
        self.queued_bytes = 0
        self.commits = 0

    def entered(self, writes: Sequence[Write]) -> Commitment:
        """Count writes that somebody waits for."""
        entry = Commitment(len(writes), sum(map(weight, writes)), self._now())
        self._under_way[id(entry)] = entry
        self.queued += entry.writes
        self.queued_bytes += entry.bytes
        return entry

    def left(self, entry: Commitment, *, stored: bool) -> None:
        """Count them no longer; where they were ``stored``, how long that took."""
        if self._under_way.pop(id(entry), None) is None:
            return
        self.queued -= entry.writes
        self.queued_bytes -= entry.bytes
        if stored:
            self.commits += 1
            self._durations.append(self._now() - entry.since)

    def health(self) -> StoreHealth:
        """Return how it stands now."""
        first = next(iter(self._under_way.values()), None)
        return StoreHealth(
            queued=self.queued,
            queued_bytes=self.queued_bytes,
            oldest_seconds=0.0 if first is None else self._now() - first.since,
            commits=self.commits,
            commit_seconds_p50=quantile(self._durations, 0.5),
            commit_seconds_p99=quantile(self._durations, 0.99),
        )
