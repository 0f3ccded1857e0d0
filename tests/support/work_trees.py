"""Trees for tests of snapshots: made from a table, and read back into one."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from ukemi.stores.workspace import Plan, Report, Window, Workspace, WorkspaceFiles, path_text

Told = dict[str, str]
"""Paths by what lies there: ``v1`` a file's text, ``-> x`` a link, ``/`` a folder; ``.git`` is left out."""


def make(root: Path, tree: Mapping[str | bytes, str]) -> None:
    """Make files, links and folders; folders above them as needed."""
    for path, what in tree.items():
        put(root, path, what)


def put(root: Path, path: str | bytes, what: str) -> None:
    at = os.path.join(os.fsencode(root), os.fsencode(path))
    os.makedirs(os.path.dirname(at), exist_ok=True)
    if what == "/":
        os.makedirs(at, exist_ok=True)
    elif what.startswith("-> "):
        if os.path.lexists(at):
            os.unlink(at)
        os.symlink(os.fsencode(what[3:]), at)
    else:
        with open(at, "w") as file:
            file.write(what)


def told(root: Path, *, modes: bool = False, git: bool = False) -> Told:
    """Return what lies in a tree, by path as text."""
    found: Told = {}
    top = os.fsencode(root)
    for folder, folders, files in os.walk(top):
        if not git:
            folders[:] = [name for name in folders if name != b".git"]
        for name in (*folders, *files):
            at = os.path.join(folder, name)
            found[path_text(os.path.relpath(at, top))] = _what(at, modes)
    return found


def _what(at: bytes, modes: bool) -> str:
    seen = os.lstat(at)
    mode = f"{stat.S_IMODE(seen.st_mode):04o} " if modes else ""
    if stat.S_ISLNK(seen.st_mode):
        return "-> " + os.fsdecode(os.readlink(at))
    if stat.S_ISDIR(seen.st_mode):
        return mode + "/"
    if not stat.S_ISREG(seen.st_mode):
        return mode + "special"
    with open(at, "rb") as file:
        return mode + os.fsdecode(file.read())


class Session:
    """Somebody whose work in a tree is watched, and taken back."""

    def __init__(self, files: WorkspaceFiles, root: Path, space: Workspace | None = None) -> None:
        self.files = files
        self.root = root
        self.space = space or files.workspace(root)
        self.windows: list[Window] = []
        self._before = ""

    def checkpoint(self) -> str:
        return self.space.snapshot().root

    def __enter__(self) -> Self:
        """Begin a call that may write."""
        self._before = self.checkpoint()
        return self

    def __exit__(self, *_: object) -> None:
        self.windows.append(Window(self._before, self.checkpoint()))

    def plan(self, to: str, *, force: bool = False) -> Plan:
        return self.space.plan(to, self.windows, force=force)

    def roll_back(self, to: str, *, force: bool = False) -> Report:
        return self.space.restore(self.plan(to, force=force))


def steps_of(plan: Plan) -> dict[str, str]:
    """Return what a plan will do, by path."""
    return {path_text(one.path): "delete" if one.deletes else "restore" for one in plan.steps}


def left_of(found: Plan | Report) -> dict[str, str]:
    """Return what is left alone, and why, by path."""
    return {path_text(one.path): one.why for one in found.left}
