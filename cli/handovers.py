"""What waits for a person: the list of handovers, and one of them with its dossier."""

import shlex
from typing import Any

import msgspec
from msgspec import Struct, structs

from ..actors.handover.dossier import doubts, headline, questions
from ..actors.handover.markdown import markdown_of, questions_markdown
from ..actors.handover.options import options_for
from ..actors.inspection import entries_of, fold
from ..actors.outcome import DoubtfulCall, HandedOver, Option, outcome_from_data
from ..actors.resolving import OPTIONS as RESOLVE
from ..actors.state import SessionState
from ..stores.base import Head, HeadQuery, Posted, PostQuery, Store, StoreError
from ..stores.decisions import decode_decision
from ..stores.records import SessionStatus
from ..supervisor.errors import UsageError
from .answers import detail_words, status_words
from .errors import DONE, NOT_DONE, ExitStatus, NotDone
from .output import Output
from .stored import default_store, reading
from .terminal import Cell, Column, duration, one_line, plural, table

COLUMNS = (
    Column("ID"),
    Column("AGENT"),
    Column("REASON"),
    Column("SINCE", right=True),
    Column("OPTIONS"),
    Column("FAILED STEP", gives_way=True),
)


RESTING: frozenset[SessionStatus] = frozenset({"completed", "stopped", "parked"})
"""How sessions stand that may have left questions open, without being handed over."""


class Handover(Struct, frozen=True):
    """A session that waits for a person: what for, what can be said, what was said already.

    ``outcome`` is None where it was not handed over, and only ``questions`` are left. ``problem`` says
    why it could not be read.
    """

    head: Head
    outcome: HandedOver | None = None
    options: tuple[Option, ...] = ()
    questions: tuple[str, ...] = ()
    doubts: tuple[DoubtfulCall, ...] = ()
    decided: tuple[dict[str, Any], ...] = ()
    problem: str = ""

    @property
    def names(self) -> list[str]:
        """What `ukemi resolve` takes for it now; other options are commands of their own."""
        return [*dict.fromkeys(each.name for each in self.options if each.name in RESOLVE)]


async def handovers(out: Output, where: str, *, now_ms: int, limit: int) -> ExitStatus:
    """List the sessions that wait for a person, newest first; 1 where one could not be read."""
    if limit < 1:
        raise UsageError(f"--limit {limit} must be at least 1")
    async with reading(where) as store:
        heads = await _waiting(store, limit + 1)
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


async def _waiting(store: Store, limit: int) -> list[Head]:
    """Return what was handed over, and what rests otherwise and left questions open; newest first."""
    handed_over = HeadQuery(status=frozenset({"handed_over"}), limit=limit)
    left_open = HeadQuery(status=RESTING, left_open=True, limit=limit)
    heads = [*await store.heads(handed_over), *await store.heads(left_open)]
    heads.sort(key=lambda head: head.facts.created_at_ms, reverse=True)
    return heads[:limit]


async def dossier(out: Output, where: str, session_id: str) -> ExitStatus:
    """Print one handover whole: Markdown for people, or JSON.

    Raises:
        SessionUnknown: the store has no such session.
        NotDone: it waits for nobody, or it cannot be read.
    """
    async with reading(where) as store:
        found = _at(where, await _handover(store, await store.head(session_id)))
    if not found.outcome and not found.questions:
        status = status_words(found.head.status)
        raise NotDone(found.problem or f"session {session_id} is {status}: it waits for nobody")
    if out.as_json:
        kept = None if found.outcome is None else msgspec.to_builtins(found.outcome.dossier)
        out.data({**_row_data(found), "dossier": kept})
        return DONE
    out.text(_markdown(found).rstrip())
    for each in found.decided:
        said = f"{each['option']} about {each['about']}, by {each['by'] or 'somebody'}"
        out.note(f"decided and not applied yet: {said}", "yellow")
    return DONE


def _at(where: str, found: Handover) -> Handover:
    """Return a handover whose lines to type name the store, where it is not the usual one."""
    if where == default_store():
        return found
    at = f" --store {shlex.quote(where)}"
    options = tuple(structs.replace(each, command=each.command + at) for each in found.options)
    return structs.replace(found, options=options)


def _markdown(found: Handover) -> str:
    session_id, facts = found.head.session_id, found.head.facts
    if found.outcome is not None:
        return markdown_of(session_id, facts.agent, found.outcome, found.options, task=facts.title)
    status = status_words(found.head.status)
    return questions_markdown(session_id, facts.agent, status, found.questions, found.options)


async def _handover(store: Store, head: Head) -> Handover:
    if head.status == "running":
        return Handover(head)
    try:
        stored = await store.load(head.session_id)
        state = fold(head.session_id, entries_of(stored))
        posts = await store.posts(PostQuery(session_id=head.session_id))
    except StoreError as error:
        return Handover(head, problem=str(error))
    outcome = _outcome(state)
    if outcome is None and head.status == "handed_over":
        return Handover(head, problem="its outcome was stored by a version that knows more")
    return Handover(
        head,
        outcome,
        _options(state, outcome),
        tuple(questions(state)),
        tuple(doubts(state)),
        tuple(_decided(each) for each in posts),
    )


def _options(state: SessionState, outcome: HandedOver | None) -> tuple[Option, ...]:
    if outcome is None:
        return options_for(state, None)
    found = outcome.dossier
    return options_for(state, outcome.reason, step=found.failed_step, files=bool(found.files))


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
    if found.problem:
        what = Cell(one_line(found.problem), "red")
    elif found.outcome is None:
        what = Cell(one_line("; ".join(found.questions)))
    else:
        detail = detail_words(found.outcome.reason, headline(found.outcome))
        what = Cell(one_line(f"{found.outcome.dossier.failed_step}: {detail}"))
    options = "decided" if found.decided else " ".join(found.names) or "-"
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
    return {
        "session_id": found.head.session_id,
        "agent": facts.agent,
        "status": found.head.status,
        "title": facts.title,
        "reason": facts.reason,
        "detail": None if outcome is None else outcome.detail,
        "failed_step": None if outcome is None else outcome.dossier.failed_step,
        "since_ms": facts.updated_at_ms,
        "options": found.names,
        "advice": msgspec.to_builtins(found.options),
        "questions": list(found.questions),
        "in_doubt": msgspec.to_builtins(found.doubts),
        "decided": list(found.decided),
        "damaged": found.problem or None,
    }
