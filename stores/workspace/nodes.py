"""What is known of a tree since it was last looked at, so that looking again costs little.

A file counts as unchanged while times, length and inode are those it had when it was read, and those
times were settled then: a clock tick older than the reading. Within a tick a file can change
without its times changing, so a younger one is read once more (git calls such an entry racy).
A folder is listed again under the same rule only; its time changes with every name in it.
"""

import zlib
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct, field

from .entries import Entry, File, Folder, Uncovered
from .folders import Facts

UNSETTLED: Facts = (0, 0, 0, 0)
"""Equal to no facts of a file: it is looked at again."""

TICK_NS = 20_000_000
"""Kernels stamp files with a clock that moves every 1 to 10 ms."""

COARSE_TICK_NS = 2_000_000_000
"""The step of file systems that keep whole seconds, or two."""


class Sums(Struct, frozen=True, array_like=True):
    """What a folder holds, everything below it included."""

    files: int = 0
    bytes: int = 0
    uncovered: int = 0


class Node(Struct, array_like=True):
    """What is known of a folder.

    Attributes:
        mode: its permission bits.
        listed: its facts when it was listed; None asks for another listing.
        rules: the keys of the exclusions it was listed under.
        files: facts of everything in it but folders.
        entries: what these are; and what is not covered.
        folders: the folders in it that are.
        tree: the digest of its stored form; empty while that is out of date.
    """

    mode: int = 0
    listed: Facts | None = None
    rules: tuple[bytes, ...] = ()
    files: dict[bytes, Facts] = field(default_factory=dict[bytes, Facts])
    entries: dict[bytes, Entry] = field(default_factory=dict[bytes, Entry])
    folders: dict[bytes, "Node"] = field(default_factory=dict[bytes, "Node"])
    tree: bytes = b""
    sums: Sums = Sums()

    def knows(self, name: bytes) -> bool:
        return name in self.entries or name in self.files or name in self.folders

    def stored_form(self, inner: Mapping[bytes, bytes]) -> dict[bytes, Entry]:
        """Return the folder's entries; ``inner`` has the digests of its folders."""
        found = dict(self.entries)
        for name, node in self.folders.items():
            found[name] = Folder(node.mode, inner[name])
        return found

    def summed(self) -> Sums:
        """Add up what the folder and the folders in it hold."""
        files = [entry for entry in self.entries.values() if isinstance(entry, File)]
        left_out = sum(isinstance(entry, Uncovered) for entry in self.entries.values())
        inner = [node.sums for node in self.folders.values()]
        return Sums(
            files=len(files) + sum(one.files for one in inner),
            bytes=sum(file.size for file in files) + sum(one.bytes for one in inner),
            uncovered=left_out + sum(one.uncovered for one in inner),
        )


class Spot(Struct, frozen=True):
    """A folder in its tree: the names that lead to it, and all nodes from the top down to its own.

    What is changed through it leaves every stored form above out of date, so that a node that is up to
    date has only such below.
    """

    parts: tuple[bytes, ...]
    trail: tuple[Node, ...]

    @property
    def node(self) -> Node:
        return self.trail[-1]

    def into(self, name: bytes) -> "Spot":
        """Return the spot of a folder inside."""
        return Spot((*self.parts, name), (*self.trail, self.node.folders[name]))

    def outdate(self) -> None:
        for node in self.trail:
            node.tree = b""

    def note(self, name: bytes, entry: Entry, facts: Facts) -> None:
        """Note what lies under a name, with facts by which that is known again."""
        node = self.node
        node.files[name] = facts
        if node.entries.get(name) != entry or name in node.folders:
            node.folders.pop(name, None)
            node.entries[name] = entry
            self.outdate()

    def forget(self, name: bytes) -> None:
        """Drop what was known of a name."""
        if self.node.knows(name):
            self.node.files.pop(name, None)
            self.node.entries.pop(name, None)
            self.node.folders.pop(name, None)
            self.outdate()

    def leave_out(self, name: bytes, reason: str) -> None:
        """Note that something is there which is not covered."""
        node, entry = self.node, Uncovered(reason)
        if node.entries.get(name) != entry or name in node.files:
            self.forget(name)
            node.entries[name] = entry
            self.outdate()

    def expect_folder(self, name: bytes) -> None:
        if name not in self.node.folders:
            self.forget(name)
            self.node.folders[name] = Node()
            self.outdate()


def settled(facts: Facts, looked_at_ns: int) -> Facts:
    """Return facts that can be relied on, or those that cannot."""
    changed, touched = facts[:2]
    coarse = not changed % 1_000_000_000 and not touched % 1_000_000_000
    tick = COARSE_TICK_NS if coarse else TICK_NS
    return facts if max(changed, touched) + tick < looked_at_ns else UNSETTLED


def left_out(node: Node, above: bytes = b"") -> Iterator[tuple[bytes, str]]:
    """Yield the paths in a folder that are not covered, and why."""
    for name, entry in sorted(node.entries.items()):
        if isinstance(entry, Uncovered):
            yield above + name, entry.reason
    for name, inner in sorted(node.folders.items()):
        if inner.sums.uncovered:
            yield from left_out(inner, above + name + b"/")


class Seen(Struct, array_like=True):
    """What is kept of a tree between two processes."""

    root: bytes
    node: Node


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Seen)


def pack_seen(seen: Seen) -> bytes:
    return zlib.compress(_encoder.encode(seen), 1)


def unpack_seen(body: bytes) -> Seen | None:
    """Read what another process knew; None if it cannot be read: then the tree is read again."""
    try:
        return _decoder.decode(zlib.decompress(body))
    except (zlib.error, msgspec.DecodeError):
        return None
