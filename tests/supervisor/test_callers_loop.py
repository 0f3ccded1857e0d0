"""The kernel runs inside whatever started the loop: anyio, asyncio itself, or a server on uvloop."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest
import trio

from ukemi.supervisor import ChildSpec, Context, Kernel, RestartType, SupervisorSpec


async def _lives() -> int:
    """Run a tree whose child dies once, and return how often the child was started."""
    lives = 0
    again = anyio.Event()

    async def child(ctx: Context[object]) -> None:
        nonlocal lives
        lives += 1
        # What an actor may use: scopes, events, timers.
        with anyio.move_on_after(0.001):
            await anyio.sleep_forever()
        if lives == 1:
            raise RuntimeError("dies once")
        again.set()
        await ctx.receive()

    spec = ChildSpec(id="child", start=child, restart=RestartType.PERMANENT)
    async with Kernel(SupervisorSpec(id="top", children=(spec, spec_of_worker()))):
        with anyio.fail_after(5):
            await again.wait()
    return lives


def spec_of_worker() -> ChildSpec:
    async def worker(ctx: Context[object]) -> None:
        await ctx.receive()

    return ChildSpec(id="worker", start=worker)


def _on_uvloop(body: Callable[[], Coroutine[Any, Any, int]]) -> int:
    uvloop = pytest.importorskip("uvloop")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(body())


RUNNERS: dict[str, Callable[[Callable[[], Coroutine[Any, Any, int]]], int]] = {
    "anyio.run": anyio.run,
    "asyncio.run": lambda body: asyncio.run(body()),
    "asyncio.Runner on uvloop": _on_uvloop,
    "trio.run": trio.run,
}


@pytest.mark.realtime
@pytest.mark.parametrize("runner", RUNNERS)
def test_a_tree_starts_restarts_and_stops_under(runner: str) -> None:
    """Which library runs is known in callbacks too, not only where anyio started the loop."""
    assert RUNNERS[runner](_lives) == 2
