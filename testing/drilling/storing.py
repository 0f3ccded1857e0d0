"""The store of a run, watched: what is written to it, and the faults that strike it."""

from collections.abc import Sequence

import msgspec

from ...stores.base import Leave, Renew, Store, Write, Written
from ..faults import FaultPlan
from ..store import FaultyStore
from .world import Killed, World, never


class WatchedStore(FaultyStore):
    """A store whose writes fail as the cell says; everything written is searched for secrets."""

    def __init__(self, store: Store, world: World) -> None:
        super().__init__(store, FaultPlan())
        self._world = world

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        try:
            return await self._commit(writes)
        except Killed:
            return await never()

    async def _commit(self, writes: Sequence[Write]) -> list[Written]:
        world = self._world
        if all(isinstance(each, Renew | Leave) for each in writes):
            world.live()  # leases are of no session: nothing is lost with them
            return await self.inner.commit(writes)
        fault = world.commit_due()
        match fault:
            case "error" | "down":
                world.fail_commit("the store failed" if fault == "error" else "the store is down")
            case "kill_before":
                world.seen.struck += 1
                world.kill()
            case _:
                pass
        for write in writes:
            world.search("the store", msgspec.msgpack.encode(write))
        written = await self.inner.commit(writes)
        world.live()
        if fault == "kill_after":
            world.seen.struck += 1
            world.kill()
        if fault == "lost":
            world.fail_commit("it was stored, and the answer got lost")
        return written
