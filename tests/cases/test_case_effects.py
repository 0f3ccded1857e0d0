"""An effect happens, then its record, then the next step: whatever the store does in between."""

import anyio
import pytest
from sessions import LoopClock, agent, ended, journal, opened, requests, run_one
from store_faults import Fault, FaultyStore

from ukemi import Agent, Completed, HandedOver, Policy, Runtime, tool
from ukemi.actors.model import ModelRequest
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.base import StoreFailed
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Intended, Resulted
from ukemi.supervisor.policy import StoragePolicy


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
