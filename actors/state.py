"""A session's state as a fold over its journal, and the next step as a function of it.

The conversation is the program counter: going on after a crash, a restart of the actor or a week
of waiting is the same code as going on.
"""

from typing import Any

from msgspec import Struct

from ..stores.records import (
    Answered,
    Booked,
    Ended,
    Intended,
    JournalEntry,
    Late,
    Noted,
    Opened,
    Resulted,
    Retried,
    Said,
    SessionStatus,
    Spent,
    ToolCall,
)
from ..supervisor.errors import ErrorClass
from .conversation import Conversation
from .model import AssistantMessage, NoteMessage, UserMessage

CallId = tuple[int, int]
"""A call's identity in its session: number of the assistant message, index in it."""

INVALID_ARGUMENT = ErrorClass.INVALID_ARGUMENT.value
CONCLUDE = "conclude:"
"""Begins what a note is about where the model's own request was refused; its class follows."""

PERSON = "person"
"""Who answered a doubt, where somebody looked."""

REJECTIONS = frozenset({ErrorClass.BUSINESS_REJECTED.value, ErrorClass.CONTENT_REFUSED.value})


class CallEntry(Struct):
    """The ledger's entry of one call that is not settled: its intent, and the doubt about it."""

    tool: str
    digest: str
    key: str | None
    attempts: int
    arguments: str = "{}"
    in_doubt: bool = False
    still_running: bool = False


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
        self.ledger: dict[CallId, CallEntry] = {}
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

    @property
    def in_doubt(self) -> dict[CallId, CallEntry]:
        """Calls whose effect is unknown."""
        return {call: entry for call, entry in self.ledger.items() if entry.in_doubt}

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
                self.conversation.answer(entry)
            case Intended():
                self._intended(entry)
            case Late():
                self._late(entry)
            case Ended():
                self.status, self.outcome, self.spent = entry.status, entry.outcome, entry.spent
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
            case Retried():
                pass  # a record for people; the attempt count is in the intent and the result

    def _count(self, n: int) -> None:
        self.next_n = max(self.next_n, n + 1)

    def _said(self, entry: Said) -> None:
        self._count(entry.n)
        self.conversation.say(UserMessage(entry.text), entry.n)
        if self.status != "running":
            # It had ended, and a person has said to go on: a new trajectory. What was said in the
            # middle of one opens nothing that was refused in it.
            self.rejected.clear()
            self.closed.clear()
            self.conclusions.clear()
        self.status, self.outcome = "running", None
        self.concluding = False
        self.corrections.clear()

    def _intended(self, entry: Intended) -> None:
        asked = self.conversation.asked(entry.n, entry.index)
        self.ledger[entry.n, entry.index] = CallEntry(
            entry.tool,
            entry.digest,
            entry.key,
            entry.attempt,
            asked.arguments if asked else "{}",
        )

    def _resulted(self, entry: Resulted) -> None:
        call = (entry.n, entry.index)
        asked = self.conversation.asked(entry.n, entry.index)
        if asked is None or not self.conversation.result(entry):
            return
        self._count_correction(asked.name, entry)
        self.counter = max(self.counter, entry.counter)
        self.spent = entry.spent
        self._ledger_result(call, asked, entry)
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
        if entry.error_class == INVALID_ARGUMENT:
            self.corrections[tool] = (rounds + (last != entry.n), entry.n)
        elif entry.state == "succeeded" and rounds:
            if last == entry.n:
                self.corrections[tool] = (1, last)
            else:
                del self.corrections[tool]

    def _ledger_result(self, call: CallId, asked: ToolCall, entry: Resulted) -> None:
        if entry.state != "in_doubt":
            self.ledger.pop(call, None)
            return
        known = self.ledger.get(call)
        if known is None:
            # A doubt without an intent: a history from elsewhere.
            known = CallEntry(asked.name, entry.digest, None, entry.attempts, asked.arguments)
            self.ledger[call] = known
        known.in_doubt = True
        known.still_running = entry.still_running

    def _late(self, entry: Late) -> None:
        call = (entry.n, entry.index)
        if entry.state == "in_doubt":
            return
        known = self.ledger.pop(call, None)
        if entry.by != PERSON:
            return
        if entry.state == "denied" and known is not None:
            self.rejected.add(known.digest)
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


class Finish(Struct, frozen=True):
    """The model has answered; ``finish`` is how its message ended."""

    text: str
    finish: str


class Rest(Struct, frozen=True):
    """Nothing to do until somebody says something."""


Step = AskModel | RunCall | Finish | Rest


def next_step(state: SessionState) -> Step:
    """Return what a session does next, from its stored state alone."""
    if state.status != "running":
        return Rest()
    if state.conversation.open:
        turn = state.conversation.open[0]
        index = turn.results.index(None)
        n = turn.answered.n
        call = turn.answered.calls[index]
        return RunCall(n, index, call, state.ledger.get((n, index)), turn.answered.ledger)
    last = state.conversation.last
    if last is None:
        return Rest()
    if isinstance(last, AssistantMessage):
        return Finish(last.text, state.finish)
    return AskModel()
