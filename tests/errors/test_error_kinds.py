"""The same word in two errors, where one of them used to be taken for the other."""

from typing import Any

import pytest

from ukemi import ErrorClass
from ukemi.supervisor.classify import classify

C = ErrorClass


def http(status: int, body: str) -> dict[str, Any]:
    return {"form": "http", "status": status, "headers": {}, "body": body}


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (402, '{"message": "Not enough balance"}', C.PERMISSION_DENIED),
        (402, '{"message": "The card has not enough balance"}', C.BUSINESS_REJECTED),
        (422, '{"code": "upstream_error"}', C.INVALID_ARGUMENT),
        (502, '{"code": "upstream_error"}', C.TRANSIENT),
        (403, '{"code": "INSUFFICIENT_SCOPES"}', C.PERMISSION_DENIED),
        (400, '{"code": "INSUFFICIENT_STOCK"}', C.BUSINESS_REJECTED),
        (500, "TypeError: fetch failed", C.IN_DOUBT_TIMEOUT),
        (500, "TypeError: undefined is not a function", C.BUG),
        (500, "The model is out of capacity", C.TRANSIENT),
        (500, "The course has no capacity left for the service", C.BUSINESS_REJECTED),
        (500, "main.c:4:2: error: expected ';' before token '}'", C.INVALID_ARGUMENT),
        (500, "bad token", C.PERMISSION_DENIED),
        (500, "Too many tokens per day", C.PERMISSION_DENIED),
        (500, "Too many withdrawals per day", C.BUSINESS_REJECTED),
        (429, '{"type": "usage_limit_reached"}', C.PERMISSION_DENIED),
        (429, '{"type": "usage_limit_reached", "resets_in_seconds": 60}', C.RATE_LIMITED),
        (500, "top_k is not supported on this model", C.INVALID_ARGUMENT),
        (500, "The model is not supported", C.PERMISSION_DENIED),
    ],
)
def test_what_stands_beside_a_word_decides(status: int, body: str, expected: ErrorClass) -> None:
    failure = classify(http(status, body))
    assert failure.error_class == expected, failure.evidence


def test_another_request_with_our_key_may_have_been_executed() -> None:
    body = "Another request with the same idempotency key is in progress"
    assert classify(http(409, body)).may_have_executed == "maybe"
    body = "The idempotency key was used with different parameters"
    assert classify(http(409, body)).error_class == C.BUG


def _raised(name: str, message: str = "") -> ErrorClass:
    error = type(name, (Exception,), {"__module__": "vendor.errors"})(message)
    return classify(error).error_class


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("BinStockError", C.UNKNOWN),
        ("TopicAuthorizationFailedError", C.PERMISSION_DENIED),
        ("ContentPolicyError", C.CONTENT_REFUSED),
        ("ServiceUnavailableForNow", C.UNKNOWN),
        ("TemporaryGlitch", C.UNKNOWN),
        ("OddError", C.UNKNOWN),
    ],
)
def test_the_name_of_an_unknown_class_stops_but_never_retries(
    name: str, expected: ErrorClass
) -> None:
    assert _raised(name) == expected


def test_what_a_class_says_comes_before_its_name() -> None:
    assert _raised("CredentialsError", "the order is already closed") == C.BUSINESS_REJECTED


def test_an_error_of_a_command_inside_a_script_is_that_command_s() -> None:
    name = {"__module__": "redis.exceptions"}
    error = type("ResponseError", (Exception,), name)(
        "Error running script (call to f_1): @user_script:18: -READONLY You can't write"
    )
    failure = classify(error)
    assert (failure.error_class, failure.may_have_executed) == (C.TRANSIENT, "maybe")


def test_a_broken_record_of_tls_may_have_come_after_the_request() -> None:
    for text in ("[SSL: SSLV3_ALERT_BAD_RECORD_MAC] sslv3 alert bad record mac", "bad record mac"):
        failure = classify(http(500, text))
        assert (failure.error_class, failure.may_have_executed) == (C.IN_DOUBT_TIMEOUT, "maybe")


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ('{"invalidFields": [{"name": "amount", "message": "is invalid"}]}', ("amount",)),
        (
            '{"message": "The values are invalid: [{\\"name\\": \\"email\\", \\"m\\": 1}]"}',
            ("email",),
        ),
        ('{"message": "Invalid: [{\\"path\\": [\\"a\\", \\"b\\"]}]"}', ("a.b",)),
        ('{"message": "Missing required fields"}', ()),
        ('{"message": "Country field is missing, Name field is missing"}', ("country", "name")),
    ],
)
def test_fields_are_found_where_services_put_them(body: str, fields: tuple[str, ...]) -> None:
    assert classify(http(422, body)).fields == fields
