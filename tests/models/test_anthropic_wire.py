"""The messages API: our messages on the wire, streams put together. Tables; no SDK, no network."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from loopback_llm import Json, call_block, message, text_block, thinking_block

from ukemi.actors.model import (
    AssistantMessage,
    Message,
    ModelRequest,
    NoteMessage,
    ToolMessage,
    ToolSchema,
    UserMessage,
)
from ukemi.models.anthropic_stream import BlocksAssembly
from ukemi.models.anthropic_wire import (
    RAW_FORMAT,
    Block,
    BlocksAnswer,
    blocks_reply,
    messages_body,
    wire_messages,
)
from ukemi.stores.records import ToolCall

CALL = ToolCall("c1", "open", '{"path": "a"}')
WIRE_CALL = call_block("c1", "open", {"path": "a"})


def asking(messages: Sequence[Message] = (), **fields: Any) -> ModelRequest:
    fields = {"session_id": "s", "instructions": ""} | fields
    return ModelRequest(messages=messages, **fields)


def raw(blocks: list[Json]) -> bytes:
    return msgspec.json.encode(blocks)


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def result(id: str, content: str, **fields: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": id, "content": content} | fields


GO = UserMessage("go")
MESSAGES: list[tuple[str, list[Message], list[Json]]] = [
    (
        "what the user and the runtime say is one message, nothing joined",
        [GO, NoteMessage("n"), UserMessage(" ")],
        [user(text_block("go"), text_block("[runtime] n"), text_block("(empty)"))],
    ),
    (
        "calls, and all results in the message behind, before anything else",
        [
            GO,
            AssistantMessage("I look.", (CALL, ToolCall("c2", "open"))),
            ToolMessage("c1", "open", "text"),
            ToolMessage("c2", "open", "", is_error=True),
            NoteMessage("2 steps left"),
            UserMessage("and?"),
        ],
        [
            user(text_block("go")),
            assistant(text_block("I look."), WIRE_CALL, call_block("c2", "open", {})),
            user(
                result("c1", "text"),
                result("c2", "(no output)", is_error=True),
                text_block("[runtime] 2 steps left"),
                text_block("and?"),
            ),
        ],
    ),
    (
        "ORPH-03: a result behind the user's words still comes first",
        [
            GO,
            AssistantMessage("", (CALL,)),
            UserMessage("never mind"),
            ToolMessage("c1", "open", "interrupted"),
        ],
        [
            user(text_block("go")),
            assistant(WIRE_CALL),
            user(result("c1", "interrupted"), text_block("never mind")),
        ],
    ),
    (
        "ORPH-02: ids that repeat are told apart",
        [
            GO,
            AssistantMessage("", (CALL,)),
            ToolMessage("c1", "open", "one"),
            AssistantMessage("", (CALL,)),
            ToolMessage("c1", "open", "two"),
        ],
        [
            user(text_block("go")),
            assistant(WIRE_CALL),
            user(result("c1", "one")),
            assistant(WIRE_CALL | {"id": "c1_2"}),
            user(result("c1_2", "two")),
        ],
    ),
    (
        "an answer without a word",
        [GO, AssistantMessage(" ")],
        [user(text_block("go")), assistant(text_block("(no text)"))],
    ),
    (
        "a history that begins with an answer",
        [AssistantMessage("hello"), GO],
        [
            user(text_block("(the conversation goes on)")),
            assistant(text_block("hello")),
            user(text_block("go")),
        ],
    ),
    (
        "raw goes back as it is",
        [GO, AssistantMessage("x", (CALL,), raw([{"type": "new", "k": 1}, WIRE_CALL]), RAW_FORMAT)],
        [user(text_block("go")), assistant({"type": "new", "k": 1}, WIRE_CALL)],
    ),
    (
        "raw that tells of other calls is not used",
        [GO, AssistantMessage("x", (), raw([WIRE_CALL]), RAW_FORMAT)],
        [user(text_block("go")), assistant(text_block("x"))],
    ),
    (
        "raw that is damaged is not used",
        [GO, AssistantMessage("x", (), b"[{", RAW_FORMAT)],
        [user(text_block("go")), assistant(text_block("x"))],
    ),
]


@pytest.mark.parametrize(
    ("messages", "wire"), [row[1:] for row in MESSAGES], ids=[row[0] for row in MESSAGES]
)
def test_messages_on_the_wire(messages: list[Message], wire: list[Json]) -> None:
    assert wire_messages(messages) == wire


def test_instructions_tools_and_options_are_in_the_body_and_none_takes_one_out() -> None:
    schema = ToolSchema("open", "Open.", {"type": "object"})
    request = asking(tools=(schema,), instructions="Be brief.")
    assert messages_body("m", request, {"metadata": None, "thinking": {"type": "enabled"}}) == {
        "model": "m",
        "messages": [],
        "system": "Be brief.",
        "tools": [{"name": "open", "description": "Open.", "input_schema": {"type": "object"}}],
        "thinking": {"type": "enabled"},
    }
    assert messages_body("m", asking(instructions=" "), {}) == {"model": "m", "messages": []}


FINISHES = [
    ("end_turn", False, "stop"),
    ("end_turn", True, "tool_calls"),
    ("stop_sequence", False, "stop"),
    ("tool_use", True, "tool_calls"),
    ("tool_use", False, "tool_calls"),
    ("max_tokens", True, "length"),
    ("model_context_window_exceeded", False, "length"),
    ("refusal", False, "refused"),
    ("pause_turn", False, "length"),
    ("an_ending_to_come", True, "length"),
]


@pytest.mark.parametrize(("reason", "calls", "finish"), FINISHES)
def test_endings(reason: str, calls: bool, finish: str) -> None:
    blocks = [Block(text_block("x"))]
    blocks += [Block(WIRE_CALL, '{"path": "a"}')] if calls else []
    assert blocks_reply(BlocksAnswer(blocks, reason), asking(), {}, None).finish == finish


def events(*blocks: Json, piece: int = 5, **fields: Any) -> list[Json]:
    """Return the events of a streamed answer, decoded."""
    streamed = message(*blocks, piece=piece, **fields).events
    return [json.loads(event.split(b"data: ")[1]) for event in streamed]


def assembled(pieces: Sequence[Json]) -> BlocksAnswer | None:
    assembly = BlocksAssembly()
    for piece in pieces:
        assembly.add(piece)
    return assembly.answer()


BLOCKS: list[Json] = [
    thinking_block("Let me see what there is.", "SIG=="),
    {"type": "redacted_thinking", "data": "OPAQUE"},
    text_block("Looking."),
    WIRE_CALL | {"caller": {"type": "direct"}},
    call_block("c2", "clock", {}),
    {"type": "brand_new", "payload": [1, None]},
]


@pytest.mark.parametrize("piece", [1, 4, 100])
def test_a_stream_gives_the_blocks_of_the_whole_answer(piece: int) -> None:
    """However it is cut into pieces."""
    answer = assembled(events(*BLOCKS, piece=piece))
    assert answer is not None
    assert [block.content for block in answer.blocks] == BLOCKS
    reply = blocks_reply(answer, asking(), {}, None)
    assert reply.raw is not None
    assert json.loads(reply.raw) == BLOCKS
    assert reply.text == "Looking."
    assert [call.arguments for call in reply.calls] == ['{"path": "a"}', "{}"]


def test_usage_counts_are_totals() -> None:
    answer = assembled(events(text_block("x"), usage={"input_tokens": 9, "output_tokens": 4}))
    assert answer is not None
    assert answer.usage == {"input_tokens": 9, "output_tokens": 4}


@pytest.mark.parametrize("missing", ["message_stop", "message_delta"])
def test_an_answer_without_its_ending_is_none(missing: str) -> None:
    pieces = [event for event in events(text_block("x")) if event["type"] != missing]
    assert assembled(pieces) is None


def test_a_call_whose_block_never_ended_is_refused() -> None:
    pieces = [event for event in events(WIRE_CALL) if event["type"] != "content_block_stop"]
    answer = assembled(pieces)
    assert answer is not None
    (call,) = blocks_reply(answer, asking(), {}, None).calls
    assert call.problem is not None


def test_events_and_deltas_to_come_are_no_trouble() -> None:
    """A new kind of event is passed over; the fields of a new kind of delta join the block."""
    new_delta = {"type": "summary_delta", "summary": "short"}
    pieces = events({"type": "brand_new"})
    pieces.insert(2, {"type": "content_block_delta", "index": 0, "delta": new_delta})
    pieces.insert(0, {"type": "ping"})
    pieces.insert(0, {"type": "an_event_to_come", "index": 7})
    answer = assembled(pieces)
    assert answer is not None
    assert answer.blocks[0].content == {"type": "brand_new", "summary": "short"}


def test_citations_are_collected() -> None:
    cited = [{"type": "citations_delta", "citation": {"n": n}} for n in range(2)]
    pieces = events(text_block("x"))
    for one in cited:
        pieces.insert(2, {"type": "content_block_delta", "index": 0, "delta": one})
    answer = assembled(pieces)
    assert answer is not None
    assert len(answer.blocks[0].content["citations"]) == 2


def test_blank_text_does_not_go_back() -> None:
    """The API refuses it."""
    blocks = [Block(text_block(" ")), Block({"type": "brand_new"})]
    reply = blocks_reply(BlocksAnswer(blocks, "end_turn"), asking(), {}, None)
    assert reply.raw is not None
    assert json.loads(reply.raw) == [{"type": "brand_new"}]


PLAIN: list[tuple[str, list[Json], bool]] = [
    ("text", [text_block("x")], True),
    ("text and calls", [text_block("x"), WIRE_CALL, call_block("c2", "open", {})], True),
    ("nothing", [], True),
    ("two texts: joined they would be another", [text_block("x"), text_block("y")], False),
    ("a call before the text", [WIRE_CALL, text_block("x")], False),
    ("a call with a field of its own", [WIRE_CALL | {"caller": {"type": "direct"}}], False),
    ("an empty field of its own", [text_block("x") | {"citations": None}], True),
    ("thinking", [thinking_block("x", "S")], False),
]


@pytest.mark.parametrize(("blocks", "plain"), [row[1:] for row in PLAIN], ids=[r[0] for r in PLAIN])
def test_raw_is_kept_only_where_text_and_calls_do_not_tell_it_all(
    blocks: list[Json], plain: bool
) -> None:
    """And then what goes back is the same."""
    arrived = [Block(one, json.dumps(one.get("input", ""))) for one in blocks]
    reply = blocks_reply(BlocksAnswer(arrived, "end_turn"), asking(), {}, None)
    assert (reply.raw is None) == plain
    said = AssistantMessage(reply.text, reply.calls, reply.raw, reply.raw_format)
    sent = wire_messages([GO, said])[1]["content"]
    told = [{k: v for k, v in block.items() if v is not None} for block in blocks]
    assert sent == (told or [text_block("(no text)")])
