"""Before a call goes out to an upstream: wait until it may, or learn that it will not."""

from typing import Self

from msgspec import Struct

from ..supervisor.breaker import Verdict, Wait
from .session import Session
from .upstream_events import UpstreamHeld
from .upstreams import Full, Ticket
from .work import CutOff, Work, pause

ASKING_S = 0.001
"""A wait that is shorter is none: it is what asking takes."""


class Held(Struct, frozen=True):
    """The wait for an upstream would outlast the time there is."""

    detail: str


class NoTicket:
    """Stands for the ticket of a call that goes to no upstream."""

    verdict: Verdict = "nothing"
    waited_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


Entered = Ticket | NoTicket

NO_TICKET = NoTicket()


def enter_now(session: Session, upstream: str | None, *, repeat: bool) -> Entered | Wait | Full:
    """Return the ticket of a call that may go out now, as nearly every call may; else the wait."""
    if upstream is None:
        return NO_TICKET
    services = session.services
    # A slot that holds a function is taken for a method by that checker, and by no other.
    return services.upstreams.enter(upstream, session, services.roll(), repeat=repeat)  # pyright: ignore[reportArgumentType]


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
    """Return once a call may go out; see `enter_now` and `enter_later`."""
    answer = enter_now(session, upstream, repeat=repeat)
    if isinstance(answer, Ticket | NoTicket):
        return answer
    assert upstream is not None  # there was something to wait for
    return await enter_later(
        session,
        work,
        upstream,
        answer,
        subject=subject,
        repeat=repeat,
        since=since,
        time_budget_s=time_budget_s,
    )


async def enter_later(
    session: Session,
    work: Work,
    upstream: str,
    answer: Ticket | Wait | Full,
    *,
    subject: str,
    repeat: bool,
    since: float,
    time_budget_s: float | None,
) -> Ticket | Held | None:
    """Return once a call may go out that had to wait; None if the session was cut off meanwhile.

    Args:
        answer: what `enter_now` told it to wait for.
        since: when the call's first attempt was made, or would have been.
        time_budget_s: no wait goes past this many seconds after that.
    """
    services = session.services
    waited_s, placed = 0.0, False
    with services.upstreams.holding(upstream):
        while not isinstance(answer, Ticket):
            if isinstance(answer, Full):
                began_at = services.clock.now()
                if not await _wait_in_line(session, work, upstream, answer):
                    return None
                waited_s += services.clock.now() - began_at
                place = answer.place
            else:
                elapsed_s = services.clock.now() - since - waited_s
                held = too_long(upstream, answer.seconds, elapsed_s, time_budget_s)
                if held is not None:
                    return held
                _tell(session, subject, upstream, answer.seconds)
                await pause(work, answer.seconds)
                if work.cut is not None:
                    return None
                placed, place = answer.placed, None
            answer = services.upstreams.enter(
                upstream,
                session,  # pyright: ignore[reportArgumentType]
                services.roll(),
                repeat=repeat,
                placed=placed,
                place=place,
            )
    answer.waited_s = waited_s
    return answer


async def _wait_in_line(session: Session, work: Work, upstream: str, full: Full) -> bool:
    """Wait for the call's place among those that may be under way; False where it is cut off.

    That is no failure of the upstream's, so no time budget of retries counts it.
    """
    upstreams, given = session.services.upstreams, full.place.given
    assert given is not None  # it stands in line
    try:
        await work.run(given.wait, what=f"wait for a place at {upstream}")
    except CutOff:
        upstreams.leave(upstream, full.place)
        return False
    except BaseException:
        upstreams.leave(upstream, full.place)
        raise
    return True


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
