"""What each failure leads to: the table, and laws over all combinations."""

from itertools import product
from operator import attrgetter

import pytest
from msgspec import Struct

from ukemi import ErrorClass, Failure, Policy, Traits
from ukemi.supervisor.decide import (
    Conclude,
    Correct,
    Directive,
    HandOver,
    History,
    PassThrough,
    Prune,
    Retry,
    decide,
    wait_s,
)
from ukemi.supervisor.errors import MayHaveExecuted
from ukemi.supervisor.failure import MODEL_TRAITS
from ukemi.supervisor.policy_failures import CorrectionPolicy, OverflowPolicy, RetryPolicy

C = ErrorClass
READ = Traits(safe_to_retry=True)
MODEL = MODEL_TRAITS
KEYED = Traits(accepts_key=True)
UNSAFE = Traits()
EXECUTED: tuple[MayHaveExecuted, ...] = ("no", "maybe", "yes")
POLICY = Policy()
UNKNOWN_DETAIL = "an error nobody recognises is never retried"


def failure(
    error_class: ErrorClass, executed: MayHaveExecuted = "maybe", wait: float | None = None
) -> Failure:
    return Failure(error_class=error_class, may_have_executed=executed, retry_after=wait)


class Case(Struct):
    rule: str
    failure: Failure
    traits: Traits
    expected: type[Directive]
    reason: str | None = None
    history: History = History()


CASES = [
    Case("a read is tried again", failure(C.TRANSIENT), READ, Retry),
    Case("a keyed write is tried again", failure(C.TRANSIENT), KEYED, Retry),
    Case(
        "an unsafe write that certainly did not execute too",
        failure(C.TRANSIENT, "no"),
        UNSAFE,
        Retry,
    ),
    Case(
        "an unsafe write that may have executed goes to a person",
        failure(C.TRANSIENT),
        UNSAFE,
        HandOver,
        "in_doubt",
    ),
    Case("rate limits are waited out", failure(C.RATE_LIMITED, "no"), UNSAFE, Retry),
    Case("a timed-out read is tried again", failure(C.IN_DOUBT_TIMEOUT), READ, Retry),
    Case(
        "a timed-out write is in doubt", failure(C.IN_DOUBT_TIMEOUT), UNSAFE, HandOver, "in_doubt"
    ),
    Case(
        "the attempt cap ends it",
        failure(C.TRANSIENT),
        READ,
        HandOver,
        "blocked",
        History(attempts=4),
    ),
    Case(
        "the time budget is checked before sleeping",
        failure(C.TRANSIENT),
        READ,
        HandOver,
        "blocked",
        History(attempts=2, elapsed_s=119.9),
    ),
    Case(
        "a server's wait past the budget ends it at once",
        failure(C.RATE_LIMITED, "no", 600.0),
        READ,
        HandOver,
        "blocked",
    ),
    Case(
        "wrong arguments go back to the model", failure(C.INVALID_ARGUMENT, "no"), UNSAFE, Correct
    ),
    Case(
        "three corrections in a row are enough",
        failure(C.INVALID_ARGUMENT, "no"),
        UNSAFE,
        HandOver,
        "planning",
        History(corrections=3),
    ),
    Case(
        "a missing right needs a person", failure(C.PERMISSION_DENIED), READ, HandOver, "permission"
    ),
    Case(
        "wrong arguments of a write that may have taken effect are in doubt",
        failure(C.INVALID_ARGUMENT),
        UNSAFE,
        HandOver,
        "in_doubt",
    ),
    Case("a business rule concludes", failure(C.BUSINESS_REJECTED), READ, Conclude),
    Case("refused content concludes", failure(C.CONTENT_REFUSED), READ, Conclude),
    Case(
        "content is refused to the model once",
        failure(C.CONTENT_REFUSED),
        READ,
        HandOver,
        "blocked",
        History(conclusions=1),
    ),
    Case(
        "a model that runs against business rules is stopped",
        failure(C.BUSINESS_REJECTED),
        READ,
        HandOver,
        "blocked",
        History(conclusions=10),
    ),
    Case("no progress needs a person", failure(C.PLANNING), READ, HandOver, "planning"),
    Case("a conversation that is too long is pruned", failure(C.CONTEXT_OVERFLOW), MODEL, Prune),
    Case(
        "again, if the model has not answered since",
        failure(C.CONTEXT_OVERFLOW),
        MODEL,
        Prune,
        history=History(prunes=1, attempts=9),
    ),
    Case(
        "prunes that do not help need a person",
        failure(C.CONTEXT_OVERFLOW),
        MODEL,
        HandOver,
        "context",
        History(prunes=2),
    ),
    Case(
        "a tool's request that is too large is made smaller",
        failure(C.CONTEXT_OVERFLOW),
        READ,
        Correct,
    ),
    Case(
        "three times in a row",
        failure(C.CONTEXT_OVERFLOW),
        READ,
        HandOver,
        "context",
        History(corrections=3),
    ),
    Case(
        "a write that was too large and may have taken effect is not sent again, however small",
        failure(C.CONTEXT_OVERFLOW),
        UNSAFE,
        HandOver,
        "in_doubt",
    ),
    Case("a bug needs a person", failure(C.BUG), READ, HandOver, "bug"),
    Case(
        "an exhausted machine needs a person", failure(C.RESOURCE_EXHAUSTED), READ, HandOver, "bug"
    ),
    Case(
        "the unknown is reported, never retried",
        failure(C.UNKNOWN, "no"),
        READ,
        HandOver,
        "unknown",
    ),
    Case("cancellation passes through", failure(C.CANCELLED), READ, PassThrough),
    Case(
        "a cancelled write that may have taken effect is in doubt all the same",
        failure(C.CANCELLED),
        UNSAFE,
        HandOver,
        "in_doubt",
    ),
    Case(
        "and one that is safe to repeat, where it would be undone",
        failure(C.CANCELLED),
        Traits(safe_to_retry=True, undone=True),
        HandOver,
        "in_doubt",
    ),
    Case(
        "so is a keyed one: it is not repeated, and the model's next call has another key",
        failure(C.CANCELLED),
        KEYED,
        HandOver,
        "in_doubt",
    ),
    Case(
        "nobody amends a request that a program makes",
        failure(C.INVALID_ARGUMENT),
        MODEL,
        HandOver,
        "bug",
    ),
    Case(
        "however many corrections there were",
        failure(C.INVALID_ARGUMENT, "no"),
        MODEL,
        HandOver,
        "bug",
        History(corrections=3),
    ),
    Case(
        "a model request that the other side cancelled has no answer to go on with",
        failure(C.CANCELLED),
        MODEL,
        HandOver,
        "blocked",
    ),
    Case("a model is told of a refusal once", failure(C.CONTENT_REFUSED), MODEL, Conclude),
    Case(
        "and a person then",
        failure(C.CONTENT_REFUSED),
        MODEL,
        HandOver,
        "blocked",
        History(conclusions=1),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=attrgetter("rule"))
def test_decide(case: Case) -> None:
    directive = decide(case.failure, case.traits, case.history, POLICY, roll=0.5)
    assert isinstance(directive, case.expected)
    if isinstance(directive, HandOver):
        assert directive.reason == case.reason
        assert directive.detail


EVERYTHING = list(product(ErrorClass, EXECUTED, (READ, KEYED, UNSAFE), range(1, 6), (0.0, 0.99)))


def test_an_unsafe_call_that_may_have_executed_is_never_retried() -> None:
    for error_class, executed, traits, attempts, roll in EVERYTHING:
        if executed == "no" or traits.repeatable:
            continue
        history = History(attempts=attempts)
        directive = decide(failure(error_class, executed), traits, history, POLICY, roll)
        assert not isinstance(directive, Retry), (error_class, executed, traits)


def test_a_model_request_is_never_amended_or_passed_over() -> None:
    """There is no tool result to put it into, and no answer to go on with."""
    for error_class, executed, attempts in product(ErrorClass, EXECUTED, range(1, 6)):
        history = History(attempts=attempts)
        directive = decide(failure(error_class, executed), MODEL, history, POLICY, 0.5)
        assert not isinstance(directive, Correct | PassThrough), error_class


def test_a_wrong_model_request_names_a_few_of_the_fields_at_fault() -> None:
    wrong = Failure(error_class=C.INVALID_ARGUMENT, fields=tuple("abcdefgh"))
    directive = decide(wrong, MODEL, History(), POLICY, 0.5)
    assert isinstance(directive, HandOver)
    assert directive.detail.endswith("; at fault: a, b, c, d, e")
    assert directive.alert_every_s == POLICY.bug.alert_every_s


def test_only_passing_failures_are_ever_retried() -> None:
    passing = {C.TRANSIENT, C.RATE_LIMITED, C.IN_DOUBT_TIMEOUT}
    retried = {
        error_class
        for error_class, executed, traits, attempts, roll in EVERYTHING
        if isinstance(
            decide(
                failure(error_class, executed), traits, History(attempts=attempts), POLICY, roll
            ),
            Retry,
        )
    }
    assert retried == passing


def test_a_call_in_doubt_is_neither_repeated_nor_amended_nor_passed_over() -> None:
    """Whatever would let an equal or an amended call run needs the certainty that this one did not."""
    for error_class, executed, traits, attempts, roll in EVERYTHING:
        if executed == "no" or traits.repeatable:
            continue
        directive = decide(
            failure(error_class, executed), traits, History(attempts=attempts), POLICY, roll
        )
        assert not isinstance(directive, Retry | Correct | PassThrough), (error_class, executed)


def test_the_unknown_is_never_retried_under_any_policy() -> None:
    generous = RetryPolicy(attempts_max=None, time_budget_s=None, delay_s_first=0.0)
    policy = Policy(transient=generous, rate_limited=generous, in_doubt_timeout=generous)
    for executed, traits, wait in product(EXECUTED, (READ, KEYED, UNSAFE), (None, 0.0, 5.0)):
        directive = decide(failure(C.UNKNOWN, executed, wait), traits, History(), policy, 0.5)
        assert directive == HandOver("unknown", UNKNOWN_DETAIL, 60.0)


@pytest.mark.parametrize("error_class", list(ErrorClass), ids=str)
def test_alerts_are_for_what_somebody_must_mend(error_class: ErrorClass) -> None:
    directive = decide(failure(error_class), READ, History(attempts=4, corrections=3), POLICY, 0.0)
    alerting = {C.PERMISSION_DENIED, C.BUG, C.RESOURCE_EXHAUSTED, C.UNKNOWN}
    alert = isinstance(directive, HandOver) and directive.alert_every_s == 60.0
    assert alert == (error_class in alerting)


JITTERS = (0.0, 0.25, 0.5, 1.0)


@pytest.mark.parametrize("wait", [None, 0.0, 0.5, 7.0, 29.0, 100.0])
@pytest.mark.parametrize("jitter", JITTERS)
def test_no_wait_before_the_servers_own(wait: float | None, jitter: float) -> None:
    policy = RetryPolicy(jitter=jitter)
    for attempts in range(1, 80):
        for roll in (0.0, 0.5, 0.999):
            assert wait_s(wait, attempts, policy, roll) >= (wait or 0.0)


@pytest.mark.parametrize("hint", [0.0, 0.001, 0.5])
def test_a_hint_never_shortens_the_wait(hint: float) -> None:
    for jitter, attempts, roll in product(JITTERS, range(1, 20), (0.0, 0.5, 0.999)):
        policy = RetryPolicy(jitter=jitter)
        assert wait_s(hint, attempts, policy, roll) >= wait_s(None, attempts, policy, roll)


def test_waits_still_spread_at_the_cap() -> None:
    policy = RetryPolicy(delay_s_first=1.0, delay_s_max=30.0)
    waits = {wait_s(None, 50, policy, roll / 10) for roll in range(10)}
    assert len(waits) == 10 and max(waits) <= 30.0 and min(waits) >= 15.0


def test_no_wait_of_our_own_is_above_the_cap_however_many_attempts() -> None:
    for jitter, attempts in product(JITTERS, (1, 5, 60, 1_000_000)):
        policy = RetryPolicy(jitter=jitter, delay_s_max=30.0)
        assert 0.0 <= wait_s(None, attempts, policy, 0.999) <= 30.0


def test_waits_never_outgrow_the_time_budget() -> None:
    """Neither our own waits nor those a server asks for, from wherever the call stands."""
    for attempts, elapsed_s, roll, hint, jitter in product(
        range(1, 20), (0.0, 50.0, 119.0), (0.0, 0.999), (None, 3.0, 90.0, 1e300), JITTERS
    ):
        each = RetryPolicy(attempts_max=None, time_budget_s=120.0, jitter=jitter)
        policy = Policy(transient=each, rate_limited=each, in_doubt_timeout=each)
        history = History(attempts=attempts, elapsed_s=elapsed_s)
        for error_class in (C.TRANSIENT, C.RATE_LIMITED, C.IN_DOUBT_TIMEOUT):
            directive = decide(failure(error_class, "no", hint), READ, history, policy, roll)
            if isinstance(directive, Retry):
                assert elapsed_s + directive.delay_s <= 120.0
                assert directive.delay_s >= (hint or 0.0)
            else:
                assert isinstance(directive, HandOver) and "time budget" in directive.detail


def test_a_whole_series_stays_within_attempts_and_time() -> None:
    """Attempt after attempt, as the shell makes them: 4 attempts, 120 seconds, whatever is rolled."""
    for roll in (0.0, 0.3, 0.999):
        attempts, elapsed_s = 1, 0.0
        while True:
            history = History(attempts=attempts, elapsed_s=elapsed_s)
            directive = decide(failure(C.TRANSIENT), READ, history, POLICY, roll)
            if not isinstance(directive, Retry):
                break
            attempts += 1
            elapsed_s += directive.delay_s
        assert attempts == 4
        assert elapsed_s <= 7.0


def test_no_limit_means_no_limit() -> None:
    policy = Policy(invalid_argument=CorrectionPolicy(corrections_max=None))
    history = History(corrections=1000)
    directive = decide(failure(C.INVALID_ARGUMENT, "no"), UNSAFE, history, policy, 0.0)
    assert directive == Correct(None)


def test_a_prune_takes_what_the_refusal_tells() -> None:
    policy = Policy(context_overflow=OverflowPolicy(keep_share=0.4))
    told = Failure(
        error_class=C.CONTEXT_OVERFLOW, message="prompt is too long: 250000 tokens > 200000 maximum"
    )
    assert decide(told, MODEL, History(), policy, 0.0) == Prune(0.4, 0.8, 200_000)
    silent = failure(C.CONTEXT_OVERFLOW)
    assert decide(silent, MODEL, History(), policy, 0.0) == Prune(0.4)


def test_no_prune_where_the_policy_has_none() -> None:
    policy = Policy(context_overflow=OverflowPolicy(prunes_max=0, alert=True))
    directive = decide(failure(C.CONTEXT_OVERFLOW), MODEL, History(), policy, 0.0)
    assert isinstance(directive, HandOver)
    assert (directive.reason, directive.alert_every_s) == ("context", 60.0)
