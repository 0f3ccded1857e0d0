"""A store whose writes fail by plan; around any other store."""

from collections.abc import Sequence

from ..stores.base import (
    Head,
    HeadQuery,
    Posted,
    PostQuery,
    Store,
    StoredSession,
    StoreFailed,
    StoreHealth,
    Warn,
    WarningQuery,
    Write,
    Written,
)
from ..stores.records import Spent
from .faults import FaultPlan


class FaultyStore:
    """Wrap a store: each commit is a call of kind ``store`` of the plan.

    An ``error`` is a `StoreFailed` whatever its class, and nothing was stored; ``lost`` has stored it. A
    call without any write, such as ``commit([])``, is not counted.
    """

    def __init__(self, store: Store, plan: FaultPlan) -> None:
        self.name = store.name
        self.inner = store
        self.plan = plan

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        async def body() -> list[Written]:
            return await self.inner.commit(writes)

        if not writes:
            return await body()
        before = len(self.plan.struck)
        try:
            return await self.plan.around("store", body)
        except Exception as error:
            # Only what was planned is renamed; the store's own errors say what they are.
            if len(self.plan.struck) > before and not isinstance(error, StoreFailed):
                raise StoreFailed(str(error)) from error
            raise

    def health(self) -> StoreHealth:
        return self.inner.health()

    async def load(
        self, session_id: str, *, fallback: bool = False, upto: int | None = None
    ) -> StoredSession:
        return await self.inner.load(session_id, fallback=fallback, upto=upto)

    async def head(self, session_id: str) -> Head:
        return await self.inner.head(session_id)

    async def heads(self, query: HeadQuery) -> list[Head]:
        return await self.inner.heads(query)

    async def owners(self) -> dict[str, int]:
        return await self.inner.owners()

    async def orphans(self, now_ms: int, dead: frozenset[str], limit: int) -> list[str]:
        return await self.inner.orphans(now_ms, dead, limit)

    async def posts(self, query: PostQuery) -> list[Posted]:
        return await self.inner.posts(query)

    async def warnings(self, query: WarningQuery) -> list[Warn]:
        return await self.inner.warnings(query)

    async def spent(self, *, group: str | None = None, tenant: str | None = None) -> Spent:
        return await self.inner.spent(group=group, tenant=tenant)

    async def blob(self, digest: str) -> bytes:
        return await self.inner.blob(digest)
