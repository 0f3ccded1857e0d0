"""The Store protocol: what any place that keeps sessions must be able to do.

Written so that a server database can implement it: asynchronous, no SQL in sight, an epoch in
every write. A store keeps records and decides nothing; the checkpoint actor is its only caller for
writes, and hands over everything that is pending as one list.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from ..supervisor.errors import UkemiError
from .records import SessionStatus, Spent


class Row(Struct, frozen=True, gc=False):
    """One row of a session's journal. ``seq`` counts from 1 without gaps, ``counter`` is the
    checkpoint counter after it."""

    seq: int
    counter: int
    version: int
    body: bytes


class OpenRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request for approval that nobody has decided, as a list shows it.

    ``number``: how often the call was asked about. ``arguments`` are cleaned of secrets, and cut
    short where they are long. ``told``: whoever is to be told of it has been.
    """

    n: int
    index: int
    number: int = 1
    tool: str
    arguments: str
    digest: str
    category: str = ""
    risk: str = ""
    rule: str = ""
    at_ms: int
    expires_at_ms: int | None = None
    told: bool = False


class Facts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a list of sessions shows, kept beside the journal so that listing reads no journal.

    ``agent``, ``parent``, ``group`` and ``tenant`` are those the session was created with, and stay. ``left_open`` counts the
    questions for a person that a session has left open which is parked, or ended without being handed
    over.
    """

    agent: str
    title: str = ""
    created_at_ms: int = 0
    updated_at_ms: int = 0
    parent: str | None = None
    group: str | None = None
    tenant: str | None = None
    working_directory: str = ""
    reason: str | None = None
    due_at_ms: int | None = None
    spent: Spent = Spent()
    requests: tuple[OpenRequest, ...] = ()
    left_open: int = 0


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


# ---------------------------------------------------------------- writes


class Create(Struct, frozen=True, kw_only=True, tag=True):
    """Store a new session with its first row (seq 1), owned by ``owner`` under epoch 1."""

    session_id: str
    owner: str
    facts: Facts
    body: bytes


class Append(Struct, frozen=True, kw_only=True, tag=True, gc=False):
    """Add one row. Refused unless ``epoch`` is the session's and ``seq`` its last plus one.

    ``status`` other than ``running`` ends the ownership: the session is parked or over, and takes
    no further row until it is claimed. ``counter`` never goes back. ``facts`` replaces the facts
    where given. ``blobs`` are stored under their digests, once for all sessions. ``taken`` names
    the posts of the session that this row applies; all of them must be there and not taken.
    """

    session_id: str
    epoch: int
    seq: int
    counter: int
    body: bytes
    blobs: tuple[tuple[str, bytes], ...] = ()
    status: SessionStatus = "running"
    facts: Facts | None = None
    taken: tuple[str, ...] = ()


class Post(Struct, frozen=True, kw_only=True, tag=True):
    """Give a session a person's decision, whoever drives it; its owner takes it with `Append`.

    ``about`` names the question, which is decided once: another post about it is refused for as
    long as the session is kept, also after the first was taken. The same post again is no error.
    """

    session_id: str
    about: str
    body: bytes
    at_ms: int
    by: str = ""


class Claim(Struct, frozen=True, kw_only=True, tag=True):
    """Take a session over: its epoch grows by one and ``owner`` owns it, status ``running``.

    Refused while another owner's lease lasts, unless that owner is in ``dead``.
    """

    session_id: str
    owner: str
    now_ms: int
    dead: frozenset[str] = frozenset()


class Renew(Struct, frozen=True, kw_only=True, tag=True):
    """Prolong the lease of everything ``owner`` owns; creates the owner at its first call."""

    owner: str
    lease_until_ms: int


class Leave(Struct, frozen=True, kw_only=True, tag=True):
    """The owner goes: what it still owns may be taken over at once."""

    owner: str


class Pack(Struct, frozen=True, kw_only=True, tag=True):
    """Move a session's rows into compact segments; contents and counters stay as they are."""

    session_id: str


class Rewrite(Struct, frozen=True, kw_only=True, tag=True):
    """Replace the whole journal. Refused unless ``epoch`` and ``seq`` are the session's latest;
    nobody need own it, so that a session that is over can be trimmed.

    ``rows`` are in order and end with the stored ``seq`` and counter; counters below ``oldest_counter`` can no longer be loaded. Blobs that
    no session refers to any more are freed; ``blobs`` are the digests this session still needs.
    """

    session_id: str
    epoch: int
    seq: int
    rows: tuple[Row, ...]
    oldest_counter: int
    blobs: frozenset[str] = frozenset()


class Warn(Struct, frozen=True, kw_only=True, tag=True):
    """Keep an alert until somebody was told of it; ``name`` is its own. The same again is no error.

    Of all that wait, the newest `WARNINGS_MAX` are kept.
    """

    name: str
    owner: str
    text: str
    at_ms: int
    session_id: str = ""


class Warned(Struct, frozen=True, kw_only=True, tag=True):
    """Somebody was told of an alert: keep it no longer. One that is not there is no error."""

    name: str


Write = Create | Append | Post | Claim | Renew | Leave | Pack | Rewrite | Warn | Warned

WARNINGS_MAX = 1000
"""Alerts kept that nobody was told of: a hook that never works must not fill the store."""


class Done(Struct, frozen=True, gc=False):
    """A write is durable. ``epoch`` and ``seq`` are the session's after it (0 where it has none)."""

    epoch: int = 0
    seq: int = 0


Written = Done | UkemiError
"""What became of one write: done, or the error that refused it alone."""


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


# ---------------------------------------------------------------- errors


class StoreError(UkemiError):
    """Root of what a store may raise."""


class StoreUnusable(StoreError):
    """The store cannot be opened; its file is untouched."""


class StoreFailed(StoreError):
    """A passing fault of the store (locked, I/O); nothing of the commit was stored."""


class SessionExists(StoreError):
    """A session of this id exists already."""


class SessionUnknown(StoreError):
    """No session of this id is in the store."""


class SessionOwned(StoreError):
    """Another living owner holds the session; reading it works, driving it does not."""


class Fenced(StoreError):
    """The session has been taken over: this owner's epoch is stale and must do nothing more."""


class Conflict(StoreError):
    """The write was made from an older state than the stored one; load again and redo it."""


class AlreadyDecided(StoreError):
    """A question was decided before, by whom and when; that decision stands, this one is void.

    Args:
        about: which question.
        by: who decided; empty where that was not said.
        at_ms: when, in epoch milliseconds.
        body: the decision that stands, as it is stored.
    """

    def __init__(
        self, message: str, *, about: str = "", by: str = "", at_ms: int = 0, body: bytes = b""
    ) -> None:
        super().__init__(message)
        self.about = about
        self.by = by
        self.at_ms = at_ms
        self.body = body


class SessionDamaged(StoreError):
    """A stored row cannot be read. The message names session and checkpoint; nothing is changed."""


class CheckpointUnknown(StoreError):
    """The counter asked for does not exist or is no longer kept."""


class RecordTooNew(StoreError):
    """The record was written by a newer version; it is left untouched."""


class BlobUnknown(StoreError):
    """No blob of this digest is kept."""


class BadRecord(StoreError):
    """A write that this store can never accept; it fails alone."""


class ConversionFailed(StoreError):
    """A conversion from an older record version raised; the stored bytes are as they were."""
