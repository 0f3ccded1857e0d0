"""The interpreter's garbage collector, looked after while sessions run.

The interpreter's own rule is made for programs whose objects die young. Here whatever waits is alive:
thousands of sessions survive every young collection, are gone through twice, and each quarter that
is added to the old objects costs a pass over all of them. So the interpreter looks at new objects
alone, less often, and never again at what survived. Here is looked at

- what is new, also once the process has grown by `STEP_BYTES`, since few objects may be large, and
  each second in which a thousand have come, since they may hold more than memory;
- all, once the process is twice as large as that left it, so that honest growth costs a number of
  passes that is logarithmic in it, and garbage can at most double the process;
- all, in at most `SHARE_MAX` of the time, whether or not anything grew.

Nothing stays frozen (`gc.freeze`): passes over everything are too rare for that to matter, and what the
program held when it entered could be garbage later. Where very much is made at once that is known to
live, it is counted among what is old without having been looked at, see `Collector.keep`.

Where the process's memory cannot be read, the interpreter keeps its rule for older objects.
"""

import gc
import os
import time
from collections.abc import Callable
from contextlib import suppress
from threading import RLock
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


NEW, ALL = 0, 2
"""What a collection looks at, as `gc.collect` counts it: what came since the last one, or everything."""

STEP_BYTES: Final = 16 * 1024 * 1024
ALL_STEP_BYTES: Final = 128 * 1024 * 1024

NEW_EVERY_S: Final = 1.0
NEW_MIN: Final = 1_000
"""Objects: fewer are worth no look for their own sake, so a program at rest is left in peace."""

SHARE_MAX: Final = 0.01
ALL_EVERY_S: Final = 60.0
"""Seconds between two looks at everything, at least; they cost some 10 ms in a small process."""

LOOK_EVERY_S: Final = 0.01
"""Seconds between two readings of the process's memory, at least: one costs a few microseconds."""

THRESHOLDS_FOUND = frozenset({(700, 10, 10), (2000, 10, 10), (2000, 10, 0)})
"""What interpreters start with: 3.11 and 3.12, 3.13, 3.14. Other ones were set by the program."""

NEVER = 1_000_000
NEW_ONLY = (20_000, NEVER, NEVER)
"""Twenty thousand objects are looked at in some 5 ms. More at once do not fit into a processor's cache,
and an object costs twice as much; of fewer, more are still in use, only to be let go a moment later."""

KEPT_MIN = 10_000
"""Objects: with so many new ones the next look at them is near, and would find all of them in use."""

LESS_OFTEN = (5_000, 10, 10)
"""Where memory cannot be read, so that nothing else bounds what few large cycles hold."""


class Left(NamedTuple):
    """How the last look at what was new, and the last at everything, left the process.

    Its bytes then, and from when on time alone is a reason for the next.
    """

    new_bytes: int
    new_due_at: float
    all_bytes: int
    all_due_at: float


def due(held: int, now: float, left: Left, *, new: int, looked: bool) -> int | None:
    """Return what has to be looked at now: `NEW`, `ALL`, or None.

    Args:
        held: bytes of the process.
        new: objects that have come since the last look, about.
        looked: whether anything was looked at since everything was.
    """
    if held > left.all_bytes + max(left.all_bytes, ALL_STEP_BYTES):
        return ALL
    if looked and now >= left.all_due_at:
        return ALL
    grown = held > left.new_bytes + STEP_BYTES
    return NEW if grown or (new >= NEW_MIN and now >= left.new_due_at) else None


def _never() -> bool:
    return False


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
        # What a collection finalizes may leave in the middle of it: the tasks of a loop that was given up.
        self._lock = RLock()
        self._users = dict[object, Callable[[], bool]]()
        self._found: tuple[int, int, int] | None = None
        self._memory: ReadsMemory | None = None
        self._left = Left(0, 0.0, 0, 0.0)
        self._looks = 0
        self._look_at = float("inf")

    def enter(self, gone: Callable[[], bool] = _never) -> object:
        """Look after it, until whoever entered last has left.

        Args:
            gone: tells whether who enters is no more, and can therefore never leave.

        Returns:
            What to leave with.
        """
        with self._lock:
            self._forget_gone()
            user = object()
            self._users[user] = gone
            if len(self._users) == 1 and gc.isenabled() and gc.get_threshold() in THRESHOLDS_FOUND:
                self._tune()
            return user

    def _tune(self) -> None:
        with suppress(OSError):
            self._memory = self._open_memory()
        self._found = gc.get_threshold()
        if self._memory is None:
            gc.set_threshold(*LESS_OFTEN)
            return
        gc.set_threshold(*NEW_ONLY)
        gc.callbacks.append(self._collected)
        held, now = self._memory.read(), self._now()
        self._left = Left(held, now + NEW_EVERY_S, held, now + ALL_EVERY_S)
        self._looks = _looks_at_new()
        self._look_at = now

    def leave(self, user: object) -> None:
        """Put back what was found, unless somebody is left or the program has set something else."""
        with self._lock:
            if self._users.pop(user, None) is not None and not self._users:
                self._put_back()

    def _put_back(self) -> None:
        if self._found is not None and gc.get_threshold() in (NEW_ONLY, LESS_OFTEN):
            gc.set_threshold(*self._found)
        if self._memory is not None:
            gc.callbacks.remove(self._collected)
            self._memory.close()
        self._found, self._memory = None, None
        self._look_at = float("inf")

    def _collected(self, phase: str, info: object) -> None:
        """After a collection: nobody else would see that who asked for this is no more."""
        if phase == "stop" and self._lock.acquire(blocking=False):
            try:
                self._forget_gone()
            finally:
                self._lock.release()

    def _forget_gone(self) -> None:
        for user in [user for user, gone in self._users.items() if gone()]:
            self.leave(user)

    def look(self) -> None:
        """Collect what is due. Cheap: it may be called whenever something has been done."""
        now = self._now()
        if now < self._look_at or not self._lock.acquire(blocking=False):
            return
        try:
            self._look(now)
        finally:
            self._lock.release()

    def keep(self) -> None:
        """Count what is new among what is old, unseen, where it is much: the caller knows that it lives.

        Garbage among it is found by the next look at everything. Cheap, as `look` is.
        """
        if gc.get_count()[0] < KEPT_MIN or not self._lock.acquire(blocking=False):
            return
        try:
            # What the program has frozen stays so.
            if self._tuned() and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
                self._looks = -1  # of these, nothing was looked at
        finally:
            self._lock.release()

    def _tuned(self) -> bool:
        """Tell whether nobody has left meanwhile, or taken it into the program's own hands."""
        return gc.isenabled() and gc.get_threshold() == NEW_ONLY

    def _look(self, now: float) -> None:
        memory = self._memory
        if memory is None or not self._tuned():
            return
        self._look_at = now + LOOK_EVERY_S
        looks, new = _looks_at_new(), gc.get_count()[0]
        what = due(memory.read(), now, self._left, new=new, looked=looks != self._looks)
        if what is None:
            return
        gc.collect(what)
        if self._memory is not memory:
            return  # what was collected was the last that it was looked after for
        held, after = memory.read(), self._now()
        if what == NEW:
            self._left = self._left._replace(new_bytes=held, new_due_at=after + NEW_EVERY_S)
            return
        rest_s = max(ALL_EVERY_S, (after - now) / SHARE_MAX)
        self._left = Left(held, after + NEW_EVERY_S, held, after + rest_s)
        self._looks = looks


def _looks_at_new() -> int:
    """Return how often new objects were collected in this process, by us or by the interpreter."""
    return int(gc.get_stats()[NEW]["collections"])


COLLECTOR: Final = Collector()
"""The one of this process; whatever looks after it does so through this."""
