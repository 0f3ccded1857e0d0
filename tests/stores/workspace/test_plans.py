"""The way back as a table: one path, what it was, what the session made of it, what it is now."""

from operator import attrgetter

import pytest
from msgspec import Struct

from ukemi.stores.workspace.changes import Touched, merge
from ukemi.stores.workspace.entries import (
    Entry,
    File,
    Folder,
    Link,
    TreeDamaged,
    Uncovered,
    decode_tree,
    digest_of,
    encode_tree,
    path_bytes,
    path_text,
)
from ukemi.stores.workspace.plans import Left, Plan, Step, plan_restore
from ukemi.stores.workspace.trees import Change, diff, state_at, walk

V1, V2, USER = (File(0o644, 2, digest_of(text)) for text in (b"v1", b"v2", b"user"))
SECRET = File(0o600, 2, V1.digest)
LINK = Link(b"../elsewhere")
LARGE = Uncovered("too large")

Nested = dict[bytes, "Entry | Nested"]


class Trees:
    """Stored folders, made from nested tables."""

    def __init__(self) -> None:
        self.stored: dict[bytes, dict[bytes, Entry]] = {}

    def read(self, digest: bytes) -> dict[bytes, Entry]:
        return self.stored[digest]

    def tree(self, nested: Nested, mode: int = 0o755) -> Folder:
        entries = {
            name: self.tree(one) if isinstance(one, dict) else one for name, one in nested.items()
        }
        digest = digest_of(encode_tree(entries))
        self.stored[digest] = entries
        return Folder(mode, digest)

    def root(self, nested: Nested) -> str:
        return self.tree(nested).tree.hex()


class Case(Struct, frozen=True):
    rule: str
    then: Entry | None
    before: Entry | None
    left: Entry | None
    now: Entry | None
    does: str
    forced: str = "restore"
    mixed: bool = False


CASES = [
    Case("changed by the session: put back", V1, V1, V2, V2, "restore"),
    Case("made by the session: deleted", None, None, V1, V1, "delete", "delete"),
    Case("deleted by the session: put back", V1, V1, None, None, "restore"),
    Case("only the mode changed: put back", SECRET, SECRET, V1, V1, "restore"),
    Case("a file made a link: put back", V1, V1, LINK, LINK, "restore"),
    Case("as it was already: nothing", V1, V1, V2, V1, "", ""),
    Case("made and gone again: nothing", None, None, V1, None, "", ""),
    Case("changed since by others: left", V1, V1, V2, USER, "changed since"),
    Case("deleted since by others: left", V1, V1, V2, None, "changed since"),
    Case("mode changed since by others: left", V1, V1, SECRET, V2, "changed since"),
    Case(
        "made by the session, changed since: left", None, None, V1, USER, "changed since", "delete"
    ),
    Case("deleted by the session, made by others: left", V1, V1, None, USER, "changed since"),
    Case("others before the session: left", V1, USER, V2, V2, "changed in between"),
    Case("others between: left", V1, V1, V2, V2, "changed in between", mixed=True),
    Case("made by others, then changed: left", None, USER, V2, V2, "changed in between", "delete"),
    Case("not covered then: left for good", LARGE, LARGE, V2, V2, "not covered", "not covered"),
    Case("not covered now: left for good", V1, V1, LARGE, LARGE, "not covered", "not covered"),
    Case(
        "made, and not covered: left for good",
        None,
        None,
        LARGE,
        LARGE,
        "not covered",
        "not covered",
    ),
]


@pytest.mark.parametrize("force", [False, True], ids=["", "forced"])
@pytest.mark.parametrize("case", CASES, ids=attrgetter("rule"))
def test_one_path(case: Case, force: bool) -> None:
    """The verdict about one path, and what force makes of it."""
    trees = Trees()
    plan = plan_restore(
        trees.read,
        target=trees.root({b"p": case.then} if case.then else {}),
        current=trees.root({b"p": case.now} if case.now else {}),
        touched={b"p": Touched(case.before, case.left, case.mixed)},
        force=force,
    )
    found: list[str] = [one.why for one in plan.left]
    found += ["delete" if step.deletes else "restore" for step in plan.steps]
    expected = case.does
    if force and expected.startswith("changed"):
        expected = case.forced
    assert found == ([expected] if expected else [])


def plan_of(then: Nested, left: Nested, now: Nested, *, force: bool = False) -> dict[str, str]:
    """Plan back to a tree from one in which the session has left it and others have gone on."""
    trees = Trees()
    roots = [trees.root(one) for one in (then, left, now)]
    touched = merge([diff(trees.read, bytes.fromhex(roots[0]), bytes.fromhex(roots[1]))])
    return verdicts(
        plan_restore(trees.read, target=roots[0], current=roots[2], touched=touched, force=force)
    )


def verdicts(plan: Plan) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in (*plan.steps, *plan.left):
        match one:
            case Step(path=path):
                found[path.decode()] = "delete" if one.deletes else "restore"
            case Left(path=path, why=why):
                found[path.decode()] = why
    return found


class TestFolders:
    def test_a_folder_goes_with_all_the_session_made(self) -> None:
        made: Nested = {b"d": {b"a": V1, b"e": {b"b": V1}}}
        expected = dict.fromkeys(("d", "d/a", "d/e", "d/e/b"), "delete")
        assert plan_of({}, made, made) == expected

    @pytest.mark.parametrize("force", [False, True])
    def test_a_folder_that_others_use_stays(self, force: bool) -> None:
        made: Nested = {b"d": {b"a": V1, b"e": {b"b": V1}}}
        now: Nested = {b"d": {b"a": V1, b"e": {b"b": V1, b"theirs": USER}}}
        stays = "holds what others made"
        expected = {"d": stays, "d/a": "delete", "d/e": stays, "d/e/b": "delete"}
        assert plan_of({}, made, now, force=force) == expected

    @pytest.mark.parametrize("force", [False, True])
    def test_a_repository_keeps_its_folder(self, force: bool) -> None:
        made: Nested = {b"d": {b"a": V1, b".git": Uncovered("git")}}
        found = plan_of({}, made, made, force=force)
        assert found["d"] == "holds what others made"
        assert found["d/a"] == "delete"
        assert found["d/.git"] == "not covered"

    def test_a_folder_replaced_by_a_link_and_back(self) -> None:
        then: Nested = {b"d": {b"a": V1}}
        assert plan_of(then, {b"d": LINK}, {b"d": LINK}) == {"d": "restore", "d/a": "restore"}

    def test_a_file_replaced_by_a_folder_others_use(self) -> None:
        """The folder stays with what is theirs in it, and so the file cannot come back."""
        left: Nested = {b"d": {b"a": V1}}
        now: Nested = {b"d": {b"a": V1, b"theirs": USER}}
        for force in (False, True):
            found = plan_of({b"d": V1}, left, now, force=force)
            assert found == {"d": "holds what others made", "d/a": "delete"}

    def test_a_folder_others_removed(self) -> None:
        """What the session deleted in it has nowhere to lie; forced, the folder is made again."""
        then: Nested = {b"d": {b"a": V1, b"b": V1}}
        left: Nested = {b"d": {b"b": V1}}
        assert plan_of(then, left, {}) == {"d/a": "its folder is gone"}
        assert plan_of(then, left, {}, force=True) == {"d": "restore", "d/a": "restore"}
        replaced: Nested = {b"d": USER}
        assert plan_of(then, left, replaced, force=True) == {"d/a": "its folder is gone"}

    def test_modes_of_folders(self) -> None:
        trees = Trees()
        inner = trees.tree({b"a": V1})
        closed = Folder(0o500, inner.tree)
        roots = [trees.root({b"d": one}) for one in (inner, closed)]
        changes = diff(trees.read, *(bytes.fromhex(root) for root in roots))
        assert changes == {b"d": Change(inner, closed)}
        plan = plan_restore(trees.read, target=roots[0], current=roots[1], touched=merge([changes]))
        assert plan.steps == (Step(b"d", closed, inner),)


class TestRulesThatChange:
    """A folder excluded at one moment and covered at another was neither made nor deleted."""

    @pytest.mark.parametrize("force", [False, True])
    def test_excluded_then(self, force: bool) -> None:
        now: Nested = {b"secrets": {b"key": USER}}
        found = plan_of({b"secrets": Uncovered("excluded")}, now, now, force=force)
        assert set(found.values()) == {"not covered"}

    @pytest.mark.parametrize("force", [False, True])
    def test_excluded_now(self, force: bool) -> None:
        now: Nested = {b"secrets": Uncovered("excluded")}
        found = plan_of({b"secrets": {b"key": USER}}, now, now, force=force)
        assert set(found.values()) == {"not covered"}


NAMES = [
    b"a",
    "\u00e9\u65e5".encode(),
    b"\xe9",
    b"a\\b",
    b"\\xe9",
    b"tab\tnew\nline",
    b" ",
    b"\xff\\",
]


@pytest.mark.parametrize("name", NAMES)
def test_paths_as_text(name: bytes) -> None:
    """Text that anything can store, and the same bytes again."""
    text = path_text(name)
    assert path_bytes(text) == name
    assert text.isprintable()
    text.encode()


def test_text_that_is_no_path() -> None:
    for text in ("\\", "\\q", "\\xzz"):
        with pytest.raises(ValueError, match=r"path|hex"):
            path_bytes(text)


def test_stored_folders_are_checked() -> None:
    """A name out of order, or twice, or a mode that is none: damaged, and nothing is done with it."""
    from msgspec.msgpack import encode

    good = encode_tree({b"a": V1, b".git": Uncovered("git")})
    assert list(decode_tree(good)) == [b".git", b"a"]
    bad: list[object] = [
        [(b"b", V1), (b"a", V1)],
        [(b"a", V1), (b"a", V1)],
        [(b"a", File(0o100644, 2, b""))],
        [(b".git", V1)],
        [(b"a" * 256, V1)],
        {"a": 1},
    ]
    for one in bad:
        with pytest.raises(TreeDamaged):
            decode_tree(encode(one))


def test_looking_into_trees() -> None:
    trees = Trees()
    root = bytes.fromhex(trees.root({b"d": {b"a": V1}, b"x": Uncovered("excluded"), b"f": V2}))
    assert state_at(trees.read, root, b"d/a") == V1
    assert state_at(trees.read, root, b"d/absent") is None
    assert state_at(trees.read, root, b"f/inside") is None
    assert state_at(trees.read, root, b"x/inside/deep") == Uncovered("excluded")
    assert [path for path, _ in walk(trees.read, root)] == [b"d", b"d/a", b"x", b"f"]
