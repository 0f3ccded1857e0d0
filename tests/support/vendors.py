"""One description of an answer, played by either vendor, whole or streamed."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from loopback_llm import Answer, Provider, Script, call_block, chat, message, serve, text_block

from ukemi.actors.model import (
    Message,
    ModelReply,
    ModelRequest,
    ToolSchema,
    UserMessage,
)
from ukemi.models import AnthropicModel, OpenAIModel

_STOP = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}

WRITE_FILE = ToolSchema(
    name="write_file",
    description="Write a text into a file.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
        "required": ["path", "text"],
    },
)
CLOCK = ToolSchema(
    name="clock", description="The time.", parameters={"type": "object", "properties": {}}
)

VendorModel = OpenAIModel | AnthropicModel


@dataclass(frozen=True)
class Vendor:
    """A vendor's client in one mode."""

    name: str
    stream: bool

    @property
    def id(self) -> str:
        return f"{self.name}-{'stream' if self.stream else 'whole'}"

    def model(self, provider: Provider, **options: Any) -> VendorModel:
        options.setdefault("api_key", "key-1")
        options.setdefault("stream", self.stream)
        if self.name == "openai":
            return OpenAIModel("m", base_url=provider.openai_url, **options)
        return AnthropicModel("m", base_url=provider.anthropic_url, **options)

    def answer(
        self,
        text: str = "",
        calls: Sequence[tuple[str, str, str]] = (),
        *,
        finish: str | None = None,
        input_tokens: int = 20,
        output_tokens: int = 7,
        piece: int = 5,
    ) -> Answer:
        """Return an answer; calls are (id, name, arguments as sent)."""
        if self.name == "openai":
            usage = (input_tokens, output_tokens, 0)
            return chat(text, calls, finish=finish, usage=usage, piece=piece)
        blocks = [text_block(text)] if text else []
        blocks += [call_block(id, name, self._input(given)) for id, name, given in calls]
        told = {"input_tokens": input_tokens, "output_tokens": output_tokens}
        stop = _STOP.get(finish or "", finish)
        return message(*blocks, stop=stop, usage=told, piece=piece)

    def _input(self, arguments: str) -> Any:
        # What is sent in one piece is parsed JSON; only a stream can carry half of it.
        return arguments if self.stream else json.loads(arguments or "{}")

    @asynccontextmanager
    async def serving(self, script: Script, **options: Any) -> AsyncGenerator["Talk"]:
        """Run a provider and a model that talks to it; both are closed at the end."""
        async with serve(script) as provider:
            model = self.model(provider, **options)
            try:
                yield Talk(provider, model)
            finally:
                await model.aclose()


@dataclass(frozen=True)
class Talk:
    """A running provider and the model under test."""

    provider: Provider
    model: VendorModel

    async def ask(self, *messages: Message, **fields: Any) -> ModelReply:
        return await self.model.complete(asking(*messages, **fields))


def asking(*messages: Message, **fields: Any) -> ModelRequest:
    """Return a request; by default the user says hello."""
    fields = {"session_id": "s", "instructions": "", "tools": (WRITE_FILE, CLOCK)} | fields
    return ModelRequest(messages=messages or (UserMessage("hello"),), **fields)


VENDORS = [
    Vendor(name, stream=stream) for name in ("openai", "anthropic") for stream in (True, False)
]
STREAMS = [vendor for vendor in VENDORS if vendor.stream]
