"""Bodies that end after their call was cut off: how they ended is written down, once.

The result that the model was given stays as it is; the ledger learns the truth, and the model is
told of it in a note.
"""

from functools import partial

from ..stores.records import JournalEntry, Late, Noted
from ..supervisor import Context
from ..supervisor.classify import classify
from .events import CallLate
from .results import render_result
from .secrets import Mask
from .session import Session
from .sessions import Sessions
from .threads import LateOutcome


def record_late(sessions: Sessions, outcome: LateOutcome, name: str) -> None:
    """Write a late outcome down beside whatever the session is doing; returns at once.

    Args:
        name: unique name of this job.
    """
    context = outcome.context
    if context is not None and not sessions.pool.closing:
        job = partial(_store, sessions, context.session_id, context.call, outcome)
        sessions.pool.start_aside(f"{context.session_id}.{name}", job)


async def _store(
    sessions: Sessions,
    session_id: str,
    call: tuple[int, int],
    outcome: LateOutcome,
    ctx: Context[object],
) -> None:
    await sessions.append(session_id, partial(_entries, call, outcome))


def _entries(call: tuple[int, int], outcome: LateOutcome, session: Session) -> list[JournalEntry]:
    """Return what to add; nothing for a call about which there was no doubt."""
    if call not in session.state.ledger:
        return []
    n, index = call
    entry = late_entry(n, index, outcome, session.services.mask)
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
    text = f"Call {n}.{index} {outcome.tool} has ended late: {entry.state}: {entry.content}"
    return [entry, Noted(session.journal.take_n(), text, f"late {n}.{index}")]


def late_entry(n: int, index: int, outcome: LateOutcome, mask: Mask) -> Late:
    """Return what the ledger keeps of an outcome that came late."""
    if outcome.error is None:
        return Late(n, index, "succeeded", render_result(outcome.value, mask=mask).content)
    failure = classify(outcome.error)
    # An error says that the body ended, not that it had no effect before.
    certain = failure.may_have_executed == "no"
    return Late(n, index, "failed" if certain else "in_doubt", mask(failure.message))
