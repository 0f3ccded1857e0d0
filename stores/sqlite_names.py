"""Whether the files that a store writes to still have their names.

A file that was unlinked or replaced takes writes as before, and nobody will ever read them. SQLite
does not look in WAL mode. The log can go as well while the file stays: a process that opens and
closes the file by itself, to copy it for instance, drops its own locks on it, and whoever closes
the store next unlinks the log.
"""

import os
from pathlib import Path

from .errors import StoreUnusable

Identity = tuple[int, int]
"""Device and inode."""

_abandoned: set[Identity] = set()
"""Databases that this process has left open for good: what SQLite keeps of one in memory is wrong by
now, and would be used for whoever opens it here again."""


class Names:
    """The database and its log, as they are now: made when a connection has both open."""

    __slots__ = ("_files", "lost")

    def __init__(self, *paths: Path) -> None:
        self._files: dict[str, Identity] = {}
        self.lost = ""
        """The first name found to be gone, or another file's; empty while all is well."""
        for path in paths:
            # As SQLite names the log: beside the file itself, not beside a link to it.
            whole = os.path.realpath(path)
            for name in (whole, f"{whole}-wal"):
                found = _identity(name)
                if found is not None:
                    self._files[name] = found

    def look(self) -> None:
        """Look at the names again; one that was lost stays so.

        Raises:
            StoreUnusable: what was written last has not reached the store.
        """
        for name, identity in self._files.items():
            if not self.lost and _identity(name) != identity:
                self.lost = name
        self.refuse()

    def refuse(self) -> None:
        """Refuse to go on where a name was found lost; looks at no file.

        Raises:
            StoreUnusable: what is read and written is not the store any more.
        """
        if self.lost:
            raise _unusable(self.lost)

    def abandon(self) -> None:
        """This process has left the database open for good, and must not open it again."""
        _abandoned.update(self._files.values())


def refuse_abandoned(path: Path) -> None:
    """Refuse a file that this process has abandoned.

    Raises:
        StoreUnusable: another process can open it.
    """
    if _abandoned and _identity(os.path.realpath(path)) in _abandoned:
        raise _unusable(str(path))


def _unusable(name: str) -> StoreUnusable:
    return StoreUnusable(
        f"{name} was deleted or replaced while the store was open, or its log was, so nothing is"
        " stored from here any more: start the process again"
    )


def _identity(name: str) -> Identity | None:
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_dev, found.st_ino
