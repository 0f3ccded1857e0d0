"""What is said of rollbacks: entries of the journal, events, previews and reports as lines. Pure."""

from collections.abc import Iterator

from ..actors.events import SessionRolledBack
from ..actors.rollback.rollback import RollbackPreview, RollbackReport, changed_of, left_of
from ..stores.records import PathEnd, RollbackMode, RolledBack, RollingBack
from .terminal import Colour, plural

WHAT: dict[RollbackMode, str] = {
    "full": "files and conversation",
    "soft": "files",
    "context": "the conversation",
    "prune": "summing up the conversation",
}


def rollback_words(entry: RollingBack | RolledBack) -> str:
    """Return what an entry says."""
    match entry:
        case RollingBack():
            by = f", by {entry.by}" if entry.by else ""
            if entry.undoes:
                return f"{entry.n} rollback {entry.undoes} is taken back{by}"
            to = "" if entry.to is None else f" to checkpoint {entry.to}"
            forced = ", forced" if entry.force else ""
            return f"{entry.n} {WHAT[entry.mode]}{to}{forced}{by}"
        case RolledBack():
            if entry.state != "done":
                return f"{entry.n} {entry.state}: {entry.error}"
            return f"{entry.n} done: {_sums(entry.paths, entry.paths_more, entry.messages_dropped)}"


def rollback_colour(entry: RollingBack | RolledBack) -> Colour:
    """Return the colour of an entry."""
    return "red" if isinstance(entry, RolledBack) and entry.state != "done" else "yellow"


def rollback_event_words(event: SessionRolledBack) -> tuple[str, Colour]:
    """Return what a line says of an event."""
    if event.state != "done":
        return f"rollback ({event.mode}) {event.state}", "red"
    left = f", {plural(event.left, 'path')} left" if event.left else ""
    paths = plural(event.paths, "path")
    return f"rolled back ({event.mode}) to checkpoint {event.counter}: {paths}{left}", "yellow"


def _sums(paths: tuple[PathEnd, ...], more: int, dropped: int) -> str:
    left = len(left_of(paths))
    parts = [f"{plural(len(changed_of(paths)), 'path')} put back"]
    parts += [f"{plural(left, 'path')} left"] if left else []
    parts += [f"{more} more paths"] if more else []
    parts += [f"{plural(dropped, 'message')} dropped"] if dropped else []
    return ", ".join(parts)


def preview_lines(preview: RollbackPreview) -> Iterator[str]:
    """Yield what a rollback would do, one line a fact."""
    what = WHAT[preview.mode]
    if preview.undoes:
        yield f"would take back rollback {preview.undoes} ({what})"
    else:
        to = "" if preview.to is None else f" to checkpoint {preview.counter}"
        yield (
            f"would take back {what}{to}" if preview.mode != "prune" else f"would begin {what}{to}"
        )
    yield from _path_lines(preview.paths)
    yield from (f"  differs    {path}" for path in preview.differing)
    for each in preview.effects:
        detail = f": {each.detail}" if each.detail else ""
        yield f"  effect     call {each.n}.{each.index} {each.tool}: {each.way}{detail}"
    yield from (f"  not known  {each}" for each in preview.unknown)
    if preview.messages_dropped:
        yield f"  {plural(preview.messages_dropped, 'message')} dropped"


def report_lines(report: RollbackReport) -> Iterator[str]:
    """Yield what a rollback did, one line a fact."""
    if report.state != "done":
        yield f"{report.state}: {report.error}"
    else:
        dropped = report.messages_dropped
        sums = _sums(report.paths, report.paths_more, dropped)
        yield f"done, at checkpoint {report.counter}: {sums}"
    yield from _path_lines(report.paths)
    yield from (f"  still in effect: {each}" for each in report.kept)


def _path_lines(paths: tuple[PathEnd, ...]) -> Iterator[str]:
    for each in paths:
        why = f"  ({each.detail})" if each.detail else ""
        yield f"  {each.did:<11}{each.path}{why}"
