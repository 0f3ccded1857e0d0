"""The Store protocol: what any place that keeps sessions must be able to do.

Written so that a server database can implement it: asynchronous, no SQL in sight, an epoch in
every write. A store keeps records and decides nothing; the checkpoint actor is its only caller for
writes, and hands over everything that is pending as one list. What may be written is in ``writes``, what
may be raised in ``errors``; both have their names here too.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from .errors import (
    AlreadyDecided,
    BadRecord,
    BlobUnknown,
    CheckpointUnknown,
    Conflict,
    ConversionFailed,
    Fenced,
    RecordTooNew,
    SessionDamaged,
    SessionExists,
    SessionOwned,
    SessionUnknown,
    StoreError,
    StoreFailed,
    StoreUnusable,
)
from .records import SessionStatus, Spent
from .writes import (
    WARNINGS_MAX,
    Append,
    Claim,
    Create,
    Done,
    Facts,
    Forget,
    Leave,
    OpenRequest,
    Pack,
    Post,
    Renew,
    Rewrite,
    Row,
    Warn,
    Warned,
    Write,
    Written,
)

__all__ = [
    "WARNINGS_MAX",
    "AlreadyDecided",
    "Append",
    "BadRecord",
    "BlobUnknown",
    "CheckpointUnknown",
    "Claim",
    "Conflict",
    "ConversionFailed",
    "Create",
    "Done",
    "Facts",
    "Fenced",
    "Forget",
    "Head",
    "HeadQuery",
    "Leave",
    "OpenRequest",
    "Pack",
    "Post",
    "PostQuery",
    "Posted",
    "RecordTooNew",
    "Renew",
    "Rewrite",
    "Row",
    "SessionDamaged",
    "SessionExists",
    "SessionOwned",
    "SessionUnknown",
    "Store",
    "StoreError",
    "StoreFailed",
    "StoreHealth",
    "StoreUnusable",
    "StoredSession",
    "Warn",
    "Warned",
    "WarningQuery",
    "Write",
    "Written",
]


class Head(Struct, frozen=True, kw_only=True):
    """Where a session stands. ``seq`` and ``counter`` are those of its last row."""

    session_id: str
    status: SessionStatus
    seq: int
    counter: int
    oldest_counter: int = 0
    epoch: int
    owner: str | None
    lease_until_ms: int | None = None
    facts: Facts
    damaged: str | None = None


class StoredSession(Struct, frozen=True, kw_only=True):
    """A session as loaded. ``lost`` says what a fallback load had to leave out."""

    head: Head
    rows: list[Row]
    lost: str | None = None


class HeadQuery(Struct, frozen=True, kw_only=True):
    """Which heads to list, newest first. None means any; ``after`` is the last id of a page.

    ``asking``: only sessions with open requests for approval: ``any``, or one nobody was told of
    (``untold``). Must cost no more than what it finds, however many sessions there are. ``left_open``:
    only sessions with such questions; the same holds for it.
    """

    status: frozenset[SessionStatus] | None = None
    agent: str | None = None
    parent: str | None = None
    due_before_ms: int | None = None
    asking: Literal["any", "untold"] | None = None
    left_open: bool = False
    after: str | None = None
    limit: int = 100


class PostQuery(Struct, frozen=True, kw_only=True):
    """Which posts that nobody has taken to list, oldest first. None means any.

    Args:
        owner: only those this owner may take: of its own sessions, and of sessions that nobody
            owns or whose owner's lease had ended at ``now_ms``.
        agents: only those of sessions of these agents.
    """

    session_id: str | None = None
    owner: str | None = None
    now_ms: int = 0
    agents: frozenset[str] | None = None
    limit: int = 1000


class WarningQuery(Struct, frozen=True, kw_only=True):
    """Which alerts that nobody was told of to list, oldest first: those this owner has raised, and those
    whose owner is gone or whose owner's lease had ended at ``now_ms``."""

    owner: str
    now_ms: int
    limit: int = WARNINGS_MAX


class Posted(Struct, frozen=True):
    """A post that waits to be taken; ``damaged``: its bytes changed, so it says nothing."""

    post: Post
    damaged: bool = False


class StoreHealth(Struct, frozen=True):
    """How busy a store's writer is. Durations are in seconds.

    ``queued`` writes wait or are being stored, ``queued_bytes`` of them, the oldest since
    ``oldest_seconds``. ``commits`` counts the calls of `Store.commit` that were stored since the store
    was made; the quantiles are those of the last 128 of them, from the call to its answer.
    """

    queued: int = 0
    queued_bytes: int = 0
    oldest_seconds: float = 0.0
    commits: int = 0
    commit_seconds_p50: float = 0.0
    commit_seconds_p99: float = 0.0


class Store(Protocol):
    """A place that keeps sessions. One process may open it several times, several processes once
    each; epochs and leases keep them apart."""

    name: str

    async def open(self) -> None:
        """Open, creating or migrating as needed.

        Raises:
            StoreUnusable: not a store, not writable, or written by a newer version (untouched).
        """
        ...

    async def close(self) -> None:
        """Close; safe to call twice, and after a failed open."""
        ...

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        """Do all writes in one durable transaction; return what became of each, in order.

        A write that is refused (fenced, in conflict, bad) fails alone. Cancelling the caller does
        not tear the transaction: a scope's cancellation waits for the results, and after one by
        the event loop's own task, ``await commit([])`` returns when the writes before it are done.

        Raises:
            StoreFailed: nothing of this was stored; the same writes may be tried again.
            StoreUnusable: the store itself is damaged; nothing of this was stored.
        """
        ...

    async def load(
        self, session_id: str, *, fallback: bool = False, upto: int | None = None
    ) -> StoredSession:
        """Load a session's rows, up to the first row of counter ``upto`` where given.

        Rows of older versions come converted. Damage behind the checkpoint asked for does not
        matter; once damage is met, this store refuses to write to the session until reopened.

        Raises:
            SessionUnknown: no such session.
            SessionDamaged: a row cannot be read; with ``fallback`` the rows before it are
                returned and ``lost`` says what is missing.
            CheckpointUnknown: counter ``upto`` does not exist or is no longer kept.
            RecordTooNew: written by a newer version.
            ConversionFailed: an older row could not be converted; it is as it was.
        """
        ...

    async def head(self, session_id: str) -> Head:
        """Return where a session stands.

        Raises:
            SessionUnknown: no such session.
        """
        ...

    async def heads(self, query: HeadQuery) -> list[Head]:
        """List heads, newest created first; a session whose last row cannot be read is listed with ``damaged`` set."""
        ...

    async def owners(self) -> dict[str, int]:
        """Return every owner that holds running sessions, with the end of its lease (epoch ms)."""
        ...

    async def orphans(self, now_ms: int, dead: frozenset[str], limit: int) -> list[str]:
        """Return ids of running sessions whose owner is dead or whose lease has ended."""
        ...

    async def posts(self, query: PostQuery) -> list[Posted]:
        """List decisions that wait to be taken, oldest first.

        Asked every second: where there are none, it must cost next to nothing, however many
        sessions there are.
        """
        ...

    async def warnings(self, query: WarningQuery) -> list[Warn]:
        """List alerts that nobody was told of, oldest first."""
        ...

    async def spent(self, *, group: str | None = None, tenant: str | None = None) -> Spent:
        """Return what all sessions of a group, or of a tenant, have consumed, as their facts say.

        Just one of both is given. Must not cost more the more sessions there are; those that
        somebody drives may be looked at.
        """
        ...

    async def blob(self, digest: str) -> bytes:
        """Return a large text stored by reference.

        Raises:
            BlobUnknown: no such blob is kept.
        """
        ...

    def health(self) -> StoreHealth:
        """Return how busy the writer is, from memory; costs microseconds and asks no disk."""
        ...
