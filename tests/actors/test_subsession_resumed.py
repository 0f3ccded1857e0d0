"""A sub-session that was under way when its runtime ended is found again, however many there are."""

import secrets
from typing import Any

import anyio
import pytest
from virtual_time import VIRTUAL_BACKENDS, virtual_backend

from ukemi import Agent, Completed, Runtime, tool
from ukemi.models import ScriptedModel, call

OTHERS = 120
"""More than one page of a list of sessions."""


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual_backend(request.param)


async def test_a_subsession_is_found_among_many_newer_sessions() -> None:
    """The repeated call goes on with it; it is not started a second time."""
    under_way = anyio.Event()
    visits = 0

    @tool(effect="read")
    async def visit() -> str:
        """Take an hour the first time."""
        nonlocal visits
        visits += 1
        if visits == 1:
            under_way.set()
            await anyio.sleep_forever()
        return "seen"

    part = Agent("part", model=ScriptedModel([call("visit"), "Part done."]), tools=[visit])
    whole = Agent(
        "whole",
        model=ScriptedModel([call("part", task="Do your part"), "All done."]),
        tools=[part.as_tool()],
    )
    other = Agent("other", model=ScriptedModel(["Hello."]))
    agents = [part, whole, other]
    store = f"memory:{secrets.token_hex(8)}"

    async with Runtime(store, agents=agents) as runtime:
        await runtime.start("whole", "Do it", session_id="w")
        await under_way.wait()
    async with Runtime(store, agents=agents, adopt=False) as runtime:
        for _ in range(OTHERS):
            await (await runtime.start("other", "Hello")).outcome()
    async with Runtime(store, agents=agents) as runtime:
        assert await runtime.session("w").outcome() == Completed("All done.")
        children = await runtime.sessions(parent="w")
        result = (await runtime.session("w").checkpoint(1)).tool_history[0]
    assert [child.session_id for child in children] == ["w.2.0"]
    assert (result.content, visits) == ("Part done.", 2)
