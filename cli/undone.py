"""What is said of effects that are undone: entries of the journal and events as lines. Pure."""

from ..actors.end_events import (
    CompensationFinished,
    CompensationStarted,
    SessionFrozen,
    SessionUnwinding,
)
from ..stores.records import Frozen, Undoing, Undone, UndoState, UndoStep, Unwinding
from .terminal import Colour, duration

WORDS: dict[UndoState, str] = {
    "again": "failed in passing",
    "compensated": "compensated",
    "rolled_back": "rolled back",
    "not_rolled_back": "not rolled back",
    "failed": "compensation failed",
    "in_doubt": "compensation in doubt",
    "abandoned": "abandoned",
}
DONE: frozenset[UndoState] = frozenset({"compensated", "rolled_back"})


def undo_entry_words(entry: Unwinding | Undoing | Undone | Frozen) -> str:
    """Return what an entry says."""
    match entry:
        case Unwinding(steps):
            by = f", by a {entry.by}" if entry.by else ""
            return f"{len(steps)} effects are to be undone{by}: {_named(steps)}"
        case Undoing(n, index, attempt, key):
            with_key = f", key {key}" if key else ""
            return f"{n}.{index} compensation, attempt {attempt}{with_key}"
        case Undone():
            return f"{entry.n}.{entry.index} {undone_words(entry)}"
        case Frozen(why, steps):
            return f"nothing is undone, {why}; left as they are: {_named(steps)}"


def undone_words(entry: Undone) -> str:
    """Return what became of an effect, or of one attempt to undo it."""
    error = f" ({entry.error_class})" if entry.error_class else ""
    wait = f", wait {duration(entry.wait_s)}" if entry.state == "again" else ""
    by = f", by a {entry.by}" if entry.by else ""
    attempts = f", {entry.attempts} attempts" if entry.attempts > 1 else ""
    content = f": {entry.content}" if entry.content else ""
    return f"{WORDS[entry.state]}{error}{attempts}{wait}{by}{content}"


def undo_colour(entry: Unwinding | Undoing | Undone | Frozen) -> Colour | None:
    """Return the colour of an entry."""
    if isinstance(entry, Undone):
        return None if entry.state in DONE else "yellow" if entry.state == "again" else "red"
    return "grey" if isinstance(entry, Undoing) else "yellow"


def _named(steps: tuple[UndoStep, ...]) -> str:
    return ", ".join(f"{step.n}.{step.index} {step.tool}" for step in steps)


def undo_event_words(
    event: SessionUnwinding | SessionFrozen | CompensationStarted | CompensationFinished,
) -> tuple[str, Colour | None]:
    """Return what a line says of an event."""
    match event:
        case SessionUnwinding():
            return f"{event.effects} effects are undone before the end", "yellow"
        case SessionFrozen():
            return f"nothing is undone of {event.effects} effects: {event.why}", "yellow"
        case CompensationStarted():
            again = f", attempt {event.attempt}" if event.attempt > 1 else ""
            return f"compensation of {event.tool} ({event.n}.{event.index}) started{again}", "grey"
        case CompensationFinished():
            error = f" ({event.error_class})" if event.error_class else ""
            said = f"{event.tool} ({event.n}.{event.index}) {WORDS[event.state]}{error}"
            return said, None if event.state in DONE else "red"
