"""Restores as operations: stopped by errors, taken back, and never two at a time."""

import errno
import os
from pathlib import Path

import pytest
from work_trees import Session, left_of, make, put, steps_of, told

from ukemi.stores.workspace import ContentLost, RestoreUnknown, WorkspaceFiles
from ukemi.supervisor.errors import UsageError


def changed_session(session: Session, root: Path) -> str:
    """Let a session change a few files, and return the tree before."""
    make(root, {"a": "v1", "b": "v1", "d/c": "v1"})
    start = session.checkpoint()
    with session:
        make(root, {"a": "v2", "b": "v2", "d/c": "v2", "new": "v1"})
    return start


WORKED = {"a": "v2", "b": "v2", "d": "/", "d/c": "v2", "new": "v1"}
START = {"a": "v1", "b": "v1", "d": "/", "d/c": "v1"}


def test_a_preview_changes_nothing(session: Session, root: Path) -> None:
    start = changed_session(session, root)
    assert steps_of(session.plan(start)) == {
        "a": "restore",
        "b": "restore",
        "d/c": "restore",
        "new": "delete",
    }
    assert told(root) == WORKED


@pytest.mark.parametrize("at", range(1, 4))
@pytest.mark.parametrize("way", ["finish", "undo"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_full_disk(
    session: Session, root: Path, monkeypatch: pytest.MonkeyPatch, at: int, way: str, code: int
) -> None:
    """At any file: the restore stops, nothing is half written, and it can be finished or undone."""
    start = changed_session(session, root)
    plan, files = session.plan(start), session.files
    real, written = os.write, list[int]()

    def write(made: int, data: bytes) -> int:
        written.append(made)
        if len(written) < at:
            return real(made, data)
        real(made, data[:1])
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        report = session.space.restore(plan)
    assert report.state == "stopped"
    assert [one.detail for one in report.outcomes if one.did == "failed"] == [os.strerror(code)]
    assert told(root).keys() <= WORKED.keys()
    assert set(told(root).values()) <= {"v1", "v2", "/"}
    with pytest.raises(UsageError, match="finish or undo it first"):
        session.space.restore(plan)
    (files.finish if way == "finish" else files.undo)(report.restore_id)
    assert told(root) == (START if way == "finish" else WORKED)
    assert files.pending() == []


def test_undone_and_undone_again(session: Session, root: Path) -> None:
    """An undo is a restore, so it can be undone; each only once."""
    start = changed_session(session, root)
    files = session.files
    first = session.roll_back(start)
    undo = files.undo(first.restore_id)
    assert told(root) == WORKED
    with pytest.raises(UsageError, match="undone already"):
        files.undo(first.restore_id)
    files.undo(undo.restore_id)
    assert told(root) == START
    files.undo(first.restore_id)
    assert told(root) == WORKED


def test_an_undo_leaves_what_changed_since(session: Session, root: Path) -> None:
    """What others did after the rollback is theirs; forced, it goes."""
    start = changed_session(session, root)
    first = session.roll_back(start)
    put(root, "a", "user")
    undo = session.files.undo(first.restore_id)
    assert left_of(undo) == {"a": "changed since"}
    assert told(root) == {**WORKED, "a": "user"}


def test_an_undo_with_nothing_to_do(session: Session, root: Path) -> None:
    """Somebody has put all back by hand; it counts as undone."""
    start = changed_session(session, root)
    first = session.roll_back(start)
    make(root, {"a": "v2", "b": "v2", "d/c": "v2", "new": "v1"})
    assert session.files.undo(first.restore_id).clean
    with pytest.raises(UsageError, match="undone already"):
        session.files.undo(first.restore_id)


def test_what_changed_after_the_plan_is_left(session: Session, root: Path) -> None:
    """Each step looks again: a plan is a preview, not a licence."""
    start = changed_session(session, root)
    plan = session.plan(start)
    put(root, "a", "user")
    (root / "new").unlink()
    put(root, "new/inside", "user")
    report = session.space.restore(plan)
    did = {one.path.decode(): one.did for one in report.outcomes}
    assert did == {
        "a": "changed meanwhile",
        "b": "restored",
        "d/c": "restored",
        "new": "changed meanwhile",
    }
    assert not report.clean
    assert told(root)["a"] == told(root)["new/inside"] == "user"


def test_a_content_that_is_lost_stops_before_the_first_change(session: Session, root: Path) -> None:
    start = changed_session(session, root)
    plan = session.plan(start)
    with session.files.objects.writing() as connection:
        connection.execute(
            "DELETE FROM object WHERE digest IN (SELECT digest FROM object JOIN "
            "content USING (id) WHERE body = CAST('v1' AS BLOB))"
        )
    with pytest.raises(ContentLost, match=r"'a', 'b', 'd/c'"):
        session.space.restore(plan)
    assert told(root) == WORKED
    assert session.files.pending() == []


def test_a_content_found_damaged_stops_it(session: Session, root: Path) -> None:
    start = changed_session(session, root)
    plan = session.plan(start)
    with session.files.objects.writing() as connection:
        connection.execute(
            "UPDATE content SET body = CAST('xx' AS BLOB) WHERE body = CAST('v1' AS BLOB)"
        )
    report = session.space.restore(plan)
    assert report.state == "stopped"
    assert "damaged" in next(one.detail for one in report.outcomes if one.did == "failed")
    session.files.undo(report.restore_id)
    put(root, "new", "v1")
    assert told(root) == WORKED


def test_nothing_to_do(session: Session, root: Path) -> None:
    put(root, "a", "v1")
    report = session.roll_back(session.checkpoint())
    assert (report.state, report.outcomes, report.clean) == ("done", (), True)
    assert session.files.pending() == []


def test_an_unknown_restore(files: WorkspaceFiles) -> None:
    for ask in (files.undo, files.finish):
        with pytest.raises(RestoreUnknown, match="'none'"):
            ask("none")


def test_finishing_twice(session: Session, root: Path) -> None:
    """Finishing what is done reports again and changes nothing."""
    start = changed_session(session, root)
    first = session.roll_back(start)
    put(root, "a", "user")
    again = session.files.finish(first.restore_id)
    assert again.outcomes == first.outcomes
    assert told(root)["a"] == "user"


def test_an_interruption_leaves_it_open(session: Session, root: Path) -> None:
    """What is raised between two steps passes; the next start finds the restore."""
    start = changed_session(session, root)
    plan = session.plan(start)
    calls: list[int] = []

    def pause() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.space.restore(plan, pause=pause)
    again = WorkspaceFiles(session.files.path)
    (pending,) = again.pending()
    assert (pending.state, os.fsdecode(pending.place)) == ("running", str(root))
    assert again.finish(pending.restore_id).clean
    assert told(root) == START
    again.close()


def test_many_files_are_restored_together(
    session: Session, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several at a time; an error still stops it, and each path has its own outcome."""
    make(root, {f"{n % 4}/f{n}": f"text {n}" for n in range(700)})
    before = told(root)
    start = session.checkpoint()
    with session:
        make(root, {f"{n % 4}/f{n}": f"other {n}" for n in range(700)})
        make(root, {f"new/f{n}": "new" for n in range(300)})
    plan = session.plan(start)
    worked = told(root)
    real, written = os.write, list[int]()

    def write(made: int, data: bytes) -> int:
        written.append(made)
        if len(written) == 300:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(made, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        stopped = session.space.restore(plan)
    did = [one.did for one in stopped.outcomes]
    assert (stopped.state, did.count("failed")) == ("stopped", 1)
    assert did.count("not tried") >= 100
    assert session.files.finish(stopped.restore_id).clean
    assert told(root) == before
    assert session.files.undo(stopped.restore_id).clean
    assert told(root) == worked
