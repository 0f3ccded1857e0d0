"""What a session tells while it runs: frozen structs with stable names.

Names are dotted and in the past tense. Events are for looking on: what must not be lost is in the
journal, and a subscriber that is too slow loses events, is told how many, and slows nobody down.
"""

from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Struct

from ..stores.records import CallState, Decided, Judged, Requested, UndoState
from .approvals.approvals import request_name
from .outcome import Completed, HandedOver, Outcome, Stopped


class _Event(Struct, frozen=True, tag_field="event", kw_only=True, omit_defaults=True, gc=False):
    """Base: which session, and when on the wall clock (for people; order is the order given)."""

    session_id: str
    at_ms: int = 0

    level: ClassVar[str] = "debug"

    @property
    def event(self) -> str:
        """The stable name."""
        return str(self.__struct_config__.tag)


class SessionStarted(_Event, frozen=True, tag="session.started"):
    """A new session is stored."""

    agent: str
    level = "info"


class SessionResumed(_Event, frozen=True, tag="session.resumed"):
    """A session goes on from its last checkpoint, in this process or another."""

    counter: int
    level = "info"


class SessionRestarted(_Event, frozen=True, tag="session.restarted"):
    """The session's own actor died and was started again."""

    reason: str
    level = "warning"


class MessageReceived(_Event, frozen=True, tag="message.received"):
    """A message of the user is stored."""

    n: int
    text: str


class ModelAsked(_Event, frozen=True, tag="model.asked"):
    """A request went to the model."""

    attempt: int


class ModelPiece(_Event, frozen=True, tag="model.piece"):
    """A piece of an answer as it streams in; only sent where somebody subscribes."""

    text: str


class ModelSuperseded(_Event, frozen=True, tag="model.superseded"):
    """The attempt broke off: its pieces are void, the next attempt begins from the start."""

    attempt: int


class ModelAnswered(_Event, frozen=True, tag="model.answered"):
    """The model's whole answer."""

    n: int
    text: str
    calls: tuple[str, ...] = ()


class CallStarted(_Event, frozen=True, tag="call.started"):
    """A tool's body is about to run."""

    n: int
    index: int
    tool: str
    attempt: int = 1


class CallFinished(_Event, frozen=True, tag="call.finished"):
    """A call has its result."""

    n: int
    index: int
    tool: str
    state: CallState
    error_class: str | None = None
    elapsed_s: float = 0.0


class CallStuck(_Event, frozen=True, tag="call.stuck"):
    """A body did not end when it was cancelled; the session goes on without it."""

    tool: str
    level = "error"


class CallProbed(_Event, frozen=True, tag="call.probed"):
    """A tool's probe was asked whether a call took effect."""

    n: int
    index: int
    tool: str
    answer: Literal["done", "not_done", "unclear"]


StagingVerdict = Literal["committed", "rejected", "conflict", "discarded"]
"""What became of a staged change: a check rejected it, others changed the same files, or it was given up."""


class ChangeDecided(_Event, frozen=True, tag="change.decided"):
    """What a staged call would change was committed, or was not; ``why`` it was not.

    ``paths`` are the first of those it changed; empty for a tool with a ``commit`` function.
    """

    n: int
    index: int
    tool: str
    verdict: StagingVerdict
    why: str = ""
    paths: tuple[str, ...] = ()


class CallLate(_Event, frozen=True, tag="call.late"):
    """How a call in doubt ended after all."""

    n: int
    index: int
    tool: str
    state: CallState
    level = "warning"


class DecisionTaken(_Event, frozen=True, tag="decision.taken"):
    """A person's decision has reached the session; ``problem`` says why it changed nothing.

    ``about`` names the question, ``by`` who decided, ``decided_at_ms`` when, ``what`` the option.
    """

    about: str
    what: str
    by: str
    decided_at_ms: int
    problem: str = ""
    level = "info"


class ApprovalRequested(_Event, frozen=True, tag="approval.requested"):
    """A person is asked whether a call may run; it is stored, and waits."""

    request: str
    n: int
    index: int
    tool: str
    arguments: str
    category: str
    risk: str
    expires_at_ms: int | None
    level = "warning"


class ApprovalDecided(_Event, frozen=True, tag="approval.decided"):
    """A person has decided about a call; ``edited``: it may run with other arguments only."""

    request: str
    n: int
    index: int
    verdict: Literal["approved", "denied"]
    by: str = ""
    edited: bool = False
    decided_at_ms: int = 0
    level = "info"


class ApprovalExpired(_Event, frozen=True, tag="approval.expired"):
    """Nobody decided about a call in time: it counts as denied."""

    request: str
    n: int
    index: int
    level = "warning"


class CheckpointStored(_Event, frozen=True, tag="checkpoint.stored"):
    """The checkpoint of this counter is durable."""

    counter: int


class RetryScheduled(_Event, frozen=True, tag="retry.scheduled"):
    """An attempt failed, and another follows after ``wait_s`` seconds."""

    subject: str
    number: int
    error_class: str
    wait_s: float
    elapsed_s: float
    level = "warning"


class ConversationPruned(_Event, frozen=True, tag="conversation.pruned"):
    """The model sees less from here on; the originals stay in the journal.

    ``why``: ``overflow``, ``limit`` or ``person``; ``by``: ``digest`` or ``model``. Sizes are of what
    the model sees, before and now.
    """

    why: str
    by: str
    messages_before: int
    messages: int
    chars_before: int
    chars: int
    level = "warning"


class TrajectoryRestarted(_Event, frozen=True, tag="trajectory.restarted"):
    """The agent made no progress and begins again from this checkpoint, with a hint."""

    counter: int
    why: str
    level = "warning"


class TrajectoryFellBack(_Event, frozen=True, tag="trajectory.fell_back"):
    """The agent made no progress; its fallback has the task now."""

    agent: str
    why: str
    level = "warning"


class SessionParked(_Event, frozen=True, tag="session.parked"):
    """The session waits in the store alone, until this time on the wall clock.

    None: for a person, however long that takes.
    """

    due_at_ms: int | None
    level = "info"


class SessionWoken(_Event, frozen=True, tag="session.woken"):
    """A parked session goes on: ``by`` says why (due, message, decision, cancel, resume, tell)."""

    by: str
    level = "info"


class SessionUnwinding(_Event, frozen=True, tag="session.unwinding"):
    """The session is about to end, and so many of its effects are undone before that."""

    effects: int
    level = "warning"


class SessionRolledBack(_Event, frozen=True, tag="session.rolled_back"):
    """The session was rolled back, or could not be: so many paths were put back, or were left."""

    mode: str
    counter: int
    state: str
    paths: int
    left: int
    level = "warning"


class SessionFrozen(_Event, frozen=True, tag="session.frozen"):
    """The session ends and none of its effects is undone: a person decides."""

    why: str
    effects: int
    level = "warning"


class CompensationStarted(_Event, frozen=True, tag="compensation.started"):
    """The compensation of a call is about to run."""

    n: int
    index: int
    tool: str
    attempt: int = 1


class CompensationFinished(_Event, frozen=True, tag="compensation.finished"):
    """How the compensation of a call ended."""

    n: int
    index: int
    tool: str
    state: UndoState
    attempts: int = 0
    error_class: str | None = None
    level = "warning"


class UpstreamHeld(_Event, frozen=True, tag="upstream.held"):
    """A call or request waits ``wait_s`` seconds before it may go out: its upstream is spared."""

    subject: str
    upstream: str
    wait_s: float


class BreakerOpened(_Event, frozen=True, tag="breaker.opened"):
    """An upstream failed too often: calls to it are held back, those of all sessions."""

    upstream: str
    level = "warning"


class BreakerHalfOpen(_Event, frozen=True, tag="breaker.half_open"):
    """One call tries whether the upstream answers again."""

    upstream: str
    level = "info"


class BreakerClosed(_Event, frozen=True, tag="breaker.closed"):
    """The upstream answers again: calls go through."""

    upstream: str
    level = "info"


class AuditMismatch(_Event, frozen=True, tag="audit.mismatch"):
    """An answer claims what was not done; ``corrected``: the model has been told, once."""

    findings: tuple[str, ...]
    corrected: bool
    level = "error"


class AuditAssessed(_Event, frozen=True, tag="audit.assessed"):
    """A judge was asked about claims that nothing supports; ``problem``: why it gave no verdicts."""

    verdicts: tuple[str, ...]
    problem: str = ""


class BudgetSoft(_Event, frozen=True, tag="budget.soft"):
    """The soft share of a limit is used up; the model has been told."""

    limit: str
    account: str
    used: float
    cap: float
    level = "info"


class AlertRaised(_Event, frozen=True, tag="alert.raised"):
    """Somebody should look. ``name`` is given to a hook: the same where it is told again."""

    text: str
    name: str = ""
    level = "error"


class SessionCompleted(_Event, frozen=True, tag="session.completed"):
    """The agent answered; the last event of a stream."""

    outcome: Completed
    level = "info"


class SessionHandedOver(_Event, frozen=True, tag="session.handed_over"):
    """A person is needed; the last event of a stream."""

    outcome: HandedOver
    level = "warning"


class SessionStopped(_Event, frozen=True, tag="session.stopped"):
    """Cancelled or denied; the last event of a stream."""

    outcome: Stopped
    level = "info"


SessionEnded = SessionCompleted | SessionHandedOver | SessionStopped
ENDS = (SessionCompleted, SessionHandedOver, SessionStopped)


class EventsDropped(_Event, frozen=True, tag="events.dropped"):
    """This subscriber was too slow and lost this many events."""

    count: int
    level = "warning"


Event = (
    SessionStarted
    | SessionResumed
    | SessionRestarted
    | MessageReceived
    | ModelAsked
    | ModelPiece
    | ModelSuperseded
    | ModelAnswered
    | CallStarted
    | CallFinished
    | CallStuck
    | CallLate
    | CallProbed
    | ChangeDecided
    | DecisionTaken
    | ApprovalRequested
    | ApprovalDecided
    | ApprovalExpired
    | CheckpointStored
    | RetryScheduled
    | ConversationPruned
    | TrajectoryRestarted
    | TrajectoryFellBack
    | SessionParked
    | SessionWoken
    | SessionUnwinding
    | SessionRolledBack
    | SessionFrozen
    | CompensationStarted
    | CompensationFinished
    | UpstreamHeld
    | BreakerOpened
    | BreakerHalfOpen
    | BreakerClosed
    | AuditAssessed
    | AuditMismatch
    | BudgetSoft
    | AlertRaised
    | SessionCompleted
    | SessionHandedOver
    | SessionStopped
    | EventsDropped
)


def decision_taken(session_id: str, at_ms: int, entry: Decided) -> DecisionTaken:
    """Return the event that says that a decision has reached its session."""
    return DecisionTaken(
        session_id=session_id,
        at_ms=at_ms,
        about=entry.about,
        what="" if entry.decision is None else entry.decision.option,
        by=entry.by,
        decided_at_ms=entry.at_ms,
        problem=entry.problem,
    )


def approval_asked(session_id: str, at_ms: int, entry: Requested) -> ApprovalRequested:
    """Return the event that says that a person is asked."""
    return ApprovalRequested(
        session_id=session_id,
        at_ms=at_ms,
        request=request_name(session_id, (entry.n, entry.index), entry.number),
        n=entry.n,
        index=entry.index,
        tool=entry.tool,
        arguments=entry.arguments,
        category=entry.category,
        risk=entry.risk,
        expires_at_ms=entry.expires_at_ms,
    )


def approval_closed(
    session_id: str, at_ms: int, entry: Judged
) -> ApprovalDecided | ApprovalExpired:
    """Return the event that says how a request for approval was closed."""
    n, index = entry.n, entry.index
    request = request_name(session_id, (n, index), entry.number)
    if entry.verdict == "expired":
        return ApprovalExpired(
            session_id=session_id, at_ms=at_ms, request=request, n=n, index=index
        )
    return ApprovalDecided(
        session_id=session_id,
        at_ms=at_ms,
        request=request,
        n=n,
        index=index,
        verdict=entry.verdict,
        by=entry.by,
        edited=entry.arguments is not None,
        decided_at_ms=entry.at_ms,
    )


def ended(session_id: str, at_ms: int, outcome: Outcome) -> SessionEnded:
    """Return the event that says how a session ended."""
    match outcome:
        case Completed():
            return SessionCompleted(session_id=session_id, at_ms=at_ms, outcome=outcome)
        case HandedOver():
            return SessionHandedOver(session_id=session_id, at_ms=at_ms, outcome=outcome)
        case Stopped():
            return SessionStopped(session_id=session_id, at_ms=at_ms, outcome=outcome)


def event_to_data(event: Event) -> dict[str, Any]:
    """Return an event as plain data, its name under ``event``."""
    data: dict[str, Any] = msgspec.to_builtins(event)
    return data
