"""Kills at every operation on a file: of a snapshot, of a restore, of finishing and undoing it.

A kill is SIGKILL to a process of its own, right before the operation. Afterwards a fresh look at the disk
must find everything of others as it was, and a way to both ends: the restore finished, or undone.
"""

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from work_trees import Session, Told, make, put, told

from ukemi.stores.workspace import File, WorkspaceFiles
from ukemi.stores.workspace.trees import walk

pytestmark = pytest.mark.slow
CHILD = Path(__file__).parents[2] / "support/workspace_child.py"
SAMPLE = 16
POINTS_MIN = 60


class Forks:
    """Does orders in processes forked for them, killed where told."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, CHILD, "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, kill_at: int, *words: object) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([kill_at, *map(str, words)]) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    """Return who does orders in other processes."""
    forks = Forks()
    yield forks
    forks.close()


START: dict[str | bytes, str] = {
    "kept": "same",
    "edited": "v1",
    "removed": "v1",
    "mode": "v1",
    "link": "-> kept",
    "folder/inner": "v1",
    "folder/deep/leaf": "v1",
    "file-to-be-folder": "v1",
    "closed/inside": "v1",
    "conflict": "v1",
    ".git/HEAD": "ref",
}


class Scene:
    """A tree and its contents, which can be laid out again and again at the same place."""

    def __init__(self, folder: Path) -> None:
        self.root, self.store = folder / "now/tree", folder / "now/files"
        self._folder = folder
        self.root.mkdir(parents=True)
        make(self.root, START)
        (self.root / "mode").chmod(0o600)
        (self.root / "closed").chmod(0o755)
        files = WorkspaceFiles(self.store)
        session = Session(files, self.root)
        self.target = session.checkpoint()
        self.start = self.told()
        with session:
            self._session_works()
        self.window = session.windows[0]
        put(self.root, "conflict", "user")
        put(self.root, "made/by-user", "user")
        self.worked = self.told()
        files.close()
        (folder / "now").rename(folder / "kept")

    def _session_works(self) -> None:
        root = self.root
        make(root, {"edited": "v2", "made/file": "new", "conflict": "v2", "link": "-> nowhere"})
        make(root, {"gone/a": "new", "gone/b": "new"})
        (root / "removed").unlink()
        (root / "mode").chmod(0o644)
        shutil.rmtree(root / "folder")
        put(root, "folder", "-> ..")
        (root / "file-to-be-folder").unlink()
        put(root, "file-to-be-folder/inner", "new")
        put(root, "closed/inside", "v2")
        (root / "closed").chmod(0o500)

    def lay_out(self) -> None:
        if (self.root / "closed").is_dir():
            (self.root / "closed").chmod(0o700)
        shutil.rmtree(self._folder / "now", ignore_errors=True)
        shutil.copytree(self._folder / "kept", self._folder / "now", symlinks=True)

    def told(self) -> Told:
        return told(self.root, modes=True, git=True)

    @property
    def restored(self) -> Told:
        """What a restore leads to: all of the start, and what the user did."""
        users = ("conflict", "made", "made/by-user")
        return self.start | {path: self.worked[path] for path in users}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Return a tree in which a session and a user have worked."""
    return Scene(tmp_path_factory.mktemp("scene"))


def points(count: int, whole: bool) -> list[int]:
    """Return at which operations to kill."""
    every = list(range(1, count + 1))
    return every if whole else sorted(random.Random(count).sample(every, min(SAMPLE, count)))


WHOLE = pytest.mark.parametrize(
    "whole", [False, pytest.param(True, marks=pytest.mark.sweep)], ids=["sample", "whole"]
)


@WHOLE
def test_a_kill_at_any_operation_of_a_snapshot(scene: Scene, forks: Forks, whole: bool) -> None:
    """The tree is untouched, what was kept is readable, and the next snapshot needs no help."""
    scene.lay_out()
    count = forks.run(0, "snapshot", scene.store, scene.root)["count"]
    assert count > POINTS_MIN
    for kill_at in points(count, whole):
        scene.lay_out()
        assert forks.run(kill_at, "snapshot", scene.store, scene.root)["killed"], kill_at
        assert scene.told() == scene.worked
        files = WorkspaceFiles(scene.store)
        root = files.workspace(scene.root).snapshot().root
        for tree in (scene.target, scene.window.after, root):
            assert readable(files, tree)
        assert set(files.changes(scene.window.after, root)) == {"conflict", "made/by-user"}
        files.close()


def readable(files: WorkspaceFiles, root: str) -> bool:
    read = files.objects.tree
    kept = [entry.digest for _, entry in walk(read, bytes.fromhex(root)) if isinstance(entry, File)]
    return sum(len(files.objects.get(digest)) for digest in kept) > 0


def restore(scene: Scene, forks: Forks, kill_at: int) -> dict[str, Any]:
    scene.lay_out()
    words = (scene.target, scene.window.before, scene.window.after)
    return forks.run(kill_at, "restore", scene.store, scene.root, *words)


def check_others(scene: Scene) -> None:
    """See that nothing of others has changed."""
    now = scene.told()
    for path in ("conflict", "made/by-user", "kept", ".git", ".git/HEAD"):
        assert now[path] == scene.worked[path]


@WHOLE
@pytest.mark.parametrize("way", ["finish", "undo"])
def test_a_kill_at_any_operation_of_a_restore(
    scene: Scene, forks: Forks, way: str, whole: bool
) -> None:
    """Both ways out of it are open, and each leads to exactly one state."""
    count = restore(scene, forks, 0)["count"]
    assert scene.told() == scene.restored
    assert count > POINTS_MIN
    in_the_middle = 0
    for kill_at in points(count, whole):
        assert restore(scene, forks, kill_at)["killed"], kill_at
        check_others(scene)
        in_the_middle += check_way(scene, way, kill_at)
    assert in_the_middle


def check_way(scene: Scene, way: str, kill_at: int) -> bool:
    """Finish or undo what is open, in this process, and tell whether there was anything.

    A kill that came before the first change or after the last has left nothing open.
    """
    files = WorkspaceFiles(scene.store)
    pending = files.pending()
    states = [scene.restored] if way == "finish" else [scene.worked]
    if not pending:
        states = [scene.worked, scene.restored]
    for one in pending:
        report = (files.finish if way == "finish" else files.undo)(one.restore_id)
        assert report.state == "done", (kill_at, report)
    assert files.pending() == []
    assert scene.told() in states, kill_at
    files.close()
    return bool(pending)


@WHOLE
@pytest.mark.parametrize("way", ["finish", "undo"])
def test_a_second_kill_while_the_first_is_mended(
    scene: Scene, forks: Forks, way: str, whole: bool
) -> None:
    """Killed in the middle, and again while that is finished or undone: the same two ends."""
    rng = random.Random(way)
    count = restore(scene, forks, 0)["count"]
    for _ in range(200 if whole else 8):
        restore(scene, forks, rng.randrange(count // 3, count))
        files = WorkspaceFiles(scene.store)
        pending = [one.restore_id for one in files.pending()]
        files.close()
        if pending:
            forks.run(rng.randrange(1, count), way, scene.store, scene.root, pending[0])
        check_others(scene)
        files = WorkspaceFiles(scene.store)
        for one in files.pending():
            assert files.finish(one.restore_id).state == "done"
        assert scene.told() in (scene.worked, scene.restored)
        files.close()
