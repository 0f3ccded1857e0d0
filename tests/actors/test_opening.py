"""The lock of one session: who has it, who is next, and when it is gone."""

import anyio
import pytest

from ukemi.actors.opening import Opening
from ukemi.supervisor.loops import current_loop


class Door:
    """A session's lock as its users know it."""

    def __init__(self) -> None:
        self.openings: dict[str, Opening] = {}
        self.inside = 0
        self.went: list[str] = []

    def lock(self) -> Opening:
        opening = self.openings.get("s")
        if opening is None:
            opening = self.openings["s"] = Opening(self.openings, "s", current_loop())
        return opening

    async def use(self, name: str, seconds: float = 1) -> None:
        async with self.lock():
            self.inside += 1
            assert self.inside == 1
            self.went.append(name)
            try:
                await anyio.sleep(seconds)
            finally:
                self.inside -= 1


async def test_one_after_the_other_in_the_order_in_which_they_came() -> None:
    door = Door()
    async with anyio.create_task_group() as group:
        for name in "abcd":
            group.start_soon(door.use, name)
            await anyio.sleep(0.1)
    assert door.went == ["a", "b", "c", "d"]
    assert not door.openings


async def test_whoever_comes_first_waits_for_nothing_and_an_error_inside_lets_the_next_in() -> None:
    door = Door()
    with pytest.raises(ZeroDivisionError):
        async with door.lock():
            raise ZeroDivisionError
    assert not door.openings
    await door.use("next")
    assert door.went == ["next"]


async def test_whoever_stops_waiting_is_forgotten() -> None:
    door = Door()
    async with anyio.create_task_group() as group:
        group.start_soon(door.use, "a", 10)
        await anyio.sleep(1)
        for name in "bc":
            with anyio.move_on_after(1):
                await door.use("gone")
            group.start_soon(door.use, name)
            await anyio.sleep(1)
        assert door.went == ["a"]
    assert door.went == ["a", "b", "c"]
    assert not door.openings


@pytest.mark.parametrize("others", [0, 1])
async def test_whoever_is_cut_off_when_it_is_his_turn_already_passes_it_on(others: int) -> None:
    door = Door()
    async with anyio.create_task_group() as group:
        first = door.lock()
        await first.__aenter__()
        with anyio.CancelScope() as scope:

            async def leave_and_cancel() -> None:
                for number in range(others):
                    group.start_soon(door.use, f"other {number}")
                await anyio.sleep(1)
                scope.cancel()
                await first.__aexit__()  # both before the one that waits could go on

            group.start_soon(leave_and_cancel)
            await door.use("cut off")
    assert door.went == [f"other {number}" for number in range(others)]
    assert not door.openings
