"""A session's state as a fold over its journal, and the next step as a function of it.

The conversation is the program counter: going on after a crash, a restart of the actor or a week
of waiting is the same code as going on.
"""

from typing import Any

from msgspec import Struct

from ..stores.records import (
    Allowed,
    Answered,
    Audited,
    Booked,
    Decided,
    Ended,
    FellBack,
    Frozen,
    Intended,
    JournalEntry,
    Late,
    Noted,
    Opened,
    Parked,
    Probed,
    Progressed,
    Pruned,
    Restarted,
    Resulted,
    Retried,
    Said,
    SessionStatus,
    Spent,
    ToolCall,
    Undoing,
    Undone,
    Unwinding,
    Woken,
)
from ..supervisor.errors import ErrorClass
from ..supervisor.repetition import Call, Trail
from ..supervisor.repetition import Step as Repeated
from .conversation import Conversation, Turn
from .ledger import AGAIN, PERSON, CallEntry, CallId, Effect, Ledger
from .model import AssistantMessage, NoteMessage, UserMessage
from .unwound import LEDGER_STATES, Unwound

CORRECTED = frozenset({ErrorClass.INVALID_ARGUMENT.value, ErrorClass.CONTEXT_OVERFLOW.value})
"""Classes of a tool's failures that the model amends its call for: what is wrong, or too much."""

UNFINISHED = frozenset({"running", "parked"})

RAN = frozenset({"succeeded", "failed"})
"""How calls end whose body ran, and of whose result there is no doubt."""
CONCLUDE = "conclude:"
"""Begins what a note is about where the model's own request was refused; its class follows."""

REJECTIONS = frozenset({ErrorClass.BUSINESS_REJECTED.value, ErrorClass.CONTENT_REFUSED.value})


MODEL: CallId = (0, -1)
"""Stands for the model's request among the waits."""


class Wait(Struct):
    """An attempt failed in passing, and the next is not due before ``due_at_ms``.

    ``number`` attempts were made, and ``elapsed_s`` seconds will have passed then. ``begun``: the
    next attempt has its intent. ``ready``: the time has come. ``spoken``: the user has said
    something meanwhile. ``asked``: the wait is the other side's own.
    """

    due_at_ms: int
    number: int
    elapsed_s: float
    error_class: str
    message: str = ""
    asked: bool = False
    doubtful: bool = False
    begun: bool = False
    ready: bool = False
    spoken: bool = False

    @property
    def open(self) -> bool:
        """Whether it still has to be waited."""
        return not (self.begun or self.ready or self.spoken)


class Refused(Struct, frozen=True):
    """The call that was refused for good last, and in which words."""

    call: CallId
    tool: str
    arguments: str
    content: str


class SessionState:
    """What the journal says, folded. Changed by `apply` alone."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.opened: Opened | None = None
        self.conversation = Conversation()
        self.ledger = Ledger()
        self.unwound = Unwound()
        self.counter = 0
        self.next_n = 1
        self.spent = Spent()
        self.status: SessionStatus = "running"
        self.outcome: dict[str, Any] | None = None
        self.corrections: dict[str, tuple[int, int]] = {}
        self.rejected: set[str] = set()
        self.closed: dict[str, CallId] = {}
        self.conclusions: dict[str, int] = {}
        self.concluding = False
        self.refusal: Refused | None = None
        self.finish = "stop"
        self.notes: set[str] = set()
        self.decided: dict[str, Decided] = {}
        self.trail = Trail()
        self.task_counter = 0
        self.restarts = 0
        self.prunes = 0
        self.audits = 0
        self.fallback: FellBack | None = None
        self.progress: str | None = None
        self.waits: dict[CallId, Wait] = {}
        self._changed: set[CallId] = set()

    @property
    def in_doubt(self) -> dict[CallId, CallEntry]:
        """Calls whose effect is unknown, in the order in which they were asked for."""
        return self.ledger.in_doubt

    @property
    def effects(self) -> dict[CallId, Effect]:
        """The writes that took effect, in the order in which that became known."""
        return self.ledger.effects

    def corrections_before(self, tool: str, n: int) -> int:
        """Rounds in a row, before message ``n``, in which the model had to amend a call of a tool."""
        rounds, last = self.corrections.get(tool, (0, 0))
        return rounds - 1 if last == n else rounds

    def apply(self, entry: JournalEntry) -> None:
        """Fold one journal entry in."""
        match entry:
            # Cases are tried in order; what each step brings comes first.
            case Resulted():
                self._resulted(entry)
            case Answered():
                self._count(entry.n)
                self.finish = entry.finish
                self.prunes = 0
                if self.waits:
                    self.waits.pop(MODEL, None)
                self.conversation.answer(entry)
            case Intended():
                self._intended(entry)
            case Late():
                self._late(entry)
            case Decided():
                subject = entry.about.rpartition("#")[0]
                self.decided.pop(subject, None)  # the newest is the last
                self.decided[subject] = entry
            case Ended():
                self.status, self.outcome, self.spent = entry.status, entry.outcome, entry.spent
                self.waits.clear()
                if self.ledger.again:
                    self.ledger.ended()
                self.unwound.ended(completed=entry.status == "completed", next_n=self.next_n)
            case Booked():
                self.spent = entry.spent
            case Opened():
                self.opened = entry
            case Said():
                self._said(entry)
            case Noted():
                self._count(entry.n)
                self.notes.add(entry.about)
                if entry.about.startswith(CONCLUDE):
                    self._concluded(entry.about.removeprefix(CONCLUDE))
                self.conversation.say(NoteMessage(entry.text), entry.n)
            case Progressed():
                self.progress = entry.digest
                self.trail.progress(self.conversation.last_mark)
            case Restarted():
                self._restarted(entry)
            case Pruned():
                self._count(entry.n)
                self.conversation.prune(entry)
                self.prunes += 1
            case FellBack():
                self._count(entry.n)
                self.fallback = entry
            case Parked():
                self.status, self.spent = "parked", entry.spent
            case Woken():
                self._woken(entry)
            case Retried():
                self._retried(entry)
            case Unwinding() | Undoing() | Undone() | Frozen():
                self._unwound(entry)
            case Allowed():
                self.ledger.allowed(entry)
                self.status, self.outcome = "running", None
            case Audited():
                self._count(entry.n)
                self.audits += 1
            case Probed():
                pass  # what followed from it says the rest

    def _count(self, n: int) -> None:
        self.next_n = max(self.next_n, n + 1)

    def _said(self, entry: Said) -> None:
        self._count(entry.n)
        self.conversation.say(UserMessage(entry.text), entry.n)
        for named, wait in self.waits.items():
            # The other side's own wait is kept for the model; a call is given up instead.
            wait.spoken = wait.spoken or named != MODEL or not wait.asked
        if self.status not in UNFINISHED:
            # It had ended, and a person has said to go on: a new trajectory. What was said in the
            # middle of one opens nothing that was refused in it.
            self.rejected.clear()
            self.closed.clear()
            self.conclusions.clear()
        self.status, self.outcome = "running", None
        self.concluding = False
        self.corrections.clear()
        self.restarts, self.prunes, self.fallback = 0, 0, None
        self.audits = 0
        self.task_counter = self.conversation.last_mark
        self.trail = Trail(self.task_counter)

    def _unwound(self, entry: Unwinding | Undoing | Undone | Frozen) -> None:
        self.unwound.apply(entry)
        if isinstance(entry, Unwinding):
            self.status = "running"
        elif isinstance(entry, Undone) and entry.state in LEDGER_STATES:
            effect = self.effects.get((entry.n, entry.index))
            if effect is not None:
                effect.state = LEDGER_STATES[entry.state]

    def _retried(self, entry: Retried) -> None:
        named = MODEL if entry.index < 0 else (entry.n, entry.index)
        if entry.due_at_ms is None or entry.directive != "retry":
            self.waits.pop(named, None)
            return
        self.waits[named] = Wait(
            entry.due_at_ms,
            entry.number,
            entry.elapsed_s + entry.wait_s,
            entry.error_class,
            entry.message,
            entry.retry_after is not None,
            entry.doubtful,
        )

    def _woken(self, entry: Woken) -> None:
        self.status = "running"
        for wait in self.waits.values():
            wait.ready = wait.ready or wait.due_at_ms <= entry.due_at_ms

    def _restarted(self, entry: Restarted) -> None:
        """Go back to a checkpoint; what was done since, and the doubts about it, stay."""
        self._count(entry.n)
        self.conversation.rewind(entry.counter)
        self.conversation.say(NoteMessage(entry.hint), entry.n)
        self.restarts += 1
        self.corrections.clear()
        self.trail = Trail(entry.counter)

    def _intended(self, entry: Intended) -> None:
        self.ledger.intended(entry, self.conversation.asked(entry.n, entry.index))
        wait = self.waits.get((entry.n, entry.index))
        if wait is not None:
            wait.begun = True

    def _resulted(self, entry: Resulted) -> None:
        call = (entry.n, entry.index)
        turn = self.conversation.turn(entry.n)
        if turn is None or not self.conversation.result(entry):
            return
        asked = turn.answered.calls[entry.index]
        self._count_correction(asked.name, entry)
        self.counter = max(self.counter, entry.counter)
        self.spent = entry.spent
        if self.ledger.resulted(entry, asked):
            self._changed.add(call)
        if self.waits:
            self.waits.pop(call, None)
        if not turn.missing:
            self._stepped(turn)
        if entry.error_class in REJECTIONS:
            self._concluded(entry.error_class)
            self.refusal = Refused(call, asked.name, asked.arguments, entry.content)
            self.rejected.add(entry.digest)
            self.closed.update(dict.fromkeys(entry.closes, call))

    def _concluded(self, error_class: str) -> None:
        self.concluding = True
        self.conclusions[error_class] = self.conclusions.get(error_class, 0) + 1

    def _count_correction(self, tool: str, entry: Resulted) -> None:
        """Count rounds in a row in which the model had to amend a call of this tool.

        Several calls of one message are one round: the model has not been told in between. A
        success of the tool ends its series, except for what failed beside it.
        """
        rounds, last = self.corrections.get(tool, (0, 0))
        if entry.error_class in CORRECTED:
            self.corrections[tool] = (rounds + (last != entry.n), entry.n)
        elif entry.state == "succeeded" and rounds:
            if last == entry.n:
                self.corrections[tool] = (1, last)
            else:
                del self.corrections[tool]

    def _stepped(self, turn: Turn) -> None:
        """All calls of a message have their results: one more step on the trail."""
        calls: list[Call] = []
        corrected = False
        for index, (asked, result) in enumerate(
            zip(turn.answered.calls, turn.results, strict=True)
        ):
            assert result is not None  # none is missing
            if result.error_class in CORRECTED:
                corrected = True
            elif result.state in RAN:
                changed = (turn.answered.n, index) in self._changed
                failed = result.state == "failed"
                calls.append(Call(asked.name, asked.arguments, result.content, changed, failed))
        self._changed.clear()
        self.trail.follow(Repeated(tuple(calls), turn.counter, corrected))

    def _late(self, entry: Late) -> None:
        self.ledger.late(entry)
        if entry.by == AGAIN:
            self.waits.pop((entry.n, entry.index), None)
        if entry.by != PERSON:
            return
        # A person has answered: the session goes on with it.
        self.status, self.outcome = "running", None


# ---------------------------------------------------------------- the next step


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


class WaitUntil(Struct, frozen=True):
    """The next attempt of a call, or of the model request, is not due before this time."""

    due_at_ms: int


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


Step = AskModel | RunCall | RunAgain | Unwind | WaitUntil | FallBack | Finish | Rest


def next_step(state: SessionState) -> Step:
    """Return what a session does next, from its stored state alone."""
    if state.status not in UNFINISHED:
        return Rest()
    if state.unwound.running is not None:
        return Unwind(state.unwound.running.outcome)
    if state.ledger.again:
        return _again(state, min(state.ledger.again))
    if state.conversation.open:
        turn = state.conversation.open[0]
        waiting = _waiting(state, turn) if state.waits else None
        if waiting is not None:
            return waiting
        index = turn.results.index(None)
        n = turn.answered.n
        call = turn.answered.calls[index]
        return RunCall(n, index, call, state.ledger.open.get((n, index)), turn.answered.ledger)
    if state.fallback is not None:
        return FallBack(state.fallback.n, state.fallback.agent, state.fallback.why)
    last = state.conversation.last
    if last is None:
        return Rest()
    if isinstance(last, AssistantMessage):
        return Finish(last.text, state.finish)
    wait = state.waits.get(MODEL)
    return WaitUntil(wait.due_at_ms) if wait is not None and wait.open else AskModel()


def _again(state: SessionState, call: CallId) -> RunAgain | WaitUntil:
    """What a person decided comes before what the model is asked next."""
    wait = state.waits.get(call)
    return WaitUntil(wait.due_at_ms) if wait is not None and wait.open else RunAgain(call)


def _waiting(state: SessionState, turn: Turn) -> WaitUntil | None:
    """Calls of one message go on together, once the last of them is due."""
    n = turn.answered.n
    due = [wait.due_at_ms for (at, _), wait in state.waits.items() if at == n and wait.open]
    return WaitUntil(max(due)) if due else None
