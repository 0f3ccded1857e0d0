"""A store in this process's memory, for tests, demos and throw-away sessions.

It keeps the same records and refuses the same writes as the durable ones. What is named
``memory:NAME`` is shared by that name within the process and outlives its store objects.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, assert_never

from anyio.lowlevel import cancel_shielded_checkpoint, checkpoint
from msgspec import Struct, field

from ..supervisor.errors import UkemiError
from .base import (
    WARNINGS_MAX,
    Append,
    BadRecord,
    BlobUnknown,
    Claim,
    Create,
    Done,
    Facts,
    Forget,
    Head,
    HeadQuery,
    Leave,
    Pack,
    Post,
    Posted,
    PostQuery,
    Renew,
    Rewrite,
    Row,
    SessionDamaged,
    SessionExists,
    SessionUnknown,
    StoredSession,
    StoreFailed,
    StoreHealth,
    Warn,
    Warned,
    WarningQuery,
    Write,
    Written,
)
from .encoding import Damage, StoredRow, decode_facts, encode_facts, stored, unknown_facts
from .evolution import CURRENT, Conversions
from .records import Spent
from .rules import (
    Place,
    Sums,
    assemble,
    damage_of,
    matches,
    refuse_append,
    refuse_claim,
    refuse_create,
    refuse_forget,
    refuse_pack,
    refuse_post,
    refuse_rewrite,
    refuse_taking,
    share_of,
    shares,
)


class _Session(Struct):
    place: Place
    rows: list[StoredRow]
    facts: bytes
    blobs: set[str] = field(default_factory=set[str])
    posts: dict[str, Post] = field(default_factory=dict[str, Post])


class _Data(Struct):
    """What outlives a store object. Sessions are in order of creation."""

    sessions: dict[str, _Session] = field(default_factory=dict[str, _Session])
    parents: set[str] = field(default_factory=set[str])  # what their sessions name as such
    owners: dict[str, int] = field(default_factory=dict[str, int])
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])
    waiting: dict[tuple[str, str], Post] = field(
        default_factory=dict[tuple[str, str], Post]
    )  # posts nobody has taken, the oldest first, by session and what they are about
    warnings: dict[str, Warn] = field(default_factory=dict[str, Warn])  # the oldest first


_named: dict[str, _Data] = {}


class MemoryStore:
    """A store that lasts as long as this object, or as the process where it is given a name.

    Args:
        name: share contents with every other store of this name in the process.
        conversions: how older records are read.
    """

    def __init__(self, name: str = "", *, conversions: Conversions = CURRENT) -> None:
        self.name = f"memory:{name}"
        self.conversions = conversions
        self._data = _named.setdefault(name, _Data()) if name else _Data()
        self._open = False
        self._commits = 0

    async def open(self) -> None:
        await checkpoint()
        self._open = True

    async def close(self) -> None:
        self._open = False
        await cancel_shielded_checkpoint()

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        self._check_open()
        # Nothing is waited for: a cancelled caller learns of what was written, as with a file.
        results = [self._write(write) for write in writes]
        self._commits += 1
        return results

    async def load(
        self, session_id: str, *, fallback: bool = False, upto: int | None = None
    ) -> StoredSession:
        await self._turn()
        session = self._session(session_id)
        head = _head(session_id, session, self._data.owners)
        try:
            return assemble(head, session.rows, self.conversions, fallback=fallback, upto=upto)
        except SessionDamaged:
            session.place.damaged = head.damaged or "an earlier row cannot be read"
            raise

    async def head(self, session_id: str) -> Head:
        await self._turn()
        return _head(session_id, self._session(session_id), self._data.owners)

    async def heads(self, query: HeadQuery) -> list[Head]:
        await self._turn()
        found: list[Head] = []
        passed = query.after is None
        for session_id in reversed(self._data.sessions):
            if passed and len(found) < query.limit:
                head = _head(session_id, self._data.sessions[session_id], self._data.owners)
                found += [head] if matches(head, query) else []
            passed = passed or session_id == query.after
        return found

    async def owners(self) -> dict[str, int]:
        await self._turn()
        return {owner: self._data.owners.get(owner, 0) for owner, _ in self._owned()}

    async def orphans(self, now_ms: int, dead: frozenset[str], limit: int) -> list[str]:
        await self._turn()
        leases = self._data.owners
        found = [
            session_id
            for owner, session_id in self._owned()
            if owner in dead or leases.get(owner, 0) <= now_ms
        ]
        return found[:limit]

    async def posts(self, query: PostQuery) -> list[Posted]:
        await self._turn()
        found = [
            Posted(post)
            for post in self._data.waiting.values()
            if query.session_id in (None, post.session_id) and self._may_take(post, query)
        ]
        return found[: query.limit]

    async def warnings(self, query: WarningQuery) -> list[Warn]:
        await self._turn()
        leases = self._data.owners
        found = [
            each
            for each in self._data.warnings.values()
            if each.owner == query.owner or leases.get(each.owner, 0) <= query.now_ms
        ]
        return found[: query.limit]

    async def spent(self, *, group: str | None = None, tenant: str | None = None) -> Spent:
        await self._turn()
        share, sums = share_of(group, tenant), Sums()
        for session in self._data.sessions.values():
            facts = _readable(decode_facts, session.facts)
            if facts is not None and share in shares(facts):
                sums.add(facts.spent)
        return sums.spent()

    async def blob(self, digest: str) -> bytes:
        await self._turn()
        try:
            return self._data.blobs[digest]
        except KeyError:
            raise BlobUnknown(f"no blob {digest} is kept in {self.name}") from None

    def health(self) -> StoreHealth:
        # Nothing ever waits here: a write is done when it is asked for.
        return StoreHealth(commits=self._commits)

    # ------------------------------------------------------------ inside

    async def _turn(self) -> None:
        self._check_open()
        await checkpoint()

    def _check_open(self) -> None:
        if not self._open:
            raise StoreFailed(f"store {self.name} is not open")

    def _session(self, session_id: str) -> _Session:
        try:
            return self._data.sessions[session_id]
        except KeyError:
            raise SessionUnknown(f"no session {session_id} in {self.name}") from None

    def _owned(self) -> list[tuple[str, str]]:
        return [
            (session.place.owner, session_id)
            for session_id, session in self._data.sessions.items()
            if session.place.owner is not None
        ]

    def _may_take(self, post: Post, query: PostQuery) -> bool:
        session = self._data.sessions[post.session_id]
        if query.agents is not None:
            facts = _readable(decode_facts, session.facts)
            if facts is None or facts.agent not in query.agents:
                return False
        owner = session.place.owner
        return (
            query.owner is None
            or owner is None
            or owner == query.owner
            or self._data.owners.get(owner, 0) <= query.now_ms
        )

    def _write(self, write: Write) -> Written:
        try:
            return self._apply(write)
        except UkemiError as error:
            return error
        except (UnicodeEncodeError, OverflowError, TypeError) as error:
            return BadRecord(f"cannot be stored: {type(error).__name__}")

    def _apply(self, write: Write) -> Done:
        match write:
            case Create():
                return self._create(write)
            case Renew(owner=owner, lease_until_ms=until):
                self._data.owners[owner] = until
                return Done()
            case Leave(owner=owner):
                self._data.owners.pop(owner, None)
                return Done()
            case Warn():
                return self._warn(write)
            case Warned(name=name):
                self._data.warnings.pop(name, None)
                return Done()
            case Append() | Post() | Claim() | Pack() | Rewrite() | Forget():
                session = self._session(write.session_id)
                return self._change(session, write)
            case _:
                assert_never(write)

    def _warn(self, write: Warn) -> Done:
        for text in (write.name, write.owner, write.session_id, write.text):
            text.encode()  # as a file would refuse it
        kept = self._data.warnings
        kept.setdefault(write.name, write)
        while len(kept) > WARNINGS_MAX:
            del kept[next(iter(kept))]
        return Done()

    def _create(self, write: Create) -> Done:
        _raise(refuse_create(write))
        if write.session_id in self._data.sessions:
            raise SessionExists(f"session {write.session_id} exists already")
        row = stored(Row(1, 0, self.conversions.version, write.body))
        place = Place(epoch=1, seq=1, counter=0, status="running", owner=write.owner)
        session = _Session(place, [row], encode_facts(write.facts))
        self._data.sessions[write.session_id] = session
        if write.facts.parent is not None:
            self._data.parents.add(write.facts.parent)
        return Done(1, 1)

    def _change(
        self, session: _Session, write: Append | Post | Claim | Pack | Rewrite | Forget
    ) -> Done:
        place = session.place
        if place.damaged is None:
            place.damaged = damage_of(session.rows[-1])
        match write:
            case Append():
                _raise(refuse_append(place, write))
                self._take(write)
                self._append(session, write)
            case Post():
                earlier = session.posts.get(write.about)
                _raise(refuse_post(place, write, earlier))
                self._post(session, write, earlier)
            case Claim(owner=owner):
                lease = self._data.owners.get(place.owner or "")
                _raise(refuse_claim(place, write, lease))
                place.epoch, place.owner, place.status = place.epoch + 1, owner, "running"
                return Done(place.epoch, place.seq, write.session_id in self._data.parents)
            case Pack():
                _raise(refuse_pack(place, write))
            case Rewrite():
                _raise(refuse_rewrite(place, write, self.conversions.version))
                self._rewrite(session, write)
            case Forget():
                _raise(refuse_forget(place, write))
                place.oldest_counter = write.oldest_counter
            case _:
                assert_never(write)
        return Done(place.epoch, place.seq)

    def _post(self, session: _Session, write: Post, earlier: Post | None) -> None:
        for text in (write.about, write.by):
            text.encode()  # as a file would refuse it
        if earlier is None:
            session.posts[write.about] = self._data.waiting[write.session_id, write.about] = write

    def _take(self, write: Append) -> None:
        waiting = self._data.waiting
        named = {(write.session_id, about) for about in write.taken}
        _raise(refuse_taking(write, len(named & waiting.keys())) if named else None)
        for each in named:
            del waiting[each]

    def _append(self, session: _Session, write: Append) -> None:
        place = session.place
        if write.facts is not None:
            session.facts = encode_facts(write.facts, _extra(session.facts))
        row = Row(write.seq, write.counter, self.conversions.version, write.body)
        session.rows.append(stored(row))
        for digest, body in write.blobs:
            self._data.blobs.setdefault(digest, body)
            session.blobs.add(digest)
        place.seq, place.counter, place.status = write.seq, write.counter, write.status
        if write.status != "running":
            place.owner = None

    def _rewrite(self, session: _Session, write: Rewrite) -> None:
        session.rows = [stored(row) for row in write.rows]
        session.place.oldest_counter = write.oldest_counter
        freed = session.blobs - write.blobs
        session.blobs = {digest for digest in write.blobs if digest in self._data.blobs}
        for other in self._data.sessions.values():
            freed -= other.blobs
        for digest in freed:
            del self._data.blobs[digest]


def _raise(refusal: UkemiError | None) -> None:
    if refusal is not None:
        raise refusal


def _extra(facts: bytes) -> dict[str, Any] | None:
    return _readable(unknown_facts, facts)


T = TypeVar("T")


def _readable(decode: Callable[[bytes], T], facts: bytes) -> T | None:
    try:
        return decode(facts)
    except Damage:
        return None


def _head(session_id: str, session: _Session, leases: dict[str, int]) -> Head:
    place = session.place
    facts = _readable(decode_facts, session.facts)
    damaged = place.damaged or damage_of(session.rows[-1] if session.rows else None)
    if facts is None:
        damaged = damaged or "the facts cannot be read"
    return Head(
        session_id=session_id,
        status=place.status,
        seq=place.seq,
        counter=place.counter,
        oldest_counter=place.oldest_counter,
        epoch=place.epoch,
        owner=place.owner,
        lease_until_ms=leases.get(place.owner, 0) if place.owner is not None else None,
        facts=facts or Facts(agent=""),
        damaged=damaged,
    )
