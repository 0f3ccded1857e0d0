"""The same thing asked for twice: a start by the same id, a resume of what runs, equal calls side by side.

From cyrusagents/cyrus#1450 (a webhook delivered twice), dbos-inc/dbos-transact-java#491 (recovery took over what
was running in the process) and NousResearch/hermes-agent#86887 (equal calls of one message, keys in another order).
"""

import anyio
import pytest
from sessions import LoopClock, agent, answers, ended, run_one

from ukemi import Agent, Completed, HandedOver, Runtime, SessionExists, SessionHandle, tool
from ukemi.actors.model import ModelRequest
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import ToolCall


def slow(ran: list[float]) -> Agent:
    @tool
    async def act() -> str:
        ran.append(anyio.current_time())
        await anyio.sleep(3.0)
        return "acted"

    return agent([call("act"), "done"], [act])


async def test_an_id_starts_one_session_whoever_asks_and_however_often(store: MemoryStore) -> None:
    ran: list[float] = []
    of = slow(ran)
    started: list[SessionHandle] = []
    refused: list[str] = []

    async def start(runtime: Runtime) -> None:
        try:
            started.append(await runtime.start("agent", "go", session_id="event-1"))
        except SessionExists as error:
            refused.append(str(error))

    clock = LoopClock()
    async with (
        Runtime(store, agents=[of], clock=clock) as first,
        Runtime(store, agents=[of], clock=clock) as second,
    ):
        async with anyio.create_task_group() as group:
            for runtime in (first, first, second):
                group.start_soon(start, runtime)
        (handle,) = started
        assert await handle.outcome() == Completed("done")
        await start(second)
        await start(first)
        assert await second.session("event-1").outcome() == Completed("done")
    assert refused == ["session event-1 exists already"] * 4
    assert len(ran) == 1


async def test_resuming_what_runs_here_starts_nothing(store: MemoryStore) -> None:
    ran: list[float] = []
    async with Runtime(store, agents=[slow(ran)], clock=LoopClock()) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        await anyio.sleep(1.0)
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(runtime.resume, "s-1")
        assert await handle.outcome() == Completed("done")
    assert len(ran) == 1


@pytest.mark.parametrize("overlap", [False, True])
async def test_equal_calls_of_one_message_where_the_first_is_in_doubt(
    store: MemoryStore, overlap: bool
) -> None:
    """Those that had begun side by side are two doubts; one that had not begun does not begin."""
    ran: list[tuple[int, int]] = []

    @tool(timeout_s=2.0, overlap=overlap)
    async def charge(a: int, b: int) -> str:
        ran.append((a, b))
        await anyio.sleep(60.0)
        return "charged"

    both = [ToolCall("x", "charge", '{"a":1,"b":2}'), ToolCall("y", "charge", '{"b":2,"a":1}')]

    def script(request: ModelRequest) -> Reply:
        return "done" if answers(request) else both

    of = agent(script, [charge])
    async with Runtime(store, agents=[of], clock=LoopClock()) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1")
        assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
        handle = runtime.session("s-1")
        assert len((await handle.inspect()).questions) == 1 + overlap
        await handle.resolve("done", result="it is there", call=(2, 0))
        if overlap:
            await ended(runtime, "s-1")
            await handle.resolve("not_done", call=(2, 1))
        assert await ended(runtime, "s-1") == Completed("done")
        assert (await handle.inspect()).questions == ()
    assert ran == [(1, 2)] * (1 + overlap)
