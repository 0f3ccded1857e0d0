"""Chat completions: our messages on the wire, streams put together. Tables; no SDK, no network."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from loopback_llm import Answer, Json, chat

from ukemi.actors.model import (
    AssistantMessage,
    Message,
    ModelReply,
    ModelRequest,
    NoteMessage,
    ToolMessage,
    ToolSchema,
    UserMessage,
)
from ukemi.models.openai_stream import ChatAssembly, merged
from ukemi.models.openai_wire import (
    RAW_FORMAT,
    ChatAnswer,
    chat_body,
    chat_messages,
    chat_reply,
    limit_field,
)
from ukemi.stores.records import ToolCall

CALL = ToolCall("c1", "open", '{"path": "a"}')
WIRE_CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "open", "arguments": '{"path": "a"}'},
}


def asking(messages: Sequence[Message] = (), **fields: Any) -> ModelRequest:
    fields = {"session_id": "s", "instructions": ""} | fields
    return ModelRequest(messages=messages, **fields)


def raw(message: Json) -> bytes:
    return msgspec.json.encode(message)


MESSAGES: list[tuple[str, list[Message], list[Json]]] = [
    ("the user's words", [UserMessage("hi")], [{"role": "user", "content": "hi"}]),
    ("blank words", [UserMessage(" \n")], [{"role": "user", "content": "(empty)"}]),
    (
        "a note is the runtime's, in the user's role",
        [NoteMessage("2 steps left")],
        [{"role": "user", "content": "[runtime] 2 steps left"}],
    ),
    (
        "several messages of the user are all kept",
        [UserMessage("a"), NoteMessage("n"), UserMessage("b")],
        [
            {"role": "user", "content": "a"},
            {"role": "user", "content": "[runtime] n"},
            {"role": "user", "content": "b"},
        ],
    ),
    (
        "an answer",
        [AssistantMessage("done")],
        [{"role": "assistant", "content": "done"}],
    ),
    (
        "an answer without a word",
        [AssistantMessage("")],
        [{"role": "assistant", "content": "(no text)"}],
    ),
    (
        "calls and their results",
        [AssistantMessage("", (CALL,)), ToolMessage("c1", "open", "text")],
        [
            {"role": "assistant", "content": None, "tool_calls": [WIRE_CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "text"},
        ],
    ),
    (
        "a failed result is marked, an empty one is not blank",
        [
            AssistantMessage("", (CALL, ToolCall("c2", "open"))),
            ToolMessage("c1", "open", "no such file", is_error=True),
            ToolMessage("c2", "open", ""),
        ],
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    WIRE_CALL,
                    {
                        "id": "c2",
                        "type": "function",
                        "function": {"name": "open", "arguments": "{}"},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "[error] no such file"},
            {"role": "tool", "tool_call_id": "c2", "content": "(no output)"},
        ],
    ),
    (
        "raw goes back as it is",
        [
            AssistantMessage(
                "x",
                (CALL,),
                raw({"role": "assistant", "k": 1, "tool_calls": [WIRE_CALL]}),
                RAW_FORMAT,
            )
        ],
        [{"role": "assistant", "k": 1, "tool_calls": [WIRE_CALL]}],
    ),
    (
        "raw that tells of other calls is not used",
        [AssistantMessage("x", (), raw({"tool_calls": [WIRE_CALL]}), RAW_FORMAT)],
        [{"role": "assistant", "content": "x"}],
    ),
    (
        "raw that is damaged is not used",
        [AssistantMessage("x", (), b"{", RAW_FORMAT)],
        [{"role": "assistant", "content": "x"}],
    ),
    (
        "a refusal needs no other content",
        [AssistantMessage("no", (), raw({"role": "assistant", "refusal": "no"}), RAW_FORMAT)],
        [{"role": "assistant", "refusal": "no"}],
    ),
]


@pytest.mark.parametrize(
    ("messages", "wire"), [row[1:] for row in MESSAGES], ids=[row[0] for row in MESSAGES]
)
def test_messages_on_the_wire(messages: list[Message], wire: list[Json]) -> None:
    assert chat_messages(asking(messages)) == wire


def test_instructions_come_first_and_only_if_there_are_any() -> None:
    first = chat_messages(asking([UserMessage("hi")], instructions="Be brief."))[0]
    assert first == {"role": "system", "content": "Be brief."}
    assert len(chat_messages(asking([UserMessage("hi")], instructions=" "))) == 1


def test_tools_and_options_are_in_the_body_and_none_takes_one_out() -> None:
    schema = ToolSchema("open", "Open.", {"type": "object"})
    options = {"temperature": 0, "user": None}
    body = chat_body("m", asking(tools=(schema,)), options)
    assert body == {
        "model": "m",
        "messages": [],
        "temperature": 0,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "open",
                    "description": "Open.",
                    "parameters": {"type": "object"},
                },
            }
        ],
    }
    assert "tools" not in chat_body("m", asking(), {})


@pytest.mark.parametrize(
    ("url", "field"),
    [
        ("https://api.openai.com/v1/", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1/", "max_completion_tokens"),
        ("https://team.openai.azure.com/openai/v1/", "max_completion_tokens"),
        ("http://127.0.0.1:8000/v1/", "max_tokens"),
        ("https://openai.com.example.org/v1/", "max_tokens"),
        ("https://notopenai.com/v1/", "max_tokens"),
    ],
)
def test_the_limit_has_the_name_the_server_knows(url: str, field: str) -> None:
    assert limit_field(url) == field


FINISHES = [
    ("stop", False, "stop"),
    ("stop", True, "tool_calls"),
    ("tool_calls", True, "tool_calls"),
    ("tool_calls", False, "tool_calls"),
    ("length", False, "length"),
    ("length", True, "length"),
    ("content_filter", False, "refused"),
    ("an_ending_to_come", True, "length"),
]


@pytest.mark.parametrize(("reason", "calls", "finish"), FINISHES)
def test_endings(reason: str, calls: bool, finish: str) -> None:
    message: Json = {"content": "x", "tool_calls": [WIRE_CALL] if calls else None}
    assert chat_reply(ChatAnswer(message, reason), asking(), {}, None).finish == finish


def chunks(answer: Answer) -> list[Json]:
    """Return the chunks of a streamed answer, decoded."""
    return [json.loads(event[6:]) for event in answer.events if b"[DONE]" not in event]


def assembled(pieces: Sequence[Json]) -> ChatAnswer:
    assembly = ChatAssembly()
    for piece in pieces:
        assembly.add(piece)
    answer = assembly.answer()
    assert answer is not None
    return answer


STREAMED: list[tuple[str, dict[str, Any]]] = [
    ("text", {"text": "Hello, world"}),
    ("calls", {"calls": [("c1", "open", '{"path": "a"}'), ("c2", "open", "{}")]}),
    ("the same id twice", {"calls": [("c1", "open", "{}"), ("c1", "open", '{"path": "b"}')]}),
    ("no ids", {"calls": [("", "open", "{}"), ("", "close", "{}")]}),
    ("all at once", {"text": "x", "calls": [("c1", "a", "{}")], "reasoning_content": "why so"}),
    ("a refusal", {"text": None, "refusal": "I will not."}),
]


@pytest.mark.parametrize("fields", [row[1] for row in STREAMED], ids=[row[0] for row in STREAMED])
@pytest.mark.parametrize("piece", [1, 3, 100])
def test_a_stream_gives_the_reply_of_the_whole_answer(fields: dict[str, Any], piece: int) -> None:
    """However it is cut into pieces."""
    answer = chat(**fields, piece=piece)
    choice = json.loads(answer.whole)["choices"][0]
    usage = json.loads(answer.whole)["usage"]
    whole = ChatAnswer(choice["message"], choice["finish_reason"], usage)
    streamed = assembled(chunks(answer))
    assert comparable(streamed) == comparable(whole)


def comparable(answer: ChatAnswer) -> tuple[ModelReply, Any]:
    """Return the reply and its raw message decoded: the order of its fields does not count."""
    reply = chat_reply(answer, asking(), {}, None)
    raw = json.loads(reply.raw) if reply.raw else None
    return msgspec.structs.replace(reply, raw=None), raw


def delta(*calls: Json, finish: str | None = None, **fields: Any) -> Json:
    inner = ({"tool_calls": list(calls)} if calls else {}) | fields
    return {"choices": [{"index": 0, "delta": inner, "finish_reason": finish}]}


def call_piece(
    index: int | None, id: str | None, name: str | None = None, arguments: str | None = None
) -> Json:
    function = {"name": name, "arguments": arguments}
    return {"index": index, "id": id, "function": function}


ODD_STREAMS: list[tuple[str, list[Json], list[tuple[str, str]]]] = [
    (
        "every piece repeats id, type and name",
        [call_piece(0, "c1", "open", '{"a"'), call_piece(0, "c1", "open", ": 1}")],
        [("open", '{"a": 1}')],
    ),
    (
        "all parallel calls have the index 0",
        [call_piece(0, "c1", "open", "{}"), call_piece(0, "c2", "close", "{}")],
        [("open", "{}"), ("close", "{}")],
    ),
    (
        "no index at all",
        [
            call_piece(None, "c1", "open", '{"a"'),
            call_piece(None, None, None, ": 1}"),
            call_piece(None, "c2", "close", "{}"),
        ],
        [("open", '{"a": 1}'), ("close", "{}")],
    ),
    (
        "pieces of two calls in turn",
        [
            call_piece(0, "c1", "open", '{"a"'),
            call_piece(1, "c2", "close", '{"b"'),
            call_piece(0, None, None, ": 1}"),
            call_piece(1, None, None, ": 2}"),
        ],
        [("open", '{"a": 1}'), ("close", '{"b": 2}')],
    ),
    (
        "the id comes late",
        [call_piece(0, None, "open", "{"), call_piece(0, "c1", None, "}")],
        [("open", "{}")],
    ),
    (
        "a name in pieces",
        [call_piece(0, "c1", "op", None), call_piece(0, None, "en", "{}")],
        [("open", "{}")],
    ),
]


@pytest.mark.parametrize(
    ("pieces", "calls"), [row[1:] for row in ODD_STREAMS], ids=[row[0] for row in ODD_STREAMS]
)
def test_odd_streams_of_calls(pieces: list[Json], calls: list[tuple[str, str]]) -> None:
    answer = assembled([*(delta(piece) for piece in pieces), delta(finish="tool_calls")])
    reply = chat_reply(answer, asking(), {}, None)
    assert [(call.name, call.arguments) for call in reply.calls] == calls
    assert all(call.problem is None for call in reply.calls)


def test_a_second_choice_is_not_mixed_in() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]}
    answer = assembled([delta(content="yes"), other, delta(finish="stop")])
    assert answer.message["content"] == "yes"


def test_a_call_of_another_kind_gets_an_answer_too() -> None:
    """Left out, it would stay unanswered in the transcript, and every later request be refused."""
    custom = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "drop"}}
    reply = chat_reply(ChatAnswer({"tool_calls": [custom]}, "tool_calls"), asking(), {}, None)
    (call,) = reply.calls
    assert (call.id, call.name) == ("c1", "sql")
    assert call.problem is not None
    sent = chat_messages(asking([AssistantMessage("", reply.calls, reply.raw, reply.raw_format)]))
    assert sent[0]["tool_calls"][0]["function"] == {"name": "sql", "arguments": "{}"}


def test_what_only_an_answer_has_does_not_go_back() -> None:
    message: Json = {"content": "x", "annotations": [], "function_call": None, "thought": "y"}
    reply = chat_reply(ChatAnswer(message, "stop"), asking(), {}, None)
    assert reply.raw is not None
    kept = json.loads(reply.raw)
    assert kept == {"role": "assistant", "content": "x", "thought": "y"}


def test_content_in_parts() -> None:
    parts: list[Json] = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "x"}]
    reply = chat_reply(ChatAnswer({"content": parts}, "stop"), asking(), {}, None)
    assert reply.text == "x"
    assert reply.raw is not None
    assert json.loads(reply.raw)["content"] == parts


MERGED: list[tuple[str, Any, Any, Any]] = [
    ("texts grow", "a", "b", "ab"),
    ("the first piece", None, "b", "b"),
    ("numbers are replaced", 1, 2, 2),
    ("objects merge", {"a": "x", "b": 1}, {"a": "y", "c": None}, {"a": "xy", "b": 1}),
    ("lists grow", [1], [2], [1, 2]),
    (
        "entries with the same index and type merge; what names a thing is not grown",
        [{"index": 0, "type": "t", "text": "a"}],
        [{"index": 0, "type": "t", "text": "b"}, {"index": 1, "type": "t", "text": "c"}],
        [{"index": 0, "type": "t", "text": "ab"}, {"index": 1, "type": "t", "text": "c"}],
    ),
    (
        "another type is another entry",
        [{"index": 0, "type": "t"}],
        [{"index": 0, "type": "u"}],
        [{"index": 0, "type": "t"}, {"index": 0, "type": "u"}],
    ),
]


@pytest.mark.parametrize(
    ("have", "piece", "grown"), [row[1:] for row in MERGED], ids=[row[0] for row in MERGED]
)
def test_extensions_stream_in(have: Any, piece: Any, grown: Any) -> None:
    assert merged(have, piece) == grown
