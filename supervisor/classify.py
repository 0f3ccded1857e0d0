"""From whatever was raised to a `Failure`: explicit errors, then structured facts, then unknown.

Client libraries are looked at, never imported: a status code, an errno, a class name in the
ancestry. What no rule knows is UNKNOWN, and UNKNOWN is never retried.
"""

import asyncio
import errno
import math
import traceback
from collections.abc import Mapping

from .errors import ErrorClass, Failed, MayHaveExecuted
from .failure import Failure, Stage, Traits

_C = ErrorClass

# HTTP status -> class and whether the request may have been executed (RFC 9110, section 15).
STATUS: Mapping[int, tuple[ErrorClass, MayHaveExecuted]] = {
    400: (_C.INVALID_ARGUMENT, "no"),
    401: (_C.PERMISSION_DENIED, "no"),
    402: (_C.PERMISSION_DENIED, "no"),
    403: (_C.PERMISSION_DENIED, "no"),
    407: (_C.PERMISSION_DENIED, "no"),
    408: (_C.TRANSIENT, "no"),
    409: (_C.BUSINESS_REJECTED, "no"),
    413: (_C.CONTEXT_OVERFLOW, "no"),
    422: (_C.INVALID_ARGUMENT, "no"),
    425: (_C.TRANSIENT, "no"),
    429: (_C.RATE_LIMITED, "no"),
    500: (_C.TRANSIENT, "maybe"),
    502: (_C.TRANSIENT, "maybe"),
    503: (_C.TRANSIENT, "no"),
    504: (_C.IN_DOUBT_TIMEOUT, "maybe"),
    529: (_C.TRANSIENT, "no"),
}

# errno -> class: our own machine, the path or right that was asked for, the connection.
ERRNO: Mapping[int, tuple[ErrorClass, MayHaveExecuted]] = {
    errno.ENOSPC: (_C.RESOURCE_EXHAUSTED, "maybe"),
    errno.EDQUOT: (_C.RESOURCE_EXHAUSTED, "maybe"),
    errno.EMFILE: (_C.RESOURCE_EXHAUSTED, "no"),
    errno.ENFILE: (_C.RESOURCE_EXHAUSTED, "no"),
    errno.ENOMEM: (_C.RESOURCE_EXHAUSTED, "no"),
    errno.EACCES: (_C.PERMISSION_DENIED, "no"),
    errno.EPERM: (_C.PERMISSION_DENIED, "no"),
    errno.EROFS: (_C.PERMISSION_DENIED, "no"),
    errno.ENOENT: (_C.INVALID_ARGUMENT, "no"),
    errno.ENOTDIR: (_C.INVALID_ARGUMENT, "no"),
    errno.EISDIR: (_C.INVALID_ARGUMENT, "no"),
    errno.ECONNREFUSED: (_C.TRANSIENT, "no"),
    errno.EHOSTUNREACH: (_C.TRANSIENT, "no"),
    errno.ENETUNREACH: (_C.TRANSIENT, "no"),
    errno.ECONNRESET: (_C.IN_DOUBT_TIMEOUT, "maybe"),
    errno.EPIPE: (_C.IN_DOUBT_TIMEOUT, "maybe"),
    errno.ETIMEDOUT: (_C.IN_DOUBT_TIMEOUT, "maybe"),
}

# Class names, looked up along the ancestry, nearest first. The HTTP clients share most of them.
NAMES: Mapping[str, tuple[ErrorClass, MayHaveExecuted]] = {
    "ConnectTimeout": (_C.TRANSIENT, "no"),
    "PoolTimeout": (_C.TRANSIENT, "no"),
    "ConnectError": (_C.TRANSIENT, "no"),
    "ConnectionRefusedError": (_C.TRANSIENT, "no"),
    "gaierror": (_C.TRANSIENT, "no"),
    "ReadTimeout": (_C.IN_DOUBT_TIMEOUT, "maybe"),
    "WriteTimeout": (_C.IN_DOUBT_TIMEOUT, "maybe"),
    "ReadError": (_C.IN_DOUBT_TIMEOUT, "maybe"),
    "WriteError": (_C.IN_DOUBT_TIMEOUT, "maybe"),
    "RemoteProtocolError": (_C.IN_DOUBT_TIMEOUT, "maybe"),
    "IncompleteRead": (_C.IN_DOUBT_TIMEOUT, "maybe"),
    "APITimeoutError": (_C.IN_DOUBT_TIMEOUT, "maybe"),
    "TimeoutError": (_C.IN_DOUBT_TIMEOUT, "maybe"),
    "ConnectionResetError": (_C.IN_DOUBT_TIMEOUT, "maybe"),
    "BrokenPipeError": (_C.IN_DOUBT_TIMEOUT, "maybe"),
    "FileNotFoundError": (_C.INVALID_ARGUMENT, "no"),
    "PermissionError": (_C.PERMISSION_DENIED, "no"),
    "MemoryError": (_C.RESOURCE_EXHAUSTED, "maybe"),
    "ArithmeticError": (_C.BUG, "maybe"),
    "AssertionError": (_C.BUG, "maybe"),
    "AttributeError": (_C.BUG, "maybe"),
    "ImportError": (_C.BUG, "maybe"),
    "LookupError": (_C.BUG, "maybe"),
    "NameError": (_C.BUG, "maybe"),
    "NotImplementedError": (_C.BUG, "maybe"),
    "RecursionError": (_C.BUG, "maybe"),
    "TypeError": (_C.BUG, "maybe"),
    "ValueError": (_C.BUG, "maybe"),
}

# A group is as bad as its worst member; worst first.
WORST_FIRST = (
    _C.BUG,
    _C.UNKNOWN,
    _C.PERMISSION_DENIED,
    _C.RESOURCE_EXHAUSTED,
    _C.BUSINESS_REJECTED,
    _C.CONTENT_REFUSED,
    _C.PLANNING,
    _C.INVALID_ARGUMENT,
    _C.CONTEXT_OVERFLOW,
    _C.IN_DOUBT_TIMEOUT,
    _C.RATE_LIMITED,
    _C.TRANSIENT,
    _C.CANCELLED,
)

_MESSAGE_MAX = 2_000
_GENERIC = ("APIConnectionError", "RuntimeError", "Exception")


def classify(
    error: BaseException,
    *,
    traits: Traits | None = None,
    stage: Stage = "call",
    received_at: float | None = None,
) -> Failure:
    """Say what kind of failure an exception is.

    Args:
        traits: the marks of the call; nothing a class is concluded from yet.
        stage: ``args`` while the model's arguments are checked and nothing was sent.
        received_at: epoch seconds at which the error arrived, for waits given as dates.
    """
    failure = _classify(error, depth=0)
    if stage == "args" and failure.error_class is _C.BUG:
        return _failure(error, _C.INVALID_ARGUMENT, "no", "stage args")
    return failure


def _classify(error: BaseException, depth: int) -> Failure:
    if isinstance(error, Failed):
        return _explicit(error)
    if isinstance(error, asyncio.CancelledError) or type(error).__name__ == "Cancelled":
        return _failure(error, _C.CANCELLED, "maybe", "cancelled")
    if isinstance(error, BaseExceptionGroup):
        members = [_classify(inner, depth + 1) for inner in error.exceptions]  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType, reportUnknownVariableType]
        return min(members, key=lambda member: WORST_FIRST.index(member.error_class))
    return _by_facts(error, depth)


def _explicit(error: Failed) -> Failure:
    return Failure(
        error_class=error.error_class,
        message=error.message[:_MESSAGE_MAX],
        type_name=type(error).__name__,
        retry_after=error.retry_after,
        fields=error.fields,
        may_have_executed=error.may_have_executed,
        evidence=(f"raised {type(error).__name__}",),
    )


def _by_facts(error: BaseException, depth: int) -> Failure:
    status = _status(error)
    if status in STATUS:
        error_class, executed = STATUS[status]
        return _failure(error, error_class, executed, f"status {status}", _retry_after(error))
    # The cause of a wrapper that says nothing itself decides; a bare __context__ does not.
    generic = type(error).__name__ in _GENERIC
    if generic and error.__cause__ is not None and depth < 8:
        return _classify(error.__cause__, depth + 1)
    number = error.errno if isinstance(error, OSError) else None
    if number is not None and number in ERRNO:
        error_class, executed = ERRNO[number]
        return _failure(error, error_class, executed, f"errno {errno.errorcode[number]}")
    for ancestor in type(error).__mro__:
        if ancestor.__name__ in NAMES:
            error_class, executed = NAMES[ancestor.__name__]
            return _failure(error, error_class, executed, f"type {ancestor.__name__}")
    return _failure(error, _C.UNKNOWN, "maybe", "nothing known")


def _failure(
    error: BaseException,
    error_class: ErrorClass,
    executed: MayHaveExecuted,
    evidence: str,
    retry_after: float | None = None,
) -> Failure:
    return Failure(
        error_class=error_class,
        message=str(error)[:_MESSAGE_MAX],
        type_name=type(error).__name__,
        retry_after=retry_after,
        may_have_executed=executed,
        evidence=(evidence,),
        traceback=_traceback(error) if error_class is _C.BUG else "",
    )


def _status(error: BaseException) -> int:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return 0


def _retry_after(error: BaseException) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    if not isinstance(headers, Mapping):
        return None
    for name, scale in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        wait = _seconds(headers.get(name), scale)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
        if wait is not None:
            return wait
    return None


def _seconds(value: object, scale: float) -> float | None:
    try:
        wait = float(str(value).strip()) * scale
    except ValueError:
        return None
    return wait if math.isfinite(wait) and wait >= 0 else None


def _traceback(error: BaseException) -> str:
    """The frames without the values in them, newest last, bounded."""
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    return "\n".join(f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames)
