"""Long waits: the session is parked, which is nothing but its row in the store, until it is due.

A due time is a time of the wall clock, as another process must be able to read it. Inside one
process it is taken from a wall clock that does not jump (`SteadyWall`), so a wait there lasts as
long as it was meant to; over a restart, the wall clock is the only thing there is.
"""

import msgspec

from ..stores.records import Parked
from .events import SessionParked
from .handover.dossier import left_open
from .session import Session


def parks(session: Session, delay_s: float) -> bool:
    """Tell whether a wait is long enough to be waited in the store.

    A sub-session waits in memory: its parent is there anyway, and waits for it.
    """
    limit_s = session.services.policies.current.waits.park_after_s
    return limit_s is not None and delay_s > limit_s and session.facts.parent is None


async def park(session: Session, due_at_ms: int | None) -> None:
    """Store that the session waits until then; nothing of it is needed in memory any more.

    Without a time it waits for a person.

    Raises:
        StoreError: it could not be stored.
    """
    spent = session.spent()
    now_ms = session.now_ms()
    session.facts = msgspec.structs.replace(
        session.facts,
        updated_at_ms=now_ms,
        due_at_ms=due_at_ms,
        spent=spent,
        left_open=left_open(session.state),
    )
    entry = Parked(due_at_ms, spent)
    await session.journal.append(entry, status="parked", facts=session.facts).wait()
    session.rest(SessionParked(session_id=session.id, at_ms=now_ms, due_at_ms=due_at_ms))
