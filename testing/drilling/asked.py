"""The agent's model, watched: what it is sent, what it answers, and the faults that strike it.

A script is asked anew in each run. Any other model is asked once, in the clean run, and what it said is
said again in all others: faults are tried on the same plan, and nothing is spent.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from ...actors.model import (
    AssistantMessage,
    Message,
    Model,
    ModelReply,
    ModelRequest,
    ToolMessage,
)
from ...models.scripted import ScriptedModel
from ...stores.records import ToolCall
from ..faults import error_of
from .world import PLANNED, Killed, World, never

CORRECTION = "corrected-"
"""Begins the ids of calls that the drill makes in the model's place, to correct what it was told."""

_MENDABLE = ("invalid_argument", "context_overflow")
"""Faults after which the model is asked to call again, as a script cannot."""


def replayed_by(model: Model) -> bool:
    """Tell whether a model's answers are recorded and said again."""
    return not isinstance(model, ScriptedModel)


class WatchedModel:
    """A model of one agent in one run.

    Args:
        replies: what it said in the clean run, by session and number of the answer; None: it is asked.
    """

    def __init__(
        self, model: Model, world: World, replies: Mapping[tuple[str, int], ModelReply] | None
    ) -> None:
        self._model = model
        self._world = world
        self._replies = replies
        self.name = getattr(model, "name", "model")
        self.prices = getattr(model, "prices", None)
        self.output_tokens_max = getattr(model, "output_tokens_max", None)
        self.context_tokens = getattr(model, "context_tokens", None)

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Answer as the model does, unless the cell says otherwise."""
        try:
            return await self._complete(request)
        except Killed:
            return await never()

    async def _complete(self, request: ModelRequest) -> ModelReply:
        world = self._world
        world.live()
        world.seen.model_calls += 1
        world.search("a request to the model", _text_of(request))
        if world.ends_now():
            world.end()
        fault = self._due()
        await self._before(fault)
        reply = await self._answer(request)
        world.live()
        return self._after(fault, reply)

    def _due(self) -> str:
        cell, number = self._world.cell, self._world.seen.model_calls
        if cell is None or cell.step.kind != "model" or number < cell.step.at:
            return ""
        if cell.fault == "outage":
            return cell.fault
        return cell.fault if number == cell.step.at and not self._world.seen.struck else ""

    async def _before(self, fault: str) -> None:
        if not fault:
            return
        world = self._world
        if fault in ("lost", "cut_off", "kill_after"):
            return  # after the answer
        world.seen.struck += 1
        if fault == "kill_before":
            world.kill()
        if fault == "hang":
            await never()
        assert world.cell is not None and world.cell.error_class is not None
        raise error_of(world.cell.error_class, PLANNED)

    def _after(self, fault: str, reply: ModelReply) -> ModelReply:
        if not fault:
            return reply
        self._world.seen.struck += 1
        match fault:
            case "kill_after":
                self._world.kill()
            case "lost":
                raise ConnectionResetError(f"{PLANNED}: the answer broke off")
            case _:
                reply = cut_off(reply)
                self._world.cut_text = reply.text
                return reply

    async def _answer(self, request: ModelRequest) -> ModelReply:
        cell = self._world.cell
        if cell is not None and cell.fault in _MENDABLE:
            again = correction(request.messages)
            if again:
                return ModelReply(calls=again, finish="tool_calls")
        own = without_corrections(request.messages, cut_text=self._world.cut_text)
        position = sum(isinstance(each, AssistantMessage) for each in own)
        if self._replies is None:
            asked = structs.replace(request, messages=own)
            reply = await self._model.complete(asked)
            if cell is None:
                self._record(request.session_id, position, reply)
            return reply
        known = self._replies.get((request.session_id, position))
        return known if known is not None else ModelReply(text="I cannot go on from here.")

    def _record(self, session_id: str, position: int, reply: ModelReply) -> None:
        said = msgspec.json.encode((session_id, position, reply)).decode()
        self._world.seen.replies.append(said)


def replies_of(recorded: Sequence[str]) -> dict[tuple[str, int], ModelReply]:
    """Return recorded answers by session and place."""
    read = [msgspec.json.decode(each, type=tuple[str, int, ModelReply]) for each in recorded]
    return {(session_id, position): reply for session_id, position, reply in read}


def cut_off(reply: ModelReply) -> ModelReply:
    """Return an answer as it is where its end is missing."""
    calls = tuple(
        structs.replace(
            each,
            id=f"{CORRECTION}{each.id}",
            arguments="{}",
            problem="the answer was cut off inside this call",
        )
        for each in reply.calls
    )
    return structs.replace(
        reply, text=reply.text[: len(reply.text) // 2], calls=calls, finish="length", raw=None
    )


def correction(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Return the calls that a model would send again, mended, for the last message says that they were
    wrong by plan; none where it does not."""
    asked: AssistantMessage | None = None
    wrong: set[str] = set()
    for message in messages:
        if isinstance(message, AssistantMessage):
            asked, wrong = message, set()
        elif isinstance(message, ToolMessage) and message.is_error and PLANNED in message.content:
            wrong.add(message.call_id)
    if asked is None or not wrong:
        return ()
    return tuple(
        structs.replace(each, id=f"{CORRECTION}{each.id}")
        for each in asked.calls
        if each.id in wrong
    )


def without_corrections(
    messages: Sequence[Message], *, cut_text: str | None = None
) -> Sequence[Message]:
    """Return a conversation as it would be had the model not been corrected, nor cut off at this text."""
    kept: list[Message] = []
    dropping = False
    for message in messages:
        if isinstance(message, AssistantMessage):
            ids = [each.id for each in message.calls]
            dropping = ids[0].startswith(CORRECTION) if ids else message.text == cut_text
        elif not isinstance(message, ToolMessage):
            dropping = False
        if not dropping:
            kept.append(message)
    return messages if len(kept) == len(messages) else kept


def _text_of(request: ModelRequest) -> str:
    data: Any = msgspec.to_builtins((request.instructions, tuple(request.messages)))
    return msgspec.json.encode(data).decode()
