"""A probe settles a doubt before a person is asked: it happened, it did not, or nobody knows (P2)."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from sessions import agent, ended, journal, opened, put_history, requests, results, run_one

from ukemi import (
    NOT_DONE,
    Budget,
    Completed,
    HandedOver,
    NotDone,
    PermissionDenied,
    Runtime,
    ToolBug,
    TransientError,
    UsageError,
    tool,
)
from ukemi.actors import CallProbed
from ukemi.actors.probing import Absent, Answer, Found, Unclear, read_answer
from ukemi.models import call
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Answered, Intended, JournalEntry, Probed, Resulted, Said, ToolCall

PAID = "receipt 17"


class Bank:
    """A payment whose first calls go wrong, and a probe that says what it is told to say.

    Args:
        booked: whether a call that goes wrong is booked all the same.
        failing: how many calls go wrong.
    """

    def __init__(
        self,
        *,
        booked: bool,
        failing: int = 1,
        error: Callable[[], Exception] | None = None,
        says: Callable[[int], Any] | None = None,
    ) -> None:
        self.booked: list[str] = []
        self.asked: list[tuple[str, int]] = []
        self.calls = 0

        async def look(order: str, cents: int) -> str | NotDone:
            self.asked.append((order, cents))
            if says is not None:
                answer: str | NotDone = says(len(self.asked))
                return answer
            return PAID if order in self.booked else NOT_DONE

        @tool(probe=look, timeout_s=2.0)
        async def pay(order: str, cents: int = 100) -> str:
            self.calls += 1
            if self.calls > failing or booked:
                self.booked.append(order)
            if self.calls <= failing:
                if error is not None:
                    raise error()
                await anyio.sleep(100)
            return PAID

        self.pay = pay


async def kept(store: MemoryStore, kind: type[JournalEntry]) -> list[Any]:
    async with opened(store):
        return [each for each in await journal(store, "one") if isinstance(each, kind)]


async def test_what_the_probe_finds_is_the_result_and_is_marked_as_replayed(
    store: MemoryStore,
) -> None:
    bank = Bank(booked=True)
    payer = agent([call("pay", order="o-1"), "Done."], [bank.pay])
    async with Runtime(store, agents=[payer]) as runtime:
        assert await run_one(runtime, payer, session_id="one") == Completed("Done.")
        assert not (await runtime.session("one").inspect()).in_doubt
    assert bank.booked == ["o-1"]
    assert bank.asked == [("o-1", 100)], "asked once, the tool's own default filled in"
    (shown,) = results(requests(payer)[1].messages)
    assert "not run again" in shown.content and shown.content.endswith(PAID) and not shown.is_error
    (result,) = await kept(store, Resulted)
    assert (result.content, result.state, result.replayed, result.by) == (
        PAID,
        "succeeded",
        True,
        "probe",
    )
    (probed,) = await kept(store, Probed)
    assert probed.answer == "done"


async def test_what_the_probe_does_not_find_runs_again_under_the_same_identity(
    store: MemoryStore,
) -> None:
    bank = Bank(booked=False)
    payer = agent([call("pay", order="o-1"), "Done."], [bank.pay])
    async with Runtime(store, agents=[payer]) as runtime:
        assert await run_one(runtime, payer, session_id="one") == Completed("Done.")
    assert bank.booked == ["o-1"]
    first, second = await kept(store, Intended)
    assert (first.attempt, second.attempt, second.doubtful) == (1, 2, False)
    (result,) = await kept(store, Resulted)
    assert (result.state, result.attempts, result.replayed) == ("succeeded", 2, False)


def fails(_: int) -> object:
    raise PermissionDenied("no key for the ledger of the bank")


UNCLEAR: dict[str, Callable[[int], object]] = {
    "it raises": fails,
    "None is no answer": lambda _: None,
    "False is no answer": lambda _: False,
    "it returns a failure": lambda _: {"ok": False, "error": "database is down", "code": 500},
    "it returns a failure nobody knows": lambda _: {"ok": False, "error": "no such charge"},
}


@pytest.mark.parametrize("says", list(UNCLEAR.values()), ids=list(UNCLEAR))
async def test_what_is_unclear_stays_in_doubt_and_goes_to_a_person(
    store: MemoryStore, says: Callable[[int], object]
) -> None:
    bank = Bank(booked=True, says=says)
    payer = agent([call("pay", order="o-1"), "Done."], [bank.pay])
    async with Runtime(store, agents=[payer]) as runtime:
        outcome = await run_one(runtime, payer, session_id="one")
    assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
    assert any("probe" in line for line in outcome.dossier.tried), outcome.dossier.tried
    assert bank.booked == ["o-1"], "and it was not run again"
    probed = (await kept(store, Probed))[-1]
    assert probed.answer == "unclear" and "probe" in probed.content


@pytest.mark.parametrize("judged", [True, False, None], ids=["done", "failed", "it raises"])
async def test_the_tools_own_success_judges_what_the_probe_found(
    store: MemoryStore, judged: bool | None
) -> None:
    def success(value: object) -> bool:
        if judged is None:
            raise KeyError("state")
        return judged

    async def look(order: str) -> dict[str, object]:
        return {"ok": False, "order": order}

    @tool(probe=look, success=success)
    async def pay(order: str) -> str:
        raise ConnectionResetError("gone")

    payer = agent([call("pay", order="o-1"), "Done."], [pay])
    async with Runtime(store, agents=[payer]) as runtime:
        await run_one(runtime, payer, session_id="one")
        (effect,) = await runtime.session("one").effects()
    states = {True: "succeeded", False: "failed", None: "in_doubt"}
    assert effect.state == states[judged]


async def test_the_probes_own_passing_failures_are_waited_out(store: MemoryStore) -> None:
    def says(number: int) -> str:
        if number < 3:
            raise TransientError("502")
        return PAID

    bank = Bank(booked=True, says=says)
    payer = agent([call("pay", order="o-1"), "Done."], [bank.pay])
    async with Runtime(store, agents=[payer]) as runtime:
        assert await run_one(runtime, payer, session_id="one") == Completed("Done.")
    assert len(bank.asked) == 3
    (probed,) = await kept(store, Probed)
    assert probed.attempts == 3 and probed.elapsed_s > 0


async def test_each_look_counts_as_a_tool_call_of_the_budget(store: MemoryStore) -> None:
    bank = Bank(booked=True)
    payer = agent([call("pay", order="o-1"), "Done."], [bank.pay])
    async with Runtime(store, agents=[payer]) as runtime:
        outcome = await run_one(runtime, payer, session_id="one", budget=Budget(tool_calls=1))
        assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
        assert not bank.asked, "the budget does not reach for it"
        assert any("tool_calls" in line for line in outcome.dossier.tried)


async def test_a_bug_after_the_effect_is_settled_by_the_probe(store: MemoryStore) -> None:
    """Whatever the class: what may have taken effect is looked up before a person is."""
    bank = Bank(booked=True, error=lambda: ToolBug("last line", may_have_executed="maybe"))
    payer = agent([call("pay", order="o-1"), "Done."], [bank.pay])
    async with Runtime(store, agents=[payer]) as runtime:
        assert await run_one(runtime, payer, session_id="one") == Completed("Done.")
    assert bank.booked == ["o-1"] and len(bank.asked) == 1


async def test_an_unknown_error_is_never_retried_though_the_probe_says_no(
    store: MemoryStore,
) -> None:
    """P3: the doubt is settled, and the error is reported all the same."""
    bank = Bank(booked=False, error=lambda: Exception("xyzzy"))
    payer = agent([call("pay", order="o-1"), "Done."], [bank.pay])
    async with Runtime(store, agents=[payer]) as runtime:
        outcome = await run_one(runtime, payer, session_id="one")
        assert isinstance(outcome, HandedOver) and outcome.reason == "unknown"
        assert not outcome.dossier.in_doubt
    assert bank.calls == 1


async def test_a_call_that_certainly_did_not_execute_needs_no_probe(store: MemoryStore) -> None:
    bank = Bank(booked=False, error=lambda: TransientError("refused"))
    payer = agent([call("pay", order="o-1"), "Done."], [bank.pay])
    async with Runtime(store, agents=[payer]) as runtime:
        assert await run_one(runtime, payer, session_id="one") == Completed("Done.")
    assert not bank.asked and bank.calls == 2


# ---------------------------------------------------------------- a call of an earlier life


def cut_off(*, key: str | None = None, attempt: int = 1) -> list[list[JournalEntry]]:
    asked = ToolCall("c1", "pay", '{"order":"o-1"}')
    return [
        [Said(1, "go")],
        [Answered(2, "", (asked,), ledger=True), Intended(2, 0, "pay", "d", attempt, key)],
    ]


@pytest.mark.parametrize("booked", [True, False])
async def test_a_call_that_a_killed_process_left_is_looked_up_first(
    store: MemoryStore, booked: bool
) -> None:
    bank = Bank(booked=True, failing=0)
    if booked:
        bank.booked.append("o-1")
    payer = agent([call("pay", order="o-1"), "Done."], [bank.pay])
    async with opened(store):
        await put_history(store, "one", cut_off())
        async with Runtime(store, agents=[payer]) as runtime:
            assert await ended(runtime, "one") == Completed("Done.")
    assert bank.booked == ["o-1"]
    assert bank.calls == (0 if booked else 1)
    (result,) = await kept(store, Resulted)
    assert result.replayed is booked and result.attempts == (1 if booked else 2)


async def test_a_killed_process_and_an_unclear_probe_leave_the_question(store: MemoryStore) -> None:
    bank = Bank(booked=True, failing=0, says=fails)
    payer = agent([call("pay", order="o-1"), "Done."], [bank.pay])
    async with opened(store):
        await put_history(store, "one", cut_off())
        async with Runtime(store, agents=[payer]) as runtime:
            outcome = await ended(runtime, "one")
    assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
    assert any("probe failed" in line for line in outcome.dossier.tried)
    assert bank.calls == 0


# ---------------------------------------------------------------- how it is called


def test_a_probe_that_cannot_be_called_is_refused_where_the_tool_is_defined() -> None:
    def look(oder: str) -> str:
        return oder

    def pay(order: str) -> str:
        return order

    with pytest.raises(UsageError, match=r"probe=look needs 'oder'.*arguments of pay \(order\)"):
        tool(probe=look)(pay)


async def test_the_look_is_told(store: MemoryStore) -> None:
    bank = Bank(booked=True)
    payer = agent([call("pay", order="o-1"), "Done."], [bank.pay])
    async with Runtime(store, agents=[payer]) as runtime:
        handle = await runtime.start("agent", "go", session_id="one")
        told = [each async for each in handle.events() if isinstance(each, CallProbed)]
    assert [(each.n, each.index, each.tool, each.answer) for each in told] == [
        (2, 0, "pay", "done")
    ]


ANSWERS: list[tuple[object, Answer]] = [
    (NOT_DONE, Absent()),
    ("", Found("")),
    (0, Found(0)),
    (True, Found(True)),
    ([], Found([])),
    ("no", Found("no")),
]


@pytest.mark.parametrize(("value", "answer"), ANSWERS, ids=lambda each: repr(each))
def test_what_a_normal_return_of_a_probe_says(value: object, answer: Answer) -> None:
    assert read_answer(value) == answer


@pytest.mark.parametrize("value", [None, False])
def test_what_could_be_either_is_unclear(value: object) -> None:
    assert isinstance(read_answer(value), Unclear)
