"""What is kept of a session once it has ended: the conversation, and its last checkpoints exactly.

Given up, and freed: the full texts of large results and the bookkeeping of settled calls before
the checkpoints that are kept. The messages stay word for word; what is in doubt, and what may
still be undone, is kept whole, of every write that took effect that it did, and of every failed
attempt what policies decide by. The rows of a session that holds nothing of that kind stay as they
are, and only its old checkpoints are given up: what it had spent at each write is not worth writing
the whole journal once more.
"""

from collections.abc import Sequence
from itertools import chain

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
from .inspection import fold
from .ledger import CallId
from .state import SessionState

ROWS_MIN = 64
"""Sessions with fewer rows are left as they are: rewriting them would free nothing to speak of."""

PACKED_ROWS_MIN = 512
"""Sessions of as many rows are moved into segments: a long chain of rows is slow to read from a cold disk."""

PACK = 128
"""Old rows written as one."""

Journal = list[list[JournalEntry]]
"""The entries of each row."""


def oldest_kept(counter: int, checkpoints_kept: int | None) -> int:
    """Return the first checkpoint that is kept of a session that has ended at this one."""
    return 0 if checkpoints_kept is None else max(0, counter - checkpoints_kept + 1)


def retain(
    stored: StoredSession, checkpoints_kept: int | None, state: SessionState | None = None
) -> Rewrite | None:
    """Return the rewrite that applies the retention to an ended session, or None.

    ``state`` is what the stored rows add up to, where that is known already: adding them up once
    more is most of the work.
    """
    head = stored.head
    oldest = oldest_kept(head.counter, checkpoints_kept)
    if len(stored.rows) < ROWS_MIN or oldest <= max(1, head.oldest_counter):
        return None
    journal = [decode_row(row.body) for row in stored.rows]
    cut = next(i for i, row in enumerate(stored.rows) if row.counter >= oldest)
    unsettled, effects = _of_account(
        journal, state or fold(head.session_id, list(chain.from_iterable(journal)))
    )
    old = [
        [kept for each in row if (kept := _thinned(each, unsettled, effects)) is not None]
        for row in journal[:cut]
    ]
    return Rewrite(
        session_id=head.session_id,
        epoch=head.epoch,
        seq=head.seq,
        rows=(*_packed(stored.rows[:cut], old), *stored.rows[cut:]),
        oldest_counter=oldest,
        blobs=frozenset(_blobs([*old, *journal[cut:]])),
    )


def _packed(rows: Sequence[Row], thinned: Journal) -> list[Row]:
    """Write old rows as few, with what is kept of them; the last of each keeps its numbers."""
    packed: list[Row] = []
    for start in range(0, len(rows), PACK):
        last = rows[start : start + PACK][-1]
        entries = [entry for row in thinned[start : start + PACK] for entry in row]
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
        case Resulted() if entry.blob is not None and (entry.n, entry.index) not in unsettled:
            return msgspec.structs.replace(entry, blob=None)
        case _:
            return entry


def _of_account(journal: Journal, state: SessionState) -> tuple[set[CallId], set[CallId]]:
    """Return the calls of which all is kept, and those that took effect.

    All is kept of what was in doubt once, and of effects that may still be undone: they are of
    nothing yet that has completed.
    """
    unsettled = {
        (entry.n, entry.index)
        for row in journal
        for entry in row
        if type(entry) is Resulted and entry.state == "in_doubt"
    }
    effects = set(state.effects)
    unsettled |= {call for call in effects if call[0] >= state.unwound.settled_n}
    unsettled |= {(undo.step.n, undo.step.index) for undo in state.unwound.open}
    return unsettled, effects


def _blobs(journal: Journal) -> set[str]:
    return {
        entry.blob
        for row in journal
        for entry in row
        if isinstance(entry, Resulted | Late) and entry.blob is not None
    }
