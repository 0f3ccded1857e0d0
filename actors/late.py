"""Bodies that end after their call was cut off: how they ended is written down, once.

The result that the model was given stays as it is; the ledger learns the truth, and the model is
told of it in a note.
"""

from collections.abc import Awaitable, Callable
from functools import partial

from ..stores.records import CallState, Frozen, JournalEntry, Late, Noted, UndoStep
from ..supervisor import Context
from ..supervisor.classify import classify
from .ends import declared
from .events import AlertRaised, CallLate
from .handover.session_answers import ENDED
from .handover.wording import cleaned
from .journal import Blob
from .ledger import CallEntry, CallId
from .secrets import Mask
from .session import Session
from .sessions import Change, Sessions
from .tooling.results import render_result
from .tooling.threads import LateOutcome
from .tooling.tools import AnyTool
from .undo.compensating import finished, late_undone
from .work import contained


def record_late(sessions: Sessions, outcome: LateOutcome, name: str) -> None:
    """Write a late outcome down beside whatever the session is doing; returns at once.

    Args:
        name: unique name of this job.
    """
    context = outcome.context
    if context is None or context.probe:
        return  # what a probe says late, nobody waits for
    if not sessions.pool.closing:
        change = partial(_change_undone if context.undo else _change, context.call, outcome)
        job = partial(_store, sessions, context.session_id, change)
        sessions.pool.start_aside(f"{context.session_id}.{name}", job)


async def _store(
    sessions: Sessions,
    session_id: str,
    change: Callable[[Session], Awaitable[Change]],
    ctx: Context[object],
) -> None:
    await sessions.change(session_id, change)


async def _change_undone(call: CallId, outcome: LateOutcome, session: Session) -> Change:
    """Return what to add about a compensation; nothing where its end is known."""
    undo = session.state.unwound.steps.get(call)
    entry = None if undo is None else late_undone(undo, outcome, session.services.mask)
    if undo is None or entry is None:
        return Change([])
    session.emit(finished(session.id, session.now_ms(), undo.step.tool, entry))
    n, index = call
    how = entry.state.replace("_", " ")
    text = f"The compensation of call {n}.{index} {undo.step.tool} has ended late: {how}"
    noted = Noted(session.journal.take_n(), f"{text}: {entry.content}", f"late {n}.{index}")
    return Change([entry, noted])


async def _change(call: CallId, outcome: LateOutcome, session: Session) -> Change:
    """Return what to add; nothing for a call about which there was no doubt."""
    known = session.state.ledger.open.get(call)
    if known is None:
        return Change([])
    n, index = call
    toolbox = session.installed.toolbox
    tool = toolbox.get(outcome.tool) if outcome.tool in toolbox else None
    entry, blobs = late_entry(call, outcome, known, tool, session.services.mask)
    session.emit(
        CallLate(
            session_id=session.id,
            at_ms=session.now_ms(),
            n=n,
            index=index,
            tool=outcome.tool,
            state=entry.state,
        )
    )
    if not known.in_doubt:
        return Change([entry], blobs=blobs)  # its result is still to come, and will say so
    frozen = [] if tool is None or entry.state != "succeeded" else _frozen(session, call, tool)
    text = f"Call {n}.{index} {outcome.tool} has ended late: {entry.state}: {entry.content}"
    noted = Noted(session.journal.take_n(), text, f"late {n}.{index}")
    return Change([entry, *frozen, noted], blobs=blobs)


ALERT_EVERY_S = 60.0
"""Seconds between alerts about effects of one tool that were known too late to be undone."""


def _frozen(session: Session, call: CallId, tool: AnyTool) -> list[JournalEntry]:
    """Leave the undoing to a person where the session had ended before this was known.

    A session that runs undoes it with the rest, should it fail; what has completed stays.
    """
    state, undo = session.state, tool.marks.undo
    if undo == "keep" or state.status not in ENDED:
        return []
    why = f"call {call[0]}.{call[1]} {tool.name} took effect, which was known after the end only"
    text = f"session {session.id}: {why}; it is to be undone, and a person has to say so"
    if session.services.alerts.due(f"late {tool.name}", text, ALERT_EVERY_S, session.id):
        session.emit(AlertRaised(session_id=session.id, at_ms=session.now_ms(), text=text))
    before = state.unwound.frozen.steps if state.unwound.frozen is not None else ()
    step = UndoStep(*call, tool.name, undo)
    steps = sorted((*before, step), key=lambda each: (each.n, each.index), reverse=True)
    return [Frozen(why, tuple(steps))]


def late_entry(
    call: CallId, outcome: LateOutcome, known: CallEntry, tool: AnyTool | None, mask: Mask
) -> tuple[Late, tuple[Blob, ...]]:
    """Return what the ledger keeps of an outcome that came late, and its full text.

    That one attempt did not take effect settles the call only where no other may have.
    """
    attempt = outcome.context.attempt if outcome.context is not None else 0
    alone = not known.doubtful and attempt in (0, known.attempts)
    failure = classify(outcome.error) if outcome.error is not None else None
    if failure is None and tool is not None:
        failure = declared(tool, outcome.value)
    if failure is not None:
        # An error says that the body ended, not that it had no effect before.
        certain = alone and failure.may_have_executed == "no"
        state: CallState = "failed" if certain else "in_doubt"
        shown = cleaned(failure, mask)
        error_class = shown.error_class.value
        return Late(*call, state, shown.message, attempt=attempt, error_class=error_class), ()
    what = f"result of {outcome.tool}"
    rendered = contained(what, partial(render_result, outcome.value, mask=mask))
    late = Late(
        *call,
        "succeeded",
        rendered.content,
        attempt=attempt,
        blob=rendered.blob[0] if rendered.blob else None,
        value_type=rendered.value_type,
    )
    return late, (rendered.blob,) if rendered.blob else ()
