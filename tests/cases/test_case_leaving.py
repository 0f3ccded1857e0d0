"""A runtime is left while bodies run: what they make of their cancellation is no answer of theirs.

From modelcontextprotocol/python-sdk#577 (a client's clean-up raises RuntimeError) and aio-libs/aiohttp#5979
(a library turns a cancellation into TimeoutError).
"""

import anyio
import pytest
from sessions import LoopClock, agent, answers, ended, journal, opened

from ukemi import BusinessRejected, Completed, HandedOver, Runtime, tool
from ukemi.actors.model import ModelRequest
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Retried

ERRORS = {
    "a clean-up that fails": RuntimeError("exit of a cancel scope in a different task"),
    "a time-out": TimeoutError(),
    "a time-out that says it never went out": TimeoutError("connect timeout"),
    "a connection": ConnectionResetError("reset"),
}


class Asked:
    """A tool or model that is slow once, and raises when that is cancelled."""

    def __init__(self, error: Exception, effect: str) -> None:
        self.error = error
        self.ran = 0
        self.asked = 0

        @tool(effect="read" if effect == "read" else "write")
        async def look() -> str:
            if effect != "model":
                await self._slow()
            return "seen"

        async def script(request: ModelRequest) -> Reply:
            if effect == "model":
                await self._slow()
            return "done" if answers(request) else call("look")

        self.agent = agent(script, [look])

    async def _slow(self) -> None:
        self.ran += 1
        if self.ran == 1:
            try:
                await anyio.sleep(60.0)
            except BaseException:  # noqa: BLE001 - this is what some libraries do
                raise self.error from None


async def left_and_entered(store: MemoryStore, asked: Asked) -> object:
    async with Runtime(store, agents=[asked.agent], clock=LoopClock()) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        await anyio.sleep(1.0)
    async with opened(store):
        entries = await journal(store, "s-1")
    assert not [each for each in entries if isinstance(each, Retried)], (
        "it is no attempt that failed"
    )
    async with Runtime(store, agents=[asked.agent], clock=LoopClock()) as runtime:
        return await ended(runtime, "s-1")


@pytest.mark.parametrize("error", list(ERRORS.values()), ids=list(ERRORS))
@pytest.mark.parametrize("effect", ["read", "model"])
async def test_what_can_be_repeated_goes_on_in_the_next_runtime(
    store: MemoryStore, error: Exception, effect: str
) -> None:
    asked = Asked(error, effect)
    assert await left_and_entered(store, asked) == Completed("done")
    assert asked.ran == (2 if effect == "read" else 3)


@pytest.mark.parametrize("error", list(ERRORS.values()), ids=list(ERRORS))
async def test_a_write_is_in_doubt_whatever_it_says_on_its_way_out(
    store: MemoryStore, error: Exception
) -> None:
    asked = Asked(error, "write")
    outcome = await left_and_entered(store, asked)
    assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
    assert asked.ran == 1


async def test_a_tool_s_own_word_counts(store: MemoryStore) -> None:
    asked = Asked(BusinessRejected("declined"), "write")
    async with Runtime(store, agents=[asked.agent], clock=LoopClock()) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        await anyio.sleep(1.0)
    async with Runtime(store, agents=[asked.agent], clock=LoopClock()) as runtime:
        outcome = await ended(runtime, "s-1")
    assert isinstance(outcome, HandedOver) and outcome.reason == "blocked"
    assert asked.ran == 1
