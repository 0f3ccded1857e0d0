"""The demo's sessions that are stopped: by a person, by a check of staged changes, by the audit."""

from pathlib import Path

import anyio
import pytest

from ukemi import Completed, HandedOver, Runtime
from ukemi.actors.people_events import ApprovalRequested
from ukemi.cli.demo_agents import ARTICLES
from ukemi.cli.demo_person import PERSON, Person, look_at
from ukemi.cli.demo_project_copy import copy_project, is_as_copied
from ukemi.cli.demo_service import OrderBook, order_service
from ukemi.cli.demo_stops import (
    Stop,
    all_stops,
    approved_as_expected,
    caught_as_expected,
    count_of,
    rejected_as_expected,
    stops_in,
    stops_table,
)
from ukemi.cli.demo_watched import LARGE, LEAKING, LYING, WATCHED, make_watched, watched_orders
from ukemi.cli.demo_worker import POLICY
from ukemi.cli.terminal import Terminal
from ukemi.stores.base import Facts, Head, HeadQuery
from ukemi.stores.records import (
    Answered,
    Audited,
    AuditFinding,
    JournalEntry,
    Judged,
    Requested,
    Resulted,
    StagedCheck,
    StagedPath,
    StagedResult,
    ToolCall,
)
from ukemi.stores.sqlite import SqliteStore

BOUND_S = 60.0


def asked(units: int) -> ApprovalRequested:
    return ApprovalRequested(
        session_id="s",
        at_ms=0,
        request="s:2.0",
        n=2,
        index=0,
        tool="order_in_bulk",
        arguments=f'{{"order": "a", "sku": "{ARTICLES[0]}", "units": {units}}}',
        category="money",
        risk="",
        expires_at_ms=None,
    )


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("units", "option", "said"),
    [
        (100, "approve", "approved a: 100 x A-17, 100 in stock"),
        (101, "deny", "denied a: 101 x A-17, 100 in stock"),
    ],
)
def test_the_person_approves_what_the_shop_can_deliver(units: int, option: str, said: str) -> None:
    with order_service() as (service, _):
        decision, text = look_at(service, asked(units))
    assert (decision.option, text) == (option, said)


def test_a_copy_is_as_copied_until_a_file_is_changed_or_added(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy_project(copy)
    assert is_as_copied(copy)
    (copy / "till" / "settings.py").touch()
    assert not is_as_copied(copy)
    (copy / "till" / "settings.py").unlink()
    (copy / "till" / "money.py").write_text("")
    assert not is_as_copied(copy)


@pytest.mark.realtime
@pytest.mark.slow
def test_each_is_stopped_by_whom_it_should_be_and_does_no_harm(tmp_path: Path) -> None:
    """The person answers through the store, as one with a command line of their own does."""
    copy = tmp_path / "copy"
    copy_project(copy)
    anyio.run(_run_watched, str(tmp_path / "store.db"), copy)
    assert is_as_copied(copy)


async def _run_watched(store: str, copy: Path) -> None:
    with order_service() as (service, book), anyio.fail_after(BOUND_S):
        agents = make_watched(service)
        async with Runtime(store, agents=agents, policy=POLICY) as runtime:
            for each in WATCHED:
                await runtime.start(
                    each.session, each.task, session_id=each.session, working_directory=copy
                )
            await _answer_the_request(runtime, Person(service, store), book)
            outcomes = {
                each.session: await runtime.session(each.session).outcome() for each in WATCHED
            }
    large, leaking, lying = (outcomes[each.session] for each in (LARGE, LEAKING, LYING))
    assert isinstance(large, Completed) and isinstance(leaking, Completed)
    assert isinstance(lying, HandedOver) and lying.reason == "mismatch"
    assert [each.order for each in book.bookings] == watched_orders()
    found = await _stops(store)
    assert approved_as_expected(found) and rejected_as_expected(found) and caught_as_expected(found)
    assert [count_of(found, kind) for kind in ("approval", "staged", "claim")] == [1, 1, 2]
    assert {each.by for each in found} == {PERSON, "secrets", "audit"}


async def _answer_the_request(runtime: Runtime, person: Person, book: OrderBook) -> None:
    async for event in runtime.session(LARGE.session).events():
        if isinstance(event, ApprovalRequested):
            assert LARGE.orders[0] not in {each.order for each in book.bookings}
            assert (await person.judge(event)).startswith("approved large-order-1: 80 x A-17")


async def _stops(path: str) -> list[Stop]:
    store = SqliteStore(path)
    await store.open()
    try:
        return await all_stops(store, await store.heads(HeadQuery(limit=10)))
    finally:
        await store.close()


# ---------------------------------------------------------------- from the journal

CALL = ToolCall("c", "buy", '{"order": "a"}')
REQUEST: list[JournalEntry] = [
    Answered(2, "", (CALL,)),
    Requested(2, 0, "buy", "d", '{"order": "a"}', 0),
]
STAGE: list[JournalEntry] = [
    Answered(2, "", (ToolCall("c", "write"),)),
    StagedResult(2, 0, "ok", "b", "t", (StagedPath("a.py", "added"),)),
]
FALSE = AuditFinding("contradicted", "I did it", "never ran")

ROWS: list[tuple[str, list[JournalEntry], list[str]]] = [
    ("asked", REQUEST, []),
    (
        "approved",
        [*REQUEST, Judged(2, 0, "approved", 1, by="eve")],
        ['asked about: buy{"order": "a"}', "approved by eve"],
    ),
    ("denied", [*REQUEST, Judged(2, 0, "denied", 1)], ["denied  "]),
    ("expired", [*REQUEST, Judged(2, 0, "expired", 1)], []),
    (
        "rejected",
        [*STAGE, StagedCheck(2, 0, "holds a key", "secrets"), Resulted(2, 0, 1, "no", "failed")],
        ["staged: write a.py", "rejected by secrets"],
    ),
    ("committed", [*STAGE, StagedCheck(2, 0), Resulted(2, 0, 1, "ok")], []),
    ("caught", [Audited(3, (FALSE,))], ["claimed: I did it", "to be corrected by audit"]),
    ("insisted", [Audited(3, (FALSE,), corrected=False)], ["not accepted by audit"]),
    ("unverified", [Audited(3, (AuditFinding("unverified", "I did it", ""),))], []),
]


def head(status: str = "handed_over", reason: str = "mismatch") -> Head:
    return Head(
        session_id="s",
        status=status,  # type: ignore[arg-type]
        seq=1,
        counter=1,
        epoch=1,
        owner=None,
        facts=Facts(agent="a", reason=reason),
    )


@pytest.mark.parametrize(("entries", "said"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_the_table_says_what_was_stopped_and_by_whom(
    entries: list[JournalEntry], said: list[str]
) -> None:
    found = stops_in("s", entries, head())
    _, *rows = stops_table(found, Terminal()).splitlines()
    assert len(rows) == bool(said)
    for text in said:
        assert text in rows[0]
    assert all(row.endswith("handed over (mismatch)") for row in rows)


def stop(session: str, kind: str, **more: str) -> Stop:
    given = {"what": "", "verdict": "approved", "by": "", "status": "handed_over"}
    return Stop(session=session, kind=kind, **{**given, **more})  # type: ignore[arg-type]


def test_what_was_not_stopped_as_it_should_be_is_seen() -> None:
    approved = stop(LARGE.session, "approval")
    assert approved_as_expected([approved])
    assert not approved_as_expected([])
    assert not approved_as_expected([stop(LARGE.session, "approval", verdict="denied")])
    assert not approved_as_expected([approved, stop("order-01", "approval")])
    assert rejected_as_expected([stop(LEAKING.session, "staged")])
    assert not rejected_as_expected([stop("repair", "staged"), stop(LEAKING.session, "claim")])
    caught = stop(LYING.session, "claim", reason="mismatch")
    assert caught_as_expected([caught, caught])
    assert not caught_as_expected([stop("repair", "claim", reason="mismatch")])
    assert not caught_as_expected([stop(LYING.session, "claim", status="completed")])
    assert not caught_as_expected([stop(LYING.session, "claim", reason="budget")])
