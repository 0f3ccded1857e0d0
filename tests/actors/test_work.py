"""Bodies under way: limits, cutting off, clean-up, and bodies that do not end."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import anyio
import pytest
from anyio.lowlevel import checkpoint

from ukemi.actors.active_time import ActiveTime
from ukemi.actors.budget import Account, Refusal, budget_from
from ukemi.actors.work import (
    GRACE_S,
    Cut,
    CutOff,
    ForeignCancellation,
    Superseded,
    TimedOut,
    Work,
)
from ukemi.supervisor import SystemClock, Timers
from ukemi.supervisor.loops import current_loop

CANCELLED = Cut("cancelled")


@asynccontextmanager
async def serving() -> AsyncGenerator[Timers]:
    timers = Timers()
    async with anyio.create_task_group() as group:
        group.start_soon(timers.serve, current_loop(), anyio.current_time)
        yield timers
        timers.stop()


async def ten_seconds() -> str:
    await anyio.sleep(10)
    return "slept"


async def swallows(for_s: float) -> str:
    """Ignores being cancelled, as some libraries do."""
    ends = anyio.current_time() + for_s
    while anyio.current_time() < ends:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.1)
    return "late"


async def test_a_body_within_its_limit_returns_its_value() -> None:
    async with serving() as timers:
        work = Work(timers, on_stuck=pytest.fail)
        assert await work.run(ten_seconds, what="body", limit_s=11) == "slept"
        assert len(timers) == 0, "its timer is gone"


async def test_a_body_past_its_limit_is_ended_then() -> None:
    async with serving() as timers:
        work = Work(timers, on_stuck=pytest.fail)
        began = anyio.current_time()
        with pytest.raises(TimedOut):
            await work.run(ten_seconds, what="body", limit_s=0.3)
        assert anyio.current_time() - began == pytest.approx(0.3, abs=0.01)


async def test_an_error_of_the_clean_up_does_not_hide_the_time_out() -> None:
    async def body() -> None:
        try:
            await anyio.sleep(10)
        finally:
            raise OSError("closing failed too")

    async with serving() as timers:
        work = Work(timers, on_stuck=pytest.fail)
        with pytest.raises(TimedOut) as caught:
            await work.run(body, what="body", limit_s=0.3)
        assert isinstance(caught.value.__cause__, OSError)


async def test_a_cut_ends_every_body_and_lets_none_begin() -> None:
    ends: list[str] = []

    async def one(work: Work, name: str) -> None:
        with pytest.raises(CutOff):
            await work.run(ten_seconds, what=name)
        ends.append(name)

    async with serving() as timers:
        work = Work(timers, on_stuck=pytest.fail)
        async with anyio.create_task_group() as group:
            group.start_soon(one, work, "a")
            group.start_soon(one, work, "b")
            await anyio.sleep(1)
            work.cut_off(CANCELLED)
            work.cut_off(Cut("budget"))
        assert sorted(ends) == ["a", "b"]
        assert work.cut is CANCELLED, "the first reason stays"
        with pytest.raises(CutOff):
            await work.run(ten_seconds, what="c")
        assert anyio.current_time() < 10


async def test_a_result_that_is_there_is_not_thrown_away_by_a_cut() -> None:
    async def body(work: Work) -> str:
        work.cut_off(CANCELLED)  # cut at the last moment: the body ends without another await
        return "done"

    async with serving() as timers:
        work = Work(timers, on_stuck=pytest.fail)
        assert await work.run(partial(body, work), what="body") == "done"


async def test_a_body_that_does_not_end_is_reported_and_can_do_nothing_more() -> None:
    stuck: list[tuple[str, float]] = []
    async with serving() as timers:
        work = Work(timers, lambda what: stuck.append((what, anyio.current_time())))
        began = anyio.current_time()
        with pytest.raises(Superseded) as caught:
            await work.run(partial(swallows, 5), what="tool x", limit_s=0.3)
        assert caught.value.value == "late"
    assert [what for what, _ in stuck] == ["tool x"]
    assert stuck[0][1] - began == pytest.approx(0.3 + GRACE_S, abs=0.05)


async def test_a_slow_clean_up_within_the_grace_is_not_stuck() -> None:
    async with serving() as timers:
        work = Work(timers, on_stuck=pytest.fail)
        # It ends late, but it ends: with a value, which is the truth about it.
        assert await work.run(partial(swallows, 0.8), what="body", limit_s=0.3) == "late"


async def test_our_own_cancellation_passes_through() -> None:
    async with serving() as timers:
        work = Work(timers, on_stuck=pytest.fail)
        with anyio.move_on_after(1) as scope:
            await work.run(ten_seconds, what="body", limit_s=5)
        assert scope.cancelled_caught
        assert len(timers) == 0


async def test_a_foreign_cancellation_is_an_error_and_not_ours(
    anyio_backend_name: str,
) -> None:
    if anyio_backend_name == "trio":
        return  # on trio only scopes cancel, so there is no foreign cancellation to mistake

    async def body() -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    async with serving() as timers:
        work = Work(timers, on_stuck=pytest.fail)
        with pytest.raises(ForeignCancellation, match="tool y"):
            await work.run(body, what="tool y")
        await checkpoint()  # nothing around it was cancelled


async def test_active_time_runs_as_fast_as_bodies_run_side_by_side() -> None:
    """Four bodies side by side use 10 active seconds in 2.5, not in 10."""
    spent_at: list[float] = []
    async with serving() as timers:
        account = Account("session a", budget_from({"active_seconds": 10}))
        began = anyio.current_time()
        active = ActiveTime(
            account, SystemClock(), timers, lambda: spent_at.append(anyio.current_time() - began)
        )
        for _ in range(4):
            active.enter()
        await anyio.sleep(5)
    assert spent_at == [pytest.approx(2.5, abs=0.01)]


async def test_active_time_stands_still_between_bodies() -> None:
    async with serving() as timers:
        account = Account("session a", budget_from({"active_seconds": 10}))
        active = ActiveTime(account, SystemClock(), timers, lambda: pytest.fail("not spent"))
        for _ in range(3):
            active.enter()
            await anyio.sleep(2)
            active.leave()
            await anyio.sleep(100)
        assert account.used[1] == pytest.approx(6, abs=0.01)
        assert not isinstance(account.reserve(active_seconds=3.9), Refusal)
