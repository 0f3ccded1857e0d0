"""What a supervisor handles, one at a time, and how its script waits."""

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from .child import Child, Life
from .exits import ExitReason
from .loops import OneShot

T = TypeVar("T")

# A script yields the time at which it must be driven on, or None if only a change can help.
Waiting = Generator[float | None, None, T]


class Exit:
    """A child's life has ended."""

    __slots__ = ("child", "life")

    def __init__(self, child: Child, life: Life) -> None:
        self.child = child
        self.life = life


class Retry:
    """A restart is due: after its wait, or again after it failed."""

    __slots__ = ("child", "counted", "reason")

    def __init__(self, child: Child, reason: ExitReason, *, counted: bool) -> None:
        self.child = child
        self.reason = reason
        self.counted = counted


class Stop:
    """The parent orders the end."""

    __slots__ = ("reason",)

    def __init__(self, reason: ExitReason) -> None:
        self.reason = reason


class Call:
    """Somebody asks for something and waits for the answer."""

    __slots__ = ("done", "error", "run", "value")

    def __init__(self, run: Callable[[Any], Waiting[object]], done: OneShot | None) -> None:
        self.run = run
        self.done = done
        self.value: object = None
        self.error: Exception | None = None

    def finish(self) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_result(None)


Event = Exit | Retry | Stop | Call
