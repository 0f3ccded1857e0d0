"""From what was raised to a class: one table, strongest evidence first."""

import asyncio
import errno
from operator import attrgetter

import pytest
from msgspec import Struct

import ukemi
from ukemi import ErrorClass, classify
from ukemi.supervisor.errors import MayHaveExecuted

C = ErrorClass


class StatusError(Exception):
    """What an SDK raises for an HTTP answer: looked at, never imported."""

    def __init__(self, status_code: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code
        self.response = type("Response", (), {"headers": headers or {}})()


class APIConnectionError(Exception):
    """A wrapper that says nothing itself."""


class ReadTimeout(Exception):
    """Named as the HTTP clients name it."""


class MyReadTimeout(ReadTimeout):
    """The ancestry counts."""


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


class Case(Struct):
    rule: str
    error: BaseException
    error_class: ErrorClass
    executed: MayHaveExecuted | None = None
    wait: float | None = None


CASES = [
    Case(
        "a tool that knows says so", ukemi.TransientError("x", retry_after=3), C.TRANSIENT, "no", 3
    ),
    Case(
        "its own word on execution wins",
        ukemi.TransientError(may_have_executed="maybe"),
        C.TRANSIENT,
        "maybe",
    ),
    *[
        Case(f"{each.__name__} is {each.error_class}", each("said"), each.error_class)
        for each in (
            ukemi.RateLimited,
            ukemi.InDoubtTimeout,
            ukemi.InvalidArgument,
            ukemi.ContextOverflow,
            ukemi.PermissionDenied,
            ukemi.ResourceExhausted,
            ukemi.BusinessRejected,
            ukemi.ContentRefused,
            ukemi.PlanningFailure,
            ukemi.ToolBug,
        )
    ],
    Case("cancellation is no failure", asyncio.CancelledError(), C.CANCELLED),
    Case("429 with its wait", StatusError(429, {"retry-after": "7"}), C.RATE_LIMITED, "no", 7.0),
    Case(
        "milliseconds come first",
        StatusError(429, {"retry-after-ms": "250", "retry-after": "9"}),
        C.RATE_LIMITED,
        "no",
        0.25,
    ),
    Case(
        "a wait that is nonsense is none",
        StatusError(503, {"retry-after": "-4"}),
        C.TRANSIENT,
        "no",
        None,
    ),
    Case("401", StatusError(401), C.PERMISSION_DENIED, "no"),
    Case("422", StatusError(422), C.INVALID_ARGUMENT, "no"),
    Case("500 may have executed", StatusError(500), C.TRANSIENT, "maybe"),
    Case("504 is in doubt", StatusError(504), C.IN_DOUBT_TIMEOUT, "maybe"),
    Case("a status nobody knows", StatusError(799), C.UNKNOWN),
    Case(
        "a wrapper's cause decides",
        caused(APIConnectionError(), ConnectionRefusedError()),
        C.TRANSIENT,
        "no",
    ),
    Case("refused: nothing went out", ConnectionRefusedError(), C.TRANSIENT, "no"),
    Case("reset: it had gone out", ConnectionResetError(), C.IN_DOUBT_TIMEOUT, "maybe"),
    Case("a bare time-out is in doubt", TimeoutError(), C.IN_DOUBT_TIMEOUT, "maybe"),
    Case("an ancestor's name counts", MyReadTimeout(), C.IN_DOUBT_TIMEOUT, "maybe"),
    Case("disk full", OSError(errno.ENOSPC, "full"), C.RESOURCE_EXHAUSTED),
    Case("no such file", FileNotFoundError(errno.ENOENT, "x"), C.INVALID_ARGUMENT, "no"),
    Case("no right to a file", PermissionError(errno.EACCES, "x"), C.PERMISSION_DENIED, "no"),
    Case("a programming error", TypeError("x"), C.BUG),
    Case("a key that is not there is a bug too", KeyError("x"), C.BUG),
    Case("nobody knows it", RuntimeError("something"), C.UNKNOWN),
    Case(
        "a group is as bad as its worst", ExceptionGroup("g", [TimeoutError(), TypeError()]), C.BUG
    ),
    Case("a context alone explains nothing", RuntimeError("while handling"), C.UNKNOWN),
]


@pytest.mark.parametrize("case", CASES, ids=attrgetter("rule"))
def test_classify(case: Case) -> None:
    failure = classify(case.error)
    assert failure.error_class == case.error_class
    assert failure.retry_after == case.wait
    assert failure.evidence
    if case.executed is not None:
        assert failure.may_have_executed == case.executed


def test_a_program_error_while_checking_arguments_is_the_models() -> None:
    assert classify(TypeError("x"), stage="args").error_class == C.INVALID_ARGUMENT
    assert classify(TypeError("x")).error_class == C.BUG


def test_a_bug_carries_its_frames_and_no_values() -> None:
    secret = "hunter2hunter2"
    try:
        raise TypeError(secret[:0])
    except TypeError as error:
        failure = classify(error)
    assert "test_classify.py" in failure.traceback
    assert secret not in failure.traceback


def test_long_texts_are_bounded() -> None:
    assert len(classify(RuntimeError("x" * 1_000_000)).message) <= 2_000


def test_wrappers_that_cause_each_other_come_to_an_end() -> None:
    first, second = APIConnectionError(), APIConnectionError()
    first.__cause__, second.__cause__ = second, first
    assert classify(first).error_class == C.UNKNOWN
