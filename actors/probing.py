"""Asking a tool's probe whether a call took effect.

A probe changes nothing, so its own failures are those of a read: passing ones are retried by the
policy of the tool. What is not a clear answer leaves the doubt where it was. "It did not happen" is
not believed while the call's own body may still be running in this process.
"""

from functools import partial
from typing import Literal

from msgspec import Struct

from ..stores.records import Probed
from ..supervisor.breaker import verdict_of
from ..supervisor.decide import History, Retry, decide
from ..supervisor.errors import ErrorClass
from ..supervisor.failure import Failure, Traits
from .budget import TOOL_CALLS, Refusal
from .ends import Prepared, declared
from .events import CallProbed
from .gate import Held, enter
from .handover.wording import cleaned, clipped
from .session import Session
from .tooling.companions import Companion, failure_told
from .tooling.context import CallContext, calling
from .tooling.marks import NotDone
from .tooling.tools import AnyTool
from .work import CutOff, Superseded, TimedOut, Work, pause

READ = Traits(safe_to_retry=True)

TIMEOUT_S = 30.0
"""Seconds for one answer, where neither the probe nor its tool has a limit of its own."""

WAIT_S_MAX = 30.0
"""A probe that is to be asked again later than this is not waited for."""


class Found(Struct, frozen=True):
    """It took effect; this is what the call would have returned."""

    value: object


class Absent(Struct, frozen=True):
    """It certainly did not take effect."""


class Unclear(Struct, frozen=True):
    """Nobody knows yet."""

    why: str


Answer = Found | Absent | Unclear


class Probing:
    """Probes of one life of a session."""

    def __init__(self, session: Session, work: Work) -> None:
        self._session = session
        self._work = work

    async def ask(self, call: Prepared, *, still_running: bool) -> Answer:
        """Ask the probe of a call's tool, as often as the policy lets a read be tried.

        Each time counts as a tool call of the session's budget.

        Args:
            still_running: the body may go on in this process: no answer but "yes" is certain.
        """
        clock = self._session.services.clock
        began_at, attempt = clock.now(), 1
        answer = await self._once(call, attempt, began_at)
        while isinstance(answer, Failure):
            delay_s = self._wait_s(call, answer, attempt, clock.now() - began_at)
            if delay_s is not None:
                await pause(self._work, delay_s)
            if delay_s is None or self._work.cut is not None:
                answer = Unclear(self._said(answer))
                break
            attempt += 1
            answer = await self._once(call, attempt, began_at)
        if isinstance(answer, Absent) and still_running:
            answer = Unclear("the probe found nothing, but the call itself is still running here")
        self._record(call, answer, attempt, clock.now() - began_at)
        return answer

    def _wait_s(
        self, call: Prepared, failure: Failure, attempt: int, elapsed_s: float
    ) -> float | None:
        services = self._session.services
        policy = services.policies.of(self._session.installed.name, call.tool.name)
        history = History(attempts=attempt, elapsed_s=elapsed_s)
        directive = decide(failure, READ, history, policy, services.roll())
        if isinstance(directive, Retry) and directive.delay_s <= WAIT_S_MAX:
            return directive.delay_s
        return None

    def _said(self, failure: Failure) -> str:
        shown = cleaned(failure, self._session.services.mask)
        return f"the probe failed ({shown.error_class}): {clipped(shown.message)}"

    async def _once(self, call: Prepared, attempt: int, began_at: float) -> Answer | Failure:
        session = self._session
        probe = call.tool.probe
        assert probe is not None  # or nobody would have asked
        policy = session.services.policies.of(session.installed.name, call.tool.name)
        entered = await enter(
            session,
            self._work,
            probe.upstream,
            subject=f"probe of {call.tool.name}",
            repeat=attempt > 1,
            since=began_at,
            time_budget_s=policy.transient.time_budget_s,
        )
        if entered is None:
            return Unclear("the session was cut off before the probe was asked")
        if isinstance(entered, Held):
            return Unclear(f"the probe was not asked: {entered.detail}")
        with entered:
            refusal = session.account.take(TOOL_CALLS)
            if isinstance(refusal, Refusal):
                return Unclear(f"the probe was not asked: {refusal}")
            answer = await self._run(call, probe)
            entered.verdict = verdict_of(answer) if isinstance(answer, Failure) else "up"
        return answer

    async def _run(self, call: Prepared, probe: Companion) -> Answer | Failure:
        session = self._session
        if not session.owned:
            await session.ensure_owned()
        session.active.enter()
        try:
            secrets = session.installed.toolbox.secrets_for(call.tool)
            given = probe.given(call.arguments, key=call.key, secrets=secrets)
            limit_s = probe.timeout_s or TIMEOUT_S
            with calling(self._context(call, limit_s)):
                value = await self._work.run(
                    partial(probe.call, given, threads=session.services.threads),
                    what=f"probe of {call.tool.name}",
                    limit_s=limit_s,
                )
            failure = _told(call.tool, value)
        except CutOff:
            return Unclear("the session was cut off while the probe was asked")
        except Superseded:
            raise
        except TimedOut as error:
            return Failure(
                error_class=ErrorClass.IN_DOUBT_TIMEOUT,
                message=f"no answer within {error.limit_s:g} s",
                type_name="TimedOut",
            )
        except Exception as error:  # noqa: BLE001 - the boundary to the user's own function
            return session.services.classify(error, traits=READ)
        finally:
            session.active.leave()
        return read_answer(value) if failure is None else failure

    def _context(self, call: Prepared, limit_s: float) -> CallContext:
        session = self._session
        return CallContext(
            session_id=session.id,
            agent=session.installed.name,
            tool=call.tool.name,
            call=call.id,
            attempt=call.attempt,
            key=call.key,
            deadline=session.services.clock.now() + limit_s,
            working_directory=session.facts.working_directory,
            probe=True,
        )

    def _record(self, call: Prepared, answer: Answer, attempts: int, elapsed_s: float) -> None:
        session = self._session
        said = _said(answer)
        content = answer.why if isinstance(answer, Unclear) else ""
        probed = Probed(call.n, call.index, said, content, attempts, elapsed_s)
        session.journal.ride(probed)
        session.emit(
            CallProbed(
                session_id=session.id,
                at_ms=session.now_ms(),
                n=call.n,
                index=call.index,
                tool=call.tool.name,
                answer=said,
            )
        )


def _told(tool: AnyTool, value: object) -> Failure | None:
    """Return the failure that a probe's normal return tells of; the tool's `success` knows best."""
    failure = declared(tool, value)
    if failure is not None or tool.marks.success is not None or value is False:
        return failure  # of False there is more to say below
    return failure_told(value)


def _said(answer: Answer) -> Literal["done", "not_done", "unclear"]:
    match answer:
        case Found():
            return "done"
        case Absent():
            return "not_done"
        case Unclear():
            return "unclear"


def read_answer(value: object) -> Answer:
    """Return what a probe's normal return says. Pure.

    None and False are what many a look-up returns for "not found", and what many a tool returns for
    "done": they are taken for neither.
    """
    if isinstance(value, NotDone):
        return Absent()
    if value is None or value is False:
        return Unclear(f"the probe returned {value}; return the result, or ukemi.NOT_DONE")
    return Found(value)
