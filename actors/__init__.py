"""Sessions as actors: the conversation, its tools and budgets, and the runtime over one store.

Decides: what a session does next, what a call may do, how a session ends.
Owns: the active sessions, the account book, the checkpoint actor, events.
Never: talks to a provider itself, or writes to a store other than through the checkpoint actor.

Files, each using only those before it (a test holds that): nothing, once,
latch, text, secrets, scrub · model, replies · tooling · budget, accounts, fairness ·
conversation, ledger, effects, metering · state_parts, state_fields, fold_turns, fold_steps, fold_rollback, state,
steps · outcome · event_base, end_events, people_events, upstream_events, events · bus, upstream, upstreams, alerts, workspaces · checkpoint, teller, journal,
ownership, steady · agent, work, active_time, services · session · ends, resolving, parking, gate,
closing, preparing, probing, attempting, attempt_ends, executing, asking, calling, planning, unanswered ·
inspection · life · retention · admission, places, pool, heads, beginning, taking_over, opening,
sessions, decisions, inbox, late, keeper · naming, portable, handle · health, alert_log, installing,
warming, starting, foundation, core, runtime.

Packages of one concern each, used along the way: tooling, pruning, approvals, staging, audit, undo,
rollback, handover, guarding; simulating, above all of them.
"""

from ..stores.records import ToolCall, Usage
from .approvals.approvals import ApprovalRequest, RequestClosed
from .end_events import (
    CompensationFinished,
    CompensationStarted,
    SessionCompleted,
    SessionFrozen,
    SessionHandedOver,
    SessionStopped,
    SessionUnwinding,
)
from .events import (
    AlertRaised,
    AuditAssessed,
    AuditMismatch,
    BudgetSoft,
    CallFinished,
    CallLate,
    CallProbed,
    CallStarted,
    CallStuck,
    ChangeDecided,
    CheckpointStored,
    ConversationPruned,
    Event,
    EventsDropped,
    MessageReceived,
    ModelAnswered,
    ModelAsked,
    ModelPiece,
    ModelSuperseded,
    RetryScheduled,
    SessionParked,
    SessionRestarted,
    SessionResumed,
    SessionRolledBack,
    SessionStarted,
    SessionWoken,
    TrajectoryFellBack,
    TrajectoryRestarted,
    event_to_data,
)
from .model import AssistantMessage, Message, NoteMessage, ToolMessage, ToolSchema, UserMessage
from .people_events import ApprovalDecided, ApprovalExpired, ApprovalRequested, DecisionTaken
from .planning import StepFacts
from .upstream_events import BreakerClosed, BreakerHalfOpen, BreakerOpened, UpstreamHeld

__all__ = [
    "AlertRaised",
    "ApprovalDecided",
    "ApprovalExpired",
    "ApprovalRequest",
    "ApprovalRequested",
    "AssistantMessage",
    "AuditAssessed",
    "AuditMismatch",
    "BreakerClosed",
    "BreakerHalfOpen",
    "BreakerOpened",
    "BudgetSoft",
    "CallFinished",
    "CallLate",
    "CallProbed",
    "CallStarted",
    "CallStuck",
    "ChangeDecided",
    "CheckpointStored",
    "CompensationFinished",
    "CompensationStarted",
    "ConversationPruned",
    "DecisionTaken",
    "Event",
    "EventsDropped",
    "Message",
    "MessageReceived",
    "ModelAnswered",
    "ModelAsked",
    "ModelPiece",
    "ModelSuperseded",
    "NoteMessage",
    "RequestClosed",
    "RetryScheduled",
    "SessionCompleted",
    "SessionFrozen",
    "SessionHandedOver",
    "SessionParked",
    "SessionRestarted",
    "SessionResumed",
    "SessionRolledBack",
    "SessionStarted",
    "SessionStopped",
    "SessionUnwinding",
    "SessionWoken",
    "StepFacts",
    "ToolCall",
    "ToolMessage",
    "ToolSchema",
    "TrajectoryFellBack",
    "TrajectoryRestarted",
    "UpstreamHeld",
    "Usage",
    "UserMessage",
    "event_to_data",
]
