"""Real SDK clients against a provider on loopback: whole answers, calls, usage, transcripts."""

import asyncio
import json

import anthropic
import anyio.to_thread
import msgspec
import openai
import pytest
from loopback_llm import Json, chat, message, serve, status, text_block, thinking_block
from vendors import Vendor, asking

from ukemi.actors.model import AssistantMessage, ModelReply, Prices, ToolMessage, UserMessage
from ukemi.models import AnthropicModel, OpenAIModel
from ukemi.stores.records import ToolCall, Usage

BOTH_MODES = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])


def said(reply: ModelReply) -> AssistantMessage:
    return AssistantMessage(reply.text, reply.calls, reply.raw, reply.raw_format)


async def test_a_plain_answer_with_its_usage(vendor: Vendor) -> None:
    async with vendor.serving([vendor.answer("Hello, world")]) as talk:
        reply = await talk.ask()
    assert (reply.text, reply.calls, reply.finish) == ("Hello, world", (), "stop")
    assert reply.usage == Usage(input_tokens=20, output_tokens=7)
    assert reply.raw is None, "text alone says it all: nothing is stored twice"


async def test_one_request_carries_instructions_messages_tools_and_limit(vendor: Vendor) -> None:
    async with vendor.serving([vendor.answer("ok")], extra_body={"top_k": 5}) as talk:
        await talk.ask(instructions="Be brief.", output_tokens_max=300)
    (sent,) = talk.provider.requests
    assert sent.body["model"] == "m"
    assert sent.body["top_k"] == 5
    assert sent.body["max_tokens"] == 300
    assert "Be brief." in json.dumps(sent.body)
    assert {"role": "user"}.items() <= sent.body["messages"][-1].items()
    assert len(sent.body["tools"]) == 2
    assert sent.headers["x-stainless-retry-count"] == "0"


async def test_the_smaller_limit_of_an_answers_length_wins(vendor: Vendor) -> None:
    script = [vendor.answer("ok"), vendor.answer("ok")]
    async with vendor.serving(script, output_tokens_max=500) as talk:
        await talk.ask(output_tokens_max=9000)
        await talk.ask()
    assert [sent.body["max_tokens"] for sent in talk.provider.requests] == [500, 500]


async def test_tool_calls_side_by_side(vendor: Vendor) -> None:
    calls = [
        ("c1", "write_file", '{"path": "a.txt", "text": "A"}'),
        ("c2", "clock", "{}"),
        ("c3", "write_file", '{"path": "b.txt", "text": "B"}'),
    ]
    async with vendor.serving([vendor.answer("On it.", calls)]) as talk:
        reply = await talk.ask()
    assert reply.finish == "tool_calls"
    assert reply.text == "On it."
    assert [(call.id, call.name, call.problem) for call in reply.calls] == [
        ("c1", "write_file", None),
        ("c2", "clock", None),
        ("c3", "write_file", None),
    ]
    assert json.loads(reply.calls[2].arguments) == {"path": "b.txt", "text": "B"}


async def test_duplicate_call_ids_become_unique_and_go_back_so(vendor: Vendor) -> None:
    call = ("c1", "clock", "{}")
    async with vendor.serving([vendor.answer("", [call, call]), vendor.answer("ok")]) as talk:
        reply = await talk.ask()
        first, second = (call.id for call in reply.calls)
        await talk.ask(
            UserMessage("hello"),
            said(reply),
            ToolMessage(first, "clock", "noon"),
            ToolMessage(second, "clock", "one"),
        )
    assert first == "c1"
    assert second != "c1"
    sent = json.dumps(talk.provider.requests[1].body["messages"])
    assert sent.count(f'"{first}"') == 2
    assert sent.count(f'"{second}"') == 2


async def test_pieces_are_told_as_they_come(vendor: Vendor) -> None:
    pieces: list[str] = []
    async with vendor.serving([vendor.answer("Hello, wide world", piece=6)]) as talk:
        reply = await talk.ask(on_piece=pieces.append)
    assert reply.text == "Hello, wide world"
    assert pieces == (["Hello,", " wide ", "world"] if vendor.stream else [])


async def test_half_characters_never_get_through(vendor: Vendor) -> None:
    """An emoji sent as two escaped halves, in two pieces; and a half without its other half."""
    pieces: list[str] = []
    answer = vendor.answer("ok \ud83d\ude00 and \ud83d.", piece=4)
    async with vendor.serving([answer]) as talk:
        reply = await talk.ask(on_piece=pieces.append)
    assert reply.text == "ok \N{GRINNING FACE} and \N{REPLACEMENT CHARACTER}."
    if vendor.stream:
        assert "".join(pieces) == reply.text


async def test_cost_is_worked_out_from_prices(vendor: Vendor) -> None:
    prices = Prices(input_usd=3.0, output_usd=15.0)
    answer = vendor.answer("ok", input_tokens=1000, output_tokens=200)
    async with vendor.serving([answer], prices=prices) as talk:
        reply = await talk.ask()
    assert reply.usage.cost_usd == pytest.approx((1000 * 3 + 200 * 15) / 1e6)


async def test_cached_tokens_are_part_of_the_input(vendor: Vendor) -> None:
    if vendor.name == "openai":
        answer = chat("ok", usage=(1000, 5, 900))
    else:
        told = {"input_tokens": 60, "cache_creation_input_tokens": 40}
        told |= {"cache_read_input_tokens": 900, "output_tokens": 5}
        answer = message(text_block("ok"), usage=told)
    async with vendor.serving([answer]) as talk:
        reply = await talk.ask()
    assert reply.usage == Usage(input_tokens=1000, output_tokens=5, cached_tokens=900)


@BOTH_MODES
async def test_usage_is_estimated_where_a_server_tells_none(stream: bool) -> None:
    async with serve([chat("a" * 400, usage=None)]) as provider:
        model = OpenAIModel("m", api_key="k", base_url=provider.openai_url, stream=stream)
        reply = await model.complete(asking(UserMessage("b" * 4000), tools=()))
        await model.aclose()
    assert reply.usage.output_tokens == 100
    assert 1000 <= reply.usage.input_tokens <= 1020


@BOTH_MODES
async def test_anthropic_thinking_goes_back_with_its_signature(stream: bool) -> None:
    """Blocks we do not read are kept as they came, in their order, also unknown ones."""
    vendor = Vendor("anthropic", stream=stream)
    blocks: list[Json] = [
        thinking_block("Let me see.", "SIG=="),
        {"type": "redacted_thinking", "data": "OPAQUE"},
        {"type": "brand_new_block", "payload": {"deep": [1, 2.5, None]}},
        text_block("Writing."),
        {"type": "tool_use", "id": "toolu_1", "name": "clock", "input": {}},
    ]
    async with vendor.serving([message(*blocks), vendor.answer("ok")]) as talk:
        reply = await talk.ask()
        result = ToolMessage("toolu_1", "clock", "noon", is_error=True)
        await talk.ask(UserMessage("hello"), said(reply), result, UserMessage("and?"))
    hello, assistant, results = talk.provider.requests[1].body["messages"]
    assert hello["role"] == "user"
    assert assistant == {"role": "assistant", "content": blocks}
    assert results["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "noon", "is_error": True},
        {"type": "text", "text": "and?"},
    ]


@BOTH_MODES
async def test_openai_reasoning_fields_go_back_as_they_came(stream: bool) -> None:
    vendor = Vendor("openai", stream=stream)
    details = [{"type": "reasoning.encrypted", "index": 0, "data": "OPAQUE"}]
    answer = chat(
        "Writing.",
        [("c1", "clock", "{}")],
        reasoning_content="Let me see what there is.",
        reasoning_details=details,
    )
    async with vendor.serving([answer, vendor.answer("ok")]) as talk:
        reply = await talk.ask()
        await talk.ask(UserMessage("hello"), said(reply), ToolMessage("c1", "clock", "noon"))
    assistant = talk.provider.requests[1].body["messages"][1]
    assert assistant["reasoning_content"] == "Let me see what there is."
    assert assistant["reasoning_details"] == details
    assert assistant["content"] == "Writing."
    assert [entry["id"] for entry in assistant["tool_calls"]] == ["c1"]


async def test_raw_of_another_provider_is_rebuilt_from_text_and_calls(vendor: Vendor) -> None:
    foreign = AssistantMessage(
        "Writing.", (ToolCall("x:1", "clock"),), raw=b'{"odd": 1}', raw_format="other"
    )
    async with vendor.serving([vendor.answer("ok")]) as talk:
        await talk.ask(UserMessage("hello"), foreign, ToolMessage("x:1", "clock", "noon"))
    sent = json.dumps(talk.provider.requests[0].body["messages"])
    assert "odd" not in sent
    assert sent.count("x_1" if vendor.name == "anthropic" else "x:1") == 2


REFUSALS = {"openai": "content_filter", "anthropic": "refusal"}


async def test_a_refused_answer_says_so_and_its_calls_do_not_run(vendor: Vendor) -> None:
    answer = vendor.answer("I", [("c1", "clock", "{}")], finish=REFUSALS[vendor.name])
    async with vendor.serving([answer]) as talk:
        reply = await talk.ask()
    assert reply.finish == "refused"
    assert reply.calls[0].problem is not None
    assert "filter" in reply.calls[0].problem


async def test_openai_refusal_text_is_the_answer() -> None:
    async with serve([chat(None, refusal="I cannot help with that.")]) as provider:
        model = OpenAIModel("m", api_key="k", base_url=provider.openai_url)
        reply = await model.complete(asking())
        await model.aclose()
    assert (reply.finish, reply.text) == ("refused", "I cannot help with that.")


async def test_a_closed_model_can_be_used_again(vendor: Vendor) -> None:
    script = [vendor.answer("one"), vendor.answer("two")]
    async with vendor.serving(script) as talk:
        assert (await talk.ask()).text == "one"
        await talk.model.aclose()
        await talk.model.aclose()
        assert (await talk.ask()).text == "two"


async def test_each_event_loop_has_its_own_connections(vendor: Vendor) -> None:
    """A second loop, in a thread, uses the same model while the first one's connection is open."""
    script = [vendor.answer("one"), vendor.answer("two"), vendor.answer("three")]
    async with vendor.serving(script) as talk:

        async def elsewhere() -> str:
            reply = await talk.ask()
            await talk.model.aclose()
            return reply.text

        assert (await talk.ask()).text == "one"
        assert await anyio.to_thread.run_sync(asyncio.run, elsewhere()) == "two"
        assert (await talk.ask()).text == "three"


@BOTH_MODES
async def test_a_given_openai_client_loses_its_retries_and_stays_open(stream: bool) -> None:
    script = [status(500), chat("ok"), chat("ok")]
    async with serve(script) as provider:
        client = openai.AsyncOpenAI(api_key="k", base_url=provider.openai_url, max_retries=5)
        model = OpenAIModel("m", client=client, stream=stream)
        with pytest.raises(openai.InternalServerError):
            await model.complete(asking())
        for _ in range(2):
            assert (await model.complete(asking())).text == "ok"
            await model.aclose()
        await client.close()


@BOTH_MODES
async def test_a_given_anthropic_client_loses_its_retries_and_stays_open(stream: bool) -> None:
    script = [status(500), message(text_block("ok")), message(text_block("ok"))]
    async with serve(script) as provider:
        url = provider.anthropic_url
        client = anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=5)
        model = AnthropicModel("m", client=client, stream=stream)
        with pytest.raises(anthropic.InternalServerError):
            await model.complete(asking())
        for _ in range(2):
            assert (await model.complete(asking())).text == "ok"
            await model.aclose()
        await client.close()


async def test_raw_bytes_are_json(vendor: Vendor) -> None:
    """What is stored can be read by anything that reads JSON."""
    if vendor.name == "openai":
        answer = chat("x", reasoning_content="why \ud83d half")
    else:
        answer = message(thinking_block("why", "S"), text_block("x"))
    async with vendor.serving([answer]) as talk:
        reply = await talk.ask()
    assert reply.raw is not None
    assert msgspec.json.decode(reply.raw)
