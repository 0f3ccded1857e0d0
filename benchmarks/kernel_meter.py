"""What a cell of the kernel's benchmark measures with; imports no library, so that peers share it."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from importlib import import_module

Figures = dict[str, float]
Measure = Callable[[], Awaitable[Figures]]


class Spent:
    """Processor and wall time since it was made."""

    def __init__(self) -> None:
        gc.collect()
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def per(self, operations: int) -> Figures:
        """Return microseconds per operation."""
        cpu_s = time.process_time() - self._cpu
        wall_s = time.perf_counter() - self._wall
        return {"us": cpu_s / operations * 1e6, "wall_us": wall_s / operations * 1e6}


def in_loop(make: Callable[..., Measure]) -> Callable[..., Figures]:
    """Make a cell of an async measurement: run in a loop of its own, asyncio's or uvloop's."""

    def cell(*, uvloop: bool = False, **given: object) -> Figures:
        factory: Callable[[], asyncio.AbstractEventLoop] | None = None
        if uvloop:
            factory = import_module("uvloop").new_event_loop
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(_await(make(**given)))

    return cell


async def _await(measure: Measure) -> Figures:
    return await measure()
