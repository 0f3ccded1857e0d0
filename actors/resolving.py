"""A person's word on a call in doubt: what it does to the ledger, and what the model is told. Pure."""

from ..stores.records import CallState, Late
from ..supervisor.errors import UsageError
from .state import PERSON, CallId, SessionState
from .wording import encodable

OPTIONS: dict[str, CallState] = {"done": "succeeded", "not_done": "failed", "abandon": "denied"}
"""What a person may say, and how the call then stands in the ledger."""


def check_option(option: str) -> None:
    """Refuse what nobody can mean.

    Raises:
        UsageError: there is no such option.
    """
    if option not in OPTIONS:
        raise UsageError(f"option {option!r} is unknown; use one of {', '.join(OPTIONS)}")


def settled(state: SessionState, option: str, call: CallId | None, result: str | None) -> Late:
    """Return the entry that settles a doubt.

    Args:
        call: number and index of the call; None: the only one there is.
        result: what the call gave, for ``done``; a remark for the others.

    Raises:
        UsageError: that call is not in doubt, or several are and none is named.
    """
    doubts = list(state.in_doubt)
    named = ", ".join(f"{n}.{index} {state.ledger[n, index].tool}" for n, index in doubts)
    if not doubts:
        raise UsageError(f"session {state.session_id} has no call in doubt")
    if call is None and len(doubts) > 1:
        raise UsageError(f"several calls are in doubt ({named}); name one with call=(n, index)")
    n, index = doubts[0] if call is None else call
    if (n, index) not in doubts:
        raise UsageError(f"call {n}.{index} is not in doubt; in doubt: {named}")
    return Late(n, index, OPTIONS[option], encodable(result or ""), PERSON)


def said_of(late: Late, tool: str) -> str:
    """Return what the model is told."""
    name = f"Call {late.n}.{late.index} {tool}"
    more = f": {late.content}" if late.content else "."
    match late.state:
        case "succeeded":
            return f"{name} did take effect, a person has found{more} Do not repeat it."
        case "failed":
            return f"{name} did not take effect, a person has found{more} It may be called again."
        case _:
            return f"{name} was abandoned by a person{more} Do not try it again."
