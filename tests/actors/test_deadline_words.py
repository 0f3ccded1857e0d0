"""A session that runs out of time says how much it had and used."""

from typing import Any

import anyio
import pytest
from virtual_time import VIRTUAL_BACKENDS, virtual_backend

from ukemi import Agent, Budget, HandedOver, Runtime, tool
from ukemi.models import ScriptedModel, call


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual_backend(request.param)


@tool(effect="read")
async def wait() -> str:
    """Wait for an hour."""
    await anyio.sleep(3600)
    return "done"


async def test_a_deadline_in_the_middle_of_a_call_names_the_time_used() -> None:
    """The seconds since the last checkpoint are booked before the limit is told."""
    agent = Agent("waiter", model=ScriptedModel([call("wait")]), tools=[wait])
    async with Runtime("memory:", agents=[agent]) as runtime:
        session = await runtime.start("waiter", "Wait", session_id="w", budget=Budget(seconds=5))
        outcome = await session.outcome()
    assert isinstance(outcome, HandedOver)
    assert outcome.detail == "budget seconds of session w: 5 of 5 used"
