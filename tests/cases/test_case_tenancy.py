"""TE-02: one definition serves all sessions, and nothing of one shows up in another."""

import random

import anyio
import pytest
from sessions import REAL_BACKENDS, agent, answers, ended, journal, opened, requests

from ukemi import Agent, Budget, Completed, Runtime, current, tool
from ukemi.actors.model import ModelRequest, UserMessage
from ukemi.actors.tooling.context import CallContext
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Ended, Resulted

SESSIONS = 300


@pytest.fixture(params=REAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Some bodies run in threads."""
    backend: tuple[str, dict[str, object]] = request.param
    return backend


class Names:
    """The one definition: sets a name, waits, and asks three times who it is, in every way."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.heard: dict[str, list[str]] = {}
        self.contexts: list[CallContext] = []
        chance = random.Random(7)

        def hear(name: str) -> str:
            context = current()
            self.contexts.append(context)
            self.heard.setdefault(context.session_id, []).append(name)
            return name

        @tool
        async def set_name(name: str) -> str:
            self.names[current().session_id] = name
            await anyio.sleep(chance.uniform(0.0, 0.02))
            return "set"

        @tool(effect="read")
        async def whoami() -> str:
            await anyio.sleep(chance.uniform(0.0, 0.005))
            return hear(self.names[current().session_id])

        @tool(effect="read")
        def whoami_in_a_thread() -> str:
            return hear(self.names[current().session_id])

        tools: list[AnyTool] = [set_name, whoami, whoami_in_a_thread]
        self.child = agent(self.script, tools, name="child", record=False)
        self.agent = agent(self.script, [*tools, self.child.as_tool()], record=False)

    def script(self, request: ModelRequest) -> Reply:
        done = answers(request)
        if done == 0:
            return call("set_name", name=request.session_id)
        if done == 1:
            asks = [call("whoami"), call("whoami_in_a_thread"), call("whoami")]
            if any(each.name == "child" for each in request.tools):
                asks.append(call("child", task=f"for {request.session_id}"))
            return asks
        return f"I am {request.session_id}"


async def run_all(store: MemoryStore, names: Names) -> dict[str, object]:
    outcomes: dict[str, object] = {}
    async with Runtime(store, agents=[names.agent, names.child]) as runtime:
        for at in range(SESSIONS):
            budget = Budget(steps=10 + at, seconds=None)
            await runtime.start("agent", f"task {at}", session_id=f"s-{at}", budget=budget)
        for at in range(SESSIONS):
            outcomes[f"s-{at}"] = await ended(runtime, f"s-{at}", 60.0)
    return outcomes


async def test_TE_02_everybody_hears_his_own_name_also_in_children_and_threads(
    store: MemoryStore,
) -> None:
    names = Names()
    outcomes = await run_all(store, names)
    assert outcomes == {f"s-{at}": Completed(f"I am s-{at}") for at in range(SESSIONS)}
    assert len(names.heard) == 2 * SESSIONS  # each has one child
    for session_id, heard in names.heard.items():
        assert heard == [session_id] * 3
    assert {f"s-{at}.3.3" for at in range(SESSIONS)} <= names.heard.keys()


async def test_TE_02_journals_ledgers_and_budgets_hold_their_own_entries_only(
    store: MemoryStore,
) -> None:
    names = Names()
    await run_all(store, names)
    async with opened(store):
        for at in range(SESSIONS):
            entries = await journal(store, f"s-{at}")
            contents = [each.content for each in entries if isinstance(each, Resulted)]
            assert sorted(contents) == sorted(["set", *[f"s-{at}"] * 3, f"I am s-{at}.3.3"])
            (end,) = [each for each in entries if isinstance(each, Ended)]
            assert (end.spent.steps, end.spent.model_calls, end.spent.tool_calls) == (2, 3, 5)
            child = (await store.head(f"s-{at}.3.3")).facts
            assert child.parent == f"s-{at}"
            assert (child.spent.steps, child.spent.tool_calls) == (2, 4)


async def test_TE_02_a_body_knows_its_own_call(store: MemoryStore) -> None:
    names = Names()
    await run_all(store, names)
    named = [(each.session_id, each.call) for each in names.contexts]
    assert len(named) == len(set(named)) == 2 * 3 * SESSIONS


async def test_TE_02_requests_hold_the_messages_of_their_session_only(store: MemoryStore) -> None:
    def script(request: ModelRequest) -> Reply:
        return f"answer to {request.session_id}"

    of: Agent = agent(script)
    async with Runtime(store, agents=[of]) as runtime:
        for at in range(50):
            await runtime.start("agent", f"task of s-{at}", session_id=f"s-{at}")
        for at in range(50):
            await ended(runtime, f"s-{at}", 30.0)
    for request in requests(of):
        assert list(request.messages) == [UserMessage(f"task of {request.session_id}")]
