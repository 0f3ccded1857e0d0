"""A provider's refusal of a long conversation, in its own words, prunes it: the session goes on."""

import json
import secrets

import anyio
import pytest
from loopback_llm import Answer, Received, serve, status
from vendors import Vendor

from ukemi import Agent, Completed, Runtime, UsageError, tool
from ukemi.actors.inspection import entries_of
from ukemi.models import AnthropicModel, OpenAIModel
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Pruned

LIMIT = 6_000
STEPS = 16

WORDS = {
    "openai": (
        "This model's maximum context length is {limit} tokens. However, you sent {size} tokens.",
        "context_length_exceeded",
    ),
    "anthropic": ("prompt is too long: {size} tokens > {limit} maximum", "invalid_request_error"),
}


@tool(effect="read")
async def look(at: int) -> str:
    """Look at a place."""
    return f"place {at}: " + "x" * 500


class Window:
    """Answers calls until all steps are made; refuses what is longer than its window."""

    def __init__(self, vendor: Vendor) -> None:
        self.vendor = vendor
        self.refused = 0
        self.steps = 0

    def __call__(self, request: Received) -> Answer:
        size = len(json.dumps(request.body["messages"]))
        if size > LIMIT:
            self.refused += 1
            message, kind = WORDS[self.vendor.name]
            return status(400, message=message.format(size=size, limit=LIMIT), kind=kind)
        if self.steps == STEPS:
            return self.vendor.answer("done")
        self.steps += 1
        return self.vendor.answer(calls=[(f"c{self.steps}", "look", f'{{"at": {self.steps}}}')])


async def test_the_provider_refuses_a_long_conversation(vendor: Vendor) -> None:
    window = Window(vendor)
    store = MemoryStore(secrets.token_hex(8))
    async with serve(window) as provider:
        model = vendor.model(provider)
        of = Agent("agent", model=model, tools=[look])
        async with Runtime(store, agents=[of]) as runtime:
            handle = await runtime.start("agent", "look everywhere", session_id="s")
            with anyio.fail_after(30):
                assert await handle.outcome() == Completed("done")
        await model.aclose()
    await store.open()
    made = [each for each in entries_of(await store.load("s")) if isinstance(each, Pruned)]
    await store.close()
    assert len(made) == window.refused >= 2
    assert window.steps == STEPS


@pytest.mark.parametrize("make", [OpenAIModel, AnthropicModel])
def test_a_context_is_a_number_of_tokens(make: type[OpenAIModel | AnthropicModel]) -> None:
    assert make("m", api_key="k").context_tokens is None
    assert make("m", api_key="k", context_tokens=200_000).context_tokens == 200_000
    with pytest.raises(UsageError, match="context_tokens=0 must be at least 1"):
        make("m", api_key="k", context_tokens=0)
