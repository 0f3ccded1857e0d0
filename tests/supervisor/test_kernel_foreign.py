"""Cancellation from outside of the tree, which asyncio knows and trio does not.

A CancelledError that nobody in the tree asked for must not end the whole tree without a trace.
"""

import asyncio
import gc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from kernel_log import Log

from ukemi.supervisor import (
    ChildSpec,
    ChildTerminated,
    Context,
    ForeignCancel,
    Kernel,
    SupervisorSpec,
    TreeGaveUp,
)


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    if request.param == "uvloop":
        pytest.importorskip("uvloop")
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


async def idle(ctx: Context[Any]) -> None:
    await anyio.sleep_forever()


def tree(*children: Any, **fields: Any) -> SupervisorSpec:
    return SupervisorSpec(id="root", children=children, **fields)


@asynccontextmanager
async def running(log: Log, spec: Any, **options: Any) -> AsyncGenerator[Kernel]:
    kernel = Kernel(spec, on_report=log.on_report, on_progress=log.on_progress, **options)
    async with kernel:
        yield kernel


async def test_a_future_that_a_library_cancels_is_a_crash() -> None:
    """The child is restarted; let out, the CancelledError would end the group without a trace."""
    log = Log()

    async def body(ctx: Context[Any]) -> None:
        future = asyncio.get_running_loop().create_future()
        if ctx.incarnation == 1:
            future.cancel()
        await future

    children = ChildSpec(id="victim", start=body), ChildSpec(id="sibling", start=idle)
    async with running(log, tree(*children)) as kernel:
        told = await log.report(ChildTerminated)
        assert isinstance(told.reason, ForeignCancel)
        assert kernel.ref("victim").incarnation == 2
        assert kernel.ref("sibling").incarnation == 1


async def test_a_task_that_somebody_cancels_is_a_crash() -> None:
    """``Task.cancel`` on a child reaches that child alone."""
    log = Log()
    tasks: list[Any] = []

    async def body(ctx: Context[Any]) -> None:
        tasks.append(asyncio.current_task())
        ctx.ready()
        await anyio.sleep_forever()

    async with running(log, tree(ChildSpec(id="a", start=body, wait_ready=True))) as kernel:
        tasks[0].cancel()
        await log.until(lambda: kernel.ref("a").incarnation == 2)
        assert isinstance(log.of(ChildTerminated)[0].reason, ForeignCancel)


async def test_a_foreign_cancel_while_we_stop_does_not_escape() -> None:
    """Stop and foreign cancellation at the same moment: an ordered end all the same."""
    log = Log()
    tasks: list[Any] = []

    async def body(ctx: Context[Any]) -> None:
        tasks.append(asyncio.current_task())
        await anyio.sleep_forever()

    children = [ChildSpec(id=name, start=body) for name in "abc"]
    async with running(log, tree(*children)) as kernel:
        await log.until(lambda: log.starts("c") == 1)
        await anyio.lowlevel.checkpoint()
        for task in tasks:
            task.cancel()
        await kernel.supervisor().count_children()
    assert log.exits()[-1] == ""


async def test_a_kernel_whose_tasks_are_all_cancelled_says_so() -> None:
    """Some frameworks cancel every task of the loop: no restarts, and an error at the end."""
    log = Log()
    with pytest.raises(TreeGaveUp):
        async with running(log, tree(*[ChildSpec(id=name, start=idle) for name in "ab"])):
            await log.until(lambda: log.starts("b") == 1)
            await anyio.lowlevel.checkpoint()
            for task in asyncio.all_tasks():
                if task.get_name().startswith("kernel"):
                    task.cancel()
            await anyio.sleep_forever()
    assert log.starts("a") == 1


@pytest.mark.filterwarnings("ignore:coroutine 'Task._run' was never awaited:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_task_cancelled_before_its_first_step_is_not_lost() -> None:
    """Its body never runs, so nobody inside can tell: the kernel ends, and says why."""
    before = asyncio.all_tasks()
    with pytest.raises(TreeGaveUp, match="cancelled"):
        async with Kernel(tree(ChildSpec(id="a", start=idle), ChildSpec(id="b", start=idle))):
            for task in asyncio.all_tasks() - before:
                if task.get_name() == "a":
                    task.cancel()
            await anyio.sleep_forever()
    gc.collect()  # the coroutine that never ran is complained of here
