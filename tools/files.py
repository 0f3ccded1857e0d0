"""Tools for files: read, write, list and delete inside the session's working directory.

All are sync, so the runtime runs them in threads. Nothing is ever half written: a file is replaced
as a whole or not at all.
"""

import errno
import os
import secrets
import stat
from typing import Annotated

from msgspec import Meta

from ..actors.text import decode, head_of, shorten, size
from ..actors.tooling.marks import NOT_DONE, NotDone
from ..actors.tooling.tools import tool
from ..supervisor.errors import InvalidArgument
from .places import Place, folder_at, parts_inside, place_of, plain_errors, shown

READ_BYTES_MAX = 16 * 1024 * 1024
SHOWN_BYTES_MAX = 24 * 1024
LINES_MAX = 2000
ENTRIES_MAX = 1000
TIMEOUT_S = 60.0
# A file with NUL in its first part is not text, unless a byte order mark says that it is UTF-16.
_SNIFFED_BYTES = 8192
_WIDE_TEXT = (b"\xff\xfe", b"\xfe\xff")


def _resource(path: str = ".", **_: object) -> str:
    return f"file:{os.path.normpath(path)}"


@tool(effect="read", resource=_resource, timeout_s=TIMEOUT_S)
def read_file(
    path: str,
    offset: Annotated[int, Meta(ge=1)] = 1,
    limit: Annotated[int, Meta(ge=1)] = LINES_MAX,
) -> str:
    """Read a text file of the working directory, whole or a part of its lines.

    A long file comes in parts; the last line then says with which offset to go on.

    Args:
        path: relative to the working directory
        offset: the first line to read, counted from 1
        limit: how many lines at most
    """
    with plain_errors(path), place_of(path) as place:
        data, total = _read(place, path)
    if b"\0" in data[:_SNIFFED_BYTES] and not data.startswith(_WIDE_TEXT):
        return f"[binary file of {total} bytes, begins with {data[:16].hex(' ')}]"
    text, _ = decode(data)
    unread = total - len(data)
    return _part(text, offset, min(limit, LINES_MAX), unread)


def _read(place: Place, path: str) -> tuple[bytes, int]:
    # Not blocking, so that opening a pipe nobody writes to does not wait for a writer.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(place.name, flags, dir_fd=place.folder), "rb") as file:
        facts = os.fstat(file.fileno())
        if stat.S_ISDIR(facts.st_mode):
            raise IsADirectoryError(errno.EISDIR, "is a folder")
        if not stat.S_ISREG(facts.st_mode):
            raise InvalidArgument(f"{shown(path)} is no regular file", fields=["path"])
        data = file.read(READ_BYTES_MAX)
        return data, max(facts.st_size, len(data))


def _part(text: str, offset: int, limit: int, unread: int) -> str:
    """Return the lines asked for, as many as fit, and how to go on if there are more."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if offset > max(len(lines), 1):
        raise InvalidArgument(
            f"offset {offset} is behind the end: the file has {len(lines)} lines", fields=["offset"]
        )
    if offset == 1 and limit >= len(lines) and size(text) <= SHOWN_BYTES_MAX and not unread:
        return text
    chosen: list[str] = []
    room = SHOWN_BYTES_MAX
    for line in lines[offset - 1 : offset - 1 + limit]:
        room -= size(line) + 1
        if room < 0 and chosen:
            break
        chosen.append(line)
    shown_part = shorten("\n".join(chosen), SHOWN_BYTES_MAX).text
    last = offset + len(chosen) - 1
    more = f"; go on with offset={last + 1}" if last < len(lines) else ""
    beyond = f"; {unread} bytes behind them were not looked at" if unread else ""
    return f"{shown_part}\n[lines {offset} to {last} of {len(lines)}{more}{beyond}]"


@tool(
    effect="write",
    safe_to_retry=True,
    undo="rollback",
    resource=_resource,
    paths="path",
    timeout_s=TIMEOUT_S,
)
def write_file(path: str, text: str) -> str:
    """Write a text file into the working directory; replaces the file if it exists.

    Folders that are missing are made.

    Args:
        path: relative to the working directory
        text: the whole new content
    """
    data = _encoded(text)
    with plain_errors(path), place_of(path, create=True) as place:
        before = _facts(place)
        if before is not None and not stat.S_ISREG(before.st_mode):
            kind = "a folder" if stat.S_ISDIR(before.st_mode) else "no regular file"
            raise InvalidArgument(f"{shown(path)} is {kind}", fields=["path"])
        if before is not None and not os.access(place.name, os.W_OK, dir_fd=place.folder):
            raise PermissionError(errno.EACCES, "it is read-only")
        _replace(place, data, before)
    done = "wrote" if before is None else "replaced"
    return f"{done} {shown(path)}, {len(data)} bytes"


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(
            f"the text holds half a character at position {error.start}", fields=["text"]
        ) from None


def _facts(place: Place) -> os.stat_result | None:
    try:
        return os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _replace(place: Place, data: bytes, before: os.stat_result | None) -> None:
    """Write beside the file and rename, so that nobody ever reads half of it."""
    temporary = f".{head_of(place.name, 200)}.{secrets.token_hex(6)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    # A new file gets the mode that the umask leaves, as from any program.
    made = os.open(temporary, flags, 0o666 if before is None else 0o600, dir_fd=place.folder)
    try:
        with open(made, "wb") as file:
            file.write(data)
            file.flush()
            if before is not None:
                _keep_owner_and_mode(made, before)
            os.fsync(made)
        os.replace(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:
        os.unlink(temporary, dir_fd=place.folder)
        raise


def _keep_owner_and_mode(made: int, before: os.stat_result) -> None:
    own = os.fstat(made)
    if (own.st_uid, own.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.chown(made, before.st_uid, before.st_gid)
        except PermissionError:
            # Not ours to give away; then no bit may lend another owner's rights.
            os.chmod(made, stat.S_IMODE(before.st_mode) & 0o777)
            return
    os.chmod(made, stat.S_IMODE(before.st_mode))


@tool(effect="read", resource=_resource, timeout_s=TIMEOUT_S)
def list_files(path: str = ".") -> str:
    """List the entries of a folder in the working directory, one a line, sorted by name.

    Folders end with a slash, files show their size in bytes, links their target.

    Args:
        path: relative to the working directory
    """
    with plain_errors(path):
        root, parts = parts_inside(path)
        with folder_at(root, parts) as folder, os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
            lines = [_line(entry, folder) for entry in entries[:ENTRIES_MAX]]
    if len(entries) > ENTRIES_MAX:
        lines.append(f"[{len(entries) - ENTRIES_MAX} more entries; list a folder inside]")
    return "\n".join(lines) if lines else "[empty folder]"


def _line(entry: "os.DirEntry[str]", folder: int) -> str:
    name = entry.name.replace("\n", "\\n")
    try:
        if entry.is_symlink():
            return f"{name} -> {os.readlink(entry.name, dir_fd=folder)}"
        if entry.is_dir(follow_symlinks=False):
            return f"{name}/"
        if entry.is_file(follow_symlinks=False):
            return f"{name}  {entry.stat(follow_symlinks=False).st_size}"
    except FileNotFoundError:
        return f"{name}  [gone]"  # deleted between listing and looking
    return f"{name}  [special]"


def _deleted(path: str) -> str | NotDone:
    """Tell whether a deletion took place: its result, or `NOT_DONE`."""
    with plain_errors(path):
        try:
            with place_of(path, follow_last=False) as place:
                gone = _facts(place) is None
        except FileNotFoundError:
            gone = True
    return f"deleted {shown(path)}" if gone else NOT_DONE


@tool(
    effect="write",
    undo="rollback",
    danger="delete_files",
    probe=_deleted,
    resource=_resource,
    paths="path",
    timeout_s=TIMEOUT_S,
)
def delete_file(path: str) -> str:
    """Delete one file of the working directory; of a link, the link itself.

    Args:
        path: relative to the working directory
    """
    with plain_errors(path), place_of(path, follow_last=False) as place:
        facts = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
        if stat.S_ISDIR(facts.st_mode):
            raise IsADirectoryError(errno.EISDIR, "is a folder")
        os.unlink(place.name, dir_fd=place.folder)
    return f"deleted {shown(path)}"
