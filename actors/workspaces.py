"""The kept trees of all sessions of one runtime: where their contents are, and who writes in which.

Nothing is made before the first look, and every look runs in a thread.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from anyio import Lock, from_thread
from msgspec import Struct

from ..stores.overlay import Overlays
from ..stores.workspace import AsyncFiles, Rules, Snapshot, Workspace, WorkspaceFiles
from ..stores.workspace.rules import SIZE_MAX
from ..supervisor.errors import UsageError

BESIDE = "-files"
"""What the file of contents is called: the store's name and this."""

T = TypeVar("T")


class Snapshots(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How working directories are kept.

    Attributes:
        path: the file of their contents; None: beside the store, under its name with ``-files``.
        exclude: lines of a gitignore file: what is not covered, so never rolled back.
        gitignore: also leave out what the tree's own ``.gitignore`` files name.
        size_max: bytes of a file; larger ones are not covered.
    """

    path: str | Path | None = None
    exclude: tuple[str, ...] = ()
    gitignore: bool = False
    size_max: int = SIZE_MAX


class Watch(Struct, eq=False):
    """A session's calls under way in a directory; ``shared``: another session's are, too."""

    session_id: str
    directory: str
    shared: bool = False


class Workspaces:
    """The kept trees of all sessions of one runtime.

    Args:
        settings: None: nothing is kept.
        store: the store's own file, which no tree may hold, where it is one.
        durability: as of the store.
    """

    def __init__(
        self,
        settings: Snapshots | None,
        store: Path | None = None,
        durability: Any = "full",
    ) -> None:
        self._settings = settings
        store = None if store is None else Path(os.path.abspath(store))
        self._durability = durability
        self.path = _path_of(settings, store)
        own = [each for each in (store, self.path) if each is not None]
        self._own = tuple(os.path.realpath(each) for each in own)
        self._rules = _rules_of(settings or Snapshots())
        self._files: AsyncFiles | None = None
        self.overlays = Overlays()
        self._committing: WeakValueDictionary[str, Lock] = WeakValueDictionary()
        self._watches: list[Watch] = []

    @property
    def on(self) -> bool:
        """Whether directories are kept."""
        return self._settings is not None

    @property
    def files(self) -> AsyncFiles:
        """The contents. Nothing is made before the first look.

        Raises:
            UsageError: nothing is kept here.
        """
        if self._files is None:
            if self.path is None:
                raise UsageError(
                    "no snapshots are kept here: give the runtime a store in a file, or "
                    "snapshots=Snapshots(path=...)"
                )
            self._files = AsyncFiles(WorkspaceFiles(self.path, durability=self._durability))
        return self._files

    def rules(self, directory: str) -> Rules:
        """Return what is left out in a directory: by the settings, and the runtime's own files."""
        top = os.path.realpath(directory)
        inside = top.rstrip("/") + "/"
        own = tuple(each[len(inside) :] for each in self._own if each.startswith(inside))
        rules = self._rules
        return Rules(
            exclude=rules.exclude, gitignore=rules.gitignore, size_max=rules.size_max, own=own
        )

    async def run(self, directory: str, work: Callable[[Workspace], T]) -> T:
        """Do blocking work on a directory in a thread; a cancellation waits for the thread's end."""
        files = self.files

        def on_thread() -> T:
            return work(files.files.workspace(directory, self.rules(directory)))

        return await files.run(on_thread)

    def committing(self, directory: str) -> Lock:
        """Return what lets one staged call at a time change a directory."""
        return self._committing.setdefault(os.path.realpath(directory), Lock())

    async def look(self, directory: str, paths: Sequence[str] | None = None) -> Snapshot:
        """Keep a directory as it is; see `Workspace.snapshot`.

        Raises:
            OSError, UkemiError: it could not be kept.
        """
        return await self.run(directory, partial(_look, paths))

    def watch(self, session_id: str, directory: str) -> Watch:
        """Note that a session's calls may write here; two sessions in one tree know of it."""
        watch = Watch(session_id, os.path.normpath(directory))
        for other in self._watches:
            if other.session_id != session_id and _meet(other.directory, watch.directory):
                other.shared = watch.shared = True
        self._watches.append(watch)
        return watch

    def leave(self, watch: Watch) -> None:
        """Note that these calls have ended."""
        self._watches.remove(watch)

    async def close(self) -> None:
        """Save what is known of trees, and close the file."""
        if self._files is not None:
            await self._files.run(self.overlays.close)
            await self._files.close()


def _path_of(settings: Snapshots | None, store: Path | None) -> Path | None:
    if settings is None:
        return None
    if settings.path is not None:
        return Path(settings.path)
    return None if store is None else store.with_name(store.name + BESIDE)


def _rules_of(settings: Snapshots) -> Rules:
    return Rules(exclude=settings.exclude, gitignore=settings.gitignore, size_max=settings.size_max)


def _meet(one: str, other: str) -> bool:
    """Tell whether a directory is the other, or lies in it."""
    shorter, longer = sorted((one.rstrip("/") + "/", other.rstrip("/") + "/"), key=len)
    return longer.startswith(shorter)


def _look(paths: Sequence[str] | None, space: Workspace) -> Snapshot:
    wanted = None if paths is None else _with_targets(space.directory, paths)
    return space.snapshot(wanted, pause=from_thread.check_cancelled)


def _with_targets(directory: str, paths: Sequence[str]) -> list[str]:
    """Return paths, and where they lead: a tool that is given a link may write through it."""
    found = dict.fromkeys(paths)
    for path in paths:
        with suppress(OSError, ValueError):
            found[os.path.realpath(os.path.join(directory, path))] = None
    return list(found)


def settings_of(snapshots: bool | Snapshots | None, store: Path | None) -> Snapshots | None:
    """Return how directories are kept; None: not at all.

    Raises:
        UsageError: they are wanted, and there is no file to keep them in.
    """
    if snapshots is None:
        return None if store is None else Snapshots()
    if isinstance(snapshots, Snapshots):
        settings = snapshots
    elif snapshots is False:
        return None
    else:
        settings = Snapshots()
    if settings.path is None and store is None:
        raise UsageError(
            "snapshots of a store that is no file need a path: snapshots=Snapshots(path=...)"
        )
    _rules_of(settings)  # says what is wrong with its lines
    return settings
