"""The layout of a SQLite store and how a file comes to have it.

``log`` is append-only; each row points to its session's row before it, so no secondary index grows
with the number of sessions. ``live`` is the small, hot table of sessions somebody owns. ``head`` has
every session and is written when one is created, parked or over. ``seg`` holds packed rows. ``post``
has people's decisions, each kept after a row has taken it, so that a question is decided once; ``warning`` has
alerts, each until somebody was told of it. ``tally`` sums up what groups and tenants consumed.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from .base import StoreUnusable
from .sqlite_tally import sum_up

APPLICATION_ID = 0x556B656D  # "Ukem"
SCHEMA_VERSION = 5
PAGE_BYTES_MIN = 512  # SQLite makes no smaller file
SEQ_BITS = 32  # a segment's key is its session's number and its first seq, in one integer

Step = str | Callable[[sqlite3.Connection], None]
"""A statement, or what takes more than one."""

_VERSION_1 = (
    """CREATE TABLE owner(
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, lease_until_ms INTEGER NOT NULL)""",
    """CREATE TABLE head(
        num INTEGER PRIMARY KEY, sid TEXT NOT NULL UNIQUE, status TEXT NOT NULL,
        epoch INTEGER NOT NULL, seq INTEGER NOT NULL, counter INTEGER NOT NULL,
        oldest INTEGER NOT NULL, last INTEGER NOT NULL,
        agent TEXT NOT NULL, parent TEXT, due_at_ms INTEGER, facts BLOB NOT NULL)""",
    "CREATE INDEX head_status ON head(status, num)",
    "CREATE INDEX head_parent ON head(parent, num) WHERE parent IS NOT NULL",
    "CREATE INDEX head_due ON head(due_at_ms) WHERE due_at_ms IS NOT NULL",
    """CREATE TABLE live(
        num INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, owner INTEGER NOT NULL,
        seq INTEGER NOT NULL, counter INTEGER NOT NULL, last INTEGER NOT NULL,
        facts_at INTEGER NOT NULL)""",
    """CREATE TABLE log(
        id INTEGER PRIMARY KEY, prev INTEGER NOT NULL, num INTEGER NOT NULL,
        seq INTEGER NOT NULL, counter INTEGER NOT NULL, version INTEGER NOT NULL,
        crc INTEGER NOT NULL, facts BLOB, body BLOB NOT NULL)""",
    "CREATE TABLE seg(key INTEGER PRIMARY KEY, idx BLOB NOT NULL, body BLOB NOT NULL)",
    """CREATE TABLE blob(
        id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, crc INTEGER NOT NULL,
        body BLOB NOT NULL)""",
    """CREATE TABLE blob_ref(
        num INTEGER NOT NULL, blob INTEGER NOT NULL, PRIMARY KEY (num, blob)) WITHOUT ROWID""",
    "CREATE INDEX blob_ref_blob ON blob_ref(blob)",
)

_VERSION_2 = (
    """CREATE TABLE post(
        id INTEGER PRIMARY KEY, num INTEGER NOT NULL, about TEXT NOT NULL,
        author TEXT NOT NULL, at_ms INTEGER NOT NULL, crc INTEGER NOT NULL, body BLOB NOT NULL,
        taken INTEGER NOT NULL DEFAULT 0, UNIQUE (num, about))""",
    # Only what waits: empty, as a rule, and so asked for nothing.
    "CREATE INDEX post_waiting ON post(num) WHERE taken = 0",
)

_VERSION_3 = (
    # 0: nothing is asked, 1: a person is, 2: and somebody is still to be told of it.
    "ALTER TABLE head ADD COLUMN asking INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX head_asking ON head(num) WHERE asking > 0",
    "CREATE INDEX head_untold ON head(num) WHERE asking = 2",
)

_VERSION_4 = (
    # Questions that a session has left open which was not handed over.
    "ALTER TABLE head ADD COLUMN left_open INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX head_left_open ON head(num) WHERE left_open > 0",
    # Alerts nobody was told of: few, so nothing but their order is indexed.
    """CREATE TABLE warning(
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, owner TEXT NOT NULL,
        sid TEXT NOT NULL, at_ms INTEGER NOT NULL, body TEXT NOT NULL)""",
)

_VERSION_5: tuple[Step, ...] = (
    # What the sessions of each group (kind 0) and tenant (1) have consumed, by the facts in ``head``.
    """CREATE TABLE tally(
        kind INTEGER NOT NULL, name TEXT NOT NULL, seconds REAL NOT NULL,
        active_seconds REAL NOT NULL, steps INTEGER NOT NULL, model_calls INTEGER NOT NULL,
        tool_calls INTEGER NOT NULL, tokens INTEGER NOT NULL, cost_usd REAL NOT NULL,
        retries INTEGER NOT NULL, corrections INTEGER NOT NULL, PRIMARY KEY (kind, name)) WITHOUT ROWID""",
    sum_up,
    # Without NOT NULL: a REPLACE of many rows that might fail in the middle has SQLite keep a copy of each
    # page it touches in a temporary file, as many bytes again as go into the log.
    """CREATE TABLE live_5(
        num INTEGER PRIMARY KEY, epoch INTEGER, owner INTEGER, seq INTEGER, counter INTEGER,
        last INTEGER, facts_at INTEGER)""",
    """INSERT INTO live_5(num, epoch, owner, seq, counter, last, facts_at)
        SELECT num, epoch, owner, seq, counter, last, facts_at FROM live""",
    "DROP TABLE live",
    "ALTER TABLE live_5 RENAME TO live",
)

MIGRATIONS: dict[int, tuple[Step, ...]] = {
    0: _VERSION_1,
    1: _VERSION_2,
    2: _VERSION_3,
    3: _VERSION_4,
    4: _VERSION_5,
}
"""What leads from schema version k to k+1."""


def check_file(path: Path) -> None:
    """Refuse a path that cannot be a store of this version; touches nothing.

    Raises:
        StoreUnusable: the message names the path and the way out.
    """
    if path.is_dir():
        raise StoreUnusable(f"{path} is a directory: give the path of a file, as {path / 'x.db'}")
    if not path.parent.is_dir():
        raise StoreUnusable(f"the folder {path.parent} does not exist: create it first")
    if not path.exists():
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise StoreUnusable(f"the folder {path.parent} is not writable: no store made in it")
        return
    if not os.access(path, os.R_OK | os.W_OK):
        raise StoreUnusable(f"{path} is not readable and writable: mend its permissions")
    size = path.stat().st_size
    if size >= PAGE_BYTES_MIN:
        _check_header(path)
    elif size:
        _check_stump(path)


def _check_header(path: Path) -> None:
    """Check what the file itself says, without its log.

    By SQLite, never by opening the file: closing it would drop all locks that this process has on
    it, those of a store that is open here among them. The next process to close it would then take
    itself for the last, and unlink the log that is still written to.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=0)) as connection:
            application, version = (
                _number(connection, each) for each in ("application_id", "user_version")
            )
    except sqlite3.Error as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
            return  # whoever opens it for writing can say more
        raise StoreUnusable(
            f"{path} is not a SQLite file, or another program's: give another path"
        ) from error
    # A file that SQLite has just made and not yet filled carries neither number.
    if application or version:
        check_numbers(path, application, version)


def _check_stump(path: Path) -> None:
    """Say what a file is that is too small for SQLite, and so open nowhere as a store."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StoreUnusable(f"{path} cannot be read: {error.strerror}") from error
    if content.startswith(b"SQLite format 3\0"):
        raise StoreUnusable(f"{path} is cut off after {len(content)} bytes: restore it from a copy")
    raise StoreUnusable(f"{path} is not a SQLite file: give another path")


def check_numbers(path: Path, application: int, version: int) -> None:
    """Refuse another program's file, or one of a newer schema."""
    if application != APPLICATION_ID:
        raise StoreUnusable(f"{path} is another program's SQLite file: give another path")
    if version > SCHEMA_VERSION:
        raise StoreUnusable(
            f"{path} was written by a newer version (schema {version}, this one knows up to"
            f" {SCHEMA_VERSION}): it is left untouched, upgrade to open it"
        )


def check_open(path: Path) -> None:
    """Check the numbers again as SQLite sees them, its write-ahead log included.

    Read-only, so that not even closing moves the log into a file that is refused.
    """
    if not path.exists():
        return
    try:
        found = _numbers(path, "mode=ro")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname != "SQLITE_READONLY_ROLLBACK":
            raise
        # Whoever made or migrated it was killed before the log was there. What it had begun must be
        # rolled back, which a reader may not; whose file it is, stands in it as it is.
        found = _numbers(path, "mode=ro&immutable=1")
    application, version, tables = found
    if application or version or tables:
        check_numbers(path, application, version)


def _numbers(path: Path, how: str) -> tuple[int, int, int]:
    """Return application, version and number of tables."""
    uri = f"{path.absolute().as_uri()}?{how}"
    with closing(sqlite3.connect(uri, uri=True, timeout=0)) as connection:
        application = _number(connection, "application_id")
        version = _number(connection, "user_version")
        tables: int = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    return application, version, tables


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the open file to this version, one transaction a step."""
    while _number(connection, "user_version") < SCHEMA_VERSION:
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Read again under the lock: another process may have been faster.
            version = _number(connection, "user_version")
            if version < SCHEMA_VERSION:
                for step in MIGRATIONS[version]:
                    if isinstance(step, str):
                        connection.execute(step)
                    else:
                        step(connection)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    number: int = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    return number
