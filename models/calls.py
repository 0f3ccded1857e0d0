"""Tool calls as they arrive: which are whole, and by which id each goes back.

A call that is not whole is never mended: a guess about what was meant is worse than asking again.
It becomes a call with empty arguments and a ``problem``, which the session answers with an error.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from ..actors.model import Finish, ToolSchema
from ..stores.records import ToolCall

_NAME_LENGTH_MAX = 64
_LEGAL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_WORD = re.compile(r"[^A-Za-z0-9_-]")

_CUT: Mapping[Finish, str] = {
    "length": (
        "the answer was cut off at its limit. Nothing was run. Send a smaller piece:"
        " fewer calls in one answer, or a long text in several parts."
    ),
    "refused": (
        "the provider's filter stopped the answer. Nothing was run."
        " Go on without it, or report that it was refused."
    ),
}


class ArrivedCall(msgspec.Struct, frozen=True):
    """A call as the provider sent it; ``whole`` is False where its own end never came."""

    id: str
    name: str
    arguments: str
    whole: bool = True
    unsupported: str = ""


def read_calls(
    arrived: Sequence[ArrivedCall], finish: Finish, tools: Sequence[ToolSchema]
) -> tuple[ToolCall, ...]:
    """Judge the calls of one answer; ids are made unique within it."""
    schemas = {tool.name: tool for tool in tools}
    ids = unique_ids([call.id for call in arrived])
    return tuple(_read(call, id, finish, schemas) for call, id in zip(arrived, ids, strict=True))


def _read(
    call: ArrivedCall, id: str, finish: Finish, schemas: Mapping[str, ToolSchema]
) -> ToolCall:
    name = call.name if call.name in schemas else legal_name(call.name)
    problem = _problem(call, finish, schemas)
    if problem is not None:
        return ToolCall(id=id, name=name, problem=problem)
    return ToolCall(id=id, name=name, arguments=call.arguments.strip() or "{}")


def _problem(call: ArrivedCall, finish: Finish, schemas: Mapping[str, ToolSchema]) -> str | None:
    """Return why a call must be refused, and what to do; None where it is whole."""
    if finish in _CUT:
        return f"The call arrived incomplete: {_CUT[finish]}"
    if call.unsupported:
        return f"Calls of the type {call.unsupported!r} are not supported; call a tool by its name."
    if not call.whole:
        return "The call arrived incomplete: its end is missing. Nothing was run. Send it again."
    if call.name not in schemas and not _LEGAL_NAME.match(call.name):
        return f"There is no tool named {call.name[:_NAME_LENGTH_MAX]!r}. Nothing was run."
    if not call.arguments.strip():
        return _problem_of_empty(schemas.get(call.name))
    return _problem_of_json(call.arguments)


def _problem_of_empty(schema: ToolSchema | None) -> str | None:
    # A tool without required parameters may be called with nothing at all; some models do.
    required = list(schema.parameters.get("required") or ()) if schema is not None else []
    if not required:
        return None
    return (
        "The call arrived incomplete: it has no arguments, and"
        f" {', '.join(map(str, required))} must be given. Nothing was run. Send the whole call again."
    )


def _problem_of_json(text: str) -> str | None:
    try:
        # bytes: a lone surrogate is a fault to report, not to replace
        msgspec.json.decode(text.encode(), type=dict[str, object])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        why = "bad characters" if isinstance(error, UnicodeEncodeError) else str(error)
        return (
            "The call arrived incomplete or malformed: its arguments are not one JSON object"
            f" ({why}). Nothing was run. Send the whole call again."
        )
    return None


def legal_name(name: str) -> str:
    """Return a name that providers take back in a transcript."""
    return _WORD.sub("_", name)[:_NAME_LENGTH_MAX] or "unnamed"


def unique_ids(ids: Sequence[str]) -> list[str]:
    """Return the ids of one message, missing ones given and repeated ones changed."""
    taken = set(ids)
    used: set[str] = set()
    return [_claim(id or f"call_{index}", bool(id), taken, used) for index, id in enumerate(ids)]


def _claim(id: str, own: bool, taken: set[str], used: set[str]) -> str:
    """Return the id if it is still free, else a variant that no call of the message has."""
    fresh, number = id, 2
    while fresh in used or (fresh in taken and not (own and fresh == id)):
        fresh, number = f"{id}_{number}", number + 1
    used.add(fresh)
    return fresh


class WireIds:
    """Give calls the ids they have on the wire, and results the ids of their calls.

    Stored ids are hints: they may repeat, within a message or between messages, and come from a
    provider with other rules. Pairs are matched by position and id, and every id is made anew in
    the same way each time, so that a transcript's start never changes.

    Args:
        strict: ids must be unique in the whole transcript and of plain characters.
    """

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self._seen: dict[str, int] = {}  # id -> times asked for
        self._open: list[tuple[str, str]] = []

    def open(self, ids: Sequence[str]) -> list[str]:
        """Return the wire ids for the calls of one message."""
        wire = unique_ids([_WORD.sub("_", id) for id in ids] if self._strict else ids)
        if self._strict:
            wire = [self._unseen(id) for id in wire]
        self._open = list(zip(ids, wire, strict=True))
        return wire

    def close(self, id: str) -> str:
        """Return the wire id for the next result with this id."""
        for index, (stored, wire) in enumerate(self._open):
            if stored == id:
                del self._open[index]
                return wire
        return id

    def _unseen(self, id: str) -> str:
        fresh = id
        while fresh in self._seen:
            self._seen[id] += 1
            fresh = f"{id}_{self._seen[id]}"
        self._seen[fresh] = 1
        return fresh
