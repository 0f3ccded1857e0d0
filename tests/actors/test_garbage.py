"""What a runtime leaves behind when it was left: nothing."""

import gc
import weakref
from collections import Counter

import anyio
import pytest

from ukemi import Agent, BusinessRejected, Completed, Runtime, tool
from ukemi.actors.budget import Account
from ukemi.actors.journal import Journal
from ukemi.actors.life import Life
from ukemi.actors.session import Session
from ukemi.actors.state import SessionState
from ukemi.models import Reply, ScriptedModel, call
from ukemi.stores import MemoryStore

OF_A_SESSION = (Account, Journal, Life, Session, SessionState)


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


@tool(effect="read")
async def look(at: str) -> str:
    """Look something up."""
    return f"seen {at}"


@tool
async def put(at: str) -> str:
    """Change something."""
    return f"put {at}"


@tool(effect="read")
async def fail(at: str) -> str:
    """Fail for good."""
    raise BusinessRejected("no")


def many(name: str) -> list[Reply]:
    """Two calls side by side, and an answer."""
    return [[call(name, at="a"), call(name, at="b")], "done"]


ENDS: dict[str, list[Reply]] = {
    "an answer": ["done"],
    "reads": many("look"),
    "writes": many("put"),
    "refused for good": [call("fail", at="a"), "blocked, because it was refused"],
    "unknown": [call("nothing", at="a"), "done"],
    "handed over": [RuntimeError("something new")],
}


def of_sessions() -> Counter[str]:
    """Count what sessions are made of, those of other tests in this process too."""
    return Counter(
        type(each).__name__ for each in gc.get_objects() if isinstance(each, OF_A_SESSION)
    )


@pytest.mark.parametrize("script", ENDS.values(), ids=list(ENDS))
async def test_an_ended_session_is_freed_without_a_collection(
    store: MemoryStore, script: list[Reply]
) -> None:
    agent = Agent("worker", model=ScriptedModel(list(script) * 2), tools=[look, put, fail])

    async def live(runtime: Runtime, session_id: str) -> None:
        await (await runtime.start("worker", "go", session_id=session_id)).outcome()

    async with Runtime(store, agents=[agent], collector="untouched") as runtime:
        await live(runtime, "first")  # what is made once and kept is made now
        gc.collect()
        gc.disable()
        try:
            before = of_sessions()
            await live(runtime, "second")
            await anyio.wait_all_tasks_blocked()
            kept = of_sessions() - before
        finally:
            gc.enable()
    assert not kept
