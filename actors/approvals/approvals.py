"""Requests for approval: how each call stands that a person was asked about. Folded from the journal.

    requested --- open --+-- approved --- used: its intent was written, or its result
                         +-- denied, expired: it gets its one result, "denied"

A request belongs to one call and to the digest of its arguments. An approval is used by the intent of
that very call, so it allows all attempts of the call and nothing else: an equal call that comes later
asks anew. A call has its request here until it has its result; the journal has all of them.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import Struct

from ...stores.base import OpenRequest
from ...stores.records import JournalEntry, Judged, Requested, Resulted, ToolCall
from ...supervisor.errors import UkemiError, UsageError
from ...supervisor.patterns import lazy_pattern
from ..ledger import CallId

ApprovalState = Literal["open", "approved", "used", "denied", "expired"]
"""How a request stands; ``approved``: granted, and not used yet."""

APPROVAL = "approval "
"""Begins what a decision is about that answers a request."""

_REQUEST = lazy_pattern(r"(?P<session>.+):(?P<n>\d+)\.(?P<index>\d+)(?:\.(?P<number>\d+))?")


class RequestClosed(UkemiError):
    """A request for approval cannot be decided: there is none of this name, or its time is over."""


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """An open question: may this call run?

    Attributes:
        request: names it, for `Runtime.decide` and ``ukemi approve``.
        session_id, agent, title: whose call it is; the title is the beginning of the task.
        tool: the tool's name.
        arguments: JSON, cleaned of secrets; cut short where it is long.
        digest: of the canonical arguments; an approval holds for these and no others.
        category: the kind of danger.
        risk: what may happen, in words.
        rule: the line of the policy that asks.
        asked_at_ms: when it was asked, on the wall clock.
        expires_at_ms: when it counts as denied; None: never.
        expired: its time was over before anybody was told of it: there is nothing to decide any more.
    """

    request: str
    session_id: str
    agent: str
    title: str
    tool: str
    arguments: str
    digest: str
    category: str
    risk: str
    rule: str
    asked_at_ms: int
    expires_at_ms: int | None = None
    expired: bool = False


class Approval(Struct):
    """A call that a person was asked about.

    ``digest`` names what was asked about, ``granted`` what may run; they differ where a person has
    changed the arguments to ``arguments``.
    """

    asked: Requested
    state: ApprovalState = "open"
    granted: str = ""
    arguments: str | None = None
    by: str = ""
    at_ms: int = 0
    why: str = ""


class Approvals:
    """The requests of one session; changed by the fold alone."""

    __slots__ = ("calls",)

    def __init__(self) -> None:
        self.calls: dict[CallId, Approval] = {}

    @property
    def open(self) -> dict[CallId, Approval]:
        """Requests that nobody has decided, in the order of their calls."""
        calls = self.calls
        return {call: calls[call] for call in sorted(calls) if calls[call].state == "open"}

    def is_open(self, call: CallId) -> bool:
        """Tell whether a call waits for a decision."""
        known = self.calls.get(call)
        return known is not None and known.state == "open"

    def allows(self, call: CallId, digest: str) -> bool:
        """Tell whether this call may run under these arguments, in its first attempt or a later one."""
        known = self.calls.get(call)
        return known is not None and known.state in ("approved", "used") and known.granted == digest

    def effective(self, call: CallId, asked: ToolCall) -> ToolCall:
        """Return a call with the arguments under which a person lets it run."""
        known = self.calls.get(call)
        if known is None or known.arguments is None:
            return asked
        return msgspec.structs.replace(asked, arguments=known.arguments)

    # ------------------------------------------------------------ the fold

    def requested(self, entry: Requested) -> None:
        """A person is asked; an earlier answer about this call is void."""
        self.calls[entry.n, entry.index] = Approval(entry)

    def judged(self, entry: Judged) -> None:
        """A request is decided; one that is not open any more stays as it is."""
        known = self.calls.get((entry.n, entry.index))
        if known is None or known.state != "open" or known.asked.number != entry.number:
            return
        known.state, known.by, known.at_ms = entry.verdict, entry.by, entry.at_ms
        known.granted, known.arguments, known.why = entry.digest, entry.arguments, entry.why

    def intended(self, call: CallId) -> None:
        """A call has its intent: what allowed it is used."""
        known = self.calls.get(call)
        if known is not None and known.state == "approved":
            known.state = "used"

    def resulted(self, call: CallId) -> None:
        """A call has its result: nothing is open about it."""
        self.calls.pop(call, None)


# ---------------------------------------------------------------- names


def request_name(session_id: str, call: CallId, number: int = 1) -> str:
    """Return what a request is called; how often the call was asked about is said from twice on."""
    again = f".{number}" if number > 1 else ""
    return f"{session_id}:{call[0]}.{call[1]}{again}"


def request_named(name: str) -> tuple[str, CallId | None, int]:
    """Return session, call and number that a name means; a session's id alone: its only request.

    Raises:
        UsageError: it is empty, or no text.
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"request={name!r} is no request: give one, or its name, as SESSION:2.0")
    found = _REQUEST.fullmatch(name)
    if found is not None:
        call = int(found["n"]), int(found["index"])
        return found["session"], call, int(found["number"] or 1)
    if not name:
        raise UsageError("a request has a name, such as SESSION:2.0; it is empty")
    return name, None, 0


# ---------------------------------------------------------------- lists


def open_request(entry: Requested) -> OpenRequest:
    """Return a request as the list of sessions keeps it."""
    return OpenRequest(
        n=entry.n,
        index=entry.index,
        number=entry.number,
        tool=entry.tool,
        arguments=entry.arguments,
        digest=entry.digest,
        category=entry.category,
        risk=entry.risk,
        rule=entry.rule,
        at_ms=entry.at_ms,
        expires_at_ms=entry.expires_at_ms,
    )


def requests_after(
    requests: tuple[OpenRequest, ...], entries: Iterable[JournalEntry]
) -> tuple[OpenRequest, ...]:
    """Return the open requests once these entries are stored as well; the same where none matters."""
    for entry in entries:
        if isinstance(entry, Requested | Judged | Resulted):
            call = (entry.n, entry.index)
            if isinstance(entry, Requested) or any((r.n, r.index) == call for r in requests):
                requests = tuple(r for r in requests if (r.n, r.index) != call)
        if isinstance(entry, Requested):
            requests = (*requests, open_request(entry))
    return requests


def listed(
    session_id: str, agent: str, title: str, each: OpenRequest, *, expired: bool = False
) -> ApprovalRequest:
    """Return a request as people see it."""
    return ApprovalRequest(
        request=request_name(session_id, (each.n, each.index), each.number),
        session_id=session_id,
        agent=agent,
        title=title,
        tool=each.tool,
        arguments=each.arguments,
        digest=each.digest,
        category=each.category,
        risk=each.risk,
        rule=each.rule,
        asked_at_ms=each.at_ms,
        expires_at_ms=each.expires_at_ms,
        expired=expired,
    )
