"""What a session changed: the sum of its windows.

A window is a pair of trees, from before and after a call that may have written. What changed inside
a window counts as the session's, what changed between two windows as somebody else's.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from .entries import Entry, same
from .trees import Change, ReadTree, diff


class Window(Struct, frozen=True):
    """The trees before and after a call, as hexadecimal digests."""

    before: str
    after: str


class Touched(Struct, frozen=True):
    """What a session did to a path, all in all.

    Attributes:
        before: the state that its first change found.
        left: the state in which it last left the path.
        mixed: somebody else changed the path between two of its changes.
    """

    before: Entry | None
    left: Entry | None
    mixed: bool = False


def touched_in(read: ReadTree, windows: Iterable[Window]) -> dict[bytes, Touched]:
    """Return what a session changed in its windows, which are in order of time."""
    return merge(diff(read, bytes.fromhex(one.before), bytes.fromhex(one.after)) for one in windows)


def merge(changes: Iterable[Mapping[bytes, Change]]) -> dict[bytes, Touched]:
    """Sum up changes, path by path."""
    touched: dict[bytes, Touched] = {}
    for found in changes:
        for path, change in found.items():
            prior = touched.get(path)
            if prior is None:
                touched[path] = Touched(change.before, change.after)
            else:
                mixed = prior.mixed or not same(prior.left, change.before)
                touched[path] = Touched(prior.before, change.after, mixed)
    return touched
