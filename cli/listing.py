"""The list of sessions as a table and as data. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..stores.base import Head
from ..stores.records import Spent
from .answers import status_colour, status_words
from .owners import Standing
from .steps import spent_of
from .terminal import Cell, Column, Terminal, amount, duration, one_line, table

COLUMNS = (
    Column("ID"),
    Column("AGENT"),
    Column("STATUS"),
    Column("REASON", optional=True),
    Column("CHECKPOINT", right=True),
    Column("STEPS", right=True, optional=True),
    Column("SPENT", optional=True),
    Column("AGE", right=True),
    Column("TITLE", gives_way=True),
)


NOWHERE = Standing()


def sessions_table(
    heads: Sequence[Head],
    now_ms: int,
    terminal: Terminal,
    standings: Mapping[str, Standing] | None = None,
) -> str:
    """Return the table; a damaged session says so in the place of its status and title.

    ``standings``, by session id: one that is unfinished says so, however it is stored.
    """
    stands = standings or {}
    rows = [_row(head, now_ms, stands.get(head.session_id, NOWHERE)) for head in heads]
    return table(COLUMNS, rows, terminal)


def _row(head: Head, now_ms: int, standing: Standing) -> list[Cell]:
    facts = head.facts
    status: str = "unfinished" if standing.unfinished else head.status
    status = "damaged" if head.damaged is not None else status
    age = duration((now_ms - facts.created_at_ms) / 1000) if facts.created_at_ms else ""
    title = one_line(head.damaged if head.damaged is not None else facts.title)
    return [
        Cell(head.session_id),
        Cell(facts.agent),
        Cell(status_words(status), status_colour(status)),
        Cell(facts.reason or ""),
        Cell(str(head.counter)),
        Cell(str(facts.spent.steps) if facts.spent != Spent() else ""),
        Cell(spent_words(facts.spent)),
        Cell(age),
        Cell(title),
    ]


def spent_words(spent: Spent) -> str:
    """Return consumption in short: seconds, tokens, dollars; nothing where it is not known yet."""
    if spent == Spent():
        return ""
    parts = [duration(spent.seconds), f"{amount(spent.tokens)} tok"]
    if spent.cost_usd:
        parts.append(f"${amount(spent.cost_usd)}")
    return ", ".join(parts)


def head_data(head: Head, standing: Standing) -> dict[str, Any]:
    """Return a head as plain data. What a running session spent is stored when it ends."""
    facts = head.facts
    return {
        "session_id": head.session_id,
        "agent": facts.agent,
        "status": head.status,
        "reason": facts.reason,
        "checkpoint": head.counter,
        "oldest_checkpoint": head.oldest_counter,
        "title": facts.title,
        "parent": facts.parent,
        "group": facts.group,
        "tenant": facts.tenant,
        "created_at_ms": facts.created_at_ms,
        "updated_at_ms": facts.updated_at_ms,
        "owner": head.owner,
        "lease_until_ms": head.lease_until_ms,
        "unfinished": standing.unfinished,
        "driven_by": standing.driven_by,
        "spent": spent_of(facts.spent),
        "damaged": head.damaged,
    }
