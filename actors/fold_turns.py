"""Folds in what changes the course of a session, and what people say."""

from ..stores.records import (
    Allowed,
    Assessed,
    Audited,
    Decided,
    Ended,
    FellBack,
    Frozen,
    Judged,
    Noted,
    Opened,
    Parked,
    Probed,
    Progressed,
    Pruned,
    Requested,
    Restarted,
    Said,
    StagedCheck,
    StagedResult,
    Undoing,
    Undone,
    Unwinding,
    Woken,
)
from ..supervisor.repetition import Trail
from .model import NoteMessage, UserMessage
from .nothing import NO_NAMES, own
from .state_fields import StateFields
from .state_parts import CONCLUDE, MODEL, UNFINISHED
from .undo.unwound import LEDGER_STATES


def opened(state: StateFields, entry: Opened) -> None:
    state.opened = entry


def said(state: StateFields, entry: Said) -> None:
    state.count(entry.n)
    state.conversation.say(UserMessage(entry.text), entry.n)
    if state.rolling is not None:
        state.spoken = [*state.spoken, (entry.n, entry.text)]
    state.gone_on()
    for named, wait in state.waits.items():
        # The other side's own wait is kept for the model; a call is given up instead.
        wait.spoken = wait.spoken or named != MODEL or not wait.asked
    if state.status not in UNFINISHED:
        # It had ended, and a person has said to go on: a new trajectory. What was said in the
        # middle of one opens nothing that was refused in it.
        state.rejected = NO_NAMES
        state.closed.clear()
        state.conclusions.clear()
    state.status, state.outcome = "running", None
    state.concluding = state.stops = False
    state.trouble = None
    state.corrections.clear()
    state.restarts, state.prunes, state.fallback = 0, 0, None
    state.audits = 0
    state.assessed = None
    state.task_counter = state.conversation.last_mark
    state.trail = Trail(state.task_counter)


def noted(state: StateFields, entry: Noted) -> None:
    state.count(entry.n)
    state.notes |= {entry.about}
    if entry.about.startswith(CONCLUDE):
        state.concluded(entry.about.removeprefix(CONCLUDE))
    state.conversation.say(NoteMessage(entry.text), entry.n)


def decided(state: StateFields, entry: Decided) -> None:
    subject = entry.about.rpartition("#")[0]
    state.decided = own(state.decided)
    state.decided.pop(subject, None)  # the newest is the last
    state.decided[subject] = entry


def ended(state: StateFields, entry: Ended) -> None:
    state.status, state.outcome, state.spent = entry.status, entry.outcome, entry.spent
    state.trouble = None
    state.waits.clear()
    if state.ledger.again:
        state.ledger.ended()
    state.unwound.ended(completed=entry.status == "completed", next_n=state.next_n)


def progressed(state: StateFields, entry: Progressed) -> None:
    state.progress = entry.digest
    state.trail.progress(state.conversation.last_mark)


def restarted(state: StateFields, entry: Restarted) -> None:
    """Go back to a checkpoint; what was done since, and the doubts about it, stay."""
    state.count(entry.n)
    state.conversation.rewind(entry.counter)
    state.conversation.say(NoteMessage(entry.hint), entry.n)
    state.restarts += 1
    state.trouble = None
    state.corrections.clear()
    state.trail = Trail(entry.counter)


def pruned(state: StateFields, entry: Pruned) -> None:
    state.count(entry.n)
    state.conversation.prune(entry)
    state.prunes += 1


def fell_back(state: StateFields, entry: FellBack) -> None:
    state.count(entry.n)
    state.fallback, state.trouble = entry, None


def parked(state: StateFields, entry: Parked) -> None:
    state.status, state.spent = "parked", entry.spent


def woken(state: StateFields, entry: Woken) -> None:
    state.status = "running"
    for wait in state.waits.values():
        wait.ready = wait.ready or wait.due_at_ms <= entry.due_at_ms


def unwound(state: StateFields, entry: Unwinding | Undoing | Undone | Frozen) -> None:
    state.unwound.apply(entry)
    if isinstance(entry, Frozen) and state.status not in UNFINISHED:
        state.unwound.settled()  # found out after the end: it belongs to that one, not to the next
    elif isinstance(entry, Unwinding):
        state.status = "running"
    elif isinstance(entry, Undone) and entry.state in LEDGER_STATES:
        effect = state.effects.get((entry.n, entry.index))
        if effect is not None:
            effect.state = LEDGER_STATES[entry.state]


def allowed(state: StateFields, entry: Allowed) -> None:
    state.ledger.allowed(entry)
    state.status, state.outcome, state.trouble = "running", None, None


def audited(state: StateFields, entry: Audited) -> None:
    state.count(entry.n)
    state.audits += 1


def assessed(state: StateFields, entry: Assessed) -> None:
    state.count(entry.n)
    state.assessed = entry


def requested(state: StateFields, entry: Requested) -> None:
    state.approvals.requested(entry)


def judged(state: StateFields, entry: Judged) -> None:
    state.approvals.judged(entry)


def staged(state: StateFields, entry: StagedResult | StagedCheck) -> None:
    state.staging.apply(entry)


def probed(state: StateFields, _entry: Probed) -> None:
    state.surplus = True  # what followed from it says the rest
