"""What a handle tells of a session that others go on with."""

from functools import partial

import anyio
import pytest
from store_faults import Fault, FaultyStore

from ukemi import Agent, Completed, Policy, Runtime
from ukemi.models import ScriptedModel
from ukemi.stores import MemoryStore
from ukemi.stores.base import StoreFailed
from ukemi.supervisor.policy_sessions import StoragePolicy


async def test_an_old_handle_learns_how_a_session_ended_that_another_has_reopened() -> None:
    agent = Agent("talker", model=ScriptedModel(["first answer", "second answer"]))
    async with Runtime("memory:", agents=[agent]) as runtime:
        old = await runtime.start("talker", "go")
        assert await old.outcome() == Completed("first answer")

        other = runtime.session(old.id)
        await other.send("go on")
        assert await other.outcome() == Completed("second answer")

        assert await old.outcome() == Completed("second answer")
        last = [event async for event in old.events()][-1]
        assert last.event == "session.completed"
        assert (await old.inspect()).outcome == Completed("second answer")


async def test_a_handle_tells_the_end_it_has_seen_after_the_runtime_was_left() -> None:
    agent = Agent("talker", model=ScriptedModel(["an answer"]))
    async with Runtime("memory:", agents=[agent]) as runtime:
        handle = await runtime.start("talker", "go")
        await handle.outcome()
    assert await handle.outcome() == Completed("an answer")


async def test_a_message_may_come_while_the_session_is_being_started(store: MemoryStore) -> None:
    """It is in the store, and not yet in memory: the message does not take it over from its start."""
    agent = Agent("talker", model=ScriptedModel(lambda _: "an answer", delay_s=60.0))
    faulty = FaultyStore(store)
    async with Runtime(faulty, agents=[agent]) as runtime:
        faulty.plan.append(Fault(at=faulty.commits + 1, when="after", hang=True, error=None))
        async with anyio.create_task_group() as group:
            group.start_soon(partial(runtime.start, "talker", "go", session_id="one"))
            await faulty.hanging.wait()
            group.start_soon(runtime.session("one").send, "go on")
            await anyio.sleep(1.0)
            faulty.release()
        assert await runtime.session("one").outcome() == Completed("an answer")
        assert (await store.head("one")).epoch == 1


async def test_an_ended_session_that_the_store_did_not_take_back_is_put_back_later(
    store: MemoryStore,
) -> None:
    """Cancelling it takes it up and lets go of it again; between the two the store fails, and once more."""
    agent = Agent("talker", model=ScriptedModel(["an answer"]))
    faulty = FaultyStore(store)
    impatient = Policy(storage=StoragePolicy(retry_s_max=0.5))
    async with Runtime(faulty, agents=[agent], policy=impatient) as runtime:
        handle = await runtime.start("talker", "go", session_id="one")
        assert await handle.outcome() == Completed("an answer")
        await anyio.sleep(1.0)
        faulty.plan.append(Fault(at=faulty.commits + 2, always=True))
        with pytest.raises(StoreFailed):
            await runtime.session("one").cancel()
        assert (await store.head("one")).owner is not None
        faulty.plan[:] = [Fault(at=faulty.loads + 1, op="load")]
        await anyio.sleep(60.0)
        assert faulty.loads > faulty.plan[0].at
        assert await runtime.session("one").outcome() == Completed("an answer")
        assert (await store.head("one")).owner is None
