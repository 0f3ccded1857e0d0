"""What unfinished sessions wait for, and the lines to type for them."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from ..actors.approvals.approvals import ApprovalRequest, listed
from ..actors.inspection import Inspection, entries_of, fold, inspection
from ..stores.base import Head, HeadQuery, Store
from ..supervisor.errors import UkemiError
from .approvals import answer_ways, waiting_in
from .stored import CHILDREN_MAX, DEPTH_MAX, at_store, reading
from .terminal import plural

ASKED_MAX = 10
"""Requests that are named one by one; above that, the command that lists them is."""

HeadsBelow = Callable[[str], Awaitable[Sequence[Head]]]
"""Returns the heads of a session's running sub-sessions."""


class Left(Struct, frozen=True):
    """An unfinished session as the store has it.

    ``asks``: the requests for approval that nobody has answered, its sub-sessions' too.
    """

    found: Inspection
    asks: tuple[ApprovalRequest, ...] = ()


async def left_in_store(where: str, ids: Sequence[str]) -> dict[str, Left]:
    """Return how the store has these sessions; one that cannot be read is left out.

    So are all those of a store that ended with its process.
    """
    found: dict[str, Left] = {}
    if not ids:
        return found
    with suppress(UkemiError):
        async with reading(where) as store:
            for session_id in ids:
                with suppress(UkemiError):
                    found[session_id] = await _left(store, session_id)
    return found


async def _left(store: Store, session_id: str) -> Left:
    async def below(parent: str) -> Sequence[Head]:
        query = HeadQuery(parent=parent, status=frozenset({"running"}), limit=CHILDREN_MAX)
        return await store.heads(query)

    stored = await store.load(session_id)
    found = inspection(stored.head, fold(session_id, entries_of(stored)))
    heads = [stored.head, *await heads_below(session_id, below)]
    waiting = [each for head in heads for each in await waiting_in(store, head)]
    return Left(found, tuple(each.request for each in waiting if not each.decided))


async def heads_below(session_id: str, below: HeadsBelow, depth: int = DEPTH_MAX) -> list[Head]:
    """Return the heads of all running sub-sessions, at every level."""
    found: list[Head] = []
    for head in await below(session_id) if depth else ():
        found += [head, *await heads_below(head.session_id, below, depth - 1)]
    return found


def requests_of(head: Head) -> list[ApprovalRequest]:
    """Return a session's open requests, answered or not."""
    facts = head.facts
    return [listed(head.session_id, facts.agent, facts.title, each) for each in facts.requests]


def ask_words(tool: str, arguments: str, risk: str, request: str, at: str = "") -> str:
    """Return a question for a person in one line, with both answers as they are typed."""
    said = f": {risk}" if risk else ""
    return f"may {tool}{arguments} run?{said} ({answer_ways(request, at)})"


def asked_lines(asks: Sequence[ApprovalRequest], where: str) -> list[str]:
    """Return a line for each request, or one that says where the others are listed."""
    at = at_store(where)
    lines = [
        ask_words(each.tool, each.arguments, each.risk, each.request, at)
        for each in asks[:ASKED_MAX]
    ]
    if len(asks) > ASKED_MAX:
        lines.append(f"{len(asks) - ASKED_MAX} more wait for approval: ukemi approvals{at}")
    return lines


def parked_lines(asking: int, waiting: int, module: str, where: str) -> list[str]:
    """Say which parked sessions were not taken up: those that ask people, and those that wait."""
    at = at_store(where)
    lines: list[str] = []
    if asking:
        verb = "waits" if asking == 1 else "wait"
        lines.append(f"{plural(asking, 'session')} {verb} for approval: ukemi approvals{at}")
    if waiting:
        verb, one = ("is", "it") if waiting == 1 else ("are", "one")
        said = f"{plural(waiting, 'session')} {verb} parked until a wait is over"
        lines.append(f"{said}; stay with {one}: ukemi resume {module} ID{at}")
    return lines
