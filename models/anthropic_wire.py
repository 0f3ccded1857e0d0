"""Our messages in the form of Anthropic's messages API, and one whole answer back. No I/O here."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ..actors.model import (
    AssistantMessage,
    Finish,
    Message,
    ModelReply,
    ModelRequest,
    NoteMessage,
    Prices,
    ToolMessage,
    ToolSchema,
    UserMessage,
)
from ..stores.records import ToolCall, Usage
from .calls import ArrivedCall, WireIds, read_calls
from .text import clean, clean_deep, filled
from .usage import count, estimate_request, estimate_tokens, priced

RAW_FORMAT = "anthropic-messages"
"""Marks raw content blocks of this wire form; behind it the model, where it has signed some."""

Json = dict[str, Any]

# Known endings; any other leaves it open whether the answer is whole, so it counts as cut off:
# model_context_window_exceeded is one, and so is pause_turn, as we never go on with half a turn.
_FINISH: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "refused",
}
# Signed by the model that thought it, and refused when another one is sent it.
_SIGNED = frozenset({"thinking", "redacted_thinking"})
_PLAIN_KEYS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"type", "text"}),
    "tool_use": frozenset({"type", "id", "name", "input"}),
}


class Block(Struct, frozen=True):
    """A content block as sent, and, where it is a call, the text of its arguments.

    ``whole`` is False where the end of the block never came.
    """

    content: Json
    arguments: str = ""
    whole: bool = True


class BlocksAnswer(Struct, frozen=True):
    """One whole answer: its blocks, its ending, its usage."""

    blocks: Sequence[Block]
    stop_reason: str
    usage: Mapping[str, Any] | None = None


def messages_body(name: str, request: ModelRequest, options: Mapping[str, Any]) -> Json:
    """Return the request body, the limit of the answer's length left out."""
    body: Json = {"model": name, "messages": wire_messages(request.messages, name)}
    if request.instructions.strip():
        body["system"] = clean(request.instructions)
    if request.tools:
        body["tools"] = [_tool(schema) for schema in request.tools]
    body |= options
    return {key: value for key, value in body.items() if value is not None}


def _tool(schema: ToolSchema) -> Json:
    return {
        "name": schema.name,
        "description": schema.description,
        "input_schema": schema.parameters,
    }


def wire_messages(messages: Sequence[Message], name: str = "") -> list[Json]:
    """Return the messages in wire form for the model of this name.

    Roles in turn, results right behind their calls.

    What follows an answer (results, notes, the user's words) is one message of several blocks,
    results first, as the API wants it; nothing is left out or joined into one text.
    """
    ids = WireIds(strict=True)
    wire: list[Json] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            wire.append({"role": "assistant", "content": _assistant(message, ids, name)})
            continue
        if not wire or wire[-1]["role"] != "user":
            wire.append({"role": "user", "content": []})
        _add(wire[-1]["content"], _user_block(message, ids))
    if wire and wire[0]["role"] == "assistant":
        wire.insert(0, {"role": "user", "content": [_text("(the conversation goes on)")]})
    return wire


def _add(blocks: list[Json], block: Json) -> None:
    """Append a block; a result goes before the first block that is none."""
    place = len(blocks)
    if block["type"] == "tool_result":
        results = (index for index, one in enumerate(blocks) if one["type"] != "tool_result")
        place = next(results, place)
    blocks.insert(place, block)


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _user_block(message: UserMessage | NoteMessage | ToolMessage, ids: WireIds) -> Json:
    match message:
        case UserMessage(text=text):
            return _text(filled(text, "(empty)"))
        case NoteMessage(text=text):
            return _text(f"[runtime] {clean(text)}")
        case ToolMessage(call_id=id, content=content, is_error=is_error):
            block: Json = {
                "type": "tool_result",
                "tool_use_id": ids.close(id),
                "content": filled(content, "(no output)"),
            }
            return block | {"is_error": True} if is_error else block


def _assistant(message: AssistantMessage, ids: WireIds, name: str) -> list[Json]:
    wire_ids = ids.open([call.id for call in message.calls])
    blocks = _own_raw(message, name)
    if blocks is None:
        text = [_text(clean(message.text))] if message.text.strip() else []
        blocks = text + [_call(call) for call in message.calls]
    following = iter(wire_ids)
    blocks = [
        block | {"id": next(following)} if block.get("type") == "tool_use" else block
        for block in blocks
    ]
    return blocks or [_text("(no text)")]


def _own_raw(message: AssistantMessage, name: str) -> list[Json] | None:
    """Return the raw blocks where they are of this form and tell of the same calls.

    What another model has signed stays out; where nobody wrote down whose it is, it goes back.
    """
    form, _, signer = message.raw_format.partition(" ")
    if message.raw is None or form != RAW_FORMAT:
        return None
    try:
        blocks = msgspec.json.decode(message.raw, type=list[dict[str, Any]])
    except msgspec.DecodeError:
        return None  # from a foreign history: what we write decodes
    if signer and name and signer != name:
        blocks = [block for block in blocks if block.get("type") not in _SIGNED]
    ids = [block.get("id") for block in blocks if block.get("type") == "tool_use"]
    return blocks if ids == [call.id for call in message.calls] else None


def _call(call: ToolCall) -> Json:
    arguments = msgspec.json.decode(call.arguments)
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def blocks_reply(
    answer: BlocksAnswer, request: ModelRequest, body: Mapping[str, Any], prices: Prices | None
) -> ModelReply:
    """Read one whole answer."""
    finish = _FINISH.get(answer.stop_reason, "length")
    arrived = [_arrived(block) for block in answer.blocks if _is_call(block.content)]
    calls = read_calls(arrived, finish, request.tools)
    text = blocks_text(answer.blocks)
    all_of_it = text + "".join(call.name + call.arguments for call in arrived)
    raw = _raw(answer.blocks, calls, cut=finish in ("length", "refused"))
    return ModelReply(
        text=clean(text),
        calls=calls,
        finish="tool_calls" if calls and finish == "stop" else finish,
        usage=blocks_usage(answer.usage, body, all_of_it, prices),
        raw=raw,
        raw_format=_format(answer.blocks, str(body.get("model") or "")) if raw is not None else "",
    )


def _format(blocks: Sequence[Block], name: str) -> str:
    signed = any(block.content.get("type") in _SIGNED for block in blocks)
    return f"{RAW_FORMAT} {name}" if signed and name else RAW_FORMAT


def blocks_text(blocks: Sequence[Block]) -> str:
    """Return the text of the text blocks, joined."""
    texts = (block.content for block in blocks if block.content.get("type") == "text")
    return "".join(str(content.get("text") or "") for content in texts)


def _is_call(content: Mapping[str, Any]) -> bool:
    return content.get("type") == "tool_use"


def _arrived(block: Block) -> ArrivedCall:
    return ArrivedCall(
        id=clean(str(block.content.get("id") or "")),
        name=str(block.content.get("name") or ""),
        arguments=block.arguments,
        whole=block.whole,
    )


def _raw(blocks: Sequence[Block], calls: Sequence[ToolCall], *, cut: bool) -> bytes | None:
    """Return the blocks as they go back: as they came, but for what the API would refuse.

    None where text and calls alone tell it all, so that nothing is stored twice. The API refuses
    blank texts, and thinking that lost its signature when the answer was cut.
    """
    following = iter(calls)
    kept: list[Json] = []
    for block in blocks:
        content = block.content
        if _is_call(content):
            kept.append(_sent_back(content, next(following)))
        elif not _is_blank(content) and not (cut and _is_unsigned(content)):
            kept.append(content)
    return None if _is_plain(kept) else msgspec.json.encode(clean_deep(kept))


def _sent_back(content: Json, call: ToolCall) -> Json:
    return {**content, **_call(call)}


def _is_blank(content: Json) -> bool:
    return content.get("type") == "text" and not str(content.get("text") or "").strip()


def _is_unsigned(content: Json) -> bool:
    return content.get("type") == "thinking" and not content.get("signature")


def _is_plain(kept: Sequence[Json]) -> bool:
    """Say whether `_assistant` would build the very same blocks from text and calls."""
    kinds = [str(content.get("type")) for content in kept]
    ordered = kinds == ["text"] * ("text" in kinds) + ["tool_use"] * kinds.count("tool_use")
    return ordered and all(
        frozenset(key for key, value in content.items() if value is not None) == _PLAIN_KEYS[kind]
        for kind, content in zip(kinds, kept, strict=True)
    )


def blocks_usage(
    told: Mapping[str, Any] | None,
    body: Mapping[str, Any],
    arrived: str,
    prices: Prices | None,
    *,
    broken: bool = False,
) -> Usage:
    """Return the usage as told, else as estimated from what was sent and what arrived.

    The provider counts fresh, written and cached input apart; ours is their sum. A ``broken``
    stream has told of its input only.
    """
    cached = count(told, "cache_read_input_tokens")
    sent = count(told, "input_tokens") + count(told, "cache_creation_input_tokens") + cached
    made = count(told, "output_tokens")
    if broken or not made:
        made = max(made, estimate_tokens(arrived))
    usage = Usage(
        input_tokens=sent or estimate_request(body), output_tokens=made, cached_tokens=cached
    )
    return priced(usage, prices)
