"""The files' part of staging: a private copy to run in, what was changed there, and its way back into
the working directory. All of it blocks and runs in a thread.

A commit is a restore of the tree that the call left in its copy, with the name of the call: journaled,
so a later life finds out whether it had begun, and finishes it.
"""

from anyio import from_thread
from msgspec import Struct

from ...stores.overlay import Overlay, print_of
from ...stores.records import PathEnd, StagedPath, TreeWindow
from ...stores.workspace import (
    Change,
    File,
    Report,
    Rules,
    Touched,
    Uncovered,
    Workspace,
    WorkspaceFiles,
    path_text,
)
from ...stores.workspace.scan import Scanner
from ...stores.workspace.trees import ReadTree, diff, walk
from ...supervisor.errors import UkemiError, UsageError
from ..rollback.rolling_files import unroll_files, walked
from .checks import StagedFile

PATHS_KEPT = 200
"""Paths of a change that its journal entry names; the kept trees have all of them."""
NOT_KEPT_SHOWN = 5
TAKEN_BACK = "t"
"""Ends the name of the restore that takes a commit back which met a conflict on its way."""

_GOOD = frozenset({"restored", "deleted", "as wanted"})


class Conflict(UkemiError):
    """Nothing was committed: somebody else changed the same paths meanwhile, or is at it."""


class NotWritten(UkemiError):
    """Nothing is committed: the system did not let us write."""


class Stuck(UkemiError):
    """A commit stopped half-way and could not be taken back; a person has to look."""


class Area:
    """A private copy, as it was before the call."""

    def __init__(self, overlay: Overlay, files: WorkspaceFiles, rules: Rules) -> None:
        self.overlay = overlay
        self._scanner = Scanner(files.objects, overlay.directory, rules)
        self._read = files.objects.tree
        self.base = self._look()
        self._prints = self._print(self.base)

    def _look(self) -> str:
        return self._scanner.snapshot(pause=from_thread.check_cancelled).root

    def changed(self) -> "Archived":
        """Keep the copy as the call has left it."""
        tree = self._look()
        after = self._print(tree)
        if tree == self.base and after == self._prints:
            return Archived(self.base, tree)
        found = changes_of(self._read, self.base, tree)
        paths = [_shown(path, change) for path, change in found.items() if _is_kept(change)]
        lost = {path for path, change in found.items() if not _is_kept(change)}
        lost |= {
            path
            for path in self._prints.keys() | after.keys()
            if self._prints.get(path) != after.get(path)
        }
        return Archived(
            self.base,
            tree,
            tuple(paths[:PATHS_KEPT]),
            max(0, len(paths) - PATHS_KEPT),
            tuple(path_text(path) for path in sorted(lost)[:NOT_KEPT_SHOWN]),
        )

    def forget(self) -> None:
        """Let go of what is known of the copy."""
        self._scanner.forget()

    def _print(self, root: str) -> dict[bytes, int]:
        """Return how what is not kept stands."""
        top = self.overlay.directory.encode(errors="surrogateescape")
        return {
            path: print_of((top + b"/" + path).decode(errors="surrogateescape"))
            for path, entry in walk(self._read, bytes.fromhex(root))
            if isinstance(entry, Uncovered)
        }


class Archived(Struct, frozen=True):
    """What a call has changed in its copy, as kept trees; see `StagedResult`."""

    base: str
    tree: str
    paths: tuple[StagedPath, ...] = ()
    paths_more: int = 0
    not_kept: tuple[str, ...] = ()


class FilesCommitted(Struct, frozen=True):
    """What a commit did to the working directory."""

    windows: tuple[TreeWindow, ...] = ()


def changes_of(read: ReadTree, base: str, tree: str) -> dict[bytes, Change]:
    """Return what differs between two kept trees."""
    return diff(read, bytes.fromhex(base), bytes.fromhex(tree))


def files_of(files: WorkspaceFiles, base: str, tree: str) -> tuple[StagedFile, ...]:
    """Return what a call would change, with its contents at hand."""
    if base == tree:
        return ()
    found = changes_of(files.objects.tree, base, tree)
    return tuple(
        StagedFile(path_text(path), change, files.objects.get)
        for path, change in sorted(found.items())
        if _is_kept(change)
    )


def commit_files(
    files: WorkspaceFiles, space: Workspace, base: str, tree: str, name: str
) -> FilesCommitted:
    """Carry a call's changes over into the working directory, or go on with that.

    Paths that are as the call left them already are passed over. All are carried over, or none.

    Raises:
        Conflict, NotWritten: nothing is changed.
        Stuck: some paths are changed and others not.
        OSError, UkemiError: nothing is changed.
    """
    ended = walked(files, space, name, lambda: _begin(files, space, base, tree, name))
    bad = [each for each in ended.paths if each.did not in _GOOD]
    if ended.state == "stuck":
        raise Stuck(_words(bad))
    if ended.state == "failed":
        raise NotWritten(_words(bad))
    if bad:
        _take_back(files, space, name, bad)
    return FilesCommitted(ended.windows)


def _begin(files: WorkspaceFiles, space: Workspace, base: str, tree: str, name: str) -> Report:
    # Seen from the tree that the call has left, the way there is a way back: from what it began with.
    found = changes_of(files.objects.tree, base, tree)
    touched = {
        path: Touched(change.after, change.before)
        for path, change in found.items()
        if _is_kept(change)
    }
    pause = from_thread.check_cancelled
    plan = space.plan_touched(tree, touched, force=False, pause=pause)
    if plan.left:
        raise Conflict(
            _words([PathEnd(path_text(one.path), "conflict", one.why) for one in plan.left])
        )
    try:
        return space.restore(plan, name=name, pause=pause)
    except UsageError as error:
        raise Conflict(f"the working directory is being changed: {error}") from error


def _take_back(files: WorkspaceFiles, space: Workspace, name: str, bad: list[PathEnd]) -> None:
    """Take a commit back that met what somebody else changed in the last moment."""
    back = unroll_files(files, space, restore_id=name, name=name + TAKEN_BACK, force=False)
    left = [each for each in back.paths if each.did not in _GOOD]
    if back.state == "done" and not left:
        raise Conflict(_words(bad))
    raise Stuck(_words(left or bad))


def _words(paths: list[PathEnd]) -> str:
    shown = ", ".join(f"{one.path} ({one.detail or one.did})" for one in paths[:NOT_KEPT_SHOWN])
    more = len(paths) - NOT_KEPT_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _is_kept(change: Change) -> bool:
    return not isinstance(change.before, Uncovered) and not isinstance(change.after, Uncovered)


def _shown(path: bytes, change: Change) -> StagedPath:
    size = change.after.size if isinstance(change.after, File) else 0
    return StagedPath(path_text(path), change.kind, size)
