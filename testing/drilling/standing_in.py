"""What runs in the place of a tool's functions, and which tools must not run as they are."""

from collections.abc import Iterable, Mapping, Sized
from typing import Any

from msgspec import Struct

from ...actors.agent import Agent
from ...actors.tooling.tools import AnyTool
from ...supervisor.errors import UsageError
from ..effects import EffectStub
from .plain_stubs import Plain, answering, name_of, undo_of
from .stubs import OWN, Function, Own, Stub

UNDO, PROBE = "compensate", "probe"
ALL = "*"


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
        yield f"{tool.name}.{UNDO}", f"its compensation, {name_of(tool.marks.compensate)}, "


def bound_to_workspace(tool: AnyTool) -> bool:
    """Tell whether a tool is one of those that come with Ukemi, which write into the copy only, or hands
    its task to an agent, whose tools are looked at themselves."""
    module = getattr(tool.__wrapped__, "__module__", "") or ""
    inside = __name__.partition(".")[0]
    return module.startswith(f"{inside}.tools.") or module == f"{inside}.actors.agent"


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
        plain = Plain(stub, tool, counts=foreign is None and not read)
        counter, body = plain.stub, plain.body()
    undo_judged = True
    if not isinstance(own := stubs.get(f"{tool.name}.{UNDO}", OWN), Own):
        undo_judged = foreign is not None
        undo = undo_of(own, undo, counter if foreign is None else None)
    if not isinstance(own := stubs.get(f"{tool.name}.{PROBE}", OWN), Own):
        probe = answering(own, probe)
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
