"""What stands in a sentence beside its words: codes, classes, answers, guesses, and who is to act."""

from typing import Any

import pytest

from ukemi import ErrorClass
from ukemi.supervisor.classify import classify
from ukemi.supervisor.classifying.hints import without_guesses

C = ErrorClass


def said(text: str) -> ErrorClass:
    return classify({"form": "text", "text": text}).error_class


def raised(name: str, message: str, module: str = "vendor.errors", **attrs: Any) -> ErrorClass:
    error = type(name, (Exception,), {"__module__": module})(message)
    for key, value in attrs.items():
        setattr(error, key, value)
    return classify(error).error_class


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("insert failed (SQLSTATE 23505)", C.BUSINESS_REJECTED),
        ("ERROR 1213 (40001): something about a row", C.TRANSIENT),
        ("ORA-00604: recursive\nORA-01653: no extent", C.RESOURCE_EXHAUSTED),
        ("ORA-20017: the order is on its way", C.BUSINESS_REJECTED),
        ("ACCESS_REFUSED - the exchange 'refunds' refused it", C.PERMISSION_DENIED),
        ("rpc error: code = PermissionDenied desc = no", C.PERMISSION_DENIED),
        ("a.b.SomeAuthorizationFailedException: for topic x", C.PERMISSION_DENIED),
        ("the call failed [ORDER_ALREADY_CLOSED]", C.BUSINESS_REJECTED),
        ('got 401: b\'{"error": "invalid_token"}\' <Response [401]>', C.PERMISSION_DENIED),
        ("answer {'code': -1, 'message': 'insufficient stock'}", C.BUSINESS_REJECTED),
    ],
)
def test_a_code_in_a_sentence_is_a_code(text: str, expected: ErrorClass) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    "text",
    ["[QUERY_QUEUE_FULL]", "a.b.TryAgainException: odd", "NODE_DOWN: odd"],
)
def test_nothing_is_repeated_for_a_mere_name(text: str) -> None:
    assert said(text) not in (C.TRANSIENT, C.RATE_LIMITED)


def test_odbc_and_oracle_speak_by_number_then_state_then_words() -> None:
    head = "[Driver][SQL Server]"
    told = f"('42000', \"[42000] {head}odd (229) (SQLExecDirectW)\")"
    assert raised("ProgrammingError", told, "pyodbc") == C.PERMISSION_DENIED
    told = f"('08S01', '[08S01] {head}odd (0) (SQLExecDirectW)')"
    assert raised("OperationalError", told, "pyodbc") == C.IN_DOUBT_TIMEOUT
    told = f"('HY000', '[HY000] {head}there was a deadlock (0) (SQLExecDirectW)')"
    assert raised("Error", told, "pyodbc") == C.TRANSIENT


def test_the_reply_of_ftp_is_no_status_of_http() -> None:
    assert raised("error_temp", "426 odd", "ftplib") == C.IN_DOUBT_TIMEOUT
    assert raised("error_perm", "530 odd", "ftplib") == C.PERMISSION_DENIED


def test_a_cause_that_is_guessed_does_not_outweigh_what_is_said() -> None:
    text = "No reply from the bus. Possible causes include: access denied by the policy."
    assert said(text) == C.IN_DOUBT_TIMEOUT
    assert said("It is closed. In most cases you do not have access\nto the server.") != C.TRANSIENT
    assert said("Odd. This may be a wrong API key.") == C.PERMISSION_DENIED


def test_that_something_may_have_been_done_is_no_guess() -> None:
    text = "connection refused. it could be that the payment was executed."
    assert "executed" in without_guesses(text)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            '{"error": {"message": {"lang": "en", "value": "Project is being edited by X"}}}',
            C.TRANSIENT,
        ),
        ('{"o:errorDetails": [{"o:errorCode": "RECORD_ALREADY_CLOSED"}]}', C.BUSINESS_REJECTED),
        ('{"errors": {"tag": ["has already been taken"]}}', C.BUSINESS_REJECTED),
        ('{"messages": "The item is not available for checkout"}', C.BUSINESS_REJECTED),
        ('{"message": "The item isn\'t available for purchase"}', C.BUSINESS_REJECTED),
    ],
)
def test_answers_of_other_shapes_are_read(body: str, expected: ErrorClass) -> None:
    record: dict[str, Any] = {"form": "http", "status": 400, "headers": {}, "body": body}
    assert classify(record).error_class == expected


@pytest.mark.parametrize(
    ("one", "expected", "other", "second"),
    [
        (
            "the plan is missing",
            C.PERMISSION_DENIED,
            "the field plan is missing",
            C.INVALID_ARGUMENT,
        ),
        (
            "The lot must not leave the house",
            C.UNKNOWN,
            "name must not be empty",
            C.INVALID_ARGUMENT,
        ),
        ("account limit reached", C.PERMISSION_DENIED, "request limit reached", C.RATE_LIMITED),
        ("no rooms left", C.BUSINESS_REJECTED, "no version found for left-pad", C.INVALID_ARGUMENT),
        (
            "session timed out",
            C.PERMISSION_DENIED,
            "request timeout. see the session's settings",
            C.IN_DOUBT_TIMEOUT,
        ),
        (
            "odd, ask your administrator",
            C.PERMISSION_DENIED,
            "odd, ask your customer",
            C.UNKNOWN,
        ),
    ],
)
def test_of_what_a_word_is_said_decides(
    one: str, expected: ErrorClass, other: str, second: ErrorClass
) -> None:
    assert said(one) == expected
    assert said(other) == second


def test_a_403_that_denies_a_right_by_code_is_not_a_rule_by_words() -> None:
    body = '{"error": "client_not_authorized", "detail": "No order for this service exists"}'
    record: dict[str, Any] = {"form": "http", "status": 403, "headers": {}, "body": body}
    assert classify(record).error_class == C.PERMISSION_DENIED
