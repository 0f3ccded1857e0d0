"""What the sessions of one runtime share about their upstreams: budgets of repeats, breakers, and
places for calls.

The decisions are in supervisor/breaker.py and fairness.py; here is the state, by name of the upstream.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
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
    ask,
    may_repeat,
    recovering,
    report,
    state_name,
)
from ..supervisor.clock import Clock
from ..supervisor.policy import Policies
from ..supervisor.policy_limits import UpstreamPolicy
from .events import Event
from .fairness import FairLine
from .upstream import Place, Upstream
from .upstream_events import BreakerClosed, BreakerHalfOpen, BreakerOpened


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


class Full:
    """As many calls are under way as may be; ``place`` stands in line."""

    __slots__ = ("place",)

    def __init__(self, place: Place) -> None:
        self.place = place


class Ticket(Struct, eq=False):
    """A call under way; leaving its block, or `Upstreams.ended`, tells the upstream how it went.

    Attributes:
        repeat: it is not the first attempt of its call.
        trial: its number, if its end decides.
        verdict: set by whoever knows; nothing is said of a call that did not get that far.
        waited_s: for how long it waited for its place; no retry's time budget counts that.
    """

    shared: "Upstreams"
    upstream: Upstream
    teller: Teller
    began_at: float
    repeat: bool = False
    trial: int | None = None
    place: Place | None = None
    verdict: Verdict = "nothing"
    waited_s: float = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.shared.ended(self, self.shared.now())


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
        """Let a call go out, as nearly every call may; or say for what it must wait, to ask again.

        Args:
            roll: from 0 up to 1; spreads those who wait.
            repeat: it is not the first attempt of its call.
            placed: it has waited for its place in a recovery.
            place: the one it was given, among those that may be under way.
        """
        now = self._clock.now()
        upstream = self._upstreams.get(name) or self._of(name)
        if not repeat and now < upstream.quiet_until and upstream.seen is self._policies.current:
            upstream.begun += 1
            return Ticket(self, upstream, teller, now)
        upstream.count_up()
        policy, breaker = upstream.policy, upstream.breaker
        if upstream.line is not None or policy.concurrency.calls_max is not None:
            place = self._take_place(upstream, policy.concurrency.calls_max, teller, place)
            if place.given is not None and not place.given.is_set():
                return Full(place)
        elif not repeat and type(breaker) is Closed and breaker.recovery is None:
            upstream.quieten(now)  # `ask` lets it go, and changes nothing
            upstream.begun += 1
            return Ticket(self, upstream, teller, now)
        answer = self._enter(
            upstream, policy, teller, now, roll, repeat=repeat, placed=placed, place=place
        )
        if place is not None and isinstance(answer, Wait):
            self.leave(name, place)  # others may be let through meanwhile
        return answer

    def _enter(
        self,
        upstream: Upstream,
        policy: UpstreamPolicy,
        teller: Teller,
        now: float,
        roll: float,
        *,
        repeat: bool,
        placed: bool,
        place: Place | None,
    ) -> Ticket | Wait:
        """Ask the breaker and the budget of repeats."""
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
        _tell(before, upstream, teller)
        return Ticket(self, upstream, teller, now, repeat, answer.trial, place)

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

    def ended(self, ticket: Ticket, now: float) -> None:
        """Take note of how a call ended, and of its place."""
        upstream, verdict = ticket.upstream, ticket.verdict
        if (
            verdict == "up"
            and not ticket.repeat
            and now < upstream.quiet_until
            and upstream.seen is self._policies.current
        ):
            upstream.answered += 1
        else:
            upstream.count_up()
            policy, before = upstream.policy, upstream.breaker
            upstream.breaker = report(
                before, now, verdict, ticket.trial, policy.breaker, upstream.held
            )
            if ticket.repeat and verdict == "up":
                window_s = policy.retry_budget.window_s
                upstream.repeats = upstream.repeats.take_back(ticket.began_at, window_s, 1)
            _tell(before, upstream, ticket.teller)
        if ticket.place is not None:
            self.leave(upstream.name, ticket.place)

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
