"""Paths of a session's working directory, and never of anything else.

A path is resolved first and must end inside. It is then walked folder by folder without following
links, so that a folder swapped for a link in between leads to an error and not outside.
"""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager

from msgspec import Struct

from ..actors.text import clean, shorten
from ..actors.tooling.context import current
from ..supervisor.errors import InvalidArgument, PermissionDenied, ResourceExhausted

_MENDABLE = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "leads through something that is no folder",
    errno.EISDIR: "is a folder",
    errno.ENAMETOOLONG: "is too long",
    errno.ELOOP: "leads through a link that cannot be followed",
    errno.EEXIST: "exists already",
    errno.ENXIO: "is no regular file",
}
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_EXHAUSTED = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.EFBIG,
)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Place(Struct, frozen=True):
    """A name in an open folder; what file calls with ``dir_fd`` take."""

    folder: int
    name: str


def shown(path: str) -> str:
    """Return a path as a message may show it."""
    return repr(shorten(clean(path).text, 200, unit="chars").text)


def working_directory() -> str:
    """Return the real path of the session's working directory.

    Raises:
        PermissionDenied: the session has none, or it is gone.
        UsageError: no tool call is running here.
    """
    directory = current().working_directory
    if not directory:
        raise PermissionDenied("this session has no working directory; start it with one")
    real = os.path.realpath(directory)
    if not os.path.isdir(real):
        raise PermissionDenied(f"the working directory {shown(directory)} does not exist")
    return real


def parts_inside(path: str, *, follow_last: bool = True) -> tuple[str, list[str]]:
    """Return the working directory and the names that lead from it to a path, links resolved.

    Args:
        path: relative to the working directory, or absolute and inside of it.
        follow_last: whether a link at the very end stands for its target.

    Raises:
        InvalidArgument: the path is empty, holds NUL, or leads out of the working directory.
    """
    root = working_directory()
    if not path or "\0" in path:
        raise InvalidArgument(f"the path {shown(path)} is no path", fields=["path"])
    wanted = os.path.join(root, path)
    if follow_last:
        real = os.path.realpath(wanted)
    else:
        above, name = os.path.split(wanted.rstrip("/"))
        if name in ("", ".", ".."):
            raise InvalidArgument(f"the path {shown(path)} names no entry", fields=["path"])
        real = os.path.join(os.path.realpath(above), name)
    if real != root and not real.startswith(root.rstrip("/") + "/"):
        raise InvalidArgument(
            f"the path {shown(path)} leads out of the working directory; "
            "give one inside of it, relative to it",
            fields=["path"],
        )
    inside = os.path.relpath(real, root)
    return root, [] if inside == "." else inside.split("/")


@contextmanager
def folder_at(root: str, parts: list[str], *, create: bool = False) -> Generator[int]:
    """Open a folder by walking to it without following any link."""
    folder = os.open(root, _FOLDER)
    try:
        for name in parts:
            folder = _step(folder, name, create)
        yield folder
    finally:
        os.close(folder)


@contextmanager
def place_of(path: str, *, follow_last: bool = True, create: bool = False) -> Generator[Place]:
    """Open the folder that holds a path; ``create`` makes folders that are missing.

    Raises:
        InvalidArgument: as `parts_inside`, or the path is the working directory itself.
        OSError: a folder on the way cannot be opened.
    """
    root, parts = parts_inside(path, follow_last=follow_last)
    if not parts:
        raise InvalidArgument("the path is the working directory itself", fields=["path"])
    with folder_at(root, parts[:-1], create=create) as folder:
        yield Place(folder, parts[-1])


def _step(folder: int, name: str, create: bool) -> int:
    """Open a folder inside another and close the outer one; on an error nothing is closed."""
    try:
        inner = os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
        os.mkdir(name, dir_fd=folder)
        inner = os.open(name, _FOLDER, dir_fd=folder)
    os.close(folder)
    return inner


@contextmanager
def plain_errors(path: str) -> Generator[None]:
    """Turn what the system says into what a tool says; other errors pass.

    Raises:
        InvalidArgument: another path would do.
        PermissionDenied: the system does not allow it.
        ResourceExhausted: the disk is full, or the process is out of something.
    """
    try:
        yield
    except OSError as error:
        code = error.errno
        if code in _MENDABLE:
            raise InvalidArgument(f"{shown(path)} {_MENDABLE[code]}", fields=["path"]) from error
        if code in _FORBIDDEN:
            raise PermissionDenied(f"{shown(path)}: {error.strerror}") from error
        if code in _EXHAUSTED:
            raise ResourceExhausted(
                f"{shown(path)}: {error.strerror}", may_have_executed="no"
            ) from error
        raise
