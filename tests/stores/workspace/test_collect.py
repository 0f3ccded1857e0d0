"""What is removed, and what never is: trees that are referred to, used lately, or under way."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from work_trees import Session, make, put, told

from ukemi.stores.workspace import WorkspaceFiles
from ukemi.stores.workspace.collect import GRACE_S, GRACE_S_MIN
from ukemi.supervisor.errors import UsageError


class Clock:
    """A clock that stands until it is told the time."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(files: WorkspaceFiles) -> Clock:
    """Let the ages of contents be told."""
    files.objects.clock = clock = Clock()
    return clock


def test_only_what_nothing_needs_goes(
    session: Session, files: WorkspaceFiles, root: Path, clock: Clock
) -> None:
    """Contents of a tree that is referred to stay; a dry run says what would go."""
    make(root, {"a": "v1", "shared/x": "same"})
    first = session.checkpoint()
    put(root, "a", "v2")
    second = session.checkpoint()
    clock.now += 2 * GRACE_S
    preview = files.collect([second], dry_run=True)
    assert (preview.contents, preview.lost, preview.damaged) == (2, (), "")
    assert files.content(first, "a") == b"v1"
    assert files.collect([second]) == preview
    assert files.content(second, "a") == b"v2"
    assert files.content(second, "shared/x") == b"same"
    assert not files.objects.known(bytes.fromhex(first))
    assert files.collect([second]).contents == 0


def test_what_was_used_lately_stays(
    session: Session, files: WorkspaceFiles, root: Path, clock: Clock
) -> None:
    """A snapshot that no session refers to yet, and all below it, however old that is."""
    make(root, {"a": "v1", "d/b": "old"})
    old = session.checkpoint()
    clock.now += 2 * GRACE_S
    put(root, "a", "v2")
    young = session.checkpoint()
    assert files.collect([]).contents == 2
    assert files.content(young, "d/b") == b"old"
    assert not files.objects.known(bytes.fromhex(old))
    clock.now += 2 * GRACE_S
    assert files.collect([]).kept == 0


def test_an_unchanged_tree_is_held(
    session: Session, files: WorkspaceFiles, root: Path, clock: Clock
) -> None:
    """A snapshot that finds nothing new makes its tree young again."""
    put(root, "a", "v1")
    kept = session.checkpoint()
    clock.now += 2 * GRACE_S
    assert session.checkpoint() == kept
    assert files.collect([]).contents == 0
    clock.now += 2 * GRACE_S
    assert files.collect([]).kept == 0
    assert session.checkpoint() == kept
    assert files.content(kept, "a") == b"v1"


def test_a_restore_keeps_both_ends_while_it_can_be_undone(
    session: Session, files: WorkspaceFiles, root: Path, clock: Clock
) -> None:
    put(root, "a", "v1")
    start = session.checkpoint()
    with session:
        put(root, "a", "v2")
    report = session.roll_back(start)
    clock.now += GRACE_S / 2
    assert files.collect([]).contents == 0
    files.undo(report.restore_id)
    assert told(root) == {"a": "v2"}


@pytest.mark.parametrize("at", range(1, 8))
def test_a_collection_in_the_middle_of_a_snapshot(
    session: Session, files: WorkspaceFiles, root: Path, clock: Clock, at: int
) -> None:
    """Between any two files, from another process: nothing that is counted on goes."""
    make(root, {f"{n % 3}/f{n}": f"text {n}" for n in range(30)})
    session.checkpoint()
    clock.now += 2 * GRACE_S
    other = WorkspaceFiles(files.path)
    other.objects.clock = clock
    # Contents that are stored, unreferenced and old: the new files count on them.
    make(root, {f"new/f{n}": f"text {n}" for n in range(10)})
    snapshot = session.space.snapshot(pause=at_call(at, lambda: other.collect([])))
    other.collect([])
    for n in range(10):
        assert files.content(snapshot.root, f"new/f{n}") == f"text {n}".encode()
    for n in range(10, 30):
        assert files.content(snapshot.root, f"{n % 3}/f{n}") == f"text {n}".encode()
    other.close()


def at_call(number: int, work: Callable[[], object]) -> Callable[[], None]:
    calls: list[int] = []

    def pause() -> None:
        calls.append(1)
        if len(calls) == number:
            work()

    return pause


def test_lost_and_damaged_trees(
    session: Session, files: WorkspaceFiles, root: Path, clock: Clock
) -> None:
    """A tree that is not there is named; damage inside of one stops the collection."""
    make(root, {"d/a": "v1"})
    old = session.checkpoint()
    make(root, {"d/a": "v2"})
    kept = session.checkpoint()
    clock.now += 2 * GRACE_S
    found = files.collect([kept, "00" * 32], dry_run=True)
    assert found.lost == ("00" * 32,)
    assert found.contents == 3
    with files.objects.writing() as connection:
        connection.execute("UPDATE content SET body = x'00'")
    files.objects.forget_trees()
    damaged = files.collect([kept])
    assert "damaged" in damaged.damaged
    assert damaged.contents == 0
    assert files.objects.known(bytes.fromhex(old))


def test_the_file_shrinks(
    session: Session, files: WorkspaceFiles, root: Path, clock: Clock
) -> None:
    (root / "big").write_bytes(os.urandom(3_000_000))
    session.checkpoint()
    clock.now += 2 * GRACE_S
    assert files.collect([]).bytes > 3_000_000
    files.close()
    assert files.path.stat().st_size < 200_000


def test_a_short_grace_is_refused(files: WorkspaceFiles) -> None:
    with pytest.raises(UsageError, match="grace_s"):
        files.collect([], grace_s=GRACE_S_MIN - 1)
