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
    LeakedScope,
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


# ---------------------------------------------------------------- one scope for many bodies


async def test_a_body_that_was_ended_takes_the_shared_scope_with_it_and_no_other_body() -> None:
    async with serving() as timers:
        with Work(timers, on_stuck=pytest.fail) as work:
            for _ in range(3):
                assert await work.run(ten_seconds, what="body", limit_s=11) == "slept"
                with pytest.raises(TimedOut):
                    await work.run(ten_seconds, what="slow", limit_s=0.3)
                await checkpoint()  # nothing around it is cancelled
            work.cut_off(CANCELLED)
            with pytest.raises(CutOff):
                await work.run(ten_seconds, what="after the cut")
            await anyio.sleep(1)
        await checkpoint()
        assert len(timers) == 0


async def test_a_cut_between_two_bodies_cancels_nothing_that_waits_for_something_else() -> None:
    async with serving() as timers, anyio.create_task_group() as group:
        with Work(timers, on_stuck=pytest.fail) as work:
            await work.run(ten_seconds, what="body")

            async def cut() -> None:
                work.cut_off(CANCELLED)

            group.start_soon(cut)
            await anyio.sleep(1)  # as while a result is being stored
        assert work.cut is CANCELLED


async def test_bodies_side_by_side_are_ended_each_by_itself() -> None:
    """A slow call of a message must not take the others with it."""
    ends: dict[str, object] = {}

    async def one(work: Work, name: str, limit_s: float) -> None:
        try:
            ends[name] = await work.run(ten_seconds, what=name, limit_s=limit_s)
        except TimedOut as error:
            ends[name] = error.limit_s

    async with serving() as timers:
        with Work(timers, on_stuck=pytest.fail) as work:
            await work.run(ten_seconds, what="before")
            with work.side_by_side():
                async with anyio.create_task_group() as group:
                    group.start_soon(one, work, "slow", 0.5)
                    group.start_soon(one, work, "fast", 11)
            assert ends == {"slow": 0.5, "fast": "slept"}
            assert await work.run(ten_seconds, what="after") == "slept"


async def test_a_body_inside_a_body_has_a_scope_of_its_own() -> None:
    async with serving() as timers:
        with Work(timers, on_stuck=pytest.fail) as work:

            async def outer() -> str:
                with pytest.raises(TimedOut):
                    await work.run(ten_seconds, what="inner", limit_s=0.3)
                return await ten_seconds()

            assert await work.run(outer, what="outer") == "slept"


async def test_our_own_cancellation_passes_through_the_shared_scope() -> None:
    async with serving() as timers:
        with anyio.move_on_after(1) as scope, Work(timers, on_stuck=pytest.fail) as work:
            await work.run(checkpoint, what="before")
            await work.run(ten_seconds, what="body", limit_s=5)
        assert scope.cancelled_caught
        await checkpoint()
        assert len(timers) == 0


async def test_what_a_body_leaves_open_in_the_shared_scope_is_its_bug(
    anyio_backend_name: str,
) -> None:
    if anyio_backend_name == "trio":
        return  # there the run itself watches over this

    async def leaky() -> None:
        anyio.CancelScope().__enter__()

    async with serving() as timers:
        with Work(timers, on_stuck=pytest.fail) as work:
            with pytest.raises(LeakedScope):
                await work.run(leaky, what="tool z")
            assert await work.run(ten_seconds, what="after") == "slept"


# ---------------------------------------------------------------- active time


class Spender:
    """Notes when it hears that the time is used up."""

    def __init__(self) -> None:
        self.heard_at: list[float] = []

    def out_of_active_time(self) -> None:
        self.heard_at.append(anyio.current_time())


async def test_active_time_runs_as_fast_as_bodies_run_side_by_side() -> None:
    """Four bodies side by side use 10 active seconds in 2.5, not in 10."""
    spender = Spender()
    async with serving() as timers:
        account = Account("session a", budget_from({"active_seconds": 10}))
        began = anyio.current_time()
        active = ActiveTime(account, SystemClock(), timers, spender)
        for _ in range(4):
            active.enter()
        await anyio.sleep(5)
    assert spender.heard_at == [pytest.approx(began + 2.5, abs=0.01)]


async def test_active_time_stands_still_between_bodies() -> None:
    async with serving() as timers:
        account = Account("session a", budget_from({"active_seconds": 10}))
        spender = Spender()
        active = ActiveTime(account, SystemClock(), timers, spender)
        for _ in range(3):
            active.enter()
            await anyio.sleep(2)
            active.leave()
            await anyio.sleep(100)
        assert account.used[1] == pytest.approx(6, abs=0.01)
        assert not isinstance(account.reserve(active_seconds=3.9), Refusal)
        assert not spender.heard_at
