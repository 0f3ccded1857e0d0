"""Answers that are none, and answers of another model, from the wire to the stored session.

From janhq/jan#8712, vllm-project/vllm#53255, use-agent-os/agent-os#2608 and openclaw/openclaw#107221.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from loopback_llm import (
    Answer,
    Received,
    call_block,
    chat,
    message,
    serve,
    text_block,
    thinking_block,
)
from sessions import REAL_BACKENDS, ended
from vendors import VENDORS, Vendor

from ukemi import Agent, Completed, HandedOver, Policy, RetryPolicy, Runtime, tool
from ukemi.actors.outcome import Outcome
from ukemi.models import AnthropicModel

AT_ONCE = RetryPolicy(delay_s_first=0.0, delay_s_max=0.0)


@pytest.fixture(params=REAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """The vendors' SDKs talk to a real socket."""
    backend: tuple[str, dict[str, object]] = request.param
    return backend


@tool(effect="read")
async def look() -> str:
    return "all is well"


async def played(vendor: Vendor, script: list[Answer]) -> tuple[Outcome, list[Received]]:
    async with vendor.serving(script) as talk:
        of = Agent("agent", model=talk.model, tools=[look])
        policy = Policy(transient=AT_ONCE, in_doubt_timeout=AT_ONCE)
        async with Runtime("memory:", agents=[of], policy=policy) as runtime:
            await runtime.start("agent", "go", session_id="s-1")
            outcome = await ended(runtime, "s-1", 20.0)
        return outcome, talk.provider.requests


def thought_only(vendor: Vendor) -> Answer:
    if vendor.name == "openai":
        return chat("", reasoning_content="The user wants four.")
    return message(thinking_block("The user wants four.", "signed"))


def nothing(vendor: Vendor) -> Answer:
    return chat("") if vendor.name == "openai" else message()


def announced(vendor: Vendor) -> Answer:
    if vendor.name == "openai":
        return chat("Let me look.", finish="tool_calls")
    return message(text_block("Let me look."), stop="tool_use")


@pytest.mark.parametrize("first", [thought_only, nothing, announced])
@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.id)
async def test_over_the_wire_nothing_is_no_answer(vendor: Vendor, first: Any) -> None:
    outcome, asked = await played(vendor, [first(vendor), vendor.answer("It is four.")])
    assert outcome == Completed("It is four.")
    assert len(asked) == 2


def ended_in_error(told: dict[str, Any] | None, whole: bool) -> Answer:
    """A gateway's answer whose provider failed in the middle, told inside the choice."""
    choice: dict[str, Any] = {"index": 0, "finish_reason": "error"}
    if told is not None:
        choice["error"] = told
    head = {"id": "1", "created": 1, "model": "m"}
    if whole:
        choice["message"] = {"role": "assistant", "content": "It is fo"}
        body = head | {"object": "chat.completion", "choices": [choice]}
        return Answer(whole=json.dumps(body).encode())
    choice["delta"] = {"content": ""}
    chunk = head | {"object": "chat.completion.chunk", "choices": [choice]}
    begun = chat("It is fo").events[:2]
    return Answer(events=[*begun, b"data: " + json.dumps(chunk).encode() + b"\n\n"])


OPENAI = [vendor for vendor in VENDORS if vendor.name == "openai"]


@pytest.mark.parametrize("told", [{"code": 502, "message": "Provider disconnected"}, None])
@pytest.mark.parametrize("vendor", OPENAI, ids=lambda vendor: vendor.id)
async def test_an_error_told_inside_an_answer_is_an_attempt_that_failed(
    vendor: Vendor, told: dict[str, Any] | None
) -> None:
    script = [ended_in_error(told, not vendor.stream), chat("It is four.")]
    outcome, asked = await played(vendor, script)
    assert outcome == Completed("It is four.")
    assert asked[0].body["messages"] == asked[1].body["messages"]  # nothing of it was used


@pytest.mark.parametrize("vendor", OPENAI, ids=lambda vendor: vendor.id)
async def test_an_error_told_inside_an_answer_has_its_class(vendor: Vendor) -> None:
    told = {"code": 401, "message": "No auth credentials found"}
    outcome, asked = await played(vendor, [ended_in_error(told, not vendor.stream)])
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "permission"
    assert len(asked) == 1


@pytest.mark.parametrize("name", ["model-a", "model-b"])
async def test_what_one_model_has_signed_is_not_sent_to_another(tmp_path: Path, name: str) -> None:
    script = [
        message(thinking_block("hm", "SIGNED-1"), call_block("c1", "look", {})),
        message(thinking_block("so", "SIGNED-2"), text_block("All is well.")),
        message(text_block("Still well.")),
    ]
    path = tmp_path / "store.db"
    async with serve(script) as provider:
        for model_name, task in (("model-a", "go"), (name, "and now?")):
            url = provider.anthropic_url
            model = AnthropicModel(model_name, base_url=url, api_key="k", stream=False)
            of = Agent("agent", model=model, tools=[look])
            async with Runtime(path, agents=[of]) as runtime:
                if task == "go":
                    await runtime.start("agent", task, session_id="s-1")
                else:
                    await runtime.session("s-1").send(task)
                await ended(runtime, "s-1", 20.0)
            await model.aclose()
        last = provider.requests[-1].body["messages"]
    kinds = [block["type"] for each in last for block in each["content"]]
    signed = ["thinking"] if name == "model-a" else []
    assert kinds == ["text", *signed, "tool_use", "tool_result", *signed, "text", "text"]
