"""Recorded sessions go through one world under one policy, in virtual time.

Every decision is the runtime's own: `decide`, breakers and budgets of repeats as `Upstreams` keeps them, how
long an upstream is waited for, and when a write is in doubt. What is played are only the waits between.
"""

from collections import defaultdict
from collections.abc import Generator
from typing import assert_never

from msgspec import Struct

from ...supervisor.breaker import Wait, verdict_of
from ...supervisor.decide import (
    Conclude,
    Correct,
    Directive,
    HandOver,
    History,
    PassThrough,
    Prune,
    Retry,
    decide,
)
from ...supervisor.failure import Failure
from ...supervisor.policy import Policies, Policy
from ..ends import may_have_taken_effect, state_of_failed
from ..events import Event
from ..gate import NoTicket, too_long
from ..upstreams import Ticket, Upstreams
from .chance import key_of, mixed
from .courses import UNENDING, Fared, PlayedCall, PlayedSession
from .seen import CORRECTED, Asked, Fault, Trace
from .waiting import Clock, Waiting, together
from .worlds import Miss, World

LINE_S = 0.05
"""How often a call that waits in line for its upstream looks whether it has its place."""


class Played(Struct, frozen=True):
    """How all sessions fared, in order, and when each upstream was asked."""

    sessions: tuple[Fared, ...]
    asked: dict[str, list[float]]
    decisions: int


def play(world: World, policy: Policy) -> Played:
    """Play all sessions of a world under a policy; the same again for the same seed."""
    return _Player(world, policy).play()


class _Nobody:
    """Stands for the session that is told of breakers: nobody listens."""

    id = ""

    def emit(self, event: Event, /) -> None:
        pass

    def now_ms(self) -> int:
        return 0


_NOBODY = _Nobody()


_NO_TICKET = NoTicket()


class _Player:
    """One run through a world."""

    def __init__(self, world: World, policy: Policy) -> None:
        self._world = world
        self._clock = Clock()
        self._policies = Policies(policy)
        self._upstreams = Upstreams(self._clock, self._policies)
        self._asked: dict[str, list[float]] = defaultdict(list)
        self._decisions = 0
        self._failures: dict[Fault, Failure] = {}

    def play(self) -> Played:
        traces = self._world.known.traces
        fared: list[Fared | None] = [None] * len(traces)
        starts = [trace.at for trace in traces]
        bodies = [self._session(index, trace, fared) for index, trace in enumerate(traces)]
        for at in together(bodies, starts):
            self._clock.at = at
        done = tuple(each for each in fared if each is not None)
        return Played(done, dict(self._asked), self._decisions)

    # ------------------------------------------------------------ a session

    def _session(self, index: int, trace: Trace, fared: list[Fared | None]) -> Waiting:
        session = PlayedSession(trace, mixed(self._world.key, key_of(trace.session_id)))
        yield from self._steps(session, trace.steps, 0)
        if session.over is None:
            end, reason = trace.end, trace.reason
            if end == "open":
                way = self._world.onward(trace)
                session.unsure |= not way.known
                yield from self._steps(session, way.steps, len(trace.steps))
                end, reason = way.end, way.reason
            if end in ("handed_over", "stopped"):
                session.in_doubt += trace.lost
                # Stopped for a reason of its own, such as "cancelled", is not handed over.
                session.hand_over("stopped" if end == "stopped" else reason or end)
        outcome = session.over or "completed"
        for rounds in session.series.values():
            # Amended again and again, and in vain: all but the first were for nothing.
            if outcome not in ("completed", "stopped") and rounds:
                session.wasted += rounds - 1
        fared[index] = Fared(
            outcome,
            min(self._clock.at, session.deadline) - trace.at,
            session.spent["model_calls"] + session.spent["tool_calls"],
            session.spent["tokens"],
            session.spent["retries"],
            session.wasted,
            session.in_doubt,
            session.unsure,
        )

    def _steps(self, session: PlayedSession, steps: tuple[Asked, ...], first: int) -> Waiting:
        at = 0
        while at < len(steps) and session.over is None:
            end = at + 1
            while end < len(steps) and steps[end].beside:
                end += 1
            step = steps[at]
            if not step.is_model and step.n != session.stepped_n:
                session.stepped_n = step.n
                if not session.books("steps"):
                    return
            if end == at + 1:
                yield from self._call(session, first + at, step)
            else:
                yield from self._together(session, first + at, steps[at:end])
            at = end

    def _together(self, session: PlayedSession, first: int, steps: tuple[Asked, ...]) -> Waiting:
        """Make calls side by side; go on when the last has ended."""
        bodies = [self._call(session, first + at, step) for at, step in enumerate(steps)]
        yield from together(bodies, [self._clock.at] * len(bodies))

    # ------------------------------------------------------------ a call

    def _call(self, session: PlayedSession, at: int, step: Asked) -> Waiting:
        """Bring one call to its end, over as many attempts as the policy gives it."""
        subject = self._world.known.subjects[step.subject]
        policy = self._policies.of(session.trace.agent, "" if step.is_model else step.subject)
        call = PlayedCall(session, at, step, subject, policy, self._clock.at)
        if step.fault is not None and not step.fault.ran:
            self._ended(call, self._failure_of(step.fault), ran=False)
            return
        while True:
            ticket = yield from self._enter(call)
            if ticket is None or not self._books(call):
                return
            miss = yield from self._attempt(call, ticket)
            if miss is None:
                return
            directive = self._decide(call, miss.failure)
            call.doubtful |= may_have_taken_effect(miss.failure, call.traits)
            if not isinstance(directive, Retry):
                self._end_failed(call, miss.failure, directive, ran=True)
                return
            if call.unending:
                self._give_up(call)
                return
            wake = self._clock.at + directive.delay_s
            if (yield from self._until(session, wake)):
                self._cut_off(call, under_way=False)
                return
            call.attempt += 1

    def _until(self, session: PlayedSession, wake: float) -> Generator[float, None, bool]:
        """Wait; tell whether the session's time was over before."""
        if wake >= session.deadline:
            yield session.deadline
            session.hand_over("budget")
            return True
        yield wake
        return False

    def _enter(self, call: PlayedCall) -> Generator[float, None, Ticket | NoTicket | None]:
        """Wait until the call's upstream may be asked; None: it will not be, and the call is over."""
        upstream = call.subject.told.upstream
        if upstream is None:
            return _NO_TICKET
        ups, repeat = self._upstreams, call.attempt > 1
        answer = ups.enter(upstream, _NOBODY, call.roll(), repeat=repeat)
        if isinstance(answer, Ticket):
            return answer
        with ups.holding(upstream):
            while not isinstance(answer, Ticket):
                if call.unending:
                    self._give_up(call)
                    return None
                if isinstance(answer, Wait):
                    if self._too_long(call, upstream, answer.seconds):
                        self._held(call)
                        return None
                    wake, placed, place = self._clock.at + answer.seconds, answer.placed, None
                else:
                    wake, placed, place = self._clock.at + LINE_S, False, answer.place
                    call.first_at += LINE_S  # a wait in line is no failure of the upstream's
                if (yield from self._until(call.session, wake)):
                    if place is not None:
                        ups.leave(upstream, place)
                    self._cut_off(call, under_way=False)
                    return None
                answer = ups.enter(
                    upstream, _NOBODY, call.roll(), repeat=repeat, placed=placed, place=place
                )
        return answer

    def _too_long(self, call: PlayedCall, upstream: str, wait_s: float) -> bool:
        gone_s = self._clock.at - call.first_at
        budget_s = call.policy.transient.time_budget_s
        return too_long(upstream, wait_s, gone_s, budget_s) is not None

    def _books(self, call: PlayedCall) -> bool:
        session, step = call.session, call.step
        again = call.attempt > 1
        booked = session.books("model_calls" if step.is_model else "tool_calls") and (
            not again or session.books("retries")
        )
        if not booked:
            session.in_doubt += call.doubtful
        return booked

    def _attempt(
        self, call: PlayedCall, ticket: Ticket | NoTicket
    ) -> Generator[float, None, Miss | None]:
        """Make one attempt; None: the call has its result, or the session is over."""
        session, step, now = call.session, call.step, self._clock.at
        key = mixed(call.key, 1000 + call.attempt)
        self._asked[call.subject.told.upstream or call.subject.place].append(now)
        session.unsure |= self._world.unsure(call.subject, now)
        miss = self._world.fate(call.subject, now, key)
        if miss is None:
            took_s = step.took_s
            if took_s is None:
                took_s = self._world.took_s(call.subject, key)
            if step.fault is not None:
                miss = Miss(self._failure_of(step.fault), "up", took_s)
        else:
            took_s = miss.took_s
        with ticket:
            if (yield from self._until(session, now + took_s)):
                self._cut_off(call, under_way=True)
                return None
            if miss is not None:
                ticket.verdict = verdict_of(miss.failure)
                return miss
            ticket.verdict = "up"
        if step.is_model:
            session.prunes = 0
            session.books("tokens", step.tokens or call.subject.tokens)
        else:
            session.succeeded(step.subject, step.n)
        return None

    # ------------------------------------------------------------ how it ends

    def _decide(self, call: PlayedCall, failure: Failure) -> Directive:
        self._decisions += 1
        session = call.session
        history = History(
            attempts=call.attempt,
            elapsed_s=self._clock.at - call.first_at,
            corrections=session.corrections_before(call.step.subject, call.step.n),
            conclusions=session.conclusions[failure.error_class],
            prunes=session.prunes,
        )
        return decide(failure, call.traits, history, call.policy, call.roll())

    def _ended(self, call: PlayedCall, failure: Failure, *, ran: bool) -> None:
        self._end_failed(call, failure, self._decide(call, failure), ran=ran)

    def _end_failed(
        self, call: PlayedCall, failure: Failure, directive: Directive, *, ran: bool
    ) -> None:
        session, step = call.session, call.step
        state = state_of_failed(failure, call.traits, directive, ran=ran, doubtful=call.doubtful)
        if not step.is_model:
            session.in_doubt += state == "in_doubt"
            if failure.error_class in CORRECTED:
                session.corrected(step.subject, step.n)
        session.wasted += call.attempt - 1
        match directive:
            case Correct():
                session.books("corrections")
            case Conclude():
                session.conclusions[failure.error_class] += 1
            case Prune():
                session.prunes += 1
            case HandOver(reason):
                session.hand_over(reason)
            case PassThrough() | Retry():
                pass
            case _:
                assert_never(directive)

    def _held(self, call: PlayedCall) -> None:
        """The upstream will not be asked in time."""
        call.session.hand_over("blocked")
        call.session.in_doubt += call.doubtful
        call.session.wasted += max(0, call.attempt - 2)

    def _give_up(self, call: PlayedCall) -> None:
        """Stop playing what would never end."""
        call.session.hand_over(UNENDING)
        call.session.in_doubt += call.doubtful
        call.session.wasted += call.attempt - 1

    def _cut_off(self, call: PlayedCall, *, under_way: bool) -> None:
        """The session's time is over: what was under way may have taken effect."""
        doubtful = call.doubtful or (under_way and not call.traits.safe_to_retry)
        call.session.in_doubt += doubtful

    def _failure_of(self, fault: Fault) -> Failure:
        found = self._failures.get(fault)
        if found is None:
            found = self._failures[fault] = Failure(
                error_class=fault.error_class, may_have_executed=fault.executed
            )
        return found
