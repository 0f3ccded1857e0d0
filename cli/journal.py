"""A session's journal, one line an entry. Pure."""

import json
from typing import Any, assert_never

import msgspec

from ..actors.audit.findings import line_of
from ..actors.handover.wording import when
from ..stores.records import (
    Allowed,
    Answered,
    Assessed,
    Audited,
    Booked,
    Decided,
    Ended,
    FellBack,
    Frozen,
    Intended,
    JournalEntry,
    Judged,
    Late,
    Noted,
    Opened,
    Parked,
    Probed,
    Progressed,
    Pruned,
    Requested,
    Restarted,
    Resulted,
    Retried,
    RolledBack,
    RollingBack,
    Said,
    StagedCheck,
    StagedResult,
    Undoing,
    Undone,
    Unwinding,
    Woken,
)
from .answers import outcome_line, status_colour
from .rollback_words import rollback_colour, rollback_words
from .staged_words import staged_words
from .stored import Numbered
from .terminal import Colour, Terminal, amount, duration, fit, one_line, plural
from .undone import undo_colour, undo_entry_words

_STATE_COLOURS: dict[str, Colour] = {"failed": "red", "in_doubt": "yellow"}


def journal_line(stored: Numbered, terminal: Terminal) -> str:
    """Return an entry as a line: its row, the checkpoint it left, what it says."""
    start = f"{stored.seq:>5} {f'#{stored.counter}':>5}  "
    kind = f"{kind_of(stored.entry):<7}"
    text = fit(one_line(entry_words(stored.entry)), max(terminal.width - len(start) - 8, 20))
    painted = terminal.paint(text, _colour(stored.entry))
    return f"{terminal.paint(start, 'grey')}{kind} {painted}".rstrip()


def kind_of(entry: JournalEntry) -> str:
    """Return the entry's kind as it is stored."""
    return str(entry.__struct_config__.tag)


def _colour(entry: JournalEntry) -> Colour | None:
    match entry:
        case Resulted():
            return _STATE_COLOURS.get(entry.state)
        case Ended():
            return status_colour(entry.status)
        case Retried() | Late() | Restarted() | Pruned() | FellBack() | Audited():
            return "yellow"
        case Decided():
            return _decided_colour(entry)
        case Requested() | Judged():
            return approval_colour(entry)
        case StagedCheck(problem=str(problem)) if problem:
            return "red"
        case StagedResult() | StagedCheck():
            return "grey"
        case Unwinding() | Undoing() | Undone() | Frozen():
            return undo_colour(entry)
        case RollingBack() | RolledBack():
            return rollback_colour(entry)
        case Noted() | Assessed() | Booked() | Opened() | Progressed() | Parked() | Woken():
            return "grey"
        case _:
            return None


def _decided_colour(entry: Decided) -> Colour:
    return "red" if entry.problem else "yellow"


def entry_words(entry: JournalEntry) -> str:
    """Return what an entry says."""
    match entry:
        case Opened():
            limits = " ".join(f"{name}={cap:g}" for name, cap in entry.limits.items())
            return f"agent {entry.agent}, limits {limits or 'none'}"
        case Said(n, text):
            return f"{n} {text}"
        case Noted(n, text):
            return f"{n} {text}"
        case Answered():
            return _answered(entry)
        case Intended():
            key = f", key {entry.key}" if entry.key else ""
            return f"{entry.n}.{entry.index} {entry.tool}, attempt {entry.attempt}{key}"
        case Resulted():
            return _resulted(entry)
        case Late():
            return f"{entry.n}.{entry.index} {entry.state}: {entry.content}"
        case Decided():
            return decided_words(entry)
        case Requested() | Judged():
            return approval_words(entry)
        case StagedResult() | StagedCheck():
            return f"{entry.n}.{entry.index} {staged_words(entry)}"
        case Allowed() | Probed():
            return _doubt_words(entry)
        case Retried():
            return _retried(entry)
        case Ended():
            return outcome_line(entry.outcome)
        case Restarted():
            return f"{entry.n} begins again at checkpoint {entry.counter}: {entry.hint}"
        case Pruned():
            return pruned_words(entry)
        case FellBack():
            return f"{entry.n} {entry.agent} takes over: {entry.why}"
        case Audited():
            return "; ".join(line_of(each) for each in entry.findings)
        case Assessed():
            return _assessed(entry)
        case Unwinding() | Undoing() | Undone() | Frozen():
            return undo_entry_words(entry)
        case RollingBack() | RolledBack():
            return rollback_words(entry)
        case Progressed() | Parked() | Woken():
            return _changed(entry)
        case Booked(spent):
            return f"{duration(spent.seconds)}, {amount(spent.tokens)} tokens so far"
        case _:
            assert_never(entry)


def _assessed(entry: Assessed) -> str:
    if entry.problem:
        return f"{entry.n} {entry.model} was asked in vain: {entry.problem}"
    said = (
        f'{each.verdict}: "{each.claim}"' + (f": {each.why}" if each.why else "")
        for each in entry.verdicts
    )
    return f"{entry.n} {entry.model}: {'; '.join(said)}"


def _doubt_words(entry: Allowed | Probed) -> str:
    call = f"{entry.n}.{entry.index}"
    match entry:
        case Allowed(arguments=arguments):
            return f"{call} may run again" + (f" with {arguments}" if arguments else "")
        case Probed(answer=answer, content=content):
            return f"{call} {answer.replace('_', ' ')}" + (f": {content}" if content else "")


def decided_words(entry: Decided) -> str:
    """Return who decided what and when, and why it changed nothing where that is so."""
    said = entry.decision
    what = said.option if said is not None else "a decision"
    if said is not None and said.args is not None:
        what += f" with {said.args}"
    if said is not None and said.result:
        what += f": {said.result}"
    subject = entry.about.rpartition("#")[0]
    who = f"{entry.by or 'somebody'}, {when(entry.at_ms)}"
    problem = f" (changed nothing: {entry.problem})" if entry.problem else ""
    return f"{subject} {what} ({who}){problem}"


def approval_colour(entry: Requested | Judged) -> Colour:
    """Return the colour of a request for approval, and of what became of it."""
    if isinstance(entry, Requested):
        return "yellow"
    return "green" if entry.verdict == "approved" else "red"


def approval_words(entry: Requested | Judged) -> str:
    """Return what people are asked, or what became of that."""
    call = f"{entry.n}.{entry.index}"
    if isinstance(entry, Requested):
        until = f", until {when(entry.expires_at_ms)}" if entry.expires_at_ms is not None else ""
        risk = f": {entry.risk}" if entry.risk else ""
        return f"{call} {entry.tool}{entry.arguments} may it run?{risk} ({entry.category}{until})"
    changed = f" with {entry.arguments}" if entry.arguments is not None else ""
    who = f" by {entry.by}" if entry.by else ""
    why = f": {entry.why}" if entry.why else ""
    return f"{call} {entry.verdict}{changed}{who}{why}"


def pruned_words(entry: Pruned) -> str:
    """Return what a prune did, and why."""
    whys = {"overflow": "refused as too long", "limit": "nearly too long", "person": "on request"}
    left_out = sum(map(sum, entry.calls.values()))
    gone = f", {left_out} calls left out by now, {entry.by}" if entry.summary else ""
    results = plural(len(entry.shortened), "result")
    shorter = f", {results} shown shorter" if entry.shortened else ""
    why = whys.get(entry.why, entry.why)
    said = f": {entry.summary}" if entry.summary else ""
    return f"{entry.n} pruned, {why}{gone}{shorter}{said}"


def _changed(entry: Progressed | Parked | Woken) -> str:
    match entry:
        case Progressed(digest):
            return f"the agent's progress changed ({digest[:8]})"
        case Parked(due_at_ms):
            return "parked" if due_at_ms is None else f"parked until {when(due_at_ms)}"
        case Woken(due_at_ms):
            return f"waits up to {when(due_at_ms)} have ended" if due_at_ms else "before its time"


def _answered(entry: Answered) -> str:
    calls = " ".join(f"{call.name}{call.arguments}" for call in entry.calls)
    finish = f"[{entry.finish}]" if entry.finish in ("length", "refused") else ""
    return " ".join(part for part in (str(entry.n), finish, entry.text, calls) if part)


def _resulted(entry: Resulted) -> str:
    words = entry.state.replace("_", " ")
    if entry.error_class and entry.state != "in_doubt":
        words += f" ({entry.error_class})"
    if entry.attempts > 1:
        words += f", {entry.attempts} attempts"
    return f"{entry.n}.{entry.index} {words}: {entry.content}"


def _retried(entry: Retried) -> str:
    what = "the model" if entry.index < 0 else f"{entry.n}.{entry.index}"
    if entry.directive == "retry":
        then = f"wait {duration(entry.wait_s)}"
    else:
        detail = f" ({entry.detail})" if entry.detail else ""
        then = f"then {entry.directive.replace('_', ' ')}{detail}"
    asked = entry.retry_after
    hint = f", asked to wait {duration(asked)}" if asked is not None else ""
    seen = f" [{'; '.join(entry.evidence)}]" if entry.evidence else ""
    start = f"{what}, attempt {entry.number} {entry.error_class}, {then}{hint}{seen}"
    return f"{start}: {entry.message}"


def entry_data(stored: Numbered) -> dict[str, Any]:
    """Return an entry as plain data: its row, the checkpoint counter after it, kind and fields."""
    # Default values are left out of what is stored, yet a reader wants every field.
    fields = {
        name: msgspec.to_builtins(getattr(stored.entry, name))
        for name in stored.entry.__struct_fields__
    }
    if isinstance(stored.entry, Answered):
        fields["raw"] = _raw(stored.entry.raw)
    return {
        "row": stored.seq,
        "checkpoint": stored.counter,
        "entry": kind_of(stored.entry),
        **fields,
    }


def _raw(raw: bytes | None) -> Any:
    """Return the provider's own blocks as the data they are."""
    if raw is None:
        return None
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode("utf-8", "backslashreplace")
