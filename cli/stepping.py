"""A session's journal, which is in the order things were stored, as steps. Pure."""

from collections.abc import Sequence

from ..actors.handover.dossier import doubts
from ..actors.inspection import fold
from ..stores.base import Head
from ..stores.records import (
    Answered,
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
    StagedCheck,
    StagedResult,
    ToolCall,
    Undone,
)
from .journal import approval_words, decided_words
from .rollback_words import rollback_words
from .staged_words import staged_words
from .steps import (
    CallStep,
    DecisionStep,
    EndStep,
    ModelStep,
    NoteStep,
    PruneStep,
    Retry,
    RollbackStep,
    SessionTree,
    Step,
    UserStep,
    spent_of,
)
from .stored import StoredView
from .undone import undone_words


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
                said = f": {entry.content}" if entry.content else ""
                call.late, call.settled = f"{entry.state}{said}", entry.state
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
