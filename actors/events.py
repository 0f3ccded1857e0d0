"""What a session tells while it runs: frozen structs with stable names.

Names are dotted and in the past tense. Events are for looking on: what must not be lost is in the
journal, and a subscriber that is too slow loses events, is told how many, and slows nobody down.
"""

from typing import Any, Literal

import msgspec

from ..stores.records import CallState
from .end_events import (
    CompensationFinished,
    CompensationStarted,
    SessionCompleted,
    SessionFrozen,
    SessionHandedOver,
    SessionStopped,
    SessionUnwinding,
)
from .event_base import BaseEvent
from .people_events import ApprovalDecided, ApprovalExpired, ApprovalRequested, DecisionTaken
from .upstream_events import BreakerClosed, BreakerHalfOpen, BreakerOpened, UpstreamHeld


class SessionStarted(BaseEvent, frozen=True, tag="session.started"):
    """A new session is stored."""

    agent: str
    level = "info"


class SessionResumed(BaseEvent, frozen=True, tag="session.resumed"):
    """A session goes on from its last checkpoint, in this process or another."""

    counter: int
    level = "info"


class SessionRestarted(BaseEvent, frozen=True, tag="session.restarted"):
    """The session's own actor died and was started again."""

    reason: str
    level = "warning"


class MessageReceived(BaseEvent, frozen=True, tag="message.received"):
    """A message of the user is stored."""

    n: int
    text: str


class ModelAsked(BaseEvent, frozen=True, tag="model.asked"):
    """A request went to the model."""

    attempt: int


class ModelPiece(BaseEvent, frozen=True, tag="model.piece"):
    """A piece of an answer as it streams in; only sent where somebody subscribes."""

    text: str


class ModelSuperseded(BaseEvent, frozen=True, tag="model.superseded"):
    """The attempt broke off: its pieces are void, the next attempt begins from the start."""

    attempt: int


class ModelAnswered(BaseEvent, frozen=True, tag="model.answered"):
    """The model's whole answer."""

    n: int
    text: str
    calls: tuple[str, ...] = ()


class CallStarted(BaseEvent, frozen=True, tag="call.started"):
    """A tool's body is about to run."""

    n: int
    index: int
    tool: str
    attempt: int = 1


class CallFinished(BaseEvent, frozen=True, tag="call.finished"):
    """A call has its result."""

    n: int
    index: int
    tool: str
    state: CallState
    error_class: str | None = None
    elapsed_s: float = 0.0


class CallStuck(BaseEvent, frozen=True, tag="call.stuck"):
    """A body did not end when it was cancelled; the session goes on without it."""

    tool: str
    level = "error"


class CallProbed(BaseEvent, frozen=True, tag="call.probed"):
    """A tool's probe was asked whether a call took effect."""

    n: int
    index: int
    tool: str
    answer: Literal["done", "not_done", "unclear"]


StagingVerdict = Literal["committed", "rejected", "conflict", "discarded"]
"""What became of a staged change: a check rejected it, others changed the same files, or it was given up."""


class ChangeDecided(BaseEvent, frozen=True, tag="change.decided"):
    """What a staged call would change was committed, or was not; ``why`` it was not.

    ``paths`` are the first of those it changed; empty for a tool with a ``commit`` function.
    """

    n: int
    index: int
    tool: str
    verdict: StagingVerdict
    why: str = ""
    paths: tuple[str, ...] = ()


class CallLate(BaseEvent, frozen=True, tag="call.late"):
    """How a call in doubt ended after all."""

    n: int
    index: int
    tool: str
    state: CallState
    level = "warning"


class CheckpointStored(BaseEvent, frozen=True, tag="checkpoint.stored"):
    """The checkpoint of this counter is durable."""

    counter: int


class RetryScheduled(BaseEvent, frozen=True, tag="retry.scheduled"):
    """An attempt failed, and another follows after ``wait_s`` seconds."""

    subject: str
    number: int
    error_class: str
    wait_s: float
    elapsed_s: float
    level = "warning"


class ConversationPruned(BaseEvent, frozen=True, tag="conversation.pruned"):
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


class TrajectoryRestarted(BaseEvent, frozen=True, tag="trajectory.restarted"):
    """The agent made no progress and begins again from this checkpoint, with a hint."""

    counter: int
    why: str
    level = "warning"


class TrajectoryFellBack(BaseEvent, frozen=True, tag="trajectory.fell_back"):
    """The agent made no progress; its fallback has the task now."""

    agent: str
    why: str
    level = "warning"


class SessionParked(BaseEvent, frozen=True, tag="session.parked"):
    """The session waits in the store alone, until this time on the wall clock.

    None: for a person, however long that takes.
    """

    due_at_ms: int | None
    level = "info"


class SessionWoken(BaseEvent, frozen=True, tag="session.woken"):
    """A parked session goes on: ``by`` says why (due, message, decision, cancel, resume, tell)."""

    by: str
    level = "info"


class SessionRolledBack(BaseEvent, frozen=True, tag="session.rolled_back"):
    """The session was rolled back, or could not be: so many paths were put back, or were left."""

    mode: str
    counter: int
    state: str
    paths: int
    left: int
    level = "warning"


class AuditMismatch(BaseEvent, frozen=True, tag="audit.mismatch"):
    """An answer claims what was not done; ``corrected``: the model has been told, once."""

    findings: tuple[str, ...]
    corrected: bool
    level = "error"


class AuditAssessed(BaseEvent, frozen=True, tag="audit.assessed"):
    """A judge was asked about claims that nothing supports; ``problem``: why it gave no verdicts."""

    verdicts: tuple[str, ...]
    problem: str = ""


class BudgetSoft(BaseEvent, frozen=True, tag="budget.soft"):
    """The soft share of a limit is used up; the model has been told."""

    limit: str
    account: str
    used: float
    cap: float
    level = "info"


class AlertRaised(BaseEvent, frozen=True, tag="alert.raised"):
    """Somebody should look. ``name`` is given to a hook: the same where it is told again."""

    text: str
    name: str = ""
    level = "error"


class EventsDropped(BaseEvent, frozen=True, tag="events.dropped"):
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


def event_to_data(event: Event) -> dict[str, Any]:
    """Return an event as plain data, its name under ``event``."""
    data: dict[str, Any] = msgspec.to_builtins(event)
    return data
