"""The interpreter's garbage collector, looked after while sessions run.

The interpreter's own rule is made for programs whose objects die young. Here whatever waits is alive:
thousands of sessions survive every young collection, and each quarter that is added to the old
objects costs a pass over all of them. So the interpreter looks at new objects alone, and less often,
and older ones are looked at here:

- those that have come since the last look, once the process has grown by `STEP_BYTES`;
- all, once the process is twice as large as that left it, so that honest growth costs a number of
  passes that is logarithmic in it, and garbage can at most double the process;
- all, in at most `SHARE_MAX` of the time, whether or not anything grew: garbage may hold more than memory.

Nothing is frozen (`gc.freeze`): passes over everything are too rare for that to matter, and what the
program held when it entered could be garbage later.

Where the process's memory cannot be read, the interpreter keeps its rule for older objects.
"""

import gc
import os
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Final, Literal, NamedTuple, Protocol, final

from .errors import UsageError

CollectorCare = Literal["tuned", "untouched"]
"""Whether the garbage collector is looked after, or left to the program."""


def check_care(care: object) -> bool:
    """Tell whether the collector is to be looked after.

    Raises:
        UsageError: there is no such choice.
    """
    if care not in ("tuned", "untouched"):
        raise UsageError(f"collector={care!r} must be 'tuned' or 'untouched'")
    return care == "tuned"


MIDDLE, ALL = 1, 2
"""What a collection looks at, as `gc.collect` counts it: what came since the last one, or everything."""

STEP_BYTES: Final = 64 * 1024 * 1024
SHARE_MAX: Final = 0.01
ALL_EVERY_S: Final = 60.0
"""Seconds between two looks at everything, at least; they cost some 10 ms in a small process."""

LOOK_EVERY_S: Final = 0.01
"""Seconds between two readings of the process's memory, at least: one costs a few microseconds."""

THRESHOLDS_FOUND = frozenset({(700, 10, 10), (2000, 10, 10), (2000, 10, 0)})
"""What interpreters start with: 3.11 and 3.12, 3.13, 3.14. Other ones were set by the program."""

NEVER = 1_000_000
YOUNG_ONLY = (20_000, NEVER, NEVER)
"""Twenty thousand new objects are looked at in some 5 ms; more would save little and stall for longer."""

LESS_OFTEN = (5_000, 10, 10)
"""Where memory cannot be read, so that nothing else bounds what few large cycles hold."""


class Left(NamedTuple):
    """How the last collections left the process: its bytes, and the time until which all is left alone."""

    bytes_middle: int
    bytes_all: int
    all_due_at: float


def due(held: int, now: float, left: Left, *, anything_new: bool) -> int | None:
    """Return what has to be looked at now: `MIDDLE`, `ALL`, or None.

    Args:
        held: bytes of the process.
        anything_new: whether young objects were collected since all were looked at.
    """
    if held > left.bytes_all + max(left.bytes_all, 2 * STEP_BYTES):
        return ALL
    if held > left.bytes_middle + STEP_BYTES:
        return MIDDLE
    return ALL if anything_new and now >= left.all_due_at else None


class ReadsMemory(Protocol):
    """What `Memory` is to a collector."""

    def read(self) -> int: ...

    def close(self) -> None: ...


@final
class Memory:
    """Reads how many bytes this process holds.

    Raises:
        OSError: it cannot be read here.
    """

    def __init__(self) -> None:
        self._file = os.open("/proc/self/statm", os.O_RDONLY)
        self._page = os.sysconf("SC_PAGE_SIZE")

    def read(self) -> int:
        return int(os.pread(self._file, 64, 0).split()[1]) * self._page

    def close(self) -> None:
        os.close(self._file)


@final
class Collector:
    """Looks after the collector of the process for as long as anybody in it asks for that.

    It may be entered, left and asked to look from any thread. It touches nothing where the program has
    set thresholds of its own or disabled the collector, and stops where it does so later.
    """

    def __init__(
        self,
        memory: Callable[[], ReadsMemory] = Memory,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_memory = memory
        self._now = now
        self._lock = Lock()
        self._users = 0
        self._found: tuple[int, int, int] | None = None
        self._memory: ReadsMemory | None = None
        self._left = Left(0, 0, 0.0)
        self._young_seen = 0
        self._look_at = float("inf")

    def enter(self) -> None:
        """Look after it, until whoever entered last has left."""
        with self._lock:
            self._users += 1
            if self._users == 1 and gc.isenabled() and gc.get_threshold() in THRESHOLDS_FOUND:
                self._tune()

    def _tune(self) -> None:
        with suppress(OSError):
            self._memory = self._open_memory()
        self._found = gc.get_threshold()
        if self._memory is None:
            gc.set_threshold(*LESS_OFTEN)
            return
        gc.set_threshold(*YOUNG_ONLY)
        held, now = self._memory.read(), self._now()
        self._left = Left(held, held, now + ALL_EVERY_S)
        self._young_seen = _young_collections()
        self._look_at = now

    def leave(self) -> None:
        """Put back what was found, unless somebody is left or the program has set something else."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            if self._found is not None and gc.get_threshold() in (YOUNG_ONLY, LESS_OFTEN):
                gc.set_threshold(*self._found)
            if self._memory is not None:
                self._memory.close()
            self._found, self._memory = None, None
            self._look_at = float("inf")

    def look(self) -> None:
        """Collect what is due. Cheap: it may be called whenever something has been done."""
        now = self._now()
        if now < self._look_at or not self._lock.acquire(blocking=False):
            return
        try:
            self._look(now)
        finally:
            self._lock.release()

    def _look(self, now: float) -> None:
        if self._memory is None or not gc.isenabled() or gc.get_threshold() != YOUNG_ONLY:
            return  # left meanwhile, or the program has taken it into its own hands
        self._look_at = now + LOOK_EVERY_S
        young = _young_collections()
        held = self._memory.read()
        what = due(held, now, self._left, anything_new=young != self._young_seen)
        if what is None:
            return
        gc.collect(what)
        held, took = self._memory.read(), self._now() - now
        if what == MIDDLE:
            self._left = self._left._replace(bytes_middle=held)
            return
        self._left = Left(held, held, now + max(ALL_EVERY_S, took / SHARE_MAX))
        self._young_seen = young


def _young_collections() -> int:
    return gc.get_stats()[0]["collections"]


COLLECTOR: Final = Collector()
"""The one of this process; whatever looks after it does so through this."""
