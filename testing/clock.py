"""Event loops whose clock jumps: an hour of waiting takes no time, and every run is the same.

For tests with anyio's pytest plugin, override its backend fixture in a module or folder::

    @pytest.fixture(params=VIRTUAL_BACKENDS)
    def anyio_backend(request):
        return virtual_backend(request.param)

A jumping clock outruns real threads, processes and connections. Give the loop some patience where a
run has any of them: while it knows of some, it waits for them in real time before it jumps.
"""

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio

VIRTUAL_BACKENDS = ("asyncio", "trio")

EPOCH_MS = 1_700_000_000_000
"""What the wall clock of `VirtualClock` shows when the loop's clock shows 0."""

_SPINS_MAX = 5_000
_SPIN_S = 0.001

T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    """Advance the clock by the time that would have been waited."""

    def __init__(self, start_s: float, patience_s: float) -> None:
        super().__init__()
        self.now = start_s
        self.patience_s = patience_s
        self.outside: Callable[[], bool] = lambda: False
        self.own = 0
        """Descriptors that the loop itself waits on."""
        self.waited_s = 0.0
        """Real seconds waited since something came from outside."""
        self.spins = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            self.waited_s = 0.0 if ready else self.waited_s
            self._spin()
            return ready
        self.spins = 0
        if timeout is None:
            # Without any timer only another thread can wake the loop: wait for it in earnest.
            return super().select(None)
        if self._outside_at_work():
            left_s = min(timeout, self.patience_s - self.waited_s)
            began = time.monotonic()
            ready = super().select(left_s)
            waited_s = time.monotonic() - began
            # While the world outside is waited for, time goes by as it does there.
            self.now += min(waited_s, timeout)
            self.waited_s = 0.0 if ready else self.waited_s + max(waited_s, left_s)
            return ready
        self.now += timeout
        return []

    def _spin(self) -> None:
        """Let time go by where the loop turns without end: a body that swallows its cancellation gets it
        again at each turn, and would stop the clock that is to give it up."""
        self.spins += 1
        if self.patience_s and self.spins > _SPINS_MAX:
            self.now += _SPIN_S

    def _outside_at_work(self) -> bool:
        if self.waited_s >= self.patience_s:
            return False
        return len(self.get_map()) > self.own or self.outside()


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An asyncio loop that jumps to the next timer instead of waiting for it.

    Args:
        start_s: what its clock shows first; a loop that takes over from another one starts later.
        patience_s: real seconds for which it waits for connections, pipes and what it is told to
            watch, as long as nothing comes from them; then it jumps all the same. 0: it never waits.
    """

    def __init__(self, start_s: float = 0.0, patience_s: float = 0.0) -> None:
        self._jumping = _JumpingSelector(start_s, patience_s)
        super().__init__(self._jumping)
        self._jumping.own = len(self._jumping.get_map())

    def time(self) -> float:
        return self._jumping.now

    def watch(self, outside: Callable[[], bool]) -> None:
        """Ask this too whether something outside is at work, such as a thread; before each jump."""
        self._jumping.outside = outside


class VirtualClock:
    """A `Clock` for a `Runtime`: both clocks from the loop's own, so that leases end with it too."""

    def now(self) -> float:
        return anyio.current_time()

    def wall_ms(self) -> int:
        return EPOCH_MS + int(anyio.current_time() * 1000)


def virtual_backend(name: str = "asyncio") -> tuple[str, dict[str, Any]]:
    """Return anyio's backend and options for this backend under virtual time; fresh each call."""
    if name == "asyncio":
        return name, {"loop_factory": VirtualTimeLoop}
    import trio.testing  # only who asks for trio needs it

    return name, {"clock": trio.testing.MockClock(autojump_threshold=0)}


def run_virtual(
    body: Callable[..., Coroutine[Any, Any, T]], *args: object, backend: str = "asyncio"
) -> T:
    """Run a coroutine function to its end under virtual time, outside of any running loop."""
    name, options = virtual_backend(backend)
    return anyio.run(body, *args, backend=name, backend_options=options)
