"""A model behind OpenAI's chat completions, or a server that speaks them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from ..actors.model import ModelReply, ModelRequest, Prices
from ..supervisor.errors import PermissionDenied, TransientError
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
from .openai_stream import ChatAssembly
from .openai_wire import (
    ChatAnswer,
    Json,
    chat_body,
    chat_reply,
    chat_usage,
    ended_in_error,
    limit_field,
)
from .usage import attach_usage

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_OURS = ("model", "messages", "stream", "tools", "n", "max_tokens", "max_completion_tokens")


class OpenAIModel:
    """Answer through the ``openai`` SDK; one HTTP request for each `complete`, never a retry.

    Args:
        name: the model's name at the provider.
        api_key: by default from ``OPENAI_API_KEY``.
        base_url: another server that speaks chat completions.
        stream: read the answer as it is made; without it a cut connection is noticed late.
        prices: needed for a budget in dollars.
        output_tokens_max: what one answer may be at most; None: the provider's own limit.
        context_tokens: what request and answer may be together. Known, the conversation is pruned
            before it is refused; None: once it is.
        timeout_s: seconds of silence after which a request fails.
        length_field: what the server calls the limit of an answer's length; guessed if not given.
        client: a ready ``AsyncOpenAI``; it stays yours to close.
        options: further fields of each request, such as ``temperature`` or ``extra_body``.

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
        output_tokens_max: int | None = OUTPUT_TOKENS_MAX,
        context_tokens: int | None = None,
        timeout_s: float = TIMEOUT_S,
        length_field: str | None = None,
        client: "AsyncOpenAI | None" = None,
        **options: Any,
    ) -> None:
        sdk = require_sdk("openai", "OpenAIModel")
        create = sdk.resources.chat.AsyncCompletions.create
        self.name = name
        self.prices = prices
        self.output_tokens_max = output_tokens_max
        self.context_tokens = checked_context(context_tokens)
        self._stream = stream
        self._length_field = length_field
        self._options = checked_options(create, options, ours=_OURS, whose="OpenAIModel")
        self._api_key = api_key
        self._base_url = base_url
        self._timeout_s = timeout_s
        given = None if client is None else client.with_options(max_retries=0)
        self._clients: LoopClients[AsyncOpenAI] = LoopClients(self._make, given)

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r})"  # never the key

    async def aclose(self) -> None:
        """Close the connections of this event loop; the model can be used again."""
        await self._clients.aclose()

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Answer one request with one HTTP request.

        Raises:
            openai.OpenAIError: as the SDK raised it, with status and headers. One that broke a
                stream has ``usage``, estimated from what was sent and what had come.
            TransientError: the stream ended without its ending; it has ``usage`` too.
            AnswerError: a success without an answer in it, or one that ended with an error.
            PermissionDenied: there is no key.
        """
        client = self._clients.current()
        body = self._body(request, str(client.base_url))
        if self._stream:
            answer = await self._streamed(client, body, request)
        else:
            create = cast("Callable[..., Awaitable[object]]", client.chat.completions.create)
            answer = _whole(self.name, await create(**body))
        return chat_reply(answer, request, body, self.prices)

    def _make(self) -> "AsyncOpenAI":
        import openai

        try:
            return openai.AsyncOpenAI(
                api_key=self._api_key,
                base_url=self._base_url,
                max_retries=0,
                timeout=openai.Timeout(self._timeout_s, connect=CONNECT_TIMEOUT_S),
            )
        except openai.OpenAIError as error:
            raise PermissionDenied(f"no client for OpenAI: {error}") from error

    def _body(self, request: ModelRequest, base_url: str) -> Json:
        body = chat_body(self.name, request, self._options)
        limit = smaller(request.output_tokens_max, self.output_tokens_max)
        if limit is not None:
            body[self._length_field or limit_field(base_url)] = limit
        return body

    async def _streamed(
        self, client: "AsyncOpenAI", body: Json, request: ModelRequest
    ) -> ChatAnswer:
        if "stream_options" not in self._options:
            body["stream_options"] = {"include_usage": True}
        stream = await client.chat.completions.create(**body, stream=True)
        assembly = ChatAssembly()
        try:
            async with stream:
                async for chunk in stream:
                    piece = assembly.add(chunk.to_dict(warnings=False))
                    if piece and request.on_piece is not None:
                        request.on_piece(piece)
            if assembly.failed is not None:
                raise _failed(self.name, assembly.failed)
            answer = assembly.answer()
            if answer is None:
                raise cut_off(self.name)
        except BaseException as error:  # cancellation too: what was read has been paid for
            if assembly.begun:
                arrived = assembly.arrived()
                attach_usage(error, chat_usage(assembly.usage, body, arrived, self.prices))
            raise
        return answer


def _whole(name: str, completion: object) -> ChatAnswer:
    """Return the answer in a response that came in one piece.

    Raises:
        AnswerError: it is not a chat completion, or ended with an error.
        TransientError: it has no ending.
    """
    to_dict = getattr(completion, "to_dict", None)
    body: Json = cast("Json", to_dict(warnings=False)) if to_dict is not None else {}
    choices = body.get("choices")
    if not choices:
        told = body.get("error") or body or str(completion)[:200]
        raise AnswerError(f"{name} answered without a choice: {str(told)[:200]}", told)
    choice: Mapping[str, Any] = choices[0]
    if ended_in_error(choice):
        raise _failed(name, choice)
    if not choice.get("finish_reason"):
        raise cut_off(name)
    return ChatAnswer(choice.get("message") or {}, choice["finish_reason"], body.get("usage"))


def _failed(name: str, choice: Mapping[str, Any]) -> AnswerError | TransientError:
    """Return the error that a choice ended with; what came before it is no answer."""
    told = choice.get("error")
    if not told:
        return cut_off(name)
    return AnswerError(f"{name} broke off with an error: {str(told)[:200]}", told)
