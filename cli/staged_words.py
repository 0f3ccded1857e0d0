"""What is said of staged calls: entries of the journal, and events, as lines. Pure."""

from ..actors.events import ChangeDecided
from ..stores.records import StagedCheck, StagedPath, StagedResult
from .terminal import Colour, plural

SHOWN = 5


def staged_words(entry: StagedResult | StagedCheck) -> str:
    """Return what an entry says."""
    match entry:
        case StagedResult():
            changes = _changes(entry.paths, entry.paths_more)
            return f"would change {changes}" if entry.tree else "prepared"
        case StagedCheck():
            return f"rejected by {entry.by}: {entry.problem}" if entry.problem else "checks passed"


def staged_event_words(event: ChangeDecided) -> tuple[str, Colour]:
    """Return what a line says of an event."""
    files = f", {plural(len(event.paths), 'path')}" if event.paths else ""
    said = f"{event.tool} ({event.n}.{event.index}) {event.verdict}{files}"
    if event.verdict == "committed":
        return said, "green"
    return (f"{said}: {event.why}" if event.why else said), "red"


def _changes(paths: tuple[StagedPath, ...], more: int) -> str:
    shown = ", ".join(f"{each.path} ({each.kind})" for each in paths[:SHOWN])
    left = len(paths) - SHOWN + more
    return f"{shown} and {left} more" if left > 0 else shown
