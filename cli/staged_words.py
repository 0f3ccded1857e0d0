"""What is said of staged calls: entries of the journal, and events, as lines. Pure."""

from ..actors.events import ChangeDecided
from ..actors.staging.records import StagedRecord
from ..stores.records import StagedCheck, StagedPath, StagedResult
from .terminal import Colour, one_line, plural

SHOWN = 5


def staged_words(entry: StagedResult | StagedCheck) -> str:
    """Return what an entry says."""
    match entry:
        case StagedResult():
            changes = _changes(entry.paths, entry.paths_more)
            return f"would change {changes}" if entry.tree else "prepared"
        case StagedCheck():
            return f"rejected by {entry.by}: {entry.problem}" if entry.problem else "checks passed"


def staged_title(record: StagedRecord) -> str:
    """Return the line above a staged change: its call, and what was decided."""
    said = record.state.replace("_", " ")
    by = f" by {record.by}" if record.by else ""
    why = f": {one_line(record.why)}" if record.why else ""
    changes = _changes(record.paths, record.paths_more)
    what = f"\n{changes}" if changes else ""
    return f"{record.n}.{record.index} {record.tool} {said}{by}{why}{what}"


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
