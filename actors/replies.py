"""What a model client hands back, checked before anything of it is believed or stored. Pure."""

import math
from collections.abc import Iterable
from typing import TypeGuard, get_args

import msgspec

from ..stores.records import ToolCall, Usage
from ..supervisor.errors import ToolBug
from .handover.wording import encodable, encodable_call
from .model import Finish, ModelReply
from .text import exact, is_hostile

FINISHES = frozenset(get_args(Finish))
_WHOLE = FINISHES - {"length"}
_INFINITE = math.inf
TOKENS_MAX = 2**53
"""Far beyond any provider, and still exact in every store."""

CUT_AT_LIMIT = (
    "the answer was cut off at the output limit, so the call may be incomplete; "
    "send a smaller piece"
)


def checked(reply: object, model: str) -> ModelReply:
    """Return what a model answered in a form that can be stored.

    Calls of an answer that was cut at the limit are marked to be refused, whoever made them.

    Raises:
        ToolBug: it is no answer; the message says what was expected.
    """
    if type(reply) is ModelReply and _is_plain(reply):
        return reply
    if not isinstance(reply, ModelReply):
        kind = type(reply).__name__
        raise ToolBug(f"model {model} returned a {kind}; complete() must return a ModelReply")
    _check(isinstance(reply.text, str), model, "text", reply.text, "a str")  # pyright: ignore[reportUnnecessaryIsInstance]
    named = isinstance(reply.finish, str) and reply.finish in FINISHES  # pyright: ignore[reportUnnecessaryIsInstance]
    _check(named, model, "finish", reply.finish, f"one of {sorted(FINISHES)}")
    _check(isinstance(reply.raw, bytes | None), model, "raw", reply.raw, "bytes or None")  # pyright: ignore[reportUnnecessaryIsInstance]
    _check_usage(reply.usage, model)
    _check(isinstance(reply.calls, Iterable), model, "calls", reply.calls, "ToolCalls")  # pyright: ignore[reportUnnecessaryIsInstance]
    calls = tuple(_call(call, reply.finish, model) for call in reply.calls)
    _check(isinstance(reply.raw_format, str), model, "raw_format", reply.raw_format, "a str")  # pyright: ignore[reportUnnecessaryIsInstance]
    return msgspec.structs.replace(
        reply,
        text=encodable(reply.text),
        calls=calls,
        finish=exact(reply.finish),
        raw=None if reply.raw is None else bytes(reply.raw),
        raw_format=encodable(reply.raw_format),
    )


def _is_plain(reply: ModelReply) -> bool:
    """Tell, quickly, that nothing of it needs a second look; most answers are like that."""
    if not (
        type(reply.text) is type(reply.finish) is type(reply.raw_format) is str
        and reply.finish in _WHOLE
        and (reply.raw is None or type(reply.raw) is bytes)
        and type(reply.usage) is Usage
        and type(reply.calls) is tuple
        and reply.raw_format.isprintable()
    ):
        return False
    usage = reply.usage
    taken, given = usage.input_tokens, usage.output_tokens
    cached, cost = usage.cached_tokens, usage.cost_usd
    if not (
        type(taken) is type(given) is type(cached) is int
        # All bits of the three at once: the sign of one, or one that is too large, shows.
        and 0 <= taken | given | cached < TOKENS_MAX
        and type(cost) is float
        and 0.0 <= cost < _INFINITE
    ):
        return False
    # One look at all of it: what is hostile is so by itself, whatever stands beside it.
    text = reply.text
    for call in reply.calls:
        if type(call) is not ToolCall or call.problem is not None:
            return False
        name, arguments, wire_id = call.name, call.arguments, call.id
        if not (type(name) is type(arguments) is type(wire_id) is str):
            return False
        text = f"{text}{name}{wire_id}{arguments}"
    return not is_hostile(text)


def is_usage(value: object) -> TypeGuard[Usage]:
    """Tell whether this can be booked and stored as what a request has consumed."""
    try:
        _check_usage(value, "")
    except ToolBug:
        return False
    return True


def _call(call: ToolCall, finish: Finish, model: str) -> ToolCall:
    _check(isinstance(call, ToolCall), model, "calls", call, "ToolCalls")  # pyright: ignore[reportUnnecessaryIsInstance]
    for name in ("id", "name", "arguments"):
        value = getattr(call, name)
        _check(isinstance(value, str), model, f"a call's {name}", value, "a str")
    problem = call.problem
    _check(isinstance(problem, str | None), model, "a call's problem", problem, "a str or None")  # pyright: ignore[reportUnnecessaryIsInstance]
    kept = encodable_call(call)
    problem = None if kept.problem is None else encodable(kept.problem)
    if finish == "length" and problem is None:
        problem = CUT_AT_LIMIT
    return ToolCall(kept.id, kept.name, kept.arguments, problem)


def _check_usage(usage: object, model: str) -> None:
    if not isinstance(usage, Usage):
        raise _unfit(model, "usage", usage, "a Usage")
    for name in ("input_tokens", "output_tokens", "cached_tokens"):
        value = getattr(usage, name)
        good = type(value) is int and 0 <= value <= TOKENS_MAX
        _check(good, model, f"usage.{name}", value, "a whole number, zero or more")
    cost = usage.cost_usd
    good = (
        0 <= cost <= TOKENS_MAX
        if type(cost) is int
        else type(cost) is float and 0.0 <= cost < _INFINITE
    )
    _check(good, model, "usage.cost_usd", cost, "a number, zero or more")


def _check(good: bool, model: str, what: str, value: object, expected: str) -> None:
    if not good:
        raise _unfit(model, what, value, expected)


def _unfit(model: str, what: str, value: object, expected: str) -> ToolBug:
    return ToolBug(f"model {model} returned {what}={repr(value)[:80]}; it must be {expected}")
