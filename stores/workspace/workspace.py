"""The file of contents and the trees that are kept in it: what a runtime holds of all this."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Literal

from ...supervisor.errors import UsageError
from .archive import Limits, export_tree, import_tree
from .changes import Touched, Window, touched_in
from .collect import GRACE_S, Collected, collect
from .entries import File, path_bytes, path_text
from .look import Only
from .objects import FilesUnusable, Objects
from .plans import Plan, plan_restore
from .restores import Record, Report, Restorer
from .rules import Rules
from .scan import Scanner, Snapshot, no_pause
from .trees import Change, diff, state_at

TREES_KNOWN_MAX = 64
FILES_KNOWN_MAX = 200_000
"""How much is known of trees in memory, some 400 bytes a file; beyond, the least used is saved."""


class WorkspaceFiles:
    """The contents of all sessions' trees, in one SQLite file. Any thread may call.

    Args:
        path: the file; it is made on first use, its folder must exist.
        durability: as of the store: ``full`` survives a power cut, ``normal`` the end of the process.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, durability: Literal["full", "normal"] = "full"
    ) -> None:
        self.path = Path(path)
        synced = durability == "full"
        self.objects = Objects(self.path, synced=synced)
        self.restorer = Restorer(self.objects, synced=synced)
        self._lock = threading.Lock()
        self._scanners: OrderedDict[tuple[str, Rules], Scanner] = OrderedDict()

    def close(self) -> None:
        """Save what is known of trees, and close the file."""
        with self._lock:
            scanners = list(self._scanners.values())
            self._scanners.clear()
        _save(scanners)
        self.objects.close()

    def workspace(
        self, directory: str | os.PathLike[str], rules: Rules | None = None
    ) -> "Workspace":
        """Return a tree; what is known of it is shared by all who ask for it under the same rules."""
        return Workspace(self, os.path.realpath(directory), rules or Rules())

    def scanner(self, directory: str, rules: Rules) -> Scanner:
        """Return the one who looks at a tree, and let go of those not used lately."""
        with self._lock:
            found = self._scanners.get((directory, rules))
            if found is None:
                found = Scanner(self.objects, directory, rules)
                self._scanners[directory, rules] = found
            self._scanners.move_to_end((directory, rules))
            dropped = self._dropped()
        _save(dropped)
        return found

    def _dropped(self) -> list[Scanner]:
        files = sum(scanner.files for scanner in self._scanners.values())
        dropped: list[Scanner] = []
        while len(self._scanners) > 1 and (
            len(self._scanners) > TREES_KNOWN_MAX or files > FILES_KNOWN_MAX
        ):
            _, oldest = self._scanners.popitem(last=False)
            files -= oldest.files
            dropped.append(oldest)
        return dropped

    def changes(self, before: str, after: str) -> dict[str, Change]:
        """Return what differs between two kept trees, by path as text."""
        found = diff(self.objects.tree, bytes.fromhex(before), bytes.fromhex(after))
        return {path_text(path): change for path, change in found.items()}

    def content(self, root: str, path: str) -> bytes | None:
        """Return a file's content as a tree has it; None if there is no file at this path there."""
        entry = state_at(self.objects.tree, bytes.fromhex(root), path_bytes(path))
        return self.objects.get(entry.digest) if isinstance(entry, File) else None

    def pending(self) -> list[Record]:
        """Return the restores that a kill or an error left open, oldest first.

        Only who owns the session may finish or undo one: it could be under way elsewhere.
        """
        return self.restorer.journal.pending()

    def finish(self, restore_id: str, *, pause: Callable[[], None] = no_pause) -> Report:
        """Do what a restore has left undone. Safe to call again.

        Raises:
            RestoreUnknown: there is none of this name.
            OSError: the tree cannot be opened.
        """
        return self.restorer.finish(restore_id, pause)

    def undo(
        self,
        restore_id: str,
        *,
        rules: Rules | None = None,
        force: bool = False,
        name: str = "",
        pause: Callable[[], None] = no_pause,
    ) -> Report:
        """Put the paths a restore has changed back to what they were before it; itself a restore.

        What somebody changed since is left alone, unless forced. ``name`` is as in `Workspace.restore`.

        Raises:
            RestoreUnknown: there is none of this name, or it is kept no more.
            UsageError: it is undone already, or its undo is open.
        """
        record = self.restorer.journal.get(restore_id)
        if record.state in ("undone", "undoing"):
            raise UsageError(f"restore {restore_id} is {record.state} already")
        space = self.workspace(os.fsdecode(record.place), rules or record.rules)
        touched = self.restorer.before_undo(record)
        plan = space.plan_touched(record.plan.current, touched, force=force, pause=pause)
        return space.do(plan, pause, undoes=restore_id, name=name)

    def collect(
        self, roots: Iterable[str], *, grace_s: float = GRACE_S, dry_run: bool = False
    ) -> Collected:
        """Remove contents that nothing needs; see `collect`."""
        return collect(self.objects, roots, grace_s=grace_s, dry_run=dry_run)

    def export_tree(self, root: str, out: BinaryIO) -> None:
        """Write a tree and its contents; see `archive`."""
        export_tree(self.objects, root, out)

    def import_tree(self, source: BinaryIO, limits: Limits | None = None) -> str:
        """Store an exported tree and return its root; see `archive`."""
        return import_tree(self.objects, source, limits or Limits())


def _save(scanners: Iterable[Scanner]) -> None:
    """Save what is known of trees; without that the next process only has more to read."""
    with suppress(FilesUnusable):
        for scanner in scanners:
            scanner.save()


class Workspace:
    """A tree, and how it is looked at. Any thread may call; one look at a time."""

    def __init__(self, files: WorkspaceFiles, directory: str, rules: Rules) -> None:
        self.directory = directory
        self._rules = rules
        self._files = files

    def snapshot(
        self,
        paths: Sequence[str | bytes] | None = None,
        *,
        pause: Callable[[], None] = no_pause,
    ) -> Snapshot:
        """Keep the tree as it is, durably, and return its digest and what it does not cover.

        Args:
            paths: the only paths to look at, relative to the tree or absolute; None looks at all.
                The others are taken as they were at the last look; paths outside are passed over.
            pause: called between two files; what it raises ends the work, and nothing is lost.

        Raises:
            OSError: the directory cannot be opened.
            FilesUnusable: the contents cannot be stored; the disk may be full.
        """
        only = None if paths is None else _only(self.directory, paths)
        return self._scanner.snapshot(only, pause=pause)

    @property
    def _scanner(self) -> Scanner:
        return self._files.scanner(self.directory, self._rules)

    def touched(self, windows: Iterable[Window]) -> dict[bytes, Touched]:
        """Return what a session changed in its windows, all in all."""
        return touched_in(self._files.objects.tree, windows)

    def plan(
        self,
        to: str,
        windows: Iterable[Window],
        *,
        force: bool = False,
        pause: Callable[[], None] = no_pause,
    ) -> Plan:
        """Return what a restore would do; takes a snapshot, and changes nothing in the tree.

        Args:
            to: the tree to go back to.
            windows: of the session since then, in order of time.
            force: also where somebody else changed a path of the session's.

        Raises:
            OSError, FilesUnusable: as `snapshot`.
            ContentLost, TreeDamaged: a kept tree cannot be read.
        """
        return self.plan_touched(to, self.touched(windows), force=force, pause=pause)

    def plan_touched(
        self,
        to: str,
        touched: dict[bytes, Touched],
        *,
        force: bool,
        pause: Callable[[], None] = no_pause,
    ) -> Plan:
        """Return what a restore of some paths would do."""
        current = self.snapshot(pause=pause).root
        read = self._files.objects.tree
        return plan_restore(read, target=to, current=current, touched=touched, force=force)

    def restore(
        self, plan: Plan, *, name: str = "", pause: Callable[[], None] = no_pause
    ) -> Report:
        """Do a plan: journaled, stopped by the first error, finished or undone later where it stopped.

        Args:
            name: the restore's id, never used before; empty: a fresh one. Who writes it down
                beforehand finds out after a kill whether it had begun.

        Raises:
            ContentLost: a content it needs is not stored any more; nothing was changed.
            UsageError: another restore of this tree is open.
        """
        return self.do(plan, pause, name=name)

    def do(
        self, plan: Plan, pause: Callable[[], None], *, undoes: str = "", name: str = ""
    ) -> Report:
        """Do a plan, which may be that of an undo."""
        place = os.fsencode(self.directory)
        return self._files.restorer.begin(place, self._rules, plan, pause, undoes, name)


def _only(directory: str, paths: Sequence[str | bytes]) -> Only | None:
    """Arrange paths by folders; None if one of them is the tree itself."""
    root = os.fsencode(directory)
    top: Only = {}
    for path in paths:
        parts = _parts_inside(root, os.fsencode(path))
        if parts == []:
            return None
        if parts:
            _add(top, parts)
    return top


def _parts_inside(root: bytes, path: bytes) -> list[bytes] | None:
    """Return the names that lead to a path, links above it resolved; None if that is elsewhere."""
    above, name = os.path.split(os.path.normpath(os.path.join(root, path)))
    real = os.path.join(os.path.realpath(above), name)
    if real == root:
        return []
    inside = root.rstrip(b"/") + b"/"
    return real[len(inside) :].split(b"/") if real.startswith(inside) else None


def _add(only: Only, parts: list[bytes]) -> None:
    """Add a path; a folder named whole stands for all that is inside."""
    name, *below = parts
    if not below:
        only[name] = None
    elif (inner := only.setdefault(name, {})) is not None:
        _add(inner, below)
