"""The parts of the demo: its shop, its person, its scripts, its checks."""

import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from ukemi import classify
from ukemi.actors.model import (
    AssistantMessage,
    Message,
    ModelRequest,
    NoteMessage,
    ToolMessage,
    ToolSchema,
    UserMessage,
)
from ukemi.actors.outcome import DoubtfulCall
from ukemi.cli.demo_agents import (
    FIXES,
    ShopError,
    ask_shop,
    buyer_of,
    numbers_of,
    order_session_ids,
    order_task,
    orders_of,
    post_order,
    say_order,
    say_repair,
)
from ukemi.cli.demo_checks import (
    Checks,
    acknowledged_in,
    draw_checks,
    expected_orders,
    lines_of,
    report_of,
)
from ukemi.cli.demo_effects import Effect
from ukemi.cli.demo_errands import ERRANDS, cancelled_orders
from ukemi.cli.demo_failures import Met
from ukemi.cli.demo_faults import MEETINGS
from ukemi.cli.demo_person import look_into
from ukemi.cli.demo_project_copy import copy_project, restore_tests
from ukemi.cli.demo_service import (
    AFTER_BOOKING_S,
    BEFORE_BOOKING_S,
    BUSY_AT_FIRST,
    Booking,
    OrderBook,
    drops_the_absent,
    order_service,
)
from ukemi.cli.demo_stops import Stop, StopKind
from ukemi.cli.demo_watched import LARGE, LEAKING, LYING, WATCHED, Watched
from ukemi.cli.terminal import Terminal
from ukemi.stores.base import Facts, Head
from ukemi.stores.records import SessionStatus, ToolCall

# ---------------------------------------------------------------- the shop


def test_a_repeat_with_the_same_key_is_booked_once() -> None:
    book = OrderBook()
    numbers = [book.book("order-01a", "A-17", 1, key) for key in ("k", "k", "other", None, None)]
    assert numbers == ["K-0001", "K-0001", "K-0002", "K-0003", "K-0004"]
    assert (len(book.bookings), book.repeats) == (4, 1)


@pytest.mark.realtime
def test_the_shop_answers_over_http() -> None:
    with order_service() as (service, book):
        assert ask_shop(service, "GET", "/stock/A-17")["units"] == 100
        number = post_order(service, "order-01a", "A-17", 2, "k")
        assert post_order(service, "order-01a", "A-17", 2, "k") == number
        assert numbers_of(service, "order-01a") == [number]
        assert book.bookings == [Booking("order-01a", "A-17", 2, number, "k")]
        with pytest.raises(ShopError) as busy:
            ask_shop(service, "GET", f"/stock/{BUSY_AT_FIRST}")
        failure = classify(busy.value)
        assert (failure.error_class, failure.retry_after) == ("transient", 0.2)
        assert ask_shop(service, "GET", f"/stock/{BUSY_AT_FIRST}")["units"] == 100
        with pytest.raises(ShopError, match="404"):
            ask_shop(service, "GET", "/nothing")


def hang_up(service: str, order: str) -> None:
    """Send an order and go away before it is answered, as a process that is killed does."""
    host, port = service.removeprefix("http://").split(":")
    body = msgspec.json.encode({"order": order, "sku": "A-17", "units": 1})
    with socket.create_connection((host, int(port))) as connection:
        head = f"POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        # Not before the shop has begun, or it would see no caller at all.
        time.sleep(BEFORE_BOOKING_S / 3)


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("order", "said"),
    [
        ("order-03a", "order-03a was booked after all, its number is K-0001."),
        ("order-06a", "order-06a was not booked; I ordered it by hand, its number is K-0001."),
    ],
)
def test_whatever_became_of_a_cut_off_order_the_person_finds_out(order: str, said: str) -> None:
    """Odd orders are booked without their caller, even ones are dropped: each ends up once."""
    assert drops_the_absent(order) == ("not booked" in said)
    call = DoubtfulCall(
        n=3,
        index=0,
        tool="order_by_form",
        arguments=msgspec.json.encode({"order": order, "sku": "A-17", "units": 1}).decode(),
    )
    with order_service() as (service, book):
        hang_up(service, order)
        began = time.monotonic()
        assert look_into(service, call) == said
        assert time.monotonic() - began < 2 * (BEFORE_BOOKING_S + AFTER_BOOKING_S) + 2.0
        assert [booking.order for booking in book.bookings] == [order]


# ---------------------------------------------------------------- the scripts


def play_order(session_id: str, results: dict[str, str], told: str = "") -> tuple[list[str], str]:
    """Play the buyer's script; returns the orders placed and the answer.

    ``results``: what placing an order returns, where it is not a number of its own.
    """
    messages: list[Message] = [UserMessage(order_task(session_id))]
    placed: list[str] = []
    for turn in range(20):
        request = ModelRequest(
            session_id=session_id,
            instructions="",
            messages=messages,
            tools=(ToolSchema("stock", "", {}), ToolSchema("place_order", "", {})),
        )
        said = say_order(request)
        if isinstance(said, str):
            return placed, said
        assert isinstance(said, ToolCall)
        call = msgspec.structs.replace(said, id=f"c{turn}")
        arguments = msgspec.json.decode(call.arguments)
        result = "100"
        if call.name == "place_order":
            placed.append(arguments["order"])
            result = results.get(arguments["order"], f"K-{turn:04d}")
        cut_off = result.startswith("interrupted")
        messages += [
            AssistantMessage("", (call,)),
            ToolMessage(call.id, call.name, result, is_error=cut_off),
        ]
        if cut_off:
            messages.append(NoteMessage(told))
    raise AssertionError("the script does not end")


def test_a_buyer_places_every_order_once_and_says_the_numbers() -> None:
    placed, answer = play_order("order-05", {"order-05a": "K-0007", "order-05b": "K-0009"})
    assert placed == ["order-05a", "order-05b"]
    assert answer == "Ordered: order-05a is K-0007, order-05b is K-0009"


def test_a_buyer_takes_the_number_of_a_cut_off_order_from_the_person() -> None:
    told = (
        "Call 3.0 place_order did take effect, a person has found: order-05a was not booked; I "
        "ordered it by hand, its number is K-0031. Do not repeat it."
    )
    placed, answer = play_order("order-05", {"order-05a": "interrupted", "order-05b": "K-1"}, told)
    assert placed == ["order-05a", "order-05b"]
    assert answer == "Ordered: order-05a is K-0031, order-05b is K-1"


def test_a_buyer_without_a_number_does_not_claim_success() -> None:
    _, answer = play_order("order-05", {"order-05a": "interrupted"}, "go on")
    assert answer == "blocked, because nobody could say the number of order-05a"


def test_there_are_a_dozen_buyers_of_both_kinds_and_no_order_twice() -> None:
    assert len(order_session_ids()) == 12
    assert {buyer_of(each) for each in order_session_ids()} == {"buyer", "old-form"}
    assert set(Counter(expected_orders()).values()) == {1}
    for session_id in order_session_ids():
        assert len({sku for _, sku, _ in orders_of(session_id)}) == len(orders_of(session_id))


def run_tests_in(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-B", "-m", "unittest"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_demo_project_fails_as_it_is_and_each_fix_is_needed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    copy_project(project)
    assert "failures=4" in run_tests_in(project).stderr
    for path, (old, new) in FIXES.items():
        assert run_tests_in(project).returncode == 1
        file = project / path
        assert file.read_text().count(old) == 1
        file.write_text(file.read_text().replace(old, new))
    ended = run_tests_in(project)
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (0, "OK")


def test_tests_that_were_changed_do_not_count(tmp_path: Path) -> None:
    project = tmp_path / "project"
    copy_project(project)
    for file in (project / "tests").glob("test_*.py"):
        file.write_text("")
    restore_tests(project)
    assert "failures=4" in run_tests_in(project).stderr


def test_the_repairer_claims_success_only_if_the_tests_passed() -> None:
    turns: list[Message] = [UserMessage("repair")]
    for turn in range(11):
        call = ToolCall(f"c{turn}", "run_tests")
        turns += [AssistantMessage("", (call,)), ToolMessage(call.id, "run_tests", "exit status 1")]
    request = ModelRequest(session_id="repair", instructions="", messages=turns)
    assert say_repair(request) == "The tests still fail: exit status 1"
    turns[-1] = ToolMessage("c10", "run_tests", "exit status 0\nOK")
    assert "all tests pass" in str(say_repair(request))


# ---------------------------------------------------------------- the checks


def all_is_well() -> Checks:
    statuses: dict[str, SessionStatus] = dict.fromkeys(
        ["repair", *order_session_ids()], "completed"
    )
    for meeting in MEETINGS:
        statuses[meeting.session] = "completed" if meeting.overcome else "handed_over"
    met = [
        Met(
            session=each.session,
            said="",
            error_class=each.error_class.value,
            directives=("retry",) if each.overcome else ("hand_over",),
            status=statuses[each.session],
        )
        for each in MEETINGS
    ]
    for errand in ERRANDS:
        statuses[errand.session] = "handed_over" if errand.compensated else "completed"
    effects = [
        Effect(
            session=each.session,
            tool=each.tool,
            order=each.orders[0],
            state="compensated" if each.compensated else "succeeded",
            by=each.by,
            asked=each.by == "person",
        )
        for each in ERRANDS
    ]
    for watched in WATCHED:
        statuses[watched.session] = "completed" if watched.completes else "handed_over"
    heads = [
        Head(
            session_id=each,
            status=status,
            seq=5,
            counter=4,
            epoch=2,
            owner=None,
            facts=Facts(agent="buyer"),
        )
        for each, status in statuses.items()
    ]
    bookings = [Booking(each, "A-17", 1, "K", None) for each in expected_orders()]
    bookings += [Booking(each, "A-17", 1, "K", None, True) for each in cancelled_orders()]
    return Checks(
        killed_at=20,
        unfinished={"repair": 1, "order-01": 1},
        heads=heads,
        bookings=bookings,
        met=met,
        effects=effects,
        stops=[
            stop(LARGE, "approval", "approved"),
            stop(LEAKING, "staged", "rejected"),
            stop(LYING, "claim", "not accepted"),
        ],
        copy_untouched=True,
        tests_green=True,
    )


def stop(watched: Watched, kind: StopKind, verdict: str) -> Stop:
    return Stop(
        session=watched.session,
        kind=kind,
        what="",
        verdict=verdict,
        by="",
        status="completed" if watched.completes else "handed_over",
        reason="" if watched.completes else "mismatch",
    )


def test_when_all_is_well_every_check_holds() -> None:
    checks = all_is_well()
    assert checks.hold
    assert msgspec.to_builtins(report_of(checks)) == {
        "sessions": 28,
        "completed": 22,
        "killed_at": 20,
        "resumed": 2,
        "checkpoints_lost": 0,
        "orders_expected": 32,
        "orders_booked": 32,
        "tests_green": True,
        "failures": {
            "transient": 1,
            "rate_limited": 1,
            "in_doubt_timeout": 1,
            "invalid_argument": 1,
            "permission_denied": 1,
            "business_rejected": 2,
            "unknown": 1,
        },
        "unknown_retried": 0,
        "in_doubt_asked": 1,
        "compensated": 1,
        "approvals": 1,
        "staged_rejected": 1,
        "false_claims_caught": 1,
    }


FAULTS: list[tuple[str, dict[str, object], str]] = [
    ("killed before anything", {"killed_at": 0}, "killed at 0 acknowledged checkpoints"),
    ("nothing was left to resume", {"unfinished": {}}, "0 sessions resumed"),
    ("not taken over", {"unfinished": {"repair": 2}}, "0 sessions resumed"),
    ("a checkpoint lost", {"lost": {("repair", 7)}}, "checkpoints lost: 1 (repair #7)"),
    ("a session missing", {"heads": all_is_well().heads[1:]}, "completed: 21 of 28"),
    ("an order missing", {"bookings": all_is_well().bookings[1:]}, "order-01a 0 times"),
    (
        "one order twice, another never",
        {"bookings": [all_is_well().bookings[1], *all_is_well().bookings[1:]]},
        "order-01a 0 times, order-01b 2 times",
    ),
    (
        "an order nobody wanted",
        {"bookings": [*all_is_well().bookings, Booking("extra", "A", 1, "K", None)]},
        "extra 1 times",
    ),
    (
        "a fault that was overcome but should not",
        {"heads": [*all_is_well().heads[:-1], all_is_well().heads[0]]},
        "completed: 23 of 28 sessions, handed over to a person: 5",
    ),
    ("a fault that got no class", {"met": all_is_well().met[1:]}, "7 of 8 (not fault-429)"),
    (
        "an unknown error that was retried",
        {"met": [msgspec.structs.replace(e, directives=("retry",)) for e in all_is_well().met]},
        "8 of 8, unknown retried: 1",
    ),
    (
        "a doubt settled by somebody else",
        {"effects": [msgspec.structs.replace(e, by="late") for e in all_is_well().effects]},
        "not as it should be: no-answer, late-answer, no-key, all-or-none",
    ),
    (
        "a doubt that nobody settled",
        {
            "effects": [
                *all_is_well().effects,
                Effect(session="order-03", tool="t", order="order-03a", state="in_doubt"),
            ]
        },
        "not as it should be: order-03a",
    ),
    (
        "nobody was asked",
        {"effects": [msgspec.structs.replace(e, asked=False) for e in all_is_well().effects]},
        "0 doubts put to a person",
    ),
    (
        "another order cancelled",
        {
            "bookings": [
                *all_is_well().bookings[1:],
                msgspec.structs.replace(all_is_well().bookings[0], cancelled=True),
            ]
        },
        "compensated: 1 effect; cancelled at the shop: 2",
    ),
    ("nobody approved", {"stops": all_is_well().stops[1:]}, "asked about before they ran: 0 calls"),
    (
        "nothing was rejected",
        {"stops": [all_is_well().stops[0], all_is_well().stops[2]]},
        "rejected by a check: 0 staged changes",
    ),
    ("a rejected change is there", {"copy_untouched": False}, "the files are changed all the same"),
    ("a lie that nobody caught", {"stops": all_is_well().stops[:2]}, "audit: 0 false answers"),
    (
        "a lie that was accepted in the end",
        {
            "stops": [
                *all_is_well().stops[:2],
                msgspec.structs.replace(all_is_well().stops[2], status="completed"),
            ]
        },
        "caught by the audit: 1 false answer; accepted later: 1",
    ),
    ("red tests", {"tests_green": False}, "tests are red"),
]


@pytest.mark.parametrize(
    ("changes", "said"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS]
)
def test_each_fault_alone_fails_its_check_and_is_named(
    changes: dict[str, object], said: str
) -> None:
    checks = msgspec.structs.replace(all_is_well(), **changes)
    assert not checks.hold
    (failed,) = [text for right, text in lines_of(checks) if not right]
    assert said in failed
    assert f"NOT {failed}" in draw_checks(checks, Terminal(drawing=False))


def test_half_a_line_was_not_acknowledged(tmp_path: Path) -> None:
    noted = tmp_path / "acknowledged.txt"
    assert acknowledged_in(str(noted)) == set()
    noted.write_text("repair 1\nrepair 2\norder-01 1\nrepa")
    assert acknowledged_in(str(noted)) == {("repair", 1), ("repair", 2), ("order-01", 1)}
