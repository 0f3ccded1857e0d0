"""What the sessions of one runtime share about their upstreams: budgets of repeats and breakers.

The decisions are in supervisor/breaker.py; here is the state, by name of the upstream.
"""

from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol, Self

from ..supervisor.breaker import (
    Breaker,
    Closed,
    HalfOpen,
    Open,
    Verdict,
    Wait,
    Window,
    ask,
    may_repeat,
    recovering,
    report,
    state_name,
)
from ..supervisor.clock import Clock
from ..supervisor.policy import Policies
from .events import BreakerClosed, BreakerHalfOpen, BreakerOpened, Event


class Teller(Protocol):
    """The session that is told when its call changes the state of an upstream."""

    id: str

    def emit(self, event: Event, /) -> None: ...
    def now_ms(self) -> int: ...


class Upstream:
    """One upstream, as all sessions of the runtime see it."""

    __slots__ = ("breaker", "held", "name", "repeats")

    def __init__(self, name: str) -> None:
        self.name = name
        self.breaker: Breaker = Closed()
        self.repeats = Window()
        self.held = 0


class Ticket:
    """A call under way; leaving its block tells the upstream how it went.

    ``verdict`` is set by whoever knows; nothing is said of a call that did not get that far.
    """

    __slots__ = ("_began_at", "_repeat", "_shared", "_teller", "_trial", "_upstream", "verdict")

    def __init__(
        self,
        shared: "Upstreams",
        upstream: Upstream,
        teller: Teller,
        trial: int | None,
        repeat: bool,
    ) -> None:
        self.verdict: Verdict = "nothing"
        self._shared = shared
        self._upstream = upstream
        self._teller = teller
        self._trial = trial
        self._repeat = repeat
        self._began_at = shared.now()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._shared.ended(
            self._upstream,
            self._teller,
            self.verdict,
            self._trial,
            self._began_at if self._repeat else None,
        )


class Upstreams:
    """The upstreams of one runtime, made when they are first asked."""

    def __init__(self, clock: Clock, policies: Policies) -> None:
        self._clock = clock
        self._policies = policies
        self._upstreams: dict[str, Upstream] = {}

    def now(self) -> float:
        return self._clock.now()

    def enter(
        self, name: str, teller: Teller, roll: float, *, repeat: bool, placed: bool = False
    ) -> Ticket | Wait:
        """Let a call go out, or say how long it must wait before it asks again.

        Args:
            roll: from 0 up to 1; spreads those who wait.
            repeat: it is not the first attempt of its call.
            placed: it has waited for its place in a recovery.
        """
        upstream = self._of(name)
        policy = self._policies.upstream(name)
        now = self._clock.now()
        before = upstream.breaker
        after, answer = ask(before, now, policy.breaker, roll, placed=placed)
        budget = policy.retry_budget
        if isinstance(answer, Wait):
            upstream.breaker = after
            return answer
        # A trial is one call at a time, and somebody must find out; in a recovery the pace is the
        # limit, and nearly everything that is left to do is a repeat: neither needs the budget.
        free = answer.trial is not None or recovering(after)
        if repeat and not free and not may_repeat(upstream.repeats, now, budget):
            return Wait(budget.window_s * (0.05 + 0.1 * roll))
        upstream.breaker = after
        first, second = (0, 1) if repeat else (1, 0)
        upstream.repeats = upstream.repeats.add(now, budget.window_s, first, second)
        if before is not after:
            _tell(before, upstream, teller)
        return Ticket(self, upstream, teller, answer.trial, repeat)

    def ended(
        self,
        upstream: Upstream,
        teller: Teller,
        verdict: Verdict,
        trial: int | None,
        repeated_at: float | None,
    ) -> None:
        """Take note of how a call ended; ``repeated_at``: when it began, if it was a repeat."""
        policy = self._policies.upstream(upstream.name)
        before = upstream.breaker
        upstream.breaker = report(
            before, self._clock.now(), verdict, trial, policy.breaker, upstream.held
        )
        if repeated_at is not None and verdict == "up":
            window_s = policy.retry_budget.window_s
            upstream.repeats = upstream.repeats.take_back(repeated_at, window_s, 1)
        _tell(before, upstream, teller)

    @contextmanager
    def holding(self, name: str) -> Generator[None]:
        """Count a call that waits, so that a recovery knows how many come back."""
        upstream = self._of(name)
        upstream.held += 1
        try:
            yield
        finally:
            upstream.held -= 1

    def _of(self, name: str) -> Upstream:
        upstream = self._upstreams.get(name)
        if upstream is None:
            upstream = self._upstreams[name] = Upstream(name)
        return upstream

    def states(self) -> dict[str, str]:
        """Return the state of each upstream's breaker, by name: closed, open or half_open."""
        return {name: state_name(each.breaker) for name, each in self._upstreams.items()}


def _tell(before: Breaker, upstream: Upstream, teller: Teller) -> None:
    """Tell a change of state, and nothing else."""
    if type(before) is type(upstream.breaker):
        return
    name, at_ms = upstream.name, teller.now_ms()
    match upstream.breaker:
        case Open():
            teller.emit(BreakerOpened(session_id=teller.id, at_ms=at_ms, upstream=name))
        case HalfOpen():
            teller.emit(BreakerHalfOpen(session_id=teller.id, at_ms=at_ms, upstream=name))
        case Closed():
            teller.emit(BreakerClosed(session_id=teller.id, at_ms=at_ms, upstream=name))
