"""A model behind Anthropic's messages API, or a server that speaks it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ..actors.model import ModelReply, ModelRequest, Prices
from ..supervisor.errors import PermissionDenied
from .anthropic_stream import BlocksAssembly
from .anthropic_wire import Block, BlocksAnswer, Json, blocks_reply, blocks_usage, messages_body
from .clients import (
    CONNECT_TIMEOUT_S,
    OUTPUT_TOKENS_MAX,
    TIMEOUT_S,
    AnswerError,
    LoopClients,
    checked_context,
    checked_options,
    cut_off,
    require_sdk,
    smaller,
)
from .usage import attach_usage

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_OURS = ("model", "messages", "stream", "tools", "system", "max_tokens")


class AnthropicModel:
    """Answer through the ``anthropic`` SDK; one HTTP request for each `complete`, never a retry.

    Args:
        name: the model's name at the provider.
        api_key: by default from ``ANTHROPIC_API_KEY``.
        base_url: another server that speaks the messages API.
        stream: read the answer as it is made; without it a cut connection is noticed late.
        prices: needed for a budget in dollars. Writing to the prompt cache counts as input.
        output_tokens_max: what one answer may be at most, thinking included.
        context_tokens: what request and answer may be together. Known, the conversation is pruned
            before it is refused; None: once it is.
        timeout_s: seconds of silence after which a request fails.
        client: a ready ``AsyncAnthropic``; it stays yours to close.
        options: further fields of each request, such as ``thinking`` or ``cache_control``.

    Raises:
        UsageError: the SDK is not installed, or an option is unknown.
    """

    def __init__(
        self,
        name: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        stream: bool = True,
        prices: Prices | None = None,
        output_tokens_max: int = OUTPUT_TOKENS_MAX,
        context_tokens: int | None = None,
        timeout_s: float = TIMEOUT_S,
        client: "AsyncAnthropic | None" = None,
        **options: Any,
    ) -> None:
        sdk = require_sdk("anthropic", "AnthropicModel")
        create = sdk.resources.AsyncMessages.create
        self.name = name
        self.prices = prices
        self.output_tokens_max = output_tokens_max
        self.context_tokens = checked_context(context_tokens)
        self._stream = stream
        self._options = checked_options(create, options, ours=_OURS, whose="AnthropicModel")
        self._api_key = api_key
        self._base_url = base_url
        self._timeout_s = timeout_s
        given = None if client is None else client.with_options(max_retries=0)
        self._clients: LoopClients[AsyncAnthropic] = LoopClients(self._make, given)

    def __repr__(self) -> str:
        return f"AnthropicModel({self.name!r})"  # never the key

    async def aclose(self) -> None:
        """Close the connections of this event loop; the model can be used again."""
        await self._clients.aclose()

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Answer one request with one HTTP request.

        Raises:
            anthropic.AnthropicError: as the SDK raised it, with status and headers.
            Exception: the transport's own error, where a stream broke. Both then have ``usage``:
                as told at the stream's start, the output estimated from what had come.
            TransientError: the stream ended without its ending; it has ``usage`` too.
            AnswerError: a success without an answer in it.
            PermissionDenied: there is no key.
        """
        client = self._clients.current()
        body = messages_body(self.name, request, self._options)
        body["max_tokens"] = smaller(request.output_tokens_max, self.output_tokens_max)
        if self._stream:
            answer = await self._streamed(client, body, request)
        else:
            create = cast("Callable[..., Awaitable[object]]", client.messages.create)
            answer = _whole(self.name, await create(**body))
        return blocks_reply(answer, request, body, self.prices)

    def _make(self) -> "AsyncAnthropic":
        import anthropic

        try:
            client = anthropic.AsyncAnthropic(
                api_key=self._api_key,
                base_url=self._base_url,
                max_retries=0,
                timeout=anthropic.Timeout(self._timeout_s, connect=CONNECT_TIMEOUT_S),
            )
        except anthropic.AnthropicError as error:
            raise PermissionDenied(f"no client for Anthropic: {error}") from error
        if not _has_key(client):
            raise PermissionDenied("no client for Anthropic: set ANTHROPIC_API_KEY or give api_key")
        return client

    async def _streamed(
        self, client: "AsyncAnthropic", body: Json, request: ModelRequest
    ) -> BlocksAnswer:
        stream = await client.messages.create(**body, stream=True)
        assembly = BlocksAssembly()
        try:
            async with stream:
                async for event in stream:
                    piece = assembly.add(event.to_dict(warnings=False))
                    if piece and request.on_piece is not None:
                        request.on_piece(piece)
            answer = assembly.answer()
            if answer is None:
                raise cut_off(self.name)
        except BaseException as error:  # cancellation too: what was read has been paid for
            if assembly.begun:
                told, arrived = assembly.usage, assembly.arrived()
                attach_usage(error, blocks_usage(told, body, arrived, self.prices, broken=True))
            raise
        return answer


def _has_key(client: "AsyncAnthropic") -> bool:
    """Say whether a client can authenticate; the SDK itself finds out in the first request."""
    names = ("api_key", "auth_token", "credentials")
    return any(getattr(client, name, None) is not None for name in names)


def _whole(name: str, message: object) -> BlocksAnswer:
    """Return the answer in a response that came in one piece.

    Raises:
        AnswerError: it is not a message.
        TransientError: it has no ending.
    """
    to_dict = getattr(message, "to_dict", None)
    body: Json = cast("Json", to_dict(warnings=False)) if to_dict is not None else {}
    content = body.get("content")
    if not isinstance(content, list):
        told = body.get("error") or body or str(message)[:200]
        raise AnswerError(f"{name} answered without content: {str(told)[:200]}", told)
    if not body.get("stop_reason"):
        raise cut_off(name)
    blocks = [_block(one) for one in cast("Sequence[Json]", content)]
    return BlocksAnswer(blocks, body["stop_reason"], body.get("usage"))


def _block(content: Json) -> Block:
    given = content.get("input")
    # As the stream has it: a call with no arguments at all has an empty text.
    arguments = "" if given in (None, {}) else msgspec.json.encode(given).decode()
    return Block(content=content, arguments=arguments)
