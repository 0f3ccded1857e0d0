"""What people are asked and what they say, as events."""

from typing import Literal

from ..stores.records import Decided, Judged, Requested
from .approvals.approvals import request_name
from .event_base import BaseEvent


class DecisionTaken(BaseEvent, frozen=True, tag="decision.taken"):
    """A person's decision has reached the session; ``problem`` says why it changed nothing.

    ``about`` names the question, ``by`` who decided, ``decided_at_ms`` when, ``what`` the option.
    """

    about: str
    what: str
    by: str
    decided_at_ms: int
    problem: str = ""
    level = "info"


class ApprovalRequested(BaseEvent, frozen=True, tag="approval.requested"):
    """A person is asked whether a call may run; it is stored, and waits."""

    request: str
    n: int
    index: int
    tool: str
    arguments: str
    category: str
    risk: str
    expires_at_ms: int | None
    level = "warning"


class ApprovalDecided(BaseEvent, frozen=True, tag="approval.decided"):
    """A person has decided about a call; ``edited``: it may run with other arguments only."""

    request: str
    n: int
    index: int
    verdict: Literal["approved", "denied"]
    by: str = ""
    edited: bool = False
    decided_at_ms: int = 0
    level = "info"


class ApprovalExpired(BaseEvent, frozen=True, tag="approval.expired"):
    """Nobody decided about a call in time: it counts as denied."""

    request: str
    n: int
    index: int
    level = "warning"


def decision_taken(session_id: str, at_ms: int, entry: Decided) -> DecisionTaken:
    """Return the event that says that a decision has reached its session."""
    return DecisionTaken(
        session_id=session_id,
        at_ms=at_ms,
        about=entry.about,
        what="" if entry.decision is None else entry.decision.option,
        by=entry.by,
        decided_at_ms=entry.at_ms,
        problem=entry.problem,
    )


def approval_asked(session_id: str, at_ms: int, entry: Requested) -> ApprovalRequested:
    """Return the event that says that a person is asked."""
    return ApprovalRequested(
        session_id=session_id,
        at_ms=at_ms,
        request=request_name(session_id, (entry.n, entry.index), entry.number),
        n=entry.n,
        index=entry.index,
        tool=entry.tool,
        arguments=entry.arguments,
        category=entry.category,
        risk=entry.risk,
        expires_at_ms=entry.expires_at_ms,
    )


def approval_closed(
    session_id: str, at_ms: int, entry: Judged
) -> ApprovalDecided | ApprovalExpired:
    """Return the event that says how a request for approval was closed."""
    n, index = entry.n, entry.index
    request = request_name(session_id, (n, index), entry.number)
    if entry.verdict == "expired":
        return ApprovalExpired(
            session_id=session_id, at_ms=at_ms, request=request, n=n, index=index
        )
    return ApprovalDecided(
        session_id=session_id,
        at_ms=at_ms,
        request=request,
        n=n,
        index=index,
        verdict=entry.verdict,
        by=entry.by,
        edited=entry.arguments is not None,
        decided_at_ms=entry.at_ms,
    )
