"""The way back: which paths a restore would put into which state, and which it leaves alone, and why.

Pure. A plan is fixed before the first change and holds only paths that the session itself changed;
no rule that lies in the tree can add to it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from .changes import Touched
from .entries import Entry, Folder, Uncovered, same
from .trees import ReadTree, names_in, state_at

LeftWhy = Literal[
    "changed since",
    "changed in between",
    "not covered",
    "holds what others made",
    "its folder is gone",
]
"""Why a path is left alone. Force overrides the first two, and the last where the folder can be made."""

CONFLICTS: frozenset[LeftWhy] = frozenset(
    ("changed since", "changed in between", "its folder is gone")
)


class Step(Struct, frozen=True):
    """A path to be put from one state into another; None means absent."""

    path: bytes
    now: Entry | None
    want: Entry | None

    @property
    def deletes(self) -> bool:
        return self.want is None


class Left(Struct, frozen=True):
    """A path that is left alone: the state it has, and the one it would have got."""

    path: bytes
    why: LeftWhy
    now: Entry | None
    want: Entry | None
    detail: str = ""


class Plan(Struct, frozen=True):
    """What a restore will do. Both trees are kept, so that each version of a path can be had.

    Attributes:
        target: the tree to go back to, as a hexadecimal digest.
        current: the tree as it is now.
        steps: in order of their paths; those to be deleted are deleted from the end.
        left: what the session changed and the restore does not touch.
    """

    target: str
    current: str
    steps: tuple[Step, ...] = ()
    left: tuple[Left, ...] = ()
    forced: bool = False

    @property
    def conflicts(self) -> tuple[Left, ...]:
        """Paths that somebody else changed as well."""
        return tuple(one for one in self.left if one.why in CONFLICTS)


def plan_restore(
    read: ReadTree,
    *,
    target: str,
    current: str,
    touched: Mapping[bytes, Touched],
    force: bool = False,
) -> Plan:
    """Return how to bring the paths that a session changed back to a tree.

    Args:
        read: gives stored folders.
        target: the tree to go back to.
        current: the tree as it is now.
        touched: what the session changed since the target.
        force: also where somebody else changed a path of the session's afterwards.
    """
    then, now = bytes.fromhex(target), bytes.fromhex(current)
    verdicts: dict[bytes, Step | Left] = {}
    for path in sorted(touched):
        have, want = state_at(read, now, path), state_at(read, then, path)
        verdict = _verdict(path, have, want, touched[path], force)
        if verdict is not None:
            verdicts[path] = verdict
    _keep_folders_in_use(verdicts, lambda path: names_in(read, now, path))
    _provide_folders(verdicts, read, then, now, force)
    found = [verdicts[path] for path in sorted(verdicts)]
    return Plan(
        target=target,
        current=current,
        steps=tuple(one for one in found if isinstance(one, Step)),
        left=tuple(one for one in found if isinstance(one, Left)),
        forced=force,
    )


def _verdict(
    path: bytes, now: Entry | None, want: Entry | None, touched: Touched, force: bool
) -> Step | Left | None:
    """Decide about one path by itself."""
    if isinstance(want, Uncovered):
        return Left(path, "not covered", now, want, want.reason)
    if same(now, want):
        return None
    if isinstance(now, Uncovered):
        # Its content could not be kept, so what is done to it could not be undone.
        return Left(path, "not covered", now, want, now.reason)
    if not force and (touched.mixed or not same(touched.before, want)):
        return Left(path, "changed in between", now, want)
    if not force and not same(touched.left, now):
        return Left(path, "changed since", now, want)
    return Step(path, now, want)


def _keep_folders_in_use(
    verdicts: dict[bytes, Step | Left], names: Callable[[bytes], list[bytes]]
) -> None:
    """Leave a folder that would have to go but holds what stays, even when forced."""
    for path in sorted(verdicts, reverse=True):
        step = verdicts[path]
        if not isinstance(step, Step) or not isinstance(step.now, Folder):
            continue
        if isinstance(step.want, Folder):
            continue
        if not all(_goes(verdicts.get(inner)) for inner in names(path)):
            verdicts[path] = Left(path, "holds what others made", step.now, step.want)


def _goes(verdict: Step | Left | None) -> bool:
    return isinstance(verdict, Step) and verdict.deletes


def _provide_folders(
    verdicts: dict[bytes, Step | Left], read: ReadTree, then: bytes, now: bytes, force: bool
) -> None:
    """See to it that whatever is put back has a folder to lie in."""
    for path in sorted(verdicts):
        step = verdicts[path]
        if not isinstance(step, Step) or step.deletes:
            continue
        missing = [
            above for above in _above(path) if not _will_be_folder(verdicts, read, now, above)
        ]
        made = [_made_again(read, then, now, above) for above in missing]
        if all(made) and (force or not made):
            verdicts |= {one.path: one for one in made if one is not None}
        else:
            verdicts[path] = Left(path, "its folder is gone", step.now, step.want)


def _above(path: bytes) -> Iterator[bytes]:
    at = path.find(b"/")
    while at >= 0:
        yield path[:at]
        at = path.find(b"/", at + 1)


def _will_be_folder(
    verdicts: Mapping[bytes, Step | Left], read: ReadTree, now: bytes, path: bytes
) -> bool:
    verdict = verdicts.get(path)
    if isinstance(verdict, Step):
        return isinstance(verdict.want, Folder)
    return isinstance(state_at(read, now, path), Folder)


def _made_again(read: ReadTree, then: bytes, now: bytes, path: bytes) -> Step | None:
    """Return the step that makes a folder somebody else has removed; over nothing that exists."""
    want = state_at(read, then, path)
    if state_at(read, now, path) is None and isinstance(want, Folder):
        return Step(path, None, want)
    return None
