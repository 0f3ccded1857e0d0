"""What the kernel is made of, as cells: asyncio.Queue, futures, bare anyio tasks."""

import asyncio
import gc
from collections.abc import Callable

import anyio
from anyio.lowlevel import checkpoint

from .cells import cell_main, rss_bytes
from .kernel_meter import Figures, Measure, Spent, in_loop

Box = asyncio.Queue[asyncio.Future[int]]


async def _idle() -> None:
    await anyio.sleep_forever()


def tell(burst: int, total: int) -> Measure:
    """Put so many items in a row into a queue that a task reads, then let it run."""

    async def measure() -> Figures:
        queue: asyncio.Queue[int] = asyncio.Queue()
        got = 0

        async def consume() -> None:
            nonlocal got
            while True:
                await queue.get()
                got += 1

        reader = asyncio.create_task(consume())
        await checkpoint()
        spent = Spent()
        for _ in range(total // burst):
            for number in range(burst):
                queue.put_nowait(number)
            await asyncio.sleep(0)
        while got < total:  # noqa: ASYNC110 - an event would cost as much again
            await asyncio.sleep(0)
        figures = spent.per(total)
        reader.cancel()
        return figures

    return measure


def wake(actors: int, turns: int) -> Measure:
    """Wake so many tasks that wait at queues, in turn."""

    async def consume(queue: asyncio.Queue[None]) -> None:
        while True:
            await queue.get()

    async def measure() -> Figures:
        queues: list[asyncio.Queue[None]] = [asyncio.Queue() for _ in range(actors)]
        readers = [asyncio.create_task(consume(queue)) for queue in queues]
        await checkpoint()
        spent = Spent()
        for _ in range(turns):
            for queue in queues:
                queue.put_nowait(None)
            await asyncio.sleep(0)
        figures = spent.per(actors * turns)
        for reader in readers:
            reader.cancel()
        return figures

    return measure


def ask(clients: int, each: int, timeout_s: float | None) -> Measure:
    """Ask by a queue and a future, with ``asyncio.timeout`` for the deadline."""

    async def serve(queue: Box) -> None:
        while True:
            (await queue.get()).set_result(1)

    async def client(queue: Box) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(each):
            future: asyncio.Future[int] = loop.create_future()
            queue.put_nowait(future)
            if timeout_s is None:
                await future
            else:
                async with asyncio.timeout(timeout_s):
                    await future

    async def measure() -> Figures:
        queues: list[Box] = [asyncio.Queue() for _ in range(clients)]
        servers = [asyncio.create_task(serve(queue)) for queue in queues]
        await checkpoint()
        spent = Spent()
        async with asyncio.TaskGroup() as group:
            for queue in queues:
                group.create_task(client(queue))
        figures = spent.per(clients * each)
        for server in servers:
            server.cancel()
        return figures

    return measure


def start(number: int) -> Measure:
    """Start so many tasks in an anyio task group; the body is as deep as ours."""

    async def measure() -> Figures:
        figures: Figures = {}
        async with anyio.create_task_group() as group:
            spent = Spent()
            for _ in range(number):
                group.start_soon(_idle)
            await checkpoint()
            figures = spent.per(number)
            group.cancel_scope.cancel()
        return figures

    return measure


def idle(number: int) -> Measure:
    """Return resident bytes per anyio task that waits."""

    async def measure() -> Figures:
        figures: Figures = {}
        async with anyio.create_task_group() as group:
            gc.collect()
            before = rss_bytes()
            for _ in range(number):
                group.start_soon(_idle)
            await checkpoint()
            gc.collect()
            figures = {"bytes": (rss_bytes() - before) / number}
            group.cancel_scope.cancel()
        return figures

    return measure


def arm(number: int) -> Measure:
    """Enter and leave ``anyio.fail_after``."""

    async def measure() -> Figures:
        spent = Spent()
        for _ in range(number):
            with anyio.fail_after(60.0):  # noqa: ASYNC100 - only its cost is wanted
                pass
        return spent.per(number)

    return measure


CELLS: dict[str, Callable[..., Measure]] = {
    "tell": tell,
    "wake": wake,
    "ask": ask,
    "start": start,
    "idle": idle,
    "arm": arm,
}

if __name__ == "__main__":
    cell_main({name: in_loop(make) for name, make in CELLS.items()})
