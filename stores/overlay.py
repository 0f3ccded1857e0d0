"""Private copies of a tree: what is done to one is not done to the tree until somebody carries it over.

All of it blocks. Contents are shared with the original where the file system can do that until one is
written (reflinks), and copied elsewhere; never by hard links, since a program that edits a file in
place would edit the original.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Collection
from pathlib import Path

from msgspec import Struct

from ..supervisor.errors import PermissionDenied, ResourceExhausted

_FICLONE = 0x40049409
_LOCK = "lock"


class Overlay(Struct, frozen=True):
    """A private copy: where it is, and the real path of the tree it is a copy of."""

    directory: str
    source: str


class Overlays:
    """The private copies of one process.

    They lie in a folder of its own, which the system locks for as long as the process lives; those of
    processes that were killed are removed by the next one.

    Args:
        top: where such folders are; None: in the system's folder for temporary files.
    """

    def __init__(self, top: Path | None = None) -> None:
        self._top = top
        self._home: Path | None = None
        self._lock = -1
        self._making = threading.Lock()

    def make(
        self,
        source: str,
        *,
        bytes_max: int,
        own: Collection[str] = (),
        pause: Callable[[], None] = lambda: None,
    ) -> Overlay:
        """Copy a tree.

        Args:
            bytes_max: a larger one is not copied.
            own: files, relative to the tree, that are left out with whatever lies beside them under
                their name and a hyphen: those of the store.
            pause: called between two files; what it raises ends the work.

        Raises:
            ResourceExhausted: the tree is larger, or copies would lie inside of it.
            OSError: it cannot be read, or the disk is full.
        """
        source = os.path.realpath(source)
        with self._making:
            home = self._made()
        if str(home).startswith(source.rstrip("/") + "/"):
            raise ResourceExhausted(
                f"{source} cannot be staged: private copies of it would lie inside of it, in {home}",
                may_have_executed="no",
            )
        overlay = Overlay(str(home / secrets.token_hex(8)), source)
        try:
            _Copying(overlay, bytes_max, own, pause).run()
        except BaseException:
            self.remove(overlay)
            raise
        return overlay

    def remove(self, overlay: Overlay) -> None:
        """Remove a copy, and what a tool has made of it."""
        _remove(overlay.directory)

    def close(self) -> None:
        """Remove all copies of this process."""
        if self._home is not None:
            _remove(str(self._home))
            os.close(self._lock)
            self._home = None

    def _made(self) -> Path:
        if self._home is None:
            top = self._top or Path(tempfile.gettempdir()) / f"ukemi-staging-{os.getuid()}"
            _ours(top)
            _sweep(top)
            home = top / f"{os.getpid()}-{secrets.token_hex(4)}"
            # Locked before it is there under its name, or another process could take it for a dead one's.
            made = Path(tempfile.mkdtemp(prefix=".", dir=top))
            self._lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            made.rename(home)
            self._home = home
        return Path(os.path.realpath(self._home))


def _ours(top: Path) -> None:
    """See to it that nobody else can read or replace what lies there."""
    top.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = os.lstat(top)
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
        raise PermissionDenied(f"{top} is not a folder of this user alone; nothing is staged there")


def _sweep(top: Path) -> None:
    """Remove what processes have left behind that are gone."""
    for home in top.iterdir():
        if home.name.startswith("."):
            continue  # about to get its name, or left by a kill in that instant: an empty folder
        try:
            lock = os.open(home / _LOCK, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            _remove(str(home))  # its removal was cut off: the lock goes first or last, never back
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(str(home))
        except BlockingIOError:
            continue
        finally:
            os.close(lock)


class _Copying:
    """One tree being copied."""

    def __init__(
        self,
        overlay: Overlay,
        bytes_max: int,
        own: Collection[str],
        pause: Callable[[], None],
    ) -> None:
        self._overlay = overlay
        self._bytes_max = bytes_max
        self._left = bytes_max
        self._own = frozenset(own)
        self._pause = pause

    def run(self) -> None:
        self._folder(self._overlay.source, self._overlay.directory, "")

    def _folder(self, source: str, target: str, inside: str) -> None:
        os.mkdir(target, 0o700)
        with os.scandir(source) as found:
            entries = list(found)
        for entry in entries:
            self._pause()
            path = inside + entry.name
            if not self._is_own(path):
                with contextlib.suppress(FileNotFoundError):  # deleted since it was listed
                    self._entry(entry, os.path.join(target, entry.name), path)
        facts = os.stat(source)
        if inside:
            os.chmod(target, stat.S_IMODE(facts.st_mode) | 0o700)
        os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))

    def _is_own(self, path: str) -> bool:
        return any(path == each or path.startswith(f"{each}-") for each in self._own)

    def _entry(self, entry: "os.DirEntry[str]", target: str, path: str) -> None:
        if entry.is_symlink():
            os.symlink(self._target(os.readlink(entry.path)), target)
        elif entry.is_dir(follow_symlinks=False):
            self._folder(entry.path, target, path + "/")
        elif entry.is_file(follow_symlinks=False):
            self._left -= entry.stat(follow_symlinks=False).st_size
            if self._left < 0:
                raise ResourceExhausted(
                    f"{self._overlay.source} holds more than {self._bytes_max} bytes, the most that is "
                    "copied to stage a call ([staging] tree_bytes_max)",
                    may_have_executed="no",
                )
            with contextlib.suppress(
                PermissionError
            ):  # whoever runs the tool cannot read it either
                _copy(entry.path, target)

    def _target(self, text: str) -> str:
        """Return a link's target; one that names the tree itself must not lead back to it."""
        source = self._overlay.source
        if text == source or text.startswith(source.rstrip("/") + "/"):
            return self._overlay.directory + text[len(source) :]
        return text


def _copy(source: str, target: str) -> None:
    with open(source, "rb") as file:
        facts = os.fstat(file.fileno())
        mode = stat.S_IMODE(facts.st_mode)
        with open(target, "xb") as copy:
            try:
                fcntl.ioctl(copy.fileno(), _FICLONE, file.fileno())
            except OSError:
                shutil.copyfileobj(file, copy, 1024 * 1024)
            copy.flush()
            os.fchmod(copy.fileno(), mode)
            os.utime(copy.fileno(), ns=(facts.st_atime_ns, facts.st_mtime_ns))


def _remove(directory: str) -> None:
    """Remove a folder whatever its modes are; what cannot be removed is left to the system."""
    for folder, _, _ in os.walk(directory):
        with contextlib.suppress(OSError):
            os.chmod(folder, 0o700)
    shutil.rmtree(directory, ignore_errors=True)


def print_of(path: str) -> int:
    """Return a number that changes when something below a path does, as far as its facts show that.

    For what is not kept: contents are not read.
    """
    found = [_facts(path)]
    for folder, folders, files in os.walk(path):
        folders.sort()
        found += [
            (name, *_facts(os.path.join(folder, name))) for name in sorted((*folders, *files))
        ]
    return hash(tuple(found))


def _facts(path: str) -> tuple[object, ...]:
    try:
        facts = os.lstat(path)
    except OSError:
        return ()
    is_folder = stat.S_ISDIR(facts.st_mode)
    return (facts.st_mode, 0 if is_folder else facts.st_size, 0 if is_folder else facts.st_mtime_ns)
