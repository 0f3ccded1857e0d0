"""Random edits by a session and by others, against a model that knows who did what.

The model is a table of paths. It is told each edit, so it knows without looking at files what a
rollback may change: the paths the session changed, as long as they are as the session left them.
"""

import os
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from work_trees import Session, Told, left_of, put, told

from ukemi.stores.workspace import WorkspaceFiles

NAMES = ("a", "b", "d", "d/x", "d/y", "d/e", "d/e/z", "\udce9")
KINDS = ("v1", "v2", "v3", "/", "-> ../OUTSIDE", "-> a", "gone")
Edit = tuple[str, str]

edits = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(KINDS)), max_size=4)
turns = st.lists(st.tuples(st.booleans(), edits), max_size=6)


def edit(root: Path, path: str, what: str) -> None:
    """Bring a path into a state, whatever it was; nothing where the folder above is none."""
    at = root / path
    above = at.parent
    if above.is_symlink() or not above.is_dir() or (above != root and not inside(root, above)):
        return
    if at.is_dir() and not at.is_symlink():
        if what == "/":
            return
        shutil.rmtree(at)
    elif os.path.lexists(at):
        at.unlink()
    if what != "gone":
        put(root, path, what)


def inside(root: Path, path: Path) -> bool:
    return path.resolve().is_relative_to(root.resolve())


def changed(before: Told, after: Told) -> dict[str, str | None]:
    """Return the paths that differ, with what they are now."""
    return {
        path: after.get(path)
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path)
    }


class Model:
    """What a rollback may touch."""

    def __init__(self, start: Told) -> None:
        self.start = start
        self.left: dict[str, str | None] = {}
        self.mixed: set[str] = set()

    def session_made(self, before: Told, after: Told) -> None:
        for path, now in changed(before, after).items():
            known = self.left[path] if path in self.left else self.start.get(path)
            if before.get(path) != known:
                self.mixed.add(path)
            self.left[path] = now

    def rolled_back(self, now: Told) -> tuple[set[str], set[str]]:
        """Return the paths that must be as at the start, and those that must be as they are."""
        ours = {
            path
            for path, left in self.left.items()
            if path not in self.mixed and now.get(path) == left
        }
        return ours, (now.keys() | self.start.keys() | self.left.keys()) - ours


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(first=edits, turns=turns)
def test_a_rollback_changes_only_what_the_session_did(
    tmp_path: Path, first: list[Edit], turns: list[tuple[bool, list[Edit]]]
) -> None:
    """Everything of others stays, all of the session's that can goes back, and undo takes it back."""
    shutil.rmtree(tmp_path)
    check(tmp_path, first, turns)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_longer_histories(tmp_path: Path, seed: int) -> None:
    """The same over many turns, where paths change hands again and again."""
    rng = random.Random(seed)

    def some(most: int) -> list[Edit]:
        return [(rng.choice(NAMES), rng.choice(KINDS)) for _ in range(rng.randint(0, most))]

    check(tmp_path, some(8), [(rng.random() < 0.6, some(5)) for _ in range(25)])


def check(tmp_path: Path, first: list[Edit], turns: list[tuple[bool, list[Edit]]]) -> None:
    root = tmp_path / "tree"
    root.mkdir(parents=True)
    (tmp_path / "OUTSIDE").mkdir()
    (tmp_path / "OUTSIDE/x").write_text("host")
    files = WorkspaceFiles(tmp_path / "files")
    session = Session(files, root)
    for path, what in first:
        edit(root, path, what)
    model = Model(told(root))
    start = session.checkpoint()
    for is_session, made in turns:
        before = told(root)
        if is_session:
            with session:
                for path, what in made:
                    edit(root, path, what)
            model.session_made(before, told(root))
        else:
            for path, what in made:
                edit(root, path, what)
    compare(session, model, start)
    assert told(tmp_path / "OUTSIDE") == {"x": "host"}
    files.close()


def compare(session: Session, model: Model, start: str) -> None:
    root, now = session.root, told(session.root)
    plan = session.plan(start)
    report = session.space.restore(plan)
    after = told(root)
    ours, others = model.rolled_back(now)
    named = left_of(report)
    for path in others:
        assert after.get(path) == now.get(path), path
        if path in model.left and now.get(path) != model.start.get(path):
            assert path in named, path
    for path in ours:
        # A folder that others use by now stays, and what has no folder to lie in is not put back.
        assert after.get(path) == (now.get(path) if path in named else model.start.get(path)), path
        assert named.get(path, "") in ("", "holds what others made", "its folder is gone")
    if report.restore_id:
        assert session.files.undo(report.restore_id).clean
    assert told(root) == now
