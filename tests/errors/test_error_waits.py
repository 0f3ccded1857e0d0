# ruff: noqa: RUF001 - the punctuation of Chinese
"""Waits: every form services use, and nothing taken for one that is none."""

from typing import Any

import pytest

from ukemi import ErrorClass
from ukemi.supervisor.classify import classify
from ukemi.supervisor.classifying.waits import Moment, duration, header_wait, text_wait

T0 = 1792051200.0  # 2026-10-15T08:00:00Z
NOW = Moment(1768435200.0)  # 2026-01-15T00:00:00Z


def limited(body: str = "", **headers: str) -> float | None:
    """The wait of a 429 with these headers and this body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    given = {"form": "http", "status": 429, "headers": named, "body": body}
    failure = classify(given, received_at=T0)
    assert failure.error_class == ErrorClass.RATE_LIMITED
    return failure.retry_after


# Field case RA-02: the header is untrusted input.
RA_02 = [
    ("7", 7),
    ("  12 ", 12),
    ("Thu, 15 Jan 2026 00:00:30 GMT", 30),
    ("Thursday, 15-Jan-26 00:00:30 GMT", 30),
    ("Thu Jan 15 00:00:30 2026", 30),
    ("Wed, 14 Jan 2026 00:00:00 GMT", 0),
    ("0", 0),
    ("-5", None),
    ("", None),
    ("soon", None),
    ("nan", None),
    ("inf", None),
    ("-inf", None),
    ("1e309", None),
    ("Wed, 01 Jan 99999 00:00:00 GMT", None),
    ("Thu, 31 Feb 2026 00:00:00 GMT", None),
    ("Thu, 15 Jan 2026 25:61:00 GMT", None),
    ("\x00\x00", None),
    ("9" * 5_000, None),
]


@pytest.mark.parametrize(("value", "wait"), RA_02, ids=[repr(value)[:40] for value, _ in RA_02])
def test_ra_02_an_untrusted_header_gives_its_wait_or_none(value: str, wait: float | None) -> None:
    assert header_wait({"retry-after": value}, NOW) == wait


def test_ra_02_a_date_far_away_is_longer_than_any_budget() -> None:
    wait = header_wait({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, NOW)
    assert wait is not None
    assert wait > 10 * 365 * 86_400


@pytest.mark.parametrize("value", [value for value, _ in RA_02])
def test_ra_02_the_error_reported_is_the_429(value: str) -> None:
    given = {"form": "http", "status": 429, "headers": {"retry-after": value}, "body": ""}
    assert classify(given).error_class == ErrorClass.RATE_LIMITED


HEADERS: list[tuple[str, dict[str, str], float | None]] = [
    ("milliseconds come first", {"retry_after_ms": "250", "retry_after": "9"}, 0.25),
    ("Azure's milliseconds", {"x_ms_retry_after_ms": "1500"}, 1.5),
    ("a fraction", {"retry_after": "1.5"}, 1.5),
    ("a unit", {"retry_after": "30s"}, 30),
    ("words", {"retry_after": "2 minutes"}, 120),
    ("a date against the answer's own Date", {
        "date": "Thu, 15 Oct 2026 09:00:00 GMT", "retry_after": "Thu, 15 Oct 2026 09:00:10 GMT",
    }, 10),
    ("an ISO date", {"retry_after": "2026-10-15T08:01:00Z"}, 60),
    ("seconds of an empty bucket", {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "12"}, 12),
    ("epoch of an empty bucket", {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1792051260"}, 60),
    ("epoch in milliseconds", {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1792051260000"}, 60),
    ("a bucket that is not empty", {"x_ratelimit_remaining": "7", "x_ratelimit_reset": "12"}, None),
    ("a bucket nobody counts", {"x_ratelimit_reset": "12"}, None),
    ("the longest of two empty buckets", {
        "x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "120ms",
        "x_ratelimit_remaining_tokens": "0", "x_ratelimit_reset_tokens": "1m30s",
    }, 90),
    ("only the bucket that is empty", {
        "x_ratelimit_remaining_requests": "3", "x_ratelimit_reset_requests": "1h",
        "x_ratelimit_remaining_tokens": "0", "x_ratelimit_reset_tokens": "7.66s",
    }, 7.66),
    ("Anthropic's RFC 3339", {
        "anthropic_ratelimit_requests_remaining": "0",
        "anthropic_ratelimit_requests_reset": "2026-10-15T08:00:20Z",
    }, 20),
    ("the structured header", {"ratelimit": '"default";r=0;t=30'}, 30),
    ("the older structured header", {"ratelimit": "limit=100, remaining=0, reset=40"}, 40),
    ("Discord's reset-after", {"x_ratelimit_reset_after": "1.337"}, 1.337),
    ("a negative reset", {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "-3"}, None),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "headers", "wait"), HEADERS, ids=[row[0] for row in HEADERS])
def test_headers(rule: str, headers: dict[str, str], wait: float | None) -> None:
    assert limited("", **headers) == pytest.approx(wait) if wait else limited("", **headers) == wait


BODIES: list[tuple[str, float | None]] = [
    ('{"error": {"details": [{"retryDelay": "13.25s"}]}}', 13.25),
    ('{"error": {"details": [{"retryDelay": {"seconds": 13, "nanos": 250000000}}]}}', 13.25),
    ('{"retry_after": 0.65}', 0.65),
    ('{"retryAfterMs": 1200}', 1.2),
    ('{"error": {"data": {"rate": {"backoff_seconds": 30}}}}', 30),
    ('{"reset_at": 1792051500}', 300),
    ('{"reset_at": 1792051500000}', 300),
    ('{"resetTime": "2026-10-15T16:05:00+08:00"}', 300),
    ('{"retryIn": "PT2M30S"}', 150),
    ('{"reset": 3}', None),
    ('{"retry_after": -1}', None),
    ('{"retry_after": "NaN"}', None),
    ('{"retry_after": true}', None),
    ('{"retry_after": 1e400}', None),
]


@pytest.mark.parametrize(("body", "wait"), BODIES)
def test_bodies(body: str, wait: float | None) -> None:
    assert limited(body) == (pytest.approx(wait) if wait else wait)


def test_the_header_wins_over_the_body() -> None:
    assert limited('{"retry_after": 9}', retry_after="4") == 4


TEXTS: list[tuple[str, float | None]] = [
    ("Please try again in 7m12s", 432),
    ("retry after 20 seconds", 20),
    ("We are back in 15 minutes", 900),
    ("try again in 1 hour and 5 minutes", 3_900),
    ("Quota will be replenished in 00:30:02.", 1_802),
    ("Wait 45 sec.", 45),
    ("This ban will last for 31062 more seconds", 31_062),
    ("resets at 2026-10-15T08:10:00Z", 600),
    ("请30秒后重试", 30),
    ("请在2分钟后再试", 120),
    ("访问超限，60秒内最多10次，请60秒后再试", 60),
    ("限制将于 2026-10-15 16:30:00 解除", 1_800),
    ("limit: 60 requests per 60 seconds", None),
    ("please wait a few minutes", None),
    ("请稍后再试", None),
    ("error 1015", None),
    ("if you created it within the last 5 minutes", None),
    ("每分钟最多20次", None),
]


@pytest.mark.parametrize(("text", "wait"), TEXTS)
def test_words(text: str, wait: float | None) -> None:
    assert text_wait(text, Moment(T0)) == wait


@pytest.mark.parametrize("text", ["1h", "0s", "120ms", "1m30s", "90 min", "2 days", "3分钟"])
def test_a_duration_is_finite_and_not_negative(text: str) -> None:
    wait = duration(text)
    assert wait is not None
    assert 0 <= wait < 1e6


def test_without_a_clock_a_date_is_no_hint() -> None:
    assert header_wait({"retry-after": "Thu, 15 Jan 2026 00:00:30 GMT"}, Moment(None)) is None


@pytest.mark.parametrize("status", [401, 422, 409])
def test_a_wait_on_what_is_not_waited_out_is_not_given(status: int) -> None:
    given: dict[str, Any] = {
        "form": "http",
        "status": status,
        "headers": {"retry-after": "5"},
        "body": "",
    }
    assert classify(given).retry_after is None


def test_a_wait_inside_grpc_details() -> None:
    info = "CAgSE3JhdGUgbGltaXQgZXhjZWVkZWQaNgoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIKCggIDRCAyrXuAQ=="
    attrs = {
        "grpc_code": "RESOURCE_EXHAUSTED",
        "grpc_details": "rate limit exceeded",
        "trailing_metadata": [["grpc-status-details-bin", info]],
    }
    given = {"form": "exception", "exception": {"type": "grpc.RpcError", "attrs": attrs}}
    assert classify(given).retry_after == 13.5
