"""CO-01: compensations in reverse order, over a restart; a failed one reaches a person, once."""

import secrets

import pytest
from sessions import LoopClock, agent, case, ended, journal, opened, put_history, raw_rows, run_one

from ukemi import Agent, BusinessRejected, HandedOver, Runtime, tool
from ukemi.actors.outcome import outcome_to_data
from ukemi.actors.tooling.tools import AnyTool
from ukemi.cli.answers import outcome_lines
from ukemi.cli.terminal import Terminal
from ukemi.models import Script, call
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import JournalEntry, Undone, Unwinding, decode_row


class Booking:
    """The three steps of the case; everything a compensation needs comes from its call."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

        async def refund(result: dict[str, str]) -> None:
            self.calls.append(("refund", result["payment_id"]))
            raise RuntimeError("gateway down")

        async def release(seat: str) -> str:
            self.calls.append(("release", seat))
            return f"{seat} is free"

        @tool(compensate=refund)
        async def charge(amount: int) -> dict[str, str]:
            self.calls.append(("charge", str(amount)))
            return {"payment_id": "pay-7"}

        @tool(compensate=release)
        async def reserve_seat(seat: str) -> str:
            self.calls.append(("reserve", seat))
            return "reserved"

        @tool
        async def issue_ticket() -> str:
            raise BusinessRejected("the fare rule forbids it")

        self.tools: list[AnyTool] = [charge, reserve_seat, issue_ticket]

    def agent(self) -> Agent:
        script: Script = [
            call("charge", amount=80),
            call("reserve_seat", seat="12A"),
            call("issue_ticket"),
            "blocked, because the fare rule forbids the ticket",
        ]
        return agent(script, self.tools)

    @property
    def compensations(self) -> list[tuple[str, str]]:
        return [each for each in self.calls if each[0] in ("release", "refund")]


async def rows_of(store: MemoryStore) -> list[list[JournalEntry]]:
    async with opened(store):
        return [decode_row(body) for _, _, body in await raw_rows(store, "s-1")]


async def restarted(before: Booking, rows: list[list[JournalEntry]]) -> tuple[Booking, HandedOver]:
    """Go on from these rows in another process: nothing that was in memory is there."""
    booking = Booking()
    of = booking.agent()
    store = MemoryStore(secrets.token_hex(8))
    async with opened(store):
        await put_history(store, "s-1", rows)
        async with Runtime(store, agents=[of], clock=LoopClock()) as runtime:
            outcome = await ended(runtime, "s-1")
    assert isinstance(outcome, HandedOver)
    return booking, outcome


@pytest.fixture
async def stopped(store: MemoryStore) -> tuple[Booking, list[list[JournalEntry]]]:
    """The rows of the session up to where the case restarts: decided, and nothing undone."""
    assert case("CO-01")["setup"]["restart"] == "after issue_ticket failed, before compensation"
    booking = Booking()
    of = booking.agent()
    async with Runtime(store, agents=[of], clock=LoopClock()) as runtime:
        await run_one(runtime, of, session_id="s-1")
    rows = await rows_of(store)
    at = next(i for i, row in enumerate(rows) if any(isinstance(e, Unwinding) for e in row))
    return booking, rows[: at + 1]


Stopped = tuple[Booking, list[list[JournalEntry]]]


async def test_CO_01_release_then_refund_with_what_it_needs_from_the_store(
    stopped: Stopped,
) -> None:
    booking, outcome = await restarted(*stopped)
    assert booking.calls == [("release", "12A"), ("refund", "pay-7")]
    assert outcome.reason == "blocked"


async def test_CO_01_restarted_before_the_end_was_decided_it_comes_to_the_same(
    stopped: Stopped,
) -> None:
    """The process dies right after the refusal: the model is asked again, and concludes."""
    booking, rows = stopped
    booking, _ = await restarted(booking, rows[:-1])
    assert booking.compensations == [("release", "12A"), ("refund", "pay-7")]


async def test_CO_01_the_failed_refund_is_one_record_with_all_a_person_needs(
    store: MemoryStore,
) -> None:
    booking = Booking()
    of = booking.agent()
    async with Runtime(store, agents=[of], clock=LoopClock()) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1")
        facts = await runtime.session("s-1").inspect()
        assert any("charge failed: RuntimeError: gateway down" in each for each in runtime.alerts)
    assert isinstance(outcome, HandedOver)
    (record,) = [e for e in outcome.dossier.effects if e.standing == "compensation failed"]
    assert (record.tool, record.n, record.index) == ("charge", 2, 0)
    assert record.arguments == '{"amount":80}'
    assert record.detail == "RuntimeError: gateway down"
    assert (record.attempts, record.may_have_run) == (1, True)
    (question,) = facts.questions
    assert "charge (call 2.0)" in question and "gateway down" in question
    assert any(option.name == "compensated" for option in outcome.dossier.options)
    async with opened(store):
        undone = [each for each in await journal(store, "s-1") if isinstance(each, Undone)]
    assert [(each.n, each.state) for each in undone] == [(3, "compensated"), (2, "failed")]
    assert booking.compensations == [("release", "12A"), ("refund", "pay-7")]


async def test_CO_01_each_step_is_listed_and_the_whole_is_not_called_undone(
    stopped: Stopped,
) -> None:
    _, outcome = await restarted(*stopped)
    assert [(each.tool, each.standing) for each in outcome.dossier.effects] == [
        ("charge", "compensation failed"),
        ("reserve_seat", "compensated"),
    ]
    assert outcome.dossier.undone == "some"
    shown = "\n".join(outcome_lines(outcome_to_data(outcome), Terminal(100)))
    assert "gateway down" in shown and "12A is free" in shown
    assert "undone      some" in shown and "rolled back" not in shown


async def test_CO_01_a_second_restart_releases_nothing_again(store: MemoryStore) -> None:
    """Restarted after each row that follows: what has its end is not run again."""
    booking = Booking()
    of = booking.agent()
    async with Runtime(store, agents=[of], clock=LoopClock()) as runtime:
        await run_one(runtime, of, session_id="s-1")
    rows = await rows_of(store)
    released = next(
        i for i, row in enumerate(rows) if any(isinstance(e, Undone) and e.n == 3 for e in row)
    )
    for end in range(released + 1, len(rows)):
        again, outcome = await restarted(booking, rows[:end])
        assert ("release", "12A") not in again.calls
        assert again.calls in ([], [("refund", "pay-7")])
        standings = {each.tool: each.standing for each in outcome.dossier.effects}
        assert standings["reserve_seat"] == "compensated"
        assert standings["charge"] in ("compensation failed", "compensation in doubt")
