"""Tokens that nobody counted, and limits that are reached in a sub-session.

From headroomlabs-ai/headroom#2713, anthropics/claude-agent-sdk-python#1273, stacklok/mecatl#422 and
HKUDS/nanobot#2760, whose layers are nested here.
"""

import json

import pytest
from failing import HttpError, Upstream
from sessions import agent, ended, requests, results, run_one

from ukemi import Agent, Budget, Completed, HandedOver, Runtime, tool
from ukemi.actors.model import ModelReply, ModelRequest, Prices
from ukemi.actors.outcome import Outcome
from ukemi.models import ScriptedModel, call
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import ToolCall, Usage


@tool(effect="read")
async def look(at: int) -> str:
    return f"value {at}"


class Untold:
    """A model of one's own, whose server tells no usage; it looks so often, and then answers."""

    name = "untold"
    output_tokens_max = 200

    def __init__(self, looks: int = 90, prices: Prices | None = None) -> None:
        self.asked = 0
        self._looks = looks
        self.prices = prices

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked += 1
        if self.asked > self._looks:
            return ModelReply(text="done")
        arguments = json.dumps({"at": self.asked})
        told = "I will look at the next one, and at the one after that. " * 10
        wanted = ToolCall(f"c{self.asked}", "look", arguments)
        return ModelReply(text=told, calls=(wanted,), finish="tool_calls")


async def spent_by(store: MemoryStore, model: Untold, budget: Budget) -> tuple[Outcome, int]:
    of = Agent("agent", model=model, tools=[look])
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", budget=budget)
        outcome = await ended(runtime, handle.id)
        return outcome, (await handle.inspect()).spent.tokens


@pytest.mark.parametrize(
    ("budget", "limit"),
    [(Budget(tokens=20_000), "tokens"), (Budget(cost_usd=0.1), "cost_usd")],
    ids=["tokens", "dollars"],
)
async def test_tokens_that_nobody_counted_are_not_free(
    store: MemoryStore, budget: Budget, limit: str
) -> None:
    model = Untold(prices=Prices(input_usd=5.0, output_usd=5.0))
    outcome, tokens = await spent_by(store, model, budget)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "budget"
    assert f"budget {limit} of session" in outcome.detail
    assert 10_000 < tokens <= 20_000
    assert model.asked < 30


async def test_without_such_a_limit_nothing_is_estimated(store: MemoryStore) -> None:
    assert await spent_by(store, Untold(looks=3), Budget()) == (Completed("done"), 0)


def looks(tokens: int) -> ModelReply:
    wanted = ToolCall("c", "look", '{"at": 1}')
    return ModelReply(calls=(wanted,), finish="tool_calls", usage=Usage(tokens - 10, 10))


async def test_a_limit_reached_in_a_sub_session_ends_its_parent_too(store: MemoryStore) -> None:
    child = agent([looks(100)] * 50, [look], name="child", output_tokens_max=50)
    parent = agent(
        [call("child", task="look"), "It was not done."],
        [child.as_tool()],
        name="parent",
        output_tokens_max=50,
    )
    async with Runtime(store, agents=[child, parent]) as runtime:
        handle = await runtime.start("parent", "go", session_id="p", budget=Budget(tokens=1000))
        outcome = await ended(runtime, "p")
        spent = (await handle.inspect()).spent.tokens
        part = (await runtime.session("p.2.0").inspect()).spent.tokens
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "budget"
    assert "tokens of session p" in outcome.detail
    assert spent + part <= 1000


async def test_a_part_stopped_by_its_own_limit_is_no_success_to_the_parent(
    store: MemoryStore,
) -> None:
    child = agent([call("look", at=at) for at in range(9)], [look], name="child")
    part = child.as_tool(budget=Budget(steps=1))
    parent = agent([call("child", task="look"), "It was not done."], [part], name="parent")
    async with Runtime(store, agents=[child, parent]) as runtime:
        outcome = await run_one(runtime, parent)
    assert isinstance(outcome, HandedOver)
    told = results(requests(parent)[-1].messages)[-1]
    assert told.is_error
    assert "steps" in told.content


async def test_attempts_do_not_multiply_over_nested_sessions(store: MemoryStore) -> None:
    upstream = Upstream([HttpError(503)])
    child = Agent("child", model=ScriptedModel(upstream.model))
    parent = agent(
        [call("child", task="look"), "It was not done."], [child.as_tool()], name="parent"
    )
    async with Runtime(store, agents=[child, parent]) as runtime:
        outcome = await run_one(runtime, parent)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "blocked"
    assert len(upstream.asked_at) == 4
