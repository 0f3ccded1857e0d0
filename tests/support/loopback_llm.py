"""A model provider on loopback: OpenAI's and Anthropic's wire forms, scripted, with faults.

One answer of the script is given to each request; requests are kept for the test to look at.

    async with serve([chat("hello"), status(429, {"retry-after": "7"})]) as provider:
        model = OpenAIModel("m", api_key="k", base_url=provider.openai_url)

`chat` and `message` build an answer in both forms, whole and streamed; the request says which one
it wants. `Answer.broken` makes faults of any of them.
"""

import json
import os
import socket
import struct
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskStatus
from anyio.streams.buffered import BufferedByteReceiveStream

Json = dict[str, Any]
Ending = Literal["end", "cut", "reset", "hang"]


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Json


@dataclass(frozen=True)
class Answer:
    """What one request gets.

    Args:
        whole: the body of a response in one piece.
        events: the same answer as server-sent events, for a request with ``"stream": true``.
        keep: how many events, or bytes of the whole body, are sent before the ending.
        ending: ``end`` closes the body properly, ``cut`` and ``reset`` the connection in the
            middle of it, ``hang`` sends nothing more until the client goes away.
        delay_s: seconds before each event, or before the body.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    whole: bytes = b""
    events: Sequence[bytes] = ()
    keep: int | None = None
    ending: Ending = "end"
    delay_s: float = 0.0

    def broken(self, keep: int | None, ending: Ending) -> "Answer":
        """Return the same answer, broken off after ``keep`` events or bytes."""
        return replace(self, keep=keep, ending=ending)

    def slow(self, delay_s: float) -> "Answer":
        """Return the same answer with a pause before each event."""
        return replace(self, delay_s=delay_s)


Script = Sequence[Answer] | Callable[[Received], Answer]


class Provider:
    """The running server."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.requests: list[Received] = []
        self.port = 0
        self.hanging = anyio.Event()  # an answer has stopped in the middle
        self.hung_up = anyio.Event()  # its client went away

    @property
    def openai_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def handle(self, stream: SocketStream) -> None:
        """Serve one connection for as long as it lives."""
        async with stream:
            reader = BufferedByteReceiveStream(stream)
            try:
                while (request := await _read_request(reader)) is not None:
                    self.requests.append(request)
                    if not await self._send(stream, self._next(request), request):
                        return
            except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead):
                return  # the client has gone; it was asked to, in some tests

    def _next(self, request: Received) -> Answer:
        if callable(self._script):
            return self._script(request)
        number = len(self.requests) - 1
        if number >= len(self._script):
            return status(418, message=f"request {number + 1}, and the script has no answer left")
        return self._script[number]

    async def _send(self, stream: SocketStream, answer: Answer, request: Received) -> bool:
        """Send one answer; return whether the connection can be used again."""
        streamed = bool(request.body.get("stream")) and answer.status == 200 and answer.events
        await stream.send(_head(answer, chunked=bool(streamed)))
        if streamed:
            for event in answer.events[: answer.keep]:
                await anyio.sleep(answer.delay_s)
                await stream.send(b"%x\r\n%s\r\n" % (len(event), event))
        else:
            await anyio.sleep(answer.delay_s)
            await stream.send(answer.whole[: answer.keep])
        return await self._end(stream, answer, chunked=bool(streamed))

    async def _end(self, stream: SocketStream, answer: Answer, *, chunked: bool) -> bool:
        match answer.ending:
            case "end":
                if chunked:
                    await stream.send(b"0\r\n\r\n")
                return True
            case "hang":
                self.hanging.set()
                try:
                    await stream.receive()
                finally:
                    self.hung_up.set()
            case "reset":
                _reset_when_closed(stream)
            case "cut":
                pass
        return False


def _head(answer: Answer, *, chunked: bool) -> bytes:
    headers = {"content-type": "application/json", "x-request-id": "req-1"}
    if chunked:
        headers |= {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
    else:
        headers |= {"content-length": str(len(answer.whole))}
    lines = [f"HTTP/1.1 {answer.status} Status"]
    lines += [f"{name}: {value}" for name, value in (headers | dict(answer.headers)).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _read_request(reader: BufferedByteReceiveStream) -> Received | None:
    try:
        head = await reader.receive_until(b"\r\n\r\n", 65536)
    except anyio.IncompleteRead:
        return None  # the client is done with this connection
    first, *lines = head.decode().split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body = await reader.receive_exactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, json.loads(body) if body else {})


def _reset_when_closed(stream: SocketStream) -> None:
    # A duplicate of the descriptor shares the socket's options, whatever loop owns the original.
    number = stream.extra(SocketAttribute.raw_socket).fileno()
    with socket.socket(fileno=os.dup(number)) as double:
        double.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@asynccontextmanager
async def serve(script: Script) -> AsyncGenerator[Provider]:
    """Run a provider on a free port of 127.0.0.1."""
    provider = Provider(script)

    async def run(*, task_status: TaskStatus[None]) -> None:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        async with listener:
            provider.port = listener.extra(SocketAttribute.local_port)
            task_status.started()
            await listener.serve(provider.handle)

    async with anyio.create_task_group() as group:
        await group.start(run)
        yield provider
        group.cancel_scope.cancel()


def status(
    code: int, headers: Mapping[str, str] | None = None, *, message: str = "no", kind: str = "error"
) -> Answer:
    """Return an error response; the body has what both providers' bodies have."""
    body = {"type": "error", "error": {"type": kind, "code": kind, "message": message}}
    return Answer(status=code, headers=headers or {}, whole=json.dumps(body).encode())


def _split(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


# OpenAI ---------------------------------------------------------------------------------------


def chat(
    text: str | None = "",
    calls: Sequence[tuple[str, str, str]] = (),
    *,
    finish: str | None = None,
    usage: tuple[int, int, int] | None = (20, 7, 0),
    piece: int = 5,
    **extra: Any,
) -> Answer:
    """Return a chat completion; ``calls`` are (id, name, arguments as sent), ``extra`` more fields.

    ``usage`` is (prompt, completion, cached) tokens. Texts stream in pieces of ``piece``
    characters.
    """
    ending = finish or ("tool_calls" if calls else "stop")
    message: Json = {"role": "assistant", "content": text, "refusal": None, **extra}
    if calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id, name, arguments in calls
        ]
    told = _chat_usage(usage)
    choice = {"index": 0, "message": message, "finish_reason": ending, "logprobs": None}
    whole: Json = _chat_head("chat.completion") | {"choices": [choice]}
    if told is not None:
        whole["usage"] = told
    deltas = _chat_deltas(text, calls, extra, piece)
    events = [_chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    events.append(_chunk([{"index": 0, "delta": {}, "finish_reason": ending}]))
    if told is not None:
        events.append(_chunk([], usage=told))
    events.append(b"data: [DONE]\n\n")
    return Answer(whole=json.dumps(whole).encode(), events=events)


def _chat_usage(usage: tuple[int, int, int] | None) -> Json | None:
    if usage is None:
        return None
    prompt, completion, cached = usage
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _chat_deltas(
    text: str | None, calls: Sequence[tuple[str, str, str]], extra: Json, piece: int
) -> list[Json]:
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    for key, value in extra.items():
        pieces = _split(value, piece) if isinstance(value, str) else [value]
        deltas += [{key: one} for one in pieces]
    deltas += [{"content": one} for one in _split(text or "", piece)]
    for index, (id, name, arguments) in enumerate(calls):
        begun = {"index": index, "id": id, "type": "function"}
        deltas.append({"tool_calls": [begun | {"function": {"name": name, "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": one}}]}
            for one in _split(arguments, piece)
        ]
    return deltas


def _chat_head(kind: str) -> Json:
    return {"id": "chatcmpl-1", "object": kind, "created": 1700000000, "model": "m"}


def _chunk(choices: list[Json], **fields: Any) -> bytes:
    body = _chat_head("chat.completion.chunk") | {"choices": choices} | fields
    return b"data: " + json.dumps(body).encode() + b"\n\n"


# Anthropic ------------------------------------------------------------------------------------


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def thinking_block(thinking: str, signature: str) -> Json:
    return {"type": "thinking", "thinking": thinking, "signature": signature}


def call_block(id: str, name: str, arguments: Json | str) -> Json:
    """Return a call; arguments as a text are sent as they are, which only a stream can."""
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def message(
    *blocks: Json,
    stop: str | None = None,
    usage: Mapping[str, int] | None = None,
    piece: int = 5,
) -> Answer:
    """Return an answer of the messages API, its texts streamed in pieces of ``piece`` characters."""
    ending = stop or ("tool_use" if blocks and blocks[-1]["type"] == "tool_use" else "end_turn")
    told = dict(usage or {"input_tokens": 20, "output_tokens": 7})
    head: Json = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
    whole = head | {"content": blocks, "stop_reason": ending, "stop_sequence": None, "usage": told}
    begun: Json = head | {"content": [], "stop_reason": None, "usage": told | {"output_tokens": 1}}
    events = [_event("message_start", message=begun)]
    for index, block in enumerate(blocks):
        events += _block_events(index, block, piece)
    delta = {"stop_reason": ending, "stop_sequence": None}
    counted = {"output_tokens": told["output_tokens"]}
    events.append(_event("message_delta", delta=delta, usage=counted))
    events.append(_event("message_stop"))
    return Answer(whole=json.dumps(whole).encode(), events=events)


def _block_events(index: int, block: Json, piece: int) -> list[bytes]:
    start, deltas = dict(block), list[Json]()
    match block["type"]:
        case "text":
            start["text"] = ""
            deltas = [{"type": "text_delta", "text": one} for one in _split(block["text"], piece)]
        case "thinking":
            start |= {"thinking": "", "signature": ""}
            thought = _split(block["thinking"], piece)
            deltas = [{"type": "thinking_delta", "thinking": one} for one in thought]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case "tool_use":
            start["input"] = {}
            given = block["input"]
            arguments = given if isinstance(given, str) else json.dumps(given)
            deltas = [
                {"type": "input_json_delta", "partial_json": one}
                for one in ["", *_split(arguments, piece)]
            ]
        case _:
            pass
    return [
        _event("content_block_start", index=index, content_block=start),
        *(_event("content_block_delta", index=index, delta=delta) for delta in deltas),
        _event("content_block_stop", index=index),
    ]


def _event(kind: str, **fields: Any) -> bytes:
    body = json.dumps({"type": kind, **fields})
    return f"event: {kind}\ndata: {body}\n\n".encode()
