"""A session's journal as the steps a person thinks in. Pure.

The journal is in the order things were stored; here each call stands below the message that asked
for it, with its retries, its result and what came late.
"""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..actors.handover.dossier import doubts
from ..actors.inspection import fold
from ..actors.outcome import DoubtfulCall
from ..stores.base import Head
from ..stores.records import (
    Answered,
    CallState,
    Decided,
    Ended,
    Frozen,
    Intended,
    JournalEntry,
    Judged,
    Late,
    Noted,
    Opened,
    Pruned,
    Requested,
    Resulted,
    Retried,
    RolledBack,
    RollingBack,
    Said,
    Spent,
    StagedCheck,
    StagedResult,
    ToolCall,
    Undone,
    Usage,
)
from .journal import approval_words, decided_words
from .rollback_words import rollback_words
from .staged_words import staged_words
from .stored import StoredView
from .undone import undone_words


class Retry(Struct, frozen=True):
    """An attempt that failed: what it was taken for, from what, and what followed.

    ``directive`` is ``retry`` where another followed after ``wait_s``; ``detail`` says why not.
    """

    number: int
    error_class: str
    wait_s: float
    elapsed_s: float
    message: str
    directive: str = "retry"
    detail: str = ""
    retry_after: float | None = None
    evidence: tuple[str, ...] = ()


class CallStep(Struct, kw_only=True):
    """One call. ``state`` is ``open`` where it has no result yet, ``running`` where it began."""

    n: int
    index: int
    tool: str
    arguments: str
    problem: str | None = None
    state: CallState | Literal["open", "running"] = "open"
    checkpoint: int | None = None
    attempts: int = 0
    elapsed_s: float = 0.0
    error_class: str | None = None
    content: str = ""
    blob: str | None = None
    replayed: bool = False
    still_running: bool = False
    key: str | None = None
    late: str | None = None
    undone: str | None = None
    approval: str | None = None
    staged: str | None = None
    retries: list[Retry] = []
    sub_session: "SessionTree | None" = None


class UserStep(Struct, frozen=True, tag_field="step", tag="user"):
    """A message of the user."""

    n: int
    text: str


class NoteStep(Struct, frozen=True, tag_field="step", tag="note"):
    """Something the runtime told the model."""

    n: int
    text: str
    about: str


class PruneStep(Struct, frozen=True, tag_field="step", tag="prune"):
    """From here on the model sees less: what for, by whom it was summed up, and the summary."""

    n: int
    why: str
    by: str
    summary: str
    shortened: int = 0


class RollbackStep(Struct, frozen=True, tag_field="step", tag="rollback"):
    """The session was rolled back here, or could not be; the model sees what is left from here on."""

    n: int
    mode: str
    to: int | None
    state: str
    text: str


class ModelStep(Struct, tag_field="step", tag="model"):
    """A message of the model; ``answered`` is False where its attempts failed so far."""

    n: int
    text: str = ""
    finish: str = ""
    usage: Usage = Usage()
    calls: list[CallStep] = []
    retries: list[Retry] = []
    answered: bool = True


class DecisionStep(Struct, frozen=True, tag_field="step", tag="decision"):
    """A person's decision has reached the session; ``problem`` says why it changed nothing."""

    about: str
    text: str
    by: str
    at_ms: int
    problem: str


class EndStep(Struct, frozen=True, tag_field="step", tag="end"):
    """The session ended here; a later message reopened it if more steps follow.

    ``frozen`` is why nothing was undone that would have been.
    """

    status: str
    outcome: dict[str, Any]
    frozen: str | None = None


Step = UserStep | NoteStep | DecisionStep | PruneStep | RollbackStep | ModelStep | EndStep


class SessionTree(Struct, kw_only=True):
    """A session as a tree of steps, with its budget and where it stands.

    ``unfinished``: it runs, by its status, and nobody drives it. ``driven_by``: who does, in words.
    """

    session_id: str
    agent: str
    status: str
    checkpoint: int
    title: str
    created_at_ms: int
    updated_at_ms: int
    working_directory: str
    parent: str | None
    owner: str | None
    unfinished: bool = False
    driven_by: str | None = None
    damaged: str | None
    limits: dict[str, float]
    spent: dict[str, float]
    steps: list[Step]
    in_doubt: list[DoubtfulCall]
    outcome: dict[str, Any] | None
    sub_sessions: "list[SessionTree]"


def tree_of(view: StoredView, *, at_checkpoint: bool = False) -> SessionTree:
    """Return a session's tree; ``at_checkpoint``: as it was at the last of the entries given."""
    head, state = view.head, fold(view.head.session_id, view.entries)
    steps = steps_of(view.entries)
    children = {child.head.session_id: tree_of(child) for child in view.children}
    _put_below_calls(head, steps, children)
    opened = state.opened
    return SessionTree(
        session_id=head.session_id,
        agent=head.facts.agent or (opened.agent if opened else ""),
        status="running" if at_checkpoint else head.status,
        checkpoint=state.counter,
        title=head.facts.title,
        created_at_ms=head.facts.created_at_ms,
        updated_at_ms=head.facts.updated_at_ms,
        working_directory=opened.working_directory if opened else head.facts.working_directory,
        parent=head.facts.parent,
        owner=None if at_checkpoint else head.owner,
        unfinished=view.standing.unfinished,
        driven_by=view.standing.driven_by,
        damaged=view.damaged or head.damaged,
        limits=dict(opened.limits) if opened else {},
        spent=spent_of(state.spent),
        steps=steps,
        in_doubt=doubts(state),
        outcome=None if at_checkpoint else state.outcome,
        sub_sessions=list(children.values()),
    )


def _put_below_calls(head: Head, steps: Sequence[Step], children: "dict[str, SessionTree]") -> None:
    """Move each sub-session below the call it is named after."""
    for step in steps:
        for call in step.calls if isinstance(step, ModelStep) else ():
            name = f"{head.session_id}.{call.n}.{call.index}"
            call.sub_session = children.pop(name, None)


def spent_of(spent: Spent) -> dict[str, float]:
    """Return consumption by the names of the limits."""
    values: dict[str, float] = msgspec.structs.asdict(spent)
    return values


# ---------------------------------------------------------------- entries to steps


class _Builder:
    """Steps so far, and where to find calls and attempts again."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.calls: dict[tuple[int, int], CallStep] = {}
        self.waiting: dict[int, list[Retry]] = {}
        self.frozen: str | None = None
        self.rolling: RollingBack | None = None

    def add(self, entry: JournalEntry) -> None:
        match entry:
            case Said(n, text):
                self.steps.append(UserStep(n, text))
            case Noted(n, text, about):
                self.steps.append(NoteStep(n, text, about))
            case Pruned(n, _, _, summary, by, why, shortened):
                self.steps.append(PruneStep(n, why, by, summary, len(shortened)))
            case Answered():
                self._answered(entry)
            case RollingBack() | RolledBack():
                self._rolled(entry)
            case Decided():
                text = decided_words(entry)
                step = DecisionStep(entry.about, text, entry.by, entry.at_ms, entry.problem)
                self.steps.append(step)
            case Ended(status, outcome):
                self._give_up_waiting()
                self.steps.append(EndStep(status, outcome, self.frozen))
                self.frozen = None
            case Frozen(why):
                self.frozen = why
            case Retried(index=-1):
                self.waiting.setdefault(entry.n, []).append(_retry(entry))
            case Requested() | Judged():
                self._approval(entry)
            case Retried() | Intended() | Resulted() | Late() | Undone():
                self._of_call(entry)
            case StagedResult() | StagedCheck():
                self._staged(entry)
            case Opened():
                pass  # its facts are the tree's head
            case _:
                pass  # consumption that rides along; the tree's head has the sum

    def _rolled(self, entry: RollingBack | RolledBack) -> None:
        if isinstance(entry, RollingBack):
            self.rolling = entry
        elif self.rolling is not None:
            mode = "undo" if self.rolling.undoes else self.rolling.mode
            text = rollback_words(entry)
            step = RollbackStep(entry.n, mode, self.rolling.to, entry.state, text)
            self.steps.append(step)
            if entry.note:
                self.steps.append(NoteStep(entry.note_n, entry.note, "rollback"))

    def _answered(self, entry: Answered) -> None:
        calls = [_call(entry.n, index, call) for index, call in enumerate(entry.calls)]
        self.calls.update({(call.n, call.index): call for call in calls})
        # Attempts are numbered like the answer they hoped for; a note may have come between.
        retries = [each for attempts in self.waiting.values() for each in attempts]
        self.waiting.clear()
        self.steps.append(ModelStep(entry.n, entry.text, entry.finish, entry.usage, calls, retries))

    def _of_call(self, entry: Retried | Intended | Resulted | Late | Undone) -> None:
        call = self.calls.get((entry.n, entry.index))
        if call is None:
            return  # a history from elsewhere may have results nobody asked for
        match entry:
            case Retried():
                call.retries.append(_retry(entry))
            case Intended():
                call.key, call.attempts = entry.key, entry.attempt
                call.state = "running" if call.state == "open" else call.state
            case Undone():
                call.undone = undone_words(entry)
            case Late():
                call.late = f"{entry.state}: {entry.content}"
            case Resulted():
                _result(call, entry)

    def _approval(self, entry: Requested | Judged) -> None:
        call = self.calls.get((entry.n, entry.index))
        if call is not None:
            # The call says with what it was asked for, and the risk stays beside the answer.
            call.approval = (
                f"asked: {entry.risk or entry.category}"
                if isinstance(entry, Requested)
                else f"{call.approval}; {approval_words(entry).partition(' ')[2]}"
            )

    def _staged(self, entry: StagedResult | StagedCheck) -> None:
        call = self.calls.get((entry.n, entry.index))
        if call is not None:
            said = staged_words(entry)
            call.staged = said if isinstance(entry, StagedResult) else f"{call.staged}; {said}"

    def _give_up_waiting(self) -> None:
        """The session ended before the model answered: show the attempts all the same."""
        for n, retries in self.waiting.items():
            self.steps.append(ModelStep(n, retries=retries, answered=False))
        self.waiting.clear()

    def finish(self) -> list[Step]:
        self._give_up_waiting()
        return self.steps


def steps_of(entries: Sequence[JournalEntry]) -> list[Step]:
    """Return the steps a journal tells of, in order."""
    builder = _Builder()
    for entry in entries:
        builder.add(entry)
    return builder.finish()


def _call(n: int, index: int, call: ToolCall) -> CallStep:
    return CallStep(
        n=n, index=index, tool=call.name, arguments=call.arguments, problem=call.problem
    )


def _retry(entry: Retried) -> Retry:
    return Retry(
        entry.number,
        entry.error_class,
        entry.wait_s,
        entry.elapsed_s,
        entry.message,
        entry.directive,
        entry.detail,
        entry.retry_after,
        entry.evidence,
    )


def _result(call: CallStep, entry: Resulted) -> None:
    call.state = entry.state
    call.checkpoint = entry.counter
    call.attempts = entry.attempts
    call.elapsed_s = entry.elapsed_s
    call.error_class = entry.error_class
    call.content = entry.content
    call.blob = entry.blob
    call.replayed = entry.replayed
    call.still_running = entry.still_running
