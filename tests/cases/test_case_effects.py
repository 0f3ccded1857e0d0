"""An effect happens, then its record, then the next step: whatever the store does in between."""

from contextlib import aclosing

import anyio
import pytest
from sessions import LoopClock, agent, case, ended, journal, opened, requests, results, run_one
from store_faults import Fault, FaultyStore

from ukemi import (
    NOT_DONE,
    Agent,
    Completed,
    HandedOver,
    NotDone,
    Policy,
    Runtime,
    TransientError,
    tool,
)
from ukemi.actors import RetryScheduled, ToolCall
from ukemi.actors.model import ModelRequest
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.base import StoreFailed
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Intended, Resulted
from ukemi.supervisor.policy_sessions import StoragePolicy


class Refunds:
    """The tool of DUP-04, the faults it brings about, and what was seen when the model was asked."""

    def __init__(self, store: MemoryStore, *faults: Fault) -> None:
        self.store = store
        self.faulty = FaultyStore(store)
        self.faults = faults
        self.ran: list[int] = []
        self.stored_at_request: list[int] = []

    def agent(self) -> Agent:
        @tool
        async def refund(id: int) -> str:
            self.ran.append(id)
            at = self.faulty.commits
            self.faulty.plan += [
                Fault(
                    at=at + fault.at, when=fault.when, always=fault.always, error=OSError("no disk")
                )
                for fault in self.faults
            ]
            return f"refunded {id}"

        async def script(request: ModelRequest) -> Reply:
            entries = await journal(self.store, request.session_id)
            self.stored_at_request.append(sum(isinstance(each, Resulted) for each in entries))
            return call("refund", id=9) if len(request.messages) == 1 else "refunded"

        return agent(script, [refund])


FAULTS = {
    "once, before the write": [Fault(at=1)],
    "once, after the write": [Fault(at=1, when="after")],
    "a few times": [Fault(at=number) for number in range(1, 6)],
    # Longer than the store is waited for: the session's own actor dies of it and starts again.
    "for 25 s": [Fault(at=number) for number in range(1, 40)],
}


@pytest.mark.parametrize("faults", list(FAULTS.values()), ids=list(FAULTS))
async def test_DUP_04_the_effect_is_once_and_its_result_is_stored_before_the_next_request(
    store: MemoryStore, faults: list[Fault]
) -> None:
    refunds = Refunds(store, *faults)
    of = refunds.agent()
    async with Runtime(refunds.faulty, agents=[of]) as runtime:
        assert await run_one(runtime, of, session_id="s-1") == Completed("refunded")
    assert refunds.ran == [9]
    assert refunds.stored_at_request == [0, 1]


@pytest.mark.parametrize("faults", list(FAULTS.values()), ids=list(FAULTS))
async def test_DUP_04_the_next_process_reads_call_and_result_as_a_pair(
    store: MemoryStore, faults: list[Fault]
) -> None:
    refunds = Refunds(store, *faults)
    of = refunds.agent()
    async with Runtime(refunds.faulty, agents=[of]) as runtime:
        await run_one(runtime, of, session_id="s-1")
    async with Runtime(store, agents=[of]) as runtime:
        handle = runtime.session("s-1")
        (record,) = (await handle.checkpoint()).tool_history
        assert (record.tool, record.content, record.state) == ("refund", "refunded 9", "succeeded")
        assert await handle.outcome() == Completed("refunded")
    async with opened(store):
        entries = await journal(store, "s-1")
    assert sum(isinstance(each, Intended) for each in entries) == 1
    assert sum(isinstance(each, Resulted) for each in entries) == 1
    assert refunds.ran == [9]


async def test_DUP_04_a_store_that_stays_broken_leaves_the_result_in_the_dossier(
    store: MemoryStore,
) -> None:
    refunds = Refunds(store, Fault(at=1, always=True))
    of = refunds.agent()
    policy = Policy(storage=StoragePolicy(retry_s_max=2.0))
    async with Runtime(refunds.faulty, agents=[of], policy=policy) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1")
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "restarts"
    assert outcome.dossier.unsaved is not None
    assert "refunded 9" in outcome.dossier.unsaved
    assert "no disk" in outcome.dossier.unsaved
    assert refunds.ran == [9]
    assert refunds.stored_at_request == [0]


async def test_DUP_04_after_a_store_that_stayed_broken_the_call_is_in_doubt_and_not_repeated(
    store: MemoryStore,
) -> None:
    """The next process knows the intent alone: it must not take the missing result for "not run"."""
    refunds = Refunds(store, Fault(at=1, always=True))
    of = refunds.agent()
    policy = Policy(storage=StoragePolicy(retry_s_max=2.0))
    clock = LoopClock()
    async with Runtime(refunds.faulty, agents=[of], policy=policy, clock=clock) as runtime:
        await run_one(runtime, of, session_id="s-1")
    refunds.faulty.plan.clear()
    # The owner before could not say that it left; its lease must end first.
    await anyio.sleep(10.0)
    async with Runtime(refunds.faulty, agents=[of], clock=clock) as runtime:
        outcome = await ended(runtime, "s-1")
        assert isinstance(outcome, HandedOver)
        assert outcome.reason == "in_doubt"
    assert refunds.ran == [9]


@pytest.mark.parametrize("number", range(2, 7))
@pytest.mark.parametrize("when", ["before", "after"])
async def test_DUP_04_wherever_the_store_fails_once_nothing_is_done_twice_or_lost(
    store: MemoryStore, number: int, when: str
) -> None:
    """The whole class: the k-th commit of the session fails, before or after its effect."""
    refunds = Refunds(store)
    of = refunds.agent()
    refunds.faulty.plan = [
        Fault(at=number, when="before" if when == "before" else "after", error=StoreFailed("k"))
    ]
    async with Runtime(refunds.faulty, agents=[of]) as runtime:
        assert await run_one(runtime, of, session_id="s-1") == Completed("refunded")
    assert refunds.ran == [9]
    assert len(requests(of)) == 2
    async with Runtime(store, agents=[of]) as runtime:
        assert (await runtime.session("s-1").checkpoint()).checkpoint_counter == 1


# ---------------------------------------------------------------- DUP-01


class Charges:
    """The server of DUP-01: it books the charge and never answers."""

    def __init__(self, *, with_probe: bool) -> None:
        self.booked: list[tuple[str, int]] = []

        async def look(order: str, cents: int) -> str | NotDone:
            return f"charge of {order}" if (order, cents) in self.booked else NOT_DONE

        @tool(
            timeout_s=case("DUP-01")["setup"]["tool_deadline_s"], probe=look if with_probe else None
        )
        async def charge(order: str, cents: int) -> str:
            self.booked.append((order, cents))
            await anyio.sleep(3600)
            return "never"

        self.charge = charge


ORDER = case("DUP-01")["setup"]["tool"]["args"]
SPELLED: list[ToolCall | str] = [
    call("charge", **ORDER),
    # The same order in another spelling: other key order, and an escaped character.
    ToolCall("c2", "charge", '{"cents": 4200, "order": "o\\u002d17"}'),
    "I could not charge o-17.",
]


async def test_DUP_01_a_charge_planned_again_is_refused_while_the_first_is_in_doubt(
    store: MemoryStore,
) -> None:
    charges = Charges(with_probe=False)
    payer = agent(SPELLED, [charges.charge])
    async with Runtime(store, agents=[payer]) as runtime:
        outcome = await run_one(runtime, payer, session_id="s-1")
        assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
        assert '"o-17"' in outcome.dossier.input
        assert "2 s" in outcome.dossier.upstream_error, "the deadline"
        handle = runtime.session("s-1")
        assert (await handle.inspect()).questions == ("did charge (call 2.0) take effect?",)
        await handle.send("go on")
        await ended(runtime, "s-1")
        first, second = (await handle.checkpoint()).tool_history
        assert first.state == "in_doubt"
        assert second.state == "refused" and "an equal call is in doubt" in second.content
    assert charges.booked == [("o-17", 4200)]


async def test_DUP_01_with_a_probe_nothing_is_sent_again(store: MemoryStore) -> None:
    charges = Charges(with_probe=True)
    payer = agent([SPELLED[0], "Charged."], [charges.charge])
    async with Runtime(store, agents=[payer]) as runtime:
        assert await run_one(runtime, payer, session_id="s-1") == Completed("Charged.")
        (record,) = (await runtime.session("s-1").checkpoint()).tool_history
    assert (record.state, record.content, record.replayed) == ("succeeded", "charge of o-17", True)
    assert charges.booked == [("o-17", 4200)]


async def test_DUP_01_once_it_is_known_an_equal_call_is_answered_from_the_record_once(
    store: MemoryStore,
) -> None:
    charges = Charges(with_probe=False)
    script: list[ToolCall | str] = [*SPELLED[:2], SPELLED[1], "Done: the charge is there."]
    payer = agent(script, [charges.charge])
    async with Runtime(store, agents=[payer]) as runtime:
        await run_one(runtime, payer, session_id="s-1")
        handle = runtime.session("s-1")
        await handle.resolve("done", result="charge 88")
        outcome = await ended(runtime, "s-1")
        assert isinstance(outcome, HandedOver), "the third call was a new order, and hung"
        _, second, third = (await handle.checkpoint()).tool_history
    assert (second.state, second.content, second.replayed) == ("succeeded", "charge 88", True)
    assert third.state == "in_doubt"
    shown = [each.content for each in results(requests(payer)[2].messages)]
    assert "nothing was sent" in shown[1] and "call once more" in shown[1]
    assert len(charges.booked) == 2, "asked for again knowingly, it is a second order"


# ---------------------------------------------------------------- DUP-02


async def test_DUP_02_both_attempts_carry_one_key_over_a_restart_and_it_is_not_the_models(
    store: MemoryStore,
) -> None:
    seen: list[str] = []

    @tool(accepts_key=True)
    async def create_payment(order: str, cents: int, *, key: str) -> str:
        seen.append(key)
        if len(seen) == 1:
            raise ConnectionResetError("reset after the request was sent")
        return "paid"

    written = call("create_payment", order="o-5", cents=900, key="k-aaa")
    plain = call("create_payment", order="o-5", cents=900)
    payer = agent([written, plain, "Paid."], [create_payment])
    clock = LoopClock()
    async with Runtime(store, agents=[payer], clock=clock) as runtime:
        handle = await runtime.start("agent", "pay", session_id="s-1")
        async with aclosing(handle.events()) as events:
            async for event in events:
                if isinstance(event, RetryScheduled):
                    break  # the process is left between the two attempts
    async with Runtime(store, agents=[payer], clock=clock) as runtime:
        assert await ended(runtime, "s-1") == Completed("Paid.")
        refused, _ = (await runtime.session("s-1").checkpoint()).tool_history
        assert refused.state == "refused" and "key" in refused.content, "the model has no say in it"
        assert await run_one(runtime, payer, session_id="s-2") == Completed("Paid.")
    first, again, other = seen
    assert first == again != other
    assert "k-aaa" not in seen


# ---------------------------------------------------------------- what it costs


async def test_a_read_writes_no_intent_and_a_write_costs_one_commit(store: MemoryStore) -> None:
    @tool(effect="read")
    async def look() -> str:
        return "seen"

    @tool
    async def do() -> str:
        return "done"

    commits: dict[str, int] = {}
    for name in ("look", "do"):
        faulty = FaultyStore(store)
        of = agent([call(name), "Done."], [look, do])
        async with Runtime(faulty, agents=[of]) as runtime:
            before = faulty.commits
            await run_one(runtime, of, session_id=name)
            commits[name] = faulty.commits - before
        async with opened(store):
            entries = await journal(store, name)
        assert sum(isinstance(each, Intended) for each in entries) == (name == "do")
    assert commits["do"] == commits["look"] + 1


async def test_a_row_nobody_waits_for_does_not_hang_its_session_when_the_store_fails(
    store: MemoryStore,
) -> None:
    """The record of a failed attempt is stored beside the wait for the next: found by a random life."""
    faulty = FaultyStore(store)
    calls: list[int] = []

    @tool
    async def refund(id: int) -> str:
        calls.append(id)
        if len(calls) == 1:
            at = faulty.commits
            faulty.plan = [Fault(at=at + number) for number in range(1, 12)]
            raise TransientError("busy")
        return "refunded"

    of = agent([call("refund", id=9), "Done."], [refund])
    policy = Policy(storage=StoragePolicy(retry_s_max=1.0))
    async with Runtime(faulty, agents=[of], policy=policy) as runtime:
        assert await run_one(runtime, of, session_id="s-1") == Completed("Done.")
    assert calls == [9, 9]
