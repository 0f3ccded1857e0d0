"""What happens once, and who waits for it."""

import anyio

from ukemi.actors.latch import Latch
from ukemi.supervisor.loops import current_loop


async def test_all_who_wait_go_on_once_it_happens_and_whoever_comes_later_does_not_wait() -> None:
    latch = Latch(current_loop())
    gone_on: list[int] = []

    async def waits(number: int) -> None:
        await latch.wait()
        gone_on.append(number)

    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(waits, number)
        await anyio.sleep(1)
        assert not latch.is_set() and not gone_on
        latch.set()
        latch.set()
    assert sorted(gone_on) == [0, 1, 2]
    await latch.wait()
    assert latch.is_set()


async def test_whoever_stops_waiting_is_forgotten_and_the_others_wait_on() -> None:
    latch = Latch(current_loop())
    gone_on: list[str] = []

    async def waits() -> None:
        await latch.wait()
        gone_on.append("the other")

    async with anyio.create_task_group() as group:
        group.start_soon(waits)
        for _ in range(3):
            with anyio.move_on_after(1):
                await latch.wait()
        with anyio.CancelScope() as scope:
            group.start_soon(_cancel_and_set, scope, latch)  # both before it could go on
            await latch.wait()
    assert gone_on == ["the other"]


async def _cancel_and_set(scope: anyio.CancelScope, latch: Latch) -> None:
    scope.cancel()
    latch.set()
