"""Snapshots of a tree: what changed since the last look is read and stored, and the tree is sealed.

What is known of a tree is changed only by what is stored. The last files and the folders above them are
stored in one transaction, with which the snapshot exists. So an error, a cancellation or a kill
anywhere leaves the next look more to do and nothing wrong.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress

import msgspec
from msgspec import Struct

from .entries import Entry, File, Uncovered, digest_of, encode_tree, path_text
from .folders import FOLDER, Facts, opened, read_file
from .look import Ignored, Look, Only, Reading
from .nodes import UNSETTLED, Node, Seen, Spot, left_out, pack_seen, settled, unpack_seen
from .objects import Blob, FilesUnusable, Objects, blob_of
from .rules import Rules

LEFT_OUT_SHOWN = 100
ATTEMPTS_MAX = 3
READERS = min(4, os.cpu_count() or 1)
_NAMES_AT_ONCE = 32
_IN_FLIGHT = 4 * READERS
_STORED_AT_ONCE_BYTES = 8 * 1024 * 1024
# What is known of a tree is kept for other processes when this much would have to be read again.
_SAVE_FILES_MIN = 256
_SAVE_SHARE = 8


class LeftOut(Struct, frozen=True):
    """A path that is not covered, as `path_text` writes it, and why."""

    path: str
    reason: str


class Snapshot(Struct, frozen=True):
    """A tree as it was kept.

    Attributes:
        root: its digest in hexadecimal; equal for equal trees, whoever took them.
        files, bytes: what it holds.
        uncovered: how many paths are there but were not kept.
        left_out: the first of these, and why.
        read: how many files had to be read for it.
    """

    root: str
    files: int
    bytes: int
    uncovered: int = 0
    left_out: tuple[LeftOut, ...] = ()
    read: int = 0


class Found(Struct, frozen=True):
    """A file that was read: with its content to be stored, unless that is there already."""

    spot: Spot
    name: bytes
    entry: Entry
    facts: Facts
    blob: Blob | None = None

    @property
    def hit(self) -> bytes | None:
        """The digest that must still be stored when this is noted."""
        return self.entry.digest if self.blob is None and isinstance(self.entry, File) else None


def no_pause() -> None:
    """Let the work go on."""


class Scanner:
    """Takes snapshots of one tree, one at a time, from any thread.

    Args:
        objects: where contents are kept.
        directory: the tree's real path.
        rules: what is left out.
        clock_ns: nanoseconds since the epoch, by the clock that stamps files.
    """

    def __init__(
        self,
        objects: Objects,
        directory: str,
        rules: Rules,
        *,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.directory = directory
        self._objects = objects
        self._rules = rules
        self._clock_ns = clock_ns
        self._lock = threading.Lock()
        self._seen: Seen | None = None
        self._ignored: dict[tuple[bytes, ...], Ignored] = {}
        self._unsaved = 0
        # Stored contents that no sealed tree refers to yet.
        self._loose: set[bytes] = set()

    @property
    def files(self) -> int:
        """How many files are known, and held in memory."""
        return self._seen.node.sums.files if self._seen else 0

    def snapshot(
        self, only: Only | None = None, *, pause: Callable[[], None] = no_pause
    ) -> Snapshot:
        """Keep the tree as it is.

        Args:
            only: the paths that may have changed; the others are taken as they were at the last look.
            pause: called between two files; what it raises ends the work, and nothing is lost.

        Raises:
            OSError: the directory cannot be opened.
            FilesUnusable: the contents cannot be stored: the disk is full, for one.
        """
        with self._lock:
            for _ in range(ATTEMPTS_MAX):
                if snapshot := self._attempt(only, pause):
                    return snapshot
                self._drop()
        raise FilesUnusable(f"{self._objects.path}: contents are removed while they are stored")

    def save(self) -> None:
        """Keep what is known of the tree, so that another process need not read all of it."""
        with self._lock:
            if self._seen is not None and self._unsaved:
                self._save(self._seen)

    def forget(self) -> None:
        """Keep nothing of what is known: the tree is about to be gone."""
        self._objects.forget_seen(self._place)

    def _attempt(self, only: Only | None, pause: Callable[[], None]) -> Snapshot | None:
        """Take a snapshot; None if contents that were relied on are gone."""
        seen = self._known()
        if seen is None:
            return None
        look = Look(self._rules, self._ignored, pause=pause, clock_ns=self._clock_ns)
        top = os.open(self.directory, FOLDER)
        try:
            look.at(top, seen.node, only if seen.root else None)
            rest, read = self._read(top, look.readings, pause)
        finally:
            os.close(top)
        if rest is None or not self._seal(seen, rest):
            return None
        self._unsaved += read
        if self._unsaved >= max(_SAVE_FILES_MIN, seen.node.sums.files // _SAVE_SHARE):
            # Only saves time later: a snapshot that is stored must not fail for it.
            with suppress(FilesUnusable):
                self._save(seen)
        return _snapshot(seen, read)

    def _known(self) -> Seen | None:
        """Return what is known of the tree: from before, from another process, or nothing yet."""
        if self._loose and self._objects.renew(self._loose):
            return None
        if self._seen is None:
            body = self._objects.seen(self._place)
            seen = unpack_seen(body) if body else None
            if seen is None or not self._objects.hold(seen.root):
                seen = Seen(b"", Node())
            self._seen = seen
        return self._seen

    def _drop(self) -> None:
        self._seen = None
        self._loose.clear()
        self._objects.forget_seen(self._place)

    @property
    def _place(self) -> bytes:
        """Where what is known is saved: another size or another line makes it another thing to know."""
        rules = digest_of(msgspec.msgpack.encode(self._rules))
        return os.fsencode(self.directory) + b"\0" + rules[:8]

    def _save(self, seen: Seen) -> None:
        self._objects.save_seen(self._place, pack_seen(seen))
        self._unsaved = 0

    def _read(
        self, top: int, readings: Sequence[Reading], pause: Callable[[], None]
    ) -> tuple[list[Found] | None, int]:
        """Read files and store them in portions; return the last portion, and how many were read.

        The portion is None when contents that were counted on are gone.
        """
        found: list[Found] = []
        waiting, read = 0, 0
        work = _side_by_side(_portions(readings), lambda one: self._files(top, one))
        # Closed before the folder is: its threads look for files there.
        with closing(work):
            for portion in work:
                pause()
                found += portion
                read += len(portion)
                waiting += sum(len(one.blob.body) for one in portion if one.blob)
                if waiting >= _STORED_AT_ONCE_BYTES:
                    if not self._store(found):
                        return None, read
                    found, waiting = [], 0
        return (found if self._counted_on(found) else None), read

    def _store(self, found: Sequence[Found]) -> bool:
        """Store a portion, and only then note it."""
        if not self._counted_on(found):
            return False
        blobs = [one.blob for one in found if one.blob]
        self._objects.put(blobs)
        self._loose.update(blob.digest for blob in blobs)
        self._note(found)
        return True

    def _counted_on(self, found: Sequence[Found]) -> bool:
        hits = {one.hit for one in found} - {None}
        gone = self._objects.renew(digest for digest in hits if digest)
        return not gone - {one.blob.digest for one in found if one.blob}

    def _note(self, found: Sequence[Found]) -> None:
        for one in found:
            one.spot.note(one.name, one.entry, one.facts)

    def _files(self, top: int, reading: Reading) -> list[Found]:
        """Read some files of one folder. Runs in several threads."""
        try:
            with opened(top, reading.spot.parts) as folder:
                return [self._file(folder, reading.spot, name) for name in reading.names]
        except OSError:
            # The folder was moved or swapped for a link since it was listed.
            gone = Uncovered("changing")
            return [Found(reading.spot, name, gone, UNSETTLED) for name in reading.names]

    def _file(self, folder: int, spot: Spot, name: bytes) -> Found:
        now_ns = self._clock_ns()
        try:
            read = read_file(folder, name, self._rules.size_max)
        except FileNotFoundError:
            read = Uncovered("changing")
        if isinstance(read, Uncovered):
            return Found(spot, name, read, UNSETTLED)
        digest = digest_of(read.data)
        blob = None if self._objects.known(digest) else blob_of(read.data, digest)
        entry = File(read.mode, len(read.data), digest)
        return Found(spot, name, entry, settled(read.facts, now_ns), blob)

    def _seal(self, seen: Seen, rest: Sequence[Found]) -> bool:
        """Store the rest and all folders that are out of date; with that the snapshot exists."""
        try:
            self._note(rest)
            folders = list(_stored_folders(seen.node))
            blobs = [one.blob for one in rest if one.blob] + folders
            done = self._objects.seal(seen.node.tree, blobs, seen.root or None)
        except BaseException:
            # What is known says that contents are stored which are not.
            self._seen = None
            raise
        if done:
            seen.root = seen.node.tree
            self._loose.clear()
        return done


def _stored_folders(node: Node) -> Iterator[Blob]:
    """Yield the stored forms of the folders that are out of date, and bring them up to date."""
    if node.tree:
        return
    for inner in node.folders.values():
        yield from _stored_folders(inner)
    data = encode_tree(node.stored_form({name: inner.tree for name, inner in node.folders.items()}))
    node.sums = node.summed()
    node.tree = digest_of(data)
    yield blob_of(data, node.tree)


def _snapshot(seen: Seen, read: int) -> Snapshot:
    shown: list[LeftOut] = []
    for path, reason in left_out(seen.node):
        if len(shown) == LEFT_OUT_SHOWN:
            break
        shown.append(LeftOut(path_text(path), reason))
    sums = seen.node.sums
    return Snapshot(seen.root.hex(), sums.files, sums.bytes, sums.uncovered, tuple(shown), read)


def _portions(readings: Sequence[Reading]) -> list[Reading]:
    return [
        Reading(reading.spot, reading.names[at : at + _NAMES_AT_ONCE])
        for reading in readings
        for at in range(0, len(reading.names), _NAMES_AT_ONCE)
    ]


def _side_by_side(
    jobs: Sequence[Reading], work: Callable[[Reading], list[Found]]
) -> Generator[list[Found]]:
    """Yield what each job gives, in their order, with a bounded number under way."""
    if sum(len(job.names) for job in jobs) <= _NAMES_AT_ONCE:
        yield from map(work, jobs)
        return
    with ThreadPoolExecutor(READERS, thread_name_prefix="ukemi-snapshot") as pool:
        under_way: deque[Future[list[Found]]] = deque()
        try:
            for job in jobs:
                under_way.append(pool.submit(work, job))
                if len(under_way) >= _IN_FLIGHT:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()
