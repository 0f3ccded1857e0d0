"""What a store may accept and what a load returns, decided from plain data. Pure.

Every store keeps a ``Place`` per session in its own form and asks here, so that all stores refuse
the same writes for the same reasons.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct, structs

from ..supervisor.errors import UsageError
from .base import (
    AlreadyDecided,
    Append,
    BadRecord,
    CheckpointUnknown,
    Claim,
    Conflict,
    Create,
    Facts,
    Fenced,
    Forget,
    Head,
    HeadQuery,
    Pack,
    Post,
    RecordTooNew,
    Rewrite,
    Row,
    SessionDamaged,
    SessionOwned,
    StoredSession,
    StoreError,
)
from .encoding import StoredRow, row_crc
from .evolution import Conversions
from .records import SessionStatus, Spent

BODY_BYTES_MAX = 512 * 1024 * 1024
"""Largest row body a store takes."""

COUNTER_MAX = 2**53
"""Largest counter; every reader, of any language, holds it exactly."""


class Place(Struct, kw_only=True):
    """Where a session stands, as far as deciding about a write needs it."""

    epoch: int
    seq: int
    counter: int
    status: SessionStatus
    owner: str | None
    oldest_counter: int = 0
    damaged: str | None = None


# ---------------------------------------------------------------- writes


def refuse_create(write: Create) -> StoreError | None:
    """Say why a session cannot be created from this, or None."""
    try:
        encodable = bool(write.session_id and write.owner)
        write.session_id.encode()
        write.owner.encode()
    except (UnicodeEncodeError, AttributeError):
        encodable = False
    if not encodable:
        return BadRecord("session id and owner must be non-empty text that encodes as UTF-8")
    return _refuse_body(write.session_id, write.body)


def refuse_append(place: Place, write: Append) -> StoreError | None:
    """Say why a row must not be added, or None."""
    session_id = write.session_id
    if place.damaged is not None:
        return _damaged(session_id, place.damaged)
    if write.epoch != place.epoch:
        return _fenced(session_id, place, write.epoch)
    if place.status != "running":
        return Fenced(f"session {session_id} is {place.status}: claim it before writing to it")
    if write.seq != place.seq + 1:
        return Conflict(
            f"session {session_id}: row {write.seq} does not follow the stored row {place.seq}"
        )
    if not place.counter <= write.counter <= COUNTER_MAX:
        return BadRecord(
            f"session {session_id}: counter {write.counter} is below the stored {place.counter}"
            if write.counter < place.counter
            else f"session {session_id}: counter {write.counter} is above {COUNTER_MAX}"
        )
    body = write.body
    if type(body) is bytes and len(body) <= BODY_BYTES_MAX:
        return None
    return _refuse_body(session_id, body)


def refuse_post(place: Place, write: Post, earlier: Post | None) -> StoreError | None:
    """Say why a decision must not be posted, or None.

    ``earlier`` is what was posted about the same question before; the same again is accepted.
    """
    if place.damaged is not None:
        return _damaged(write.session_id, place.damaged)
    if earlier is not None and earlier != write:
        return AlreadyDecided(
            f"session {write.session_id}: {write.about} was decided by {earlier.by or 'somebody'}",
            about=earlier.about,
            by=earlier.by,
            at_ms=earlier.at_ms,
            body=earlier.body,
        )
    if not write.about:
        return BadRecord(f"session {write.session_id}: a decision must say what it is about")
    return _refuse_body(write.session_id, write.body)


def refuse_taking(write: Append, waiting: int) -> StoreError | None:
    """Say why a row must not take its posts, or None; ``waiting`` of them are there to be taken."""
    if waiting == len(set(write.taken)) == len(write.taken):
        return None
    return Conflict(
        f"session {write.session_id}: of the decisions {', '.join(write.taken)} only {waiting}"
        " wait to be taken"
    )


def refuse_claim(place: Place, write: Claim, lease_until_ms: int | None) -> StoreError | None:
    """Say why a session must not be taken over, or None.

    ``lease_until_ms`` is the end of the present owner's lease, None where it has none.
    """
    if place.damaged is not None:
        return _damaged(write.session_id, place.damaged)
    if place.owner is None or place.owner == write.owner or place.owner in write.dead:
        return None
    if lease_until_ms is None or lease_until_ms <= write.now_ms:
        return None
    left_s = (lease_until_ms - write.now_ms) / 1000
    return SessionOwned(
        f"session {write.session_id} is owned by {place.owner}, whose lease lasts another"
        f" {left_s:.1f} s"
    )


def refuse_pack(place: Place, write: Pack) -> StoreError | None:
    """Say why rows must not be packed, or None."""
    return None if place.damaged is None else _damaged(write.session_id, place.damaged)


def refuse_forget(place: Place, write: Forget | Rewrite) -> StoreError | None:
    """Say why old checkpoints must not be given up, or None."""
    session_id = write.session_id
    if place.damaged is not None:
        return _damaged(session_id, place.damaged)
    if write.epoch != place.epoch:
        return _fenced(session_id, place, write.epoch)
    if write.seq != place.seq:
        return Conflict(
            f"session {session_id}: rewritten from row {write.seq}, but row {place.seq} is stored"
        )
    if not place.oldest_counter <= write.oldest_counter <= place.counter:
        return BadRecord(
            f"session {session_id}: oldest counter {write.oldest_counter} is outside"
            f" {place.oldest_counter} to {place.counter}"
        )
    return None


def refuse_rewrite(place: Place, write: Rewrite, version: int) -> StoreError | None:
    """Say why a journal must not be replaced, or None. ``version`` is the newest known."""
    refusal = refuse_forget(place, write)
    if refusal is not None:
        return refusal
    session_id = write.session_id
    newest = max((row.version for row in write.rows), default=0)
    if newest > version:
        return RecordTooNew(f"session {session_id}: rewritten rows are of version {newest}")
    return _refuse_rows(place, write)


def _refuse_rows(place: Place, write: Rewrite) -> StoreError | None:
    rows = write.rows
    ascending = all(a.seq < b.seq and a.counter <= b.counter for a, b in pairwise(rows))
    if not rows or not ascending or rows[0].seq < 1 or rows[0].counter < 0:
        return BadRecord(f"session {write.session_id}: rewritten rows are not in order")
    if (rows[-1].seq, rows[-1].counter) != (place.seq, place.counter):
        return BadRecord(
            f"session {write.session_id}: rewritten rows end with row {rows[-1].seq}, counter"
            f" {rows[-1].counter}, not with the stored {place.seq}, {place.counter}"
        )
    bad = (_refuse_body(write.session_id, row.body) for row in rows)
    return next((refusal for refusal in bad if refusal is not None), None)


def _refuse_body(session_id: str, body: object) -> StoreError | None:
    if not isinstance(body, bytes):
        return BadRecord(f"session {session_id}: a row's body is bytes, not {type(body).__name__}")
    if len(body) > BODY_BYTES_MAX:
        return BadRecord(
            f"session {session_id}: a row of {len(body)} bytes is above {BODY_BYTES_MAX}"
        )
    return None


def _fenced(session_id: str, place: Place, epoch: int) -> Fenced:
    owner = place.owner or "nobody"
    return Fenced(
        f"session {session_id} was taken over: epoch {place.epoch} of {owner} is stored,"
        f" the write is of epoch {epoch}"
    )


def _damaged(session_id: str, damage: str) -> SessionDamaged:
    return SessionDamaged(f"session {session_id} is damaged and left untouched: {damage}")


# ---------------------------------------------------------------- loads


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
        raise _damaged(session_id, damage)
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


# ---------------------------------------------------------------- what groups and tenants consumed

Share = tuple[int, str]
"""Whose consumption it is: 0 and a group, or 1 and a tenant."""


def share_of(group: str | None, tenant: str | None) -> Share:
    """Return whose consumption is asked for.

    Raises:
        UsageError: not just one of both is named.
    """
    if group is not None and tenant is None:
        return 0, group
    if tenant is not None and group is None:
        return 1, tenant
    raise UsageError(f"give one of group={group!r} and tenant={tenant!r}")


def shares(facts: Facts) -> list[Share]:
    """Return whose budgets a session shares."""
    return [
        (kind, name) for kind, name in enumerate((facts.group, facts.tenant)) if name is not None
    ]


class Sums:
    """What several sessions have consumed; sums of durations and costs may be off by rounding."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[float] | None = None) -> None:
        self.values = list(values or [0] * len(Spent.__struct_fields__))

    def add(self, spent: Spent, sign: Literal[1, -1] = 1) -> None:
        """Add what one session consumed, or take it off."""
        for at, value in enumerate(structs.astuple(spent)):
            self.values[at] += sign * value

    def spent(self) -> Spent:
        """Return the sums; to nine places, so that nothing is not a little less than nothing."""
        return Spent(*(round(each, 9) + 0 for each in self.values))  # type: ignore[arg-type]


# ---------------------------------------------------------------- lists


def asking(facts: Facts) -> int:
    """Return 0 where nothing is asked, 1 where a person is, 2 where somebody is still to be told."""
    if not facts.requests:
        return 0
    return 1 if all(request.told for request in facts.requests) else 2


ASKING = {None: 0, "any": 1, "untold": 2}
"""The least that `asking` must be for each way to ask for a list."""


def matches(head: Head, query: HeadQuery) -> bool:
    """Tell whether a head belongs into the list asked for; paging aside."""
    facts = head.facts
    return (
        (query.asking is None or asking(facts) >= ASKING[query.asking])
        and (not query.left_open or facts.left_open > 0)
        and (query.status is None or head.status in query.status)
        and (query.agent is None or facts.agent == query.agent)
        and (query.parent is None or facts.parent == query.parent)
        and (
            query.due_before_ms is None
            or (facts.due_at_ms is not None and facts.due_at_ms < query.due_before_ms)
        )
    )
