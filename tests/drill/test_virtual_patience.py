"""The virtual clock beside the real world: it waits for threads and pipes, and not for ever."""

import os
import time

import anyio
import pytest

from ukemi.testing import VirtualClock, VirtualTimeLoop


def run(loop: VirtualTimeLoop, body: object) -> object:
    try:
        return loop.run_until_complete(body)  # type: ignore[arg-type]
    finally:
        loop.close()


def test_a_loop_that_takes_over_starts_where_the_other_stood() -> None:
    async def look() -> tuple[float, int]:
        await anyio.sleep(3600)
        return anyio.current_time(), VirtualClock().wall_ms()

    assert run(VirtualTimeLoop(start_s=100.0), look()) == (3700.0, 1_700_003_700_000)


@pytest.mark.parametrize("patience_s, told", [(0.0, None), (5.0, b"x")])
def test_a_pipe_is_waited_for_only_with_patience(patience_s: float, told: bytes | None) -> None:
    """Without any, the jump to the deadline outruns the thread that writes."""

    async def read() -> bytes | None:
        reader, writer = os.pipe()
        found: bytes | None = None
        try:
            with anyio.move_on_after(60):
                async with anyio.create_task_group() as group:
                    group.start_soon(anyio.to_thread.run_sync, late_write, writer)
                    await anyio.wait_readable(reader)
                    # The time may jump from here on: the loop knows nothing of the thread's end.
                    found = os.read(reader, 1)
        finally:
            os.close(reader)
            os.close(writer)
        return found

    def late_write(writer: int) -> None:
        time.sleep(0.05)
        os.write(writer, b"x")

    assert run(VirtualTimeLoop(patience_s=patience_s), read()) == told


def test_patience_ends() -> None:
    """A thing outside that never comes back costs its patience once, and then time jumps."""

    async def wait() -> float:
        began = time.monotonic()
        await anyio.sleep(3600)
        await anyio.sleep(3600)
        return time.monotonic() - began

    loop = VirtualTimeLoop(patience_s=0.05)
    loop.watch(lambda: True)
    waited_s = run(loop, wait())
    assert isinstance(waited_s, float)
    assert 0.04 < waited_s < 5.0
