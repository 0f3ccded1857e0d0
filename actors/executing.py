"""A body runs: the intent before it, its attempts, and how it ended."""

from collections.abc import Awaitable
from functools import partial

import msgspec
from msgspec import Struct

from ..supervisor.breaker import Wait, verdict_of
from ..supervisor.decide import Conclude, Directive, HandOver, History, Retry, decide
from ..supervisor.errors import ErrorClass, InvalidArgument
from ..supervisor.failure import Failure
from ..supervisor.policy import Policy
from .attempt_ends import TIMED_OUT, AttemptEnds
from .attempting import Attempt, Attempting, Tries
from .budget import Refusal
from .ends import (
    Ended,
    Prepared,
    declared,
    in_doubt_still,
    marks_told,
    may_have_taken_effect,
    spent,
)
from .events import CallStarted, RetryScheduled
from .gate import NO_TICKET, Entered, Held, enter_later, enter_now, held_since
from .handover.dossier import Trouble
from .handover.wording import cleaned, retried
from .once import once
from .parking import parks
from .probing import Absent, Found, Probing, Unclear
from .rollback.snapshots import Taking, is_looked_at
from .session import Session
from .staging.staged import StagedCall
from .staging.staging import Staging
from .tooling.context import running
from .tooling.threads import LateOutcome
from .upstreams import Full
from .work import CutOff, Superseded, Work, pause


class Waiting(Struct, frozen=True):
    """The call waits for its next attempt; the state says until when."""


class Executing:
    """Bodies of one life of a session."""

    def __init__(self, session: Session, work: Work) -> None:
        self._session = session
        self._work = work
        self._attempting = Attempting(session)
        self._ends = AttemptEnds(session)

    @once
    def _probing(self) -> Probing:
        return Probing(self._session, self._work)

    @once
    def _taking(self) -> Taking:
        return Taking(self._session)

    @once
    def _staging(self) -> Staging:
        return Staging(self._session, self._work)

    def begin(self) -> None:
        """A life begins, in this task."""
        self._attempting.offer_subsessions()

    async def execute(self, call: Prepared) -> Ended | Waiting:
        """Run a call to its end, over as many attempts as the policy gives it.

        Where an earlier life left it in doubt and its probe can tell, that is asked first. Before a
        wait that is long enough to park the session it stops; the wait is stored.
        """
        if call.staged is not None:
            return await self._staging.go_on(call, call.staged)
        clock, upstream = self._session.services.clock, call.tool.marks.upstream
        began_at = clock.now()
        tries = Tries(began_at - call.elapsed_s, call.attempt, call.doubtful)
        ended: Ended | Waiting | None = None
        if call.probe_first:
            ended = await self._probe_first(call, tries)
        while ended is None:
            ticket: Entered = NO_TICKET
            if upstream is not None:
                entered = await self._enter(call, tries, upstream)
                if isinstance(entered, Ended):
                    ended = entered
                    break
                ticket, began_at = entered, clock.now()
            # What a body does to its arguments is its own affair; of a staged call they are checked later.
            given = _as_asked(call) if call.tool.marks.staged else call
            now = Attempt(self._session, given, tries.attempt, began_at)
            if upstream is None:
                result = await self._attempted(call, tries, now, ticket)
            else:
                with ticket:
                    result = await self._attempted(call, tries, now, ticket)
            if isinstance(result, Ended):
                ended = result
                break
            tries.failure = result
            call = _as_asked(call)
            ended = await self._retry_or_end(call, result, tries, now)
            tries.attempt += 1
            began_at = clock.now()
        if (tries.looks or tries.held_s) and isinstance(ended, Ended):
            return tries.seen(ended)
        return ended

    def _attempted(
        self, call: Prepared, tries: Tries, now: Attempt, ticket: Entered
    ) -> Awaitable[Ended | Failure]:
        """Book an attempt and begin it; await it at once."""
        again = tries.attempt != call.attempt or call.elapsed_s > 0
        refusal = self._attempting.book(again=again)
        if refusal is not None:
            return self._refused(refusal, call, tries)
        marks = call.tool.marks
        if marks.staged or (marks.workspace and is_looked_at(self._session, call.tool)):
            return self._watched(call, tries, now, ticket)
        return self._run(call, tries, now, ticket)

    async def settle(self, call: Prepared, staged: StagedCall, why: str) -> Ended:
        """Take a staged call to its end whose session ends; see `Staging.settle`."""
        return await self._staging.settle(call, staged, why)

    async def _enter(self, call: Prepared, tries: Tries, upstream: str) -> Entered | Ended:
        """Return once the call's upstream may be asked, or how the call ends without that."""
        clock = self._session.services.clock
        ticket = enter_now(self._session, upstream, repeat=tries.attempt > 1)
        if isinstance(ticket, Wait | Full):
            asked_at = clock.now()
            entered = await self._enter_later(call, tries, upstream, ticket)
            tries.held_s += held_since(asked_at, clock.now())
            if isinstance(entered, Ended):
                return entered
            ticket = entered
            tries.first_at += ticket.waited_s
        return ticket

    async def _enter_later(
        self, call: Prepared, tries: Tries, upstream: str, answer: Wait | Full
    ) -> Entered | Ended:
        """Wait until the call's upstream may be asked, or end the call."""
        policy = self._policy(call)
        entered = await enter_later(
            self._session,
            self._work,
            upstream,
            answer,
            subject=call.tool.name,
            repeat=tries.attempt > 1,
            since=tries.first_at,
            time_budget_s=policy.transient.time_budget_s,
        )
        if entered is None:
            return self._ends.unrepeated(call, tries)
        if isinstance(entered, Held):
            return self._held(call, tries, entered)
        return entered

    def _held(self, call: Prepared, tries: Tries, held: Held) -> Ended:
        """End a call whose upstream will not be asked in time."""
        directive = HandOver("blocked", held.detail)
        failure, ran = tries.failure, tries.failure is not None
        if failure is None and tries.doubtful:
            # An earlier life began it, and whether that took effect is still not known.
            directive = HandOver("in_doubt", f"{held.detail}; an earlier attempt is in doubt")
            doubt = self._ends.doubt(call, tries)
            return msgspec.structs.replace(doubt, trouble=self._trouble(call, directive))
        if failure is None:
            failure = Failure(
                error_class=ErrorClass.TRANSIENT,
                message=held.detail,
                type_name="Held",
                may_have_executed="no",
            )
        attempts = tries.attempt - 1 or 1
        return self._ends.failed(call, failure, directive, tries, attempts, ran=ran)

    async def _refused(self, refusal: Refusal, call: Prepared, tries: Tries) -> Ended:
        """End a call for whose next attempt the budget does not reach."""
        shown = self._session.services.mask(call.text)
        doubt = self._ends.doubt(call, tries) if tries.doubtful else None
        return spent(refusal, call.step, shown, call.digest, doubt=doubt)

    async def _watched(
        self, call: Prepared, tries: Tries, now: Attempt, ticket: Entered
    ) -> Ended | Failure:
        """Make one attempt whose changes are staged, or looked at; see `_run`."""
        run = partial(self._run, call, tries, now, ticket)
        if call.tool.marks.staged:
            try:
                return await self._staging.around(call, now, run)
            except CutOff:
                return self._ends.cut_off(call, tries, now)
        looking = await self._taking.begin(call)
        if looking is None:
            return await run()
        tries.looks.append(looking)
        try:
            return await run()
        finally:
            await self._taking.end(looking)

    async def _run(
        self, call: Prepared, tries: Tries, now: Attempt, ticket: Entered
    ) -> Ended | Failure:
        """Run the body behind its intent: how the call ended, or the failure to decide on."""
        session, tool, clock = self._session, call.tool, self._session.services.clock
        if tool.marks.ledgered:
            await self._attempting.intend(call, tries)
            now.began_at = clock.now()
        if not session.owned:
            await session.ensure_owned()
            now.began_at = clock.now()
        session.emit(
            CallStarted(
                session_id=session.id,
                at_ms=session.now_ms(),
                n=call.n,
                index=call.index,
                tool=tool.name,
                attempt=tries.attempt,
            )
        )
        session.active.enter(now.began_at)
        limit_s = tool.marks.timeout_s
        if limit_s is not None or session.account.is_capped:
            now.deadline = self._attempting.deadline(now.began_at, limit_s)
        token = running.set(now)
        try:
            value = await self._work.run(
                Attempt.begin, now, what=f"tool {tool.name}", limit_s=limit_s
            )
            failed = None if type(value) is str else declared(tool, value)
            # What cannot be rendered or judged is a fault of the tool, and no reason to run it again.
            elapsed_s = clock.now() - now.began_at
            ended = failed or self._ends.succeeded(call, value, tries.attempt, elapsed_s)
        except CutOff:
            return self._ends.cut_off(call, tries, now)
        except Superseded as over:
            late = LateOutcome(tool.name, now.began_at, over.value, over.error, now.context())
            session.services.late(late)
            raise
        except Exception as error:  # noqa: BLE001 - the tool boundary: whatever a body raises
            failure = self._ends.failure(error, call, now)
            # A body that never ran says nothing of what it would have asked.
            ticket.verdict = verdict_of(failure) if now.entered else "nothing"
            return failure
        finally:
            running.reset(token)
            session.active.leave()
        ticket.verdict = "up" if failed is None else verdict_of(failed)
        return ended

    # ------------------------------------------------------------ what the probe says

    async def _probe_first(self, call: Prepared, tries: Tries) -> Ended | None:
        """Ask about an attempt of an earlier life; None where the call may run."""
        answer = await self._probing.ask(call, still_running=call.still_running)
        made = max(1, call.attempt - 1)
        match answer:
            case Found(value):
                return self._ends.found(call, value, made)
            case Absent():
                tries.doubtful = False
                return None
            case Unclear(why):
                shown = self._session.services.mask(call.text)
                running = call.still_running
                return in_doubt_still(
                    call.step, shown, call.digest, made, why, still_running=running
                )

    def _policy(self, call: Prepared) -> Policy:
        return self._session.services.policies.of(self._session.installed.name, call.tool.name)

    def _trouble(self, call: Prepared, directive: HandOver) -> Trouble:
        return Trouble(
            reason=directive.reason,
            detail=directive.detail,
            step=call.step,
            input=self._session.services.mask(call.text),
        )

    async def _retry_or_end(
        self, call: Prepared, failure: Failure, tries: Tries, now: Attempt
    ) -> Ended | Waiting | None:
        """Decide on a failed attempt; None once it is time for the next."""
        directive = self._decide(call, failure, tries)
        unsure = tries.doubtful or (now.entered and may_have_taken_effect(failure, call.traits))
        tried: tuple[str, ...] = ()
        if unsure and self._to_probe(call, directive):
            timed_out = failure.type_name == TIMED_OUT
            running = timed_out and not call.tool.is_async
            answer = await self._probing.ask(call, still_running=running)
            match answer:
                case Found(value):
                    return self._ends.found(call, value, tries.attempt)
                case Absent():
                    unsure = False
                    failure = msgspec.structs.replace(failure, may_have_executed="no")
                    tried = ("its probe says that it did not take effect",)
                    tries.doubtful = False
                    directive = self._decide(call, failure, tries)
                case Unclear(why):
                    tried = (why,)
        tries.failure = failure
        if not isinstance(directive, Retry):
            self._record(call, failure, tries, now, directive, unsure)
            attempts = tries.attempt
            return self._ends.failed(
                call, failure, directive, tries, attempts, ran=now.entered, tried=tried
            )
        tries.doubtful = unsure
        self._record(call, failure, tries, now, directive, unsure)
        return await self._wait(call, failure, tries, directive)

    def _decide(self, call: Prepared, failure: Failure, tries: Tries) -> Directive:
        session, services = self._session, self._session.services
        history = History(
            attempts=tries.attempt,
            elapsed_s=services.clock.now() - tries.first_at,
            corrections=session.state.corrections_before(call.tool.name, call.n),
            conclusions=session.state.conclusions.get(failure.error_class, 0),
        )
        return decide(failure, call.traits, history, self._policy(call), services.roll())

    def _to_probe(self, call: Prepared, directive: Directive) -> bool:
        """Whether the probe is asked: nothing else can tell, and the session goes on."""
        if call.tool.probe is None or self._work.cut is not None:
            return False
        return not isinstance(directive, Retry | Conclude)

    async def _wait(
        self, call: Prepared, failure: Failure, tries: Tries, directive: Retry
    ) -> Ended | Waiting | None:
        """Wait for the next attempt, here or in the store; None once it is time."""
        session = self._session
        session.emit(
            RetryScheduled(
                session_id=session.id,
                at_ms=session.now_ms(),
                subject=call.tool.name,
                number=tries.attempt,
                error_class=failure.error_class.value,
                wait_s=directive.delay_s,
                elapsed_s=session.services.clock.now() - tries.first_at,
            )
        )
        if parks(session, directive.delay_s) and self._work.cut is None:
            return Waiting()
        await pause(self._work, directive.delay_s)
        if self._work.cut is None:
            return None
        tries.attempt += 1
        return self._ends.unrepeated(call, tries)

    def _record(
        self,
        call: Prepared,
        failure: Failure,
        tries: Tries,
        now: Attempt,
        directive: Directive,
        doubtful: bool,
    ) -> None:
        """Keep the failed attempt for people: what it was taken for, and what followed."""
        session = self._session
        failure = cleaned(failure, session.services.mask)
        at = session.services.clock.now()
        entry = msgspec.structs.replace(
            retried(
                call.n,
                call.index,
                tries.attempt,
                failure,
                directive,
                elapsed_s=at - tries.first_at,
            ),
            upstream=call.tool.marks.upstream or "",
            marks=marks_told(call.tool.marks),
            took_s=at - now.began_at,
        )
        if isinstance(directive, Retry):
            # Stored at once: attempts and the time they took go on over a restart.
            due_at_ms = session.services.steady.after_ms(directive.delay_s)
            session.journal.append(
                msgspec.structs.replace(entry, due_at_ms=due_at_ms, doubtful=doubtful)
            )
        else:
            session.journal.ride(entry)


def _as_asked(call: Prepared) -> Prepared:
    """Return a call with its arguments as they were asked for: a body may have changed those it got."""
    try:
        return msgspec.structs.replace(call, arguments=call.tool.check(call.text))
    except InvalidArgument:
        return call  # a type of the user's that takes them once only
