"""What the model is told of a rollback: of the side that did not go back. Pure."""

from collections.abc import Sequence

from ...stores.records import PathEnd, RollbackMode
from .rollback import changed_of, left_of

PATHS_TOLD_MAX = 50
"""Paths that the model is told of."""


def note_of(mode: RollbackMode, to: int, paths: Sequence[PathEnd], kept: Sequence[str]) -> str:
    """Return what the model has to know of the side that did not go back; empty: nothing.

    Args:
        paths: what became of each, or for CONTEXT what would have.
    """
    changed, left = changed_of(paths), [each.path for each in left_of(paths)]
    match mode:
        case "soft":
            lines = _soft_lines(to, changed, left)
        case "context":
            lines = _context_lines(to, [*changed, *left])
        case "full":
            lines = _full_lines(to, left)
        case "prune":
            return ""
    if kept and mode != "soft":
        lines.append("This was done after that and is still in effect; do not do it again:")
        lines += [f"- {each}" for each in kept[:PATHS_TOLD_MAX]]
        if not lines[0]:
            lines[0] = f"The session was taken back to checkpoint {to}."
    return "\n".join(line for line in lines if line) if any(lines) else ""


def _soft_lines(to: int, changed: Sequence[str], left: Sequence[str]) -> list[str]:
    if not changed and not left:
        return []
    lines = [
        f"Files were taken back to how they were at checkpoint {to}; this conversation was not."
    ]
    if changed:
        lines.append(f"Reverted: {_named(changed)}. What you did to them since is undone.")
    if left:
        lines.append(f"Left as they are: {_named(left)}.")
    lines.append("Read a file again before you rely on it or change it.")
    return lines


def _context_lines(to: int, differing: Sequence[str]) -> list[str]:
    if not differing:
        return [""]
    return [
        f"This conversation was taken back to checkpoint {to}; the files were not.",
        f"They differ from what it shows: {_named(differing)}.",
        "Read a file again before you rely on it or change it.",
    ]


def _full_lines(to: int, left: Sequence[str]) -> list[str]:
    if not left:
        return [""]
    return [
        f"The session was taken back to checkpoint {to}.",
        f"These files are not as they were then: {_named(left)}. Read them before you rely on them.",
    ]


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - PATHS_TOLD_MAX} more" if len(paths) > PATHS_TOLD_MAX else ""
    return ", ".join(paths[:PATHS_TOLD_MAX]) + more
