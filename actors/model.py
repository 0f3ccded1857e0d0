"""What a model is to a session: one method, plain data in and out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from ..stores.records import ToolCall, Usage

Finish = Literal["stop", "tool_calls", "length", "refused"]


class UserMessage(Struct, frozen=True, gc=False):
    """What the user said."""

    text: str


class NoteMessage(Struct, frozen=True, gc=False):
    """What the runtime tells the model; sent in the user's role, marked as the runtime's."""

    text: str


class AssistantMessage(Struct, frozen=True, gc=False):
    """What the model said; ``raw`` are the provider's own blocks (JSON) to send back unchanged."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    raw: bytes | None = None
    raw_format: str = ""


class ToolMessage(Struct, frozen=True, gc=False):
    """The result of one call; ``call_id`` is the wire id of the call in the message before."""

    call_id: str
    name: str
    content: str
    is_error: bool = False


Message = UserMessage | NoteMessage | AssistantMessage | ToolMessage


class ToolSchema(Struct, frozen=True):
    """A tool as the model sees it; ``parameters`` is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class ModelRequest(Struct, frozen=True, kw_only=True):
    """One request. ``messages`` are always paired: each call has one result right behind it.

    ``on_piece`` receives text as it streams in (None: nobody listens). A request is one attempt:
    a client never retries by itself, and never joins two attempts.
    """

    session_id: str
    instructions: str
    messages: Sequence[Message]
    tools: tuple[ToolSchema, ...] = ()
    output_tokens_max: int | None = None
    on_piece: Callable[[str], None] | None = None
    attempt: int = 1


class ModelReply(Struct, frozen=True, kw_only=True):
    """One whole answer. Calls that were cut off or malformed carry a ``problem``."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    usage: Usage = Usage()
    raw: bytes | None = None
    raw_format: str = ""


class Prices(Struct, frozen=True, kw_only=True):
    """US dollars per million tokens."""

    input_usd: float
    output_usd: float
    cached_usd: float | None = None

    def cost_usd(self, usage: Usage) -> float:
        """Return what this usage costs; cached tokens count as input where they have no price."""
        cached = self.input_usd if self.cached_usd is None else self.cached_usd
        fresh = usage.input_tokens - usage.cached_tokens
        millions = fresh * self.input_usd + usage.cached_tokens * cached
        return (millions + usage.output_tokens * self.output_usd) / 1e6


class Model(Protocol):
    """A client of one model.

    A client may also have ``name`` (str), ``prices`` (`Prices`, needed for a budget in dollars),
    ``output_tokens_max`` (int, what one answer may be at most, reserved before the request) and
    ``context_tokens`` (int, what request and answer may be together: a conversation that would
    outgrow it is pruned before it is refused).
    """

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Answer one request, once.

        Raises the SDK's own error, or a `Failed`. Where an attempt broke off after consuming
        tokens, the exception has the attribute ``usage`` (`Usage`), so that they are booked.
        """
        ...
