"""What a snapshot holds, what it costs, and what it says it does not hold."""

import errno
import os
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from work_trees import Session, make, put, told

from ukemi.stores.workspace import (
    ContentLost,
    FilesUnusable,
    Link,
    Rules,
    Snapshot,
    WorkspaceFiles,
)
from ukemi.stores.workspace.nodes import TICK_NS, UNSETTLED, settled
from ukemi.stores.workspace.scan import Scanner
from ukemi.supervisor.errors import UsageError

OLD_NS = time.time_ns() - 3_600_000_000_000


def age(root: Path) -> None:
    """Make all of a tree older than a clock tick, as it is in life.

    The time of change cannot be set, so the test waits for the tick to pass.
    """
    for path in (root, *root.rglob("*")):
        os.utime(path, ns=(OLD_NS, OLD_NS), follow_symlinks=False)
    now = time.time_ns()
    while time.time_ns() < now + 2 * TICK_NS:
        time.sleep(TICK_NS / 1e9)


def reasons(snapshot: Snapshot) -> dict[str, str]:
    return {one.path: one.reason for one in snapshot.left_out}


class TestCost:
    def test_an_unchanged_tree_costs_no_reading(self, files: WorkspaceFiles, root: Path) -> None:
        """Only what changed is read, however that was noticed."""
        make(root, {f"{n % 5}/f{n}": f"text {n}" for n in range(100)})
        age(root)
        space = files.workspace(root)
        first = space.snapshot()
        assert (first.files, first.read) == (100, 100)
        again = space.snapshot()
        assert (again.root, again.read) == (first.root, 0)
        make(root, {f"{n % 5}/f{n}": f"other {n}" for n in range(10)})
        assert space.snapshot().read == 10

    def test_touching_is_no_change(self, files: WorkspaceFiles, root: Path) -> None:
        """A file with other times is read again; the tree is the same."""
        put(root, "a", "v1")
        space = files.workspace(root)
        first = space.snapshot()
        os.utime(root / "a", ns=(OLD_NS, OLD_NS))
        again = space.snapshot()
        assert (again.root, again.read) == (first.root, 1)

    def test_equal_contents_are_stored_once(self, files: WorkspaceFiles, tmp_path: Path) -> None:
        """In one tree or in two, of one session or two."""
        text = os.urandom(200_000).hex()
        make(tmp_path / "one", {f"f{n}": text for n in range(10)})
        make(tmp_path / "two", {f"g{n}": text for n in range(10)})
        files.workspace(tmp_path / "one").snapshot()
        size = stored_bytes(files)
        assert size < len(text)
        files.workspace(tmp_path / "two").snapshot()
        assert stored_bytes(files) - size < 5_000

    def test_a_change_writes_little(self, files: WorkspaceFiles, root: Path) -> None:
        """The folders above a changed file are stored again, and nothing else."""
        make(root, {f"{n % 20}/f{n}": f"text {n}" for n in range(1_000)})
        space = files.workspace(root)
        space.snapshot()
        size = stored_bytes(files)
        put(root, "3/f3", "other")
        space.snapshot()
        assert stored_bytes(files) - size < 6_000

    def test_what_is_known_outlives_the_process(self, tmp_path: Path, root: Path) -> None:
        """A tree that was seen by another process need not be read again."""
        make(root, {f"{n % 5}/f{n}": f"text {n}" for n in range(300)})
        age(root)
        one = WorkspaceFiles(tmp_path / "files")
        first = one.workspace(root).snapshot()
        one.close()
        other = WorkspaceFiles(tmp_path / "files")
        again = other.workspace(root).snapshot()
        assert (again.root, again.read) == (first.root, 0)
        other.close()

    def test_declared_paths_cost_only_those(self, files: WorkspaceFiles, root: Path) -> None:
        """Nothing else is looked at: what others did there shows at the next whole look."""
        make(root, {"a/b/c": "v1", "a/other": "v1", "d": "v1"})
        space = files.workspace(root)
        before = space.snapshot().root
        make(root, {"a/b/c": "v2", "a/other": "v2", "new/folder/file": "v1", "d": "v2"})
        paths: list[str | bytes] = [
            "a/b/c",
            str(root / "new/folder/file"),
            b"absent",
            "/elsewhere",
            "../out",
        ]
        after = space.snapshot(paths).root
        changes = files.changes(before, after)
        assert set(changes) == {"a/b/c", "new", "new/folder", "new/folder/file"}
        whole = space.snapshot().root
        assert set(files.changes(after, whole)) == {"a/other", "d"}
        assert whole == WorkspaceFiles(files.path).workspace(root).snapshot().root

    def test_a_declared_folder_is_all_that_is_inside(
        self, files: WorkspaceFiles, root: Path
    ) -> None:
        make(root, {"a/b/c": "v1", "d": "v1"})
        space = files.workspace(root)
        before = space.snapshot().root
        make(root, {"a/b/c": "v2", "a/n": "v1", "d": "v2"})
        assert set(files.changes(before, space.snapshot(["a", "a/b"]).root)) == {"a/b/c", "a/n"}
        assert set(files.changes(before, space.snapshot(["."]).root)) == {"a/b/c", "a/n", "d"}


def stored_bytes(files: WorkspaceFiles) -> int:
    with files.objects.reading() as connection:
        query = "SELECT sum(length(body)) FROM content"
        return int(connection.execute(query).fetchone()[0])


TICKS = [
    ("older than a tick", 1_000_000_001, TICK_NS + 1, True),
    ("within the tick", 1_000_000_001, TICK_NS, False),
    ("stamped later than it was read", 1_000_000_001, -5, False),
    ("whole seconds, a tick later", 1_000_000_000, TICK_NS + 1, False),
    ("whole seconds, two seconds later", 1_000_000_000, 2_000_000_001, True),
]


@pytest.mark.parametrize(("rule", "stamp", "later", "known"), TICKS, ids=[row[0] for row in TICKS])
def test_facts_count_only_when_settled(rule: str, stamp: int, later: int, known: bool) -> None:
    """A file can change within a tick of the clock and keep its times."""
    facts = (stamp, stamp, 5, 7)
    assert settled(facts, stamp + later) == (facts if known else UNSETTLED)


@pytest.mark.parametrize(("later_ns", "read"), [(0, 1), (2 * TICK_NS, 0)])
def test_a_young_file_is_read_once_more(
    files: WorkspaceFiles, root: Path, later_ns: int, read: int
) -> None:
    """What was read within the tick in which it was written may have changed since, unseen."""
    put(root, "a", "v1")
    stamp = max(path.stat().st_ctime_ns for path in (root, root / "a"))
    scanner = Scanner(files.objects, str(root), Rules(), clock_ns=lambda: stamp + later_ns)
    first = scanner.snapshot()
    assert (first.read, scanner.snapshot().read) == (1, read)


class TestCoverage:
    def test_all_that_is_kept(self, session: Session, root: Path) -> None:
        """Modes, links, empty folders and odd names are part of a tree."""
        make(root, {"empty": "/", "link": "-> nowhere", b"\xe9": "v1", "a/b/c/d": "v1"})
        (root / "a").chmod(0o711)
        first = session.checkpoint()
        changes = session.files.changes(empty_root(session.files, root), first)
        assert set(changes) == {"empty", "link", "\\xe9", "a", "a/b", "a/b/c", "a/b/c/d"}
        assert changes["link"].after == Link(b"nowhere")
        (root / "a").chmod(0o755)
        found = session.files.changes(first, session.checkpoint())
        assert {path: one.kind for path, one in found.items()} == {"a": "mode"}

    def test_what_is_not_kept_is_named(self, files: WorkspaceFiles, root: Path) -> None:
        """Special and large files, excluded ones, a repository's own data."""
        make(root, {"a": "v1", "big": "x" * 101, "log/x": "v1", ".git/HEAD": "x", "k/m.tmp": "v"})
        os.mkfifo(root / "pipe")
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(os.path.relpath(root / "socket"))
            rules = Rules(exclude=("log/", "*.tmp"), size_max=100)
            snapshot = files.workspace(root, rules).snapshot()
        assert reasons(snapshot) == {
            "big": "too large",
            "log": "excluded",
            "k/m.tmp": "excluded",
            ".git": "git",
            "pipe": "special",
            "socket": "special",
        }
        assert (snapshot.files, snapshot.bytes, snapshot.uncovered) == (1, 2, 6)

    def test_ignore_files_of_the_tree(self, files: WorkspaceFiles, root: Path) -> None:
        """As git reads them: by folder, the deeper one last, an exception by ``!``."""
        make(root, {".gitignore": "*.log\n/top\n", "a.log": "x", "top": "x", "d/top": "x"})
        make(root, {"d/.gitignore": "!keep.log\n", "d/keep.log": "x", "d/e/b.log": "x"})
        space = files.workspace(root, Rules(gitignore=True))
        assert set(reasons(space.snapshot())) == {"a.log", "top", "d/e/b.log"}
        put(root, "d/.gitignore", "")
        assert set(reasons(space.snapshot())) == {"a.log", "top", "d/e/b.log", "d/keep.log"}
        (root / ".gitignore").unlink()
        assert reasons(space.snapshot()) == {}

    def test_a_line_that_is_no_pattern(self, files: WorkspaceFiles, root: Path) -> None:
        """In the tree it excludes nothing; from the program it is an error."""
        make(root, {".gitignore": "!\n*.log\n", "a.log": "x"})
        snapshot = files.workspace(root, Rules(gitignore=True)).snapshot()
        assert reasons(snapshot) == {"a.log": "excluded"}
        with pytest.raises(UsageError, match="line of exclusion"):
            Rules(exclude=("!",))
        with pytest.raises(UsageError, match="size_max"):
            Rules(size_max=0)

    def test_lines_need_the_library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pathspec", None)
        with pytest.raises(UsageError, match=r"pip install ukemi\[workspace\]"):
            Rules(exclude=("*.log",))
        assert Rules().plain

    def test_a_file_that_cannot_be_read(
        self, files: WorkspaceFiles, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is named, the rest is kept, and it is covered as soon as it can be read."""
        make(root, {"secret": "v1", "a": "v1", "closed/x": "v1"})
        real = os.open

        def refuse(path: bytes, *words: int, dir_fd: int | None = None) -> int:
            if path in (b"secret", b"closed"):
                raise PermissionError(errno.EACCES, "Permission denied")
            return real(path, *words, dir_fd=dir_fd)

        space = files.workspace(root)
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", refuse)
            snapshot = space.snapshot()
        assert reasons(snapshot) == {"secret": "unreadable", "closed": "unreadable"}
        assert snapshot.files == 1
        assert space.snapshot().uncovered == 0

    @pytest.mark.parametrize("times", [1, 99], ids=["once", "for ever"])
    def test_a_file_that_changes_while_it_is_read(
        self, files: WorkspaceFiles, root: Path, monkeypatch: pytest.MonkeyPatch, times: int
    ) -> None:
        """It is read again, a few times; then it is not covered, rather than half kept."""
        put(root, "a", "v1")
        real, changed = os.read, list[int]()

        def read(made: int, size: int) -> bytes:
            data = real(made, size)
            if len(changed) < times:
                changed.append(1)
                put(root, "a", "longer" * len(changed))
            return data

        space = files.workspace(root)
        with monkeypatch.context() as patch:
            patch.setattr(os, "read", read)
            snapshot = space.snapshot()
        if times == 1:
            assert files.content(snapshot.root, "a") == b"longer"
        else:
            assert reasons(snapshot) == {"a": "changing"}
        assert space.snapshot().uncovered == 0

    @pytest.mark.parametrize("name", [b"data", b"d1"])
    def test_a_path_swapped_for_a_link(
        self,
        files: WorkspaceFiles,
        root: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        name: bytes,
    ) -> None:
        """Between being listed and being opened: what lies outside is never read."""
        make(tmp_path, {"OUTSIDE/d1": "host secret"})
        put(root, "data/d1", "v1")
        real = os.open

        def swap(path: bytes, *words: int, dir_fd: int | None = None) -> int:
            at = root / "data" if name == b"data" else root / "data/d1"
            if path == name and not at.is_symlink():
                at.rename(tmp_path / "moved")
                at.symlink_to(tmp_path / ("OUTSIDE" if name == b"data" else "OUTSIDE/d1"))
            return real(path, *words, dir_fd=dir_fd)

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", swap)
            snapshot = files.workspace(root).snapshot()
        path = "data" if name == b"data" else "data/d1"
        assert path in reasons(snapshot)
        assert files.content(snapshot.root, "data/d1") is None

    def test_what_is_too_deep(self, files: WorkspaceFiles, tmp_path: Path) -> None:
        """Trees deeper than is sane are covered down to there."""
        path = "/".join("d" * 250)
        make(tmp_path / "t", {f"{path}/f": "v1", "a": "v1"})
        snapshot = files.workspace(tmp_path / "t").snapshot()
        assert list(reasons(snapshot).values()) == ["too deep"]
        assert snapshot.files == 1


def empty_root(files: WorkspaceFiles, root: Path) -> str:
    (root.parent / "empty").mkdir(exist_ok=True)
    return files.workspace(root.parent / "empty").snapshot().root


class TestFaults:
    def test_a_full_disk(self, files: WorkspaceFiles, root: Path) -> None:
        """The snapshot fails, earlier ones stay, and the next one needs no help."""
        make(root, {"a": "v1", "b": "v1"})
        space = files.workspace(root)
        before = space.snapshot().root
        make(root, {f"f{n}": os.urandom(30_000).hex() for n in range(50)})
        with files.objects.reading() as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages + 3}")
        with pytest.raises(FilesUnusable, match="full"):
            space.snapshot()
        assert files.content(before, "a") == b"v1"
        with files.objects.reading() as connection:
            connection.execute("PRAGMA max_page_count = 1000000")
        after = space.snapshot()
        assert after.files == 52
        assert after.root == WorkspaceFiles(files.path).workspace(root).snapshot().root

    def test_interrupted_between_files(self, files: WorkspaceFiles, root: Path) -> None:
        """At any file: what is known stays right, and the next snapshot is whole."""
        make(root, {f"{n % 7}/f{n}": f"text {n}" for n in range(200)})
        space = files.workspace(root)
        for stop_at in range(1, 14, 2):
            make(root, {f"{stop_at % 7}/f{stop_at}": f"other {stop_at}"})
            with pytest.raises(KeyboardInterrupt):
                space.snapshot(pause=stops_at(stop_at))
        fresh = WorkspaceFiles(files.path)
        root_ = space.snapshot().root
        assert root_ == fresh.workspace(root).snapshot().root
        fresh.close()

    def test_contents_collected_behind_the_back(self, files: WorkspaceFiles, root: Path) -> None:
        """What was counted on and is gone is read again."""
        make(root, {"a": "v1", "d/b": "v1"})
        space = files.workspace(root)
        first = space.snapshot().root
        with files.objects.writing() as connection:
            for table in ("object", "content", "root"):
                connection.execute(f"DELETE FROM {table}")
        assert space.snapshot().root == first
        assert files.content(first, "a") == b"v1"

    def test_a_damaged_content(self, files: WorkspaceFiles, root: Path) -> None:
        """It is reported as lost, never returned."""
        put(root, "a", "v1")
        kept = files.workspace(root).snapshot().root
        with files.objects.writing() as connection:
            connection.execute("UPDATE content SET body = x'00' WHERE size = 2")
        with pytest.raises(ContentLost, match="damaged"):
            files.content(kept, "a")

    @pytest.mark.parametrize("what", ["noise", "newer", "another's"])
    def test_a_file_that_is_none_of_ours(self, tmp_path: Path, root: Path, what: str) -> None:
        """It is refused, and left as it was."""
        path = tmp_path / "files"
        if what == "noise":
            path.write_bytes(b"x" * 10_000)
        else:
            with sqlite3.connect(path) as connection:
                connection.execute("CREATE TABLE theirs(x)")
                connection.execute(f"PRAGMA user_version = {99 if what == 'newer' else 0}")
            connection.close()
        before = path.read_bytes()
        files = WorkspaceFiles(path)
        with pytest.raises(FilesUnusable):
            files.workspace(root).snapshot()
        files.close()
        assert path.read_bytes() == before

    def test_a_missing_directory(self, files: WorkspaceFiles, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            files.workspace(tmp_path / "absent").snapshot()


def stops_at(count: int) -> Callable[[], None]:
    calls: list[int] = []

    def pause() -> None:
        calls.append(1)
        if len(calls) == count:
            raise KeyboardInterrupt

    return pause


def test_many_at_once(tmp_path: Path) -> None:
    """Threads, and several openings of the file as by several processes: every snapshot is right."""
    trees = [tmp_path / f"tree{n}" for n in range(4)]
    for number, tree in enumerate(trees):
        make(tree, {f"{n % 3}/f{n}": f"text {n % (number + 2)}" for n in range(60)})
    opened = [WorkspaceFiles(tmp_path / "files") for _ in range(2)]
    found: dict[tuple[int, int], set[str]] = {}

    def work(which: int, tree: int) -> None:
        space = opened[which].workspace(trees[tree])
        found[which, tree] = {space.snapshot().root for _ in range(5)}

    threads = [threading.Thread(target=work, args=(w, t)) for w in range(2) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        assert len(found[0, number] | found[1, number]) == 1
        (kept,) = found[0, number]
        assert opened[1].content(kept, "0/f0") == b"text 0"
    for files in opened:
        files.close()


def test_windows_and_their_sum(session: Session, root: Path) -> None:
    """What a session did to a path is its first state, its last, and whether others came between."""
    make(root, {"a": "v1", "b": "v1", "c": "v1"})
    with session:
        make(root, {"a": "v2", "b": "v2", "n": "v1"})
    put(root, "b", "user")
    with session:
        make(root, {"a": "v3", "b": "v3"})
        (root / "n").unlink()
    touched = session.space.touched(session.windows)
    assert {path: one.mixed for path, one in touched.items()} == {
        b"a": False,
        b"b": True,
        b"n": False,
    }
    assert touched[b"n"].before is None
    assert touched[b"n"].left is None
    assert told(root) == {"a": "v3", "b": "v3", "c": "v1"}


def test_what_is_known_is_known_under_its_rules(tmp_path: Path, root: Path) -> None:
    """A file that was too large is covered when larger ones are allowed."""
    put(root, "big", "x" * 200)
    age(root)
    for size_max, covered in ((100, 0), (300, 1), (100, 0)):
        files = WorkspaceFiles(tmp_path / "files")
        assert files.workspace(root, Rules(size_max=size_max)).snapshot().files == covered
        files.close()
