"""Folds in that a session is rolled back, and that this is taken back."""

from ..stores.records import RolledBack, RollingBack, UndoStep
from ..supervisor.repetition import Trail
from .model import NoteMessage, UserMessage
from .nothing import NO_LIST
from .state_fields import StateFields
from .state_parts import POLICY, Earlier, Rolled


def rolling_back(state: StateFields, entry: RollingBack) -> None:
    state.count(entry.n)
    state.rolling = entry


def rolled_back(state: StateFields, entry: RolledBack) -> None:
    began, state.rolling = state.rolling, None
    spoken, state.spoken = state.spoken, NO_LIST
    if entry.note_n:
        state.count(entry.note_n)
    if began is None:
        return  # a history from elsewhere: it ends what never began
    if entry.state != "done" and began.by == POLICY:
        state.restarts += 1  # what did not help once is not tried for ever
    if entry.state == "done":
        _done_back(state, began, entry, spoken)
    if entry.outcome is not None and not spoken:
        state.outcome = entry.outcome
        state.status = entry.outcome["outcome"]
        state.waits.clear()
        state.ledger.ended()


def _done_back(
    state: StateFields, began: RollingBack, entry: RolledBack, spoken: list[tuple[int, str]]
) -> None:
    earlier: Earlier | None = None
    undone = state.rolled if began.undoes else None
    if undone is not None:
        _taken_back(state, undone)
    elif began.mode in ("full", "context"):
        earlier = Earlier(state.conversation.copy(), state.status, state.outcome)
        _went_back(state, began, entry.counter, spoken)
    _files_back(state, entry)
    if entry.note:
        state.conversation.say(NoteMessage(entry.note), entry.note_n)
    state.rolled = None if began.undoes or began.mode == "prune" else Rolled(began, entry, earlier)


def _went_back(
    state: StateFields, began: RollingBack, counter: int, spoken: list[tuple[int, str]]
) -> None:
    by_policy = began.by == POLICY
    state.conversation.rewind(counter, keep_said=by_policy)
    _fresh_trail(state, counter)
    if by_policy:
        state.restarts += 1
        return
    for n, text in spoken:
        state.conversation.say(UserMessage(text), n)


def _taken_back(state: StateFields, undone: Rolled) -> None:
    """A rollback is taken back: what it had replaced is there again."""
    calls = undone.ended.undone
    state.unwound.came_again(calls)
    for call in calls:
        if call in state.effects:
            state.effects[call].state = "succeeded"
    if undone.earlier is not None:
        state.conversation = undone.earlier.conversation
        state.status, state.outcome = undone.earlier.status, undone.earlier.outcome
        _fresh_trail(state, state.conversation.last_mark)


def _files_back(state: StateFields, entry: RolledBack) -> None:
    known = {call: state.effects[call] for call in entry.undone if call in state.effects}
    state.unwound.went_back(
        UndoStep(*call, effect.tool, "rollback") for call, effect in known.items()
    )
    for effect in known.values():
        effect.state = "rolled_back"


def _fresh_trail(state: StateFields, counter: int) -> None:
    state.corrections.clear()
    state.waits.clear()
    state.trail = Trail(counter)
    state.prunes, state.fallback, state.concluding, state.trouble = 0, None, False, None
    state.task_counter = min(state.task_counter, counter)
