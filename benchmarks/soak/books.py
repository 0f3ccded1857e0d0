"""The world outside: files that are only ever appended to, a line at a time.

A line is one write of the system's, so it is there whole or not at all, whatever the process that wrote
it dies of an instant later.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path


class Book:
    """One file of lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, *words: str) -> None:
        """Append a line; it outlives this process."""
        os.write(self._file, f"{' '.join(words)}\n".encode())

    def close(self) -> None:
        os.close(self._file)


def lines(path: Path) -> Iterator[list[str]]:
    """Yield the words of each line there is."""
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            yield line.split(" ")


class Effects:
    """What has taken effect, by tag: the keys of each time it did."""

    def __init__(self, folder: Path) -> None:
        self._book = Book(folder / "effects.txt")
        self.of: dict[str, list[str]] = {}
        self._tags: defaultdict[str, list[str]] = defaultdict(list)
        for tag, key in lines(self._book.path):
            self._note(tag, key)

    def take(self, tag: str, key: str = "-") -> None:
        """Take effect."""
        self._book.write(tag, key)
        self._note(tag, key)

    def _note(self, tag: str, key: str) -> None:
        self.of.setdefault(tag, []).append(key)
        self._tags[session_of(tag)].append(tag)

    def forget(self, session_id: str) -> None:
        """Keep what a session and its sub-sessions did in the file only: nobody asks any more."""
        for tag in self._tags.pop(session_id, ()):
            self.of.pop(tag, None)

    def close(self) -> None:
        self._book.close()


def session_of(tag: str) -> str:
    """Return the session that a tag is of; for a sub-session's, the one above it."""
    return tag.removeprefix("undo:").partition("/")[0].partition(".")[0]
