"""Sessions as actors: the conversation, its tools and budgets, and the runtime over one store.

Decides: what a session does next, what a call may do, how a session ends.
Owns: the active sessions, the account book, the checkpoint actor, events.
Never: talks to a provider itself, or writes to a store other than through the checkpoint actor.

Files, each using only those before it: text, secrets, scrub, docstring · model · marks, arguments, schema,
context, threads, bodies, companions, tools, toolbox, results, closing · budget, accounts · conversation, ledger, state · outcome,
dossier, wording · events, bus, upstreams, alerts · checkpoint, journal, ownership, steady · agent, work, active_time, services
· session · parking, gate, preparing, executing, asking, calling, planning · life · inspection, retention · pool, sessions,
late, keeper · naming, handle, runtime.
"""

from ..stores.records import ToolCall, Usage
from .events import (
    AlertRaised,
    BreakerClosed,
    BreakerHalfOpen,
    BreakerOpened,
    BudgetSoft,
    CallFinished,
    CallLate,
    CallStarted,
    CallStuck,
    CheckpointStored,
    Event,
    EventsDropped,
    MessageReceived,
    ModelAnswered,
    ModelAsked,
    ModelPiece,
    ModelSuperseded,
    RetryScheduled,
    SessionCompleted,
    SessionHandedOver,
    SessionParked,
    SessionRestarted,
    SessionResumed,
    SessionStarted,
    SessionStopped,
    SessionWoken,
    TrajectoryFellBack,
    TrajectoryRestarted,
    UpstreamHeld,
    event_to_data,
)
from .model import AssistantMessage, Message, NoteMessage, ToolMessage, ToolSchema, UserMessage
from .planning import StepFacts

__all__ = [
    "AlertRaised",
    "AssistantMessage",
    "BreakerClosed",
    "BreakerHalfOpen",
    "BreakerOpened",
    "BudgetSoft",
    "CallFinished",
    "CallLate",
    "CallStarted",
    "CallStuck",
    "CheckpointStored",
    "Event",
    "EventsDropped",
    "Message",
    "MessageReceived",
    "ModelAnswered",
    "ModelAsked",
    "ModelPiece",
    "ModelSuperseded",
    "NoteMessage",
    "RetryScheduled",
    "SessionCompleted",
    "SessionHandedOver",
    "SessionParked",
    "SessionRestarted",
    "SessionResumed",
    "SessionStarted",
    "SessionStopped",
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
