"""One compensation: made ready from what is stored, its attempts, and how it ended.

An attempt's intent is durable before its body starts. One that was cut off is not made again unless
its function is safe to repeat, or takes a key and had the same one: else a person is asked.
"""

from functools import partial

from msgspec import Struct

from ...stores.base import StoreFailed
from ...stores.records import (
    Answered,
    Late,
    Resulted,
    RolledBack,
    TreeWindow,
    Undoing,
    Undone,
    UndoState,
    decode_row,
)
from ...supervisor.breaker import verdict_of
from ...supervisor.classify import classify, declared_failure
from ...supervisor.decide import History, Retry, decide
from ...supervisor.errors import ErrorClass
from ...supervisor.failure import Failure, Traits
from ...supervisor.policy import Policy
from ..end_events import CompensationFinished, CompensationStarted
from ..ends import judged
from ..events import RetryScheduled
from ..gate import Entered, Held, enter
from ..handover.wording import cleaned, clipped
from ..ledger import CallId
from ..secrets import Mask
from ..session import Session
from ..tooling.companions import Companion, failure_told
from ..tooling.context import CallContext, calling
from ..tooling.results import render_result
from ..tooling.threads import LateOutcome
from ..tooling.tools import AnyTool
from ..work import Superseded, TimedOut, Work, contained, pause
from .plan import CONTENT_CHARS_MAX, undo_key_of
from .unwound import Undo

ATTEMPT_S_MAX = 60.0
"""Seconds that an attempt may take where neither the compensation nor its tool has a limit."""

INTERRUPTED = "the compensation was interrupted; it may or may not have run"


class Recorded(Struct, frozen=True):
    """What the journal has of calls: their arguments, the results of those that took effect, and what
    all of them, and what was taken back, did to the files."""

    arguments: dict[CallId, str]
    results: dict[CallId, Resulted | Late]
    windows: list[TreeWindow]


async def read_recorded(session: Session) -> Recorded:
    """Read a session's journal for what its effects were called with, and what they gave.

    Raises:
        StoreError: the store fails.
    """
    stored = await session.services.store.load(session.id)
    found = Recorded({}, {}, [])
    for row in stored.rows:
        for entry in decode_row(row.body):
            if isinstance(entry, Answered):
                for index, call in enumerate(entry.calls):
                    if (entry.n, index) in session.state.effects:
                        found.arguments[entry.n, index] = call.arguments
            elif isinstance(entry, Resulted | Late | Undone | RolledBack):
                found.windows.extend(entry.windows)
                if isinstance(entry, Resulted | Late) and entry.state == "succeeded":
                    found.results[entry.n, entry.index] = entry
    return found


class _Ready(Struct, frozen=True):
    """A compensation that can be called: its function and what it is given."""

    companion: Companion
    given: dict[str, object]
    key: str | None
    traits: Traits


class _Attempt(Struct):
    """One attempt: its number, and whether the body was entered."""

    number: int
    entered: bool = False


class Compensating:
    """Compensations of one life of a session.

    Args:
        work: what cuts the session's own work off must not end it.
    """

    def __init__(self, session: Session, work: Work) -> None:
        self._session = session
        self._work = work

    async def compensate(self, undo: Undo, recorded: Recorded) -> Undone:
        """Run a compensation to its end, over as many attempts as the policy gives it.

        The end itself is not stored yet when this returns.
        """
        ready = await self._prepare(undo, recorded)
        if isinstance(ready, Undone):
            return ready
        if undo.begun and not self._may_repeat(undo, ready):
            return _ended(undo, "in_doubt", INTERRUPTED, may_have_run=True)
        clock = self._session.services.clock
        first_at = clock.now() - undo.elapsed_s
        await self._wait_until(undo.due_at_ms)
        while True:
            failure = await self._attempt(undo, ready, first_at)
            if isinstance(failure, Undone):
                return failure
            ended = self._decide(undo, ready, failure, clock.now() - first_at)
            if ended.state != "again":
                return ended
            await self._session.journal.append(ended).wait()
            await pause(self._work, ended.wait_s)

    # ------------------------------------------------------------ before

    async def _prepare(self, undo: Undo, recorded: Recorded) -> _Ready | Undone:
        """Return the compensation ready to be called, or why it cannot be."""
        session, step = self._session, undo.step
        call = (step.n, step.index)
        tool = self._tool(step.tool)
        companion = None if tool is None else tool.compensation
        if tool is None or companion is None:
            return _ended(
                undo, "failed", f"this agent has no compensation of a tool {step.tool} any more"
            )
        effect = session.state.effects[call]
        try:
            asked = tool.check(effect.arguments or recorded.arguments.get(call, ""))
            result = await self._result(companion, recorded.results.get(call))
            key = undo_key_of(session.id, call) if companion.takes_key else None
            secrets = session.installed.toolbox.secrets_for(tool)
            given = companion.given(asked, result=result, key=key, secrets=secrets)
        except StoreFailed:
            raise
        except Exception as error:  # noqa: BLE001 - what was stored no longer fits: nothing ran
            failure = cleaned(session.services.classify(error), session.services.mask)
            return _ended(undo, "failed", f"it could not be called: {clipped(failure.message)}")
        traits = Traits(safe_to_retry=companion.safe_to_retry, accepts_key=companion.takes_key)
        return _Ready(companion, given, key, traits)

    def _tool(self, name: str) -> AnyTool | None:
        toolbox = self._session.installed.toolbox
        return toolbox.get(name) if name in toolbox else None

    async def _result(
        self, companion: Companion, result: Resulted | Late | None
    ) -> tuple[str, str | None] | None:
        if result is None or not companion.takes_result:
            return None
        text = result.content
        if result.blob is not None:
            text = (await self._session.services.store.blob(result.blob)).decode("utf-8", "replace")
        return text, result.value_type

    def _may_repeat(self, undo: Undo, ready: _Ready) -> bool:
        """Whether a compensation that an earlier life began may run again."""
        step = undo.step
        if (step.n, step.index) in self._session.undo_unbegun or ready.traits.safe_to_retry:
            return True
        # A key helps only if the first attempt went out with the same one.
        if undo.key is None or undo.key != ready.key:
            return False
        limit = self._policy(undo).in_doubt_timeout.attempts_max
        return limit is None or undo.attempts < limit

    async def _wait_until(self, due_at_ms: int | None) -> None:
        if due_at_ms is not None:
            left_s = self._session.services.steady.left_s(due_at_ms)
            if left_s > 0:
                await pause(self._work, left_s)

    # ------------------------------------------------------------ an attempt

    async def _attempt(self, undo: Undo, ready: _Ready, first_at: float) -> Undone | Failure:
        """Make one attempt: how the compensation ended, or the failure to decide on."""
        session, companion = self._session, ready.companion
        entered = await enter(
            session,
            self._work,
            companion.upstream,
            subject=_subject(undo),
            repeat=undo.attempts > 0,
            since=first_at,
            time_budget_s=self._policy(undo).transient.time_budget_s,
        )
        if isinstance(entered, Held) or entered is None:
            held = entered.detail if entered is not None else "the session was given up"
            return _ended(undo, "failed", held, may_have_run=undo.may_have_run)
        attempt, value = _Attempt(undo.attempts + 1), None
        with entered as ticket:
            await self._intend(undo, ready, attempt.number)
            began_at = session.services.clock.now()
            try:
                value = await self._run(undo, ready, attempt)
                failure = _declared(companion, value)
            except Superseded:
                raise
            except Exception as error:  # noqa: BLE001 - the boundary: whatever a body raises
                failure = self._failure(error, ready, attempt)
            _judge(ticket, failure, attempt)
        if failure is not None:
            return failure
        elapsed_s = session.services.clock.now() - began_at
        return _ended(undo, "compensated", self._shown(value), elapsed_s=elapsed_s)

    async def _intend(self, undo: Undo, ready: _Ready, number: int) -> None:
        session, step = self._session, undo.step
        session.undo_unbegun[step.n, step.index] = None
        await session.journal.append(Undoing(step.n, step.index, number, ready.key)).wait()
        if not session.owned:
            await session.ensure_owned()
        session.emit(
            CompensationStarted(
                session_id=session.id,
                at_ms=session.now_ms(),
                n=step.n,
                index=step.index,
                tool=step.tool,
                attempt=number,
            )
        )

    async def _run(self, undo: Undo, ready: _Ready, attempt: _Attempt) -> object:
        session, step = self._session, undo.step
        began_at = session.services.clock.now()
        limit_s = ready.companion.timeout_s or ATTEMPT_S_MAX
        context = CallContext(
            session_id=session.id,
            agent=session.installed.name,
            tool=step.tool,
            call=(step.n, step.index),
            attempt=attempt.number,
            key=ready.key,
            deadline=began_at + limit_s,
            working_directory=session.facts.working_directory,
            undo=True,
        )

        def enter_body() -> None:
            attempt.entered = True
            session.undo_unbegun.pop((step.n, step.index), None)

        body = partial(
            ready.companion.call,
            ready.given,
            threads=session.services.threads,
            on_start=enter_body,
        )
        try:
            with calling(context):
                return await self._work.run(body, what=_subject(undo), limit_s=limit_s)
        except Superseded as over:
            late = LateOutcome(step.tool, began_at, over.value, over.error, context)
            session.services.late(late)
            raise

    # ------------------------------------------------------------ after

    def _failure(self, error: Exception, ready: _Ready, attempt: _Attempt) -> Failure:
        if not isinstance(error, TimedOut):
            return self._session.services.classify(error, traits=ready.traits)
        entered = attempt.entered
        return Failure(
            error_class=ErrorClass.IN_DOUBT_TIMEOUT if entered else ErrorClass.TRANSIENT,
            message=f"no end within {error.limit_s:g} s"
            if entered
            else f"no thread was free within {error.limit_s:g} s",
            type_name="TimedOut",
            may_have_executed="maybe" if entered else "no",
        )

    def _decide(self, undo: Undo, ready: _Ready, failure: Failure, elapsed_s: float) -> Undone:
        """Return what follows from a failed attempt: another, or the end."""
        session = self._session
        failure = cleaned(failure, session.services.mask)
        history = History(attempts=undo.attempts, elapsed_s=elapsed_s)
        directive = decide(
            failure, ready.traits, history, self._policy(undo), session.services.roll()
        )
        said = f"{failure.type_name}: {failure.message}" if failure.type_name else failure.message
        may_have_run = undo.may_have_run or failure.may_have_executed != "no"
        wait_s, due_at_ms = 0.0, None
        if isinstance(directive, Retry):
            state: UndoState = "again"
            wait_s = directive.delay_s
            due_at_ms = session.services.steady.after_ms(wait_s)
            self._tell_retry(undo, failure, wait_s, elapsed_s)
        else:
            unanswered = failure.error_class is ErrorClass.IN_DOUBT_TIMEOUT
            state = "in_doubt" if unanswered and may_have_run else "failed"
        return Undone(
            undo.step.n,
            undo.step.index,
            state,
            clipped(said),
            undo.attempts,
            failure.error_class.value,
            may_have_run,
            elapsed_s,
            wait_s,
            due_at_ms,
        )

    def _tell_retry(self, undo: Undo, failure: Failure, wait_s: float, elapsed_s: float) -> None:
        session = self._session
        session.emit(
            RetryScheduled(
                session_id=session.id,
                at_ms=session.now_ms(),
                subject=_subject(undo),
                number=undo.attempts,
                error_class=failure.error_class.value,
                wait_s=wait_s,
                elapsed_s=elapsed_s,
            )
        )

    def _policy(self, undo: Undo) -> Policy:
        return self._session.services.policies.of(self._session.installed.name, undo.step.tool)

    def _shown(self, value: object) -> str:
        return shown(value, self._session.services.mask)


def shown(value: object, mask: Mask) -> str:
    """Return what a compensation gave back; it has run, whatever can be shown of that."""
    try:
        rendered = contained("compensation", partial(render_result, value, mask=mask))
        return clipped(rendered.content, CONTENT_CHARS_MAX)
    except Exception as error:  # noqa: BLE001 - an object of the user's that cannot be shown
        return f"(what it returned cannot be shown: {type(error).__name__})"


def finished(session_id: str, at_ms: int, tool: str, ended: Undone) -> CompensationFinished:
    """Return the event that says how a compensation ended."""
    return CompensationFinished(
        session_id=session_id,
        at_ms=at_ms,
        n=ended.n,
        index=ended.index,
        tool=tool,
        state=ended.state,
        attempts=ended.attempts,
        error_class=ended.error_class,
    )


def late_undone(undo: Undo, outcome: LateOutcome, mask: Mask) -> Undone | None:
    """Return what a body that had been given up says of a compensation in doubt, once it ends."""
    attempt = outcome.context.attempt if outcome.context is not None else undo.attempts
    if undo.state != "in_doubt" or attempt != undo.attempts:
        return None
    if outcome.error is None:
        return _ended(undo, "compensated", shown(outcome.value, mask))
    failure = cleaned(classify(outcome.error), mask)
    # An error says that the body ended, not that it had no effect before.
    certain = failure.may_have_executed == "no"
    state: UndoState = "failed" if certain else "in_doubt"
    return _ended(undo, state, clipped(failure.message), may_have_run=not certain)


def _subject(undo: Undo) -> str:
    return f"compensation of {undo.step.tool}"


def _ended(
    undo: Undo,
    state: UndoState,
    content: str,
    *,
    may_have_run: bool = False,
    elapsed_s: float = 0.0,
) -> Undone:
    return Undone(
        undo.step.n,
        undo.step.index,
        state,
        content,
        undo.attempts,
        may_have_run=may_have_run,
        elapsed_s=elapsed_s,
    )


def _judge(ticket: Entered, failure: Failure | None, attempt: _Attempt) -> None:
    """Tell the upstream's breaker what the attempt says of it."""
    if failure is None:
        ticket.verdict = "up"
    else:
        # A body that never ran says nothing of what it would have asked.
        ticket.verdict = verdict_of(failure) if attempt.entered else "nothing"


def _declared(companion: Companion, value: object) -> Failure | None:
    """Return the failure that a normal return tells of, such as ``{"ok": false, "error": ...}``."""
    said = judged(companion.name, companion.marks, value) if companion.marks is not None else None
    if said is not None:
        if said:
            return None
        return declared_failure(value) or Failure(
            error_class=ErrorClass.UNKNOWN, message="its success function says that it failed"
        )
    return failure_told(value)
