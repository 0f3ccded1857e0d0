"""A person's decision: which question it answers, whether that is open, what it does. Pure.

A question has a name, such as ``call 2.0``, and a number: how often it was decided, this time
included. So a decision is about one asking of one question, and a store that takes one post about each
lets exactly one person win. A decision that did not fit has a number too; the next may follow it.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from ..stores.base import AlreadyDecided, Post
from ..stores.decisions import Decision, Resolve, decode_decision, encode_decision
from ..stores.records import Decided, JournalEntry
from ..supervisor.errors import UsageError
from .ledger import CallId
from .resolving import OPTIONS, check_resolve, meant, resolved
from .secrets import Mask
from .session import Session
from .state import SessionState
from .wording import encodable, when


def as_json(args: Mapping[str, Any]) -> str:
    """Return arguments as they are stored.

    Raises:
        UsageError: they are no JSON object.
    """
    try:
        return msgspec.json.encode(dict(args)).decode()
    except (TypeError, ValueError, UnicodeEncodeError) as error:
        raise UsageError(f"args={args!r} cannot be written as a JSON object: {error}") from error


def post_of(state: SessionState, said: Resolve, by: str, at_ms: int) -> Post:
    """Return the post of a decision: which question it answers, and the answer with the call named.

    Raises:
        AlreadyDecided: that was answered before.
        UsageError: there is no such option, no such question, or several and none is named.
    """
    check_resolve(said)
    try:
        call = meant(state, said)
    except UsageError:
        before = _decided_before(state, said.call)
        if before is None or before.decision is None:
            raise
        body = encode_decision(before.decision)
        text = f"{before.about} was decided before"
        raise AlreadyDecided(
            text, about=before.about, by=before.by, at_ms=before.at_ms, body=body
        ) from None
    return Post(
        session_id=state.session_id,
        about=_about(state, _subject(call)),
        body=encode_decision(_stored_form(said, call)),
        at_ms=at_ms,
        by=encodable(by),
    )


def options_of(state: SessionState) -> tuple[str, ...]:
    """Return what a person can say about a session as it stands."""
    open_calls: list[CallId | None] = list(state.in_doubt)
    open_calls += [(undo.step.n, undo.step.index) for undo in state.unwound.open]
    if not state.in_doubt:
        open_calls.append(None)  # what is frozen, once no doubt keeps it so
    return tuple(
        option
        for option in OPTIONS
        if any(_fits(state, Resolve(option, each)) for each in open_calls)
    )


def _fits(state: SessionState, said: Resolve) -> bool:
    try:
        meant(state, said)
    except UsageError:
        return False
    return True


def repeats(error: AlreadyDecided, said: Resolve) -> bool:
    """Tell whether what was decided before is just this; saying it twice is no mistake."""
    before = decode_decision(error.body)
    return before == _stored_form(said, before.call if said.call is None else said.call)


def _stored_form(said: Resolve, call: CallId | None) -> Resolve:
    result = None if said.result is None else encodable(said.result)
    args = None if said.args is None else encodable(said.args)
    return Resolve(said.option, call, result, args)


def _decided_before(state: SessionState, call: CallId | None) -> Decided | None:
    """Return the decision that stands for this call; without a call, the last one."""
    if call is not None:
        found = state.decided.get(_subject(call))
        return found if found is not None and not found.problem else None
    stand = (each for each in reversed(state.decided.values()) if not each.problem)
    return next(stand, None)


def _subject(call: CallId | None) -> str:
    return "effects" if call is None else f"call {call[0]}.{call[1]}"


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
    what = before.option if before.call is None else f"call {before.call[0]}.{before.call[1]}"
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
        effect = _effect(session, decision)
    except UsageError as error:
        problem = mask(encodable(str(error)))
        return [Decided(post.about, decision, post.at_ms, post.by, problem)]
    return [Decided(post.about, decision, post.at_ms, post.by), *effect]


def unreadable(post: Post) -> list[JournalEntry]:
    """Return the entry of a post whose bytes changed; the question can be decided again."""
    return [Decided(post.about, None, post.at_ms, post.by, "its bytes in the store were damaged")]


def _effect(session: Session, decision: Decision) -> list[JournalEntry]:
    """Return what a decision does, by its kind.

    Raises:
        UsageError: it does not fit the session as it stands now.
    """
    match decision:
        case Resolve():
            n = session.journal.take_n()
            return resolved(session.state, session.installed.toolbox, decision, n)


def _masked(decision: Decision, mask: Mask) -> Decision:
    result = None if decision.result is None else mask(decision.result)
    args = None if decision.args is None else mask(decision.args)
    return Resolve(decision.option, decision.call, result, args)
