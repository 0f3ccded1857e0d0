"""Results of calls that run side by side may be stored in one row; each is still a checkpoint."""

from itertools import pairwise

import pytest

from ukemi import Agent, Runtime, tool
from ukemi.models import ScriptedModel, call
from ukemi.stores.base import CheckpointUnknown
from ukemi.stores.memory import MemoryStore

WAVE = 4


@tool(effect="read")
async def look(at: int) -> str:
    return f"seen {at}"


async def test_each_checkpoint_of_a_wave_is_loaded_exactly() -> None:
    """Results that come in while a row is under way share the next; any counter loads exactly."""
    store = MemoryStore()
    script = ScriptedModel([[call("look", at=number) for number in range(WAVE)], "done"])
    async with Runtime(store, agents=[Agent("worker", model=script, tools=[look])]) as runtime:
        session = await runtime.start("worker", "look round")
        await session.outcome()
        rows = (await store.load(session.id)).rows
        assert max(b.counter - a.counter for a, b in pairwise(rows)) > 1
        for counter in range(1, WAVE + 1):
            checkpoint = await session.checkpoint(counter)
            assert checkpoint.checkpoint_counter == counter
            reached = {record.counter: record for record in checkpoint.tool_history}
            assert set(reached) == set(range(1, counter + 1))
            assert await session.result_text(counter) == f"seen {reached[counter].index}"
        for unknown in (-1, WAVE + 1):
            with pytest.raises(CheckpointUnknown):
                await session.checkpoint(unknown)
