"""Before a call goes out to an upstream: wait until it may, or learn that it will not."""

from typing import Self

from msgspec import Struct

from ..supervisor.breaker import Verdict, Wait
from .events import UpstreamHeld
from .session import Session
from .upstreams import Ticket
from .work import Work, pause

ASKING_S = 0.001
"""A wait that is shorter is none: it is what asking takes."""


class Held(Struct, frozen=True):
    """The wait for an upstream would outlast the time there is."""

    detail: str


class NoTicket:
    """Stands for the ticket of a call that goes to no upstream."""

    verdict: Verdict = "nothing"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


Entered = Ticket | NoTicket


async def enter(
    session: Session,
    work: Work,
    upstream: str | None,
    *,
    subject: str,
    repeat: bool,
    since: float,
    time_budget_s: float | None,
) -> Entered | Held | None:
    """Return once a call may go out; None if the session was cut off meanwhile.

    Args:
        since: when the call's first attempt was made, or would have been.
        time_budget_s: no wait goes past this many seconds after that.
    """
    if upstream is None:
        return NoTicket()
    services = session.services
    answer = services.upstreams.enter(upstream, session, services.roll(), repeat=repeat)
    if isinstance(answer, Ticket):
        return answer
    with services.upstreams.holding(upstream):
        while isinstance(answer, Wait):
            held = too_long(upstream, answer.seconds, services.clock.now() - since, time_budget_s)
            if held is not None:
                return held
            _tell(session, subject, upstream, answer.seconds)
            await pause(work, answer.seconds)
            if work.cut is not None:
                return None
            answer = services.upstreams.enter(
                upstream, session, services.roll(), repeat=repeat, placed=answer.placed
            )
    return answer


def held_since(asked_at: float, now: float) -> float:
    """Return the seconds for which a call was held; what asking itself takes is none."""
    return now - asked_at if now - asked_at > ASKING_S else 0.0


def too_long(
    upstream: str, wait_s: float, elapsed_s: float, time_budget_s: float | None
) -> Held | None:
    """Return why a wait for an upstream is not begun; None: there is time for it."""
    if time_budget_s is None or elapsed_s + wait_s <= time_budget_s:
        return None
    return Held(
        f"time budget: {upstream} is not asked for another {wait_s:.1f} s, and "
        f"{elapsed_s:.1f} of {time_budget_s:g} s are gone"
    )


def _tell(session: Session, subject: str, upstream: str, wait_s: float) -> None:
    session.emit(
        UpstreamHeld(
            session_id=session.id,
            at_ms=session.now_ms(),
            subject=subject,
            upstream=upstream,
            wait_s=wait_s,
        )
    )
