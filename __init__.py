"""Ukemi: Erlang-style supervision for LLM agent sessions.

What a user needs comes from here; tools and models that ship with it from `ukemi.tools` and
`ukemi.models`, supervision without agents from `ukemi.supervisor`.
"""

from .actors.agent import Agent
from .actors.budget import Budget
from .actors.context import CallContext, current
from .actors.handle import SessionHandle
from .actors.inspection import Checkpoint, Inspection
from .actors.model import Model, ModelReply, ModelRequest, Prices
from .actors.outcome import Completed, Dossier, HandedOver, Outcome, Stopped
from .actors.runtime import Runtime
from .actors.tools import Tool, tool
from .supervisor.classify import classify
from .supervisor.errors import (
    BusinessRejected,
    ContentRefused,
    ContextOverflow,
    ErrorClass,
    Failed,
    InDoubtTimeout,
    InvalidArgument,
    PermissionDenied,
    PlanningFailure,
    RateLimited,
    ResourceExhausted,
    ToolBug,
    TransientError,
    UkemiError,
    UsageError,
)
from .supervisor.failure import Failure, Traits
from .supervisor.policy import Policy

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "Budget",
    "BusinessRejected",
    "CallContext",
    "Checkpoint",
    "Completed",
    "ContentRefused",
    "ContextOverflow",
    "Dossier",
    "ErrorClass",
    "Failed",
    "Failure",
    "HandedOver",
    "InDoubtTimeout",
    "Inspection",
    "InvalidArgument",
    "Model",
    "ModelReply",
    "ModelRequest",
    "Outcome",
    "PermissionDenied",
    "PlanningFailure",
    "Policy",
    "Prices",
    "RateLimited",
    "ResourceExhausted",
    "Runtime",
    "SessionHandle",
    "Stopped",
    "Tool",
    "ToolBug",
    "Traits",
    "TransientError",
    "UkemiError",
    "UsageError",
    "classify",
    "current",
    "tool",
]
