"""Running a function a user gave: an async one here, any other in a worker thread."""

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from .threads import Threads


def is_async(function: Callable[..., Any]) -> bool:
    """Tell whether calling it gives something to await."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 (an object whose __call__ is async)
    )


async def run_body(
    function: Callable[..., Any],
    given: Mapping[str, object],
    *,
    name: str,
    in_loop: bool,
    threads: Threads | None = None,
    on_start: Callable[[], None] | None = None,
) -> object:
    """Run a body once and return what it returns.

    Args:
        name: the tool whose limit of threads it counts to.
        in_loop: whether it is async; see `is_async`.
        threads: None: a pool for this call alone, whose late outcome nobody learns.
        on_start: called right before the body starts. While a sync body waits for a free thread,
            it has not started: a call cancelled before that had no effect.

    Raises:
        TransientError: the body did not start, as in `Threads.run`.
        Exception: whatever the body raises.
    """
    if in_loop:
        return await begin_here(function, given, on_start)
    return await run_in_thread(function, given, name, threads, on_start)


def begin_here(
    function: Callable[..., Any],
    given: Mapping[str, object],
    on_start: Callable[[], None] | None,
) -> Awaitable[object]:
    """Begin an async body, and return what is left to be awaited; await it at once."""
    if on_start is not None:
        on_start()
    begun: Awaitable[object] = function(**given)
    return begun


async def run_in_thread(
    function: Callable[..., Any],
    given: Mapping[str, object],
    name: str,
    threads: Threads | None,
    on_start: Callable[[], None] | None,
) -> object:
    """Run any other body in a worker thread; see `run_body`."""
    pool = threads or Threads()
    try:
        result = await pool.run(functools.partial(function, **given), tool=name, on_start=on_start)
    finally:
        if threads is None:
            pool.close()
    if inspect.isawaitable(result):
        # A plain wrapper around an async function: its body runs here.
        return await cast("Awaitable[object]", result)
    return result
