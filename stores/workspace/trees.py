"""Looking into stored trees and comparing two of them. Pure, given a way to read stored folders."""

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from .entries import Entry, File, Folder, Uncovered, same

ReadTree = Callable[[bytes], Mapping[bytes, Entry]]
"""Gives the entries of a stored folder by its digest."""


class Change(Struct, frozen=True):
    """What became of a path from one tree to another; None means absent."""

    before: Entry | None
    after: Entry | None

    @property
    def kind(self) -> str:
        """``added``, ``removed``, ``kind``, ``mode`` or ``changed``."""
        match self.before, self.after:
            case None, _:
                return "added"
            case _, None:
                return "removed"
            case File(digest=was), File(digest=now):
                return "mode" if was == now else "changed"
            case Folder(), Folder():
                return "mode"
            case before, after:
                return "changed" if type(before) is type(after) else "kind"


def state_at(read: ReadTree, root: bytes, path: bytes) -> Entry | None:
    """Return what a tree has at a path; inside something not covered, that is not covered either."""
    tree = root
    *above, name = path.split(b"/")
    for part in above:
        match read(tree).get(part):
            case Folder(tree=inner):
                tree = inner
            case Uncovered() as uncovered:
                return uncovered
            case _:
                return None
    return read(tree).get(name)


def names_in(read: ReadTree, root: bytes, path: bytes) -> list[bytes]:
    """Return the paths right inside a folder of a tree; of anything else, none."""
    match state_at(read, root, path):
        case Folder(tree=tree):
            return [path + b"/" + name for name in read(tree)]
        case _:
            return []


def walk(read: ReadTree, tree: bytes, above: bytes = b"") -> Iterator[tuple[bytes, Entry]]:
    """Yield every path of a tree with what is there, folders before what is inside."""
    for name, entry in read(tree).items():
        yield above + name, entry
        if isinstance(entry, Folder):
            yield from walk(read, entry.tree, above + name + b"/")


def diff(read: ReadTree, one: bytes, other: bytes, above: bytes = b"") -> dict[bytes, Change]:
    """Return what differs between two trees, path by path; equal folders are not opened."""
    found: dict[bytes, Change] = {}
    if one == other:
        return found
    before, after = read(one), read(other)
    for name in sorted(before.keys() | after.keys()):
        path = above + name
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if not same(old, new):
            found[path] = Change(old, new)
        match old, new:
            case Folder(tree=was), Folder(tree=now):
                found |= diff(read, was, now, path + b"/")
            case Folder(tree=was), _:
                inside = walk(read, was, path + b"/")
                found |= {inner: Change(entry, _inside(new)) for inner, entry in inside}
            case _, Folder(tree=now):
                inside = walk(read, now, path + b"/")
                found |= {inner: Change(_inside(old), entry) for inner, entry in inside}
            case _:
                pass
    return found


def _inside(entry: Entry | None) -> Uncovered | None:
    """Return what a path has when this lies above it: of what was not covered, nothing is known."""
    return entry if isinstance(entry, Uncovered) else None
