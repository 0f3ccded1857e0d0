"""What the model is told of a failure: labelled, bounded, without credentials."""

from operator import attrgetter

import pytest
from msgspec import Struct

from ukemi import ErrorClass, Failure
from ukemi.actors.handover.wording import MESSAGE_MAX, cleaned, clipped, failed, retried, sentence
from ukemi.actors.scrub import scrub
from ukemi.actors.secrets import Mask
from ukemi.supervisor.decide import (
    Conclude,
    Correct,
    Directive,
    HandOver,
    PassThrough,
    Retry,
)

C = ErrorClass


AGAIN = "the call was cancelled from outside; it did not run; call again if it is still wanted"


class Told(Struct):
    rule: str
    failure: Failure
    directive: Directive
    lines: list[str]
    attempts: int = 1


TOLD = [
    Told(
        "wrong arguments: which, how many tries are left, what to do",
        Failure(error_class=C.INVALID_ARGUMENT, message="no such SKU", fields=("sku", "items[0]")),
        Correct(2),
        [
            "error (invalid_argument): no such SKU",
            "arguments at fault: sku, items[0]",
            "corrections left: 2",
            "advice: correct the arguments and call again",
        ],
    ),
    Told(
        "no limit of corrections is not told",
        Failure(error_class=C.INVALID_ARGUMENT, message="no"),
        Correct(None),
        ["error (invalid_argument): no", "advice: correct the arguments and call again"],
    ),
    Told(
        "used-up attempts",
        Failure(error_class=C.TRANSIENT, message="busy"),
        HandOver("blocked", "4 attempts"),
        [
            "error (transient): busy",
            "attempts: 4 made, none left",
            "advice: none is needed from you; a person has been asked (blocked)",
        ],
        attempts=4,
    ),
    Told(
        "without a message the type is told",
        Failure(error_class=C.BUG, type_name="TypeError"),
        HandOver("bug", ""),
        [
            "error (bug): TypeError",
            "advice: none is needed from you; a person has been asked (bug)",
        ],
    ),
    Told(
        "cancelled from outside",
        Failure(error_class=C.CANCELLED, message="gone", may_have_executed="no"),
        PassThrough(),
        [
            "error (cancelled): gone",
            f"advice: {AGAIN}",
        ],
    ),
]


@pytest.mark.parametrize("case", TOLD, ids=attrgetter("rule"))
def test_what_the_model_is_told(case: Told) -> None:
    assert failed(case.failure, case.directive, case.attempts).splitlines() == case.lines


def test_a_refusal_says_what_to_answer() -> None:
    told = failed(Failure(error_class=C.BUSINESS_REJECTED, message="sold out"), Conclude())
    assert 'report "blocked, because ..." as your answer' in told


DIRECTIVES: list[Directive] = [
    Retry(1.0),
    Correct(3),
    Conclude(),
    HandOver("bug", "x" * 10_000),
    PassThrough(),
]


@pytest.mark.parametrize("directive", DIRECTIVES, ids=lambda each: type(each).__name__)
def test_whatever_fails_the_model_is_told_little(directive: Directive) -> None:
    """A megabyte of error, thousands of fields: a few thousand characters."""
    huge = Failure(
        error_class=C.UNKNOWN,
        message="head " + "x" * 1_000_000 + " tail",
        fields=tuple(f"field{'x' * 1000}{number}" for number in range(5000)),
    )
    told = failed(huge, directive)
    assert len(told) < 5000
    assert "head" in told
    assert "tail" in told
    assert "and 4980 more" in told


def test_clipped_texts_say_what_is_missing() -> None:
    assert clipped("x" * MESSAGE_MAX) == "x" * MESSAGE_MAX
    assert "[... 1 characters left out ...]" in clipped("x" * (MESSAGE_MAX + 1))


def test_a_record_tells_the_whole_story_of_an_attempt() -> None:
    failure = Failure(
        error_class=C.RATE_LIMITED,
        message="slowly",
        retry_after=90.0,
        evidence=("HTTP status 429", "header Retry-After"),
    )
    waits = retried(2, 0, 1, failure, Retry(91.5), elapsed_s=0.5)
    assert (waits.wait_s, waits.directive, waits.retry_after) == (91.5, "retry", 90.0)
    assert waits.evidence == ("HTTP status 429", "header Retry-After")
    ends = retried(2, 0, 2, failure, HandOver("blocked", "time budget: ..."), elapsed_s=92.0)
    assert (ends.wait_s, ends.directive, ends.detail) == (0.0, "hand_over", "time budget: ...")


# ---------------------------------------------------------------- credentials

SCRUBBED = [
    (
        "client error 400 for url https://api.example.test/v1/items?key=FAKE-KEY-123456&q=1",
        "client error 400 for url https://api.example.test/v1/items?key=***&q=1",
    ),
    ("Authorization: Bearer FAKE-TOK-987", "Authorization: Bearer ***"),
    ("{'Authorization': 'Bearer FAKE-TOK-987'}", "{'Authorization': '***'}"),
    ("authorization=FAKE-TOK-987; x=1", "authorization=***; x=1"),
    ("postgres://app:hunter22@db.internal:5432/x", "postgres://app:***@db.internal:5432/x"),
    ('{"api_key": "abcdef123456", "q": "x"}', '{"api_key": "***", "q": "x"}'),
    ("x-api-key: abcdef123456", "x-api-key: ***"),
    ("?access_token=abcdef&page=2", "?access_token=***&page=2"),
    ("Incorrect API key provided: sk-proj-abcdefghijklmnop1234", "Incorrect API key provided: ***"),
    ("token ghp_abcdefghijklmnopqrstuvwx was revoked", "token *** was revoked"),
    ("user AKIAABCDEFGHIJKLMNOP is unknown", "user *** is unknown"),
]
PLAIN = [
    "server answered 503 for https://api.example.test/v1/items?page=2&q=keys",
    "no such key: 'colour'",
    "KeyError: 'api_key'",
    "missing argument token",
    "insufficient stock for SKU A-17",
    "the session has ended; author unknown",
    "basic auth is not supported",
    "Basic authentication required",
]


@pytest.mark.parametrize(("text", "shown"), SCRUBBED, ids=[text[:30] for text, _ in SCRUBBED])
def test_what_looks_like_a_credential_is_hidden(text: str, shown: str) -> None:
    assert scrub(text) == shown


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_none_stays_readable(text: str) -> None:
    assert scrub(text) == text


def test_scrubbing_is_quick_on_hostile_text() -> None:
    """Linear in what it reads: repeated signs make no expression try everything against everything."""
    for piece in ("://", "key=", "authorization:", "token" * 3, "a:b@", "eyJ."):
        assert scrub(piece * 20_000)


def test_a_failure_is_cleaned_of_both_kinds() -> None:
    failure = Failure(
        error_class=C.UNKNOWN,
        message="known-secret at ?key=FAKE-KEY-123456",
        traceback="Bearer FAKE-TOK-987",
    )
    shown = cleaned(failure, Mask(["known-secret"]))
    assert shown.message == "*** at ?key=***"
    assert shown.traceback == "Bearer ***"


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("found in the list", "found in the list."),
        ("found in the list.", "found in the list."),
        ("found in the list\n", "found in the list."),
        ('it says "sent."', 'it says "sent."'),
        ('{"number": 7}', '{"number": 7}.'),
        ("was it sent?", "was it sent?"),
        ("\u5df2\u53d1\u9001\u3002", "\u5df2\u53d1\u9001\u3002"),
        ("", "."),
    ],
)
def test_what_another_sentence_follows_ends_with_a_stop(text: str, ended: str) -> None:
    assert sentence(text) == ended
