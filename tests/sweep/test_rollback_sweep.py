"""A process that rolls a session back is killed with SIGKILL at every entry and every file operation.

Whatever the point, the next start leaves one of two: the session as it was before, where it was not
stored yet that it is rolled back, or all of it rolled back. Never files of the one with the
conversation of the other.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest
from msgspec import Struct
from rollback_child import SESSION, TREE
from work_trees import Told, make, told

from ukemi.actors.inspection import entries_of, fold
from ukemi.actors.model import Message
from ukemi.stores.records import RollingBack
from ukemi.stores.sqlite import SqliteStore
from ukemi.stores.workspace import WorkspaceFiles

pytestmark = pytest.mark.slow
CHILD = Path(__file__).parents[1] / "support/rollback_child.py"
SEED = 7
SAMPLE = 14
"""Points of each kind in a sample."""

WAYS = [("full", 0), ("full", 1), ("soft", 0), ("context", 1)]


class Children:
    """Does orders in processes forked for them, killed where told."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, kill_at: int, what: str, folder: Path, mode: str = "", to: int = 0) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([kill_at, what, str(folder), mode, to]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    children = Children()
    yield children
    children.close()


class Stands(Struct, frozen=True):
    """A session and its tree, as they are at rest."""

    tree: Told
    messages: tuple[Message, ...]
    status: str


class Scene:
    """A session that has ended, put back to that before each kill."""

    def __init__(self, children: Children, folder: Path) -> None:
        self.children = children
        self.folder = folder / "scene"
        self._kept = folder / "kept"
        self.folder.mkdir()
        (self.folder / "tree").mkdir()
        make(self.folder / "tree", TREE)
        assert "count" in children.run(0, "begin", self.folder)
        (self.folder / "tree/theirs").write_text("changed by others")
        shutil.copytree(self.folder, self._kept, symlinks=True)

    def keep(self) -> None:
        shutil.rmtree(self._kept)
        shutil.copytree(self.folder, self._kept, symlinks=True)

    def put_back(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self._kept, self.folder, symlinks=True)

    def stands(self) -> tuple[Stands, int]:
        """Return how it stands, and how many rollbacks were stored as begun."""

        async def load() -> tuple[Stands, int]:
            store = SqliteStore(self.folder / "store.db")
            await store.open()
            try:
                entries = entries_of(await store.load(SESSION))
            finally:
                await store.close()
            state = fold(SESSION, entries)
            assert state.rolling is None, "a rollback is left open"
            begun = sum(isinstance(each, RollingBack) for each in entries)
            tree = told(self.folder / "tree")
            return Stands(tree, tuple(state.conversation), state.status), begun

        files = WorkspaceFiles(self.folder / "store.db-files")
        assert not files.pending(), "a restore is left open"
        files.close()
        return anyio.run(load)


def sweep(scene: Scene, whole: bool, what: str, mode: str, to: int) -> list[str]:
    """Kill one order at its points; return what was broken, and check that kills took place."""
    before, begun_before = scene.stands()
    count = scene.children.run(0, what, scene.folder, mode, to)["count"]
    after, _ = scene.stands()
    assert after != before
    points = list(range(1, count + 1))
    if not whole:
        points = sorted(Random(f"{SEED} {what} {mode} {to}").sample(points, min(SAMPLE, count)))
    broken: list[str] = []
    kills = 0
    for point in points:
        scene.put_back()
        answer = scene.children.run(point, what, scene.folder, mode, to)
        kills += answer.get("killed", False)
        assert "count" in scene.children.run(0, "recover", scene.folder)
        stands, begun = scene.stands()
        wanted = after if begun > begun_before else before
        if stands != wanted:
            broken.append(f"{what} {mode} {to} killed at {point} of {count}: {stands}")
        if any(".ukemi" in path for path in stands.tree):
            broken.append(f"{what} {mode} {to} killed at {point}: files of its own are left")
    assert kills > len(points) // 2
    return broken


def check(children: Children, folder: Path, way: tuple[str, int], *, whole: bool) -> None:
    scene = Scene(children, folder)
    broken = sweep(scene, whole, "roll", *way)
    assert not broken, "\n".join(broken)


def check_undo(children: Children, folder: Path, *, whole: bool) -> None:
    scene = Scene(children, folder)
    children.run(0, "roll", scene.folder, "full", 0)
    scene.keep()
    broken = sweep(scene, whole, "unroll", "", 0)
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("way", WAYS)
def test_a_rollback_killed_anywhere_is_whole_or_was_never_begun(
    children: Children, tmp_path: Path, way: tuple[str, int]
) -> None:
    check(children, tmp_path, way, whole=False)


def test_an_undo_killed_anywhere_is_whole_or_was_never_begun(
    children: Children, tmp_path: Path
) -> None:
    check_undo(children, tmp_path, whole=False)


@pytest.mark.sweep
@pytest.mark.parametrize("way", WAYS)
def test_a_rollback_killed_at_every_point(
    children: Children, tmp_path: Path, way: tuple[str, int]
) -> None:
    check(children, tmp_path, way, whole=True)


@pytest.mark.sweep
def test_an_undo_killed_at_every_point(children: Children, tmp_path: Path) -> None:
    check_undo(children, tmp_path, whole=True)
