"""A model that says what a script tells it: for tests, examples and the demo.

A script is a list of replies, or a function of the request. Neither needs memory of the past: the
place in a list is the number of answers the request already holds, so a session that is resumed
in another process, or rolled back, goes on at the right line.
"""

import copy
import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeGuard, cast

import anyio
import msgspec
from msgspec import Struct

from ..actors.model import AssistantMessage, Finish, ModelReply, ModelRequest, Prices
from ..stores.records import ToolCall, Usage
from ..supervisor.errors import ErrorClass, Failed, UsageError
from .usage import attach_usage, priced

USAGE = Usage(input_tokens=100, output_tokens=20)
"""What an answer consumes where the script says nothing."""

_SAID_AT_ONCE = frozenset((str, ToolCall, ModelReply, list, tuple))
"""Types of replies that nobody has to look at twice."""

_REQUESTS_MAX = 10_000
_SESSIONS_MAX = 100_000


class Hang(Struct, frozen=True):
    """A reply that never comes: the request waits until it is cancelled."""


class Pieces(Struct, frozen=True):
    """An answer that streams in, and may break off.

    ``pieces`` are handed to the listener one by one, ``delay_s`` seconds before each. Then
    ``error`` is raised, or, without one, the joined text and the ``calls`` are the answer. A usage
    given here is what was consumed, also by the attempt that broke off.
    """

    pieces: Sequence[str]
    calls: Sequence[ToolCall] = ()
    error: BaseException | type[BaseException] | None = None
    usage: Usage = Usage()
    delay_s: float = 0.0


Reply = (
    str
    | ToolCall
    | Sequence[ToolCall]
    | ModelReply
    | BaseException
    | type[BaseException]
    | Hang
    | Pieces
)
"""What a script may say.

Text is a final answer, calls are run (several: side by side), an exception or its class is raised.
"""

Script = Sequence[Reply] | Callable[[ModelRequest], Reply | Awaitable[Reply]]

_Act = Pieces | Hang | BaseException | type[BaseException]
_Ready = ModelReply | _Act


class ScriptExhausted(Failed):
    """A session asked for more answers than its script has: a fault in a test or a demo."""

    error_class = ErrorClass.BUG


def call(name: str, /, **arguments: Any) -> ToolCall:
    """Return a call for a script; its wire id is given when it is said."""
    return ToolCall(id="", name=name, arguments=msgspec.json.encode(arguments).decode())


class ScriptedModel:
    """Answer from a script, without network, clock or chance.

    Args:
        script: a list of replies, or a function of the request. A list is played to each session
            from its start. A fault in it is one attempt, and what follows is said at the next
            attempt; a fault at its end lasts. A function may be async; it serves any number of
            sessions and should decide by the request alone.
        name: what the model is called in reports.
        delay_s: seconds each answer takes.
        usage: what each answer consumes where the script says nothing.
        prices: used to work out what that costs.
        context_tokens: what the model is taken to have room for; it refuses nothing by itself.
        record: keep the last 10,000 requests in ``requests``.
    """

    def __init__(
        self,
        script: Script,
        *,
        name: str = "scripted",
        delay_s: float = 0.0,
        usage: Usage = USAGE,
        prices: Prices | None = None,
        output_tokens_max: int | None = None,
        context_tokens: int | None = None,
        record: bool = False,
    ) -> None:
        _check(script)
        self.name = name
        self.prices = prices
        self.output_tokens_max = output_tokens_max
        self.context_tokens = context_tokens
        self.requests: deque[ModelRequest] = deque(maxlen=_REQUESTS_MAX)
        self._delay_s = delay_s
        self._usage = usage
        self._record = record
        self._function = script if callable(script) else None
        self._steps = [] if callable(script) else self._plan(script)
        # Where a step has faults before its answer: session -> [position, attempts made].
        self._tries: dict[str, list[int]] = {}

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Answer as the script says.

        Raises:
            ScriptExhausted: the list has no answer left for this session.
        """
        if self._record:
            messages = tuple(request.messages)
            self.requests.append(msgspec.structs.replace(request, messages=messages))
        if self._delay_s:
            await anyio.sleep(self._delay_s)
        if self._function is None:
            ready = self._next(request)
        else:
            said = self._function(request)
            if isinstance(said, ToolCall):  # what most steps are
                calls = (_with_id(said, len(request.messages), 0),)
                usage = self._usage if self.prices is None else priced(self._usage, self.prices)
                return ModelReply(calls=calls, finish="tool_calls", usage=usage)
            if type(said) not in _SAID_AT_ONCE and inspect.isawaitable(said):
                said = await said
            ready = self._ready(said, len(request.messages))
        if isinstance(ready, ModelReply):
            if ready.text and request.on_piece is not None:
                request.on_piece(ready.text)
            return ready
        return await self._perform(ready, request)

    def _next(self, request: ModelRequest) -> _Ready:
        position = _answers(request)
        if position >= len(self._steps):
            raise ScriptExhausted(
                f"the script of {self.name!r} has {len(self._steps)} answers;"
                f" session {request.session_id!r} asked for answer {position + 1}"
            )
        step = self._steps[position]
        if len(step) == 1:
            return step[0]
        return step[min(self._attempt(request, position), len(step) - 1)]

    def _attempt(self, request: ModelRequest, position: int) -> int:
        """Return how many attempts came before this one.

        The runtime's own count wins where it is higher: it survives a restart, ours does not.
        """
        tries = self._tries.get(request.session_id)
        if tries is None or tries[0] != position:
            tries = self._tries[request.session_id] = [position, 0]
            if len(self._tries) > _SESSIONS_MAX:
                del self._tries[next(iter(self._tries))]
        attempt = max(tries[1], request.attempt - 1)
        tries[1] = attempt + 1
        return attempt

    def _plan(self, script: Sequence[Reply]) -> list[list[_Ready]]:
        """Group a list into steps: the faults, if any, and the answer they end in."""
        steps: list[list[_Ready]] = []
        faults: list[_Ready] = []
        for said in script:
            ready = self._ready(said, len(steps))
            faults.append(ready)
            if not _is_fault(ready):
                steps.append(faults)
                faults = []
        return [*steps, faults] if faults else steps

    def _ready(self, said: object, position: int) -> _Ready:
        match said:
            case str():
                return ModelReply(text=said, usage=priced(self._usage, self.prices))
            case ToolCall():
                return self._calling((said,), position)
            case ModelReply():
                usage = priced(said.usage if said.usage != Usage() else self._usage, self.prices)
                calls = _with_ids(said.calls, position)
                finish = "tool_calls" if calls and said.finish == "stop" else said.finish
                return msgspec.structs.replace(said, usage=usage, calls=calls, finish=finish)
            case Pieces():
                return msgspec.structs.replace(said, calls=_with_ids(said.calls, position))
            case Hang() | BaseException():
                return said
            case _ if _is_error_class(said):
                return said
            case _ if _are_calls(said):
                return self._calling(said, position)
            case _:
                raise UsageError(f"a script cannot say {said!r}; see ukemi.models.scripted.Reply")

    def _calling(self, calls: Sequence[ToolCall], position: int) -> ModelReply:
        usage = priced(self._usage, self.prices)
        return ModelReply(calls=_with_ids(calls, position), finish="tool_calls", usage=usage)

    async def _perform(self, act: _Act, request: ModelRequest) -> ModelReply:
        if isinstance(act, Pieces):
            return await self._stream(act, request)
        if not isinstance(act, Hang):
            raise _fresh(act)
        while True:  # the caller's deadline or cancellation ends it: that is what it is for
            await anyio.sleep_forever()

    async def _stream(self, told: Pieces, request: ModelRequest) -> ModelReply:
        for piece in told.pieces:
            if told.delay_s:
                await anyio.sleep(told.delay_s)
            if request.on_piece is not None:
                request.on_piece(piece)
        usage = priced(told.usage if told.usage != Usage() else self._usage, self.prices)
        if told.error is not None:
            error = _fresh(told.error)
            attach_usage(error, usage)
            raise error
        calls = tuple(told.calls)
        finish: Finish = "tool_calls" if calls else "stop"
        return ModelReply(text="".join(told.pieces), calls=calls, finish=finish, usage=usage)


def _check(script: object) -> None:
    """Refuse what is no script, a single text above all: a text is a sequence too."""
    if isinstance(script, str) or not (callable(script) or isinstance(script, Sequence)):
        raise UsageError(f"a script is a list of replies or a function, not {script!r}")


def _answers(request: ModelRequest) -> int:
    """Return how many answers the request holds; counted only if the sequence does not say."""
    count = getattr(request.messages, "assistant_count", None)
    if isinstance(count, int):
        return count
    return sum(1 for message in request.messages if isinstance(message, AssistantMessage))


def _with_ids(calls: Sequence[ToolCall], position: int) -> tuple[ToolCall, ...]:
    if len(calls) == 1:
        return (_with_id(calls[0], position, 0),)
    return tuple([_with_id(one, position, index) for index, one in enumerate(calls)])


def _with_id(one: ToolCall, position: int, index: int) -> ToolCall:
    return one if one.id else msgspec.structs.replace(one, id=f"call-{position}-{index}")


def _are_calls(said: object) -> TypeGuard[Sequence[ToolCall]]:
    if not isinstance(said, list | tuple) or not said:
        return False
    return all(isinstance(one, ToolCall) for one in cast("Sequence[object]", said))


def _is_error_class(said: object) -> TypeGuard[type[BaseException]]:
    return isinstance(said, type) and issubclass(said, BaseException)


def _is_fault(ready: _Ready) -> bool:
    return not (
        isinstance(ready, ModelReply) or (isinstance(ready, Pieces) and ready.error is None)
    )


def _fresh(error: BaseException | type[BaseException]) -> BaseException:
    """Return an exception of its own for each raise: sessions must not share a traceback."""
    if isinstance(error, type):
        return error()
    try:
        return copy.copy(error)
    except Exception:  # noqa: BLE001  # constructors of foreign exceptions may raise anything
        return error.with_traceback(None)
