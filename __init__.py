"""Ukemi: Erlang-style supervision for LLM agent sessions.

What most users need comes from here; tools and models that ship with it from `ukemi.tools` and
`ukemi.models`, events and messages from `ukemi.actors`, stores from `ukemi.stores`, supervision
without agents from `ukemi.supervisor`.
"""

from .actors.agent import Agent
from .actors.approvals.approvals import ApprovalRequest, RequestClosed
from .actors.budget import Budget
from .actors.guarding.function import guard
from .actors.guarding.guard import Guarded, GuardedResult
from .actors.guarding.guard_calls import (
    CallFailed,
    CallStopped,
    Denied,
    GuardError,
    HandedOverError,
    InDoubt,
)
from .actors.handle import SessionHandle
from .actors.inspection import Checkpoint, Inspection
from .actors.model import Model, ModelReply, ModelRequest, Prices
from .actors.outcome import Completed, Dossier, HandedOver, Option, Outcome, Stopped
from .actors.pool import RuntimeClosed
from .actors.rollback.rollback import RollbackPreview, RollbackReport
from .actors.runtime import Runtime
from .actors.staging.checks import StagedChange, StagedFile
from .actors.tooling.context import CallContext, current
from .actors.tooling.marks import NOT_DONE, NotDone, Staged
from .actors.tooling.tools import Tool, tool
from .actors.workspaces import Snapshots
from .stores.base import (
    AlreadyDecided,
    CheckpointUnknown,
    Fenced,
    SessionDamaged,
    SessionExists,
    SessionOwned,
    SessionUnknown,
    StoreError,
    StoreFailed,
    StoreUnusable,
)
from .supervisor.classify import Classifier, classify, declared_failure, read_rules
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
from .supervisor.policy_failures import RetryPolicy

__version__ = "0.1.0"

__all__ = [
    "NOT_DONE",
    "Agent",
    "AlreadyDecided",
    "ApprovalRequest",
    "Budget",
    "BusinessRejected",
    "CallContext",
    "CallFailed",
    "CallStopped",
    "Checkpoint",
    "CheckpointUnknown",
    "Classifier",
    "Completed",
    "ContentRefused",
    "ContextOverflow",
    "Denied",
    "Dossier",
    "ErrorClass",
    "Failed",
    "Failure",
    "Fenced",
    "GuardError",
    "Guarded",
    "GuardedResult",
    "HandedOver",
    "HandedOverError",
    "InDoubt",
    "InDoubtTimeout",
    "Inspection",
    "InvalidArgument",
    "Model",
    "ModelReply",
    "ModelRequest",
    "NotDone",
    "Option",
    "Outcome",
    "PermissionDenied",
    "PlanningFailure",
    "Policy",
    "Prices",
    "RateLimited",
    "RequestClosed",
    "ResourceExhausted",
    "RetryPolicy",
    "RollbackPreview",
    "RollbackReport",
    "Runtime",
    "RuntimeClosed",
    "SessionDamaged",
    "SessionExists",
    "SessionHandle",
    "SessionOwned",
    "SessionUnknown",
    "Snapshots",
    "Staged",
    "StagedChange",
    "StagedFile",
    "Stopped",
    "StoreError",
    "StoreFailed",
    "StoreUnusable",
    "Tool",
    "ToolBug",
    "Traits",
    "TransientError",
    "UkemiError",
    "UsageError",
    "classify",
    "current",
    "declared_failure",
    "guard",
    "read_rules",
    "tool",
]
