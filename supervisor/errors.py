"""The words for failure: classes of error, and the exceptions that carry them.

::

    UkemiError
    ├── Failed                    a tool or model says what happened; one subclass per error class
    │   ├── TransientError        another moment will do
    │   │   └── RateLimited
    │   ├── InDoubtTimeout        the request had gone out, no whole answer came
    │   ├── InvalidArgument       the caller can mend it by changing the arguments
    │   │   └── ContextOverflow
    │   ├── PermissionDenied      auth, quota, configuration
    │   ├── ResourceExhausted     our own machine
    │   ├── BusinessRejected      understood, permitted, refused by a rule
    │   │   └── ContentRefused
    │   ├── PlanningFailure       the agent goes in circles
    │   └── ToolBug               a fault in a program
    └── UsageError                the embedding program asked for something impossible
"""

from enum import StrEnum
from typing import ClassVar, Literal, final

MayHaveExecuted = Literal["no", "maybe", "yes"]


@final
class ErrorClass(StrEnum):
    """What kind of failure it is; the policy decides by it."""

    TRANSIENT = "transient"
    RATE_LIMITED = "rate_limited"
    IN_DOUBT_TIMEOUT = "in_doubt_timeout"
    INVALID_ARGUMENT = "invalid_argument"
    CONTEXT_OVERFLOW = "context_overflow"
    PERMISSION_DENIED = "permission_denied"
    RESOURCE_EXHAUSTED = "resource_exhausted"
    BUSINESS_REJECTED = "business_rejected"
    CONTENT_REFUSED = "content_refused"
    PLANNING = "planning"
    CANCELLED = "cancelled"
    BUG = "bug"
    UNKNOWN = "unknown"


GRAVEST_FIRST = (
    ErrorClass.BUG,
    ErrorClass.UNKNOWN,
    ErrorClass.PERMISSION_DENIED,
    ErrorClass.RESOURCE_EXHAUSTED,
    ErrorClass.BUSINESS_REJECTED,
    ErrorClass.CONTENT_REFUSED,
    ErrorClass.PLANNING,
    ErrorClass.INVALID_ARGUMENT,
    ErrorClass.CONTEXT_OVERFLOW,
    ErrorClass.IN_DOUBT_TIMEOUT,
    ErrorClass.RATE_LIMITED,
    ErrorClass.TRANSIENT,
    ErrorClass.CANCELLED,
)
"""A group of errors is as bad as its worst member: what no repeat helps before what one may."""


def message_of(error: BaseException, chars_max: int = 20_000) -> str:
    """Return the text of an exception; one whose ``__str__`` fails is shown by its type."""
    try:
        return str(error)[:chars_max]
    except Exception:  # noqa: BLE001 - a foreign __str__ may do anything; the class is still known
        return type(error).__name__


class UkemiError(Exception):
    """Root of every exception Ukemi raises on purpose."""


class Failed(UkemiError):
    """A tool or a model that knows what happened says so by raising a subclass.

    Args:
        message: one sentence for the model and for people; no secrets.
        retry_after: seconds the other side asked to wait, or None.
        fields: names of the arguments at fault.
        may_have_executed: whether the effect may have taken place.
    """

    error_class: ClassVar[ErrorClass] = ErrorClass.UNKNOWN
    default_executed: ClassVar[MayHaveExecuted] = "no"

    def __init__(
        self,
        message: str = "",
        *,
        retry_after: float | None = None,
        fields: tuple[str, ...] | list[str] = (),
        may_have_executed: MayHaveExecuted | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after
        self.fields = tuple(fields)
        self.may_have_executed: MayHaveExecuted = may_have_executed or self.default_executed


class TransientError(Failed):
    """Nothing to do with the request; another moment will do. It did not execute."""

    error_class = ErrorClass.TRANSIENT


class RateLimited(TransientError):
    """Too much per time; the limit refills by itself."""

    error_class = ErrorClass.RATE_LIMITED


class InDoubtTimeout(Failed):
    """The request had gone out and no whole answer came: the effect may have taken place."""

    error_class = ErrorClass.IN_DOUBT_TIMEOUT
    default_executed = "maybe"


class InvalidArgument(Failed):
    """The caller can mend it by changing the arguments named in ``fields``."""

    error_class = ErrorClass.INVALID_ARGUMENT


class ContextOverflow(InvalidArgument):
    """Prompt, history or one request is larger than the model takes."""

    error_class = ErrorClass.CONTEXT_OVERFLOW


class PermissionDenied(Failed):
    """Auth, rights, quota or configuration: a person has to act."""

    error_class = ErrorClass.PERMISSION_DENIED


class ResourceExhausted(Failed):
    """Our own machine or process is out of something: disk, memory, descriptors."""

    error_class = ErrorClass.RESOURCE_EXHAUSTED
    default_executed = "maybe"


class BusinessRejected(Failed):
    """Understood, permitted, and refused by a rule or state of the business."""

    error_class = ErrorClass.BUSINESS_REJECTED


class ContentRefused(BusinessRejected):
    """A model, filter or moderation refuses this content."""

    error_class = ErrorClass.CONTENT_REFUSED


class PlanningFailure(Failed):
    """The agent goes in circles, or has run out of corrections."""

    error_class = ErrorClass.PLANNING


class ToolBug(Failed):
    """A fault in a program, ours or the upstream's."""

    error_class = ErrorClass.BUG
    default_executed = "maybe"


class UsageError(UkemiError, ValueError):
    """The embedding program asked for something impossible; nothing was started.

    The message names the value and the way out.
    """
