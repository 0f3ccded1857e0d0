"""What the sessions of one runtime share about their upstreams: budgets of repeats, breakers, and
places for calls.

The decisions are in supervisor/breaker.py and fairness.py; here is the state, by name of the upstream.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol, Self

import anyio
from msgspec import Struct

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
from ..supervisor.policy import Policies, UpstreamPolicy
from .events import BreakerClosed, BreakerHalfOpen, BreakerOpened, Event
from .fairness import FairLine


class Teller(Protocol):
    """The session that is told when its call changes the state of an upstream."""

    id: str

    def emit(self, event: Event, /) -> None: ...
    def now_ms(self) -> int: ...


class UpstreamHealth(Struct, frozen=True, kw_only=True):
    """How an upstream stands; durations in seconds.

    Attributes:
        breaker: ``closed``, ``open`` or ``half_open``.
        calls: those under way, where their number is limited; else 0.
        waiting: calls that wait for a place.
        oldest_s: for how long the first of them has.
        held: calls held back by the breaker or the budget of repeats.
    """

    breaker: str
    calls: int
    waiting: int
    oldest_s: float
    held: int


class Place:
    """A call's place among those that may be under way, or its wait for one."""

    __slots__ = ("given",)

    def __init__(self) -> None:
        self.given: anyio.Event | None = None


class Full:
    """As many calls are under way as may be; ``place`` stands in line."""

    __slots__ = ("place",)

    def __init__(self, place: Place) -> None:
        self.place = place


class Upstream:
    """One upstream, as all sessions of the runtime see it."""

    __slots__ = ("_policies", "_policy", "_seen", "breaker", "held", "line", "name", "repeats")

    def __init__(self, name: str, policies: Policies) -> None:
        self.name = name
        self._policies = policies
        self._seen = policies.current
        self._policy = policies.upstream(name)
        self.breaker: Breaker = Closed()
        self.repeats = Window()
        self.held = 0
        self.line: FairLine[Place] | None = None
        """Who may call, where a limit was ever met."""

    @property
    def policy(self) -> UpstreamPolicy:
        """What holds for it, looked up anew where the policy was replaced."""
        if self._seen is not self._policies.current:
            self._seen = self._policies.current
            self._policy = self._policies.upstream(self.name)
        return self._policy


class Ticket:
    """A call under way; leaving its block tells the upstream how it went.

    ``verdict`` is set by whoever knows; nothing is said of a call that did not get that far.
    """

    __slots__ = (
        "_began_at",
        "_place",
        "_repeat",
        "_shared",
        "_teller",
        "_trial",
        "_upstream",
        "verdict",
        "waited_s",
    )

    def __init__(
        self,
        shared: "Upstreams",
        upstream: Upstream,
        teller: Teller,
        trial: int | None,
        repeat: bool,
        place: Place | None,
        now: float,
    ) -> None:
        self._place = place
        self.waited_s = 0.0
        """Seconds that the call waited for its place; no retry's time budget counts them."""
        self.verdict: Verdict = "nothing"
        self._shared = shared
        self._upstream = upstream
        self._teller = teller
        self._trial = trial
        self._repeat = repeat
        self._began_at = now

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
        if self._place is not None:
            self._shared.leave(self._upstream.name, self._place)


class Upstreams:
    """The upstreams of one runtime, made when they are first asked.

    Args:
        tenant_of: returns whose session one is, by its id.
    """

    def __init__(
        self, clock: Clock, policies: Policies, tenant_of: Callable[[str], str] = lambda _: ""
    ) -> None:
        self._clock = clock
        self._policies = policies
        self._tenant_of = tenant_of
        self._upstreams: dict[str, Upstream] = {}

    def now(self) -> float:
        return self._clock.now()

    def enter(
        self,
        name: str,
        teller: Teller,
        roll: float,
        *,
        repeat: bool,
        placed: bool = False,
        place: Place | None = None,
    ) -> Ticket | Wait | Full:
        """Let a call go out, or say for what it must wait before it asks again.

        Args:
            roll: from 0 up to 1; spreads those who wait.
            repeat: it is not the first attempt of its call.
            placed: it has waited for its place in a recovery.
            place: the one it was given, among those that may be under way.
        """
        upstream = self._upstreams.get(name) or self._of(name)
        policy, breaker = upstream.policy, upstream.breaker
        if upstream.line is not None or policy.concurrency.calls_max is not None:
            place = self._take_place(upstream, policy.concurrency.calls_max, teller, place)
            if place.given is not None and not place.given.is_set():
                return Full(place)
        elif not repeat and type(breaker) is Closed and breaker.recovery is None:
            # As nearly always: `ask` lets it go, and changes nothing.
            now = self._clock.now()
            upstream.repeats = upstream.repeats.add(now, policy.retry_budget.window_s, 1, 0)
            return Ticket(self, upstream, teller, None, repeat, None, now)
        answer = self._enter(
            upstream, policy, teller, roll, repeat=repeat, placed=placed, place=place
        )
        if place is not None and isinstance(answer, Wait):
            self.leave(name, place)  # others may be let through meanwhile
        return answer

    def _enter(
        self,
        upstream: Upstream,
        policy: UpstreamPolicy,
        teller: Teller,
        roll: float,
        *,
        repeat: bool,
        placed: bool,
        place: Place | None,
    ) -> Ticket | Wait:
        """Ask the breaker and the budget of repeats."""
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
        return Ticket(self, upstream, teller, answer.trial, repeat, place, now)

    # ------------------------------------------------------------ places

    def _take_place(
        self, upstream: Upstream, calls_max: int | None, teller: Teller, place: Place | None
    ) -> Place:
        """Return the call's place; ``given`` is set where it has one, None where it never waited."""
        line = upstream.line
        if line is None:
            line = upstream.line = FairLine[Place]()
        line.limit(calls_max)
        if place is None:
            place = Place()
        if not line.holds(place):
            line.join(place, self._tenant_of(teller.id), self._clock.now())
            self._serve(line)
            if not line.holds(place):
                place.given = anyio.Event()
        return place

    def leave(self, name: str, place: Place) -> None:
        """Give up a call's place, or its wait for one."""
        upstream = self._of(name)
        if upstream.line is not None and upstream.line.leave(place):
            upstream.line.limit(self._policies.upstream(name).concurrency.calls_max)
            self._serve(upstream.line)

    def policy_changed(self) -> None:
        """Let calls go out for which a new policy has places."""
        for name, upstream in self._upstreams.items():
            if upstream.line is not None:
                upstream.line.limit(self._policies.upstream(name).concurrency.calls_max)
                self._serve(upstream.line)

    def _serve(self, line: FairLine[Place]) -> None:
        for place in line.serve():
            if place.given is not None:
                place.given.set()

    # ------------------------------------------------------------ afterwards

    def ended(
        self,
        upstream: Upstream,
        teller: Teller,
        verdict: Verdict,
        trial: int | None,
        repeated_at: float | None,
    ) -> None:
        """Take note of how a call ended; ``repeated_at``: when it began, if it was a repeat."""
        policy = upstream.policy
        before = upstream.breaker
        upstream.breaker = report(
            before, self._clock.now(), verdict, trial, policy.breaker, upstream.held
        )
        if repeated_at is not None and verdict == "up":
            window_s = policy.retry_budget.window_s
            upstream.repeats = upstream.repeats.take_back(repeated_at, window_s, 1)
        if type(before) is not type(upstream.breaker):
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
            upstream = self._upstreams[name] = Upstream(name, self._policies)
        return upstream

    def health(self) -> dict[str, UpstreamHealth]:
        """Return how each upstream stands, by name."""
        return {name: self._health(each) for name, each in self._upstreams.items()}

    def _health(self, upstream: Upstream) -> UpstreamHealth:
        line = upstream.line
        since = None if line is None else line.oldest()
        return UpstreamHealth(
            breaker=state_name(upstream.breaker),
            calls=0 if line is None else line.held,
            waiting=0 if line is None else line.waiting,
            oldest_s=0.0 if since is None else max(0.0, self.now() - since),
            held=upstream.held,
        )

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
