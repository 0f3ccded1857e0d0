"""Walking the way back: each step looks again, changes one path as a whole, and may be done twice.

A step acts only on the state it was planned for. The folders above a path are opened one by one
without following links; a path that is not as it was is left alone and said to be.
"""

import errno
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Literal

from msgspec import Struct

from .entries import Entry, File, Folder, Link, digest_of, same
from .folders import (
    FOLDER,
    entry_at,
    opened,
    remove_if_there,
    set_mode,
    write_file,
    write_link,
)
from .look import TEMPORARY
from .objects import ContentLost
from .plans import Step

Did = Literal["restored", "deleted", "as wanted", "changed meanwhile", "failed", "not tried"]
"""What became of a step; only the first two changed anything."""

WRITERS = 4
GROUP = 256
_OPEN = 0o700
# The folder above is missing, no folder, or a link.
_NO_WAY = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class Outcome(Struct, frozen=True):
    """What became of a step, and the system's words where it failed."""

    path: bytes
    did: Did
    detail: str = ""


class Walk:
    """Does the steps of one restore in one tree.

    Args:
        top: the tree, opened.
        name: of the restore; the names of its temporary files begin with it.
        content: gives contents by digest.
        synced: whether what is done survives a power cut.
    """

    def __init__(
        self, top: int, name: str, content: Callable[[bytes], bytes], *, synced: bool
    ) -> None:
        self._top = top
        self._name = name
        self._content = content
        self._synced = synced

    def all(self, steps: tuple[Step, ...], pause: Callable[[], None]) -> tuple[Outcome, ...]:
        """Do the steps; the first error ends it, and what is not under way then is not tried.

        What ``pause`` raises passes, with every step done or not begun.
        """
        outcomes = {step.path: Outcome(step.path, "not tried") for step in steps}
        try:
            self._open_folders(steps)
            for group in _groups(_in_order(steps)):
                pause()
                done = self._together(group)
                outcomes |= {outcome.path: outcome for outcome in done}
                if any(outcome.did == "failed" for outcome in done):
                    break
        finally:
            failed = self.close_folders(steps)
        for path, error in failed.items():
            outcomes[path] = Outcome(path, "failed", _words(error))
        self._sync(outcome.path for outcome in outcomes.values() if outcome.did in _CHANGED)
        return tuple(outcomes[step.path] for step in steps)

    def _together(self, group: Sequence[Step]) -> list[Outcome]:
        """Do steps that do not depend on each other; most of the time is waiting for the disk."""
        if len(group) == 1:
            return [self._tried(group[0])]
        with ThreadPoolExecutor(WRITERS, thread_name_prefix="ukemi-restore") as pool:
            return list(pool.map(self._tried, group))

    def _tried(self, step: Step) -> Outcome:
        try:
            did, detail = self._do(step)
        except OSError as error:
            return Outcome(step.path, "failed", _words(error))
        except ContentLost as error:
            return Outcome(step.path, "failed", str(error))
        return Outcome(step.path, did, detail)

    def _do(self, step: Step) -> tuple[Did, str]:
        """Do a step, unless it is done or the path is not as it was."""
        with self._place(step.path) as place:
            if place is None:
                gone = step.want is None
                return ("as wanted", "") if gone else ("changed meanwhile", "its folder is gone")
            folder, name = place
            have = entry_at(folder, name, _longest(step))
            if _reached(have, step):
                return "as wanted", ""
            if not _expected(have, step):
                return "changed meanwhile", ""
            return self._change(folder, name, have, step)

    def _change(self, folder: int, name: bytes, have: Entry | None, step: Step) -> tuple[Did, str]:
        inside = isinstance(have, Folder) and not isinstance(step.want, Folder)
        if inside and not _removed(folder, name):
            return "changed meanwhile", "holds what others made"
        match step.want:
            case File() as file:
                self._put_file(folder, name, have, file, step.path)
            case Link(target=target):
                write_link(folder, name, self._temporary(step.path), target)
            case Folder():
                if not isinstance(have, Folder):
                    remove_if_there(folder, name)
                    os.mkdir(name, _OPEN, dir_fd=folder)
            case _:
                if not inside:
                    os.unlink(name, dir_fd=folder)
                return "deleted", ""
        return "restored", ""

    def _put_file(
        self, folder: int, name: bytes, have: Entry | None, file: File, path: bytes
    ) -> None:
        if isinstance(have, File) and have.digest == file.digest:
            set_mode(folder, name, file.mode)
            return
        data = self._content(file.digest)
        temporary = self._temporary(path)
        write_file(folder, name, temporary, data, file.mode, synced=self._synced)

    def _temporary(self, path: bytes) -> bytes:
        return TEMPORARY + f"{self._name}-{digest_of(path).hex()[:16]}".encode()

    def clean(self, steps: Iterable[Step]) -> None:
        """Remove what a kill left under temporary names."""
        for step in steps:
            with suppress(OSError), self._place(step.path) as place:
                if place is not None:
                    remove_if_there(place[0], self._temporary(step.path))

    def between(self, step: Step) -> bool:
        """Tell whether a kill caught a step between its two operations."""
        with self._place(step.path) as place:
            return _in_two(step) and place is not None and entry_at(*place, 0) is None

    def _open_folders(self, steps: Iterable[Step]) -> None:
        """Let us write into the folders that are dealt with; their own modes come last.

        What cannot be opened up here fails at the step that needs it.
        """
        for step, mode, _ in self._folders(steps):
            if mode & _OPEN != _OPEN and mode in _own_modes(step):
                with suppress(OSError):
                    self._set_mode(step.path, mode | _OPEN)

    def close_folders(self, steps: Iterable[Step]) -> dict[bytes, OSError]:
        """Give folders the mode they should have, those inside first; return what went wrong."""
        failed: dict[bytes, OSError] = {}
        for step, mode, wanted in self._folders(sorted(steps, key=_path, reverse=True)):
            if mode != wanted and mode in _passing_modes(step):
                try:
                    self._set_mode(step.path, wanted)
                except OSError as error:
                    failed[step.path] = error
        return failed

    def _folders(self, steps: Iterable[Step]) -> Iterator[tuple[Step, int, int]]:
        """Yield the steps at folders, with the mode each folder has and the one it should end with."""
        for step in steps:
            ours = step.want if isinstance(step.want, Folder) else step.now
            if not isinstance(ours, Folder):
                continue
            with suppress(OSError), self._place(step.path) as place:
                have = entry_at(*place, 0) if place else None
                if isinstance(have, Folder):
                    yield step, have.mode, ours.mode

    def _set_mode(self, path: bytes, mode: int) -> None:
        with self._place(path) as place:
            if place is not None:
                set_mode(*place, mode)

    @contextmanager
    def _place(self, path: bytes) -> Generator[tuple[int, bytes] | None]:
        """Open the folder a path lies in; None if there is none that can be reached without links."""
        *above, name = path.split(b"/")
        try:
            folder = self._folder(above)
        except OSError as error:
            if error.errno not in _NO_WAY:
                raise
            yield None
            return
        try:
            yield folder, name
        finally:
            os.close(folder)

    def _folder(self, parts: list[bytes]) -> int:
        with opened(self._top, parts) as folder:
            return os.dup(folder)

    def _sync(self, paths: Iterable[bytes]) -> None:
        """Make what was done in folders outlast a power cut."""
        if not self._synced:
            return
        for above in {path.rpartition(b"/")[0] for path in paths}:
            parts = above.split(b"/") if above else []
            with suppress(FileNotFoundError, NotADirectoryError), opened(self._top, parts) as one:
                os.fsync(one)


_CHANGED: tuple[Did, ...] = ("restored", "deleted")


def open_top(directory: str) -> int:
    """Open a tree for a walk."""
    return os.open(directory, FOLDER)


def _path(step: Step) -> bytes:
    return step.path


def _in_order(steps: tuple[Step, ...]) -> list[Step]:
    """Deletions first and from the end, so that folders are empty when they go; then the rest."""
    deleting = sorted((step for step in steps if step.deletes), key=_path, reverse=True)
    return deleting + sorted((step for step in steps if not step.deletes), key=_path)


def _groups(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Yield steps to be done together, in their order: of a few steps each alone, so that the first error
    leaves nothing done behind it; of many, those between two folders."""
    at_once = 1 if len(steps) <= GROUP else GROUP
    group: list[Step] = []
    for step in steps:
        folder = isinstance(step.now, Folder) or isinstance(step.want, Folder)
        if group and (folder or len(group) == at_once):
            yield group
            group = []
        group.append(step)
        if folder:
            yield group
            group = []
    if group:
        yield group


def _reached(have: Entry | None, step: Step) -> bool:
    """Tell whether a path is as wanted; a folder's mode is set when all else is done."""
    if isinstance(have, Folder) and isinstance(step.want, Folder):
        return have.mode == step.want.mode
    return same(have, step.want)


def _expected(have: Entry | None, step: Step) -> bool:
    """Tell whether a path is as planned for, or as an interrupted step leaves it."""
    if isinstance(have, Folder):
        return have.mode in _own_modes(step) | _passing_modes(step)
    return same(have, step.now) or (have is None and _in_two(step))


def _in_two(step: Step) -> bool:
    """Tell whether a step takes two operations: a folder becomes something else, or is made of it."""
    return isinstance(step.want, Folder) != isinstance(step.now, Folder)


def _own_modes(step: Step) -> set[int]:
    return {one.mode for one in (step.now, step.want) if isinstance(one, Folder)}


def _passing_modes(step: Step) -> set[int]:
    """Return the modes a folder of ours may have while the walk is under way, or before it."""
    own = _own_modes(step)
    return {_OPEN} | own | {mode | _OPEN for mode in own}


def _longest(step: Step) -> int:
    """Return the length beyond which a file is neither as planned nor as wanted."""
    return max((one.size for one in (step.now, step.want) if isinstance(one, File)), default=0)


def _removed(folder: int, name: bytes) -> bool:
    try:
        os.rmdir(name, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def _words(error: OSError) -> str:
    return error.strerror or str(error)


def contents_of(steps: Iterable[Step]) -> Mapping[bytes, bytes]:
    """Return the digests of the contents that steps will write, by path."""
    return {step.path: step.want.digest for step in steps if isinstance(step.want, File)}
