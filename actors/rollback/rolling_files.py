"""The files' part of a rollback: planned from a session's windows, walked as a journaled restore.

All of it blocks and runs in a thread. A restore has the name of its rollback, so a later life finds
out whether it had begun; one that an error stops is undone at once, and whether that went well is said.
"""

import hashlib
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec
from anyio import from_thread
from msgspec import Struct

from ...stores.records import PathEnd, TreeWindow
from ...stores.workspace import (
    Plan,
    Report,
    RestoreUnknown,
    Touched,
    Window,
    Workspace,
    WorkspaceFiles,
    path_text,
)
from ..ledger import CallId
from .rollback import ended_paths, left_of
from .windows import Since

UNDO = "u"
"""Ends the name of the restore that takes a stopped one back."""


class FilesEnd(Struct, frozen=True):
    """How the files' part ended: as a rollback does; ``undone`` are the calls whose files are back."""

    state: Literal["done", "failed", "stuck"]
    paths: tuple[PathEnd, ...] = ()
    restore_id: str = ""
    windows: tuple[TreeWindow, ...] = ()
    undone: tuple[CallId, ...] = ()


def restore_name(session_id: str, what: str) -> str:
    """Return the name of a session's restore, the same in every life.

    Args:
        what: the rollback, or the call that is undone; no other of the session is called so.
    """
    return hashlib.sha256(f"{session_id}\n{what}\nrollback".encode()).hexdigest()[:16]


def plan_files(space: Workspace, since: Since, *, force: bool) -> Plan | None:
    """Return what a restore would do; None where no look says what the session changed.

    What changed while nobody knows who wrote counts as changed by others as well.

    Raises:
        OSError, UkemiError: the tree cannot be looked at, or a kept one cannot be read.
    """
    if not since.windows:
        return None
    pause = from_thread.check_cancelled
    current = space.snapshot(pause=pause).root
    windows = [msgspec.structs.replace(each, after=each.after or current) for each in since.windows]
    touched = space.touched(Window(each.before, each.after) for each in windows)
    for each in windows:
        if each.shared:
            for path in space.touched([Window(each.before, each.after)]):
                touched[path] = mixed(touched[path])
    return space.plan_touched(since.root, touched, force=force, pause=pause)


def mixed(touched: Touched) -> Touched:
    """Return a change that somebody else may have had a hand in."""
    return Touched(touched.before, touched.left, mixed=True)


def roll_files(
    files: WorkspaceFiles, space: Workspace, since: Since, *, name: str, force: bool
) -> FilesEnd:
    """Take the files back, or go on with that where an earlier life began it.

    Raises:
        OSError, UkemiError: nothing was changed.
    """

    def begin() -> Report:
        plan = plan_files(space, since, force=force)
        if plan is None:
            return Report("", "done")
        return space.restore(plan, name=name, pause=from_thread.check_cancelled)

    ended = walked(files, space, name, begin)
    if ended.state != "done":
        return ended
    return msgspec.structs.replace(ended, undone=_calls_back(space, since, ended.paths))


def unroll_files(
    files: WorkspaceFiles, space: Workspace, *, restore_id: str, name: str, force: bool
) -> FilesEnd:
    """Take a restore back, or go on with that where an earlier life began it.

    Raises:
        OSError, UkemiError: nothing was changed.
    """
    return walked(files, space, name, lambda: _undo(files, restore_id, name, force=force))


def _undo(files: WorkspaceFiles, restore_id: str, name: str, *, force: bool = False) -> Report:
    return files.undo(restore_id, force=force, name=name, pause=from_thread.check_cancelled)


def walked(
    files: WorkspaceFiles, space: Workspace, name: str, begin: Callable[[], Report]
) -> FilesEnd:
    """Do a restore of this name, or go on with it; one that an error stops is undone at once."""
    taken_back = _finished(files, name + UNDO)
    if taken_back is not None:
        return _stopped(files, name, taken_back)
    resumed = _finished(files, name)
    report = begin() if resumed is None else _all_of(files, name, resumed)
    if report.state == "stopped":
        return _stopped(files, name, _undo(files, name, name + UNDO))
    paths = ended_paths(report)
    if not report.restore_id:
        return FilesEnd("done", paths)
    changed = [one.path for one in report.outcomes if one.did in ("restored", "deleted")]
    before = files.restorer.journal.get(name).plan.current
    # What others change meanwhile is not of this window: only our own paths are looked at.
    after = space.snapshot(changed, pause=from_thread.check_cancelled).root if changed else before
    return FilesEnd("done", paths, name, (TreeWindow(before, after),))


def _finished(files: WorkspaceFiles, name: str) -> Report | None:
    """Return the end of a restore that an earlier life began; None where it did not."""
    try:
        return files.finish(name, pause=from_thread.check_cancelled)
    except RestoreUnknown:
        return None


def _all_of(files: WorkspaceFiles, name: str, report: Report) -> Report:
    """Count what an earlier life had done: to this one it looked as if it had always been so."""
    steps = {step.path: step for step in files.restorer.journal.get(name).plan.steps}
    outcomes = tuple(
        msgspec.structs.replace(one, did="deleted" if steps[one.path].deletes else "restored")
        if one.did == "as wanted"
        else one
        for one in report.outcomes
    )
    return msgspec.structs.replace(report, outcomes=outcomes)


def _stopped(files: WorkspaceFiles, name: str, taken_back: Report) -> FilesEnd:
    """Return the end of a restore that an error stopped, once it was undone, or could not be."""
    record = files.restorer.journal.get(name)
    first = Report(name, "stopped", record.outcomes, record.plan.left)
    bad = ("changed meanwhile", "failed", "not tried")
    is_whole = not taken_back.left and all(one.did not in bad for one in taken_back.outcomes)
    return FilesEnd("failed" if is_whole else "stuck", ended_paths(first), name)


def _calls_back(space: Workspace, since: Since, paths: Iterable[PathEnd]) -> tuple[CallId, ...]:
    """Return the calls of which nothing is left in the files."""
    stays = {each.path for each in left_of(paths)}
    return tuple(
        call for call, windows in since.calls.items() if not stays & _touched(space, windows)
    )


def _touched(space: Workspace, windows: Iterable[TreeWindow]) -> set[str]:
    found = space.touched(Window(each.before, each.after) for each in windows)
    return {path_text(path) for path in found}
