"""Event loops whose clock jumps: an hour of waiting takes no time, and every run is the same.

Use it by overriding the backend fixture of a test module or folder::

    from virtual_time import VIRTUAL_BACKENDS, virtual_backend

    @pytest.fixture(params=VIRTUAL_BACKENDS)
    def anyio_backend(request):
        return virtual_backend(request.param)

A jumping clock outruns real threads, processes and files: what needs those is a ``realtime`` test.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio
import trio
import trio.testing

VIRTUAL_BACKENDS = ("asyncio", "trio")

T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    """Advance the clock by the time that would have been waited."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout is None or timeout <= 0:
            # Without any timer only another thread can wake the loop: wait for it in earnest.
            return ready if ready or timeout is not None else super().select(None)
        self.now += timeout
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An asyncio loop that jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def virtual_backend(name: str) -> tuple[str, dict[str, Any]]:
    """Return anyio's backend and options for this backend under virtual time; fresh each call."""
    if name == "asyncio":
        return name, {"loop_factory": VirtualTimeLoop}
    return name, {"clock": trio.testing.MockClock(autojump_threshold=0)}


def run_virtual(
    body: Callable[..., Coroutine[Any, Any, T]], *args: object, backend: str = "asyncio"
) -> T:
    """Run a coroutine function to its end under virtual time, outside of pytest's own loop."""
    name, options = virtual_backend(backend)
    return anyio.run(body, *args, backend=name, backend_options=options)
