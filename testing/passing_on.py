"""A store that hands on every call to another one, for what wraps a store to build on."""

from collections.abc import Sequence

from ..stores.base import (
    Head,
    HeadQuery,
    Posted,
    PostQuery,
    Store,
    StoredSession,
    StoreHealth,
    Warn,
    WarningQuery,
    Write,
    Written,
)
from ..stores.records import Spent


class PassingOn:
    """Stand for the store ``inner``, under its name. A subclass overrides the calls that it changes."""

    def __init__(self, inner: Store) -> None:
        self.name = inner.name
        self.inner = inner

    async def before_read(self) -> None:
        """Called ahead of every read; raise to have it fail."""

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        return await self.inner.commit(writes)

    def health(self) -> StoreHealth:
        return self.inner.health()

    async def load(
        self, session_id: str, *, fallback: bool = False, upto: int | None = None
    ) -> StoredSession:
        await self.before_read()
        return await self.inner.load(session_id, fallback=fallback, upto=upto)

    async def head(self, session_id: str) -> Head:
        await self.before_read()
        return await self.inner.head(session_id)

    async def heads(self, query: HeadQuery) -> list[Head]:
        await self.before_read()
        return await self.inner.heads(query)

    async def owners(self) -> dict[str, int]:
        await self.before_read()
        return await self.inner.owners()

    async def orphans(self, now_ms: int, dead: frozenset[str], limit: int) -> list[str]:
        await self.before_read()
        return await self.inner.orphans(now_ms, dead, limit)

    async def posts(self, query: PostQuery) -> list[Posted]:
        await self.before_read()
        return await self.inner.posts(query)

    async def warnings(self, query: WarningQuery) -> list[Warn]:
        await self.before_read()
        return await self.inner.warnings(query)

    async def spent(self, *, group: str | None = None, tenant: str | None = None) -> Spent:
        await self.before_read()
        return await self.inner.spent(group=group, tenant=tenant)

    async def blob(self, digest: str) -> bytes:
        await self.before_read()
        return await self.inner.blob(digest)
