"""A session's state as a fold over its journal; what it does next is a function of that, see `steps`."""

from collections.abc import Callable, Mapping
from typing import Any

from ..stores import records
from ..stores.records import JournalEntry
from . import fold_rollback, fold_steps, fold_turns
from .state_fields import StateFields
from .state_parts import (
    CONCLUDE,
    CORRECTED,
    DENIED,
    MODEL,
    NOTHING_RAN,
    POLICY,
    RAN,
    REJECTIONS,
    UNFINISHED,
    Earlier,
    Refused,
    Rolled,
    Wait,
)

__all__ = [
    "CONCLUDE",
    "CORRECTED",
    "DENIED",
    "FOLDS",
    "MODEL",
    "NOTHING_RAN",
    "POLICY",
    "RAN",
    "REJECTIONS",
    "UNFINISHED",
    "Earlier",
    "Refused",
    "Rolled",
    "SessionState",
    "Wait",
]

_Fold = Callable[[StateFields, Any], None]


def _turning(fold: _Fold) -> _Fold:
    def folded(state: StateFields, entry: Any) -> None:
        fold(state, entry)
        state.look_aside()

    return folded


_STEPS: Mapping[type[JournalEntry], _Fold] = {
    records.Resulted: fold_steps.resulted,
    records.Answered: fold_steps.answered,
    records.Intended: fold_steps.intended,
    records.Booked: fold_steps.booked,
    records.Retried: fold_steps.retried,
}

_TURNS: Mapping[type[JournalEntry], _Fold] = {
    records.Late: fold_steps.late,
    records.Opened: fold_turns.opened,
    records.Said: fold_turns.said,
    records.Noted: fold_turns.noted,
    records.Decided: fold_turns.decided,
    records.Ended: fold_turns.ended,
    records.Progressed: fold_turns.progressed,
    records.Restarted: fold_turns.restarted,
    records.Pruned: fold_turns.pruned,
    records.FellBack: fold_turns.fell_back,
    records.Parked: fold_turns.parked,
    records.Woken: fold_turns.woken,
    records.Unwinding: fold_turns.unwound,
    records.Undoing: fold_turns.unwound,
    records.Undone: fold_turns.unwound,
    records.Frozen: fold_turns.unwound,
    records.Allowed: fold_turns.allowed,
    records.Audited: fold_turns.audited,
    records.Assessed: fold_turns.assessed,
    records.Requested: fold_turns.requested,
    records.Judged: fold_turns.judged,
    records.StagedResult: fold_turns.staged,
    records.StagedCheck: fold_turns.staged,
    records.Probed: fold_turns.probed,
    records.RollingBack: fold_rollback.rolling_back,
    records.RolledBack: fold_rollback.rolled_back,
}

FOLDS: Mapping[type[JournalEntry], _Fold] = {
    **_STEPS,
    **{kind: _turning(fold) for kind, fold in _TURNS.items()},
}
"""How each kind of entry is folded in: found by its type, as each step asks several times."""


class SessionState(StateFields):
    """What the journal says, folded. Changed by `apply` alone."""

    __slots__ = ()

    def apply(self, entry: JournalEntry) -> None:
        """Fold one journal entry in."""
        FOLDS[type(entry)](self, entry)
