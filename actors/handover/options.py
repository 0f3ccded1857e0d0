"""What a person can do about a session as it stands: each option with the line to type. Pure.

Only what fits is offered, and all of it can be executed: by ``ukemi resolve`` or `SessionHandle.resolve`,
where it does not say otherwise.
"""

import shlex
from collections.abc import Iterator

from ...supervisor.decide import Reason
from ...supervisor.errors import UsageError
from ..ledger import CallEntry, CallId
from ..outcome import Option
from ..state import SessionState
from ..undo.unwound import Undo

CALLS_MAX = 3
"""Calls in doubt, and compensations, whose options are listed; those of the others are alike."""

RESULT = "result: what the call gave"
ARGS = "args: other arguments, as a JSON object"
MESSAGE = "result: the message"

MEND: dict[Reason, str] = {
    "permission": "grant the right or mend the setting",
    "restarts": "mend the fault named here",
    "bug": "mend the fault named here",
    "unknown": "find out what the error means",
    "in_doubt": "read what was found out",
}
"""What comes before a retry of the failed step, by the reason of the handover; others have none."""

GO_ON: dict[Reason, str] = {
    "budget": "raise the budget of the group or tenant that was spent (a session's own limit stays), then "
    "go on with a message",
    "approval": "go on with a message that says what to do in place of what was denied",
    "blocked": "go on with a message that says what to do in place of what was refused",
    "mismatch": "go on with a message that says what the answer must be true to",
    "context": "go on with a shorter task, as a message",
}


def options_for(
    state: SessionState, reason: Reason | None, *, step: str = "", files: bool = False
) -> tuple[Option, ...]:
    """Return what can be done now, what is most pressing first.

    Args:
        reason: why the session was handed over; None: it was not, and its questions remain.
        step: what failed then, as a dossier says it.
        files: it has changed files, and there is a way back.
    """
    found = [*_on_doubts(state), *_on_undoing(state)]
    if files and state.rolled is None:
        found.append(_roll_back(state))
    if reason is not None:
        found += _on_session(state, reason, step)
    return tuple(found)


def _roll_back(state: SessionState) -> Option:
    target = state.task_counter
    return Option(
        name="rollback",
        what="take conversation and files back to where the task was given; with --dry-run, see what "
        "that would change",
        command=f"ukemi rollback {shlex.quote(state.session_id)} --to {target} --mode full",
        code=f"await runtime.session({state.session_id!r}).rollback({target}, 'full')",
    )


def _on_doubts(state: SessionState) -> Iterator[Option]:
    doubts = [(call, entry) for call, entry in state.in_doubt.items() if entry.again is None]
    for call, entry in doubts[:CALLS_MAX]:
        yield from _on_doubt(state.session_id, call, entry)


def _on_doubt(session_id: str, call: CallId, entry: CallEntry) -> Iterator[Option]:
    name = f"call {call[0]}.{call[1]} {entry.tool}"
    did = f"you have found that {name}, which is in doubt, did take effect: say so"
    not_done = f"you have found that {name} did not take effect"
    yield _option(session_id, "done", did, call, RESULT)
    yield _option(session_id, "not_done", f"{not_done}: say so; it may be called again", call)
    yield _option(session_id, "retry", f"{not_done}: run it again", call)
    yield _option(session_id, "retry", f"{not_done}: run it with other arguments", call, ARGS)
    yield _option(session_id, "abandon", f"leave {name} in doubt, and let nobody try again", call)


def _on_undoing(state: SessionState) -> Iterator[Option]:
    for undo in state.unwound.open[:CALLS_MAX]:
        yield from _on_undo(state.session_id, undo)
    if state.unwound.frozen is not None and not state.in_doubt:
        what = "undo what was frozen, the latest first"
        yield _option(state.session_id, "compensate", what)


def _on_undo(session_id: str, undo: Undo) -> Iterator[Option]:
    call = (undo.step.n, undo.step.index)
    how = "failed" if undo.state == "failed" else "is in doubt"
    name = f"call {call[0]}.{call[1]} {undo.step.tool}"
    found = f"you have found that {name}, whose compensation {how},"
    yield _option(session_id, "compensated", f"{found} is undone: say so", call)
    yield _option(session_id, "compensate", f"{found} is not undone: try that again", call)
    yield _option(session_id, "abandon", f"leave the effect of {name} as it is", call)


def _on_session(state: SessionState, reason: Reason, step: str) -> Iterator[Option]:
    session_id = state.session_id
    before = mend(state, reason)
    if before is not None and not state.in_doubt:
        what = f"{before}, then have the agent try the failed step again"
        yield _option(session_id, "retry", what)
        if step.startswith("call "):  # a request to the model has no arguments
            yield _option(session_id, "retry", f"{what}, with other arguments", None, ARGS)
    elif reason == "budget":
        yield _new_session(state)
    beside = "go on with a message while the question stays open"
    what = beside if state.in_doubt else GO_ON.get(reason, "go on with a message")
    yield _option(session_id, "go_on", what, None, MESSAGE)
    yield _option(session_id, "cancel", "give the session up; what is in effect stays")


def mend(state: SessionState, reason: Reason) -> str | None:
    """Return what comes before a retry of the failed step; None: it is not to be tried again."""
    if reason == "blocked" and not state.concluding:
        return "wait until the other side answers again"  # nothing was refused for good
    return MEND.get(reason)


def _new_session(state: SessionState) -> Option:
    agent = state.opened.agent if state.opened is not None else "AGENT"
    return Option(
        name="new_session",
        what="give the task to a new session with a larger budget; it knows nothing of this one",
        command=f"ukemi run MODULE:{shlex.quote(agent)} TASK --budget NAME=NUMBER",
        code=f"await runtime.start({agent!r}, task, budget=Budget(...))",
        needs=("a larger budget",),
    )


def _option(
    session_id: str, name: str, what: str, call: CallId | None = None, needs: str = ""
) -> Option:
    """Return an option of `resolve`, with its command line and its call in code."""
    command = ["ukemi", "resolve", session_id, name]
    given = [repr(name)]
    if call is not None:
        command += ["--call", f"{call[0]}.{call[1]}"]
        given.append(f"call={call}")
    field = needs.partition(":")[0]
    line = shlex.join(command)
    if field:
        line += f" --{field} {_PLACES[needs]}"
        given.append(f"{field}={field}")
    return Option(
        name=name,
        what=what,
        command=line,
        code=f"await runtime.session({session_id!r}).resolve({', '.join(given)})",
        call=call,
        needs=(needs,) if needs else (),
    )


def option_name(option: Option) -> str:
    """Return what `resolve` calls an option.

    Raises:
        UsageError: it has a command of its own.
    """
    if option.name in ("", "rollback", "new_session"):
        done_by = option.code or "what it says"
        raise UsageError(f"option {option.name!r} is not resolved, but done by: {done_by}")
    return option.name


_PLACES = {RESULT: "RESULT", ARGS: "JSON", MESSAGE: "MESSAGE"}
"""What stands in a command line for what is to be given."""
