"""Waiting for people: requests are stored, told and waited for; a person's decision is applied.

The order is fixed: a request is durable, then whoever is to know of it is told, then the session is
parked. A process killed in between tells it again, so it is told at least once; one whose time is over
by then is told as expired before it counts as denied.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from ...stores.base import PostQuery
from ...stores.decisions import Decide
from ...stores.records import Allowed, JournalEntry, Judged, Requested
from ...supervisor.danger.danger import judge
from ...supervisor.errors import InvalidArgument, UsageError
from ..events import AlertRaised
from ..handover.wording import encodable
from ..ledger import CallId
from ..session import Session
from ..steps import (
    AwaitDecision,
)
from ..tooling.arguments import digest
from ..tooling.tools import AnyTool
from ..work import CutOff, Superseded, TimedOut, Work
from .approvals import APPROVAL, ApprovalRequest, listed, request_name
from .judging import action_of

TELL_S_MAX = 10.0
"""Seconds that telling of one request may take before it counts as failed, and is tried again."""

ARRIVAL_S_MAX = 5.0
"""Seconds that a decision which is in the store is waited for before its request expires."""

ALERT_EVERY_S = 60.0
"""Seconds between alerts about a function that cannot tell people."""


class Approving:
    """Questions to people in one life of a session."""

    def __init__(self, session: Session, work: Work) -> None:
        self._session = session
        self._work = work
        self._tried: set[tuple[str, bool]] = set()
        self._posted = False

    async def ask(self, requests: Sequence[Requested]) -> None:
        """Store what people are asked, all in one row."""
        session = self._session
        facts = session.facts_after(requests)
        await session.journal.append(*requests, session.booked(), facts=facts).wait()

    async def wait(self, step: AwaitDecision) -> AwaitDecision | None:
        """Return the step where the session is to be parked; None where something has changed."""
        session = self._session
        if await self._tell() or await self._expire():
            return None
        if session.facts.parent is None:
            return step
        await self._wait_here(step)
        return None

    async def _expire(self) -> bool:
        """Close the requests whose time is over; tell whether there were any."""
        session = self._session
        left_s = session.services.steady.left_s
        over = [
            Judged(*call, "expired", session.now_ms(), known.asked.number)
            for call, known in session.state.approvals.open.items()
            if known.asked.expires_at_ms is not None and left_s(known.asked.expires_at_ms) <= 0
        ]
        if over and not await self._decided_meanwhile():
            facts = session.facts_after(over)
            await session.journal.append(*over, facts=facts).wait()
        return bool(over)

    async def _decided_meanwhile(self) -> bool:
        """Give a decision that was given in time, and is on its way here, the time to arrive."""
        session = self._session
        decided = session.next_decision()
        query = PostQuery(session_id=session.id)
        posts = [each.post for each in await session.services.store.posts(query)]
        if self._posted or not any(each.about.startswith(APPROVAL) for each in posts):
            return False
        self._posted = True
        with suppress(CutOff, TimedOut):
            await self._work.run(decided.wait, what="wait for a decision", limit_s=ARRIVAL_S_MAX)
        return True

    async def _tell(self) -> bool:
        """Tell the runtime's own function of requests nobody was told of, each once in a life, and once
        more where its time is over."""
        session, services = self._session, self._session.services
        on_approval = services.on_approval
        if on_approval is None:
            return False
        facts = session.facts
        told = False
        for each in facts.requests:
            due_at_ms = each.expires_at_ms
            expired = due_at_ms is not None and services.steady.left_s(due_at_ms) <= 0
            shown = listed(session.id, facts.agent, facts.title, each, expired=expired)
            if each.told or (shown.request, expired) in self._tried:
                continue
            self._tried.add((shown.request, expired))
            told = True
            try:
                await self._work.run(
                    partial(on_approval, shown), what="on_approval", limit_s=TELL_S_MAX
                )
            except CutOff:
                return True
            except Superseded:
                raise
            except Exception as error:  # noqa: BLE001 - a user's function must not end a session
                self._not_told(shown, error)
            else:
                session.was_told(each)
        return told

    def _not_told(self, shown: ApprovalRequest, error: Exception) -> None:
        session = self._session
        what = f"no end within {error.limit_s:g} s" if isinstance(error, TimedOut) else repr(error)
        what = session.services.mask(what)[:300]  # in this order: a cut leaves half of a secret
        said = f"on_approval failed for request {shown.request}: {what}"
        cause, every_s = "on_approval", ALERT_EVERY_S
        if shown.expired:  # nobody will be told of this one by other ways: each has its own alert
            said += "; its time is over, so it counts as denied"
            cause, every_s = f"on_approval {shown.request}", 0.0
        if session.services.alerts.due(cause, said, every_s):
            session.emit(AlertRaised(session_id=session.id, at_ms=session.now_ms(), text=said))

    async def _wait_here(self, step: AwaitDecision) -> None:
        """Wait in memory: a sub-session's parent is there anyway, and waits for it."""
        session = self._session
        limit_s = None
        if step.due_at_ms is not None:
            limit_s = max(0.0, session.services.steady.left_s(step.due_at_ms))
        decided = session.next_decision()
        session.stop_clock()
        try:
            await self._work.run(decided.wait, what="wait for a person", limit_s=limit_s)
        except (CutOff, TimedOut):
            return
        finally:
            session.start_clock()


# ---------------------------------------------------------------- a person's decision


def decided_call(session: Session, said: Decide) -> CallId:
    """Return the call that a decision is about.

    Raises:
        UsageError: it waits for no decision of this number (any more).
    """
    assert said.call is not None  # posts name it
    known = session.state.approvals.calls.get(said.call)
    name = request_name(session.id, said.call, said.number)
    if known is None or known.asked.number != said.number:
        raise UsageError(f"request {name} is not open: the session went on without it")
    if known.state != "open":
        raise UsageError(f"request {name} is not open: it is {known.state}")
    return said.call


def judged(session: Session, said: Decide, at_ms: int, by: str) -> list[JournalEntry]:
    """Return what a person's decision adds to the journal.

    Raises:
        UsageError: the request is not open, it had expired, or with the arguments that the person
            gave the call cannot run, or must not; nothing has changed.
    """
    call = decided_call(session, said)
    asked = session.state.approvals.calls[call].asked
    why = said.result or ""
    if said.option == "deny":
        return [Judged(*call, "denied", at_ms, said.number, by=by, why=why)]
    if asked.expires_at_ms is not None and at_ms >= asked.expires_at_ms:
        raise UsageError(f"request {request_name(session.id, call, said.number)} has expired")
    if said.args is None:
        return [Judged(*call, "approved", at_ms, said.number, asked.digest, by=by, why=why)]
    arguments = encodable(said.args)
    named = _edited(session, asked, arguments)
    return [Judged(*call, "approved", at_ms, said.number, named, arguments, by, why)]


def _edited(session: Session, asked: Requested, arguments: str) -> str:
    """Return the digest of a call with other arguments, once it is sure that they may be run."""
    name = f"call {asked.n}.{asked.index} {asked.tool}"
    toolbox = session.installed.toolbox
    if asked.tool not in toolbox:
        raise UsageError(f"{name} cannot run: the agent has no such tool any more")
    tool = toolbox.get(asked.tool)
    try:
        tool.check(arguments)
    except InvalidArgument as error:
        raise UsageError(f"{name} cannot run with these arguments: {error.message}") from error
    _refuse_denied(session, tool, arguments, name)
    return digest(tool.name, arguments, tool.defaults)


def _refuse_denied(session: Session, tool: AnyTool, arguments: str, name: str) -> None:
    danger = session.services.policies.of(session.installed.name, tool.name).danger
    verdict = judge(action_of(session, tool, arguments), danger)
    if verdict.decision == "deny":
        raise UsageError(f"{name} must not run with these arguments: {verdict.risk}")


def check_again(session: Session, entries: Sequence[JournalEntry]) -> None:
    """Refuse what a person lets run again where a rule denies it; a rule that asks is answered so.

    Raises:
        UsageError: the call must not run with these arguments.
    """
    for entry in entries:
        if isinstance(entry, Allowed):
            call = (entry.n, entry.index)
            known = session.state.ledger.open[call]
            tool = session.installed.toolbox.get(known.tool)
            arguments = known.arguments if entry.arguments is None else entry.arguments
            _refuse_denied(session, tool, arguments, f"call {call[0]}.{call[1]} {known.tool}")
