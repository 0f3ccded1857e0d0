"""The owner of a kernel is cancelled at any round of the loop, on the way in, inside, and on the way out.

Whenever it comes, the cancellation is let out, and nothing of the tree stays behind. On asyncio alone,
whose ``Task.cancel`` reaches a task through every shield.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from kernel_log import Log

import ukemi.supervisor.crew as crews
from ukemi.supervisor import (
    ChildSpec,
    Context,
    DynamicSpec,
    Kernel,
    Started,
    StillRunning,
    Strategy,
    SupervisorSpec,
)

ROUNDS = 45
"""More than the whole block takes."""


def unknown(_backend: object) -> bool:
    return False


async def slow(ctx: Context[Any]) -> None:
    for _ in range(2):
        await asyncio.sleep(0)
    ctx.ready()
    try:
        await anyio.sleep_forever()
    finally:
        with ctx.cleanup(1.0):
            for _ in range(2):
                await asyncio.sleep(0)


def tree(*more: ChildSpec) -> SupervisorSpec:
    a, b, c = (ChildSpec(id=id, start=slow, wait_ready=True) for id in "abc")
    inner = SupervisorSpec(id="inner", children=(a, b), strategy=Strategy.ONE_FOR_ALL)
    pool = DynamicSpec(id="pool", initial=lambda: [c])
    return SupervisorSpec(id="root", children=(inner, pool, *more))


async def all_of_it(log: Log, inside: Callable[[Kernel], Awaitable[None]]) -> None:
    kernel = Kernel(tree(), on_report=log.on_report, on_progress=log.on_progress)
    async with kernel:
        await inside(kernel)


async def restarting(kernel: Kernel) -> None:
    """Have a child crash, and go on before it is restarted."""
    kernel.supervisor("inner").kill_child("a")
    for _ in range(4):
        await asyncio.sleep(0)


def alive_of(log: Log) -> set[str]:
    """Return who has started and not ended."""
    alive: list[str] = []
    for each in log.progress:
        if isinstance(each, Started):
            alive.append(each.path)
        elif each.path in alive:
            alive.remove(each.path)
    return set(alive)


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("crew", ["bare", "group"])
def test_nothing_stays_behind(crew: str, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancelled once, or again and again, from each round on."""
    if crew == "group":
        monkeypatch.setattr(crews, "entering_is_known", unknown)
    ended: list[bool] = []

    async def program(number: int) -> None:
        log = Log()
        task = asyncio.create_task(all_of_it(log, restarting))
        for _ in range(number):
            await asyncio.sleep(0)
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        async with asyncio.timeout(20):
            await asyncio.wait([task])
        ended.append(not task.cancelled())
        await asyncio.sleep(0)
        assert alive_of(log) == set(), number
        assert asyncio.all_tasks() == {asyncio.current_task()}, number

    for number in range(1, ROUNDS):
        asyncio.run(program(number))
    assert ended[-1]  # so every round of the block was among them
    assert not ended[0]


def test_what_still_runs_is_told_once() -> None:
    """Also where the owner is cancelled again while the last of it is waited for."""
    log, gate, begun = Log(), threading.Event(), asyncio.Event()

    async def thread(ctx: Context[Any]) -> None:
        loop = asyncio.get_running_loop()

        def work() -> None:
            loop.call_soon_threadsafe(begun.set)
            gate.wait()

        await ctx.run_blocking(work)

    async def inside() -> None:
        spec = tree(ChildSpec(id="t", start=thread))
        async with Kernel(spec, on_report=log.on_report, close_s_max=0.5):
            await begun.wait()

    async def program() -> None:
        task = asyncio.create_task(inside())
        try:
            await log.report(StillRunning)
            for _ in range(3):
                task.cancel()
                await asyncio.sleep(0)
            await asyncio.wait([task])
            assert len(log.of(StillRunning)) == 1
        finally:
            gate.set()

    asyncio.run(program())
