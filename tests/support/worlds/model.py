"""A model that says what the plan of its session says, and looks at what it is told."""

import json

import anyio

from ukemi import (
    ContentRefused,
    ContextOverflow,
    InDoubtTimeout,
    ModelReply,
    ModelRequest,
    PermissionDenied,
    RateLimited,
    TransientError,
)
from ukemi.actors.model import AssistantMessage, Finish, Message, ToolMessage
from ukemi.stores.records import ToolCall, Usage

from .outside import Outside
from .plan import ModelFault, Plan, Turn
from .tools import Odd

USAGE = Usage(input_tokens=100, output_tokens=20)
END = Turn(says="I have nothing more to say.")


def fault(what: ModelFault) -> Exception:
    """Return what the provider's client raises."""
    match what:
        case "transient":
            return TransientError("overloaded")
        case "limited":
            return RateLimited("slow down", retry_after=3.0)
        case "timeout":
            return InDoubtTimeout("no answer")
        case "denied":
            return PermissionDenied("bad key")
        case "bug":
            return TypeError("unhashable type: 'list'")
        case "overflow":
            return ContextOverflow("prompt is too long")
        case "refused":
            return ContentRefused("no")
        case _:
            return Odd("the model says something nobody knows")


class PlannedModel:
    """Plays every session its plan, by the number of answers that a request holds."""

    name = "planned"

    def __init__(self, outside: Outside, life: int, plans: dict[str, Plan]) -> None:
        self._outside = outside
        self._life = life
        self._plans = plans

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Answer as planned; raises what is planned."""
        outside, session = self._outside, request.session_id
        outside.reach("model", self._life)
        outside.requests[session] += 1
        number = outside.requests[session]
        self._check(request)
        at = sum(isinstance(each, AssistantMessage) for each in request.messages)
        outside.note(f"model {session} asked for {at} #{request.attempt}")
        turns = self._plans[session].turns
        turn = turns[at] if at < len(turns) else END
        await anyio.sleep(0.3)
        outside.alive(self._life)
        faults = outside.entries[session, f"model {at}"]
        if faults < len(turn.faults):
            outside.entries[session, f"model {at}"] += 1
            what = turn.faults[faults]
            if what == "hang":
                await anyio.sleep(40.0)
            raise fault(what)
        return _reply(turn, f"{session}-{number}")

    def _check(self, request: ModelRequest) -> None:
        """Each call has one result right behind it, and each result is a checkpoint."""
        outside = self._outside
        problem = unpaired(list(request.messages))
        if problem:
            outside.broken(f"the model of {request.session_id} is asked with {problem}")
        known = outside.committed[request.session_id]
        for message in request.messages:
            if isinstance(message, ToolMessage):
                call = known.answered.get(message.call_id)
                if call is None or call not in known.resulted:
                    outside.broken(
                        f"the model of {request.session_id} sees the result of {message.call_id}, "
                        "which is not durable yet"
                    )


def _reply(turn: Turn, name: str) -> ModelReply:
    calls = [
        ToolCall(f"{name}-{at}", each.kind, json.dumps({"what": each.what}))
        for at, each in enumerate(turn.calls)
    ]
    if not calls:
        return ModelReply(text=turn.says, usage=USAGE)
    if turn.broken:
        problem = "the arguments are no JSON" if turn.broken == "malformed" else "it was cut off"
        calls[0] = ToolCall(calls[0].id, calls[0].name, "{}", problem)
    finish: Finish = "length" if turn.broken == "cut_off" else "tool_calls"
    return ModelReply(calls=tuple(calls), finish=finish, usage=USAGE)


def unpaired(messages: list[Message]) -> str:
    """Return what is wrong with the pairing of calls and results; empty: nothing."""
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            if not waiting or waiting[0] != message.call_id:
                return f"a result of {message.call_id} that nothing waits for"
            waiting.pop(0)
            continue
        if waiting:
            return f"no result of {waiting[0]}"
        if isinstance(message, AssistantMessage):
            waiting = [each.id for each in message.calls]
    return f"no result of {waiting[0]}" if waiting else ""
