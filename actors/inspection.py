"""Looking at a session without changing it: where it stands, and any checkpoint exactly."""

import msgspec
from msgspec import Struct

from ..stores.base import CheckpointUnknown, Head, Row, SessionDamaged, StoredSession
from ..stores.records import (
    CallState,
    JournalEntry,
    Late,
    Resulted,
    SessionStatus,
    Spent,
    decode_row,
)
from .approvals.approvals import ApprovalState, request_name
from .effects import EffectStands
from .handover.dossier import doubts, questions
from .model import Message
from .outcome import DoubtfulCall, EffectEnd, Outcome, UndoneVerdict, outcome_from_data
from .state import UNFINISHED, SessionState
from .undo.plan import ends_of, verdict_on


class LedgerFact(Struct, frozen=True, kw_only=True):
    """How one write stands: ``running`` has its intent and no result yet. See `handle.effects`.

    ``by`` says who found out, as in `EffectRecord`; ``again``: a person has it run once more.
    """

    n: int
    index: int
    tool: str
    state: EffectStands
    attempts: int
    key: str | None = None
    by: str = ""
    again: bool = False


class ApprovalFact(Struct, frozen=True, kw_only=True):
    """A call that a person was asked about, until it has its result.

    ``state``: ``open``; ``approved``: granted and not used yet; ``used``: it is being run; ``denied``
    or ``expired``. ``changed`` are the arguments under which it may run, where a person changed them.
    """

    request: str
    n: int
    index: int
    tool: str
    arguments: str
    state: ApprovalState
    risk: str = ""
    expires_at_ms: int | None = None
    by: str = ""
    changed: str | None = None


class Inspection(Struct, frozen=True, kw_only=True):
    """Facts about a session: where it stands, what is unresolved, what is waited for.

    ``compensations`` are the effects that were to be undone, and how each stands; ``undone`` says how
    much of what the session did is undone, ``frozen`` why nothing is. ``effects`` are the writes in the
    ledger, ``approvals`` the calls that people were asked about and that have no result yet.
    ``staged_rejected`` counts the staged changes that a check has rejected. ``policy`` is the file of the
    policy it was started under, its whole path; empty where that came from none.
    """

    session_id: str
    agent: str
    status: SessionStatus
    checkpoint: int
    in_doubt: tuple[DoubtfulCall, ...]
    questions: tuple[str, ...]
    spent: Spent
    outcome: Outcome | None
    owner: str | None = None
    compensations: tuple[EffectEnd, ...] = ()
    undone: UndoneVerdict = "nothing to undo"
    frozen: str | None = None
    effects: tuple[LedgerFact, ...] = ()
    approvals: tuple[ApprovalFact, ...] = ()
    staged_rejected: int = 0
    policy: str = ""


class ToolRecord(Struct, frozen=True, kw_only=True):
    """One call that has a result, as the ledger has it."""

    n: int
    index: int
    tool: str
    arguments: str
    content: str
    state: CallState
    counter: int
    attempts: int
    error_class: str | None = None
    blob: str | None = None
    value_type: str | None = None
    late: str | None = None
    replayed: bool = False


class Checkpoint(Struct, frozen=True, kw_only=True):
    """The five-tuple: everything a session is, at one counter."""

    session_id: str
    messages: tuple[Message, ...]
    working_directory: str
    tool_history: tuple[ToolRecord, ...]
    checkpoint_counter: int


def entries_of(stored: StoredSession) -> list[JournalEntry]:
    """Return the entries of a loaded session in order.

    Raises:
        SessionDamaged: a row's bytes are whole, but not what this version can hold.
    """
    entries: list[JournalEntry] = []
    row: Row | None = None
    try:
        for row in stored.rows:
            entries += decode_row(row.body)
    except msgspec.MsgspecError as error:
        assert row is not None  # one of them could not be read
        raise SessionDamaged(
            f"session {stored.head.session_id}, row {row.seq} (checkpoint {row.counter}) is not of "
            f"this form: {error}; it is left untouched"
        ) from error
    return entries


def fold(session_id: str, entries: list[JournalEntry]) -> SessionState:
    """Return the state a journal leads to."""
    state = SessionState(session_id)
    apply = state.apply
    for entry in entries:
        apply(entry)
    return state


def inspection(head: Head, state: SessionState, spent: Spent | None = None) -> Inspection:
    """Return the facts about a session."""
    outcome = outcome_from_data(state.outcome) if state.outcome is not None else None
    unresolved = tuple(doubts(state))
    frozen = state.unwound.frozen if state.status not in UNFINISHED else None
    ends = ends_of(state, {})
    return Inspection(
        session_id=head.session_id,
        agent=head.facts.agent,
        status="running" if state.rolling is not None else state.status,
        checkpoint=state.counter,
        in_doubt=unresolved,
        questions=tuple(questions(state)),
        spent=spent or state.spent,
        outcome=outcome,
        owner=head.owner,
        compensations=tuple(each for each in ends if each.standing != "kept"),
        undone=verdict_on([each for each in ends if each.n >= state.unwound.settled_n]),
        frozen=None if frozen is None else frozen.why,
        effects=tuple(ledger_facts(state)),
        approvals=tuple(approval_facts(state)),
        staged_rejected=state.staging.rejected,
        policy=state.opened.policy if state.opened is not None else "",
    )


def approval_facts(state: SessionState) -> list[ApprovalFact]:
    """Return the calls that people were asked about and that have no result yet, in order."""
    return [
        ApprovalFact(
            request=request_name(state.session_id, call, known.asked.number),
            n=call[0],
            index=call[1],
            tool=known.asked.tool,
            arguments=known.asked.arguments,
            state=known.state,
            risk=known.asked.risk,
            expires_at_ms=known.asked.expires_at_ms,
            by=known.by,
            changed=known.arguments,
        )
        for call, known in sorted(state.approvals.calls.items())
    ]


def ledger_facts(state: SessionState) -> list[LedgerFact]:
    """Return the writes that took effect, as that became known, and then those unsettled."""
    done = [
        LedgerFact(
            n=n,
            index=index,
            tool=each.tool,
            state=each.state,
            attempts=each.attempts,
            key=each.key,
            by=each.by,
        )
        for (n, index), each in state.effects.items()
    ]
    left = [
        LedgerFact(
            n=n,
            index=index,
            tool=each.tool,
            state="in_doubt" if each.in_doubt else "running",
            attempts=each.attempts,
            key=each.key,
            again=each.again is not None,
        )
        for (n, index), each in sorted(state.ledger.open.items())
    ]
    return [*done, *left]


def checkpoint_at(session_id: str, entries: list[JournalEntry], counter: int) -> Checkpoint:
    """Return the checkpoint of this counter, exactly as it was.

    Raises:
        CheckpointUnknown: the journal has no such counter.
    """
    state = SessionState(session_id)
    history: list[ToolRecord] = []
    for entry in entries:
        if isinstance(entry, Resulted):
            if state.counter == counter:
                break  # the next checkpoint; before the first there is what was asked for
            asked = state.conversation.asked(entry.n, entry.index)
            if asked is not None:
                history.append(_record(asked.name, asked.arguments, entry))
        elif isinstance(entry, Late):
            history = [_with_late(record, entry) for record in history]
        state.apply(entry)
    if state.counter != counter:
        raise CheckpointUnknown(
            f"session {session_id} has no checkpoint {counter}; its last is {state.counter}"
        )
    opened = state.opened
    return Checkpoint(
        session_id=session_id,
        messages=tuple(state.conversation.so_far()),
        working_directory=opened.working_directory if opened else "",
        tool_history=tuple(history),
        checkpoint_counter=counter,
    )


def _record(tool: str, arguments: str, entry: Resulted) -> ToolRecord:
    return ToolRecord(
        n=entry.n,
        index=entry.index,
        tool=tool,
        arguments=arguments,
        content=entry.content,
        state=entry.state,
        counter=entry.counter,
        attempts=entry.attempts,
        error_class=entry.error_class,
        blob=entry.blob,
        value_type=entry.value_type,
        replayed=entry.replayed,
    )


def _with_late(record: ToolRecord, late: Late) -> ToolRecord:
    if (record.n, record.index) != (late.n, late.index):
        return record
    return msgspec.structs.replace(record, late=f"{late.state}: {late.content}")
