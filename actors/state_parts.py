"""What a session's state is made of, beside what has files of its own."""

from typing import Any

from msgspec import Struct

from ..stores.records import RolledBack, RollingBack, SessionStatus
from ..supervisor.errors import ErrorClass
from .conversation import Conversation
from .ledger import CallId

NOTHING_RAN = ""
"""Under this name, which no tool has, the rounds are counted in which every call was refused."""

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
