"""Files and folders reached step by step from an open folder, so that no link is ever followed.

A name swapped for a link in between leads to an error. Every call that looks at or changes a working
directory for a snapshot or a restore is here.
"""

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress

from .entries import Entry, File, Folder, Link, Uncovered, digest_of

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: what was a file when it was looked at may be a pipe when it is opened.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
READS_MAX = 3
_READ_BYTES = 1 << 20

Facts = tuple[int, int, int, int]
"""What tells that a file is the one seen before: times of content and of any change, length, inode."""


def facts_of(seen: os.stat_result) -> Facts:
    return seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino


def bits_of(seen: os.stat_result) -> int:
    """Return the permission bits."""
    return stat.S_IMODE(seen.st_mode)


@contextmanager
def opened(root: int, parts: Sequence[bytes]) -> Generator[int]:
    """Open the folder that names lead to.

    Raises:
        OSError: a name is missing, or is no folder; a link is none.
    """
    folder = os.open(b".", FOLDER, dir_fd=root)
    try:
        for name in parts:
            inner = os.open(name, FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def seen_at(folder: int, name: bytes) -> os.stat_result | None:
    """Return what lies under a name, itself and not what it points to."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


class Read:
    """A file's content, and the facts it had all the while it was read."""

    __slots__ = ("data", "facts", "mode")

    def __init__(self, data: bytes, seen: os.stat_result) -> None:
        self.data = data
        self.facts = facts_of(seen)
        self.mode = bits_of(seen)


def read_file(folder: int, name: bytes, size_max: int) -> Read | Uncovered:
    """Read a regular file that holds still meanwhile.

    Raises:
        FileNotFoundError: it is gone.
    """
    try:
        for _ in range(READS_MAX):
            made = os.open(name, _READ, dir_fd=folder)
            try:
                before = os.fstat(made)
                if not stat.S_ISREG(before.st_mode):
                    return Uncovered("changing")
                if before.st_size > size_max:
                    return Uncovered("too large")
                data = _whole(made, before.st_size)
                after = os.fstat(made)
            finally:
                os.close(made)
            if facts_of(before) == facts_of(after) and len(data) == after.st_size:
                return Read(data, after)
    except FileNotFoundError:
        raise
    except OSError:
        return Uncovered("unreadable")
    return Uncovered("changing")


def _whole(made: int, size: int) -> bytes:
    """Read a file of a known length, and one byte more to see that it has not grown."""
    data = os.read(made, size + 1)
    if len(data) >= size:
        return data
    parts = [data]
    left = size + 1 - len(data)
    while left > 0 and (part := os.read(made, min(left, _READ_BYTES))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def entry_at(folder: int, name: bytes, size_max: int) -> Entry | None:
    """Return what lies under a name now; of a folder, without what is inside."""
    seen = seen_at(folder, name)
    if seen is None:
        return None
    if stat.S_ISDIR(seen.st_mode):
        return Folder(bits_of(seen), b"")
    try:
        if stat.S_ISLNK(seen.st_mode):
            return Link(os.readlink(name, dir_fd=folder))
        if not stat.S_ISREG(seen.st_mode):
            return Uncovered("special")
        read = read_file(folder, name, size_max)
    except FileNotFoundError:
        return None
    if isinstance(read, Uncovered):
        return read
    return File(read.mode, len(read.data), digest_of(read.data))


def write_file(
    folder: int, name: bytes, temporary: bytes, data: bytes, mode: int, *, synced: bool
) -> None:
    """Put a content under a name, whole or not at all; nobody reads it with a mode it will not have.

    Raises:
        OSError: nothing was changed under the name; what lay under the temporary name is gone.
    """
    remove_if_there(folder, temporary)
    made = os.open(temporary, _WRITE, 0o600, dir_fd=folder)
    try:
        try:
            write_all(made, data)
            os.fchmod(made, mode)
            if synced:
                os.fsync(made)
        finally:
            os.close(made)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        remove_if_there(folder, temporary)
        raise


def write_all(made: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(made, rest) :]


def write_link(folder: int, name: bytes, temporary: bytes, target: bytes) -> None:
    """Put a link under a name, replacing what is there unless that is a folder."""
    remove_if_there(folder, temporary)
    os.symlink(target, temporary, dir_fd=folder)
    try:
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        remove_if_there(folder, temporary)
        raise


def remove_if_there(folder: int, name: bytes) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def set_mode(folder: int, name: bytes, mode: int) -> None:
    """Set the permission bits of a folder or a file, never of what a link points to."""
    made = os.open(name, _READ, dir_fd=folder)
    try:
        os.fchmod(made, mode)
    finally:
        os.close(made)
