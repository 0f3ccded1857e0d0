"""A session's state as a fold over its journal; what it does next is a function of that, see `steps`."""

from typing import Any

from msgspec import Struct

from ..stores.records import (
    Allowed,
    Answered,
    Assessed,
    Audited,
    Booked,
    Decided,
    Ended,
    FellBack,
    Frozen,
    Intended,
    JournalEntry,
    Judged,
    Late,
    Noted,
    Opened,
    Parked,
    Probed,
    Progressed,
    Pruned,
    Requested,
    Restarted,
    Resulted,
    Retried,
    RolledBack,
    RollingBack,
    Said,
    SessionStatus,
    Spent,
    StagedCheck,
    StagedResult,
    Undoing,
    Undone,
    UndoStep,
    Unwinding,
    Woken,
)
from ..supervisor.errors import ErrorClass
from ..supervisor.likeness import Call
from ..supervisor.likeness import Step as Repeated
from ..supervisor.repetition import Trail
from .approvals.approvals import Approvals
from .conversation import Conversation, Turn
from .ledger import AGAIN, PERSON, CallEntry, CallId, Effect, Ledger
from .model import NoteMessage, UserMessage
from .nothing import NO_NAMES
from .staging.staged import StagedCalls
from .undo.unwound import LEDGER_STATES, Unwound

CORRECTED = frozenset({ErrorClass.INVALID_ARGUMENT.value, ErrorClass.CONTEXT_OVERFLOW.value})
"""Classes of a tool's failures that the model amends its call for: what is wrong, or too much."""

UNFINISHED = frozenset({"running", "parked"})

RAN = frozenset({"succeeded", "failed"})
"""How calls end whose body ran, and of whose result there is no doubt."""
POLICY = "policy"
"""Who rolls back where nobody asked for it."""

CONCLUDE = "conclude:"
"""Begins what a note is about where the model's own request was refused; its class follows."""

DENIED = "denied"
"""Stands for a class of errors in the result of a call that a rule or a person denied."""

REJECTIONS = frozenset(
    {ErrorClass.BUSINESS_REJECTED.value, ErrorClass.CONTENT_REFUSED.value, DENIED}
)


MODEL: CallId = (0, -1)
"""Stands for the model's request among the waits."""


Turning = (
    Opened
    | Decided
    | Ended
    | Progressed
    | Restarted
    | Pruned
    | FellBack
    | Parked
    | Woken
    | Unwinding
    | Undoing
    | Undone
    | Frozen
    | RollingBack
    | RolledBack
    | Allowed
    | Audited
    | Assessed
)
"""Entries that change the course of a session."""


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
    """The call that was refused for good last, and in which words.

    ``asked``: a person denied it, or nobody allowed it in time.
    """

    call: CallId
    tool: str
    arguments: str
    content: str
    asked: bool = False


class Earlier(Struct, frozen=True):
    """What a rollback of the conversation replaced, should it be taken back."""

    conversation: Conversation
    status: SessionStatus
    outcome: dict[str, Any] | None


class Rolled(Struct, frozen=True):
    """The last rollback that was done, as long as it can be taken back."""

    began: RollingBack
    ended: RolledBack
    earlier: Earlier | None = None


class SessionState:
    """What the journal says, folded. Changed by `apply` alone."""

    __slots__ = (
        "_changed",
        "approvals",
        "assessed",
        "audits",
        "closed",
        "concluding",
        "conclusions",
        "conversation",
        "corrections",
        "counter",
        "decided",
        "fallback",
        "finish",
        "ledger",
        "next_n",
        "notes",
        "opened",
        "outcome",
        "progress",
        "prunes",
        "refusal",
        "rejected",
        "restarts",
        "rolled",
        "rolling",
        "session_id",
        "spent",
        "spoken",
        "staging",
        "status",
        "stops",
        "surplus",
        "task_counter",
        "trail",
        "trouble",
        "unwound",
        "waits",
    )

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.opened: Opened | None = None
        self.conversation = Conversation()
        self.ledger = Ledger()
        self.unwound = Unwound()
        self.approvals = Approvals()
        self.staging = StagedCalls()
        self.stops = False
        self.surplus = False
        """It holds what need not be kept once the session has ended; see `retention`."""
        self.trouble: dict[str, Any] | None = None
        self.counter = 0
        self.next_n = 1
        self.spent = Spent()
        self.status: SessionStatus = "running"
        self.outcome: dict[str, Any] | None = None
        self.corrections: dict[str, tuple[int, int]] = {}
        self.rejected = NO_NAMES
        self.closed: dict[str, CallId] = {}
        self.conclusions: dict[str, int] = {}
        self.concluding = False
        self.refusal: Refused | None = None
        self.finish = "stop"
        self.notes = NO_NAMES
        self.decided: dict[str, Decided] = {}
        self.trail = Trail()
        self.task_counter = 0
        self.restarts = 0
        self.prunes = 0
        self.audits = 0
        self.assessed: Assessed | None = None
        self.fallback: FellBack | None = None
        self.progress: str | None = None
        self.waits: dict[CallId, Wait] = {}
        self.rolling: RollingBack | None = None
        self.rolled: Rolled | None = None
        self.spoken: list[tuple[int, str]] = []
        self._changed: dict[CallId, None] = {}

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
                self._answered(entry)
            case Intended():
                self._intended(entry)
            case Booked():
                self.spent = entry.spent
            case Said():
                self._said(entry)
            case Noted():
                self._noted(entry)
            case Late():
                self._late(entry)
            case Retried():
                self._retried(entry)
            case Requested():
                self.approvals.requested(entry)
            case Judged():
                self.approvals.judged(entry)
            case StagedResult() | StagedCheck():
                self.staging.apply(entry)
            case Probed():
                self.surplus = True  # what followed from it says the rest
            case _:
                self._turned(entry)

    def _turned(self, entry: Turning) -> None:
        """Fold in what changes the course of a session, or a person's word about it."""
        match entry:
            case Opened():
                self.opened = entry
            case Decided():
                self._decided(entry)
            case Ended():
                self._ended(entry)
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
                self.fallback, self.trouble = entry, None
            case Parked():
                self.status, self.spent = "parked", entry.spent
            case Woken():
                self._woken(entry)
            case Unwinding() | Undoing() | Undone() | Frozen():
                self._unwound(entry)
            case RollingBack():
                self._count(entry.n)
                self.rolling = entry
            case RolledBack():
                self._rolled_back(entry)
            case Allowed():
                self.ledger.allowed(entry)
                self.status, self.outcome, self.trouble = "running", None, None
            case Audited():
                self._count(entry.n)
                self.audits += 1
            case Assessed():
                self._count(entry.n)
                self.assessed = entry

    def _answered(self, entry: Answered) -> None:
        if entry.n >= self.next_n:
            self.next_n = entry.n + 1
        self.trouble = None
        self.finish = entry.finish
        self.prunes = 0
        if self.rolled is not None:
            self._gone_on()
        if self.waits:
            self.waits.pop(MODEL, None)
        self.conversation.answer(entry)

    def _noted(self, entry: Noted) -> None:
        self._count(entry.n)
        self.notes |= {entry.about}
        if entry.about.startswith(CONCLUDE):
            self._concluded(entry.about.removeprefix(CONCLUDE))
        self.conversation.say(NoteMessage(entry.text), entry.n)

    def _decided(self, entry: Decided) -> None:
        subject = entry.about.rpartition("#")[0]
        self.decided.pop(subject, None)  # the newest is the last
        self.decided[subject] = entry

    def _ended(self, entry: Ended) -> None:
        self.status, self.outcome, self.spent = entry.status, entry.outcome, entry.spent
        self.trouble = None
        self.waits.clear()
        if self.ledger.again:
            self.ledger.ended()
        self.unwound.ended(completed=entry.status == "completed", next_n=self.next_n)

    def _count(self, n: int) -> None:
        if n >= self.next_n:
            self.next_n = n + 1

    def _said(self, entry: Said) -> None:
        self._count(entry.n)
        self.conversation.say(UserMessage(entry.text), entry.n)
        if self.rolling is not None:
            self.spoken.append((entry.n, entry.text))
        self._gone_on()
        for named, wait in self.waits.items():
            # The other side's own wait is kept for the model; a call is given up instead.
            wait.spoken = wait.spoken or named != MODEL or not wait.asked
        if self.status not in UNFINISHED:
            # It had ended, and a person has said to go on: a new trajectory. What was said in the
            # middle of one opens nothing that was refused in it.
            self.rejected = NO_NAMES
            self.closed.clear()
            self.conclusions.clear()
        self.status, self.outcome = "running", None
        self.concluding = self.stops = False
        self.trouble = None
        self.corrections.clear()
        self.restarts, self.prunes, self.fallback = 0, 0, None
        self.audits = 0
        self.assessed = None
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
        self.surplus = True
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

    # ------------------------------------------------------------ rolling back

    def _gone_on(self) -> None:
        """The conversation goes on from where a rollback left it, so there is no way back to before."""
        if self.rolled is not None and self.rolled.earlier is not None:
            self.rolled = None

    def _rolled_back(self, entry: RolledBack) -> None:
        began, self.rolling = self.rolling, None
        spoken, self.spoken = self.spoken, []
        if entry.note_n:
            self._count(entry.note_n)
        if began is None:
            return  # a history from elsewhere: it ends what never began
        if entry.state != "done" and began.by == POLICY:
            self.restarts += 1  # what did not help once is not tried for ever
        if entry.state == "done":
            self._done_back(began, entry, spoken)
        if entry.outcome is not None and not spoken:
            self.outcome = entry.outcome
            self.status = entry.outcome["outcome"]
            self.waits.clear()
            self.ledger.ended()

    def _done_back(
        self, began: RollingBack, entry: RolledBack, spoken: list[tuple[int, str]]
    ) -> None:
        earlier: Earlier | None = None
        undone = self.rolled if began.undoes else None
        if undone is not None:
            self._taken_back(undone)
        elif began.mode in ("full", "context"):
            earlier = Earlier(self.conversation.copy(), self.status, self.outcome)
            self._went_back(began, entry.counter, spoken)
        self._files_back(entry)
        if entry.note:
            self.conversation.say(NoteMessage(entry.note), entry.note_n)
        self.rolled = (
            None if began.undoes or began.mode == "prune" else Rolled(began, entry, earlier)
        )

    def _went_back(self, began: RollingBack, counter: int, spoken: list[tuple[int, str]]) -> None:
        by_policy = began.by == POLICY
        self.conversation.rewind(counter, keep_said=by_policy)
        self._fresh_trail(counter)
        if by_policy:
            self.restarts += 1
            return
        for n, text in spoken:
            self.conversation.say(UserMessage(text), n)

    def _taken_back(self, undone: Rolled) -> None:
        """A rollback is taken back: what it had replaced is there again."""
        calls = undone.ended.undone
        self.unwound.came_again(calls)
        for call in calls:
            if call in self.effects:
                self.effects[call].state = "succeeded"
        if undone.earlier is not None:
            self.conversation = undone.earlier.conversation
            self.status, self.outcome = undone.earlier.status, undone.earlier.outcome
            self._fresh_trail(self.conversation.last_mark)

    def _files_back(self, entry: RolledBack) -> None:
        known = {call: self.effects[call] for call in entry.undone if call in self.effects}
        self.unwound.went_back(
            UndoStep(*call, effect.tool, "rollback") for call, effect in known.items()
        )
        for effect in known.values():
            effect.state = "rolled_back"

    def _fresh_trail(self, counter: int) -> None:
        self.corrections.clear()
        self.waits.clear()
        self.trail = Trail(counter)
        self.prunes, self.fallback, self.concluding, self.trouble = 0, None, False, None
        self.task_counter = min(self.task_counter, counter)

    def _restarted(self, entry: Restarted) -> None:
        """Go back to a checkpoint; what was done since, and the doubts about it, stay."""
        self._count(entry.n)
        self.conversation.rewind(entry.counter)
        self.conversation.say(NoteMessage(entry.hint), entry.n)
        self.restarts += 1
        self.trouble = None
        self.corrections.clear()
        self.trail = Trail(entry.counter)

    def _intended(self, entry: Intended) -> None:
        call = (entry.n, entry.index)
        asked = self.conversation.asked(*call)
        if asked is not None and call in self.approvals.calls:
            changed = self.approvals.effective(call, asked)
            self.ledger.intended(entry, changed)
            self.ledger.open[call].edited |= changed is not asked
            self.approvals.intended(call)
        else:
            self.ledger.intended(entry, asked)
        wait = self.waits.get((entry.n, entry.index))
        if wait is not None:
            wait.begun = True

    def _resulted(self, entry: Resulted) -> None:
        call = (entry.n, entry.index)
        turn = self.conversation.result(entry)
        if turn is None:
            return
        asked = turn.answered.calls[entry.index]
        if self.corrections or entry.error_class is not None:
            self._count_correction(asked.name, entry)
        if entry.blob is not None or entry.state != "succeeded":
            self.surplus = True
        self.counter = max(self.counter, entry.counter)
        self.spent = entry.spent
        took_effect = self.ledger.resulted(entry, asked)
        if entry.windows:
            # What it did to the files is known: that is the state it changed, whatever it says.
            took_effect = any(each.before != each.after for each in entry.windows)
        if took_effect:
            self._changed[call] = None
        if entry.trouble is not None and self.trouble is None:
            self.trouble = entry.trouble
        if self.waits:
            self.waits.pop(call, None)
        if self.staging.open:
            self.staging.ended(call)
        if self.approvals.calls:
            asked = self.approvals.effective(call, asked)
            self.approvals.resulted(call)
        if not turn.missing:
            self._stepped(turn)
        if entry.error_class in REJECTIONS:
            self.stops = self.stops or entry.stops
            if not self.concluding or entry.state != "refused":
                # What is refused since it was closed before follows from that, and is not the cause.
                by_person = entry.error_class == DENIED and entry.by != POLICY
                self.refusal = Refused(call, asked.name, asked.arguments, entry.content, by_person)
            self._concluded(entry.error_class)
            self.rejected |= {entry.digest}
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
        n, changes = turn.answered.n, self._changed
        for asked, result in zip(turn.answered.calls, turn.results, strict=True):
            assert result is not None  # none is missing
            state = result.state
            if result.error_class in CORRECTED:
                corrected = True
            elif state in RAN:
                changed = bool(changes) and (n, result.index) in changes
                failed = state == "failed"
                calls.append(Call(asked.name, asked.arguments, result.content, changed, failed))
        if changes:
            changes.clear()
        self.trail.follow(Repeated(tuple(calls), turn.counter, corrected))

    def _late(self, entry: Late) -> None:
        self.surplus = True
        self.ledger.late(entry)
        if entry.by == AGAIN:
            self.waits.pop((entry.n, entry.index), None)
            self.staging.ended((entry.n, entry.index))
        if entry.trouble is not None and self.trouble is None:
            self.trouble = entry.trouble
        if entry.by != PERSON:
            return
        # A person has answered: the session goes on with it.
        self.status, self.outcome, self.trouble = "running", None, None
