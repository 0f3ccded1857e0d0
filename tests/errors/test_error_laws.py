# ruff: noqa: RUF001 - the punctuation of Chinese
"""Laws that hold for every error: codes beat words, the unseen is unknown, input is bounded."""

import itertools
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from errors_score import records

from ukemi import ErrorClass
from ukemi.supervisor.classify import classify
from ukemi.supervisor.classifying.codes import FIRM

C = ErrorClass
RETRIED = (C.TRANSIENT, C.RATE_LIMITED)


def http(status: int, body: object, **headers: str) -> dict[str, Any]:
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"form": "http", "status": status, "headers": named, "body": text}


# One code of each class beside words of another: the code wins.
CODES = {
    "rate_limit_exceeded": C.RATE_LIMITED,
    "insufficient_quota": C.PERMISSION_DENIED,
    "context_length_exceeded": C.CONTEXT_OVERFLOW,
    "content_filter": C.CONTENT_REFUSED,
    "card_declined": C.BUSINESS_REJECTED,
    "missing_required_parameter": C.INVALID_ARGUMENT,
    "IdempotentParameterMismatch": C.BUG,
    "overloaded_error": C.TRANSIENT,
    "timeout_error": C.IN_DOUBT_TIMEOUT,
}
WORDS = [
    "please try again later",
    "invalid api key",
    "your card was declined",
    "系统繁忙，请稍后重试",
    "库存不足",
    "参数错误",
    "read timed out",
]


@pytest.mark.parametrize(("code", "word"), list(itertools.product(CODES, WORDS)))
def test_a_code_that_decides_beats_words(code: str, word: str) -> None:
    for status in (200, 400, 500):
        failure = classify(http(status, {"error": {"code": code, "message": word}}))
        assert failure.error_class == CODES[code]


@pytest.mark.parametrize("status", range(400, 600))
def test_a_polite_phrase_makes_no_4xx_retryable(status: int) -> None:
    """Only the statuses that mean "later" are retried; words alone never make another one so."""
    failure = classify(http(status, {"message": "Please try again later 请稍后重试"}))
    later = (408, 409, 420, 423, 425, 429)
    if status < 500 and status not in later:
        assert failure.error_class not in RETRIED


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("zqx"),
        Exception(),
        type("OddError", (Exception,), {})("blorp"),
        type("Retry", (Exception,), {})("retry"),
        BaseException("x"),
        OSError(),
        OSError(99_999, "odd"),
    ],
    ids=repr,
)
def test_what_nobody_recognises_is_unknown(error: BaseException) -> None:
    assert classify(error).error_class == C.UNKNOWN


def test_a_500_that_says_something_unseen_is_unknown() -> None:
    assert classify(http(500, "the frobnicator is upside down")).error_class == C.UNKNOWN
    assert classify(http(500, "")).error_class == C.TRANSIENT


@pytest.mark.parametrize("name", ["x-should-retry", "stripe-should-retry"])
def test_the_servers_word_against_retrying_counts(name: str) -> None:
    given = http(503, "")
    assert classify(given).error_class == C.TRANSIENT
    given["headers"] = {name: "false"}
    assert classify(given).error_class == C.UNKNOWN
    given["headers"] = {name: "true"}
    assert classify(given).error_class == C.TRANSIENT


ADVERSARIAL: dict[str, Callable[[], Any]] = {
    "a text of 1 MB": lambda: http(500, "retry " * 170_000),
    "1 MB of digits": lambda: http(429, "9" * 1_000_000),
    "1 MB of dates": lambda: http(429, "try again in 1m " * 60_000),
    "1 MB of spaces": lambda: http(500, " " * 1_000_000),
    "1 MB of brackets": lambda: http(500, "[" * 1_000_000),
    "1 MB of tags": lambda: http(500, "<" * 1_000_000),
    "1 MB of quotes": lambda: http(400, "missing parameter '" * 50_000),
    "1 MB of Chinese": lambda: http(500, "请稍后" * 330_000),
    "a deep body": lambda: http(500, '{"error":' * 900 + "1" + "}" * 900),
    "a wide body": lambda: http(500, {str(n): {"message": "x" * 50} for n in range(5_000)}),
    "1 MB in a message": lambda: RuntimeError("x" * 1_000_000),
    "1 MB of traceback": lambda: {
        "form": "text",
        "text": "Traceback (most recent call last)\n" * 30_000,
    },
    "many headers": lambda: http(
        429, "", **{f"x_ratelimit_reset_{n}": "9" * 99 for n in range(999)}
    ),
    "a wide and deep attribute": lambda: _with_body(_tree(30, 4)),
    "an attribute that holds itself": lambda: _with_body(_loop()),
    "a group of groups": lambda: _deep_group(200),
    "a wide group": lambda: ExceptionGroup("g", [OSError(n % 133, "x") for n in range(5_000)]),
}


def _with_body(body: Any) -> BaseException:
    error = RuntimeError("x")
    error.body = body  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    return error


def _tree(width: int, depth: int) -> Any:
    return [_tree(width, depth - 1) for _ in range(width)] if depth else "x"


def _loop() -> Any:
    ring: dict[str, Any] = {}
    ring["error"] = ring
    return ring


def _deep_group(depth: int) -> BaseException:
    errors: list[Exception] = [TimeoutError()]
    for _ in range(depth):
        errors.append(ExceptionGroup("g", [errors[-1]]))
    return errors[-1]


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_any_input_is_answered(name: str) -> None:
    failure = classify(ADVERSARIAL[name](), received_at=1792051200.0)
    assert len(failure.message) <= 2_000
    assert len(failure.fields) <= 20


@pytest.mark.realtime
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_the_time_for_any_input_is_bounded(name: str) -> None:
    """Best of three below 100 ms, for inputs a thousand times the usual length."""
    error = ADVERSARIAL[name]()
    best = min(_seconds(error) for _ in range(3))
    assert best < 0.1


def _seconds(error: Any) -> float:
    start = time.perf_counter()
    classify(error, received_at=1792051200.0)
    return time.perf_counter() - start


def test_causes_that_cause_each_other_come_to_an_end() -> None:
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert classify(first).error_class == C.UNKNOWN
    group = ExceptionGroup("g", [first, second])
    first.__cause__ = group
    assert classify(group).error_class == C.UNKNOWN


class Hostile(Exception):
    """Every attribute that is asked for raises, and so does its text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    @property
    def response(self) -> object:
        raise ValueError("no response")

    @property
    def code(self) -> object:
        raise KeyError("no code")


def test_an_exception_that_fails_to_be_looked_at_is_unknown() -> None:
    assert classify(Hostile()).error_class == C.UNKNOWN


def test_the_answer_does_not_depend_on_the_order_of_keys() -> None:
    for record in records()[::7]:
        given = record["input"]
        body = given.get("body", "")
        if given["form"] != "http" or not body.startswith("{"):
            continue
        turned = {**given, "body": json.dumps(_turned(json.loads(body)), ensure_ascii=False)}
        moment = given["received_at"]
        assert (
            classify(turned, received_at=moment).error_class
            == classify(given, received_at=moment).error_class
        ), record["id"]


def _turned(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _turned(node[key]) for key in reversed(list(node))}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return node


def test_asking_twice_gives_the_same_answer_and_changes_nothing() -> None:
    for record in records()[::11]:
        before = json.dumps(record)
        assert classify(record["input"]) == classify(record["input"])
        assert json.dumps(record) == before


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="form"):
        classify({"form": "smoke signal"})


@pytest.mark.parametrize("separator", ["_", "-", ".", " "])
def test_codes_are_compared_without_case_and_punctuation(separator: str) -> None:
    assert FIRM  # the table is there
    code = separator.join(("Rate", "LIMIT", "exceeded"))
    assert classify(http(400, {"code": code.replace(" ", "")})).error_class == C.RATE_LIMITED
