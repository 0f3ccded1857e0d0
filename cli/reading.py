"""The commands that only look: sessions, show, log."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ..actors.inspection import Checkpoint, checkpoint_at
from ..stores.base import HeadQuery, SessionDamaged, Store, StoredSession
from ..stores.records import SessionStatus, decode_row
from ..supervisor.errors import UsageError
from .errors import DONE, NOT_DONE, ExitStatus
from .journal import entry_data, journal_line
from .listing import head_data, sessions_table
from .output import Output
from .owners import standing_of
from .stepping import tree_of
from .stored import Numbered, read_session, reading
from .terminal import plural
from .tree import draw_session


async def sessions(
    out: Output,
    where: str,
    *,
    now_ms: int,
    status: Sequence[SessionStatus],
    agent: str | None,
    limit: int,
) -> ExitStatus:
    """List sessions, newest first."""
    if limit < 1:
        raise UsageError(f"--limit {limit} must be at least 1")
    query = HeadQuery(status=frozenset(status) or None, agent=agent, limit=limit + 1)
    async with reading(where) as store:
        heads = await store.heads(query)
    shown = heads[:limit]
    standings = {head.session_id: standing_of(head, now_ms) for head in shown}
    if out.as_json:
        out.data([head_data(head, standings[head.session_id]) for head in shown])
        return DONE
    table = sessions_table(shown, now_ms, out.terminal, standings)
    out.text(table if shown else "no sessions")
    waiting = sum(each.unfinished for each in standings.values())
    if waiting:
        count = plural(waiting, "unfinished session")
        out.note(f"{count} that nobody drives; go on with: ukemi resume MODULE [ID ...]")
    if len(heads) > limit:
        out.note(f"only the newest {limit}; --limit shows more")
    return DONE


async def show(out: Output, where: str, session_id: str, checkpoint: int | None) -> ExitStatus:
    """Show a session as a tree, as it stands or as it was at a checkpoint.

    The status is 1 where a part of it could not be read.
    """
    if checkpoint is not None and checkpoint < 0:
        raise UsageError(f"--checkpoint {checkpoint} must not be negative")
    async with reading(where) as store:
        view = await read_session(store, session_id, checkpoint)
    if out.as_json and checkpoint is not None:
        out.data(checkpoint_data(checkpoint_at(session_id, view.entries, checkpoint)))
        return DONE if view.damaged is None else NOT_DONE
    tree = tree_of(view, at_checkpoint=checkpoint is not None)
    if out.as_json:
        out.data(msgspec.to_builtins(tree))
    else:
        out.text(draw_session(tree, out.terminal))
    return DONE if tree.damaged is None else NOT_DONE


def checkpoint_data(found: Checkpoint) -> dict[str, Any]:
    """Return the five-tuple as plain data; each message says whose it is."""
    data: dict[str, Any] = msgspec.to_builtins(found)
    kinds = (type(each).__name__.removesuffix("Message").lower() for each in found.messages)
    data["messages"] = [
        {"role": kind, **message} for kind, message in zip(kinds, data["messages"], strict=True)
    ]
    return data


async def log(out: Output, where: str, session_id: str) -> ExitStatus:
    """Print the entries of a session's journal in order.

    The status is 1 where a part of it could not be read.
    """
    async with reading(where) as store:
        stored, damaged = await _load(store, session_id)
    entries = [
        Numbered(row.seq, row.counter, entry)
        for row in stored.rows
        for entry in decode_row(row.body)
    ]
    if out.as_json:
        out.data([entry_data(each) for each in entries])
    else:
        for each in entries:
            out.text(journal_line(each, out.terminal))
    if damaged is not None:
        out.note(f"damaged: {damaged}")
    return DONE if damaged is None else NOT_DONE


async def _load(store: Store, session_id: str) -> tuple[StoredSession, str | None]:
    try:
        return await store.load(session_id), None
    except SessionDamaged as error:
        stored = await store.load(session_id, fallback=True)
        return stored, stored.lost or str(error)
