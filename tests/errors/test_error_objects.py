"""Live exceptions: read as their stored form is, from real libraries, without importing them."""

import errno
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import anthropic
import httpx
import msgspec
import openai
import pydantic
import pytest

import ukemi
from ukemi import ErrorClass
from ukemi.supervisor.classify import classify
from ukemi.supervisor.errors import MayHaveExecuted
from ukemi.supervisor.failure import Stage

C = ErrorClass


def caught(act: Callable[[], object]) -> BaseException:
    """Return what an act raises."""
    try:
        act()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is what we look at
        return error
    raise AssertionError("nothing was raised")


def chained(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def library(client: type) -> Any:
    """Return the HTTP library that a vendor's client is built on."""
    roots = (each.__module__.partition(".")[0] for each in client.__mro__)
    return import_module(next(root for root in roots if root.startswith("httpx")))


HTTP: dict[str, Any] = {
    "openai": library(openai.DefaultHttpxClient),
    "anthropic": library(anthropic.DefaultHttpxClient),
    "httpx": httpx,
}


def answering(http: Any, status: int, body: Any, headers: dict[str, str] | None = None) -> Any:
    def handler(request: Any) -> Any:
        return http.Response(status, json=body, headers=headers, request=request)

    return http.Client(transport=http.MockTransport(handler))


def failing(http: Any, error: Exception) -> Any:
    def handler(request: Any) -> Any:
        raise error

    return http.Client(transport=http.MockTransport(handler))


def ask_openai(client: Any) -> BaseException:
    api = openai.OpenAI(api_key="k", base_url="http://x/v1", max_retries=0, http_client=client)
    message: Any = {"role": "user", "content": "hi"}
    return caught(lambda: api.chat.completions.create(model="m", messages=[message]))


def ask_anthropic(client: Any) -> BaseException:
    api = anthropic.Anthropic(api_key="k", base_url="http://x", max_retries=0, http_client=client)
    message: Any = {"role": "user", "content": "hi"}
    return caught(lambda: api.messages.create(model="m", max_tokens=9, messages=[message]))


def ask_httpx(client: Any) -> BaseException:
    return caught(lambda: client.get("http://x/").raise_for_status())


def body(code: str, message: str = "no") -> dict[str, Any]:
    return {"error": {"code": code, "type": code, "message": message}}


ASK = {"openai": ask_openai, "anthropic": ask_anthropic, "httpx": ask_httpx}
ANSWERS: list[tuple[int, dict[str, Any], dict[str, str], ErrorClass, float | None]] = [
    (429, body("rate_limit_exceeded"), {"retry-after": "7"}, C.RATE_LIMITED, 7.0),
    (429, body("insufficient_quota"), {}, C.PERMISSION_DENIED, None),
    (400, body("context_length_exceeded"), {}, C.CONTEXT_OVERFLOW, None),
    (400, body("content_policy_violation"), {}, C.CONTENT_REFUSED, None),
    (401, body("invalid_api_key"), {}, C.PERMISSION_DENIED, None),
    (404, body("model_not_found"), {}, C.PERMISSION_DENIED, None),
    (500, body("x", "Internal Server Error"), {"retry-after-ms": "50"}, C.TRANSIENT, 0.05),
    (503, {}, {"x-should-retry": "false"}, C.UNKNOWN, None),
    (504, {}, {}, C.IN_DOUBT_TIMEOUT, None),
]


@pytest.mark.parametrize("sdk", ASK)
@pytest.mark.parametrize(("status", "answer", "headers", "error_class", "wait"), ANSWERS)
def test_the_vendors_own_exceptions(
    sdk: str,
    status: int,
    answer: Any,
    headers: dict[str, str],
    error_class: ErrorClass,
    wait: float | None,
) -> None:
    failure = classify(ASK[sdk](answering(HTTP[sdk], status, answer, headers)))
    assert failure.error_class == error_class
    assert failure.retry_after == wait


CERTIFICATE = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"
CONNECTIONS: list[tuple[str, str, ErrorClass, MayHaveExecuted]] = [
    ("ConnectError", "[Errno 111] Connection refused", C.TRANSIENT, "no"),
    ("ConnectTimeout", "timed out", C.TRANSIENT, "no"),
    ("PoolTimeout", "", C.TRANSIENT, "no"),
    ("ReadTimeout", "timed out", C.IN_DOUBT_TIMEOUT, "maybe"),
    ("ReadError", "[Errno 104] Connection reset by peer", C.IN_DOUBT_TIMEOUT, "maybe"),
    ("RemoteProtocolError", "Server disconnected", C.IN_DOUBT_TIMEOUT, "maybe"),
    ("ConnectError", CERTIFICATE, C.PERMISSION_DENIED, "no"),
]


@pytest.mark.parametrize("sdk", ASK)
@pytest.mark.parametrize(("name", "text", "error_class", "executed"), CONNECTIONS)
def test_a_cut_connection_is_told_by_how_far_it_had_come(
    sdk: str, name: str, text: str, error_class: ErrorClass, executed: MayHaveExecuted
) -> None:
    error = getattr(HTTP[sdk], name)(text)
    failure = classify(ASK[sdk](failing(HTTP[sdk], error)))
    assert failure.error_class == error_class
    assert failure.may_have_executed == executed


def test_a_body_that_was_not_read_is_not_read_now() -> None:
    """Looking at an error never waits for the network."""

    class Unread(httpx.SyncByteStream):
        def __iter__(self) -> Any:
            raise AssertionError("the body was read")

    response = httpx.Response(503, stream=Unread(), request=httpx.Request("GET", "http://x/"))
    assert classify(caught(response.raise_for_status)).error_class == C.TRANSIENT


class Args(pydantic.BaseModel):
    city: str
    days: int


class Settings(pydantic.BaseModel):
    api_key: str


class Point(msgspec.Struct):
    x: int


VALIDATION: list[tuple[str, Callable[[], object], Stage, ErrorClass, tuple[str, ...]]] = [
    ("pydantic, arguments", lambda: Args.model_validate({"days": "x"}), "args",
     C.INVALID_ARGUMENT, ("city", "days")),
    ("pydantic, an answer", lambda: Args.model_validate({}), "response", C.BUG, ()),
    ("pydantic, settings", lambda: Settings.model_validate({}), "call", C.PERMISSION_DENIED, ()),
    ("msgspec", lambda: msgspec.json.decode(b'{"x": "1"}', type=Point), "args",
     C.INVALID_ARGUMENT, ("x",)),
    ("JSON, arguments", lambda: json.loads("{"), "args", C.INVALID_ARGUMENT, ()),
    ("JSON, an answer", lambda: json.loads("<html>"), "response", C.UNKNOWN, ()),
    ("a TypeError over arguments", lambda: int([]), "args",  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
     C.INVALID_ARGUMENT, ()),
    ("a TypeError in the body", lambda: int([]), "call",  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
     C.BUG, ()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("act", "stage", "error_class", "fields"),
    [row[1:] for row in VALIDATION],
    ids=[row[0] for row in VALIDATION],
)
def test_validation_means_the_stage_it_happens_at(
    act: Callable[[], object], stage: Stage, error_class: ErrorClass, fields: tuple[str, ...]
) -> None:
    failure = classify(caught(act), stage=stage)
    assert failure.error_class == error_class
    if fields:
        assert failure.fields == fields


def database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table t (a integer primary key, b text not null, c check (c > 0))")
    connection.execute("insert into t values (1, 'x', 1)")
    return connection


SQL: list[tuple[str, ErrorClass]] = [
    ("insert into t values (1, 'y', 1)", C.BUSINESS_REJECTED),
    ("insert into t values (2, null, 1)", C.INVALID_ARGUMENT),
    ("insert into t values (2, 'y', -1)", C.BUSINESS_REJECTED),
    ("select * from nothing", C.INVALID_ARGUMENT),
    ("selct 1", C.INVALID_ARGUMENT),
    ("select ?", C.BUG),
]


@pytest.mark.parametrize(("sql", "error_class"), SQL)
def test_sqlite(sql: str, error_class: ErrorClass) -> None:
    connection = database()
    error = caught(lambda: connection.execute(sql))
    connection.close()
    assert classify(error).error_class == error_class


PROGRAMS: list[tuple[str, ErrorClass]] = [
    ("raise SystemExit(1)", C.UNKNOWN),
    ("print(1/0)", C.BUG),
    ("open('/no/such/dir/x')", C.INVALID_ARGUMENT),
    ("raise MemoryError", C.RESOURCE_EXHAUSTED),
    ("import os; os.kill(os.getpid(), 15)", C.CANCELLED),
    ("import os; os.kill(os.getpid(), 11)", C.BUG),
    ("raise SystemExit(127)", C.PERMISSION_DENIED),
    ("raise SystemExit(124)", C.IN_DOUBT_TIMEOUT),
]


@pytest.mark.realtime
@pytest.mark.parametrize(("program", "error_class"), PROGRAMS)
def test_programs(program: str, error_class: ErrorClass) -> None:
    command = [sys.executable, "-c", program]
    error = caught(
        lambda: subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)
    )
    assert classify(error).error_class == error_class


CHAINS: list[tuple[str, BaseException, ErrorClass]] = [
    ("a wrapper's cause decides", chained(RuntimeError("x"), ConnectionRefusedError(111, "no")), C.TRANSIENT),
    ("two wrappers deep", chained(RuntimeError("x"), chained(Exception("y"), TimeoutError())), C.IN_DOUBT_TIMEOUT),
    ("what a tool raised on purpose, wrapped", chained(RuntimeError("x"), ukemi.BusinessRejected("no")), C.BUSINESS_REJECTED),
    ("a program error decides itself", chained(KeyError("x"), TimeoutError()), C.BUG),
    ("the worst member of a group", ExceptionGroup("g", [TimeoutError(), ukemi.PermissionDenied("p")]), C.PERMISSION_DENIED),
    ("a group of one", ExceptionGroup("g", [ukemi.RateLimited("r", retry_after=3)]), C.RATE_LIMITED),
    ("a group inside a wrapper", chained(RuntimeError("x"), ExceptionGroup("g", [TypeError()])), C.BUG),
]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "error_class"), [row[1:] for row in CHAINS], ids=[row[0] for row in CHAINS]
)
def test_chains_and_groups(error: BaseException, error_class: ErrorClass) -> None:
    assert classify(error).error_class == error_class


def test_a_wait_and_fields_of_a_wrapped_error_are_kept() -> None:
    wrapped = chained(RuntimeError("x"), ukemi.RateLimited("r", retry_after=3))
    assert classify(wrapped).retry_after == 3
    wrapped = chained(RuntimeError("x"), ukemi.InvalidArgument("r", fields=["sku"]))
    assert classify(wrapped).fields == ("sku",)


def test_a_context_alone_explains_nothing() -> None:
    def fall() -> None:
        try:
            raise TimeoutError
        except TimeoutError:
            raise KeyError("fallback")  # noqa: B904 - the case itself

    assert classify(caught(fall)).error_class == C.BUG


@pytest.mark.parametrize(
    ("number", "error_class"),
    [
        (errno.ENOSPC, C.RESOURCE_EXHAUSTED),
        (errno.EMFILE, C.RESOURCE_EXHAUSTED),
        (errno.EACCES, C.PERMISSION_DENIED),
        (errno.ENOENT, C.INVALID_ARGUMENT),
        (errno.EEXIST, C.BUSINESS_REJECTED),
        (errno.ECONNREFUSED, C.TRANSIENT),
        (errno.EAGAIN, C.TRANSIENT),
        (errno.ECONNRESET, C.IN_DOUBT_TIMEOUT),
        (errno.EIO, C.UNKNOWN),
    ],
    ids=lambda value: str(value),
)
def test_errno(number: int, error_class: ErrorClass) -> None:
    assert classify(OSError(number, "x")).error_class == error_class


# Field case EC-01: a 429 is no rate limit by itself; a code wins over words.
EC_01: list[tuple[str, BaseException | dict[str, Any], set[ErrorClass]]] = [
    ("429 rate_limit_exceeded", {"status": 429, "headers": {"retry-after": "2"}, "body": '{"code": "rate_limit_exceeded"}'}, {C.RATE_LIMITED}),
    ("429 insufficient_quota", {"status": 429, "body": '{"code": "insufficient_quota"}'}, {C.PERMISSION_DENIED}),
    ("429 usage_limit_reached", {"status": 429, "body": '{"type": "usage_limit_reached", "plan": "used up until next month"}'}, {C.PERMISSION_DENIED}),
    ("403 invalid_api_key", {"status": 403, "body": '{"code": "invalid_api_key", "message": "subscription key invalid"}'}, {C.PERMISSION_DENIED}),
    ("401", {"status": 401, "body": "{}"}, {C.PERMISSION_DENIED}),
    ("404 model_not_found", {"status": 404, "body": '{"code": "model_not_found"}'}, {C.PERMISSION_DENIED}),
    ("400 context_length_exceeded", {"status": 400, "body": '{"code": "context_length_exceeded"}'}, {C.CONTEXT_OVERFLOW}),
    ("503", {"status": 503, "body": "{}"}, {C.TRANSIENT}),
    ("connection refused", ConnectionRefusedError(111, "Connection refused"), {C.TRANSIENT}),
    ("certificate verify failed", OSError("certificate verify failed"), {C.PERMISSION_DENIED}),
    ("KeyError", KeyError("x"), {C.BUG, C.UNKNOWN}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "classes"), [row[1:] for row in EC_01], ids=[row[0] for row in EC_01]
)
def test_ec_01(error: BaseException | dict[str, Any], classes: set[ErrorClass]) -> None:
    if isinstance(error, dict):
        error = {"form": "http", "headers": {}, **error}  # pyright: ignore[reportUnknownVariableType]
    assert classify(error).error_class in classes  # pyright: ignore[reportUnknownArgumentType]
