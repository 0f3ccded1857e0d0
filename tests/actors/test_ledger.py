"""The fold of the ledger, and doubts that last over several attempts: recorded where they are real (P2)."""

from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from msgspec import Struct
from sessions import LoopClock, agent, ended, journal, opened, put_history, run_one

from ukemi import (
    Agent,
    Budget,
    BusinessRejected,
    Completed,
    HandedOver,
    InDoubtTimeout,
    Runtime,
    SessionHandle,
    Stopped,
    TransientError,
    tool,
)
from ukemi.actors import RetryScheduled
from ukemi.actors.inspection import fold
from ukemi.actors.ledger import Ledger
from ukemi.models import call
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import (
    Allowed,
    Answered,
    Intended,
    JournalEntry,
    Late,
    Noted,
    Resulted,
    Said,
    ToolCall,
)

PAY = ToolCall("a", "pay", '{"x":1}')
BEGUN: list[JournalEntry] = [
    Said(1, "go"),
    Answered(2, "", (PAY,), ledger=True),
    Intended(2, 0, "pay", "d", 1, "k"),
]
DOUBT = Resulted(2, 0, 1, "interrupted", "in_doubt", digest="d")


class Case(Struct):
    """What the ledger holds then: unsettled, in doubt, effects, answers, abandoned."""

    rule: str
    entries: list[JournalEntry]
    open: bool = False
    doubt: bool = False
    effect: bool = False
    answer: bool = False
    abandoned: bool = False


CASES = [
    Case("an intent is open", [], open=True),
    Case("success is an effect", [Resulted(2, 0, 1, "paid", digest="d")], effect=True),
    Case("failure is forgotten", [Resulted(2, 0, 1, "no", "failed", digest="d")]),
    Case("a doubt is open", [DOUBT], open=True, doubt=True),
    Case("late success", [DOUBT, Late(2, 0, "succeeded", "paid")], effect=True, answer=True),
    Case("late failure", [DOUBT, Late(2, 0, "failed", "no")]),
    Case("a late error that proves nothing", [DOUBT, Late(2, 0, "in_doubt", "?")], True, True),
    Case(
        "done, says a person",
        [DOUBT, Late(2, 0, "succeeded", "paid", "person")],
        effect=True,
        answer=True,
    ),
    Case("abandoned", [DOUBT, Late(2, 0, "denied", "", "person")], abandoned=True),
    Case("late, before there is a result", [Late(2, 0, "succeeded", "paid")], open=True),
    Case(
        "and its result is that",
        [Late(2, 0, "succeeded", "paid"), Resulted(2, 0, 1, "paid", digest="d", by="late")],
        effect=True,
    ),
    Case("allowed again", [DOUBT, Allowed(2, 0, "d", "k")], open=True, doubt=True),
    Case(
        "begun again",
        [DOUBT, Allowed(2, 0, "d", "k"), Intended(2, 0, "pay", "d", 2, "k")],
        open=True,
        doubt=True,
    ),
    Case(
        "run again",
        [
            DOUBT,
            Allowed(2, 0, "d", "k"),
            Intended(2, 0, "pay", "d", 2, "k"),
            Late(2, 0, "succeeded", "paid", "again"),
        ],
        effect=True,
        answer=True,
    ),
    Case(
        "the first body ends while the second runs: the second has the word",
        [
            DOUBT,
            Allowed(2, 0, "d", "k"),
            Intended(2, 0, "pay", "d", 2, "k"),
            Late(2, 0, "succeeded", "paid"),
        ],
        open=True,
        doubt=True,
    ),
    Case(
        "the first body ends before the second begins: nothing is left to run",
        [DOUBT, Allowed(2, 0, "d", "k"), Late(2, 0, "succeeded", "paid")],
        effect=True,
        answer=True,
    ),
    Case(
        "the record answers once",
        [
            DOUBT,
            Late(2, 0, "succeeded", "paid"),
            Answered(3, "", (PAY,), ledger=True),
            Resulted(3, 0, 2, "paid", digest="d", replayed=True, by="record"),
        ],
        effect=True,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[each.rule for each in CASES])
def test_what_the_ledger_holds(case: Case) -> None:
    ledger: Ledger = fold("s", [*BEGUN, *case.entries]).ledger
    found = (
        (2, 0) in ledger.open,
        bool(ledger.in_doubt),
        (2, 0) in ledger.effects,
        "d" in ledger.answers,
        "d" in ledger.abandoned,
    )
    assert found == (case.open, case.doubt, case.effect, case.answer, case.abandoned)
    if case.effect:
        assert list(ledger.effects) == [(2, 0)], "one effect, whatever was asked later"


def paid(n: int) -> list[JournalEntry]:
    """A later payment, which succeeds at once."""
    name, digest = f"at-{n}", f"d-{n}"
    return [
        Answered(n, "", (ToolCall(name, "pay", f'{{"x":{n}}}'),), ledger=True),
        Intended(n, 0, "pay", digest, 1, name),
        Resulted(n, 0, n, "paid", digest=digest),
    ]


AGAIN_2: list[JournalEntry] = [
    Allowed(2, 0, "d", "k"),
    Intended(2, 0, "pay", "d", 2, "k"),
    Late(2, 0, "succeeded", "paid", "again"),
]


@pytest.mark.parametrize(
    ("entries", "order"),
    [
        pytest.param([Late(2, 0, "succeeded", "", "person")], [2, 4, 6], id="a person found it"),
        pytest.param([Late(2, 0, "succeeded", "", "probe")], [2, 4, 6], id="a probe found it"),
        pytest.param([Late(2, 0, "succeeded", "")], [4, 6, 2], id="its body came to its end now"),
        pytest.param(AGAIN_2, [4, 6, 2], id="it was run again, now"),
    ],
)
def test_an_effect_found_out_later_stands_where_it_was_made(
    entries: list[JournalEntry], order: list[int]
) -> None:
    """Effects are undone newest first, so what came behind it is undone before it."""
    ledger = fold("s", [*BEGUN, DOUBT, *paid(4), *paid(6), *entries]).ledger
    assert [n for n, _ in ledger.effects] == order


def test_an_effect_found_out_later_came_before_what_was_run_again() -> None:
    doubt = Resulted(4, 0, 4, "interrupted", "in_doubt", digest="d-4")
    found = Late(4, 0, "succeeded", "", "person")
    ledger = fold("s", [*BEGUN, DOUBT, *paid(4)[:2], doubt, *paid(6), *AGAIN_2, found]).ledger
    assert [n for n, _ in ledger.effects] == [4, 6, 2]


# ---------------------------------------------------------------- several attempts


class Bank:
    """A keyed payment that goes wrong as told, attempt by attempt."""

    def __init__(self, *errors: Callable[[], Exception]) -> None:
        self.keys: list[str] = []

        @tool(accepts_key=True, upstream="bank")
        async def pay(x: int, *, key: str) -> str:
            self.keys.append(key)
            if len(self.keys) <= len(errors):
                raise errors[len(self.keys) - 1]()
            return "paid"

        self.pay = pay

    def agent(self) -> Agent:
        return agent([call("pay", x=1), "Done."], [self.pay])


def cut() -> Exception:
    return InDoubtTimeout("the line went dead")


def busy() -> Exception:
    return TransientError("busy, not taken")


async def run(store: MemoryStore, bank: Bank, **options: Any) -> tuple[Any, Any]:
    of = bank.agent()
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of, session_id="one", **options)
        return outcome, await runtime.session("one").inspect()


async def test_a_key_repeats_a_call_and_does_not_end_its_doubt(store: MemoryStore) -> None:
    """The model's next call would have another key: it must not run while this one is in doubt."""
    bank = Bank(cut, busy, busy, busy)
    outcome, facts = await run(store, bank)
    assert isinstance(outcome, HandedOver)
    assert len(bank.keys) == 4 and len(set(bank.keys)) == 1
    assert [each.tool for each in facts.in_doubt] == ["pay"], "of the first attempt"


async def test_attempts_that_certainly_did_nothing_leave_no_doubt(store: MemoryStore) -> None:
    bank = Bank(busy, busy, busy, busy)
    outcome, facts = await run(store, bank)
    assert isinstance(outcome, HandedOver) and outcome.reason == "blocked"
    assert not facts.in_doubt and not facts.effects


async def test_a_refusal_for_good_ends_the_doubt_of_a_key(store: MemoryStore) -> None:
    bank = Bank(cut, lambda: BusinessRejected("no funds"))
    _, facts = await run(store, bank)
    assert not facts.in_doubt


async def test_a_budget_that_ends_between_attempts_leaves_the_doubt(store: MemoryStore) -> None:
    bank = Bank(cut, cut)
    outcome, facts = await run(store, bank, budget=Budget(retries=0))
    assert isinstance(outcome, HandedOver) and outcome.reason == "budget"
    assert len(bank.keys) == 1 and len(facts.in_doubt) == 1


@pytest.mark.parametrize(("first", "doubts"), [(cut, 1), (busy, 0)], ids=["cut", "busy"])
async def test_cancelled_while_it_waits_for_the_next_attempt(
    store: MemoryStore, first: Callable[[], Exception], doubts: int
) -> None:
    bank = Bank(first, first)
    of = bank.agent()
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="one")
        await retrying(handle)
        assert await handle.cancel() == Stopped("cancelled")
        assert len((await handle.inspect()).in_doubt) == doubts


async def retrying(handle: SessionHandle) -> None:
    async with aclosing(handle.events()) as events:
        async for event in events:
            if isinstance(event, RetryScheduled):
                return


@pytest.mark.parametrize(("first", "doubts"), [(cut, 1), (busy, 0)], ids=["cut", "busy"])
async def test_the_user_speaks_while_another_process_would_wait_for_the_next_attempt(
    store: MemoryStore, first: Callable[[], Exception], doubts: int
) -> None:
    bank = Bank(first, first, first)
    of, clock = bank.agent(), LoopClock()
    async with Runtime(store, agents=[of], clock=clock) as runtime:
        handle = await runtime.start("agent", "go", session_id="one")
        await retrying(handle)
    async with Runtime(store, agents=[of], clock=clock, adopt=False) as runtime:
        handle = runtime.session("one")
        await handle.send("never mind")
        await ended(runtime, "one")
        assert len((await handle.inspect()).in_doubt) == doubts
    assert len(bank.keys) == 1


# ---------------------------------------------------------------- late, before there is a result


async def test_a_body_that_ends_before_its_call_has_a_result_gives_it_that_result(
    store: MemoryStore,
) -> None:
    """A history as a restart between the two leaves it: the intent, and the late outcome behind it."""
    of = agent([call("pay", x=1), "Done."], [Bank().pay])
    late = Late(2, 0, "succeeded", "paid at last")
    async with opened(store):
        await put_history(store, "one", [BEGUN[:1], [*BEGUN[1:], late]])
        async with Runtime(store, agents=[of]) as runtime:
            assert await ended(runtime, "one") == Completed("Done.")
            facts = await runtime.session("one").inspect()
            assert [each.by for each in facts.effects] == ["late"]
    async with opened(store):
        entries = await journal(store, "one")
    (result,) = [each for each in entries if isinstance(each, Resulted)]
    assert (result.content, result.state) == ("paid at last", "succeeded")
    assert sum(isinstance(each, Intended) for each in entries) == 1, "and it did not run again"
    assert not [each for each in entries if isinstance(each, Noted)]


async def test_what_became_known_of_a_read_answers_no_other_call(store: MemoryStore) -> None:
    """A read is named only where somebody will compare it; a call without a name has no equal."""

    @tool(effect="read", safe_to_retry=False)
    async def meter(at: str) -> str:
        raise cut()

    @tool(effect="read")
    async def stock(sku: str) -> str:
        return f"3 of {sku}"

    of = agent([call("meter", at="a"), call("stock", sku="B"), "Done."], [meter, stock])
    async with Runtime(store, agents=[of]) as runtime:
        assert isinstance(await run_one(runtime, of, session_id="one"), HandedOver)
        await runtime.session("one").resolve("done", result="read 17", by="ann")
        assert await runtime.session("one").outcome() == Completed("Done.")
    async with opened(store):
        found = [each for each in await journal(store, "one") if isinstance(each, Resulted)]
    assert [each.content for each in found][-1] == "3 of B"
    assert not found[-1].replayed
