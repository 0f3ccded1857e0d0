"""Contents by their digest, in one SQLite file beside the store.

A file of its own, because a large snapshot must not hold up the commits of sessions; one file rather
than thousands, because a snapshot is then stored by one sync and is there whole or not at all, in
whatever process or thread. Deleted contents free pages that the next ones use.

A content is kept while something needs it: a root that a session refers to, a root or a content used
lately. Whoever relies on a stored content first says so (`renew`, `hold`), which renews its age
in the transaction that finds it.
"""

import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from ...supervisor.errors import UkemiError
from .entries import Entry, decode_tree, digest_of

SCHEMA_VERSION = 1
WAIT_S_MAX = 30.0
_RETRY_S = 0.01
FRESH_S = 3600
"""An age younger than this is not renewed: it would cost a commit for nothing."""
TREES_KEPT = 4096
# Below this many bytes saved in a hundred, a content is stored as it is.
_WORTH_PERCENT = 10
_SAMPLE_BYTES = 65_536

_SCHEMA = """
CREATE TABLE object(digest BLOB PRIMARY KEY, id INTEGER NOT NULL, used_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE content(id INTEGER PRIMARY KEY, size INTEGER NOT NULL, packed INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TABLE root(digest BLOB PRIMARY KEY, used_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE seen(place BLOB PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE restore(id TEXT PRIMARY KEY, place BLOB NOT NULL, state TEXT NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL);
"""


class FilesUnusable(UkemiError):
    """The file of contents cannot be used: the message says why. Nothing was changed in it."""


class ContentLost(UkemiError):
    """A content is not stored, or its bytes are not those of its digest any more."""


class Blob(Struct, frozen=True):
    """A content ready to be stored; ``body`` is packed with zlib where that pays."""

    digest: bytes
    size: int
    packed: bool
    body: bytes


def blob_of(data: bytes, digest: bytes | None = None) -> Blob:
    """Pack a content. The fastest level: a better one saves a tenth and takes three times as long."""
    digest = digest or digest_of(data)
    if _pays(data):
        body = zlib.compress(data, 1)
        if len(body) * 100 <= len(data) * (100 - _WORTH_PERCENT):
            return Blob(digest, len(data), True, body)
    return Blob(digest, len(data), False, data)


def _pays(data: bytes) -> bool:
    """Tell from its beginning whether a content is worth packing: pictures and archives are not."""
    if len(data) <= _SAMPLE_BYTES:
        return True
    sample = zlib.compress(data[:_SAMPLE_BYTES], 1)
    return len(sample) * 100 <= _SAMPLE_BYTES * (100 - _WORTH_PERCENT)


class Objects:
    """The file of contents. Any thread may call; any number of processes may have it open.

    Args:
        path: the file; its folder must exist.
        synced: whether what is stored survives a power cut, or only the end of the process.
        clock: seconds since the epoch, for ages.
    """

    def __init__(
        self, path: Path, *, synced: bool = True, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = path
        self.clock = clock
        self._synced = synced
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._trees: dict[bytes, Mapping[bytes, Entry]] = {}

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Give the connection, alone.

        Raises:
            FilesUnusable: it is no file of contents, or of a newer version, or SQLite cannot use it.
        """
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = _opened(self.path, self._synced)
                yield self._connection
            except sqlite3.DatabaseError as error:
                raise FilesUnusable(f"{self.path}: {error}") from error

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Give the connection in a transaction that ends with the block, whole or not at all."""
        with self.reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # A failed COMMIT (a full disk) may have ended the transaction already.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def known(self, digest: bytes) -> bool:
        """Tell whether a content is stored now; whoever relies on it renews it."""
        with self.reading() as connection:
            query = "SELECT 1 FROM object WHERE digest = ?"
            return connection.execute(query, (digest,)).fetchone() is not None

    def renew(self, digests: Iterable[bytes]) -> set[bytes]:
        """Keep contents from being collected as unused, and return those that are not there."""
        wanted = set(digests)
        with self.reading() as connection:
            old, gone = self._aged(connection, wanted)
            if not old:
                return gone
        with self.writing() as connection:
            old, gone = self._aged(connection, wanted)
            rows = [(int(self.clock()), digest) for digest in old]
            connection.executemany("UPDATE object SET used_at = ? WHERE digest = ?", rows)
        return gone

    def _aged(
        self, connection: sqlite3.Connection, digests: Iterable[bytes]
    ) -> tuple[set[bytes], set[bytes]]:
        """Return which of the contents have not been used for a while, and which are not stored."""
        old, gone, limit = set[bytes](), set[bytes](), self.clock() - FRESH_S
        for digest in digests:
            query = "SELECT used_at FROM object WHERE digest = ?"
            row = connection.execute(query, (digest,)).fetchone()
            if row is None:
                gone.add(digest)
            elif row[0] < limit:
                old.add(digest)
        return old, gone

    def put(self, blobs: Sequence[Blob]) -> None:
        """Store contents. What is there already is left as it is, but renewed."""
        if blobs:
            with self.writing() as connection:
                self._put(connection, blobs)

    def _put(self, connection: sqlite3.Connection, blobs: Sequence[Blob]) -> None:
        now = int(self.clock())
        for blob in blobs:
            renewed = connection.execute(
                "UPDATE object SET used_at = ? WHERE digest = ?", (now, blob.digest)
            )
            if renewed.rowcount:
                continue
            stored = connection.execute(
                "INSERT INTO content(size, packed, body) VALUES (?, ?, ?)",
                (blob.size, blob.packed, blob.body),
            )
            connection.execute(
                "INSERT INTO object VALUES (?, ?, ?)", (blob.digest, stored.lastrowid, now)
            )

    def seal(self, root: bytes, blobs: Sequence[Blob], base: bytes | None) -> bool:
        """Store the last contents of a tree and its root, durably; return False if it cannot be whole.

        Args:
            root: the tree's digest.
            blobs: folders and contents that are not stored yet.
            base: the root that everything else in the tree was taken from, which must be stored still.
        """
        if root == base and not blobs:
            return self.hold(root)
        with self.writing() as connection:
            query = "SELECT 1 FROM root WHERE digest = ?"
            if base is not None and connection.execute(query, (base,)).fetchone() is None:
                return False
            self._put(connection, blobs)
            row = (root, int(self.clock()))
            connection.execute("REPLACE INTO root VALUES (?, ?)", row)
        return True

    def hold(self, root: bytes) -> bool:
        """Keep a stored tree from being collected for a while; return False if it is not stored."""
        query = "SELECT used_at FROM root WHERE digest = ?"
        with self.reading() as connection:
            row = connection.execute(query, (root,)).fetchone()
            if row is None or row[0] >= self.clock() - FRESH_S:
                return row is not None
        with self.writing() as connection:
            update = "UPDATE root SET used_at = ? WHERE digest = ?"
            return connection.execute(update, (int(self.clock()), root)).rowcount > 0

    def seen(self, place: bytes) -> bytes | None:
        """Return what was saved about a tree, by its path."""
        with self.reading() as connection:
            query = "SELECT body FROM seen WHERE place = ?"
            row = connection.execute(query, (place,)).fetchone()
        return row[0] if row else None

    def save_seen(self, place: bytes, body: bytes) -> None:
        """Save what is known of a tree; whoever reads it holds the root it names."""
        with self.writing() as connection:
            connection.execute("REPLACE INTO seen VALUES (?, ?)", (place, body))

    def forget_seen(self, place: bytes) -> None:
        with self.writing() as connection:
            connection.execute("DELETE FROM seen WHERE place = ?", (place,))

    def get(self, digest: bytes) -> bytes:
        """Return a content.

        Raises:
            ContentLost: it is not stored, or damaged.
        """
        query = "SELECT size, packed, body FROM content JOIN object USING (id) WHERE digest = ?"
        with self.reading() as connection:
            row = connection.execute(query, (digest,)).fetchone()
        if row is None:
            raise ContentLost(f"the content {digest.hex()} is not stored")
        size, packed, body = row
        data = unpacked(body, size) if packed else body
        if data is None or digest_of(data) != digest:
            raise ContentLost(f"the content {digest.hex()} is damaged")
        return data

    def tree(self, digest: bytes) -> Mapping[bytes, Entry]:
        """Return the entries of a stored folder.

        Raises:
            ContentLost: as `get`.
            TreeDamaged: what is stored there is no folder.
        """
        found = self._trees.get(digest)
        if found is None:
            found = decode_tree(self.get(digest))
            if len(self._trees) >= TREES_KEPT:
                self._trees.clear()
            self._trees[digest] = found
        return found

    def forget_trees(self) -> None:
        """Read folders from the file again: some may have been removed."""
        self._trees.clear()


def unpacked(body: bytes, size: int) -> bytes | None:
    """Unpack no more than the stored length, whatever the bytes would become; None if it is another."""
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(body, size + 1)
    except zlib.error:
        return None
    return data if len(data) == size and unpacker.eof else None


def _opened(path: Path, synced: bool) -> sqlite3.Connection:
    """Open the file, and wait for others that do so: changing to a write-ahead log takes a lock for which
    SQLite itself does not wait."""
    end = time.monotonic() + WAIT_S_MAX
    while True:
        try:
            return _opened_once(path, synced)
        except sqlite3.OperationalError as error:
            code = error.sqlite_errorcode & 0xFF
            if code not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or time.monotonic() > end:
                raise
        time.sleep(_RETRY_S)


def _opened_once(path: Path, synced: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=WAIT_S_MAX, isolation_level=None, check_same_thread=False
    )
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, SCHEMA_VERSION):
            raise FilesUnusable(f"{path} was written by a newer version ({version})")
        if version == 0:
            _make(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
        # The log shrinks again after a large snapshot.
        connection.execute("PRAGMA journal_size_limit = 4194304")
    except BaseException:
        connection.close()
        raise
    return connection


def _make(connection: sqlite3.Connection, path: Path) -> None:
    """Lay out an empty file; two processes may try at once, and another program's is left as it is."""
    if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        if connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION:
            return
        raise FilesUnusable(f"{path} is another program's database")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")
