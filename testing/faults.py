"""A plan of faults: at which call of a model, a tool or the store something goes wrong, and what.

A plan counts the calls that pass it, kind by kind, and is the same at every run: the k-th call is hit
however long anything takes. What dies at a ``kill`` is for the caller to say.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Literal, TypeVar

import anyio
from msgspec import Struct

from ..supervisor.errors import (
    BusinessRejected,
    ContentRefused,
    ContextOverflow,
    ErrorClass,
    Failed,
    InDoubtTimeout,
    InvalidArgument,
    PermissionDenied,
    PlanningFailure,
    RateLimited,
    ResourceExhausted,
    ToolBug,
    TransientError,
    UsageError,
)

T = TypeVar("T")

Kind = Literal["model", "tool", "store"]
Do = Literal["error", "lost", "late", "hang", "kill_before", "kill_after"]

ERRORS: dict[ErrorClass, type[Failed]] = {
    each.error_class: each
    for each in (
        TransientError,
        RateLimited,
        InDoubtTimeout,
        InvalidArgument,
        ContextOverflow,
        PermissionDenied,
        ResourceExhausted,
        BusinessRejected,
        ContentRefused,
        PlanningFailure,
        ToolBug,
    )
}


class UnheardOf(Exception):
    """An error that nobody recognises."""


def error_of(error_class: ErrorClass, message: str = "planned fault") -> BaseException:
    """Return a fresh exception of this class, as a tool or a model raises it before it did anything.

    `ErrorClass.UNKNOWN` is one that no rule knows, `ErrorClass.CANCELLED` a cancellation that nobody
    asked for.
    """
    if error_class is ErrorClass.CANCELLED:
        return asyncio.CancelledError(message)
    if error_class is ErrorClass.UNKNOWN:
        return UnheardOf(message)
    return ERRORS[error_class](message)


class Fault(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that goes wrong at the ``at``-th call (from 1) of its kind.

    ``do``: ``error`` raises one of ``error_class`` before the body runs; ``lost`` runs the body and then
    raises a connection error instead of answering; ``late`` runs the body and answers ``delay_s`` seconds
    later; ``hang`` never runs it and never answers; ``kill_before`` and ``kill_after`` kill the process
    around it. ``times``: how many calls are hit in a row; None: that one and every later one.
    """

    at: int
    do: Do
    kind: Kind = "tool"
    error_class: ErrorClass = ErrorClass.TRANSIENT
    delay_s: float = 0.0
    times: int | None = 1

    def __post_init__(self) -> None:
        if self.at < 1:
            raise UsageError(f"at={self.at}: calls are counted from 1")
        if self.times is not None and self.times < 1:
            raise UsageError(f"times={self.times}: a fault hits at least once; None: for good")
        if not self.delay_s >= 0:
            raise UsageError(f"delay_s={self.delay_s} must be seconds from 0 up")

    def hits(self, number: int) -> bool:
        """Tell whether the call of this number is hit. Pure."""
        return self.at <= number and (self.times is None or number < self.at + self.times)


class Hit(Struct, frozen=True):
    """A fault and the number of the call that it struck."""

    fault: Fault
    number: int


async def _no_kill() -> None:
    raise UsageError("this plan kills, and nobody said what dies: FaultPlan(..., kill=...)")


class FaultPlan:
    """Counts calls and says what strikes them. ``counts`` are the calls so far, ``struck`` what hit.

    Args:
        faults: what goes wrong; where several hit one call, the first given does.
        kill: called, and awaited, at ``kill_before`` and ``kill_after``; it must not return.
    """

    def __init__(
        self, faults: Iterable[Fault] = (), *, kill: Callable[[], Awaitable[None]] = _no_kill
    ) -> None:
        self.faults = tuple(faults)
        self.kill = kill
        self.counts: Counter[Kind] = Counter()
        self.struck: list[Hit] = []

    def due(self, kind: Kind) -> Fault | None:
        """Count one call of this kind and return the fault that hits it."""
        self.counts[kind] += 1
        number = self.counts[kind]
        for fault in self.faults:
            if fault.kind == kind and fault.hits(number):
                self.struck.append(Hit(fault, number))
                return fault
        return None

    async def around(self, kind: Kind, body: Callable[[], Awaitable[T]]) -> T:
        """Count one call and run its body as the plan says.

        Raises:
            BaseException: what the fault raises, or the body.
        """
        return await suffer(self.due(kind), body, self.kill)


async def suffer(
    fault: Fault | None, body: Callable[[], Awaitable[T]], kill: Callable[[], Awaitable[None]]
) -> T:
    """Run a body with this fault, or with none."""
    if fault is None:
        return await body()
    match fault.do:
        case "error":
            raise error_of(fault.error_class)
        case "hang":
            await anyio.sleep_forever()
        case "kill_before":
            await kill()
        case "lost" | "late" | "kill_after":
            pass  # after the body
    result = await body()
    match fault.do:
        case "lost":
            raise ConnectionResetError("planned fault: the answer got lost")
        case "late":
            await anyio.sleep(fault.delay_s)
        case "kill_after":
            await kill()
        case _:
            pass
    return result
