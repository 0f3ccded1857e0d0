"""The demo's errands: orders nobody answers, found again by a probe or a person, or undone."""

import http.client
from pathlib import Path

import anyio
import pytest

from ukemi import Completed, HandedOver, Runtime, classify
from ukemi.cli.demo_agents import ask_shop, post_order, settled_numbers_of
from ukemi.cli.demo_effects import (
    Effect,
    all_effects,
    compensated,
    effects_in,
    effects_table,
    in_doubt_asked,
    not_settled_as_expected,
    unsettled,
)
from ukemi.cli.demo_errands import (
    ASKED,
    ERRANDS,
    KILLED,
    TIMED_OUT,
    UNDONE,
    Errand,
    cancelled_orders,
    errand_orders,
    make_runners,
)
from ukemi.cli.demo_person import Person
from ukemi.cli.demo_service import SILENT, Booking, OrderBook, order_service
from ukemi.cli.demo_worker import POLICY
from ukemi.cli.terminal import Terminal
from ukemi.stores.base import HeadQuery
from ukemi.stores.records import (
    Answered,
    Intended,
    JournalEntry,
    Late,
    Probed,
    Resulted,
    ToolCall,
    Undone,
)
from ukemi.stores.sqlite import SqliteStore

BOUND_S = 60.0

# ---------------------------------------------------------------- the shop


def test_an_order_is_cancelled_once_and_stays_in_the_book() -> None:
    book = OrderBook()
    number = book.book("a", "A-17", 1, "k")
    assert [book.cancel(number), book.cancel(number), book.cancel("K-0009")] == [True, False, False]
    assert book.bookings == [Booking("a", "A-17", 1, number, "k", cancelled=True)]


@pytest.mark.realtime
def test_the_shop_books_what_it_never_answers_and_says_so_when_asked() -> None:
    with order_service() as (service, book):
        with pytest.raises(TimeoutError) as raised:
            post_order(service, "a", SILENT, 1, None, patience_s=0.2)
        assert classify(raised.value).error_class == "in_doubt_timeout"
        # The request was sent; that it has come in is what this waits for.
        assert settled_numbers_of(service, "a") == [each.number for each in book.bookings]
        assert [each.order for each in book.bookings] == ["a"]


@pytest.mark.realtime
def test_the_shop_cancels_over_http() -> None:
    with order_service() as (service, book):
        number = post_order(service, "a", "A-17", 1, None)
        assert ask_shop(service, "POST", "/cancel", {"number": number}) == {"cancelled": True}
        assert book.bookings[0].cancelled
        with pytest.raises(http.client.RemoteDisconnected):
            post_order(service, "b", "H-000", 1, None)
        assert len(book.bookings) == 2


# ---------------------------------------------------------------- the errands


def test_every_way_an_effect_is_settled_has_its_errand() -> None:
    assert {(each.by, each.killed, each.compensated) for each in ERRANDS} == {
        ("probe", True, False),
        ("probe", False, False),
        ("person", False, False),
        ("", False, True),
    }
    assert not {*errand_orders()} & {*cancelled_orders()}
    assert sorted(agent.name for agent in make_runners("")) == sorted(e.session for e in ERRANDS)


@pytest.mark.realtime
@pytest.mark.slow
def test_errands_end_as_they_should_by_journal_and_by_book(tmp_path: Path) -> None:
    """All but the one whose process has to be killed; the person answers through the store."""
    store = str(tmp_path / "store.db")
    anyio.run(_run_errands, store)


async def _run_errands(store: str) -> None:
    with order_service() as (service, book), anyio.fail_after(BOUND_S):
        agents = make_runners(service)
        async with Runtime(store, agents=agents, policy=POLICY) as runtime:
            for errand in (TIMED_OUT, ASKED, UNDONE):
                await runtime.start(errand.session, errand.task, session_id=errand.session)
            asked = runtime.session(ASKED.session)
            outcome = await asked.outcome()
            assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
            await _answer(Person(service, store), ASKED.session, outcome)
            # A handle remembers the end it has seen; a new one sees what has become of it since.
            while await runtime.session(ASKED.session).outcome() == outcome:  # noqa: ASYNC110
                await anyio.sleep(0.02)
            assert isinstance(await runtime.session(ASKED.session).outcome(), Completed)
            late = await runtime.session(TIMED_OUT.session).outcome()
            assert late == Completed(f"Ordered: {TIMED_OUT.orders[0]} is {number(book, TIMED_OUT)}")
            undone = await runtime.session(UNDONE.session).outcome()
            assert isinstance(undone, HandedOver) and undone.reason == "blocked"
        found = await _effects(store)
    assert not_settled_as_expected(found) == [KILLED.session]
    assert (in_doubt_asked(found), compensated(found), unsettled(found)) == (1, 1, [])
    booked = sorted((each.order, each.cancelled) for each in book.bookings)
    orders = [TIMED_OUT.orders[0], ASKED.orders[0], UNDONE.orders[0]]
    assert booked == sorted((order, order in cancelled_orders()) for order in orders)


async def _answer(person: Person, session_id: str, outcome: HandedOver) -> None:
    (doubt,) = outcome.dossier.in_doubt
    said = await person.answer(session_id, doubt)
    assert said is not None and "was booked after all" in said
    assert await person.answer(session_id, doubt) is None


async def _effects(path: str) -> list[Effect]:
    store = SqliteStore(path)
    await store.open()
    try:
        return await all_effects(store, await store.heads(HeadQuery(limit=10)))
    finally:
        await store.close()


def number(book: OrderBook, errand: Errand) -> str:
    (found,) = [each.number for each in book.bookings if each.order == errand.orders[0]]
    return found


# ---------------------------------------------------------------- the table

CALL = ToolCall("c", "buy", '{"order": "a"}')
BEGUN: list[JournalEntry] = [Answered(2, "", (CALL,)), Intended(2, 0, "buy", "d")]


def resulted(state: str, by: str = "", attempts: int = 1) -> Resulted:
    return Resulted(2, 0, "buy", "K-1", state, 1, attempts=attempts, by=by)  # type: ignore[arg-type]


ROWS: list[tuple[str, list[JournalEntry], str]] = [
    ("a probe", [*BEGUN, Probed(2, 0, "done"), resulted("succeeded", "probe")], "by its probe"),
    (
        "a person",
        [*BEGUN, resulted("in_doubt"), Late(2, 0, "succeeded", "K-1", "person")],
        "a person was asked",
    ),
    ("late", [*BEGUN, resulted("in_doubt"), Late(2, 0, "succeeded", "K-1")], "which came late"),
    ("open", [*BEGUN, resulted("in_doubt")], "waits for a person"),
    ("begun", BEGUN, "running"),
    ("undone", [*BEGUN, resulted("succeeded"), Undone(2, 0, "compensated")], "undone"),
    (
        "the same key",
        [BEGUN[0], Intended(2, 0, "buy", "d", attempt=2, key="k"), resulted("succeeded", "", 2)],
        "asked 2 times with the same key",
    ),
]


@pytest.mark.parametrize(("entries", "said"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_the_table_says_how_each_effect_was_settled_and_how_often_it_is_booked(
    entries: list[JournalEntry], said: str
) -> None:
    booked = Booking("a", "A-17", 1, "K-1", None)
    _, row = effects_table(effects_in("s", entries), [booked, booked], Terminal()).splitlines()
    assert row.startswith("s        buy a") and said in row and row.endswith("2 times")


def test_what_was_answered_at_once_is_no_row() -> None:
    found = effects_in("s", [*BEGUN, resulted("succeeded")])
    assert len(found) == 1 and found[0].plain
    assert len(effects_table(found, [], Terminal()).splitlines()) == 1


def test_a_cancelled_order_is_told_in_the_table() -> None:
    booked = Booking("a", "A-17", 1, "K-1", None, cancelled=True)
    found = effects_in("s", [*BEGUN, resulted("succeeded"), Undone(2, 0, "compensated")])
    assert effects_table(found, [booked], Terminal()).endswith("once, cancelled")
