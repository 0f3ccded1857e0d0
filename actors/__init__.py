"""Sessions as actors: the conversation, its tools and budgets, and the runtime over one store.

Decides: what a session does next, what a call may do, how a session ends.
Owns: the active sessions, the account book, the checkpoint actor, events.
Never: talks to a provider itself, or writes to a store other than through the checkpoint actor.

Files, each using only those before it: text, secrets, docstring · model · marks, arguments, schema,
context, threads, tools, toolbox, results · budget, accounts · conversation, state · outcome,
dossier, wording · events, bus · checkpoint, journal, ownership · agent, work, active_time, services
· session · preparing, executing, asking, calling · life · inspection, retention · pool, sessions,
late, keeper · naming, handle, runtime.
"""

from .events import (
    AlertRaised,
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
    SessionRestarted,
    SessionResumed,
    SessionStarted,
    SessionStopped,
    event_to_data,
)
from .model import AssistantMessage, Message, NoteMessage, ToolMessage, ToolSchema, UserMessage

__all__ = [
    "AlertRaised",
    "AssistantMessage",
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
    "SessionRestarted",
    "SessionResumed",
    "SessionStarted",
    "SessionStopped",
    "ToolMessage",
    "ToolSchema",
    "UserMessage",
    "event_to_data",
]
