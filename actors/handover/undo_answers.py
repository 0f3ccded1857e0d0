"""A person's word on compensations that failed or are in doubt, and on what was frozen. Pure."""

from collections.abc import Callable

from ...stores.decisions import Resolve
from ...stores.records import JournalEntry, Noted, Undone, UndoState, UndoStep, Unwinding
from ...supervisor.errors import UsageError
from ..ledger import PERSON, CallId
from ..state import UNFINISHED, SessionState
from ..tooling.marks import Marks
from ..undo.plan import Freeze, plan_of
from .wording import encodable

COMPENSATE = "compensate"
"""Run the compensation again; without a call, of a session that was frozen: undo it all."""
COMPENSATED = "compensated"
"""It is undone: a person has seen it, or has done it."""
ABANDON = "abandon"
"""Leave the effect as it is."""


def is_about_undo(state: SessionState, said: Resolve) -> bool:
    """Tell whether a decision is about the undoing of an effect, and not about a call in doubt."""
    if said.option in (COMPENSATE, COMPENSATED):
        return True
    if said.option != ABANDON or not state.unwound.open:
        return False
    doubts = state.in_doubt
    return not doubts if said.call is None else said.call not in doubts


def undo_meant(state: SessionState, said: Resolve) -> CallId | None:
    """Return the call whose compensation a person means; None: all that is frozen.

    Raises:
        UsageError: there is no such compensation, or several and none is named.
    """
    waiting = {(undo.step.n, undo.step.index): undo.step.tool for undo in state.unwound.open}
    named = ", ".join(f"{n}.{index} {tool}" for (n, index), tool in waiting.items())
    if said.call is not None:
        if said.call in waiting:
            return said.call
        n, index = said.call
        raise UsageError(
            f"no compensation of call {n}.{index} waits for a person; waiting: {named or 'none'}"
        )
    if len(waiting) == 1:
        return next(iter(waiting))
    if waiting:
        raise UsageError(f"several compensations wait ({named}); name one with call=(n, index)")
    if said.option == COMPENSATE and _is_frozen(state):
        return None
    raise UsageError(f"session {state.session_id} has no compensation that waits for a person")


def _is_frozen(state: SessionState) -> bool:
    return state.unwound.frozen is not None and state.status not in UNFINISHED


def undo_answered(
    state: SessionState, marks: Callable[[str], Marks | None], said: Resolve, n: int
) -> list[JournalEntry]:
    """Return what a person's word adds to the journal.

    Args:
        marks: as for `plan_of`.
        n: the next message number.

    Raises:
        UsageError: as `undo_meant`; or what is frozen cannot be undone yet.
    """
    call = undo_meant(state, said)
    if said.option == COMPENSATE:
        # A session that has ended ends so again afterwards; one that runs goes on.
        outcome = None if state.status in UNFINISHED else state.outcome
        steps = (state.unwound.steps[call].step,) if call is not None else _thawed(state, marks)
        return [Unwinding(steps, outcome, PERSON)]
    assert call is not None  # only what is frozen has none
    then: UndoState = "compensated" if said.option == COMPENSATED else "abandoned"
    text = encodable(said.result or "")
    return [
        Undone(*call, then, text, by=PERSON),
        Noted(n, _told(state, call, then, text), f"resolved {call[0]}.{call[1]}"),
    ]


def _thawed(state: SessionState, marks: Callable[[str], Marks | None]) -> tuple[UndoStep, ...]:
    found = plan_of(state, marks, thaw=True)
    if isinstance(found, Freeze):
        raise UsageError(f"{found.why}; resolve that first")
    if not found:
        raise UsageError(f"session {state.session_id} has nothing left to undo")
    return found


def _told(state: SessionState, call: CallId, then: UndoState, text: str) -> str:
    name = f"Call {call[0]}.{call[1]} {state.unwound.steps[call].step.tool}"
    more = f": {text}" if text else "."
    if then == "compensated":
        return f"{name} is undone, a person says{more} It is not in effect any more."
    return f"{name} is not undone, a person has decided{more} It stays in effect."
