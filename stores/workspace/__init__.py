"""Snapshots of working directories, and the way back to them.

This part of the room keeps contents by their digest, finds out what changed between two looks, plans
a way back and walks it. It knows no sessions: who changed what is told by the windows it is given.

How a session uses it::

    files = WorkspaceFiles("agents.db-files")          # one SQLite file of contents for all sessions
    space = files.workspace("/path/to/tree", Rules())  # cheap; shares what it knows of the tree

    before = space.snapshot()                          # around each call that may write
    ...                                                # the tool runs
    after = space.snapshot()                           # or snapshot(paths=["a.txt"]): declared paths
    window = Window(before.root, after.root)           # two digests; store them with the call

    plan = space.plan(to=root, windows=windows_since)  # the preview; changes nothing
    report = space.restore(plan)                       # journaled; report.clean, report.outcomes
    undone = space.undo(report.restore_id)             # back to before the restore, same paths only

    for pending in files.pending():                    # at start: what a kill or an error left open
        files.finish(pending.restore_id)               # or files.undo(...)
    files.collect(roots=[...], dry_run=True)           # unreferenced contents

All of it blocks; `AsyncFiles` and `AsyncWorkspace` run it in threads, where cancellation is seen between two
files. Windows are in order of time and do not overlap: calls that ran side by side are one window,
from before the first to after the last.

Files, each using only those before it: entries · trees, changes · plans · objects · folders · rules ·
nodes · look · scan · steps · restores · collect, archive · workspace · front.
"""

from .archive import ArchiveRefused, Limits
from .changes import Touched, Window
from .collect import Collected
from .entries import Entry, File, Folder, Link, TreeDamaged, Uncovered, path_bytes, path_text
from .front import AsyncFiles, AsyncWorkspace
from .objects import ContentLost, FilesUnusable
from .plans import Left, Plan, Step
from .restores import Record, Report, RestoreUnknown
from .rules import Rules
from .scan import LeftOut, Snapshot
from .steps import Outcome
from .trees import Change
from .workspace import Workspace, WorkspaceFiles

__all__ = [
    "ArchiveRefused",
    "AsyncFiles",
    "AsyncWorkspace",
    "Change",
    "Collected",
    "ContentLost",
    "Entry",
    "File",
    "FilesUnusable",
    "Folder",
    "Left",
    "LeftOut",
    "Limits",
    "Link",
    "Outcome",
    "Plan",
    "Record",
    "Report",
    "RestoreUnknown",
    "Rules",
    "Snapshot",
    "Step",
    "Touched",
    "TreeDamaged",
    "Uncovered",
    "Window",
    "Workspace",
    "WorkspaceFiles",
    "path_bytes",
    "path_text",
]
