"""How a session ended, as text for a person. Pure."""

from collections.abc import Iterator
from typing import Any

import msgspec

from ..actors.outcome import (
    Completed,
    Dossier,
    HandedOver,
    Stopped,
    UndoneVerdict,
    outcome_from_data,
)
from ..actors.text import clean
from ..actors.undo.plan import line_of
from .terminal import Colour, Terminal, one_line, rounded

_COLOURS: dict[str, Colour] = {
    "completed": "green",
    "running": "blue",
    "parked": "blue",
    "unfinished": "yellow",
    "handed_over": "yellow",
    "stopped": "grey",
    "damaged": "red",
}


def status_colour(status: str) -> Colour | None:
    """Return the colour in which a status is shown."""
    return _COLOURS.get(status)


def status_words(status: str) -> str:
    """Return a status as a person reads it."""
    return status.replace("_", " ")


def outcome_line(data: dict[str, Any]) -> str:
    """Return an outcome in one line: ``completed: ...``, ``handed over (budget): ...``."""
    try:
        outcome = outcome_from_data(data)
    except msgspec.ValidationError:
        return str(data.get("outcome", "ended"))  # written by a version that knows more
    kind = str(data["outcome"]).replace("_", " ")
    answer = getattr(outcome, "answer", None)
    if answer is not None:
        return f"{kind}: {answer}"
    detail = detail_words(getattr(outcome, "reason", ""), getattr(outcome, "detail", ""))
    return f"{kind} ({getattr(outcome, 'reason', '')})" + (f": {detail}" if detail else "")


def outcome_lines(data: dict[str, Any], terminal: Terminal) -> list[str]:
    """Return an outcome with all it carries; nothing is cut."""
    try:
        outcome = outcome_from_data(data)
    except msgspec.ValidationError:
        # Written by a version that knows more: show it as it is.
        return [f"{name}: {value}" for name, value in data.items()]
    match outcome:
        case Completed(answer, unverified):
            claims = _part("unverified", unverified, terminal)
            return [terminal.paint("completed", "green"), clean(answer).text, *claims]
        case Stopped(reason, undone):
            lines = [terminal.paint(f"stopped ({reason})", "grey")]
            return [*lines, *_part("undone", _undone(undone), terminal)]
        case HandedOver(reason, dossier, detail):
            title = terminal.paint(f"handed over ({reason})", "yellow")
            said = one_line(detail_words(reason, detail))
            return [f"{title}  {said}".rstrip(), *_dossier(dossier, terminal)]


def detail_words(reason: str, detail: str) -> str:
    """Return a detail; that of a spent budget is of numbers, to more digits than anybody reads."""
    return rounded(detail) if reason == "budget" else detail


def _dossier(dossier: Dossier, terminal: Terminal) -> Iterator[str]:
    yield from _part("failed step", [dossier.failed_step], terminal)
    yield from _part("input", [dossier.input], terminal)
    yield from _part("error", [dossier.upstream_error], terminal)
    yield from _part("tried", dossier.tried, terminal)
    options = [f"{each.name}: {each.what}" if each.name else each.what for each in dossier.options]
    yield from _part("options", options, terminal)
    yield from _part("findings", dossier.findings, terminal)
    doubts = [
        f"{call.tool} {call.arguments} (call {call.n}.{call.index})"
        + (f", key {call.key}" if call.key else "")
        + (", still running" if call.still_running else "")
        for call in dossier.in_doubt
    ]
    yield from _part("in doubt", doubts, terminal)
    effects = [line_of(each) for each in dossier.effects]
    yield from _part("effects", effects, terminal)
    yield from _part("undone", _undone(dossier.undone), terminal)
    files = [f"{each.path}: {each.change}" for each in dossier.files]
    more = [f"and {dossier.files_more} more"] if dossier.files_more else []
    yield from _part("files", [*files, *more], terminal)
    yield from _part("frozen", [dossier.frozen] if dossier.frozen else [], terminal)
    budget = [f"{name}: {rounded(used)}" for name, used in dossier.budget.items()]
    yield from _part("budget", budget, terminal)
    yield from _part("not stored", [dossier.unsaved] if dossier.unsaved else [], terminal)
    yield from _part("written to", [dossier.file] if dossier.file else [], terminal)


def _undone(verdict: UndoneVerdict) -> list[str]:
    return [] if verdict == "nothing to undo" else [verdict]


def _part(name: str, values: "tuple[str, ...] | list[str]", terminal: Terminal) -> Iterator[str]:
    for at, value in enumerate(values):
        label = name if at == 0 else ""
        first, *rest = clean(value).text.splitlines() or [""]
        yield f"  {terminal.paint(f'{label:<12}', 'grey')}{first}"
        for line in rest:
            yield f"  {'':<12}{line}"
