"""Sessions that outgrow their model: what a bad summariser does, and what is known over a prune.

From respawn-llc/kent#695, earendil-works/pi#8196, HKUDS/Vibe-Trading#1488, xorbitsai/xagent#2147 and
bastani-inc/atomic#2172.
"""

import pytest
from failing import HttpError
from sessions import agent, answers, assert_paired, ended, requests, run_one

from ukemi import Agent, Completed, HandedOver, Runtime, tool
from ukemi.actors.events import ConversationPruned
from ukemi.actors.model import ModelReply, ModelRequest, UserMessage
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import ScriptedModel, call
from ukemi.models.scripted import Reply, Script
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Usage
from ukemi.supervisor.policy_file import parse_policy

CONTEXT = 12_000
SUMMED_UP = parse_policy('[context_overflow]\nsummary = "model"\n')


@tool(effect="read")
async def read(page: int) -> str:
    return f"page {page} " * 1000


@tool
async def send_email(to: str) -> str:
    """Send an email."""
    return "queued as m-1"


def reading(script: Script) -> Agent:
    """An agent whose model counts nothing, so that all is estimated."""
    tools: list[AnyTool] = [read, send_email]
    return agent(script, tools, context_tokens=CONTEXT, output_tokens_max=500, usage=Usage())


SUMMARIES: dict[str, Reply] = {
    "a call": call("read", page=1),
    "nothing": ModelReply(text=""),
    "half of one": ModelReply(text="The first half of", finish="length"),
    "a refusal": ModelReply(text="I cannot", finish="refused"),
    "too long again": HttpError(400, {}, {"error": {"code": "context_length_exceeded"}}),
    "busy": HttpError(503),
    "unknown": RuntimeError("?"),
}


@pytest.mark.parametrize("summary", SUMMARIES.values(), ids=SUMMARIES)
async def test_what_is_no_summary_ends_nothing(store: MemoryStore, summary: Reply) -> None:
    """The digest stands in its place; the summariser is asked once for each prune, within the limit."""

    def script(request: ModelRequest) -> Reply:
        if not request.tools:
            return summary
        at = answers(request)
        return call("read", page=at) if at < 12 else "Read it all."

    of = reading(script)
    async with Runtime(store, agents=[of], policy=SUMMED_UP) as runtime:
        handle = await runtime.start("agent", "read it all", session_id="s-1")
        events = [event async for event in handle.events()]
        assert await ended(runtime, "s-1") == Completed("Read it all.")
    prunes = [event for event in events if isinstance(event, ConversationPruned)]
    asked = [each for each in requests(of) if not each.tools]
    assert prunes
    assert len(asked) == len(prunes)
    for request in requests(of):
        assert_paired(request.messages)
    for request in asked:
        texts = [each.text for each in request.messages if isinstance(each, UserMessage)]
        assert 0 < len("".join(texts)) < 4 * CONTEXT
    shown = "\n".join(str(each) for each in requests(of)[-1].messages)
    assert "The first half of" not in shown
    assert "I cannot" not in shown


async def test_a_prune_in_the_middle_hides_no_loop(store: MemoryStore) -> None:
    of = reading([call("read", page=1)] * 60)
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "planning"
    assert len(requests(of)) == 25


async def test_deeds_and_wishes_from_before_a_prune_are_known_after_it(store: MemoryStore) -> None:
    said = "I sent the email to ann@example.org and read the pages."

    async def script(request: ModelRequest) -> Reply:
        at = answers(request)
        if at == 3:
            await runtime.session("s-1").send("Never touch prod.db!")
        if at == 0:
            return call("send_email", to="ann@example.org")
        return call("read", page=at) if at < 14 else said

    model = ScriptedModel(script, record=True, context_tokens=CONTEXT, usage=Usage())
    of = Agent("agent", model=model, tools=[read, send_email])
    async with Runtime(store, agents=[of]) as runtime:
        await runtime.start("agent", "write to Ann, then read", session_id="s-1")
        assert await ended(runtime, "s-1") == Completed(said)
        handle = runtime.session("s-1")
        assert (await handle.inspect()).in_doubt == ()
    last = [each.text for each in requests(of)[-1].messages if isinstance(each, UserMessage)]
    assert len(requests(of)[-1].messages) < 30  # it was pruned
    assert "Never touch prod.db!" in last
