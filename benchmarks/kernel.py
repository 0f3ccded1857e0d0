"""The kernel beside what it is made of: asyncio.Queue, a bare anyio task group, other libraries.

    python -m benchmarks kernel [ROUNDS] [--uvloop]

All contenders run in turn in one process; figures are CPU microseconds per operation (median of the
rounds), ratios the median of the ratios of each round. Ratios compare; rates depend on the machine.
"""

import asyncio
import gc
import os
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import median
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

ROUNDS = 5
BURST = 100
Measure = Callable[[], Awaitable[float]]
Box = asyncio.Queue[asyncio.Future[int]]


def cpu() -> float:
    return time.process_time()


async def idle(ctx: Context[Any]) -> None:
    await anyio.sleep_forever()


class Sink:
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


def pool(start: Any = idle, **fields: Any) -> DynamicSpec:
    template = ChildSpec(id="t", start=start, mailbox_max=100_000, **fields)
    return DynamicSpec(id="pool", template=template, intensity=None)


# -- telling --------------------------------------------------------------------------------------------


def tell(burst: int, total: int, *, take: bool = False) -> Measure:
    async def measure() -> float:
        sink = Sink()
        spent = 0.0
        async with Kernel(pool(sink.all_at_once if take else sink.one_by_one)) as kernel:
            ref = kernel.supervisor().start_child_soon("a")
            await checkpoint()
            began = cpu()
            for _ in range(total // burst):
                for number in range(burst):
                    ref.tell(number)
                await asyncio.sleep(0)
            while sink.got < total:  # noqa: ASYNC110 - an event would cost as much again
                await asyncio.sleep(0)
            spent = (cpu() - began) / total
        return spent

    return measure


def queue_put(burst: int, total: int) -> Measure:
    async def measure() -> float:
        queue: asyncio.Queue[int] = asyncio.Queue()
        got = 0
        spent = 0.0

        async def consume() -> None:
            nonlocal got
            while True:
                await queue.get()
                got += 1

        async with anyio.create_task_group() as group:
            group.start_soon(consume)
            await checkpoint()
            began = cpu()
            for _ in range(total // burst):
                for number in range(burst):
                    queue.put_nowait(number)
                await asyncio.sleep(0)
            while got < total:  # noqa: ASYNC110
                await asyncio.sleep(0)
            spent = (cpu() - began) / total
            group.cancel_scope.cancel()
        return spent

    return measure


def tell_many(number: int, turns: int) -> Measure:
    """Wake so many sleeping actors in turn."""

    async def measure() -> float:
        sink = Sink()
        spent = 0.0
        async with Kernel(pool(sink.one_by_one)) as kernel:
            refs = [kernel.supervisor().start_child_soon(str(each)) for each in range(number)]
            await checkpoint()
            began = cpu()
            for _ in range(turns):
                for ref in refs:
                    ref.tell(None)
                await asyncio.sleep(0)
            spent = (cpu() - began) / (number * turns)
        return spent

    return measure


def queues_put(number: int, turns: int) -> Measure:
    async def consume(queue: asyncio.Queue[None]) -> None:
        while True:
            await queue.get()

    async def measure() -> float:
        queues: list[asyncio.Queue[None]] = [asyncio.Queue() for _ in range(number)]
        spent = 0.0
        async with anyio.create_task_group() as group:
            for queue in queues:
                group.start_soon(consume, queue)
            await checkpoint()
            began = cpu()
            for _ in range(turns):
                for queue in queues:
                    queue.put_nowait(None)
                await asyncio.sleep(0)
            spent = (cpu() - began) / (number * turns)
            group.cancel_scope.cancel()
        return spent

    return measure


# -- asking ---------------------------------------------------------------------------------------------


async def echo(ctx: Context[Reply[int]]) -> None:
    while True:
        (await ctx.receive()).set(1)


def itself(reply: Reply[int]) -> Reply[int]:
    return reply


def ask(clients: int, each: int, timeout_s: float | None) -> Measure:
    async def client(ref: Ref[Reply[int]]) -> None:
        for _ in range(each):
            await ref.ask(itself, timeout_s)

    async def measure() -> float:
        async with Kernel(pool(echo)) as kernel:
            refs = [kernel.supervisor().start_child_soon(str(n)) for n in range(clients)]
            await checkpoint()
            began = cpu()
            async with anyio.create_task_group() as group:
                for ref in refs:
                    group.start_soon(client, ref)
            return (cpu() - began) / (clients * each)

    return measure


def queue_ask(clients: int, each: int, timeout_s: float) -> Measure:
    """The same with a queue, a future and ``asyncio.timeout``."""

    async def serve(queue: Box) -> None:
        while True:
            (await queue.get()).set_result(1)

    async def client(queue: Box) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(each):
            future: asyncio.Future[int] = loop.create_future()
            queue.put_nowait(future)
            async with asyncio.timeout(timeout_s):
                await future

    async def measure() -> float:
        queues: list[Box] = [asyncio.Queue() for _ in range(clients)]
        spent = 0.0
        async with anyio.create_task_group() as servers:
            for queue in queues:
                servers.start_soon(serve, queue)
            await checkpoint()
            began = cpu()
            async with anyio.create_task_group() as group:
                for queue in queues:
                    group.start_soon(client, queue)
            spent = (cpu() - began) / (clients * each)
            servers.cancel_scope.cancel()
        return spent

    return measure


# -- lives ----------------------------------------------------------------------------------------------


def start_children(number: int) -> Measure:
    async def measure() -> float:
        async with Kernel(pool()) as kernel:
            handle = kernel.supervisor()
            began = cpu()
            for each in range(number):
                handle.start_child_soon(str(each))
            await checkpoint()
            return (cpu() - began) / number

    return measure


def start_tasks(number: int) -> Measure:
    async def measure() -> float:
        spent = 0.0
        async with anyio.create_task_group() as group:
            began = cpu()
            for _ in range(number):
                group.start_soon(anyio.sleep_forever)
            await checkpoint()
            spent = (cpu() - began) / number
            group.cancel_scope.cancel()
        return spent

    return measure


def crash_and_restart(number: int) -> Measure:
    async def body(ctx: Context[object]) -> None:
        await ctx.receive()
        raise ValueError

    async def measure() -> float:
        async with Kernel(pool(body, restart=RestartType.PERMANENT)) as kernel:
            refs = [kernel.supervisor().start_child_soon(str(n)) for n in range(number)]
            await checkpoint()
            began = cpu()
            for ref in refs:
                ref.tell(None)
            while any(ref.incarnation < 2 for ref in refs[-3:]):
                await checkpoint()
            await checkpoint()
            return (cpu() - began) / number

    return measure


async def arm_and_cancel() -> float:
    async with Kernel(pool()) as kernel:
        timers = kernel.timers
        for _ in range(10_000):
            timers.after(3600.0, _nothing)
        began = cpu()
        for _ in range(50_000):
            timers.after(60.0, _nothing).cancel()
        return (cpu() - began) / 50_000


async def fail_after() -> float:
    began = cpu()
    for _ in range(5_000):
        with anyio.fail_after(60.0):  # noqa: ASYNC100 - only its cost is wanted
            pass
    return (cpu() - began) / 5_000


def _nothing() -> None:
    return None


async def idle_bytes(number: int) -> float:
    """Return resident bytes per actor that holds no task while it is idle."""
    async with Kernel(pool(on_demand=True)) as kernel:
        handle = kernel.supervisor()
        gc.collect()
        before = _rss()
        for each in range(number):
            handle.start_child_soon(f"session-{each}")
        await checkpoint()
        gc.collect()
        return (_rss() - before) / number


async def stop_many(number: int) -> tuple[float, float]:
    """Return seconds to stop so many children in one call, and the longest gap of the loop."""
    tree = SupervisorSpec(id="root", children=(pool(),))
    async with Kernel(tree) as kernel:
        handle = kernel.supervisor("pool")
        for each in range(number):
            handle.start_child_soon(str(each))
        await checkpoint()
        gaps: list[float] = []
        spent = 0.0

        async def tick() -> None:
            last = time.perf_counter()
            while True:
                await anyio.sleep(0.001)
                now = time.perf_counter()
                gaps.append(now - last)
                last = now

        gc.collect()
        gc.disable()
        async with anyio.create_task_group() as group:
            group.start_soon(tick)
            await checkpoint()
            began = time.perf_counter()
            await kernel.supervisor().terminate_child("pool")
            spent = time.perf_counter() - began
            group.cancel_scope.cancel()
        gc.enable()
        return spent, max(gaps, default=0.0)


def _rss() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# -- the report -------------------------------------------------------------------------------------------


PAIRS: list[tuple[str, Measure, str, Measure, str]] = [
    (
        f"tell, bursts of {BURST}, taken at once",
        tell(BURST, 100_000, take=True),
        "asyncio.Queue",
        queue_put(BURST, 100_000),
        "at least 3 times faster",
    ),
    (
        f"tell, bursts of {BURST}, received one by one",
        tell(BURST, 100_000),
        "asyncio.Queue",
        queue_put(BURST, 100_000),
        "",
    ),
    (
        "tell, waking one sleeper and one turn of the loop",
        tell(1, 20_000),
        "asyncio.Queue",
        queue_put(1, 20_000),
        "",
    ),
    (
        "tell, waking 1,000 sleepers in turn",
        tell_many(1_000, 30),
        "asyncio.Queue",
        queues_put(1_000, 30),
        "at least 1.2 times faster",
    ),
    (
        "ask with a deadline, 1,000 actors",
        ask(1_000, 20, 5.0),
        "queue, future, asyncio.timeout",
        queue_ask(1_000, 20, 5.0),
        "",
    ),
    (
        "start a child",
        start_children(5_000),
        "bare anyio task",
        start_tasks(5_000),
        "at least 0.67 times as fast",
    ),
    (
        "crash to restarted",
        crash_and_restart(3_000),
        "start a child",
        start_children(3_000),
        "at least 0.33 times as fast",
    ),
    ("arm and cancel a deadline", arm_and_cancel, "anyio.fail_after", fail_after, "below 2 us"),
]


def main() -> None:
    words = [word for word in sys.argv[1:] if word.isdigit()]
    options = {"use_uvloop": "--uvloop" in sys.argv}

    def run(measure: Measure) -> float:
        gc.collect()
        return anyio.run(measure, backend_options=options) * 1e6

    rounds = int(words[0]) if words else ROUNDS
    print("| operation | us | beside | us | times faster | aim |\n|---|---|---|---|---|---|")
    for name, ours, beside, theirs, aim in PAIRS:
        pairs = [(run(ours), run(theirs)) for _ in range(rounds)]
        us, their_us = (median(each) for each in zip(*pairs, strict=True))
        times = median(theirs / ours for ours, theirs in pairs)
        print(f"| {name} | {us:.2f} | {beside} | {their_us:.2f} | {times:.2f} | {aim} |")
    for library in ("pykka", "xoscar"):
        if find_spec(library) is None:
            print(f"| ask | | {library} | not installed | | |")
    gc.collect()
    number = 100_000
    bytes_each = anyio.run(idle_bytes, number, backend_options=options)
    print(f"\n{number:,} idle actors: {bytes_each:,.0f} bytes each (aim: at most 1,024)")
    stops = [anyio.run(stop_many, 10_000, backend_options=options) for _ in range(rounds)]
    spent, gap = (median(each) for each in zip(*stops, strict=True))
    print(f"10,000 children stopped in one call: {spent:.2f} s, longest gap {gap * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
