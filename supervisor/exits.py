"""Why a child ended: a closed union of plain data.

Only text is kept of an exception. The object would hold its frames, and with them whatever
they refer to (hundreds of kilobytes a crash).
"""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import cast

from msgspec import Struct

from .errors import GRAVEST_FIRST, ErrorClass, Failed, UkemiError, message_of

_FRAMES_MAX = 12
_CAUSES_MAX = 4
_TEXT_MAX = 2_000


class ShutdownError(UkemiError):
    """Raised by a child's body to stop on purpose; counts as a normal end.

    Args:
        detail: one sentence for reports.
    """

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail)
        self.detail = detail


class IgnoreStart(UkemiError):
    """Raised by a body before it is ready, or by ``SupervisorSpec.children``: do not run me.

    The start goes on without this child. Its specification stays, without a process, unless the
    child is temporary or its supervisor is dynamic.
    """


class _Exit(Struct, frozen=True, tag_field="exit", tag=str.lower):
    pass


class Normal(_Exit, frozen=True):
    """The body returned."""


class Shutdown(_Exit, frozen=True):
    """Stopped on purpose: asked to, by ``ShutdownError``, or a supervisor that gave up.

    A supervisor that gave up carries what brought it down: the path of the child in ``child`` and
    that child's exit in ``cause``.
    """

    detail: str = ""
    child: str = ""
    cause: "ExitReason | None" = None


class Crashed(_Exit, frozen=True):
    """The body raised."""

    error_class: ErrorClass
    type_name: str
    text: str
    traceback_text: str = ""


class Killed(_Exit, frozen=True):
    """Cancelled by ``kill_child`` or ``BRUTAL_KILL``, or swept away with its supervisor."""

    detail: str = ""
    error_class: ErrorClass = ErrorClass.UNKNOWN


class ForeignCancel(_Exit, frozen=True):
    """A cancellation that nobody in the tree asked for: a library cancelled a future or the task.

    It is a crash. Were it let through, it would cancel the whole tree.
    """

    text: str = ""


class Abandoned(_Exit, frozen=True):
    """Did not end within its time after being cancelled, and was given up; it may still run."""

    after_s: float


class StartTimedOut(_Exit, frozen=True):
    """Was not ready within ``start_s_max``."""

    after_s: float


class StartFailure(_Exit, frozen=True):
    """A supervisor could not start, because this child of its could not."""

    child: str
    cause: "ExitReason"


ExitReason = (
    Normal | Shutdown | Crashed | Killed | ForeignCancel | Abandoned | StartTimedOut | StartFailure
)

# Joined at each question, they would cost more than the answer.
_NORMAL_KINDS = (Normal, Shutdown)

NORMAL = Normal()
SHUTDOWN = Shutdown()
KILLED = Killed()

Classify = Callable[[BaseException], ErrorClass]


def is_normal(reason: ExitReason) -> bool:
    """Tell whether a transient child that ended like this stays down."""
    return isinstance(reason, _NORMAL_KINDS)


def error_class_of(reason: ExitReason) -> ErrorClass:
    """Return the class by which a restart table decides; UNKNOWN where nothing is known."""
    match reason:
        case Crashed() | Killed():
            return reason.error_class
        case StartFailure():
            return error_class_of(reason.cause)
        case StartTimedOut():
            return ErrorClass.TRANSIENT
        case _:
            return ErrorClass.UNKNOWN


def describe(reason: ExitReason) -> str:
    """Say it in one line, for messages and logs."""
    match reason:
        case Normal():
            return "ended normally"
        case Shutdown():
            text = f"shutdown ({reason.detail})" if reason.detail else "shutdown"
            return f"{text}, because {_because(reason)}" if reason.cause is not None else text
        case Crashed():
            return f"crashed with {reason.type_name}: {reason.text} [{reason.error_class}]"
        case Killed():
            return f"killed ({reason.detail})" if reason.detail else "killed"
        case ForeignCancel():
            return "cancelled by somebody outside of the tree"
        case Abandoned():
            return f"did not end within {reason.after_s:g} s and was given up"
        case StartTimedOut():
            return f"not ready within {reason.after_s:g} s"
        case StartFailure():
            return f"could not start {reason.child!r}: {describe(reason.cause)}"


def _because(reason: Shutdown) -> str:
    return f"{reason.child!r} {describe(reason.cause)}" if reason.cause is not None else ""


_BUGS = (TypeError, AttributeError, NameError, AssertionError, IndexError, KeyError, ImportError)


def classify_simply(error: BaseException) -> ErrorClass:
    """Classify what says itself what it is; the rest is BUG or UNKNOWN."""
    if isinstance(error, Failed):
        return error.error_class
    return ErrorClass.BUG if isinstance(error, _BUGS) else ErrorClass.UNKNOWN


def crashed(
    errors: Sequence[BaseException], classify: Classify, clean: Callable[[str], str] | None = None
) -> Crashed:
    """Make a record of an exception; of several, of the gravest."""
    worst = min(errors, key=lambda each: GRAVEST_FIRST.index(classify(each)))
    text, trace = message_of(worst, _TEXT_MAX), traceback_of(worst)
    if clean is not None:
        text, trace = clean(text), clean(trace)
    return Crashed(classify(worst), type(worst).__qualname__, text, trace)


def members_of(error: BaseException) -> list[BaseException]:
    """Return the exceptions in a group, however deep; a lone exception is its own group."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    group = cast("BaseExceptionGroup[BaseException]", error)
    return [leaf for member in group.exceptions for leaf in members_of(member)]


def traceback_of(error: BaseException) -> str:
    """Return file, line and function of the innermost frames, and the chain of causes.

    Source lines are left out: reading them costs more than restarting a child.
    """
    parts: list[str] = []
    link: BaseException | None = error
    while link is not None and len(parts) < _CAUSES_MAX:
        lines = [f'  File "{file}", line {line}, in {name}' for file, line, name in _frames(link)]
        parts.append(
            "\n".join([*lines, f"{type(link).__qualname__}: {message_of(link, _TEXT_MAX)}"])
        )
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "\nCaused by:\n".join(parts)


def _frames(error: BaseException) -> list[tuple[str, int, str]]:
    found: list[tuple[str, int, str]] = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        found.append((code.co_filename, trace.tb_lineno, code.co_qualname))
        trace = trace.tb_next
    return found[-_FRAMES_MAX:]
