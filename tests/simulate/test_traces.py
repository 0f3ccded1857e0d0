"""A journal read as calls and attempts: what is replayed, what is weather, and how a session ended."""

from collections.abc import Sequence
from typing import Any

import pytest

from ukemi.actors.simulating.seen import Asked
from ukemi.actors.simulating.traces import Record, record_of
from ukemi.stores.records import (
    Answered,
    Ended,
    Intended,
    JournalEntry,
    Opened,
    Resulted,
    Retried,
    Said,
    Spent,
    ToolCall,
    Usage,
)
from ukemi.supervisor.errors import ErrorClass

AT_MS = 1_000_000


def opened() -> list[JournalEntry]:
    return [Opened("buyer", AT_MS, limits={"seconds": 60.0}), Said(1, "go")]


def answered(n: int, *tools: str) -> Answered:
    calls = tuple(ToolCall(f"c{at}", tool) for at, tool in enumerate(tools))
    return Answered(n, calls=calls, model="m", usage=Usage(100, 20))


def result(n: int, at_s: float, index: int = 0, **fields: Any) -> Resulted:
    fields.setdefault("elapsed_s", 0.5)
    return Resulted(n, index, n, "", spent=Spent(seconds=at_s), **fields)


def retried(
    n: int, number: int, at_s: float, wait_s: float, index: int = 0, **fields: Any
) -> Retried:
    fields.setdefault("error_class", "transient")
    fields.setdefault("marks", ("read", "safe"))
    return Retried(
        n,
        index,
        number,
        wait_s=wait_s,
        due_at_ms=AT_MS + round((at_s + wait_s) * 1000),
        **fields,
    )


def ended(status: Any, at_s: float, reason: str = "") -> Ended:
    outcome = {"reason": reason} if reason else {}
    return Ended(status, outcome, Spent(seconds=at_s))


def read(*entries: JournalEntry) -> Record:
    record = record_of("s1", [*opened(), *entries])
    assert record is not None
    return record


def names(steps: Sequence[Asked]) -> list[str]:
    return [each.subject for each in steps]


def test_a_session_without_failures_is_its_calls_and_how_long_each_took() -> None:
    record = read(answered(2, "stock"), result(2, 2.5), answered(3), ended("completed", 4.0))
    trace = record.trace
    assert (trace.at, trace.end, trace.outcome, trace.duration_s) == (
        1000.0,
        "completed",
        "completed",
        4.0,
    )
    assert names(trace.steps) == ["model m", "stock", "model m"]
    assert [each.took_s for each in trace.steps] == pytest.approx([2.0, 0.5, 1.5])
    assert (trace.tokens, trace.calls, trace.wasted, trace.in_doubt) == (240, 3, 0, 0)
    assert trace.limits == {"seconds": 60.0}
    assert {each.weather for each in record.seen} == {"up"}
    begins = sorted(each.begin for each in record.seen)
    assert begins == pytest.approx([1000.0, 1002.0, 1002.5])


def test_failures_that_pass_are_weather_and_no_part_of_the_call() -> None:
    """Attempts at 1 s and 3 s fail within half a second, the one at 6 s is answered at 6.5 s."""
    record = read(
        answered(2, "stock"),
        retried(2, 1, 1.5, 1.5, elapsed_s=0.5, took_s=0.5, upstream="shop"),
        retried(2, 2, 3.5, 2.5, elapsed_s=2.5, took_s=0.5, upstream="shop"),
        result(2, 6.5, attempts=3),
        answered(3),
        ended("completed", 7.0),
    )
    model, call, _ = record.trace.steps
    assert model.took_s == pytest.approx(1.0)
    assert (call.fault, call.took_s) == (None, 0.5)
    begins = [(each.subject, round(each.begin - 1000, 2), each.weather) for each in record.seen]
    assert ("stock", 1.0, "down") in begins
    assert ("stock", 3.0, "down") in begins
    assert ("stock", 6.0, "up") in begins
    assert record.told["stock"].upstream == "shop"
    assert record.told["stock"].traits.safe_to_retry
    assert (record.trace.calls, record.trace.wasted) == (5, 0)


def test_a_call_that_was_given_up_would_have_succeeded_in_fair_weather() -> None:
    last = Retried(2, 0, 2, "transient", 0.0, 2.5, directive="hand_over", took_s=0.5, marks=())
    record = read(
        answered(2, "pay"),
        Intended(2, 0, "pay", "digest"),
        retried(2, 1, 1.5, 1.0, elapsed_s=0.5, took_s=0.5, marks=()),
        last,
        result(2, 3.0, state="failed", error_class="transient", attempts=2, elapsed_s=2.0),
        ended("handed_over", 3.0, "blocked"),
    )
    trace = record.trace
    assert (trace.end, trace.outcome, trace.wasted) == ("open", "blocked", 1)
    assert trace.steps[-1] == Asked("pay", 2)
    assert record.told["pay"].writes and not record.told["pay"].traits.repeatable


def test_errors_that_no_waiting_mends_are_replayed() -> None:
    record = read(
        answered(2, "quote"),
        Retried(
            2, 0, 1, "invalid_argument", 0.0, 0.1, directive="correct", executed="no", marks=()
        ),
        result(2, 1.1, state="failed", error_class="invalid_argument", elapsed_s=0.1),
        answered(3, "quote"),
        result(3, 2.0),
        answered(4),
        ended("completed", 3.0),
    )
    wrong = record.trace.steps[1].fault
    assert wrong is not None
    assert (wrong.error_class, wrong.executed, wrong.ran) == (
        ErrorClass.INVALID_ARGUMENT,
        "no",
        True,
    )
    assert record.trace.steps[3].fault is None


def test_what_never_ran_is_no_call() -> None:
    """Denied by a rule, or not fitting into the budget; wrong arguments are a round all the same."""
    record = read(
        answered(2, "a", "b", "c"),
        result(2, 1.0, state="denied"),
        result(2, 1.0, 1, state="refused", error_class="budget"),
        result(2, 1.0, 2, state="refused", error_class="invalid_argument"),
        ended("handed_over", 1.0, "budget"),
    )
    assert names(record.trace.steps) == ["model m", "c"]
    fault = record.trace.steps[1].fault
    assert fault is not None and not fault.ran


def test_calls_side_by_side_are_told_from_those_behind_each_other() -> None:
    record = read(
        answered(2, "a", "b", "c"),
        result(2, 2.0, 0, elapsed_s=1.0),
        result(2, 1.9, 1, elapsed_s=0.9),
        result(2, 3.0, 2, elapsed_s=1.0),
        ended("completed", 3.0),
    )
    calls = record.trace.steps[1:]
    assert [(each.subject, each.beside) for each in calls] == [
        ("a", False),
        ("b", True),
        ("c", False),
    ]


ENDS: list[tuple[str, list[JournalEntry], str, str]] = [
    (
        "a wrong answer",
        [answered(2), ended("handed_over", 1.0, "mismatch")],
        "handed_over",
        "mismatch",
    ),
    (
        "its own words",
        [answered(2), ended("handed_over", 1.0, "blocked")],
        "handed_over",
        "blocked",
    ),
    (
        "a limit",
        [answered(2, "a"), result(2, 1.0), ended("handed_over", 1.0, "budget")],
        "open",
        "budget",
    ),
    ("cancelled", [answered(2, "a"), ended("stopped", 1.0, "cancelled")], "stopped", "cancelled"),
    ("not ended", [answered(2, "a"), result(2, 1.0)], "open", "unfinished"),
    (
        "the death of a process",
        [
            answered(2, "pay"),
            Intended(2, 0, "pay", "d"),
            result(2, 1.0, state="in_doubt", error_class="in_doubt_timeout"),
            ended("handed_over", 1.0, "in_doubt"),
        ],
        "handed_over",
        "in_doubt",
    ),
]


@pytest.mark.parametrize(
    ("entries", "end", "outcome"), [row[1:] for row in ENDS], ids=[r[0] for r in ENDS]
)
def test_how_a_session_ended(entries: list[JournalEntry], end: str, outcome: str) -> None:
    trace = read(*entries).trace
    assert (trace.end, trace.outcome) == (end, outcome)


def test_what_follows_a_persons_decision_tells_how_it_would_have_gone_on() -> None:
    last = Retried(2, 0, 1, "transient", 0.0, 0.5, directive="hand_over", took_s=0.5, marks=())
    record = read(
        answered(2, "a"),
        last,
        result(2, 1.0, state="failed", error_class="transient"),
        ended("handed_over", 1.0, "blocked"),
        answered(3, "b"),
        result(3, 2.0),
        answered(4),
        ended("completed", 3.0),
    )
    assert names(record.trace.steps) == ["model m", "a"]
    assert names(record.trace.later) == ["model m", "b", "model m"]
    assert record.trace.duration_s == 1.0
    # When that was, nobody knows: people took their time.
    assert max(each.begin for each in record.seen) < 1001.0


def test_records_of_older_versions_are_read() -> None:
    """Without marks, whether it executed, and its own seconds: by the class, an intent, and differences."""
    old: dict[str, Any] = {"marks": None, "error_class": "in_doubt_timeout"}
    record = read(
        answered(2, "pay"),
        Intended(2, 0, "pay", "digest", key="k"),
        retried(2, 1, 3.0, 1.0, elapsed_s=2.0, **old),
        retried(2, 2, 6.0, 1.0, elapsed_s=5.0, **old),
        result(2, 8.0, attempts=3),
        ended("completed", 8.0),
    )
    assert record.told["pay"].traits.accepts_key
    failed = [each for each in record.seen if each.weather == "down"]
    assert [each.took_s for each in failed] == pytest.approx([2.0, 2.0])
    assert {each.executed for each in failed} == {"maybe"}


def test_a_journal_without_a_beginning_is_no_session() -> None:
    assert record_of("s1", []) is None


def test_a_hint_of_the_other_side_and_the_class_go_along() -> None:
    record = read(
        answered(2, "find"),
        retried(
            2, 1, 1.0, 9.0, error_class="rate_limited", elapsed_s=0.1, took_s=0.1, retry_after=9.0
        ),
        result(2, 10.5),
        ended("completed", 10.5),
    )
    (limited,) = [each for each in record.seen if each.weather == "limited"]
    assert (limited.error_class, limited.retry_after) == (ErrorClass.RATE_LIMITED, 9.0)
