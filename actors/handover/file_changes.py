"""What a session changed in its files, for whoever decides about it. Pure but for reading kept trees."""

from collections.abc import Iterable, Mapping

from ...stores.records import TreeWindow
from ...stores.workspace import Touched, Window, Workspace, path_text
from ..outcome import FileChange

FILES_TOLD_MAX = 100
"""Files that an outcome names; the others are counted."""


def file_changes(space: Workspace, windows: Iterable[TreeWindow]) -> list[FileChange]:
    """Return what a session changed all in all; blocks, so run it in a thread.

    Raises:
        OSError, UkemiError: a kept tree cannot be read.
    """
    whole = [each for each in windows if each.before and each.after]
    return changes_of(space.touched(Window(each.before, each.after) for each in whole))


def changes_of(touched: Mapping[bytes, Touched]) -> list[FileChange]:
    """Return the changes by path; what is as it was before is none."""
    return [
        FileChange(path=path_text(path), change=_kind(each), shared=each.mixed)
        for path, each in sorted(touched.items())
        if each.before != each.left
    ]


def _kind(each: Touched) -> str:
    if each.before is None:
        return "added"
    return "removed" if each.left is None else "changed"
