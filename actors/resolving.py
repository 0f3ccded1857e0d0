"""A person's word on a session or a call in doubt: what it does, and what the model is told. Pure."""

from ..stores.decisions import Resolve
from ..stores.records import Allowed, CallState, JournalEntry, Late, Noted
from ..supervisor.errors import InvalidArgument, UsageError
from .ends import Ended, key_of
from .handover.dossier import trouble_to_data
from .handover.session_answers import (
    CANCEL,
    GO_ON,
    RETRY,
    check_session,
    is_about_session,
    session_answered,
)
from .handover.undo_answers import COMPENSATE, COMPENSATED, is_about_undo, undo_answered, undo_meant
from .handover.wording import encodable, sentence
from .ledger import AGAIN, PERSON, CallEntry, CallId
from .state import SessionState
from .tooling.arguments import digest
from .tooling.toolbox import Toolbox, marks_in

OPTIONS: dict[str, CallState | None] = {
    RETRY: None,
    "done": "succeeded",
    "not_done": "failed",
    "abandon": "denied",
    COMPENSATE: None,
    COMPENSATED: None,
    GO_ON: None,
    CANCEL: None,
}
"""What a person may say, and how a call in doubt then stands in the ledger; None: it runs again, or the
word is about a compensation or the session."""


def check_option(option: str) -> None:
    """Refuse what nobody can mean.

    Raises:
        UsageError: there is no such option.
    """
    if option not in OPTIONS:
        raise UsageError(f"option {option!r} is unknown; use one of {', '.join(OPTIONS)}")


def meant(state: SessionState, said: Resolve) -> CallId | None:
    """Return the call that a decision is about; None: the session, or all that its end has frozen.

    Raises:
        UsageError: there is no such question, or several and none is named.
    """
    if is_about_session(state, said):
        check_session(state, said)
        return None
    return undo_meant(state, said) if is_about_undo(state, said) else doubt_meant(state, said.call)


def doubt_meant(state: SessionState, call: CallId | None) -> CallId:
    """Return the call in doubt that a person means; None: the only one there is.

    Raises:
        UsageError: that call is not in doubt, or several are and none is named.
    """
    doubts = state.in_doubt
    named = ", ".join(f"{n}.{index} {entry.tool}" for (n, index), entry in doubts.items())
    if not doubts:
        raise UsageError(f"session {state.session_id} has no call in doubt")
    if call is None and len(doubts) > 1:
        raise UsageError(f"several calls are in doubt ({named}); name one with call=(n, index)")
    found = next(iter(doubts)) if call is None else call
    if found not in doubts:
        raise UsageError(f"call {found[0]}.{found[1]} is not in doubt; in doubt: {named}")
    if doubts[found].again is not None:
        raise UsageError(f"call {found[0]}.{found[1]} is about to run again, as was decided")
    return found


def check_resolve(said: Resolve) -> None:
    """Refuse what nobody can mean, whatever the session.

    Raises:
        UsageError: there is no such option, or it takes no other arguments.
    """
    check_option(said.option)
    if said.args is not None and said.option != RETRY:
        raise UsageError(f"args= goes with {RETRY!r}, not with {said.option!r}")
    if said.option == GO_ON and not (said.result or "").strip():
        raise UsageError(f"{GO_ON!r} takes a message: give it as result=")


def resolved(state: SessionState, toolbox: Toolbox, said: Resolve, n: int) -> list[JournalEntry]:
    """Return what a person's word on a doubt adds to the journal.

    Args:
        n: the next message number.

    Raises:
        UsageError: no such option, no such doubt, several and none is named, or what is to run
            cannot run; nothing has changed.
    """
    check_resolve(said)
    if is_about_session(state, said):
        return session_answered(state, said, n)
    if is_about_undo(state, said):
        return undo_answered(state, lambda tool: marks_in(toolbox, tool), said, n)
    call = doubt_meant(state, said.call)
    entry = state.ledger.open[call]
    about = f"resolved {call[0]}.{call[1]}"
    if said.option == RETRY:
        allowed = _allow(state.session_id, call, entry, toolbox, said)
        return [allowed, Noted(n, _told_again(allowed, entry.tool, said), about)]
    state_then = OPTIONS[said.option]
    assert state_then is not None  # retry, and what is about compensations, were seen to above
    late = Late(*call, state_then, encodable(said.result or ""), PERSON)
    return [late, Noted(n, said_of(late, entry.tool), about)]


def _allow(
    session_id: str, call: CallId, entry: CallEntry, toolbox: Toolbox, said: Resolve
) -> Allowed:
    """Return the permission to run a call again, once what is to run can run.

    Its key stays: should the first attempt have taken effect after all, the other side still sees
    one order. Other arguments are another order, so they get another key.
    """
    name = f"call {call[0]}.{call[1]} {entry.tool}"
    if entry.tool not in toolbox:
        raise UsageError(f"{name} cannot run again: the agent has no such tool any more")
    tool = toolbox.get(entry.tool)
    try:
        tool.check(entry.arguments if said.args is None else said.args)
    except InvalidArgument as error:
        raise UsageError(f"{name} cannot run with these arguments: {error.message}") from error
    if said.args is None:
        return Allowed(*call, entry.digest, entry.key)
    named = digest(tool.name, said.args, tool.defaults)
    keyed = tool.marks.accepts_key
    key = key_of(session_id, *call, edited=named) if keyed else None
    return Allowed(*call, named, key, encodable(said.args))


def said_of(late: Late, tool: str) -> str:
    """Return what the model is told."""
    name = f"Call {late.n}.{late.index} {tool}"
    more = sentence(f": {late.content}" if late.content else "")
    match late.state:
        case "succeeded":
            return f"{name} did take effect, a person has found{more} Do not repeat it."
        case "failed":
            return f"{name} did not take effect, a person has found{more} It may be called again."
        case _:
            return f"{name} was abandoned by a person{more} Do not try it again."


def _told_again(allowed: Allowed, tool: str, said: Resolve) -> str:
    name = f"Call {allowed.n}.{allowed.index} {tool}"
    args = "" if allowed.arguments is None else f" with other arguments: {allowed.arguments}"
    more = f" ({encodable(said.result)})" if said.result else ""
    return f"{name} did not take effect, a person has found{more}. It is run again{args}."


# ---------------------------------------------------------------- the run a person allowed


def late_of(call: CallId, ended: Ended) -> Late:
    """Return what the ledger keeps of the run that a person allowed.

    A run that did not begin settles nothing: whether the first took effect is as open as before.
    """
    settled = ended.state in ("succeeded", "failed")
    return Late(
        *call,
        ended.state if settled else "in_doubt",
        ended.content,
        AGAIN,
        attempt=ended.attempts,
        blob=ended.blob,
        value_type=ended.value_type,
        still_running=ended.still_running,
        error_class=ended.error_class,
        windows=ended.windows,
        no_snapshot=ended.no_snapshot,
        trouble=None if ended.trouble is None else trouble_to_data(ended.trouble),
    )


def ran_again(call: CallId, tool: str, late: Late) -> str:
    """Return what the model is told of that run."""
    state = late.state.replace("_", " ")
    return f"Call {call[0]}.{call[1]} {tool} has run again: {state}: {late.content}"
