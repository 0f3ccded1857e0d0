"""Ukemi's cells of the benchmark of the kernel: one operation, measured in this process.

python -m benchmarks.kernel_cells '{"cell": "tell", ...}'
"""

import asyncio
import gc
import time
from collections.abc import Callable
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from ukemi.supervisor import (
    ChildSpec,
    Context,
    DynamicSpec,
    Kernel,
    Ref,
    Reply,
    RestartType,
    SupervisorSpec,
)

from .cells import cell_main, rss_bytes
from .kernel_meter import Figures, Measure, Spent, in_loop


async def _idle(ctx: Context[Any]) -> None:
    await anyio.sleep_forever()


async def _echo(ctx: Context[Reply[int]]) -> None:
    while True:
        (await ctx.receive()).set(1)


async def _crash(ctx: Context[object]) -> None:
    await ctx.receive()
    raise ValueError


def _itself(reply: Reply[int]) -> Reply[int]:
    return reply


class _Sink:
    """An actor that counts."""

    def __init__(self) -> None:
        self.got = 0

    async def one_by_one(self, ctx: Context[object]) -> None:
        while True:
            await ctx.receive()
            self.got += 1

    async def all_at_once(self, ctx: Context[object]) -> None:
        while True:
            self.got += len(await ctx.take())


def _pool(start: Any = _idle, **fields: Any) -> DynamicSpec:
    template = ChildSpec(id="t", start=start, mailbox_max=100_000, **fields)
    return DynamicSpec(id="pool", template=template, intensity=None)


def tell(burst: int, total: int, *, take: bool = False) -> Measure:
    """Tell one actor so many messages in a row, then let it run."""

    async def measure() -> Figures:
        sink = _Sink()
        async with Kernel(_pool(sink.all_at_once if take else sink.one_by_one)) as kernel:
            ref = kernel.supervisor().start_child_soon("a")
            await checkpoint()
            spent = Spent()
            for _ in range(total // burst):
                for number in range(burst):
                    ref.tell(number)
                await asyncio.sleep(0)
            while sink.got < total:  # noqa: ASYNC110 - an event would cost as much again
                await asyncio.sleep(0)
            return spent.per(total)

    return measure


def wake(actors: int, turns: int) -> Measure:
    """Wake so many sleeping actors in turn."""

    async def measure() -> Figures:
        sink = _Sink()
        async with Kernel(_pool(sink.one_by_one)) as kernel:
            refs = [kernel.supervisor().start_child_soon(str(each)) for each in range(actors)]
            await checkpoint()
            spent = Spent()
            for _ in range(turns):
                for ref in refs:
                    ref.tell(None)
                await asyncio.sleep(0)
            return spent.per(actors * turns)

    return measure


def ask(clients: int, each: int, timeout_s: float | None) -> Measure:
    """Ask so many actors at once, each by a client of its own."""

    async def client(ref: Ref[Reply[int]]) -> None:
        for _ in range(each):
            await ref.ask(_itself, timeout_s)

    async def measure() -> Figures:
        async with Kernel(_pool(_echo)) as kernel:
            refs = [kernel.supervisor().start_child_soon(str(n)) for n in range(clients)]
            await checkpoint()
            spent = Spent()
            async with asyncio.TaskGroup() as group:
                for ref in refs:
                    group.create_task(client(ref))
            return spent.per(clients * each)

    return measure


def start(number: int) -> Measure:
    async def measure() -> Figures:
        async with Kernel(_pool()) as kernel:
            handle = kernel.supervisor()
            spent = Spent()
            for each in range(number):
                handle.start_child_soon(str(each))
            await checkpoint()
            return spent.per(number)

    return measure


def restart(number: int) -> Measure:
    """Crash so many children and have them restarted."""

    async def measure() -> Figures:
        async with Kernel(_pool(_crash, restart=RestartType.PERMANENT)) as kernel:
            refs = [kernel.supervisor().start_child_soon(str(n)) for n in range(number)]
            await checkpoint()
            spent = Spent()
            for ref in refs:
                ref.tell(None)
            while any(ref.incarnation < 2 for ref in refs[-3:]):
                await checkpoint()
            await checkpoint()
            return spent.per(number)

    return measure


def idle(number: int, *, on_demand: bool) -> Measure:
    """Return resident bytes per actor that waits, with a task of its own or without."""

    async def measure() -> Figures:
        async with Kernel(_pool(on_demand=on_demand)) as kernel:
            handle = kernel.supervisor()
            gc.collect()
            before = rss_bytes()
            for each in range(number):
                handle.start_child_soon(f"session-{each}")
            await checkpoint()
            gc.collect()
            return {"bytes": (rss_bytes() - before) / number}

    return measure


def arm(number: int) -> Measure:
    """Arm and cancel a deadline while 10,000 others wait."""

    async def measure() -> Figures:
        async with Kernel(_pool()) as kernel:
            timers = kernel.timers
            for _ in range(10_000):
                timers.after(3600.0, _nothing)
            spent = Spent()
            for _ in range(number):
                timers.after(60.0, _nothing).cancel()
            return spent.per(number)

    return measure


def stop(number: int) -> Measure:
    """Stop so many children in one call; the longest gap of the loop, full collections aside."""

    async def measure() -> Figures:
        async with Kernel(SupervisorSpec(id="root", children=(_pool(),))) as kernel:
            handle = kernel.supervisor("pool")
            for each in range(number):
                handle.start_child_soon(str(each))
            await checkpoint()
            gaps: list[float] = []
            gc.disable()
            figures: Figures = {}
            spent = Spent()  # collects; a gap would be seen otherwise
            async with anyio.create_task_group() as group:
                group.start_soon(_tick, gaps)
                await checkpoint()
                await kernel.supervisor().terminate_child("pool")
                figures = spent.per(1)
                group.cancel_scope.cancel()
            gc.enable()
            return {**figures, "gap_ms": max(gaps, default=0.0) * 1e3}

    return measure


async def _tick(gaps: list[float]) -> None:
    last = time.perf_counter()
    while True:
        await anyio.sleep(0.001)
        now = time.perf_counter()
        gaps.append(now - last)
        last = now


def _nothing() -> None:
    return None


CELLS: dict[str, Callable[..., Measure]] = {
    "tell": tell,
    "wake": wake,
    "ask": ask,
    "start": start,
    "restart": restart,
    "idle": idle,
    "arm": arm,
    "stop": stop,
}

if __name__ == "__main__":
    cell_main({name: in_loop(make) for name, make in CELLS.items()})
