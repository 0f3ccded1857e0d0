"""A session's answer is compared with what was executed, before it counts as the outcome.

A mismatch is stored, told as an event and an alert, and the model is told once what differs. Where
its next answer is no better, a person is asked. How often it was told is in the journal, so a
restart grants no further chance.
"""

from collections.abc import Sequence
from functools import partial
from typing import cast

from anyio.lowlevel import checkpoint

from ...stores.records import Audited, JournalEntry, Noted
from ..events import AlertRaised, AuditMismatch
from ..handover.dossier import Alert, Trouble
from ..handover.wording import encodable
from ..inspection import entries_of
from ..model import Message
from ..outcome import Completed, Outcome
from ..session import Session
from ..steps import Finish
from ..work import CutOff, Work
from .audit import Audit, Values, audit_in_portions
from .claims_given import claims_given
from .claims_made import PATH, Claim
from .claims_text import shown
from .findings import Finding, line_of
from .judge import Judging
from .plain_answers import needs_journal
from .record import Files, NoFiles, Ran, Record
from .sources import (
    has_workspace,
    look_at,
    ran_of_journal,
    ran_of_messages,
    said_in_journal,
    said_in_messages,
    tool_facts,
)

PATHS_MAX = 50
"""Files of one statement that are looked at."""


class Auditing:
    """The audit of one life of a session."""

    def __init__(self, session: Session, work: Work) -> None:
        self._session = session
        self._work = work
        judge = session.installed.agent.judge
        self._judging = None if judge is None else Judging(session, work, judge)

    async def judge(self, step: Finish) -> Outcome | Trouble | None:
        """Return how the session ends with this answer; None: it goes on."""
        session = self._session
        policy = session.services.policies.current.audit
        if not policy.enabled:
            return Completed(step.text)
        last = session.state.conversation.last
        try:
            found, record = await self._audit(step.text, policy.values)
            if self._judging is not None and found.unverified and not found.mismatches:
                more = await self._judging.assess(step.text, found.unverified, record)
                found = Audit((*more, *found.findings))
        except CutOff:
            return None  # settled at the next step
        if self._overtaken(last):
            return None
        if found.mismatches:
            return self._mismatch(step, found, policy.corrections_max, policy.alert_every_s)
        masked = session.services.mask
        return Completed(step.text, tuple(encodable(masked(each)) for each in found.unverified))

    def _overtaken(self, last: Message | None) -> bool:
        """Whether, during an audit, the session was cut off, or somebody has spoken behind ``last``."""
        session = self._session
        return session.cut is not None or session.state.conversation.last is not last

    async def findings(self, statement: str) -> tuple[str, ...] | None:
        """Return what a conclusion says that no call bears out, written down and told as an event.

        A person is asked anyway, so the agent has no chance to correct it, and no alert is raised.
        None: it is no conclusion any more, and the session goes on.
        """
        session = self._session
        policy = session.services.policies.current.audit
        if not policy.enabled:
            return ()
        last = session.state.conversation.last
        try:
            found, _ = await self._audit(statement, policy.values)
        except CutOff:
            return None  # settled at the next step
        if self._overtaken(last):
            return None
        if not found.mismatches:
            return ()
        return self._written(found, corrected=False)

    # ------------------------------------------------------------ what is known

    async def _audit(self, statement: str, values: Values) -> tuple[Audit, Record]:
        """Compare with the messages; with the journal, where they do not suffice or do not agree."""
        state = self._session.state
        files = await self._files(statement)
        messages = state.conversation.originals()
        ran = ran_of_messages(messages)
        if not needs_journal(state, len(ran)):
            record = self._record(ran, said_in_messages(messages), files)
            found = await _compared(statement, record, claims_given(ran), values)
            if not found.mismatches or not ran:
                return found, record
        entries = await self._entries()
        ran = ran_of_journal(entries)
        record = self._record(ran, said_in_journal(entries), files)
        return await _compared(statement, record, claims_given(ran), values), record

    def _record(self, ran: Sequence[Ran], said: Sequence[str], files: Files) -> Record:
        instructions = self._session.installed.agent.instructions
        tools = tool_facts(self._session.installed.toolbox)
        return Record(ran=ran, tools=tools, files=files, said=[instructions, *said])

    async def _entries(self) -> list[JournalEntry]:
        """Return the journal as it is stored, and what is on its way there."""
        session = self._session
        unsaved = session.journal.unsaved()
        stored = await session.services.store.load(session.id)
        return [*entries_of(stored), *unsaved]

    async def _files(self, statement: str) -> Files:
        """Look at the files that a statement names, in a thread."""
        if not has_workspace(self._session.installed.toolbox):
            return NoFiles()
        hits = (hit[0].rstrip(".,)") for hit in PATH.finditer(shown(statement)))
        paths = [*dict.fromkeys(hits)][:PATHS_MAX]
        if not paths:
            return NoFiles()
        opened = self._session.state.opened
        look = partial(
            look_at,
            self._session.facts.working_directory or ".",
            paths,
            opened.at_ms if opened else 0,
        )
        threads = self._session.services.threads
        return await self._work.run(
            partial(threads.run, look, tool="audit"), what="the audit's look at files"
        )

    # ------------------------------------------------------------ what follows

    def _mismatch(
        self, step: Finish, found: Audit, corrections_max: int, alert_every_s: float
    ) -> Trouble | None:
        session = self._session
        told = session.state.audits
        corrected = told < corrections_max
        lines = self._written(found, corrected=corrected)
        if corrected:
            self._alert(lines, alert_every_s)
            session.journal.ride(Noted(session.journal.take_n(), _told(lines), "audit"))
            return None
        return _trouble(step, lines, told, Alert(f"agent {session.installed.name}", alert_every_s))

    def _written(self, found: Audit, *, corrected: bool) -> tuple[str, ...]:
        """Write findings down, tell of them, and return the mismatches in a line each."""
        session = self._session
        findings = tuple(self._clean(each) for each in found.findings)
        session.journal.ride(Audited(session.journal.take_n(), findings, corrected))
        lines = tuple(line_of(each) for each in findings if each.kind != "unverified")
        session.emit(
            AuditMismatch(
                session_id=session.id, at_ms=session.now_ms(), findings=lines, corrected=corrected
            )
        )
        return lines

    def _clean(self, each: Finding) -> Finding:
        mask = self._session.services.mask
        claim, why = encodable(mask(each.claim)), encodable(mask(each.why))
        return Finding(each.kind, claim, why, tuple(encodable(call) for call in each.calls))

    def _alert(self, lines: Sequence[str], every_s: float) -> None:
        session = self._session
        about = f"agent {session.installed.name}"
        text = f"{about} claims what did not happen: {lines[0]} (first met by session {session.id})"
        if session.services.alerts.due(f"mismatch {about}", text, every_s, session.id):
            session.emit(AlertRaised(session_id=session.id, at_ms=session.now_ms(), text=text))


async def _compared(
    statement: str, record: Record, claims: Sequence[Claim], values: Values
) -> Audit:
    """Let the other sessions have their turn in between: the first answers of a process need many
    patterns, and these are compiled when they are first met."""
    portions = audit_in_portions(statement, record, claims=claims, values=values)
    while True:
        try:
            next(portions)
        except StopIteration as end:
            return cast(Audit, end.value)
        await checkpoint()


def _told(lines: Sequence[str]) -> str:
    """Return what the model is told, once."""
    advice = (
        "Either do what is missing now, or answer again with what really happened: say which calls "
        "failed or were not made, what was used instead, and give only values that a result holds."
    )
    begin = "Your answer was compared with what was executed, and was not accepted:"
    return "\n".join([begin, *(f"- {line}" for line in lines), advice])


def _trouble(step: Finish, lines: Sequence[str], told: int, alert: Alert) -> Trouble:
    tried = f"the agent was told {told} times what differs, and answered no better"
    return Trouble(
        reason="mismatch",
        detail=lines[0],
        step="audit of the answer",
        input=step.text,
        error="\n".join(lines),
        tried=(tried if told else "nothing: the policy grants no correction",),
        alert=alert,
        findings=tuple(lines),
    )
