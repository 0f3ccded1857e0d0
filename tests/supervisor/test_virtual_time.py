"""The virtual clock itself: it jumps, keeps order, and starts afresh."""

import time
from typing import Any

import anyio
import pytest
from virtual_time import VIRTUAL_BACKENDS, run_virtual, virtual_backend


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual_backend(request.param)


async def test_an_hour_passes_at_once() -> None:
    """Sleeping advances the loop's clock, not the wall's."""
    began, real = anyio.current_time(), time.monotonic()
    await anyio.sleep(3600)
    assert anyio.current_time() - began == pytest.approx(3600)
    assert time.monotonic() - real < 60


async def test_sleepers_wake_in_the_order_of_their_deadlines() -> None:
    """Concurrent waits end in order, whatever the order they began in."""
    woken: list[float] = []

    async def sleeper(seconds: float) -> None:
        await anyio.sleep(seconds)
        woken.append(seconds)

    async with anyio.create_task_group() as group:
        for seconds in (3.0, 1.0, 2.0):
            group.start_soon(sleeper, seconds)
    assert woken == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("backend", VIRTUAL_BACKENDS)
def test_run_virtual_returns_the_result(backend: str) -> None:
    """A plain test can run one coroutine under virtual time."""

    async def body(seconds: float) -> str:
        await anyio.sleep(seconds)
        return "done"

    assert run_virtual(body, 1e6, backend=backend) == "done"
