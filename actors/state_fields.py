"""A session's state: its fields, and the small changes that several entries bring."""

from typing import Any

from ..stores.records import Assessed, Decided, FellBack, Opened, RollingBack, SessionStatus
from ..supervisor.repetition import Trail
from .approvals.approvals import Approvals
from .budget import NOTHING
from .conversation import Conversation
from .ledger import CallEntry, CallId, Effect, Ledger
from .nothing import NO_DICT, NO_LIST, NO_NAMES, own
from .staging.staged import StagedCalls
from .state_parts import UNFINISHED, Refused, Rolled, Wait
from .undo.unwound import Unwound


class StateFields:
    """What the journal says, folded; changed by the functions that fold an entry in."""

    __slots__ = (
        "approvals",
        "aside",
        "assessed",
        "audits",
        "changed",
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
        self.aside = True
        """Something may come before the conversation goes on; see `look_aside`."""
        self.surplus = False
        """It holds what need not be kept once the session has ended; see `retention`."""
        self.trouble: dict[str, Any] | None = None
        self.counter = 0
        self.next_n = 1
        self.spent = NOTHING
        self.status: SessionStatus = "running"
        self.outcome: dict[str, Any] | None = None
        self.corrections: dict[str, tuple[int, int]] = NO_DICT
        self.rejected = NO_NAMES
        self.closed: dict[str, CallId] = NO_DICT
        self.conclusions: dict[str, int] = NO_DICT
        self.concluding = False
        self.refusal: Refused | None = None
        self.finish = "stop"
        self.notes = NO_NAMES
        self.decided: dict[str, Decided] = NO_DICT
        self.trail = Trail()
        self.task_counter = 0
        self.restarts = 0
        self.prunes = 0
        self.audits = 0
        self.assessed: Assessed | None = None
        self.fallback: FellBack | None = None
        self.progress: str | None = None
        self.waits: dict[CallId, Wait] = NO_DICT
        self.rolling: RollingBack | None = None
        self.rolled: Rolled | None = None
        self.spoken: list[tuple[int, str]] = NO_LIST
        self.changed: dict[CallId, None] = NO_DICT
        """Calls of the open message that changed what is outside."""

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

    def look_aside(self) -> None:
        """Look whether anything comes before the conversation goes on: asked of what turns its course.

        Of what each step brings only a result can bring such a thing.
        """
        self.aside = bool(
            self.rolling
            or self.status not in UNFINISHED
            or self.unwound.running
            or self.trouble is not None
            or self.ledger.again
            or self.stops
            or self.fallback
        )

    def count(self, n: int) -> None:
        """A message of this number is there: the next has a higher one."""
        if n >= self.next_n:
            self.next_n = n + 1

    def gone_on(self) -> None:
        """The conversation goes on from where a rollback left it, so there is no way back to before."""
        if self.rolled is not None and self.rolled.earlier is not None:
            self.rolled = None

    def concluded(self, error_class: str) -> None:
        """Something was refused for good: the model is to report that."""
        self.concluding = True
        self.conclusions = own(self.conclusions)
        self.conclusions[error_class] = self.conclusions.get(error_class, 0) + 1
