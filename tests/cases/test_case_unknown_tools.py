"""Calls of tools that are none: told, counted, and no reason to end what goes well beside.

From openclaw/openclaw#63023, earendil-works/pi#5016 and pydantic/pydantic-ai#4940.
"""

import anyio
import pytest
from sessions import agent, ended, requests, results, run_one

from ukemi import Completed, HandedOver, Runtime, tool
from ukemi.actors.model import ModelRequest
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import call
from ukemi.models.scripted import Reply, Script
from ukemi.stores.memory import MemoryStore

ALWAYS: dict[str, Script] = {
    "the same name": [call("nosuch", path=f"{at}.txt") for at in range(50)],
    "another name each time": [call(f"tool_{at}") for at in range(50)],
    "two other names each time": [[call(f"a_{at}"), call(f"b_{at}")] for at in range(50)],
}


def reader(ran: list[int]) -> AnyTool:
    @tool(effect="read")
    async def read(page: int) -> str:
        ran.append(page)
        return f"page {page}"

    return read


@pytest.mark.parametrize("script", ALWAYS.values(), ids=ALWAYS)
async def test_invented_tools_are_one_series_of_corrections(
    store: MemoryStore, script: Script
) -> None:
    of = agent(script, [reader([])])
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "planning"
    assert len(requests(of)) == 4
    left = [results(each.messages)[-1].content for each in requests(of)[1:]]
    assert ["corrections left: 3" in left[0], "corrections left: 1" in left[2]] == [True, True]


async def test_what_runs_between_ends_the_series(store: MemoryStore) -> None:
    """A model that now and then takes a tool to be there which is not gets its work done."""
    ran: list[int] = []
    script: list[Reply] = []
    for at in range(12):
        script += [call(f"tool_{at}"), call("read", page=at)]
    of = agent([*script, "done"], [reader(ran)])
    async with Runtime(store, agents=[of]) as runtime:
        assert await run_one(runtime, of) == Completed("done")
    assert ran == [*range(12)]


@pytest.mark.parametrize("order", [1, -1], ids=["before", "behind"])
async def test_a_tool_that_is_none_does_not_end_what_goes_well_beside_it(
    store: MemoryStore, order: int
) -> None:
    ran: list[int] = []
    both = [[call(f"tool_{at}"), call("read", page=at)][::order] for at in range(6)]
    of = agent([*both, "done"], [reader(ran)])
    async with Runtime(store, agents=[of]) as runtime:
        assert await run_one(runtime, of) == Completed("done")
    assert ran == [*range(6)]


async def test_the_series_goes_on_over_a_restart(store: MemoryStore) -> None:
    stopped = anyio.Event()

    async def script(request: ModelRequest) -> Reply:
        asked = len(results(request.messages))
        if asked == 2 and not stopped.is_set():
            stopped.set()
            await anyio.sleep_forever()
        return call(f"tool_{asked}")

    of = agent(script)
    async with Runtime(store, agents=[of]) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        await stopped.wait()
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await ended(runtime, "s-1")
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "planning"
    assert len(requests(of)) == 5  # the third was asked for twice
