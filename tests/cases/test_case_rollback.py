"""Rolling files back, as far as files go.

Field cases RF-01, RF-02, RF-03, RF-04, RF-05, RF-06, RF-07, RF-08 and SY-02.
"""

import errno
import os
import random
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from work_trees import Session, left_of, make, put, steps_of, told

from ukemi.stores.workspace import (
    File,
    Rules,
    Snapshot,
    TreeDamaged,
    Window,
    WorkspaceFiles,
    path_bytes,
    path_text,
)
from ukemi.stores.workspace.entries import Entry, decode_tree, digest_of
from ukemi.stores.workspace.objects import blob_of

CHILD = Path(__file__).parent.parent / "support/workspace_child.py"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return an empty tree."""
    root = tmp_path / "tree"
    root.mkdir()
    return root


@pytest.fixture
def files(tmp_path: Path) -> Iterator[WorkspaceFiles]:
    """Return the contents kept of it."""
    files = WorkspaceFiles(tmp_path / "store.db-files")
    yield files
    files.close()


@pytest.fixture
def session(files: WorkspaceFiles, root: Path) -> Session:
    """Return a session that works there."""
    return Session(files, root)


def test_RF_01_what_the_session_did_not_make_is_not_removed(session: Session, root: Path) -> None:
    """Files of others survive, changed or new; the session's own go, and its empty folder."""
    make(root, {"src/app.py": "v1", "output/results.jsonl": "line\n" * 100})
    start = session.checkpoint()
    with session:
        put(root, "src/app.py", "v2")
        put(root, "tmp/new.txt", "new")
    with (root / "output/results.jsonl").open("a") as file:
        file.write("line\n" * 50)
    put(root, "output/extra.xlsx", "table")
    report = session.roll_back(start)
    assert told(root) == {
        "src": "/",
        "src/app.py": "v1",
        "output": "/",
        "output/results.jsonl": "line\n" * 150,
        "output/extra.xlsx": "table",
    }
    assert set(report.changed) == {"src/app.py", "tmp/new.txt", "tmp"}
    assert report.clean


def test_RF_01_changes_of_others_within_the_session_s_folders_are_reported(
    session: Session, root: Path
) -> None:
    """A file that others changed after the session, and a folder they use by now, are left and named."""
    make(root, {"a.txt": "v1"})
    start = session.checkpoint()
    with session:
        put(root, "a.txt", "v2")
        put(root, "tmp/new.txt", "new")
    put(root, "a.txt", "user")
    put(root, "tmp/theirs.txt", "user")
    report = session.roll_back(start)
    assert left_of(report) == {"a.txt": "changed since", "tmp": "holds what others made"}
    assert not report.clean
    assert told(root) == {"a.txt": "user", "tmp": "/", "tmp/theirs.txt": "user"}


@pytest.mark.parametrize("gitignore", [True, False])
def test_RF_02_rules_do_not_decide_about_deletion(
    files: WorkspaceFiles, root: Path, gitignore: bool
) -> None:
    """Whatever an ignore file said then and says now, only the session's files are touched."""
    session = Session(files, root, files.workspace(root, Rules(gitignore=gitignore)))
    make(root, {".gitignore": "build/\n", "app.py": "v1", "build/cache.bin": "old"})
    start = session.checkpoint()
    put(root, ".gitignore", "build/\nsecrets/\n")
    put(root, "secrets/key.pem", "key")
    put(root, "build/cache.bin", "ignored")
    with session:
        put(root, "app.py", "v2")
    plan = session.plan(start)
    assert steps_of(plan) == {"app.py": "restore"}
    session.space.restore(plan)
    assert told(root) == {
        ".gitignore": "build/\nsecrets/\n",
        "app.py": "v1",
        "secrets": "/",
        "secrets/key.pem": "key",
        "build": "/",
        "build/cache.bin": "ignored",
    }


@pytest.mark.parametrize("loosened", [True, False], ids=["loosened", "tightened"])
def test_RF_02_rules_changed_by_the_session_itself(
    files: WorkspaceFiles, root: Path, loosened: bool
) -> None:
    """A path that is covered at one of the two moments only is neither deleted nor put back."""
    session = Session(files, root, files.workspace(root, Rules(gitignore=True)))
    lines = ["secrets/\n", "\n"] if loosened else ["\n", "secrets/\n"]
    make(root, {".gitignore": lines[0], "secrets/key.pem": "key"})
    start = session.checkpoint()
    with session:
        put(root, ".gitignore", lines[1])
    report = session.roll_back(start)
    assert told(root) == {".gitignore": lines[0], "secrets": "/", "secrets/key.pem": "key"}
    assert set(left_of(report).values()) <= {"not covered"}


def repositories(root: Path) -> None:
    make(root, {"main.py": "v1", "vendor/lib/a.c": "dirty", "sub/x": "x", "sub/.git": "gitdir: x"})
    for path in ("", "vendor/lib/", "node_modules/x/"):
        git = f"{path}.git"
        make(root, {f"{git}/HEAD": "ref: x", f"{git}/index": "staged", f"{git}/refs/stash": "1"})


def test_RF_03_repositories_are_never_touched(session: Session, root: Path) -> None:
    """Every .git entry is as it was; the work tree of a nested repository is covered."""
    repositories(root)
    before = told(root, git=True, modes=True)
    start = session.space.snapshot()
    assert {(one.path, one.reason) for one in start.left_out} == {
        (".git", "git"),
        ("vendor/lib/.git", "git"),
        ("node_modules/x/.git", "git"),
        ("sub/.git", "git"),
    }
    with session:
        put(root, "main.py", "v2")
        put(root, "vendor/lib/a.c", "v2")
    report = session.roll_back(start.root)
    assert report.clean
    assert told(root, git=True, modes=True) == before


def test_RF_03_a_repository_made_by_the_session_keeps_its_folder(
    session: Session, root: Path
) -> None:
    """What was cloned is taken away but for .git, which is nobody's to delete."""
    start = session.checkpoint()
    with session:
        make(root, {"clone/.git/HEAD": "ref", "clone/a.c": "v1"})
    report = session.roll_back(start)
    assert told(root, git=True) == {"clone": "/", "clone/.git": "/", "clone/.git/HEAD": "ref"}
    assert left_of(report)["clone"] == "holds what others made"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_RF_03_a_kill_while_a_snapshot_is_taken(tmp_path: Path, root: Path, seed: int) -> None:
    """Repositories are unharmed at any moment, and the next snapshot works without help."""
    repositories(root)
    make(root, {f"many/{n % 10}/f{n}": f"text {n}\n" * 50 for n in range(400)})
    before = told(root, git=True, modes=True)
    store = tmp_path / "store.db-files"
    child = subprocess.Popen([sys.executable, CHILD, "snapshots", store, root])
    try:
        child.wait(timeout=random.Random(seed).uniform(0.15, 0.6))
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
    finally:
        child.kill()
        child.wait()
    assert told(root, git=True, modes=True) == before
    again = WorkspaceFiles(store)
    session = Session(again, root)
    start = session.checkpoint()
    with session:
        put(root, "vendor/lib/a.c", "v2")
        put(root, "main.py", "v2")
    assert session.roll_back(start).clean
    assert told(root, git=True, modes=True) == before
    again.close()


ODD_NAMES = (
    "résumé.txt".encode(),
    "日本語.md".encode(),
    b"tab\tname",
    b"line\nbreak",
    b"-rf",
    b'quote".txt',
    b" lead and trail ",
    bytes.fromhex("636166e92e747874"),
)


def test_RF_04_names_are_bytes(session: Session, root: Path) -> None:
    """Every name comes back byte for byte, and passes through text unharmed."""
    make(root, dict.fromkeys(ODD_NAMES, "v1"))
    start = session.checkpoint()
    with session:
        make(root, dict.fromkeys((*ODD_NAMES, "ümlaut-new.txt"), "v2"))
    plan = session.plan(start)
    for step in plan.steps:
        text = path_text(step.path)
        assert text.encode().decode() == text
        assert text.isprintable()
        assert path_bytes(text) == step.path
    assert session.space.restore(plan).clean
    assert {name: (root / os.fsdecode(name)).read_text() for name in os.listdir(bytes(root))} == (
        dict.fromkeys(ODD_NAMES, "v1")
    )


MODES = {"creds.yaml": 0o600, "run.sh": 0o755, "ro.txt": 0o444, "group.txt": 0o664}


def test_RF_05_modes_are_exactly_those_of_the_checkpoint(session: Session, root: Path) -> None:
    """No bit is lost, and what is secret is never readable by others meanwhile."""
    for name, mode in MODES.items():
        put(root, name, "v1")
        (root / name).chmod(mode)
    put(root, "private/inner", "v1")
    (root / "private").chmod(0o700)
    before = told(root, modes=True)
    start = session.checkpoint()
    with session:
        for name in MODES:
            (root / name).unlink()
            put(root, name, "v2 by the session" * 10_000)
            (root / name).chmod(0o644)
        (root / "private").chmod(0o755)
    # The session's own file is for everybody to read, what replaces it must never be.
    seen = watch(root / "creds.yaml", lambda: session.roll_back(start))
    assert all(mode == 0o600 for mode, size in seen if size == len("v1"))
    assert told(root, modes=True) == before


def watch(path: Path, work: object) -> list[tuple[int, int]]:
    """Look at a file's mode and length again and again while work is done."""
    assert callable(work)
    seen: list[tuple[int, int]] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            facts = path.stat()
            seen.append((stat.S_IMODE(facts.st_mode), facts.st_size))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    facts = path.stat()
    return [*seen, (stat.S_IMODE(facts.st_mode), facts.st_size)]


def test_RF_05_a_mode_that_cannot_be_set_is_reported(
    session: Session, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is named, nothing is half done."""
    put(root, "creds.yaml", "v1")
    (root / "creds.yaml").chmod(0o600)
    start = session.checkpoint()
    with session:
        (root / "creds.yaml").chmod(0o644)
    plan = session.plan(start)

    def refuse(made: int, mode: int) -> None:
        raise PermissionError(errno.EPERM, "not yours")

    monkeypatch.setattr(os, "fchmod", refuse)
    report = session.space.restore(plan)
    assert [(path_text(one.path), one.did, one.detail) for one in report.outcomes] == [
        ("creds.yaml", "failed", "not yours")
    ]
    assert told(root, modes=True) == {"creds.yaml": "0644 v1"}


def test_RF_06_links_lead_nowhere(session: Session, root: Path, tmp_path: Path) -> None:
    """Nothing outside changes; links come back as links, and a folder as a folder."""
    make(tmp_path, {"OUTSIDE/real.cfg": "host", "OUTSIDE/d1.txt": "host"})
    make(root, {"data/d1.txt": "v1", "cfg": "-> ../OUTSIDE/real.cfg", "dangling": "-> nowhere"})
    before = told(root)
    start = session.checkpoint()
    with session:
        (root / "data/d1.txt").unlink()
        (root / "data").rmdir()
        make(root, {"data": "-> ../OUTSIDE", "cfg": "-> ../OUTSIDE/other", "dangling": "-> x"})
    assert session.roll_back(start).clean
    assert told(root) == before
    assert not (root / "data").is_symlink()
    assert told(tmp_path / "OUTSIDE") == {"real.cfg": "host", "d1.txt": "host"}


def test_RF_06_a_folder_swapped_for_a_link_after_the_plan(
    session: Session, root: Path, tmp_path: Path
) -> None:
    """The path is left alone and reported; what the link points to is unchanged."""
    make(tmp_path, {"OUTSIDE/d1.txt": "v2"})
    make(root, {"data/d1.txt": "v1"})
    start = session.checkpoint()
    with session:
        put(root, "data/d1.txt", "v2")
    plan = session.plan(start)
    (root / "data").rename(tmp_path / "moved")
    put(root, "data", "-> ../OUTSIDE")
    report = session.space.restore(plan)
    assert [one.did for one in report.outcomes] == ["changed meanwhile"]
    assert not report.clean
    assert told(tmp_path / "OUTSIDE") == {"d1.txt": "v2"}
    assert told(tmp_path / "moved") == {"d1.txt": "v2"}


@pytest.mark.parametrize("name", [b"../OUTSIDE/x", b"/ABSOLUTE/x", b"..", b".", b"", b"a\0b"])
def test_RF_06_forged_names_are_refused(session: Session, root: Path, name: bytes) -> None:
    """A stored folder that could lead out is no folder, and nothing is written."""
    files = session.files
    put(root, "a.txt", "v1")
    with session:
        put(root, "a.txt", "v2")
    entry: Entry = File(0o644, 2, digest_of(b"v1"))
    data = forged(name, entry)
    with pytest.raises(TreeDamaged):
        decode_tree(data)
    files.objects.put([blob_of(b"v1"), blob_of(data)])
    window = Window(session.checkpoint(), digest_of(data).hex())
    with pytest.raises(TreeDamaged):
        session.space.plan(digest_of(data).hex(), [window])
    assert told(root) == {"a.txt": "v2"}


def forged(name: bytes, entry: Entry) -> bytes:
    from msgspec.msgpack import encode

    return encode([(name, entry)])


def test_RF_07_later_edits_are_conflicts_and_a_rollback_can_be_undone(
    session: Session, root: Path, files: WorkspaceFiles
) -> None:
    """Somebody else's later work is left, unless forced; then undo brings it back."""
    make(root, {"notes.txt": "alpha", "own.txt": "v1"})
    start = session.checkpoint()
    with session:
        make(root, {"notes.txt": "alpha2", "own.txt": "v2"})
    put(root, "notes.txt", "beta")
    plan = session.plan(start)
    report = session.space.restore(plan)
    assert told(root) == {"notes.txt": "beta", "own.txt": "v1"}
    assert left_of(report) == {"notes.txt": "changed since"}
    assert not report.clean
    assert files.content(plan.target, "notes.txt") == b"alpha"
    assert files.content(plan.current, "notes.txt") == b"beta"
    forced = session.roll_back(start, force=True)
    assert told(root) == {"notes.txt": "alpha", "own.txt": "v1"}
    assert files.undo(forced.restore_id).clean
    assert files.undo(report.restore_id).clean
    assert told(root) == {"notes.txt": "beta", "own.txt": "v2"}


def test_RF_07_work_of_others_before_the_session_s_is_a_conflict_too(
    session: Session, root: Path
) -> None:
    """Going back behind it would lose it: reported, and done only when forced."""
    put(root, "notes.txt", "alpha")
    start = session.checkpoint()
    put(root, "notes.txt", "beta")
    with session:
        put(root, "notes.txt", "gamma")
    assert left_of(session.roll_back(start)) == {"notes.txt": "changed in between"}
    assert told(root) == {"notes.txt": "gamma"}
    assert session.roll_back(start, force=True).clean
    assert told(root) == {"notes.txt": "alpha"}


def test_RF_08_absence_is_a_state(session: Session, root: Path) -> None:
    """What was deleted comes back, what was absent goes, and the preview says exactly this."""
    make(root, {"keep.txt": "v1", "old.txt": "gone soon", "dir/1": "a", "dir/2": "b", "dir/3": "c"})
    (root / "old.txt").unlink()
    before = told(root)
    start = session.checkpoint()
    with session:
        (root / "keep.txt").unlink()
        put(root, "old.txt", "again")
        for name in "123":
            (root / "dir" / name).unlink()
        (root / "dir").rmdir()
    plan = session.plan(start)
    assert steps_of(plan) == {
        "keep.txt": "restore",
        "old.txt": "delete",
        "dir": "restore",
        "dir/1": "restore",
        "dir/2": "restore",
        "dir/3": "restore",
    }
    report = session.space.restore(plan)
    assert report.clean
    assert set(report.changed) == set(steps_of(plan))
    assert told(root) == before


@pytest.mark.parametrize("back", ["undo", "finish"])
def test_SY_02_an_error_in_the_middle_is_undone_or_finished(
    session: Session, root: Path, files: WorkspaceFiles, monkeypatch: pytest.MonkeyPatch, back: str
) -> None:
    """The third of five files fails: each path has its outcome, and both ways out are open."""
    names = [f"{n}.txt" for n in range(5)]
    make(root, dict.fromkeys(names, "v1"))
    start = session.checkpoint()
    with session:
        make(root, dict.fromkeys(names, "v2"))
    plan = session.plan(start)
    rename = os.rename
    with monkeypatch.context() as patch:

        def fail_third(*names: object, **folders: object) -> None:
            if names[1] == b"2.txt":
                raise PermissionError(errno.EACCES, "Permission denied")
            rename(*names, **folders)  # type: ignore[arg-type]

        patch.setattr(os, "rename", fail_third)
        report = session.space.restore(plan)
    assert report.state == "stopped"
    assert [one.did for one in report.outcomes] == [
        "restored",
        "restored",
        "failed",
        "not tried",
        "not tried",
    ]
    assert [one.restore_id for one in files.pending()] == [report.restore_id]
    after = files.undo(report.restore_id) if back == "undo" else files.finish(report.restore_id)
    assert after.clean
    assert told(root) == dict.fromkeys(names, "v2" if back == "undo" else "v1")
    assert files.pending() == []


def test_snapshots_of_equal_trees_are_equal(files: WorkspaceFiles, tmp_path: Path) -> None:
    """A tree's digest says what it holds, whoever took it and where."""
    found: list[Snapshot] = []
    for name in ("one", "two"):
        make(tmp_path / name, {"a/b": "v1", "link": "-> a", "empty": "/"})
        found.append(files.workspace(tmp_path / name).snapshot())
    assert found[0].root == found[1].root
    assert (found[0].read, found[1].read) == (1, 1)
