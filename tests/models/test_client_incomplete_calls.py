"""PP-01: a call that did not arrive whole is never run, never mended, and can always go back."""

import json
from dataclasses import dataclass
from operator import attrgetter

import msgspec
import pytest
from vendors import STREAMS, Vendor

from ukemi.actors.model import AssistantMessage, Finish, ToolMessage, UserMessage


@dataclass(frozen=True)
class Case:
    """One way for a call to arrive incomplete."""

    rule: str
    finish: str
    arguments: str
    says: str
    reads_as: Finish = "tool_calls"
    tool: str = "write_file"


PP_01 = [
    Case(
        "PP-01 a: cut at the limit in the middle of the JSON",
        "length",
        '{"commands": ["npm install", "npm test"',
        "smaller piece",
        "length",
    ),
    Case(
        "PP-01 b: ended as if whole, in the middle of a text",
        "stop",
        '{"path": "a.md", "text": "# Title\\n...',
        "not one JSON object",
    ),
    Case(
        "PP-01 c: complete JSON of an answer that was cut at the limit",
        "length",
        '{"path": "a.md"}',
        "smaller piece",
        "length",
    ),
    Case("PP-01 d: nothing, for a tool that needs arguments", "stop", "", "path, text"),
]
MORE = [
    Case("two objects", "stop", '{"path": "a"}{"path": "b"}', "not one JSON object"),
    Case("a list", "stop", '["a.md"]', "not one JSON object"),
    Case("an object inside a text", "stop", '"{\\"path\\": 1}"', "not one JSON object"),
    Case("half a character", "stop", '{"path": "\\ud83d"}', "not one JSON object"),
    Case("depth without end", "stop", '{"path": ' + "[" * 5000, "not one JSON object"),
    Case("an ending nobody knows", "pause_turn", "{}", "smaller piece", "length", "clock"),
]


@pytest.mark.parametrize("case", PP_01 + MORE, ids=attrgetter("rule"))
@pytest.mark.parametrize("vendor", STREAMS, ids=attrgetter("id"))
async def test_incomplete_call_is_refused_and_its_record_is_valid(
    vendor: Vendor, case: Case
) -> None:
    """The session runs no call that has a problem; the problem says what to do instead."""
    answer = vendor.answer("", [("c1", case.tool, case.arguments)], finish=case.finish)
    async with vendor.serving([answer, vendor.answer("ok")]) as talk:
        reply = await talk.ask()
        (call,) = reply.calls
        assert call.problem is not None
        assert "incomplete" in call.problem
        assert case.says in call.problem
        assert "Nothing was run" in call.problem
        assert call.arguments == "{}"
        assert reply.finish == case.reads_as
        said = AssistantMessage(reply.text, reply.calls, reply.raw, reply.raw_format)
        result = ToolMessage(call.id, call.name, call.problem, is_error=True)
        await talk.ask(UserMessage("hello"), said, result)
    assert arguments_sent_back(vendor, talk.provider.requests[1].body) == [{}]


def arguments_sent_back(vendor: Vendor, body: dict[str, object]) -> list[object]:
    """Return the arguments of all calls in a request's transcript, decoded."""
    assistant = json.loads(json.dumps(body["messages"]))[1]
    if vendor.name == "openai":
        texts = [entry["function"]["arguments"] for entry in assistant["tool_calls"]]
        return [msgspec.json.decode(text) for text in texts]
    return [block["input"] for block in assistant["content"] if block["type"] == "tool_use"]


async def test_a_whole_call_beside_a_broken_one_is_kept(vendor: Vendor) -> None:
    """Only the length of the answer condemns all calls; a malformed one condemns itself."""
    calls = [("c1", "clock", "{}"), ("c2", "write_file", "")]
    async with vendor.serving([vendor.answer("", calls)]) as talk:
        reply = await talk.ask()
    assert [call.problem is None for call in reply.calls] == [True, False]


async def test_nothing_is_enough_for_a_tool_without_required_arguments(vendor: Vendor) -> None:
    async with vendor.serving([vendor.answer("", [("c1", "clock", "")])]) as talk:
        (call,) = (await talk.ask()).calls
    assert (call.arguments, call.problem) == ("{}", None)


async def test_a_name_no_provider_takes_back_is_made_one(vendor: Vendor) -> None:
    """Otherwise every later request of the session would be refused."""
    calls = [("c1", "write file!", "{}"), ("c2", "", "{}")]
    async with vendor.serving([vendor.answer("", calls)]) as talk:
        reply = await talk.ask()
    assert [call.name for call in reply.calls] == ["write_file_", "unnamed"]
    assert all(call.problem for call in reply.calls)


async def test_unsigned_thinking_of_a_cut_answer_does_not_go_back() -> None:
    """The API refuses thinking whose signature was lost at the limit."""
    from loopback_llm import message, thinking_block

    vendor = Vendor("anthropic", stream=True)
    answer = message(thinking_block("Half a tho", ""), stop="max_tokens")
    async with vendor.serving([answer, vendor.answer("ok")]) as talk:
        reply = await talk.ask()
        said = AssistantMessage(reply.text, reply.calls, reply.raw, reply.raw_format)
        await talk.ask(UserMessage("hello"), said, UserMessage("go on"))
    assert reply.finish == "length"
    assistant = talk.provider.requests[1].body["messages"][1]
    assert assistant["content"] == [{"type": "text", "text": "(no text)"}]
