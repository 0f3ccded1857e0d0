"""A kernel that an async generator holds may be left in another task than entered it: a fixture.

On asyncio alone: trio lets no task end with a scope open.
"""

import asyncio
import gc
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest
from kernel_log import Log

from ukemi.supervisor import (
    ChildSpec,
    Context,
    Kernel,
    SupervisorSpec,
    TreeGaveUp,
    UsageError,
)


async def idle(ctx: Context[Any]) -> None:
    await anyio.sleep_forever()


async def fixture(log: Log, intensity: int = 1) -> AsyncGenerator[Kernel]:
    children = (ChildSpec(id="a", start=idle), ChildSpec(id="b", start=idle))
    tree = SupervisorSpec(id="root", children=children, intensity=intensity)
    async with Kernel(tree, on_report=log.on_report, on_progress=log.on_progress) as kernel:
        yield kernel


async def enter(held: AsyncGenerator[Kernel]) -> Kernel:
    return await anext(held)


async def leave(held: AsyncGenerator[Kernel]) -> None:
    with pytest.raises(StopAsyncIteration):
        await anext(held)


def test_it_is_left_in_a_later_task() -> None:
    """As the fixtures of pytest-asyncio are: the tree is stopped in order, and that is all."""
    log = Log()
    with asyncio.Runner() as runner:
        held = fixture(log)
        kernel = runner.run(enter(held))
        runner.run(kernel.supervisor().count_children())
        runner.run(leave(held))
    assert log.exits() == ["b", "a", ""]


def test_a_tree_that_gave_up_meanwhile_says_so() -> None:
    """Nobody is in the block to be cancelled; it is raised all the same."""
    log = Log()

    async def kill(kernel: Kernel) -> None:
        kernel.supervisor().kill_child("a")
        await log.until(lambda: "" in log.exits())

    with asyncio.Runner() as runner:
        held = fixture(log, intensity=0)
        runner.run(kill(runner.run(enter(held))))
        with pytest.raises(TreeGaveUp):
            runner.run(enter(held))


def test_one_that_was_abandoned_is_stopped_at_the_end_of_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Somebody broke out of the loop over it, and the collector has it closed."""
    log = Log()

    async def main() -> None:
        async for kernel in fixture(log):
            await kernel.supervisor().count_children()
            break
        gc.collect()

    asyncio.run(main())
    assert sorted(log.exits()) == ["", "a", "b"]  # the end of a run cancels all at once
    assert not caplog.records


def test_leaving_beside_the_task_that_entered_is_refused() -> None:
    """It may be anywhere in the block; the tree is stopped, and the mistake named."""
    log = Log()

    async def main() -> None:
        held = fixture(log)
        await anext(held)
        with pytest.raises(UsageError, match="another task than entered it"):
            await asyncio.create_task(enter(held))
        assert log.exits() == ["b", "a", ""]

    asyncio.run(main())
