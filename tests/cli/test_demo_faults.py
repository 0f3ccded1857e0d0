"""The demo's supplier that goes wrong: what it answers, what it is taken for, what the table says."""

import http.client
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from ukemi import ErrorClass, classify
from ukemi.actors.model import AssistantMessage, ModelRequest, ToolMessage, UserMessage
from ukemi.cli.demo_agents import ShopError, post_order
from ukemi.cli.demo_failures import (
    Met,
    class_counts,
    failures_table,
    met_in,
    not_as_expected,
    unknown_retried,
)
from ukemi.cli.demo_faults import ASKED_UNITS, MEETINGS, Meeting, fault_task, say_clerk
from ukemi.cli.demo_service import FAULTS, OrderBook, order_service
from ukemi.cli.terminal import Terminal
from ukemi.stores.base import Facts, Head
from ukemi.stores.records import Retried, ToolCall

C = ErrorClass

# ---------------------------------------------------------------- the supplier


def test_every_fault_has_its_session_and_no_fault_twice() -> None:
    assert sorted(each.sku for each in MEETINGS) == sorted(FAULTS)
    assert len({each.session for each in MEETINGS}) == len(MEETINGS)


@pytest.mark.realtime
@pytest.mark.parametrize("meeting", MEETINGS, ids=[each.session for each in MEETINGS])
def test_what_the_client_raises_gets_the_class_of_the_fault(meeting: Meeting) -> None:
    """Over a real socket, by a client that knows of no classes."""
    with order_service() as (service, book):
        with pytest.raises((ShopError, http.client.HTTPException, OSError)) as raised:
            post_order(service, meeting.order, meeting.sku, ASKED_UNITS, "key")
        failure = classify(raised.value)
        assert failure.error_class == meeting.error_class
        assert [each.order for each in book.bookings] == (
            [meeting.order] if meeting.sku == "H-000" else []
        )
        if meeting.error_class is C.RATE_LIMITED:
            assert failure.retry_after == 1.0
        if meeting.error_class is C.INVALID_ARGUMENT:
            assert failure.fields == ("units",)


@pytest.mark.realtime
def test_an_order_that_was_booked_without_an_answer_is_booked_once() -> None:
    with order_service() as (service, book):
        with pytest.raises(http.client.RemoteDisconnected):
            post_order(service, "a", "H-000", 1, "key")
        assert post_order(service, "a", "H-000", 1, "key") == book.bookings[0].number
        assert (len(book.bookings), book.repeats) == (1, 1)


def test_faults_pass_for_each_order_alone_or_never() -> None:
    book = OrderBook()
    assert [bool(book.fault("a", "U-503", 1)) for _ in range(4)] == [True, True, False, False]
    assert book.fault("b", "U-503", 1) is FAULTS["U-503"]
    assert all(book.fault("c", "P-403", 1) for _ in range(10))
    assert book.fault("d", "A-400", 51) and not book.fault("d", "A-400", 50)
    assert book.fault("e", "A-17", 1) is None


# ---------------------------------------------------------------- the clerk


def play(answers: Callable[[dict[str, Any]], tuple[str, bool]], sku: str = "A-17") -> list[Any]:
    """Play the clerk's script; ``answers`` gives a call's result and whether it is an error."""
    messages: list[Any] = [UserMessage(fault_task(Meeting("s", sku, C.UNKNOWN, False)))]
    said: list[Any] = []
    while len(said) < 10:
        request = ModelRequest(session_id="s", instructions="", messages=messages)
        said.append(say_clerk(request))
        if not isinstance(said[-1], ToolCall):
            return said
        text, is_error = answers(json.loads(said[-1].arguments))
        messages += [
            AssistantMessage("", (said[-1],)),
            ToolMessage(said[-1].id, said[-1].name, text, is_error=is_error),
        ]
    raise AssertionError("the script does not end")


def test_a_clerk_orders_once_and_says_the_number() -> None:
    assert play(lambda _: ("K-0001", False))[1:] == ["Ordered: sa is K-0001"]


def test_a_clerk_takes_as_many_as_the_supplier_gives() -> None:
    asked: list[int] = []

    def answer(arguments: dict[str, Any]) -> tuple[str, bool]:
        asked.append(arguments["units"])
        return ("K-1", False) if arguments["units"] <= 50 else ("units: must be at most 50", True)

    assert play(answer)[-1] == "Ordered: sa is K-1, 50 units, the most that the supplier takes"
    assert asked == [ASKED_UNITS, 50]


def test_a_clerk_that_is_refused_reports_it_and_does_not_ask_for_ever() -> None:
    assert len(play(lambda _: ("no", True))) == 2
    assert len(play(lambda _: ("at most 3", True))) == 3
    assert (
        play(lambda _: ("no\nadvice", True))[-1] == "blocked, because the supplier refused sa: no"
    )


# ---------------------------------------------------------------- the table


def failed(number: int, error_class: str, directive: str, index: int = 0, n: int = 2) -> Retried:
    return Retried(n, index, number, error_class, 0.1, 0.1, f"said {number}", directive=directive)


def head(session: str, status: Any = "completed", reason: str | None = None) -> Head:
    facts = Facts(agent="clerk", reason=reason)
    return Head(
        session_id=session, status=status, seq=1, counter=1, epoch=1, owner=None, facts=facts
    )


def test_attempts_of_one_call_are_one_line_and_other_classes_and_calls_have_their_own() -> None:
    records = [
        failed(1, "transient", "retry"),
        failed(2, "transient", "retry"),
        failed(3, "unknown", "hand_over"),
        failed(1, "transient", "retry", index=1),
        failed(1, "rate_limited", "retry", index=-1),  # the model's own
    ]
    met = met_in("s", records, head("s", "handed_over", "unknown"))
    assert [(each.said, each.error_class, each.directives) for each in met] == [
        ("said 1", "transient", ("retry", "retry")),
        ("said 3", "unknown", ("hand_over",)),
        ("said 1", "transient", ("retry",)),
    ]
    assert {(each.status, each.reason) for each in met} == {("handed_over", "unknown")}
    assert class_counts(met) == {"transient": 3, "unknown": 1}
    assert unknown_retried(met) == 0
    assert unknown_retried(met_in("s", [failed(1, "unknown", "retry")] * 2, head("s"))) == 2


def as_met() -> list[Met]:
    return [
        Met(
            session=each.session,
            said="status",
            error_class=each.error_class.value,
            directives=("retry",),
            status="completed",
        )
        for each in MEETINGS
    ]


def test_a_fault_that_was_not_met_or_got_another_class_is_named() -> None:
    assert not_as_expected(as_met()) == []
    assert not_as_expected(as_met()[1:]) == [MEETINGS[0].session]
    assert not_as_expected([]) == [each.session for each in MEETINGS]
    other = [*as_met()[1:], msgspec.structs.replace(as_met()[0], error_class="bug")]
    assert not_as_expected(other) == [MEETINGS[0].session]
    assert not_as_expected([*as_met(), *other]) == [MEETINGS[0].session]


def test_the_table_shows_failure_class_directive_and_outcome() -> None:
    records = [
        failed(1, "transient", "retry"),
        failed(2, "transient", "retry"),
        failed(3, "transient", "hand_over"),
    ]
    met = met_in("s", records, head("s", "handed_over", "blocked"))
    shown = failures_table(met, Terminal(drawing=False)).splitlines()
    assert shown[0].split() == ["SESSION", "FAILURE", "CLASS", "DIRECTIVE", "OUTCOME"]
    line = " ".join(shown[1].split())
    assert line == "s said 1 transient retry x2, then hand over handed over (blocked)"
