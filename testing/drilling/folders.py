"""A copy of the workspace, and what a run has changed in it."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path


def copied(source: Path | None, into: Path) -> dict[str, bytes]:
    """Copy the workspace, links as links, and return what is in the copy."""
    if source is None:
        into.mkdir()
    else:
        shutil.copytree(source, into, symlinks=True)
    return listed(into)


def listed(folder: Path) -> dict[str, bytes]:
    """Return what is in a folder: contents of files, targets of links, nothing of folders."""
    found: dict[str, bytes] = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            shown = str(path.relative_to(folder))
            if path.is_symlink():
                found[shown] = os.fsencode(os.readlink(path))
            elif path.is_file():
                found[shown] = path.read_bytes()
            else:
                found[shown] = b""
    return found


def changed(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> set[str]:
    """Return what is there, or was, and is not the same."""
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}
