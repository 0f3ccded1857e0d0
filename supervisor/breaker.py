"""What all sessions together may ask of one upstream: a budget of repeats and a circuit breaker.

Pure: states go in and out, time comes in as seconds of any one clock, chance as ``roll``. A
thousand sessions hit by one outage must neither keep asking while it lasts nor come back at once
when it ends.
"""

from typing import Literal, assert_never

from msgspec import Struct

from .errors import ErrorClass
from .failure import Failure
from .policy_limits import BreakerPolicy, RetryBudgetPolicy

SLOTS = 10
"""Parts of a window; counts older than the window are dropped part by part."""

RECOVERY_S = 30.0
"""Seconds after a recovery in which calls are paced."""

DRAIN_S = 20.0
"""Seconds over which those who were held back are let through; then the pace doubles."""

DOUBLE_S = 5.0
"""Seconds in which the pace doubles then, so that new calls do not queue up behind it."""

Verdict = Literal["up", "down", "nothing"]
"""What the end of a call says about its upstream."""


# ---------------------------------------------------------------- counts over a window


class Window(Struct, frozen=True, gc=False):
    """Two counts over the last seconds, in slots: ``first`` and ``second`` are those of the newest.

    ``older`` are the slots before it, as ``(slot, first, second)``: a count costs no new tuple.
    """

    slot: int = 0
    first: int = 0
    second: int = 0
    older: tuple[tuple[int, int, int], ...] = ()

    def add(self, now: float, window_s: float, first: int, second: int) -> "Window":
        """Return the window with more counted, now."""
        slot = int(now / window_s * SLOTS)
        if slot <= self.slot:
            return Window(self.slot, self.first + first, self.second + second, self.older)
        kept = tuple(each for each in self._slots() if each[0] > slot - SLOTS)
        return Window(slot, first, second, kept)

    def take_back(self, at: float, window_s: float, second: int) -> "Window":
        """Return the window with less counted of the second, in the slot of that time."""
        slot = int(at / window_s * SLOTS)
        if slot == self.slot:
            return Window(slot, self.first, self.second - second, self.older)
        older = ((n, a, b - second if n == slot else b) for n, a, b in self.older)
        return Window(self.slot, self.first, self.second, tuple(older))

    @staticmethod
    def slot_end(now: float, window_s: float) -> float:
        """Return when the slot of that time is over."""
        return (int(now / window_s * SLOTS) + 1) * window_s / SLOTS

    def sums(self, now: float, window_s: float) -> tuple[int, int]:
        """Return both counts."""
        oldest = int(now / window_s * SLOTS) - SLOTS
        first = second = 0
        for slot, a, b in self._slots():
            if slot > oldest:
                first += a
                second += b
        return first, second

    def _slots(self) -> tuple[tuple[int, int, int], ...]:
        return (*self.older, (self.slot, self.first, self.second))


# ---------------------------------------------------------------- the budget of repeats


def may_repeat(window: Window, now: float, policy: RetryBudgetPolicy) -> bool:
    """Tell whether one more repeat fits; ``window`` counts first calls and open or failed repeats."""
    if policy.share_max is None:
        return True
    calls, repeats = window.sums(now, policy.window_s)
    return repeats + 1 <= policy.retries_min + policy.share_max * calls


# ---------------------------------------------------------------- the circuit breaker


class Recovery(Struct, frozen=True, gc=False):
    """The upstream answers again since ``since``; ``per_s`` calls a second are let through.

    ``free_at`` is the next free place.
    """

    since: float
    free_at: float
    per_s: float


class Closed(Struct, frozen=True, gc=False):
    """Calls go through; ``window`` counts those that ended, and those of them that failed."""

    window: Window = Window()
    recovery: Recovery | None = None


class Open(Struct, frozen=True, gc=False):
    """No call goes through before ``until``."""

    until: float


class HalfOpen(Struct, frozen=True, gc=False):
    """The call with the number ``trial`` is tried since ``since``, and its end decides.

    ``since`` None: it ended and said nothing; the next that comes is the trial.
    """

    trial: int
    since: float | None


Breaker = Closed | Open | HalfOpen


class Go(Struct, frozen=True, gc=False):
    """The call may start now; ``trial`` is its number if its end decides."""

    trial: int | None = None


class Wait(Struct, frozen=True, gc=False):
    """Ask again after so many seconds; ``placed``: then it has its place and is not paced again."""

    seconds: float
    placed: bool = False


Answer = Go | Wait
GO = Go()


def ask(
    breaker: Breaker, now: float, policy: BreakerPolicy, roll: float, *, placed: bool = False
) -> tuple[Breaker, Answer]:
    """Return whether a call may start, and the state after that.

    Args:
        roll: a number from 0 up to 1; spreads those who wait.
        placed: it has waited for its place in a recovery.
    """
    match breaker:
        case Closed(window, recovery):
            if recovery is None:
                return breaker, GO
            return _paced(window, recovery, now, policy, placed=placed)
        case Open(until) if now < until:
            return breaker, Wait(until - now + policy.open_s / 2 * roll)
        case Open():
            return HalfOpen(1, now), Go(1)
        case HalfOpen(trial, since) if since is None or now >= since + policy.open_s:
            # A trial that does not end must not keep everybody out: the next one is tried.
            return HalfOpen(trial + 1, now), Go(trial + 1)
        case HalfOpen():
            return breaker, Wait(policy.open_s * (0.1 + 0.4 * roll))
        case _:
            assert_never(breaker)


def _paced(
    window: Window, recovery: Recovery, now: float, policy: BreakerPolicy, *, placed: bool
) -> tuple[Breaker, Answer]:
    """Give places one behind the other."""
    if policy.recovery_per_s is None or now >= recovery.since + RECOVERY_S:
        return Closed(window), GO
    if placed:
        return Closed(window, recovery), GO
    at = max(now, recovery.free_at)
    faster = min(max(0.0, at - recovery.since - DRAIN_S) / DOUBLE_S, 30.0)
    free_at = at + 1.0 / (recovery.per_s * 2.0**faster)
    later = Closed(window, Recovery(recovery.since, free_at, recovery.per_s))
    return later, (GO if at <= now else Wait(at - now, placed=True))


def report(
    breaker: Breaker,
    now: float,
    verdict: Verdict,
    trial: int | None,
    policy: BreakerPolicy,
    held: int = 0,
    calls: int = 1,
) -> Breaker:
    """Return the state after a call has ended.

    Args:
        trial: the number that `ask` gave it.
        held: how many calls wait; after a recovery they are let through over `DRAIN_S` seconds.
        calls: how many have ended like that, where the breaker is closed.
    """
    match breaker:
        case Closed(window, recovery):
            return _counted(window, recovery, now, verdict, policy, calls)
        case Open():
            return breaker  # it had started before
        case HalfOpen(number):
            # Only a trial decides. One that was given up for being slow counts if it succeeds after
            # all: else an upstream whose answers take longer than that would never come back.
            if trial is None or (trial != number and verdict != "up"):
                return breaker
            return _tried(number, now, verdict, policy, held)
        case _:
            assert_never(breaker)


def _counted(
    window: Window,
    recovery: Recovery | None,
    now: float,
    verdict: Verdict,
    policy: BreakerPolicy,
    count: int,
) -> Breaker:
    if verdict == "nothing" or policy.failures_min is None:
        return Closed(window, recovery)
    counted = window.add(now, policy.window_s, count, count if verdict == "down" else 0)
    if verdict == "down":
        calls, failures = counted.sums(now, policy.window_s)
        if failures >= policy.failures_min and failures >= policy.failure_share * calls:
            return Open(now + policy.open_s)
    return Closed(counted, recovery)


def _tried(number: int, now: float, verdict: Verdict, policy: BreakerPolicy, held: int) -> Breaker:
    match verdict:
        case "up":
            per_s = max(policy.recovery_per_s or 0.0, held / DRAIN_S)
            return Closed(recovery=Recovery(now, now, per_s) if policy.recovery_per_s else None)
        case "down":
            return Open(now + policy.open_s)
        case "nothing":
            return HalfOpen(number, None)
        case _:
            assert_never(verdict)


def recovering(breaker: Breaker) -> bool:
    """Tell whether calls are paced because the upstream answers again."""
    return isinstance(breaker, Closed) and breaker.recovery is not None


def state_name(breaker: Breaker) -> Literal["closed", "open", "half_open"]:
    """Return the state's name."""
    match breaker:
        case Closed():
            return "closed"
        case Open():
            return "open"
        case HalfOpen():
            return "half_open"
        case _:
            assert_never(breaker)


def verdict_of(failure: Failure) -> Verdict:
    """Return what a failed call says about its upstream.

    A rate limit says neither: the upstream is there, and names its own wait. A fault in a program
    or an unknown error may not have come from there at all.
    """
    match failure.error_class:
        case ErrorClass.TRANSIENT | ErrorClass.IN_DOUBT_TIMEOUT:
            return "down"
        case (
            ErrorClass.INVALID_ARGUMENT
            | ErrorClass.CONTEXT_OVERFLOW
            | ErrorClass.PERMISSION_DENIED
            | ErrorClass.BUSINESS_REJECTED
            | ErrorClass.CONTENT_REFUSED
        ):
            return "up"
        case (
            ErrorClass.RATE_LIMITED
            | ErrorClass.RESOURCE_EXHAUSTED
            | ErrorClass.PLANNING
            | ErrorClass.CANCELLED
            | ErrorClass.BUG
            | ErrorClass.UNKNOWN
        ):
            return "nothing"
        case _:
            assert_never(failure.error_class)
