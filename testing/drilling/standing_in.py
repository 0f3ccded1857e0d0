"""What runs in the place of a tool's functions, and which tools must not run as they are."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sized
from enum import Enum
from typing import Any, Final, cast

from msgspec import Struct

from ...actors.agent import Agent
from ...actors.tooling.bodies import is_async
from ...actors.tooling.context import current_or_none
from ...actors.tooling.tools import AnyTool
from ...supervisor.errors import UsageError
from ..effects import EffectStub
from .bodies import watched
from .record import BodyKind, Call, Change
from .world import World

Function = Callable[..., Any]

UNDO, PROBE = "compensate", "probe"
ALL = "*"


class Own(Enum):
    """Says that a function may run as it is; `OWN` is its one value."""

    OWN = "own"


OWN: Final = Own.OWN
"""In the place of a stub: the tool's own function runs, for what it talks to is a stand-in already."""


class Ok(Struct, frozen=True):
    """A stub that answers the same each time."""

    value: object


Stub = Own | Ok | EffectStub | Callable[..., Any]


class StandIn(Struct, frozen=True):
    """What runs for a tool. None where the tool has no such function.

    ``counter``: an object of the user's own that counts effects. ``counts``: its stub cannot tell whether
    a repeat took effect, so that was not tried. ``undo_judged``: False where a stub of the compensation
    takes back whatever was counted.
    """

    body: Function
    undo: Any = None
    probe: Any = None
    counter: object = None
    counts: bool = True
    undo_judged: bool = True


def stand_ins(agents: Iterable[Agent], stubs: Mapping[str, Stub]) -> dict[str, StandIn]:
    """Return what runs for each tool of these agents, by its name.

    Raises:
        UsageError: a tool writes outside and has no stub, or a stub is for nothing.
    """
    every = list(agents)
    tools = {each.name: each for agent in every for each in agent.tools}
    _check_names(tools, stubs)
    missing = [
        f"{stub}   ({about}of {_owners(each.name, every)})"
        for each in tools.values()
        for stub, about in _unstubbed(each, stubs)
    ]
    if missing:
        raise UsageError(
            "the drill runs every call many times, and kills it half-way; these write outside of the "
            "workspace and have no stub:\n  "
            + "\n  ".join(missing)
            + "\nGive each a stub that counts what takes effect: NAME=MODULE:STUB, an ukemi.testing.EffectStub. "
            "NAME=own runs its own function: right for one, and for a compensation, that talks to an "
            "EffectStub in the place of its client. NAME=MODULE:FUNCTION and NAME=ok:JSON tell less: what "
            "is not counted is not checked. Nothing was run."
        )
    return {name: _stand_in(each, stubs) for name, each in tools.items()}


def _check_names(tools: Mapping[str, AnyTool], stubs: Mapping[str, Stub]) -> None:
    for name in stubs:
        tool, _, part = name.partition(".")
        known = name == ALL or tool in tools
        if not known:
            raise UsageError(
                f"stub {name!r}: there is no tool {tool!r}; there are: {', '.join(tools) or 'none'}"
            )
        if part and part not in (UNDO, PROBE):
            raise UsageError(f"stub {name!r}: write {tool}, {tool}.{UNDO} or {tool}.{PROBE}")
        if part and getattr(tools[tool].marks, part) is None:
            raise UsageError(f"stub {name!r}: tool {tool!r} has no {part}")
        if name == ALL and stubs[name] is not OWN:
            raise UsageError(f"stub {ALL!r} can only be own; give each tool a stub of its own")


def _owners(tool: str, agents: Iterable[Agent]) -> str:
    """Say whose tool it is: all agents of a module are looked at, also those the task never comes to."""
    names = [each.name for each in agents if any(its.name == tool for its in each.tools)]
    return f"{'agent' if len(names) == 1 else 'agents'} {', '.join(names)}"


def _unstubbed(tool: AnyTool, stubs: Mapping[str, Stub]) -> Iterable[tuple[str, str]]:
    """Yield the stubs that are missing, and what each would stand for."""
    if ALL in stubs or tool.marks.effect == "read" or bound_to_workspace(tool):
        return
    if tool.name not in stubs:
        yield tool.name, ""
    if tool.marks.compensate is not None and f"{tool.name}.{UNDO}" not in stubs:
        yield f"{tool.name}.{UNDO}", f"its compensation, {_name(tool.marks.compensate)}, "


def bound_to_workspace(tool: AnyTool) -> bool:
    """Tell whether a tool is one of those that come with Ukemi, which write into the copy only, or hands
    its task to an agent, whose tools are looked at themselves."""
    module = getattr(tool.__wrapped__, "__module__", "") or ""
    inside = __name__.partition(".")[0]
    return module.startswith(f"{inside}.tools.") or module == f"{inside}.actors.agent"


def _name(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _stand_in(tool: AnyTool, stubs: Mapping[str, Stub]) -> StandIn:
    stub = stubs.get(tool.name, OWN)
    read = tool.marks.effect == "read"
    undo, probe = tool.marks.compensate, tool.marks.probe
    counter: EffectStub | None = stub if isinstance(stub, EffectStub) else None
    body, foreign, counts = tool.__wrapped__, None, True
    if counter is not None:
        body = _body_of(counter, tool)
    elif not isinstance(stub, Own):
        foreign = _foreign_counter(stub)
        counts = foreign is not None or not tool.marks.safe_to_retry
        plain = _Plain(stub, tool, counts=foreign is None and not read)
        counter, body = plain.stub, plain.body()
    undo_judged = True
    if not isinstance(own := stubs.get(f"{tool.name}.{UNDO}", OWN), Own):
        undo_judged = foreign is not None
        undo = _undo_of(own, undo, counter if foreign is None else None)
    if not isinstance(own := stubs.get(f"{tool.name}.{PROBE}", OWN), Own):
        probe = _answering(own, probe)
    return StandIn(body, undo, probe, foreign, counts, undo_judged)


def _body_of(stub: EffectStub, tool: AnyTool) -> Function:
    """Return a stub as the body of a tool, in the tool's own way to run."""
    read = tool.marks.effect == "read"
    if tool.is_async:

        async def asked(**given: Any) -> Any:
            return stub.tell(**given) if read else await stub(**given)

        return asked
    return stub.tell if read else stub.do


def _foreign_counter(stub: object) -> object | None:
    """Return the object of the user's own that counts effects: the stub, or that whose method it is."""
    for each in (stub, getattr(stub, "__self__", None)):
        if each is not None and isinstance(getattr(each, "effects", None), int | Sized):
            return each
    return None


class _Plain:
    """A plain function as a stub: each call that it answers is one effect.

    The other side is taken to honour keys. Of a tool that is safe to retry it cannot be told whether a
    repeat did anything, so a repeat counts for none.
    """

    def __init__(self, stub: Stub, tool: AnyTool, *, counts: bool) -> None:
        self.stub = EffectStub(name=tool.name, once_per=("key",))
        self._function: Function = (
            _always(stub.value) if isinstance(stub, Ok) else cast(Function, stub)
        )
        self._tool = tool
        self._counts = counts

    def body(self) -> Function:
        if is_async(self._function):

            async def in_loop(**given: Any) -> Any:
                known = self._begin(given)
                if known is not None:
                    return known.answer
                return self._end(given, await _called(self._function, given))

            return in_loop

        def in_thread(**given: Any) -> Any:
            known = self._begin(given)
            return (
                known.answer
                if known is not None
                else self._end(given, _called(self._function, given))
            )

        async def in_turn(**given: Any) -> Any:
            return in_thread(**given)

        return in_turn if self._tool.is_async else in_thread

    def _begin(self, given: Mapping[str, Any]) -> Any:
        return self.stub.arrive(self._named(given), counts=self._counts)

    def _end(self, given: Mapping[str, Any], answer: object) -> object:
        self.stub.leave(self._named(given), answer, counts=self._counts)
        return answer

    def _named(self, given: Mapping[str, Any]) -> dict[str, Any]:
        context = current_or_none()
        if self._tool.marks.safe_to_retry and context is not None:
            return {**given, "key": f"{context.session_id} {context.call}"}
        return dict(given)


def _always(value: object) -> Function:
    def answer() -> object:
        return value

    return answer


def _called(function: Function, given: Mapping[str, Any]) -> Any:
    """Call a function with what it names of these arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return function(**given)
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return function(**given)
    names = {each.name for each in parameters}
    return function(**{name: value for name, value in given.items() if name in names})


def _undo_of(stub: Stub, own: Function | None, counter: EffectStub | None) -> Function:
    """Return a stub of a compensation, which takes back what the stub of its tool counts."""
    answer = _answering(stub, own)

    if is_async(answer):

        async def in_loop(**given: Any) -> Any:
            result = await answer(**given)
            if counter is not None:
                counter.cancel()
            return result

        wrapper: Function = in_loop
    else:

        def in_thread(**given: Any) -> Any:
            result = answer(**given)
            if counter is not None:
                counter.cancel()
            return result

        wrapper = in_thread
    return _shaped(wrapper, own)


def _answering(stub: Stub, own: Function | None) -> Function:
    function = _always(stub.value) if isinstance(stub, Ok) else cast(Function, stub)
    if is_async(function):

        async def in_loop(**given: Any) -> Any:
            return await _called(function, given)

        return _shaped(in_loop, own)

    def in_thread(**given: Any) -> Any:
        return _called(function, given)

    return _shaped(in_thread, own)


def _shaped(wrapper: Function, own: Function | None) -> Function:
    """Give a function the signature of the one that it stands for, so that it is given the same."""
    if own is not None:
        wrapper.__signature__ = inspect.signature(own)  # type: ignore[attr-defined]
        wrapper.__name__ = _name(own)
    return wrapper


# ---------------------------------------------------------------- in a run


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

        return _shaped(in_loop, body)

    def in_thread(*args: Any, **given: Any) -> Any:
        before = effects_counted(counter)
        try:
            return body(*args, **given)
        finally:
            changed(before)

    return _shaped(in_thread, body)


def effects_counted(counter: object) -> int:
    """Return how many effects an object of the user's own counts."""
    held: object = getattr(counter, "effects")  # noqa: B009 - any object that has it
    return held if isinstance(held, int) else len(cast(Sized, held))
