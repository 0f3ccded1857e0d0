"""What a load returns of stored rows, some of which may be damaged or missing. Pure."""

from collections.abc import Iterable

from .base import CheckpointUnknown, Head, Row, StoredSession
from .encoding import StoredRow, row_crc
from .evolution import Conversions
from .rules import damaged


def damage_of(row: StoredRow | None) -> str | None:
    """Say what is wrong with a row, or None."""
    if row is None:
        return "the last row is missing"
    if row.intact:
        return None
    return f"checkpoint {row.counter} (row {row.seq}) cannot be read"


def assemble(
    head: Head,
    stored: Iterable[StoredRow],
    conversions: Conversions,
    *,
    fallback: bool = False,
    upto: int | None = None,
    broken: str | None = None,
) -> StoredSession:
    """Make a loaded session of stored rows, oldest first; see ``Store.load``.

    ``broken`` says why ``stored`` stops early where the store knows. Rows behind the checkpoint
    asked for need not be intact: an earlier checkpoint loads although a later one is damaged.
    """
    session_id = head.session_id
    if upto is not None and not head.oldest_counter <= upto <= head.counter:
        raise _not_kept(head, upto)
    good, damage = _intact_prefix(head, stored, broken)
    if upto is not None:
        cut = next((i for i, row in enumerate(good) if row.counter >= upto), None)
        if cut is not None:
            if good[cut].counter != upto:
                raise _not_kept(head, upto)
            good, damage = good[: cut + 1], None
    if damage is not None and not (fallback and good):
        raise damaged(session_id, damage)
    current, upgrade = conversions.version, conversions.upgrade
    rows = [
        Row(row.seq, row.counter, current, row.body)
        if row.version == current
        else upgrade(session_id, row.row())
        for row in good
    ]
    return StoredSession(head=head, rows=rows, lost=damage)


def _intact_prefix(
    head: Head, rows: Iterable[StoredRow], broken: str | None
) -> tuple[list[StoredRow], str | None]:
    good: list[StoredRow] = []
    for row in rows:
        # Seldom, and each row is looked at: what is wrong is only asked where something is.
        if row.crc != row_crc(row.seq, row.counter, row.version, row.body):
            return good, damage_of(row)
        good.append(row)
    last = good[-1].seq if good else 0
    if broken is None and last != head.seq:
        broken = f"rows {last + 1} to {head.seq} (up to checkpoint {head.counter}) are missing"
    elif broken is None and not good:
        broken = head.damaged or "it has no rows"  # a head that cannot be read leads to none
    elif broken is None and good[-1].counter != head.counter:
        broken = f"the head says checkpoint {head.counter}, the last row {good[-1].counter}"
    return good, broken


def _not_kept(head: Head, upto: int) -> CheckpointUnknown:
    return CheckpointUnknown(
        f"session {head.session_id} has no checkpoint {upto}: kept are {head.oldest_counter}"
        f" to {head.counter}"
        + (" (earlier ones were pruned)" if upto < head.oldest_counter else "")
    )
