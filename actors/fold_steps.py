"""Folds in what each step brings: the model's answer, the intents and results of its calls."""

from ..stores.records import Answered, Booked, Intended, Late, Resulted, Retried
from ..supervisor.likeness import Call
from ..supervisor.likeness import Step as Repeated
from .conversation import Turn
from .ledger import AGAIN, PERSON
from .nothing import own
from .state_fields import StateFields
from .state_parts import (
    CORRECTED,
    DENIED,
    MODEL,
    NOTHING_RAN,
    POLICY,
    RAN,
    REJECTIONS,
    Refused,
    Wait,
)


def answered(state: StateFields, entry: Answered) -> None:
    if entry.n >= state.next_n:
        state.next_n = entry.n + 1
    state.trouble = None
    state.finish = entry.finish
    state.prunes = 0
    if state.rolled is not None:
        state.gone_on()
    if state.waits:
        state.waits.pop(MODEL, None)
    state.conversation.answer(entry)


def intended(state: StateFields, entry: Intended) -> None:
    call = (entry.n, entry.index)
    asked = state.conversation.asked(*call)
    if asked is not None and call in state.approvals.calls:
        changed = state.approvals.effective(call, asked)
        state.ledger.intended(entry, changed)
        state.ledger.open[call].edited |= changed is not asked
        state.approvals.intended(call)
    else:
        state.ledger.intended(entry, asked)
    wait = state.waits.get((entry.n, entry.index))
    if wait is not None:
        wait.begun = True


def resulted(state: StateFields, entry: Resulted) -> None:
    turn = state.conversation.result(entry)
    if turn is None:
        return
    asked = turn.answered.calls[entry.index]
    if state.corrections or entry.error_class is not None:
        _count_correction(state, asked.name, entry)
    if entry.blob is not None or entry.state != "succeeded":
        state.surplus = True
    state.counter = max(state.counter, entry.counter)
    state.spent = entry.spent
    ledger = state.ledger
    took_effect = (
        bool(ledger.open) or entry.state != "succeeded" or entry.by != ""
    ) and ledger.resulted(entry, asked)  # of a read's result it has nothing to say
    if entry.windows:
        # What it did to the files is known: that is the state it changed, whatever it says.
        took_effect = any(each.before != each.after for each in entry.windows)
    call = entry.n, entry.index
    if took_effect:
        state.changed = own(state.changed)
        state.changed[call] = None
    if entry.trouble is not None and state.trouble is None:
        state.trouble = entry.trouble
        state.aside = True
    if state.waits:
        state.waits.pop(call, None)
    if state.staging.open:
        state.staging.ended(call)
    if state.approvals.calls:
        asked = state.approvals.effective(call, asked)
        state.approvals.resulted(call)
    if not turn.missing:
        _stepped(state, turn)
    if entry.error_class is not None and entry.error_class in REJECTIONS:
        state.stops = state.stops or entry.stops
        state.aside = state.aside or state.stops
        if not state.concluding or entry.state != "refused":
            # What is refused since it was closed before follows from that, and is not the cause.
            by_person = entry.error_class == DENIED and entry.by != POLICY
            state.refusal = Refused(call, asked.name, asked.arguments, entry.content, by_person)
        state.concluded(entry.error_class)
        state.rejected |= {entry.digest}
        if entry.closes:
            state.closed = own(state.closed)
            state.closed.update(dict.fromkeys(entry.closes, call))


def _count_correction(state: StateFields, tool: str, entry: Resulted) -> None:
    """Count rounds in a row in which the model had to amend a call of this tool.

    Several calls of one message are one round: the model has not been told in between. A
    success of the tool ends its series, except for what failed beside it.

    Rounds in which nothing ran at all are counted beside: a model can invent a new name each time.
    """
    if entry.error_class in CORRECTED:
        state.corrections = own(state.corrections)
    if entry.state != "refused":
        state.corrections.pop(NOTHING_RAN, None)
    elif entry.error_class in CORRECTED:
        idle, last = state.corrections.get(NOTHING_RAN, (0, 0))
        state.corrections[NOTHING_RAN] = (idle + (last != entry.n), entry.n)
    rounds, last = state.corrections.get(tool, (0, 0))
    if entry.error_class in CORRECTED:
        state.corrections[tool] = (rounds + (last != entry.n), entry.n)
    elif entry.state == "succeeded" and rounds:
        if last == entry.n:
            state.corrections[tool] = (1, last)
        else:
            del state.corrections[tool]


def _stepped(state: StateFields, turn: Turn) -> None:
    """All calls of a message have their results: one more step on the trail."""
    if len(turn.results) == 1 and not state.changed:
        only = turn.results[0]
        if only is not None and only.error_class is None and only.state == "succeeded":
            asked = turn.answered.calls[0]
            made = (Call(asked.name, asked.arguments, only.content, False, False),)
            state.trail.follow_calm(Repeated(made, turn.counter, False))
            return
    calls: list[Call] = []
    corrected = False
    n, changes = turn.answered.n, state.changed
    for asked, result in zip(turn.answered.calls, turn.results, strict=True):
        assert result is not None  # none is missing
        how = result.state
        if result.error_class is not None and result.error_class in CORRECTED:
            corrected = True
        elif how in RAN:
            changed = bool(changes) and (n, result.index) in changes
            failed = how == "failed"
            calls.append(Call(asked.name, asked.arguments, result.content, changed, failed))
    if changes:
        changes.clear()
    state.trail.follow(Repeated(tuple(calls), turn.counter, corrected))


def late(state: StateFields, entry: Late) -> None:
    state.surplus = True
    state.ledger.late(entry)
    if entry.by == AGAIN:
        state.waits.pop((entry.n, entry.index), None)
        state.staging.ended((entry.n, entry.index))
    if entry.trouble is not None and state.trouble is None:
        state.trouble = entry.trouble
    if entry.by != PERSON:
        return
    # A person has answered: the session goes on with it.
    state.status, state.outcome, state.trouble = "running", None, None


def retried(state: StateFields, entry: Retried) -> None:
    state.surplus = True
    named = MODEL if entry.index < 0 else (entry.n, entry.index)
    if entry.due_at_ms is None or entry.directive != "retry":
        state.waits.pop(named, None)
        return
    state.waits = own(state.waits)
    state.waits[named] = Wait(
        entry.due_at_ms,
        entry.number,
        entry.elapsed_s + entry.wait_s,
        entry.error_class,
        entry.message,
        entry.retry_after is not None,
        entry.doubtful,
    )


def booked(state: StateFields, entry: Booked) -> None:
    state.spent = entry.spent
