"""A store in this process's memory, for tests, demos and throw-away sessions.

It keeps the same records and refuses the same writes as the durable ones. What is named
``memory:NAME`` is shared by that name within the process and outlives its store objects.
"""

from collections.abc import Sequence

from anyio.lowlevel import cancel_shielded_checkpoint, checkpoint

from .base import (
    BlobUnknown,
    Head,
    HeadQuery,
    Post,
    Posted,
    PostQuery,
    SessionDamaged,
    StoredSession,
    StoreFailed,
    StoreHealth,
    Warn,
    WarningQuery,
    Write,
    Written,
)
from .encoding import decode_facts
from .evolution import CURRENT, Conversions
from .lists import matches
from .loads import assemble
from .memory_data import Data, head_of, readable
from .memory_write import Writer
from .records import Spent
from .shares import Sums, share_of, shares

_named: dict[str, Data] = {}


class MemoryStore:
    """A store that lasts as long as this object, or as the process where it is given a name.

    Args:
        name: share contents with every other store of this name in the process.
        conversions: how older records are read.
    """

    def __init__(self, name: str = "", *, conversions: Conversions = CURRENT) -> None:
        self.name = f"memory:{name}"
        self.conversions = conversions
        self._data = _named.setdefault(name, Data()) if name else Data()
        self._writer = Writer(self._data, self.name, conversions.version)
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
        session = self._data.session(session_id, self.name)
        head = head_of(session_id, session, self._data.owners)
        try:
            return assemble(head, session.rows, self.conversions, fallback=fallback, upto=upto)
        except SessionDamaged:
            session.place.damaged = head.damaged or "an earlier row cannot be read"
            raise

    async def head(self, session_id: str) -> Head:
        await self._turn()
        return head_of(session_id, self._data.session(session_id, self.name), self._data.owners)

    async def heads(self, query: HeadQuery) -> list[Head]:
        await self._turn()
        found: list[Head] = []
        passed = query.after is None
        for session_id in reversed(self._data.sessions):
            if passed and len(found) < query.limit:
                head = head_of(session_id, self._data.sessions[session_id], self._data.owners)
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
            facts = readable(decode_facts, session.facts)
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

    def _write(self, write: Write) -> Written:
        return self._writer.write(write)

    async def _turn(self) -> None:
        self._check_open()
        await checkpoint()

    def _check_open(self) -> None:
        if not self._open:
            raise StoreFailed(f"store {self.name} is not open")

    def _owned(self) -> list[tuple[str, str]]:
        return [
            (session.place.owner, session_id)
            for session_id, session in self._data.sessions.items()
            if session.place.owner is not None
        ]

    def _may_take(self, post: Post, query: PostQuery) -> bool:
        session = self._data.sessions[post.session_id]
        if query.agents is not None:
            facts = readable(decode_facts, session.facts)
            if facts is None or facts.agent not in query.agents:
                return False
        owner = session.place.owner
        return (
            query.owner is None
            or owner is None
            or owner == query.owner
            or self._data.owners.get(owner, 0) <= query.now_ms
        )
