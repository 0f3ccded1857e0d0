"""The agents of a run: their own, with tools and models watched."""

from collections.abc import Callable, Iterable, Mapping, Sized
from typing import Any, cast

from ...actors.agent import Agent
from ...actors.tooling.bodies import is_async
from ...actors.tooling.context import current_or_none
from ...actors.tooling.tools import AnyTool
from .bodies import watched
from .plain_stubs import shaped
from .record import BodyKind, Call, Change
from .standing_in import StandIn
from .stubs import Function
from .world import World


def agents_in(
    agents: Iterable[Agent],
    found: Mapping[str, StandIn],
    world: World,
    model_of: Callable[[Agent], Any],
) -> list[Agent]:
    """Return these agents with their tools and models watched in a world."""
    return [
        Agent(
            agent.name,
            model=model_of(agent),
            tools=[_watched(each, found[each.name], world) for each in agent.tools],
            instructions=agent.instructions,
            fallback=agent.fallback,
            progress=agent.progress,
            checks=agent.checks,
        )
        for agent in agents
    ]


def _watched(tool: AnyTool, found: StandIn, world: World) -> AnyTool:
    body, undo, probe = found.body, found.undo, found.probe
    if found.counter is not None:
        body = _counted(body, found.counter, tool.name, "call", world)
        undo = None if undo is None else _counted_companion(undo, found.counter, tool.name, world)
    return watched(tool, body, world, undo=undo, probe=probe)


def _counted_companion(undo: Any, counter: object, tool: str, world: World) -> Any:
    own = getattr(undo, "marks", None)
    if own is not None:
        each = cast(AnyTool, undo)
        return each.with_body(_counted(each.__wrapped__, counter, tool, "undo", world))
    return _counted(undo, counter, tool, "undo", world)


def _counted(body: Function, counter: object, tool: str, kind: BodyKind, world: World) -> Function:
    """Take down by how much a counter of the user's own has changed while a body ran."""

    def changed(before: int) -> None:
        context = current_or_none()
        if context is None:
            return
        call = Call(context.session_id, *context.call)
        by = effects_counted(counter) - before
        for _ in range(abs(by)):
            undone_too_often = by < 0 and world.standing(call) <= 0
            step = -2 if undone_too_often else -1 if by < 0 else 1
            world.seen.changes.append(Change(call, tool, kind, step))

    if is_async(body):

        async def in_loop(*args: Any, **given: Any) -> Any:
            before = effects_counted(counter)
            try:
                return await body(*args, **given)
            finally:
                changed(before)

        return shaped(in_loop, body)

    def in_thread(*args: Any, **given: Any) -> Any:
        before = effects_counted(counter)
        try:
            return body(*args, **given)
        finally:
            changed(before)

    return shaped(in_thread, body)


def effects_counted(counter: object) -> int:
    """Return how many effects an object of the user's own counts."""
    held: object = getattr(counter, "effects")  # noqa: B009 - any object that has it
    return held if isinstance(held, int) else len(cast(Sized, held))
