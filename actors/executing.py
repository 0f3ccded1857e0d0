"""A body runs: the intent before it, its attempts, and how it ended."""

from functools import partial

import msgspec
from msgspec import Struct

from ..stores.records import Intended
from ..supervisor.breaker import verdict_of
from ..supervisor.classify import declared_failure
from ..supervisor.decide import Conclude, Directive, HandOver, History, Retry, decide
from ..supervisor.errors import ErrorClass
from ..supervisor.failure import Failure
from ..supervisor.policy import Policy
from .agent import subsessions
from .budget import TOOL_CALLS, Budget, Refusal
from .closing import CannotTell, resources_of
from .context import CallContext, calling
from .dossier import Trouble
from .events import CallStarted, RetryScheduled
from .gate import Entered, Held, enter
from .outcome import Outcome
from .parking import parks
from .preparing import Ended, Prepared, end_failed, interrupted, spent
from .results import render_result
from .session import Session
from .state import CallId
from .threads import LateOutcome
from .wording import cleaned, not_started, retried
from .work import CutOff, Superseded, TimedOut, Work, pause


class Waiting(Struct, frozen=True):
    """The call waits for its next attempt; the state says until when."""


class _Attempt:
    """One attempt: when it began, and whether its body was entered."""

    __slots__ = ("_began", "_call", "began_at", "entered")

    def __init__(self, began_at: float, call: CallId, began: set[CallId]) -> None:
        self.began_at = began_at
        self.entered = False
        self._call = call
        self._began = began

    def enter(self) -> None:
        self.entered = True
        self._began.add(self._call)


class Executing:
    """Bodies of one life of a session."""

    def __init__(self, session: Session, work: Work) -> None:
        self._session = session
        self._work = work

    async def execute(self, call: Prepared) -> Ended | Waiting:
        """Run a call to its end, over as many attempts as the policy gives it.

        Before a wait that is long enough to park the session it stops; the wait is stored.
        """
        clock = self._session.services.clock
        first_at = clock.now() - call.elapsed_s
        attempt = call.attempt
        failure: Failure | None = None
        while True:
            ticket = await self._enter(call, attempt, first_at, failure)
            if isinstance(ticket, Ended):
                return ticket
            now = _Attempt(clock.now(), (call.n, call.index), self._session.began)
            with ticket:
                result = await self._attempt(call, attempt, now, ticket)
            if isinstance(result, Ended):
                return result
            failure = result
            ended = await self._retry_or_end(call, failure, attempt, first_at, now)
            if ended is not None:
                return ended
            attempt += 1

    async def _enter(
        self, call: Prepared, attempt: int, first_at: float, failure: Failure | None
    ) -> Entered | Ended:
        """Wait until the call's upstream may be asked, or end the call."""
        policy = self._policy(call)
        entered = await enter(
            self._session,
            self._work,
            call.tool.marks.upstream,
            subject=call.tool.name,
            repeat=attempt > 1,
            since=first_at,
            time_budget_s=policy.transient.time_budget_s,
        )
        if entered is None:
            now = _Attempt(first_at, (call.n, call.index), self._session.began)
            now.entered = attempt > 1  # an attempt before this one may have taken effect
            return self._cut_off(call, now)
        if isinstance(entered, Held):
            return self._held(call, attempt, first_at, failure, entered)
        return entered

    def _held(
        self, call: Prepared, attempt: int, first_at: float, failure: Failure | None, held: Held
    ) -> Ended:
        """End a call whose upstream will not be asked in time."""
        directive = HandOver("blocked", held.detail)
        clock = self._session.services.clock
        now = _Attempt(first_at, (call.n, call.index), self._session.began)
        if failure is not None:
            now.entered = True
        elif call.attempt > 1 and not call.traits.safe_to_retry:
            # An earlier life began it, and whether that took effect is still not known.
            directive = HandOver("in_doubt", f"{held.detail}; an earlier attempt is in doubt")
            return interrupted(call.digest, safe=False, trouble=self._trouble(call, directive))
        else:
            failure = Failure(
                error_class=ErrorClass.TRANSIENT,
                message=held.detail,
                type_name="Held",
                may_have_executed="no",
            )
        elapsed_s = clock.now() - first_at
        return self._end_failed(call, failure, directive, attempt - 1 or 1, elapsed_s, now)

    async def _attempt(
        self, call: Prepared, attempt: int, now: _Attempt, ticket: Entered
    ) -> Ended | Failure:
        """Make one attempt: how the call ended, or the failure to decide on."""
        session = self._session
        refusal = self._book(again=attempt != call.attempt or call.elapsed_s > 0)
        if refusal is not None:
            return spent(refusal, call.step, self._session.services.mask(call.text), call.digest)
        await self._intend(call, attempt)
        now.began_at = session.services.clock.now()
        session.active.enter()
        try:
            value = await self._run(call, attempt, now)
            declared = _declared(call, value)
            # What cannot be rendered or judged is a fault of the tool, and no reason to run it again.
            ended = declared or self._succeeded(call, value, attempt, now)
        except CutOff:
            return self._cut_off(call, now)
        except Superseded:
            raise
        except Exception as error:  # noqa: BLE001 - the tool boundary: whatever a body raises
            failure = self._failure(error, call, now)
            # A body that never ran says nothing of what it would have asked.
            ticket.verdict = verdict_of(failure) if now.entered else "nothing"
            return failure
        finally:
            session.active.leave()
        ticket.verdict = "up" if declared is None else verdict_of(declared)
        return ended

    def _policy(self, call: Prepared) -> Policy:
        return self._session.services.policies.of(self._session.installed.name, call.tool.name)

    def _trouble(self, call: Prepared, directive: HandOver) -> Trouble:
        return Trouble(
            reason=directive.reason,
            detail=directive.detail,
            step=call.step,
            input=self._session.services.mask(call.text),
        )

    def _book(self, *, again: bool) -> Refusal | None:
        account = self._session.account
        if not again:
            return account.take(TOOL_CALLS)
        reserved = account.reserve(tool_calls=1, retries=1)
        if isinstance(reserved, Refusal):
            return reserved
        account.settle(reserved, tool_calls=1, retries=1)
        return None

    async def _intend(self, call: Prepared, attempt: int) -> None:
        """Make the intent durable; a read needs none, repeating it does no harm."""
        session = self._session
        if call.tool.marks.effect == "write":
            intent = Intended(call.n, call.index, call.tool.name, call.digest, attempt, call.key)
            session.intended.add((call.n, call.index))
            await session.journal.append(intent, session.booked()).wait()
        if not session.owned:
            await session.ensure_owned()
        session.emit(
            CallStarted(
                session_id=session.id,
                at_ms=session.now_ms(),
                n=call.n,
                index=call.index,
                tool=call.tool.name,
                attempt=attempt,
            )
        )

    async def _run(self, call: Prepared, attempt: int, now: _Attempt) -> object:
        """Run one attempt within its limits."""
        session = self._session
        limit_s = call.tool.marks.timeout_s
        context = self._context(call, attempt, now, limit_s)
        token = subsessions.set(partial(self._subsession, call))
        try:
            with calling(context):
                return await self._work.run(
                    partial(self._body, call, now), what=f"tool {call.tool.name}", limit_s=limit_s
                )
        except Superseded as over:
            late = LateOutcome(call.tool.name, now.began_at, over.value, over.error, context)
            session.services.late(late)
            raise
        finally:
            subsessions.reset(token)

    async def _body(self, call: Prepared, now: _Attempt) -> object:
        session = self._session
        return await call.tool.call(
            call.arguments,
            key=call.key,
            secrets=session.installed.toolbox.secrets_for(call.tool),
            threads=session.services.threads,
            on_start=now.enter,
        )

    def _context(
        self, call: Prepared, attempt: int, now: _Attempt, limit_s: float | None
    ) -> CallContext:
        session = self._session
        left_s = session.account.left("seconds")
        deadline = now.began_at + (left_s if limit_s is None else min(limit_s, left_s))
        return CallContext(
            session_id=session.id,
            agent=session.installed.name,
            tool=call.tool.name,
            call=(call.n, call.index),
            attempt=attempt,
            key=call.key,
            deadline=None if deadline == float("inf") else deadline,
            working_directory=session.facts.working_directory,
        )

    async def _subsession(
        self, call: Prepared, agent: str, task: str, budget: Budget | None
    ) -> Outcome:
        """Run a sub-session named after this call, so that a repeat finds the same one."""
        child = f"{self._session.id}.{call.n}.{call.index}"
        return await self._session.services.subsession(self._session.id, child, agent, task, budget)

    # ------------------------------------------------------------ how it ended

    def _succeeded(self, call: Prepared, value: object, attempt: int, now: _Attempt) -> Ended:
        session = self._session
        elapsed_s = session.services.clock.now() - now.began_at
        rendered = render_result(value, mask=session.services.mask)
        judge = call.tool.marks.success
        # A tool that ran to its end and says that it failed is no fault of anything: the model
        # gets its words, marked as an error, and goes on.
        declared_failed = judge is not None and not judge(value)
        blob = rendered.blob
        return Ended(
            content=rendered.content,
            state="failed" if declared_failed else "succeeded",
            attempts=attempt,
            elapsed_s=elapsed_s,
            blobs=(blob,) if blob else (),
            value_type=rendered.value_type,
            digest=call.digest,
        )

    def _cut_off(self, call: Prepared, now: _Attempt) -> Ended:
        if not now.entered:
            # An intent may be stored, but the body certainly did not run.
            return Ended(
                content=not_started("the session was cut off"),
                state="refused",
                error_class=ErrorClass.CANCELLED.value,
                digest=call.digest,
            )
        running = not call.tool.is_async
        return interrupted(call.digest, safe=call.traits.safe_to_retry, still_running=running)

    def _failure(self, error: Exception, call: Prepared, now: _Attempt) -> Failure:
        if not isinstance(error, TimedOut):
            return self._session.services.classify(error, traits=call.traits)
        if not now.entered:
            return Failure(
                error_class=ErrorClass.TRANSIENT,
                message=f"no thread was free within {error.limit_s:g} s",
                type_name="TimedOut",
                may_have_executed="no",
            )
        return Failure(
            error_class=ErrorClass.IN_DOUBT_TIMEOUT,
            message=f"no end within {error.limit_s:g} s, effect unknown",
            type_name="TimedOut",
            evidence=("the tool's timeout_s",),
        )

    async def _retry_or_end(
        self, call: Prepared, failure: Failure, attempt: int, first_at: float, now: _Attempt
    ) -> Ended | Waiting | None:
        """Decide on a failed attempt; None once it is time for the next."""
        session = self._session
        services = session.services
        elapsed_s = services.clock.now() - first_at
        history = History(
            attempts=attempt,
            elapsed_s=elapsed_s,
            corrections=session.state.corrections_before(call.tool.name, call.n),
            conclusions=session.state.conclusions.get(failure.error_class, 0),
        )
        directive = decide(failure, call.traits, history, self._policy(call), services.roll())
        self._record(call, failure, attempt, directive, elapsed_s)
        if not isinstance(directive, Retry):
            return self._end_failed(call, failure, directive, attempt, elapsed_s, now)
        session.emit(
            RetryScheduled(
                session_id=session.id,
                at_ms=session.now_ms(),
                subject=call.tool.name,
                number=attempt,
                error_class=failure.error_class.value,
                wait_s=directive.delay_s,
                elapsed_s=elapsed_s,
            )
        )
        if parks(session, directive.delay_s) and self._work.cut is None:
            return Waiting()
        await pause(self._work, directive.delay_s)
        if self._work.cut is not None:
            return self._cut_off(call, now)
        return None

    def _record(
        self, call: Prepared, failure: Failure, number: int, directive: Directive, elapsed_s: float
    ) -> None:
        """Keep the failed attempt for people: what it was taken for, and what followed."""
        session = self._session
        failure = cleaned(failure, session.services.mask)
        entry = retried(call.n, call.index, number, failure, directive, elapsed_s=elapsed_s)
        if isinstance(directive, Retry):
            # Stored at once: attempts and the time they took go on over a restart.
            due_at_ms = session.services.steady.after_ms(directive.delay_s)
            session.journal.append(msgspec.structs.replace(entry, due_at_ms=due_at_ms))
        else:
            session.journal.ride(entry)

    def _end_failed(
        self,
        call: Prepared,
        failure: Failure,
        directive: Directive,
        attempt: int,
        elapsed_s: float,
        now: _Attempt,
    ) -> Ended:
        timed_out = failure.type_name == "TimedOut"
        return end_failed(
            self._session,
            failure,
            call.traits,
            name=call.tool.name,
            n=call.n,
            step=call.step,
            input=call.text,
            about=call.tool.marks.upstream or call.tool.name,
            directive=directive,
            closes=self._closes(call) if isinstance(directive, Conclude) else (),
            attempts=attempt,
            elapsed_s=elapsed_s,
            digest=call.digest,
            ran=now.entered,
            still_running=timed_out and now.entered and not call.tool.is_async,
        )

    def _closes(self, call: Prepared) -> tuple[str, ...]:
        """Name what no write may touch after this call was refused for good."""
        try:
            return (
                resources_of(call.tool, call.arguments) if call.tool.marks.effect == "write" else ()
            )
        except CannotTell as error:
            text = f"{error}: other ways to the same effect stay open"
            self._session.services.alerts.due(f"resource {call.tool.name}", text, 60.0)
            return ()


def _declared(call: Prepared, value: object) -> Failure | None:
    """Return the failure that a normal return tells of, such as ``{"ok": false, "error": ...}``.

    A tool's own ``success`` has the first word. What nobody recognises is no failure of ours: the
    model gets it as it is.
    """
    judge = call.tool.marks.success
    if judge is not None and judge(value):
        return None
    failure = declared_failure(value)
    if failure is None or failure.error_class is ErrorClass.UNKNOWN:
        return None
    return failure
