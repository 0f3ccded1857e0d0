"""What a session does next, as a function of its state.

The conversation is the program counter: going on after a crash, a restart of the actor or a week
of waiting is the same code as going on.
"""

from typing import Any

from msgspec import Struct

from ..stores.records import RollingBack, ToolCall
from .conversation import Turn
from .ledger import CallEntry, CallId
from .model import AssistantMessage, UserMessage
from .state import MODEL, UNFINISHED, SessionState


class AskModel(Struct, frozen=True):
    """The last message is the user's, the runtime's or a tool's: the model's turn."""


class RunCall(Struct, frozen=True):
    """The first call without a result, and what the ledger says of it.

    ``intent`` is its entry where an earlier life began it. ``ledgered`` is False for a history
    that does not promise an intent before every write: then no intent proves nothing.
    """

    n: int
    index: int
    call: ToolCall
    intent: CallEntry | None
    ledgered: bool


class RunAgain(Struct, frozen=True):
    """A person has let a call in doubt run again, or that run was cut off."""

    call: CallId


class Unwind(Struct, frozen=True):
    """Effects are being undone; ``outcome`` is how the session ends then, None: it goes on."""

    outcome: dict[str, Any] | None


class RollBack(Struct, frozen=True):
    """The session is rolled back, before anything else."""

    entry: RollingBack


class WaitUntil(Struct, frozen=True):
    """The next attempt of a call, or of the model request, is not due before this time."""

    due_at_ms: int


class AwaitDecision(Struct, frozen=True):
    """All that could run next waits for a person; from ``due_at_ms`` on one of it counts as denied."""

    due_at_ms: int | None


class GiveUp(Struct, frozen=True):
    """A call has ended so that the session is handed over: for this, in plain data."""

    trouble: dict[str, Any]


class Stop(Struct, frozen=True):
    """A call was denied, and the policy says that the session ends with that."""


class FallBack(Struct, frozen=True):
    """The plan has failed and another agent has the task: wait for its sub-session."""

    n: int
    agent: str
    why: str


class Finish(Struct, frozen=True):
    """The model has answered; ``finish`` is how its message ended."""

    text: str
    finish: str


class Rest(Struct, frozen=True):
    """Nothing to do until somebody says something."""


Step = (
    AskModel
    | RunCall
    | RunAgain
    | RollBack
    | Unwind
    | WaitUntil
    | FallBack
    | Finish
    | Rest
    | AwaitDecision
    | Stop
    | GiveUp
)


ASK_MODEL = AskModel()


def next_step(state: SessionState) -> Step:
    """Return what a session does next, from its stored state alone."""
    aside = _aside(state) if state.aside else None
    if aside is not None:
        return aside
    if state.conversation.open:
        turn = state.conversation.open[0]
        if state.waits or state.approvals.calls or state.ledger.open:
            return _next_call(state, turn)
        answered = turn.answered
        index = turn.results.index(None)
        return RunCall(answered.n, index, answered.calls[index], None, answered.ledger)
    if state.fallback is not None:
        return FallBack(state.fallback.n, state.fallback.agent, state.fallback.why)
    last = state.conversation.last
    if last is None:
        return Rest()
    if isinstance(last, AssistantMessage):
        return Finish(last.text, state.finish)
    wait = state.waits.get(MODEL) if state.waits else None
    return WaitUntil(wait.due_at_ms) if wait is not None and wait.open else ASK_MODEL


def _aside(state: SessionState) -> Step | None:
    """Return what comes before the conversation goes on; None: nothing does."""
    if state.rolling is not None:
        return RollBack(state.rolling)
    if state.status not in UNFINISHED:
        return Rest()
    if state.unwound.running is not None:
        return Unwind(state.unwound.running.outcome)
    if state.trouble is not None and not _spoken_since(state, state.trouble):
        # What a person has allowed since would have cleared it: what else may run again waits.
        return _cut_off_beside(state) or GiveUp(state.trouble)
    if state.ledger.again:
        return _again(state, min(state.ledger.again))
    return Stop() if state.stops else None


def _next_call(state: SessionState, turn: Turn) -> RunCall | WaitUntil | AwaitDecision:
    """Return the call that is next, or what it waits for, where something is known of one."""
    waiting = _waiting(state, turn) if state.waits else None
    if waiting is not None:
        return waiting
    answered, approvals = turn.answered, state.approvals
    index = _runnable(state, turn) if approvals.calls else turn.results.index(None)
    if index is None:
        return _awaited(state, turn)
    named = (answered.n, index)
    call = answered.calls[index]
    if approvals.calls:
        call = approvals.effective(named, call)
    return RunCall(answered.n, index, call, state.ledger.open.get(named), answered.ledger)


def _spoken_since(state: SessionState, trouble: dict[str, Any]) -> bool:
    """Whether the user has spoken since an earlier life left this behind: then the session goes on."""
    inherited = trouble.get("inherited", False)
    return (
        inherited
        and not state.conversation.open
        and isinstance(state.conversation.last, UserMessage)
    )


def _cut_off_beside(state: SessionState) -> RunCall | None:
    """Return a call that ran beside the one that failed, and was cut off by the process's end.

    Had the process lived, it would have come to its own end before the session did. Whether it may
    run again, by its key or its probe, or is in doubt, is found out before a person is asked.
    """
    if not state.conversation.open:
        return None
    turn = state.conversation.open[0]
    n = turn.answered.n
    for index, result in enumerate(turn.results):
        entry = state.ledger.open.get((n, index))
        if result is None and entry is not None and (n, index) not in state.waits:
            call = state.approvals.effective((n, index), turn.answered.calls[index])
            return RunCall(n, index, call, entry, turn.answered.ledger)
    return None


def _again(state: SessionState, call: CallId) -> RunAgain | WaitUntil:
    """What a person decided comes before what the model is asked next."""
    wait = state.waits.get(call)
    return WaitUntil(wait.due_at_ms) if wait is not None and wait.open else RunAgain(call)


def _runnable(state: SessionState, turn: Turn) -> int | None:
    """Return the first call that does not wait for a person, or for one before it that does."""
    first = turn.results.index(None)
    n = turn.answered.n
    if not state.approvals.is_open((n, first)):
        return first
    beside = state.approvals.calls[n, first].asked.wave
    for index in beside:
        if turn.results[index] is None and not state.approvals.is_open((n, index)):
            return index
    return None


def _awaited(state: SessionState, turn: Turn) -> AwaitDecision:
    expiries = [
        known.asked.expires_at_ms
        for (n, _), known in state.approvals.open.items()
        if n == turn.answered.n and known.asked.expires_at_ms is not None
    ]
    return AwaitDecision(min(expiries, default=None))


def _waiting(state: SessionState, turn: Turn) -> WaitUntil | None:
    """Calls of one message go on together, once the last of them is due."""
    n = turn.answered.n
    due = [wait.due_at_ms for (at, _), wait in state.waits.items() if at == n and wait.open]
    return WaitUntil(max(due)) if due else None
