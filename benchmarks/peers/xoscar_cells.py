"""xoscar's cells: all actors in the pool of this process, where its messages are cheapest.

A send is awaited until the pool has taken it; xoscar has no other way. It restarts processes that
die, not actors that fail, so there is no cell of restarting.
"""
# The library is in an environment of its own, where no type checker looks.
# mypy: disable-error-code="import-not-found, misc, no-any-return"
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import xoscar

from ..cells import cell_main, rss_bytes
from ..kernel_meter import Figures, Measure, Spent, in_loop


class Echo(xoscar.StatelessActor):
    """Stateless actors skip a lock for each message, and are the fastest kind."""

    async def put(self, value: object) -> None:
        return None

    async def get(self, value: int) -> int:
        return value


async def _pool() -> Any:
    return await xoscar.create_actor_pool("127.0.0.1", n_process=0)


async def _actor(pool: Any, uid: str) -> Any:
    return await xoscar.create_actor(Echo, address=pool.external_address, uid=uid)


def tell(burst: int, total: int) -> Measure:
    """Send one actor so many messages; each burst at once."""

    async def measure() -> Figures:
        async with await _pool() as pool:
            ref = await _actor(pool, "a")
            spent = Spent()
            for _ in range(total // burst):
                for number in range(burst):
                    await ref.put.send(number)
            # A last call is answered behind all that was sent before.
            await ref.get(0)
            return spent.per(total)

    return measure


def wake(actors: int, turns: int) -> Measure:
    async def measure() -> Figures:
        async with await _pool() as pool:
            refs = [await _actor(pool, str(number)) for number in range(actors)]
            spent = Spent()
            for _ in range(turns):
                for ref in refs:
                    await ref.put.send(None)
            await refs[-1].get(0)
            return spent.per(actors * turns)

    return measure


def ask(clients: int, each: int, timeout_s: float | None) -> Measure:
    """Ask so many actors at once; the deadline by ``asyncio.timeout``, cheaper than its own."""

    async def client(ref: Any) -> None:
        for _ in range(each):
            async with asyncio.timeout(timeout_s):
                await ref.get(1)

    async def measure() -> Figures:
        async with await _pool() as pool:
            refs = [await _actor(pool, str(number)) for number in range(clients)]
            spent = Spent()
            async with asyncio.TaskGroup() as group:
                for ref in refs:
                    group.create_task(client(ref))
            return spent.per(clients * each)

    return measure


def start(number: int) -> Measure:
    async def measure() -> Figures:
        async with await _pool() as pool:
            spent = Spent()
            for each in range(number):
                await _actor(pool, str(each))
            return spent.per(number)

    return measure


def idle(number: int) -> Measure:
    async def measure() -> Figures:
        async with await _pool() as pool:
            await _actor(pool, "first")
            gc.collect()
            before = rss_bytes()
            for each in range(number):
                await _actor(pool, f"session-{each}")
            gc.collect()
            return {"bytes": (rss_bytes() - before) / number}

    return measure


CELLS: dict[str, Callable[..., Measure]] = {
    "tell": tell,
    "wake": wake,
    "ask": ask,
    "start": start,
    "idle": idle,
}

if __name__ == "__main__":
    cell_main({name: in_loop(make) for name, make in CELLS.items()})
