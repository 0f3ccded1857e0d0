"""What waits for a person: the list of handovers, and one of them with its dossier."""

from typing import Any

import msgspec
from msgspec import Struct

from ..actors.decisions import options_of
from ..actors.dossier_markdown import markdown_of
from ..actors.inspection import entries_of, fold
from ..actors.outcome import HandedOver, outcome_from_data
from ..actors.state import SessionState
from ..stores.base import Head, HeadQuery, Posted, PostQuery, Store, StoreError
from ..stores.decisions import decode_decision
from ..supervisor.errors import UsageError
from .answers import detail_words, status_words
from .errors import DONE, NOT_DONE, ExitStatus, NotDone
from .output import Output
from .stored import reading
from .terminal import Cell, Column, duration, one_line, plural, table

COLUMNS = (
    Column("ID"),
    Column("AGENT"),
    Column("REASON"),
    Column("SINCE", right=True),
    Column("OPTIONS"),
    Column("FAILED STEP", gives_way=True),
)


class Handover(Struct, frozen=True):
    """A session that waits for a person: what for, what can be said, what was said already.

    ``problem`` says why it could not be read.
    """

    head: Head
    outcome: HandedOver | None = None
    options: tuple[str, ...] = ()
    decided: tuple[dict[str, Any], ...] = ()
    problem: str = ""


async def handovers(out: Output, where: str, *, now_ms: int, limit: int) -> ExitStatus:
    """List the sessions that wait for a person, newest first; 1 where one could not be read."""
    if limit < 1:
        raise UsageError(f"--limit {limit} must be at least 1")
    query = HeadQuery(status=frozenset({"handed_over"}), limit=limit + 1)
    async with reading(where) as store:
        heads = await store.heads(query)
        found = [await _handover(store, head) for head in heads[:limit]]
    if out.as_json:
        out.data([_row_data(each) for each in found])
    else:
        rows = [_row(each, now_ms) for each in found]
        out.text(table(COLUMNS, rows, out.terminal) if found else "nothing waits for a person")
    if len(heads) > limit:
        out.note(f"only the newest {limit}; --limit shows more")
    damaged = [each for each in found if each.problem]
    if damaged:
        out.note(f"{plural(len(damaged), 'session')} could not be read", "red")
    return NOT_DONE if damaged else DONE


async def dossier(out: Output, where: str, session_id: str) -> ExitStatus:
    """Print one handover whole: Markdown for people, or JSON.

    Raises:
        SessionUnknown: the store has no such session.
        NotDone: it waits for nobody, or it cannot be read.
    """
    async with reading(where) as store:
        found = await _handover(store, await store.head(session_id))
    if found.outcome is None:
        status = status_words(found.head.status)
        raise NotDone(found.problem or f"session {session_id} is {status}: it waits for nobody")
    if out.as_json:
        dossier = msgspec.to_builtins(found.outcome.dossier)
        out.data({**_row_data(found), "dossier": dossier})
        return DONE
    commands = [f"ukemi resolve {session_id} {option}" for option in found.options]
    agent = found.head.facts.agent
    out.text(markdown_of(session_id, agent, found.outcome, commands).rstrip())
    for each in found.decided:
        said = f"{each['option']} about {each['about']}, by {each['by'] or 'somebody'}"
        out.note(f"decided and not applied yet: {said}", "yellow")
    return DONE


async def _handover(store: Store, head: Head) -> Handover:
    if head.status != "handed_over":
        return Handover(head)
    try:
        stored = await store.load(head.session_id)
        state = fold(head.session_id, entries_of(stored))
        posts = await store.posts(PostQuery(session_id=head.session_id))
    except StoreError as error:
        return Handover(head, problem=str(error))
    outcome = _outcome(state)
    if outcome is None:
        return Handover(head, problem="its outcome was stored by a version that knows more")
    return Handover(head, outcome, options_of(state), tuple(_decided(each) for each in posts))


def _outcome(state: SessionState) -> HandedOver | None:
    try:
        outcome = outcome_from_data(state.outcome or {})
    except msgspec.ValidationError:
        return None
    return outcome if isinstance(outcome, HandedOver) else None


def _decided(posted: Posted) -> dict[str, Any]:
    """Return a decision that waits to be applied, as plain data."""
    post = posted.post
    try:
        option: str | None = decode_decision(post.body).option
    except msgspec.DecodeError:
        option = None
    return {"about": post.about, "option": option, "by": post.by, "at_ms": post.at_ms}


def _row(found: Handover, now_ms: int) -> list[Cell]:
    facts = found.head.facts
    since = duration((now_ms - facts.updated_at_ms) / 1000) if facts.updated_at_ms else ""
    if found.outcome is None:
        what = Cell(one_line(found.problem), "red")
    else:
        detail = detail_words(found.outcome.reason, found.outcome.detail)
        what = Cell(one_line(f"{found.outcome.dossier.failed_step}: {detail}"))
    options = "decided" if found.decided else " ".join(found.options) or "-"
    return [
        Cell(found.head.session_id),
        Cell(facts.agent),
        Cell(facts.reason or ""),
        Cell(since),
        Cell(options),
        what,
    ]


def _row_data(found: Handover) -> dict[str, Any]:
    """Return a handover as plain data; ``options`` are those of `ukemi resolve`."""
    facts, outcome = found.head.facts, found.outcome
    doubts = outcome.dossier.in_doubt if outcome is not None else ()
    return {
        "session_id": found.head.session_id,
        "agent": facts.agent,
        "title": facts.title,
        "reason": facts.reason,
        "detail": None if outcome is None else outcome.detail,
        "failed_step": None if outcome is None else outcome.dossier.failed_step,
        "since_ms": facts.updated_at_ms,
        "options": list(found.options),
        "advice": [] if outcome is None else list(outcome.dossier.options),
        "in_doubt": msgspec.to_builtins(doubts),
        "decided": list(found.decided),
        "damaged": found.problem or None,
    }
