"""What lies behind a checkpoint: windows of the working directory, effects, and what a model is told."""

from operator import attrgetter

import pytest
from msgspec import Struct

from ukemi.actors.rollback.notes import note_of
from ukemi.actors.rollback.windows import Since, needed_roots, root_at, windows_since
from ukemi.stores.records import (
    Intended,
    JournalEntry,
    Late,
    PathEnd,
    Resulted,
    RollbackMode,
    RolledBack,
    TreeWindow,
    Undone,
)


def begun(n: int, root: str, index: int = 0) -> Intended:
    return Intended(n, index, "shell", "digest", root=root)


def ended(
    n: int, counter: int, *windows: tuple[str, str], index: int = 0, problem: str = ""
) -> Resulted:
    seen = tuple(TreeWindow(*each) for each in windows)
    return Resulted(n, index, counter, "ok", windows=seen, no_snapshot=problem)


def w(before: str, after: str, shared: bool = False) -> TreeWindow:
    return TreeWindow(before, after, shared)


class Case(Struct, frozen=True):
    rule: str
    entries: list[JournalEntry]
    to: int
    root: str
    windows: tuple[TreeWindow, ...]
    unknown: int = 0


TWO: list[JournalEntry] = [
    begun(1, "a"),
    ended(1, 1, ("a", "b")),
    begun(2, "c"),
    ended(2, 2, ("c", "d")),
]

CASES = [
    Case("from the beginning, all of it", TWO, 0, "a", (w("a", "b"), w("c", "d"))),
    Case(
        "only what came after the checkpoint, from what the session found",
        TWO,
        1,
        "c",
        (w("c", "d"),),
    ),
    Case("nothing after the last", TWO, 2, "", ()),
    Case(
        "a call that never ended may have changed all until the next look",
        [begun(1, "a"), begun(2, "c"), ended(2, 1, ("c", "d"))],
        0,
        "a",
        (w("a", "c", shared=True), w("c", "d")),
    ),
    Case(
        "one that is the last, all until now", [begun(1, "a")], 0, "a", (w("a", "", shared=True),)
    ),
    Case(
        "an attempt of an earlier life is not known, the one of this life is",
        [begun(1, "a"), begun(1, "b"), ended(1, 1, ("b", "c"))],
        0,
        "a",
        (w("a", "b", shared=True), w("b", "c")),
    ),
    Case(
        "attempts of one life each have a window",
        [begun(1, "a"), begun(1, "b"), ended(1, 1, ("a", "b"), ("b", "c"))],
        0,
        "a",
        (w("a", "b"), w("b", "c")),
    ),
    Case(
        "a call without a look is named; behind it, the tree before it is the one to go back to",
        [
            *TWO,
            begun(3, ""),
            ended(3, 3, problem="disk full"),
            begun(4, "x"),
            ended(4, 4, ("x", "y")),
        ],
        2,
        "d",
        (w("x", "y"),),
        unknown=1,
    ),
    Case(
        "calls side by side end one after the other",
        [
            begun(1, "a"),
            begun(1, "a", 1),
            ended(1, 1, ("a", "b")),
            ended(1, 2, ("b", "c"), index=1),
        ],
        0,
        "a",
        (w("a", "b"), w("b", "c")),
    ),
    Case(
        "of calls side by side, one may lie before the target",
        [
            begun(1, "a"),
            begun(1, "a", 1),
            ended(1, 1, ("a", "b")),
            ended(1, 2, ("b", "c"), index=1),
        ],
        1,
        "b",
        (w("b", "c"),),
    ),
    Case(
        "a rollback is the session's own change",
        [*TWO, RolledBack(9, "done", windows=(w("d", "b"),))],
        1,
        "c",
        (w("c", "d"), w("d", "b")),
    ),
    Case(
        "what was undone as well",
        [*TWO, Undone(2, 0, "rolled_back", windows=(w("d", "c"),))],
        1,
        "c",
        (w("c", "d"), w("d", "c")),
    ),
    Case(
        "a run that a person allowed comes late",
        [
            begun(1, "a"),
            ended(1, 1),
            begun(1, "e"),
            Late(1, 0, "succeeded", "", windows=(w("e", "f"),)),
        ],
        0,
        "a",
        (w("a", "e", shared=True), w("e", "f")),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=attrgetter("rule"))
def test_windows_behind_a_checkpoint(case: Case) -> None:
    since = windows_since(case.entries, case.to)
    assert (since.root, since.windows) == (case.root, case.windows)
    assert len(since.unknown) == case.unknown


@pytest.mark.parametrize("counter", range(3))
def test_windows_never_overlap_and_begin_where_the_target_stands(counter: int) -> None:
    since = windows_since(TWO, counter)
    assert since == Since(since.root, since.windows, since.calls, ())
    assert [each.before for each in since.windows] == ["a", "c"][counter:]


def test_the_tree_at_a_checkpoint_is_that_after_the_last_look() -> None:
    assert [root_at(TWO, counter) for counter in range(3)] == ["a", "b", "d"]
    assert root_at([begun(1, ""), ended(1, 1)], 1) == ""


NEEDED = [
    ("all of it, as long as nothing is given up", 0, 99, "abcd"),
    (
        "what came before the oldest checkpoint is given up, but for the tree it began with",
        3,
        99,
        "cd",
    ),
    ("and nothing, where effects may still be undone", 3, 1, "abcd"),
    (
        "of what is all given up, the last tree stays: it is that of the checkpoints kept",
        9,
        99,
        "d",
    ),
]


@pytest.mark.parametrize(
    ("oldest", "unsettled", "roots"),
    [each[1:] for each in NEEDED],
    ids=[each[0] for each in NEEDED],
)
def test_trees_that_a_session_needs(oldest: int, unsettled: int, roots: str) -> None:
    assert needed_roots(TWO, oldest, unsettled) == set(roots)


BACK = PathEnd("a.py", "restored")
LEFT = PathEnd("b.py", "conflict", "changed since")
NOTES = [
    ("full", (BACK,), (), "", ()),
    ("full", (BACK, LEFT), (), "b.py", ("a.py",)),
    ("full", (BACK,), ("call 3.0 mail",), "call 3.0 mail", ("a.py",)),
    ("soft", (BACK,), ("call 3.0 mail",), "a.py", ("mail",)),
    ("soft", (), (), "", ()),
    ("context", (BACK, LEFT), (), "a.py, b.py", ()),
    ("context", (), ("call 3.0 mail",), "call 3.0 mail", ()),
    ("context", (), (), "", ()),
    ("prune", (BACK,), ("call 3.0 mail",), "", ()),
]


@pytest.mark.parametrize(("mode", "paths", "kept", "has", "lacks"), NOTES)
def test_the_model_is_told_what_it_must_know_and_nothing_else(
    mode: RollbackMode,
    paths: tuple[PathEnd, ...],
    kept: tuple[str, ...],
    has: str,
    lacks: tuple[str, ...],
) -> None:
    note = note_of(mode, 2, paths, kept)
    assert bool(note) == bool(has)
    assert has in note
    assert not any(each in note for each in lacks)
