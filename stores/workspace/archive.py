"""A kept tree as one stream of bytes, and back.

An archive is a list of contents under their digests; paths stand only inside stored folders, whose names
are checked like any other. So there is nothing in it that could be unpacked to a wrong place: reading it
stores contents, and a restore puts them into a tree by its own rules. What is read is bounded and every
digest is checked before anything is stored under it.
"""

from collections.abc import Iterator, Mapping
from struct import Struct as Layout
from typing import BinaryIO

from msgspec import Struct

from ...supervisor.errors import UkemiError
from .entries import Entry, File, Folder, TreeDamaged, decode_tree, digest_of
from .look import DEPTH_MAX
from .objects import Blob, Objects, blob_of, unpacked
from .rules import SIZE_MAX_LIMIT

MAGIC = b"ukemi tree 1\n"
FRAME = Layout(">32sQ?Q")
_STORED_AT_ONCE_BYTES = 8 * 1024 * 1024


class ArchiveRefused(UkemiError):
    """An archive is damaged, or not what it claims to be. The message says why; no tree was stored."""


class Limits(Struct, frozen=True, kw_only=True):
    """How much an archive may hold, unpacked."""

    bytes_max: int = 8 * 1024**3
    contents_max: int = 1_000_000
    paths_max: int = 1_000_000
    content_bytes_max: int = SIZE_MAX_LIMIT


def export_tree(objects: Objects, root: str, out: BinaryIO) -> None:
    """Write a tree and all it needs, each content once, folders before what is in them.

    Raises:
        ContentLost, TreeDamaged: a part of it cannot be read; what was written is no archive.
    """
    out.write(MAGIC)
    for digest in _needed(objects, bytes.fromhex(root)):
        blob = blob_of(objects.get(digest), digest)
        out.write(FRAME.pack(digest, blob.size, blob.packed, len(blob.body)))
        out.write(blob.body)
    out.write(FRAME.pack(bytes(32), 0, False, 0))


def _needed(objects: Objects, root: bytes) -> Iterator[bytes]:
    """Yield the digests a tree needs, its own first."""
    given = {root}
    waiting = [root]
    yield root
    while waiting:
        for entry in objects.tree(waiting.pop()).values():
            digest = _digest_in(entry)
            if digest is None or digest in given:
                continue
            given.add(digest)
            yield digest
            if isinstance(entry, Folder):
                waiting.append(digest)


def _digest_in(entry: Entry) -> bytes | None:
    match entry:
        case Folder(tree=digest) | File(digest=digest):
            return digest
        case _:
            return None


def import_tree(objects: Objects, source: BinaryIO, limits: Limits) -> str:
    """Store the tree of an archive and return its root.

    Raises:
        ArchiveRefused: it is damaged, too large, or not whole. Contents that were read before this was
            seen stay, unreferenced, until they are collected.
    """
    if source.read(len(MAGIC)) != MAGIC:
        raise ArchiveRefused("this is no archive of a tree")
    sizes: dict[bytes, int] = {}
    root, total, waiting = b"", 0, list[Blob]()
    for blob in _frames(source, limits):
        if blob.digest in sizes:
            raise ArchiveRefused(f"the archive holds {blob.digest.hex()} twice")
        root = root or blob.digest
        sizes[blob.digest] = blob.size
        total += blob.size
        if total > limits.bytes_max or len(sizes) > limits.contents_max:
            raise ArchiveRefused("the archive holds more than is allowed")
        waiting.append(blob)
        if sum(len(one.body) for one in waiting) > _STORED_AT_ONCE_BYTES:
            objects.put(waiting)
            waiting = []
    if not root:
        raise ArchiveRefused("the archive is empty")
    objects.put(waiting)
    _check(objects, root, sizes, limits)
    objects.seal(root, [], None)
    return root.hex()


def _frames(source: BinaryIO, limits: Limits) -> Iterator[Blob]:
    while True:
        digest, size, packed, length = FRAME.unpack(_exactly(source, FRAME.size))
        if digest == bytes(32):
            return
        if size > limits.content_bytes_max or length > size + 1:
            raise ArchiveRefused(f"{digest.hex()} claims {size} bytes in {length}")
        body = _exactly(source, length)
        data = unpacked(body, size) if packed else body
        if data is None or len(data) != size or digest_of(data) != digest:
            raise ArchiveRefused(f"the content of {digest.hex()} is another one")
        yield Blob(digest, size, packed, body)


def _exactly(source: BinaryIO, length: int) -> bytes:
    """Read so many bytes, and no more memory than there are bytes."""
    parts: list[bytes] = []
    while length and (part := source.read(min(length, 1 << 20))):
        parts.append(part)
        length -= len(part)
    if length:
        raise ArchiveRefused("the archive ends too early")
    return b"".join(parts)


def _check(objects: Objects, root: bytes, sizes: Mapping[bytes, int], limits: Limits) -> None:
    """See that the tree is whole and of a size that can be walked: equal folders are stored once, so a
    few could stand for more paths than there is time for."""
    paths: dict[bytes, int] = {}

    def count(tree: bytes, depth: int) -> int:
        if tree not in paths:
            if depth > DEPTH_MAX or tree not in sizes:
                raise ArchiveRefused("the archive's folders are too deep or not all there")
            entries = _folder(objects, tree).values()
            if any(isinstance(one, File) and sizes.get(one.digest) != one.size for one in entries):
                raise ArchiveRefused("a file of the archive is not there, or of another length")
            inner = [one.tree for one in entries if isinstance(one, Folder)]
            paths[tree] = len(entries) + sum(count(one, depth + 1) for one in inner)
        return paths[tree]

    if count(root, 0) > limits.paths_max:
        raise ArchiveRefused(f"the archive stands for more than {limits.paths_max} paths")


def _folder(objects: Objects, tree: bytes) -> Mapping[bytes, Entry]:
    try:
        return decode_tree(objects.get(tree))
    except TreeDamaged as error:
        raise ArchiveRefused(str(error)) from error
