"""A store in one SQLite file (WAL): one connection writes, one beside it reads.

Each transaction is one job in its connection's thread, from BEGIN to COMMIT: the event loop waits
for no lock and no disk, and a caller that is cancelled cannot leave a transaction open.
"""

import json
import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar, cast
from zlib import crc32

from anyio import CancelScope

from ..supervisor.errors import UsageError
from .base import (
    BlobUnknown,
    Head,
    HeadQuery,
    Posted,
    PostQuery,
    SessionDamaged,
    StoredSession,
    StoreError,
    StoreFailed,
    StoreHealth,
    StoreUnusable,
    Warn,
    WarningQuery,
    Write,
    Written,
)
from .channel import Channel, require_asyncio
from .evolution import CURRENT, Conversions
from .gauge import CommitGauge
from .records import Spent
from .room import Room
from .shares import share_of
from .sqlite_batch import Known
from .sqlite_heads import (
    read_blob,
    read_head,
    read_heads,
    read_orphans,
    read_owners,
)
from .sqlite_inbox import read_posts
from .sqlite_loading import Loading, snapshot, unknown
from .sqlite_names import Names, refuse_abandoned
from .sqlite_places import DRIVER_ERRORS, is_broken
from .sqlite_schema import check_file, check_open, migrate
from .sqlite_tally import read_spent
from .sqlite_warnings import read_warnings
from .sqlite_write import commit

Durability = Literal["full", "normal"]
"""``full``: a reported commit survives a power cut. ``normal``: it survives a crash of the
process; after a power cut the newest may be missing, never half there."""

T = TypeVar("T")

WAL_PAGES_MAX = 4000  # about 16 MB; then a commit also moves them into the main file
WRITER_CACHE_KB, READER_CACHE_KB = 65_536, 16_384
LOCK_PAUSE_S_FIRST, LOCK_PAUSE_S_MAX = 0.0005, 0.02
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class SqliteStore:
    """A durable store in one file. Several processes may share it.

    Args:
        path: the file; created when missing, its folder must exist.
        durability: what a reported commit survives, see ``Durability``.
        wait_s_max: how long a commit waits for another process's lock, in seconds; then it is
            a ``StoreFailed`` and nothing was stored.
        conversions: how older records are read.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        durability: Durability = "full",
        wait_s_max: float = 30.0,
        conversions: Conversions = CURRENT,
    ) -> None:
        if durability not in ("full", "normal"):
            raise UsageError(f"durability is 'full' or 'normal', not {durability!r}")
        if not wait_s_max >= 0:
            raise UsageError(f"wait_s_max={wait_s_max} must be a number of seconds from 0 up")
        self.path = Path(path)
        self.name = str(self.path)
        self.durability = durability
        self.wait_s_max = wait_s_max
        self.conversions = conversions
        self._loading = Loading(self.name, conversions)
        self._known = Known()
        self._gauge = CommitGauge()
        self._room = Room()
        self._names = Names()
        self._writer: Channel | None = None
        self._reader: Channel | None = None

    # ------------------------------------------------------------ open and close

    async def open(self) -> None:
        if self._writer is not None:
            return
        require_asyncio(self.name)
        check_file(self.path)
        refuse_abandoned(self.path)
        try:
            self._writer = await self._connect(self._set_up_writer, 0.0)
            # In WAL mode a reader meets a lock only while another process recovers the log.
            self._reader = await self._connect(self._set_up_reader, self.wait_s_max)
        except DRIVER_ERRORS as error:
            await self.close()
            raise StoreUnusable(f"{self.name} cannot be opened: {error}") from error
        except BaseException:
            await self.close()
            raise

    async def _connect(
        self, set_up: Callable[[sqlite3.Connection], None], timeout_s: float
    ) -> Channel:
        def connector() -> sqlite3.Connection:
            self._patiently(partial(check_open, self.path))
            connection = sqlite3.connect(
                self.path, isolation_level=None, timeout=timeout_s, cached_statements=256
            )
            # Damaged text must show as what it is, not as an error of the driver.
            connection.text_factory = _decode
            try:
                set_up(connection)
            except BaseException:
                connection.close()
                raise
            return connection

        channel = Channel(connector)
        await channel.connect()
        return channel

    def _set_up_writer(self, connection: sqlite3.Connection) -> None:
        self._patiently(partial(migrate, connection))
        self._patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))
        connection.execute(f"PRAGMA synchronous = {self.durability.upper()}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES_MAX}")
        connection.execute(f"PRAGMA journal_size_limit = {4 * WAL_PAGES_MAX * 4096}")
        connection.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KB}")
        self._known = Known()
        connection.execute("SELECT 1 FROM head LIMIT 1").fetchone()  # with that, the log is there
        self._names = Names(self.path)

    def _set_up_reader(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA query_only = ON")
        connection.execute(f"PRAGMA cache_size = -{READER_CACHE_KB}")

    async def close(self) -> None:
        reader, writer = self._reader, self._writer
        self._reader = self._writer = None
        # A close that is cut off would leave a thread behind; both jobs before it are bounded.
        with CancelScope(shield=True):
            if reader is not None:
                await reader.close()
            if writer is not None:
                if self._names.lost:
                    self._names.abandon()
                    await writer.abandon()  # closing would move a dead log into a living file
                await writer.close()

    # ------------------------------------------------------------ writing

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        entry = self._gauge.entered(writes)
        stored = False
        try:
            # Whoever asks for more than the disk can take waits here, and can still be cancelled.
            await self._room.enter(entry.writes, entry.bytes)
            try:
                results = await self._commit(writes)
            finally:
                self._room.leave(entry.writes, entry.bytes)
            stored = True
        finally:
            self._gauge.left(entry, stored=stored)
        return results

    async def _commit(self, writes: Sequence[Write]) -> list[Written]:
        writer = self._writer
        if writer is None:
            raise StoreFailed(f"store {self.name} is not open")
        job = partial(self._write, writes=tuple(writes))
        # Shielded: the caller must learn what became of its writes. Bounded by ``wait_s_max`` for
        # the lock, then by the disk.
        results: list[Written] = []
        try:
            with CancelScope(shield=True):
                results = await writer.run(job)
        except DRIVER_ERRORS as error:
            raise self._failure(error) from error
        return results

    def _write(self, connection: sqlite3.Connection, writes: Sequence[Write]) -> list[Written]:
        """Commit, in the thread; what went into a file without a name is not reported as stored."""
        version = self.conversions.version
        results = commit(connection, self._known, writes, version=version, begin=self._begin)
        self._names.look()
        return results

    def health(self) -> StoreHealth:
        return self._gauge.health()

    def _begin(self, connection: sqlite3.Connection) -> None:
        self._patiently(lambda: connection.execute("BEGIN IMMEDIATE"))

    def _patiently(self, attempt: Callable[[], object]) -> None:
        """Try until SQLite's lock is free, at most ``wait_s_max`` seconds; in the thread.

        Own short pauses with chance in them: SQLite's grow to 100 ms and starve the unlucky.
        """
        give_up_at = time.monotonic() + self.wait_s_max
        pause_s = LOCK_PAUSE_S_FIRST
        while True:
            try:
                attempt()
                return
            except sqlite3.OperationalError as error:
                if _code(error) not in _LOCKED or time.monotonic() >= give_up_at:
                    raise
            time.sleep(pause_s * (0.5 + random.random()))
            pause_s = min(pause_s * 2, LOCK_PAUSE_S_MAX)

    def _failure(self, error: Exception, session_id: str = "") -> StoreError:
        """Say an error of SQLite in our words."""
        code = _code(error)
        if is_broken(error) and session_id:
            return SessionDamaged(
                f"session {session_id} in {self.name} cannot be read from the file: {error}"
            )
        if is_broken(error):
            return StoreUnusable(f"{self.name} is damaged: {error}; restore it from a copy")
        if code in _LOCKED:
            return StoreFailed(
                f"{self.name} was locked by another process for {self.wait_s_max:g} s;"
                " nothing was stored"
            )
        return StoreFailed(f"{self.name} failed: {error}; nothing was stored")

    # ------------------------------------------------------------ reading

    async def load(
        self, session_id: str, *, fallback: bool = False, upto: int | None = None
    ) -> StoredSession:
        try:
            loaded = await self._loaded(session_id, fallback=fallback, upto=upto)
        except SessionDamaged as error:
            # From now on this store refuses to write to it, whoever asks.
            self._known.damaged.setdefault(session_id, str(error))
            raise
        if loaded.lost is not None:
            self._known.damaged.setdefault(session_id, loaded.lost)
        return loaded

    async def _loaded(self, session_id: str, *, fallback: bool, upto: int | None) -> StoredSession:
        if fallback or upto is not None:
            one = partial(self._loading.one, session_id=session_id, fallback=fallback, upto=upto)
            return await self._read(one, session_id)
        try:
            # What else is being loaded is read together with it.
            loaded = await self._opened().join(self._loading.together, session_id)
        except (*DRIVER_ERRORS, UnicodeEncodeError) as error:
            raise self._unread(error, session_id) from error
        return cast(StoredSession, loaded)

    async def head(self, session_id: str) -> Head:
        head = await self._read(partial(read_head, session_id=session_id), session_id)
        if head is None:
            raise unknown(session_id, self.name)
        return head

    async def heads(self, query: HeadQuery) -> list[Head]:
        heads = await self._read(partial(read_heads, query=query))
        for head in heads:
            if head.damaged is not None:
                self._known.damaged.setdefault(head.session_id, head.damaged)
        return heads

    async def owners(self) -> dict[str, int]:
        return await self._read(read_owners)

    async def orphans(self, now_ms: int, dead: frozenset[str], limit: int) -> list[str]:
        names = json.dumps(sorted(dead))
        return await self._read(partial(read_orphans, now_ms=now_ms, dead_json=names, limit=limit))

    async def posts(self, query: PostQuery) -> list[Posted]:
        return await self._read(partial(read_posts, query=query))

    async def warnings(self, query: WarningQuery) -> list[Warn]:
        return await self._read(partial(read_warnings, query=query))

    async def spent(self, *, group: str | None = None, tenant: str | None = None) -> Spent:
        return await self._read(partial(read_spent, share=share_of(group, tenant)))

    async def blob(self, digest: str) -> bytes:
        found = await self._read(partial(read_blob, digest=digest))
        if found is None:
            raise BlobUnknown(f"no blob {digest} is kept in {self.name}")
        body, crc = found
        if type(body) is not bytes or crc32(body) != crc:
            raise SessionDamaged(f"blob {digest} in {self.name} cannot be read: its bytes changed")
        return body

    async def _read(self, job: Callable[[sqlite3.Connection], T], session_id: str = "") -> T:
        """Run a reading job in one snapshot."""
        try:
            return await self._opened().share(partial(snapshot, job=job))
        except (*DRIVER_ERRORS, UnicodeEncodeError) as error:
            raise self._unread(error, session_id) from error

    def _opened(self) -> Channel:
        if self._reader is None:
            raise StoreFailed(f"store {self.name} is not open")
        self._names.refuse()
        return self._reader

    def _unread(self, error: Exception, session_id: str) -> StoreError:
        """Say in our words why a session, or the store, cannot be read."""
        if isinstance(error, UnicodeEncodeError):
            return unknown(ascii(session_id), self.name)  # no file can hold this name
        return self._failure(error, session_id)


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _code(error: Exception) -> int:
    """Return SQLite's primary result code, 0 where there is none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
