"""Calls of a guarded scope as its journal tells of them, and what a caller is given for each. Pure.

A scope is a session whose calls come from a program: the last call that equals a given one says
whether anything is to be run at all.
"""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from ...stores.records import (
    Allowed,
    Answered,
    CallState,
    Ended,
    JournalEntry,
    Late,
    Resulted,
    Retried,
    ToolCall,
)
from ...supervisor.errors import (
    BusinessRejected,
    ContentRefused,
    ContextOverflow,
    ErrorClass,
    Failed,
    InDoubtTimeout,
    InvalidArgument,
    PermissionDenied,
    PlanningFailure,
    RateLimited,
    ResourceExhausted,
    ToolBug,
    TransientError,
    UkemiError,
)
from ..handover.dossier import Trouble, doubts
from ..ledger import CallId
from ..outcome import Completed, Dossier, HandedOver, Outcome, Stopped
from ..state import SessionState
from ..tooling.arguments import digest
from ..tooling.tools import AnyTool

Standing = Literal["unsettled", "done", "in_doubt", "denied", "not_done"]
"""How a recorded call stands for whoever asks for it again. ``not_done``: it certainly had no effect."""

_STANDINGS: dict[CallState, Standing] = {
    "succeeded": "done",
    "failed": "not_done",
    "refused": "not_done",
    "denied": "denied",
    "in_doubt": "in_doubt",
}

_FAILED: dict[str, type[Failed]] = {
    each.error_class.value: each
    for each in (
        BusinessRejected,
        ContentRefused,
        ContextOverflow,
        InDoubtTimeout,
        InvalidArgument,
        PermissionDenied,
        PlanningFailure,
        RateLimited,
        ResourceExhausted,
        ToolBug,
        TransientError,
    )
}


class GuardError(UkemiError):
    """A guarded call gave no result, and no error of its tool says why.

    Attributes:
        scope: the scope, which is the id of a session.
        call: number and index of the call, as `SessionHandle.resolve` takes it; None: it was not made.
    """

    def __init__(self, message: str, *, scope: str, call: CallId | None) -> None:
        super().__init__(message)
        self.scope = scope
        self.call = call


class InDoubt(GuardError):
    """The call may have taken effect, and nobody knows; a person is asked. It is not run again.

    Once somebody has answered, the same call returns the result, runs, or is denied.

    Attributes:
        dossier: what the person is shown; None where the scope was cancelled.
    """

    dossier: Dossier | None = None


class HandedOverError(GuardError):
    """The call certainly had no effect, and a person has to do something before it can.

    Calling again tries again.

    Attributes:
        reason: why, as in `HandedOver`.
        dossier: everything that a person needs.
        error_class: what the failure was taken for; None: there was no failure.
    """

    def __init__(
        self,
        message: str,
        *,
        scope: str,
        call: CallId,
        outcome: HandedOver,
        error_class: str | None,
    ) -> None:
        super().__init__(message, scope=scope, call=call)
        self.reason = outcome.reason
        self.dossier = outcome.dossier
        self.error_class = None if error_class not in _CLASSES else ErrorClass(error_class)


class Denied(GuardError):
    """A rule or a person does not allow the call; it and its equals stay closed in this scope."""


class CallStopped(GuardError):
    """Somebody cancelled the scope before the call ran, or while it certainly had no effect."""


class CallFailed(GuardError):
    """The tool returned what its own ``success`` calls a failure: ``content`` is that, as text."""

    content: str = ""


_CLASSES = frozenset(each.value for each in ErrorClass)


class ScopeCall(Struct, kw_only=True):
    """One call of a scope: what was asked for, and how it stands.

    ``again``: a person has allowed another run that is not over. ``message`` is that of its last
    failure.
    """

    n: int
    index: int
    asked: ToolCall
    state: CallState | None = None
    again: bool = False
    content: str = ""
    message: str = ""
    fields: tuple[str, ...] = ()
    error_class: str | None = None
    blob: str | None = None
    value_type: str | None = None
    attempts: int = 1
    replayed: bool = False
    by: str = ""

    @property
    def id(self) -> CallId:
        return self.n, self.index

    @property
    def standing(self) -> Standing:
        if self.state is None or self.again:
            return "unsettled"
        return _STANDINGS[self.state]


class Wanted(Struct, frozen=True):
    """A call that somebody asks for: equal to a recorded one if tool, arguments and id are."""

    tool: AnyTool
    arguments: str
    id: str = ""

    def newest_in(self, calls: Iterable[ScopeCall]) -> ScopeCall | None:
        """Return the last call that equals this one."""
        mine = (each for each in calls if each.asked.name == self.tool.name)
        named, found = self._named(self.arguments), None
        for each in mine:
            if each.asked.id == self.id and self._named(each.asked.arguments) == named:
                found = each
        return found

    def _named(self, arguments: str) -> str:
        return digest(self.tool.name, arguments, self.tool.defaults)


# ---------------------------------------------------------------- what is recorded


def calls_of(entries: Iterable[JournalEntry]) -> list[ScopeCall]:
    """Return the calls of a scope, in the order in which they were made."""
    found: dict[CallId, ScopeCall] = {}
    for entry in entries:
        match entry:
            case Answered():
                for index, asked in enumerate(entry.calls):
                    found[entry.n, index] = ScopeCall(n=entry.n, index=index, asked=asked)
            case Ended():
                for each in found.values():
                    each.again = False
            case Retried() | Resulted() | Late() | Allowed():
                known = found.get((entry.n, entry.index))
                if known is not None:
                    _settle(known, entry)
            case _:
                pass
    return list(found.values())


def _settle(known: ScopeCall, entry: Retried | Resulted | Late | Allowed) -> None:
    match entry:
        case Retried():
            known.message, known.fields = entry.message, entry.fields
        case Resulted():
            known.state, known.attempts = entry.state, entry.attempts
            known.replayed, known.by = entry.replayed, entry.by
            _keep(known, entry)
        case Allowed():
            known.again = True
        case Late():
            known.again = False
            if known.state == "in_doubt" and entry.state != "in_doubt":
                known.state, known.by = entry.state, entry.by or "late"
                known.attempts = max(known.attempts, entry.attempt)
                _keep(known, entry)


def _keep(known: ScopeCall, entry: Resulted | Late) -> None:
    known.content, known.error_class = entry.content, entry.error_class
    known.blob, known.value_type = entry.blob, entry.value_type


# ---------------------------------------------------------------- how a scope rests


def scope_rests(state: SessionState) -> Completed | Trouble:
    """Return how a scope ends once its calls have their results: their caller is told those.

    While a call is in doubt it stays with a person, whatever was called after it.
    """
    unknown = doubts(state)
    if not unknown:
        return Completed("")
    first = unknown[0]
    return Trouble(
        reason="in_doubt",
        detail=f"{first.tool} may have taken effect",
        step=f"call {first.n}.{first.index} {first.tool}",
        input=first.arguments,
        tried=("nothing more: it is not safe to repeat",),
    )


# ---------------------------------------------------------------- what a caller is told


def error_of(scope: str, call: ScopeCall, outcome: Outcome | None) -> UkemiError:
    """Return what the caller of a call that gave no result is told.

    Args:
        outcome: how the scope rests now; None: nobody knows.
    """
    name = f"{call.asked.name} (scope {scope}, call {call.n}.{call.index})"
    match call.standing:
        case "in_doubt" | "unsettled":
            text = f"{name} may have taken effect; `ukemi handovers` has the question"
            doubt = InDoubt(text, scope=scope, call=call.id)
            doubt.dossier = outcome.dossier if isinstance(outcome, HandedOver) else None
            return doubt
        case "denied":
            why = call.content.partition("\n")[0]  # behind that is advice for a model
            if call.error_class is None:  # what was abandoned has no class
                why = (
                    f"a person leaves it in doubt: {why}" if why else "a person leaves it in doubt"
                )
            return Denied(f"{name}: {why}", scope=scope, call=call.id)
        case _:
            return _not_done(scope, name, call, outcome)


def _not_done(scope: str, name: str, call: ScopeCall, outcome: Outcome | None) -> UkemiError:
    said = call.message or call.content
    # A doubt about another call is not about this one.
    if isinstance(outcome, HandedOver) and outcome.reason != "in_doubt":
        return HandedOverError(
            f"{name} was handed over ({outcome.reason}): {outcome.detail}: {said}",
            scope=scope,
            call=call.id,
            outcome=outcome,
            error_class=call.error_class,
        )
    if isinstance(outcome, Stopped):
        return CallStopped(f"{name} was {outcome.reason}: {said}", scope=scope, call=call.id)
    kind = _FAILED.get(call.error_class or "")
    if kind is not None:
        return kind(said, fields=call.fields, may_have_executed="no")
    failed = CallFailed(f"{name} failed: {said}", scope=scope, call=call.id)
    failed.content = call.content
    return failed
