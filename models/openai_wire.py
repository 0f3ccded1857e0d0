"""Our messages as chat completions, and one whole chat completion as our reply. No I/O here."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

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

RAW_FORMAT = "openai-chat"
"""Marks raw messages of this wire form."""

Json = dict[str, Any]

# Known endings; any other (gateways invent some) leaves it open whether the answer is whole, so
# it counts as cut off.
_FINISH: Mapping[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "refused",
}
# What an answer has and a request refuses.
_ANSWER_ONLY = frozenset({"annotations", "function_call", "audio"})
# Hosts that want the newer name of the limit; other servers know the older one.
_NEW_LIMIT = re.compile(r"^https?://([^/]*\.)?(openai\.com|openai\.azure\.com)[/:]")


class ChatAnswer(Struct, frozen=True):
    """One whole chat completion: the assistant's message as sent, its ending, its usage."""

    message: Mapping[str, Any]
    finish_reason: str
    usage: Mapping[str, Any] | None = None


def chat_body(name: str, request: ModelRequest, options: Mapping[str, Any]) -> Json:
    """Return the request body, the limit of the answer's length left out.

    An option of the value None is left out of the body, also where it is ours.
    """
    body: Json = {"model": name, "messages": chat_messages(request)}
    if request.tools:
        body["tools"] = [_tool(schema) for schema in request.tools]
    body |= options
    return {key: value for key, value in body.items() if value is not None}


def limit_field(base_url: str) -> str:
    """Return what the limit of an answer's length is called at this address."""
    return "max_completion_tokens" if _NEW_LIMIT.match(base_url) else "max_tokens"


def chat_messages(request: ModelRequest) -> list[Json]:
    """Return the messages of a request in wire form."""
    ids = WireIds(strict=False)
    wire = [_message(message, ids) for message in request.messages]
    if request.instructions.strip():
        wire.insert(0, {"role": "system", "content": request.instructions})
    return wire


def _message(message: Message, ids: WireIds) -> Json:
    match message:
        case UserMessage(text=text):
            return {"role": "user", "content": filled(text, "(empty)")}
        case NoteMessage(text=text):
            return {"role": "user", "content": f"[runtime] {text}"}
        case AssistantMessage():
            return _assistant(message, ids)
        case ToolMessage(call_id=id, content=content, is_error=is_error):
            # The wire has no field for "this failed".
            mark = "[error] " if is_error else ""
            text = mark + filled(content, "(no output)")
            return {"role": "tool", "tool_call_id": ids.close(id), "content": text}


def _assistant(message: AssistantMessage, ids: WireIds) -> Json:
    wire_ids = ids.open([call.id for call in message.calls])
    raw = _own_raw(message)
    wire: Json = (
        raw if raw is not None else {"role": "assistant", "content": clean(message.text) or None}
    )
    if message.calls:
        entries = raw["tool_calls"] if raw is not None else map(_call, message.calls)
        wire["tool_calls"] = [
            entry | {"id": id} for entry, id in zip(entries, wire_ids, strict=True)
        ]
    blank = not content_text(wire.get("content")).strip()
    if blank and not message.calls and not wire.get("refusal"):
        wire["content"] = "(no text)"
    return wire


def _own_raw(message: AssistantMessage) -> Json | None:
    """Return the raw message where it is of this form and tells of the same calls."""
    if message.raw is None or message.raw_format != RAW_FORMAT:
        return None
    try:
        raw = msgspec.json.decode(message.raw, type=dict[str, Any])
    except msgspec.DecodeError:
        return None  # from a foreign history: what we write decodes
    ids = [entry.get("id") for entry in raw.get("tool_calls") or ()]
    return raw if ids == [call.id for call in message.calls] else None


def _call(call: ToolCall) -> Json:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _tool(schema: ToolSchema) -> Json:
    function = {
        "name": schema.name,
        "description": schema.description,
        "parameters": schema.parameters,
    }
    return {"type": "function", "function": function}


def chat_reply(
    answer: ChatAnswer, request: ModelRequest, body: Mapping[str, Any], prices: Prices | None
) -> ModelReply:
    """Read one whole answer."""
    message = answer.message
    finish = "refused" if message.get("refusal") else _FINISH.get(answer.finish_reason, "length")
    arrived = [_arrived(entry) for entry in message.get("tool_calls") or ()]
    calls = read_calls(arrived, finish, request.tools)
    text = content_text(message.get("content")) or str(message.get("refusal") or "")
    all_of_it = text + "".join(call.name + call.arguments for call in arrived)
    return ModelReply(
        text=clean(text),
        calls=calls,
        finish="tool_calls"
        if calls and finish == "stop"
        else finish,  # or announced, and none came
        usage=chat_usage(answer.usage, body, all_of_it, prices),
        raw=_raw(message, calls),
        raw_format=RAW_FORMAT,
    )


def ended_in_error(choice: Mapping[str, Any]) -> bool:
    """Say whether a gateway tells, beside what has come, that its provider failed."""
    return bool(choice.get("error")) or choice.get("finish_reason") == "error"


def content_text(content: object) -> str:
    """Return the text of a message's content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = cast("list[Json]", content)
    return "".join(str(part.get("text") or "") for part in parts if part.get("type") == "text")


def _arrived(entry: Mapping[str, Any]) -> ArrivedCall:
    kind = str(entry.get("type") or "function")
    body: Mapping[str, Any] = entry.get(kind) or {}
    return ArrivedCall(
        id=clean(str(entry.get("id") or "")),
        name=str(body.get("name") or ""),
        arguments=str(body.get("arguments") or ""),
        unsupported="" if kind == "function" else kind,
    )


def _raw(message: Mapping[str, Any], calls: Sequence[ToolCall]) -> bytes | None:
    """Return the message as it goes back: as it came, but for what the provider would refuse.

    None where text and calls alone tell it all, so that nothing is stored twice. Refused calls get the same empty arguments as in our own record: the provider checks that the
    transcript holds valid JSON, and the model must not see half a call as one it made.
    """
    kept = {
        key: value
        for key, value in message.items()
        if value is not None and key not in _ANSWER_ONLY
    }
    # Empty content is null, as OpenAI itself has it beside calls or a refusal.
    kept |= {"role": "assistant", "content": kept.get("content") or None}
    entries: Sequence[Json] = message.get("tool_calls") or ()
    kept.pop("tool_calls", None)
    if entries:
        pairs = zip(entries, calls, strict=True)
        kept["tool_calls"] = [_sent_back(entry, call) for entry, call in pairs]
    return None if _is_plain(kept) else msgspec.json.encode(clean_deep(kept))


def _is_plain(kept: Json) -> bool:
    """Say whether `_assistant` would build the very same message from text and calls."""
    entries: Sequence[Json] = kept.get("tool_calls", ())
    return (
        kept.keys() <= {"role", "content", "tool_calls"}
        and isinstance(kept["content"], str | None)
        and all(
            entry.keys() == {"id", "type", "function"}
            and entry["function"].keys() == {"name", "arguments"}
            for entry in entries
        )
    )


def _sent_back(entry: Json, call: ToolCall) -> Json:
    if call.problem is not None:
        return _call(call)
    function = {**entry["function"], "name": call.name, "arguments": call.arguments}
    return {**entry, "id": call.id, "type": "function", "function": function}


def chat_usage(
    told: Mapping[str, Any] | None, body: Mapping[str, Any], arrived: str, prices: Prices | None
) -> Usage:
    """Return the usage as told, else as estimated from what was sent and what arrived."""
    if told:
        details = told.get("prompt_tokens_details")
        usage = Usage(
            input_tokens=count(told, "prompt_tokens"),
            output_tokens=count(told, "completion_tokens"),
            cached_tokens=count(details, "cached_tokens"),
        )
    else:
        sent = estimate_request(body)
        usage = Usage(input_tokens=sent, output_tokens=estimate_tokens(arrived))
    return priced(usage, prices)
