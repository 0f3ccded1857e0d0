"""What people are asked before a call runs: the list of open requests, and their answers."""

import shlex
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ..actors.approvals.approvals import ApprovalRequest, listed, request_named
from ..stores.base import Head, HeadQuery, PostQuery, Store
from ..stores.decisions import Decide
from ..supervisor.errors import UsageError
from .errors import DONE, ExitStatus
from .output import Output
from .resolve import ResolveRequest, resolve
from .stored import at_store, reading
from .terminal import Cell, Column, duration, one_line, table

COLUMNS = (
    Column("REQUEST"),
    Column("AGENT"),
    Column("DANGER"),
    Column("EXPIRES", right=True),
    Column("CALL AND RISK", gives_way=True),
)


class Waiting(Struct, frozen=True):
    """An open request; ``decided``: an answer is stored that nobody has applied yet."""

    request: ApprovalRequest
    decided: bool = False


class Answer(Struct, frozen=True, kw_only=True):
    """What ``ukemi approve`` or ``ukemi deny`` was asked for."""

    request: str
    decision: Decide
    by: str
    store: str
    wait_s: float | None = None


async def approvals(out: Output, where: str, *, now_ms: int, limit: int) -> ExitStatus:
    """List what people are asked, the newest session first."""
    if limit < 1:
        raise UsageError(f"--limit {limit} must be at least 1")
    async with reading(where) as store:
        heads = await store.heads(HeadQuery(asking="any", limit=limit + 1))
        found = [each for head in heads[:limit] for each in await waiting_in(store, head)]
    if out.as_json:
        out.data([_data(each) for each in found])
    elif found:
        out.text(table(COLUMNS, [_row(each, now_ms) for each in found], out.terminal))
        at = at_store(where)
        ways = f"ukemi approve REQUEST [--args JSON]{at}, or ukemi deny REQUEST [--why TEXT]{at}"
        out.note(ways, "grey")
    else:
        out.text("nobody is asked for an approval")
    if len(heads) > limit:
        out.note(f"only the newest {limit} sessions; --limit shows more")
    return DONE


def answer_ways(request: str, at: str = "") -> str:
    """Return both answers to a request as they are typed; ``at`` names the store, if need be."""
    return f"ukemi approve {shlex.quote(request)}{at}, or ukemi deny {shlex.quote(request)}{at}"


async def answer(out: Output, given: Answer) -> ExitStatus:
    """Store an answer to a request and say who applies it; see `resolve`.

    Raises:
        AlreadyDecided: it was decided otherwise before.
        RequestClosed: it is not open (any more).
        UsageError: no request is named, and several are open.
    """
    session_id, call, number = request_named(given.request)
    said = msgspec.structs.replace(given.decision, call=call, number=number)
    return await resolve(
        out,
        ResolveRequest(
            session_id=session_id, said=said, by=given.by, store=given.store, wait_s=given.wait_s
        ),
    )


async def waiting_in(store: Store, head: Head) -> Sequence[Waiting]:
    """Return a session's open requests, and whether each has an answer that waits to be applied."""
    about = {
        each.post.about.rpartition("#")[0]
        for each in await store.posts(PostQuery(session_id=head.session_id))
    }
    facts = head.facts
    return [
        Waiting(
            listed(head.session_id, facts.agent, facts.title, each),
            decided=f"approval {each.n}.{each.index}.{each.number}" in about,
        )
        for each in facts.requests
    ]


def _row(waiting: Waiting, now_ms: int) -> list[Cell]:
    each = waiting.request
    if waiting.decided:
        expires = Cell("decided", "grey")
    elif each.expires_at_ms is None:
        expires = Cell("never")
    elif each.expires_at_ms <= now_ms:
        expires = Cell("expired", "red")
    else:
        expires = Cell(duration((each.expires_at_ms - now_ms) / 1000))
    risk = f": {each.risk}" if each.risk else ""
    what = one_line(f"{each.tool}{each.arguments}{risk}")
    return [Cell(each.request), Cell(each.agent), Cell(each.category), expires, Cell(what)]


def _data(waiting: Waiting) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(waiting.request)
    return {**data, "decided": waiting.decided}
