"""A person's decision: which question it answers, whether that is open, what it does. Pure.

A question has a name, such as ``call 2.0``, and a number: how often it was decided, this time
included. So a decision is about one asking of one question, and a store that takes one post about each
lets exactly one person win. A decision that did not fit has a number too; the next may follow it.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from ..stores.base import AlreadyDecided, Post
from ..stores.decisions import Decide, Decision, Resolve, decode_decision, encode_decision
from ..stores.records import Decided, JournalEntry
from ..supervisor.errors import InvalidArgument, UsageError
from .approvals.approvals import APPROVAL, RequestClosed, request_name
from .approvals.approving import check_again, judged
from .handover.undo_answers import COMPENSATE
from .handover.wording import encodable, when
from .ledger import CallId
from .resolving import check_resolve, meant, resolved
from .secrets import Mask
from .session import Session
from .state import SessionState
from .tooling.arguments import canonical_arguments


def as_json(args: Mapping[str, Any]) -> str:
    """Return arguments as they are stored.

    Raises:
        UsageError: they are no JSON object.
    """
    try:
        return msgspec.json.encode(dict(args)).decode()
    except (TypeError, ValueError, UnicodeEncodeError) as error:
        raise UsageError(f"args={args!r} cannot be written as a JSON object: {error}") from error


def post_of(state: SessionState, said: Decision, by: str, at_ms: int) -> Post:
    """Return the post of a decision: which question it answers, and the answer with the call named.

    Raises:
        AlreadyDecided: that was answered before.
        RequestClosed: the request for approval is not open (any more).
        UsageError: there is no such option, no such question, or several and none is named.
    """
    _check_types(said, by)
    if isinstance(said, Decide):
        meant_now = _request_meant(state, said, at_ms)
        return _post(state, _request_subject(meant_now), meant_now, by, at_ms)
    check_resolve(said)
    try:
        call = meant(state, said)
    except UsageError:
        before = _decided_before(state, said.call)
        if before is None or before.decision is None:
            raise
        raise _before(before, before.decision) from None
    return _post(state, _subject(call, said.option), _stored_form(said, call), by, at_ms)


def _check_types(said: Decision, by: object) -> None:
    """Refuse what is of another type than the decision says: constructors take anything.

    Raises:
        UsageError: it names the field.
    """
    try:
        decode_decision(encode_decision(said))
    except (msgspec.MsgspecError, TypeError) as error:
        raise UsageError(
            f"this decision cannot be used: {error}; see resolve() and decide()"
        ) from None
    except UnicodeEncodeError:
        pass  # a lone surrogate is cleaned where the text is stored
    if not isinstance(by, str):
        raise UsageError(f"by={by!r} must be text: who decides")


def _post(state: SessionState, subject: str, said: Decision, by: str, at_ms: int) -> Post:
    return Post(
        session_id=state.session_id,
        about=_about(state, subject),
        body=encode_decision(said),
        at_ms=at_ms,
        by=encodable(by),
    )


def _before(found: Decided, decision: Decision) -> AlreadyDecided:
    return AlreadyDecided(
        f"{found.about} was decided before",
        about=found.about,
        by=found.by,
        at_ms=found.at_ms,
        body=encode_decision(decision),
    )


def _request_meant(state: SessionState, said: Decide, at_ms: int) -> Decide:
    """Return a decision on a request, with the request named that is meant.

    Raises:
        AlreadyDecided: it was decided before.
        RequestClosed: it is not open (any more).
        UsageError: none is named, and several are open; or other arguments for a denial.
    """
    if said.option == "deny" and said.args is not None:
        raise UsageError("args= goes with 'approve', not with 'deny'")
    waiting = state.approvals.open
    named = ", ".join(
        request_name(state.session_id, call, known.asked.number) for call, known in waiting.items()
    )
    if said.call is None and len(waiting) > 1:
        raise UsageError(f"several requests are open ({named}); name one")
    call = next(iter(waiting), None) if said.call is None else said.call
    if call is None:
        raise RequestClosed(f"session {state.session_id} has no open request for approval")
    known = waiting.get(call)
    number = said.number or (known.asked.number if known else 1)
    meant_now = _stored_form(msgspec.structs.replace(said, number=number), call)
    if known is None or known.asked.number != number:
        before = state.decided.get(_request_subject(meant_now))
        if before is not None and before.decision is not None and not before.problem:
            raise _before(before, before.decision)
        name = request_name(state.session_id, call, number)
        raise RequestClosed(f"request {name} is not open; open are: {named or 'none'}")
    expires_at_ms = known.asked.expires_at_ms
    if expires_at_ms is not None and at_ms >= expires_at_ms:
        name = request_name(state.session_id, call, number)
        raise RequestClosed(f"request {name} expired at {when(expires_at_ms)}: it counts as denied")
    return meant_now


def _request_subject(said: Decide) -> str:
    assert said.call is not None  # named before
    return f"{APPROVAL}{said.call[0]}.{said.call[1]}.{said.number}"


def repeats(error: AlreadyDecided, said: Decision) -> bool:
    """Tell whether what was decided before is just this; saying it twice is no mistake."""
    before = decode_decision(error.body)
    if isinstance(said, Decide) and isinstance(before, Decide):
        said = msgspec.structs.replace(said, number=said.number or before.number)
    said = _stored_form(said, before.call if said.call is None else said.call)
    same = before == msgspec.structs.replace(said, args=before.args)
    return same and _same_arguments(before.args, said.args)


def _same_arguments(before: str | None, said: str | None) -> bool:
    """In which order arguments were typed says nothing."""
    if before is None or said is None or before == said:
        return before == said
    try:
        return canonical_arguments(before) == canonical_arguments(said)
    except InvalidArgument:
        return False


_D = TypeVar("_D", bound=Decision)


def _stored_form(said: _D, call: CallId | None) -> _D:
    result = None if said.result is None else encodable(said.result)
    args = None if said.args is None else encodable(said.args)
    return msgspec.structs.replace(said, call=call, result=result, args=args)


def _decided_before(state: SessionState, call: CallId | None) -> Decided | None:
    """Return the decision that stands for this call; without a call, the last one."""
    if call is not None:
        found = state.decided.get(_subject(call))
        return found if found is not None and not found.problem else None
    stand = (each for each in reversed(state.decided.values()) if not each.problem)
    return next(stand, None)


def _subject(call: CallId | None, option: str = "") -> str:
    if call is not None:
        return f"call {call[0]}.{call[1]}"
    return "effects" if option == COMPENSATE else "session"


def _about(state: SessionState, subject: str) -> str:
    last = state.decided.get(subject)
    return f"{subject}#{1 if last is None else _number(last.about) + 1}"


def _number(about: str) -> int:
    return int(about.rpartition("#")[2])


def is_applied(state: SessionState, about: str) -> bool:
    """Tell whether this asking of the question is behind the session: its row may be under way."""
    last = state.decided.get(about.rpartition("#")[0])
    return last is not None and _number(about) <= _number(last.about)


def already_decided(session_id: str, error: AlreadyDecided) -> AlreadyDecided:
    """Return the error with the words for a person: who decided what, and when."""
    before = decode_decision(error.body)
    what = error.about.rpartition("#")[0]
    text = (
        f"session {session_id}: {what} was decided before, by {error.by or 'somebody'}"
        f" at {when(error.at_ms)}: {before.option}"
    )
    return AlreadyDecided(text, about=error.about, by=error.by, at_ms=error.at_ms, body=error.body)


# ---------------------------------------------------------------- what it does


def entries_for(session: Session, post: Post) -> list[JournalEntry]:
    """Return what a post adds to the journal; where it does not fit any more, only that it came.

    Raises:
        msgspec.DecodeError: it is of a kind this version does not know; leave it to a newer one.
    """
    mask = session.services.mask
    decision = _masked(decode_decision(post.body), mask)
    try:
        effect = _effect(session, decision, post)
    except UsageError as error:
        problem = mask(encodable(str(error)))
        return [Decided(post.about, decision, post.at_ms, post.by, problem)]
    return [Decided(post.about, decision, post.at_ms, post.by), *effect]


def unreadable(post: Post) -> list[JournalEntry]:
    """Return the entry of a post whose bytes changed; the question can be decided again."""
    return [Decided(post.about, None, post.at_ms, post.by, "its bytes in the store were damaged")]


def _effect(session: Session, decision: Decision, post: Post) -> list[JournalEntry]:
    """Return what a decision does, by its kind.

    Raises:
        UsageError: it does not fit the session as it stands now.
    """
    match decision:
        case Resolve():
            n = session.journal.take_n()
            entries = resolved(session.state, session.installed.toolbox, decision, n)
            check_again(session, entries)
            return entries
        case Decide():
            return judged(session, decision, post.at_ms, post.by)


def _masked(decision: Decision, mask: Mask) -> Decision:
    result = None if decision.result is None else mask(decision.result)
    args = None if decision.args is None else mask(decision.args)
    return msgspec.structs.replace(decision, result=result, args=args)
