"""What a runtime leaves behind when it was left: nothing."""

import gc
import weakref

import anyio

from ukemi import Agent, Completed, Runtime
from ukemi.models import ScriptedModel
from ukemi.stores import MemoryStore


def test_a_runtime_that_was_left_is_given_up_whole() -> None:
    """Its actors and the specifications of its children lead to each other; the collector must see that."""

    async def live() -> weakref.ref[MemoryStore]:
        store = MemoryStore()
        agent = Agent("talker", model=ScriptedModel(["an answer"]))
        async with Runtime(store, agents=[agent]) as runtime:
            assert await (await runtime.start("talker", "go")).outcome() == Completed("an answer")
        return weakref.ref(store)

    kept = anyio.run(live)
    gc.collect()
    assert kept() is None
