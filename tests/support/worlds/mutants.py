"""Builds that are broken on purpose: each replaces a function of the runtime by one that breaks a promise.

A mutant whose function is not there any more fails where it is applied; one that is never called is
found out by `Applied.hits`.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from ukemi import ErrorClass, Traits
from ukemi.actors import attempting, checkpoint, executing, secrets
from ukemi.actors.undo import compensating, plan
from ukemi.stores.base import Append, Done, Post


class Applied(Struct):
    """A mutant in force; ``hits`` counts how often what it breaks was used."""

    hits: int = 0


Mutant = Callable[[Any, Applied], Any]
"""Takes the real function, returns the broken one."""


def _intent_after_effect(real: Any, applied: Applied) -> Any:
    intend = attempting.Attempting.intend

    async def run(self: Any, call: Any, tries: Any, now: Any, ticket: Any) -> object:
        try:
            return await real(self, call, tries, now, ticket)
        finally:
            if call.tool.marks.effect == "write":
                applied.hits += 1
                await intend(self._attempting, call, tries)

    return run


def _no_intent_yet(real: Any, applied: Applied) -> Any:
    async def intend(self: Any, call: Any, tries: Any) -> None:
        pass

    return intend


def _acknowledged_before_commit(real: Any, applied: Applied) -> Any:
    async def serve(self: Any, batch: list[Any]) -> None:
        for each in batch:
            if isinstance(each.write, Append):
                applied.hits += 1
                each.done(Done(each.write.epoch, each.write.seq))
        written = await self._commit([each.write for each in batch])
        for each, result in zip(batch, written, strict=True):
            if not isinstance(each.write, Append):
                each.done(result)

    return serve


def _undone_in_order_of_effect(real: Any, applied: Applied) -> Any:
    def reversed_plan(effects: Any, doubts: Any, on_failure: Any) -> Any:
        found: object = real(effects, doubts, on_failure)
        if not isinstance(found, tuple):
            return found
        steps = cast("tuple[object, ...]", found)
        applied.hits += len(steps) > 1
        return steps[::-1]

    return reversed_plan


def _timeouts_are_repeated(real: Any, applied: Applied) -> Any:
    def decide(failure: Any, traits: Traits, *rest: Any) -> Any:
        if failure.error_class is ErrorClass.IN_DOUBT_TIMEOUT:
            applied.hits += 1
            traits = Traits(safe_to_retry=True)
        return real(failure, traits, *rest)

    return decide


def _decisions_are_not_stored(real: Any, applied: Applied) -> Any:
    async def commit(self: Any, write: Any) -> Any:
        if isinstance(write, Post):
            applied.hits += 1
            return Done()
        return await real(self, write)

    return commit


def _each_attempt_has_a_key(real: Any, applied: Applied) -> Any:
    async def run(self: Any, call: Any, tries: Any, now: Any, ticket: Any) -> object:
        if call.key is not None and tries.attempt > 1:
            applied.hits += 1
            call = now._call = replace(call, key=f"{call.key}-{tries.attempt}")
        return await real(self, call, tries, now, ticket)

    return run


def _no_budget(real: Any, applied: Applied) -> Any:
    def book(self: Any, *, again: bool) -> None:
        applied.hits += 1

    return book


def _compensated_again(real: Any, applied: Applied) -> Any:
    def may_repeat(self: Any, undo: Any, ready: Any) -> bool:
        applied.hits += 1
        return True

    return may_repeat


def _secrets_are_shown(real: Any, applied: Applied) -> Any:
    def show(self: Any, text: str) -> str:
        applied.hits += 1
        return text

    return show


MUTANTS: dict[str, tuple[tuple[object, str, Mutant], ...]] = {
    "intent_after_effect": (
        (executing.Executing, "_run", _intent_after_effect),
        (attempting.Attempting, "intend", _no_intent_yet),
    ),
    "acknowledged_before_commit": (
        (checkpoint.CheckpointActor, "_serve", _acknowledged_before_commit),
    ),
    "undone_in_order_of_effect": ((plan, "plan", _undone_in_order_of_effect),),
    "timeouts_are_repeated": ((executing, "decide", _timeouts_are_repeated),),
    "decisions_are_not_stored": (
        (checkpoint.CheckpointActor, "commit", _decisions_are_not_stored),
    ),
    "each_attempt_has_a_key": ((executing.Executing, "_run", _each_attempt_has_a_key),),
    "no_budget": ((attempting.Attempting, "book", _no_budget),),
    "compensated_again": ((compensating.Compensating, "_may_repeat", _compensated_again),),
    "secrets_are_shown": ((secrets.Mask, "__call__", _secrets_are_shown),),
}
"""What each mutant replaces, by its name."""


@contextmanager
def mutated(name: str) -> Generator[Applied]:
    """Break the runtime in this way for a block.

    Raises:
        AttributeError: what it replaces is not there any more.
        KeyError: there is no such mutant.
    """
    applied = Applied()
    real = [(where, what, getattr(where, what)) for where, what, _ in MUTANTS[name]]
    broken = [mutant(getattr(where, what), applied) for where, what, mutant in MUTANTS[name]]
    for (where, what, _), stand_in in zip(real, broken, strict=True):
        setattr(where, what, stand_in)
    try:
        yield applied
    finally:
        for where, what, function in real:
            setattr(where, what, function)
