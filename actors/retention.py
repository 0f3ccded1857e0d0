"""What is kept of a session once it has ended: the conversation, and its last checkpoints exactly.

Given up, and freed: the full texts of large results and the bookkeeping of settled calls before
the checkpoints that are kept. The messages stay word for word; what is in doubt, and what may
still be undone, is kept whole, of every write that took effect that it did, and of every failed
attempt what policies decide by.
"""

import msgspec

from ..stores.base import Rewrite, Row, StoredSession
from ..stores.records import (
    RECORD_VERSION,
    Booked,
    Intended,
    JournalEntry,
    Late,
    Probed,
    Resulted,
    Retried,
    decode_row,
    encode_row,
)
from .ledger import CallId
from .state import SessionState

ROWS_MIN = 64
"""Sessions with fewer rows are left as they are: rewriting them would free nothing to speak of."""

PACK = 128
"""Old rows written as one."""


def retain(stored: StoredSession, checkpoints_kept: int | None) -> Rewrite | None:
    """Return the rewrite that applies the retention to an ended session, or None."""
    head = stored.head
    if checkpoints_kept is None or len(stored.rows) < ROWS_MIN:
        return None
    oldest = head.counter - checkpoints_kept + 1
    if oldest <= max(1, head.oldest_counter):
        return None
    cut = next(i for i, row in enumerate(stored.rows) if row.counter >= oldest)
    old, kept = stored.rows[:cut], stored.rows[cut:]
    rows = [*_packed(old, *_of_account(stored)), *kept]
    return Rewrite(
        session_id=head.session_id,
        epoch=head.epoch,
        seq=head.seq,
        rows=tuple(rows),
        oldest_counter=oldest,
        blobs=frozenset(_blobs(rows)),
    )


def _packed(rows: list[Row], unsettled: set[CallId], effects: set[CallId]) -> list[Row]:
    """Write old rows as few, without what is given up; the last of each keeps its numbers."""
    packed: list[Row] = []
    for start in range(0, len(rows), PACK):
        group = rows[start : start + PACK]
        entries = [
            kept
            for row in group
            for entry in decode_row(row.body)
            if (kept := _thinned(entry, unsettled, effects)) is not None
        ]
        last = group[-1]
        packed.append(Row(last.seq, last.counter, RECORD_VERSION, encode_row(entries)))
    return packed


def _thinned(
    entry: JournalEntry, unsettled: set[CallId], effects: set[CallId]
) -> JournalEntry | None:
    match entry:
        case Booked() | Probed():
            return None
        case Retried():
            return msgspec.structs.replace(entry, message="", detail="")
        case Intended(n, index):
            return entry if (n, index) in unsettled or (n, index) in effects else None
        case Resulted() if (entry.n, entry.index) not in unsettled:
            return msgspec.structs.replace(entry, blob=None)
        case _:
            return entry


def _of_account(stored: StoredSession) -> tuple[set[CallId], set[CallId]]:
    """Return the calls of which all is kept, and those that took effect.

    All is kept of what was in doubt once, and of effects that may still be undone: they are of
    nothing yet that has completed.
    """
    state = SessionState(stored.head.session_id)
    unsettled: set[CallId] = set()
    for row in stored.rows:
        for entry in decode_row(row.body):
            state.apply(entry)
            if isinstance(entry, Resulted) and entry.state == "in_doubt":
                unsettled.add((entry.n, entry.index))
    effects = set(state.effects)
    unsettled |= {call for call in effects if call[0] >= state.unwound.settled_n}
    unsettled |= {(undo.step.n, undo.step.index) for undo in state.unwound.open}
    return unsettled, effects


def _blobs(rows: list[Row]) -> set[str]:
    return {
        entry.blob
        for row in rows
        for entry in decode_row(row.body)
        if isinstance(entry, Resulted | Late) and entry.blob is not None
    }
