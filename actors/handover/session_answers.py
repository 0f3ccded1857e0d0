"""A person's word on a session as a whole: it goes on, tries its failed step again, or is given up. Pure."""

from collections.abc import Mapping
from typing import Any

from ...stores.decisions import Resolve
from ...stores.records import Ended, JournalEntry, Said
from ...supervisor.errors import UsageError
from ..outcome import Stopped, outcome_to_data
from ..state import SessionState
from ..undo.plan import ends_of, verdict_on
from .wording import encodable

RETRY = "retry"
GO_ON = "go_on"
"""Go on with a message, which is the result that is given."""
CANCEL = "cancel"
"""Give it up: it ends as if cancelled, and nobody is asked about it any more."""

ENDED = frozenset({"handed_over", "stopped"})


def is_about_session(state: SessionState, said: Resolve) -> bool:
    """Tell whether a decision is about the session, and not about one of its calls."""
    if said.option == RETRY:
        return said.call is None and not state.in_doubt and state.status == "handed_over"
    return said.option in (GO_ON, CANCEL)


def check_session(state: SessionState, said: Resolve) -> None:
    """Refuse what does not fit a session as it stands.

    Raises:
        UsageError: it is about a call; the session has not ended so, or it completed.
    """
    if said.call is not None:
        raise UsageError(f"{said.option!r} is about the whole session: call= does not go with it")
    fits = ENDED if said.option == GO_ON else frozenset({"handed_over"})
    if state.status not in fits:
        status = state.status.replace("_", " ")
        raise UsageError(f"session {state.session_id} is {status}: {said.option!r} does not fit")


def session_answered(state: SessionState, said: Resolve, n: int) -> list[JournalEntry]:
    """Return what a person's word adds to the journal.

    Args:
        n: the next message number.

    Raises:
        UsageError: as `check_session`.
    """
    check_session(state, said)
    match said.option:
        case "retry":
            return [Said(n, _told_to_try(state, said))]
        case "go_on":
            return [Said(n, encodable(said.result or ""))]
        case _:
            standing = [each for each in ends_of(state, {}) if each.n >= state.unwound.settled_n]
            outcome = Stopped("cancelled", verdict_on(standing))
            return [Ended("stopped", outcome_to_data(outcome), state.spent)]


def _told_to_try(state: SessionState, said: Resolve) -> str:
    args = f" with these arguments: {encodable(said.args)}" if said.args is not None else ""
    remark = f" {encodable(said.result)}" if said.result else ""
    return f"A person has looked after what failed. Try {_failed_step(state)} again{args}.{remark}"


def _failed_step(state: SessionState) -> str:
    dossier: Mapping[str, Any] = (state.outcome or {}).get("dossier", {})
    step = str(dossier.get("failed_step") or "the step that failed")
    return f"asking {rest}" if (rest := step.removeprefix("ask ")) != step else step
