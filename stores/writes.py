"""What may be written to a store: rows, facts, and the writes themselves."""

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


class Forget(Struct, frozen=True, kw_only=True, tag=True):
    """Let counters below ``oldest_counter`` be loaded no more; the rows stay. Refused as a `Rewrite` is."""

    session_id: str
    epoch: int
    seq: int
    oldest_counter: int


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


Write = Create | Append | Post | Claim | Renew | Leave | Pack | Rewrite | Forget | Warn | Warned

WARNINGS_MAX = 1000
"""Alerts kept that nobody was told of: a hook that never works must not fill the store."""


class Done(Struct, frozen=True, gc=False):
    """A write is durable. ``epoch`` and ``seq`` are the session's after it (0 where it has none).

    ``has_children``: False where a claim found that no session has this one for its parent.
    """

    epoch: int = 0
    seq: int = 0
    has_children: bool = True


Written = Done | UkemiError
"""What became of one write: done, or the error that refused it alone."""
