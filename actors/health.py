"""How a runtime is doing, in numbers: read from memory, so it is answered also where the store hangs."""

from collections import deque
from collections.abc import Callable

from msgspec import Struct

from ..stores.base import StoreHealth
from ..supervisor import Timers
from .admission import SessionsHealth, Waiting
from .upstreams import UpstreamHealth

LAG_EVERY_S = 1.0
"""Seconds between two looks at the lag of the event loop; each costs a few microseconds."""

LAG_KEPT = 60
"""Looks that are remembered: a minute's."""

BOXES = ("checkpoint", "budget", "timers")
"""Actors of a runtime whose mailboxes are told of."""


class LoopHealth(Struct, frozen=True, kw_only=True):
    """How late the event loop is, in seconds: a body that blocks it shows here.

    Attributes:
        lag_s: of the last look, which was at most about a second ago.
        lag_s_max: the most within the last minute.
    """

    lag_s: float
    lag_s_max: float


class Health(Struct, frozen=True, kw_only=True):
    """How a runtime is doing; ``msgspec.json.encode`` writes it as JSON.

    Attributes:
        at_ms: when, in milliseconds of the epoch.
        loop: the event loop.
        sessions: how many there are.
        waiting: who waits for a place: sessions, by tenant, the oldest's seconds; and starts, of
            which nothing is stored yet.
        mailboxes: messages that wait, by actor.
        store: its queue and the time its commits take.
        upstreams: breakers and calls, by name; those that were asked since the runtime was entered.
        breakers_open: names of the upstreams that are not asked now.
        threads: sync tools that run, those that outlived their call included.
    """

    at_ms: int
    loop: LoopHealth
    sessions: SessionsHealth
    waiting: Waiting
    mailboxes: dict[str, int]
    store: StoreHealth
    upstreams: dict[str, UpstreamHealth]
    breakers_open: tuple[str, ...]
    threads: int


class LagMeter:
    """Measures how late a timer of the kernel fires: it shares the loop with everything else."""

    def __init__(self, timers: Timers, now: Callable[[], float]) -> None:
        self._timers = timers
        self._now = now
        self._lags = deque[float](maxlen=LAG_KEPT)

    def begin(self) -> None:
        """Look every `LAG_EVERY_S` seconds, until the timers stop."""
        due_at = self._now() + LAG_EVERY_S
        self._timers.at(due_at, lambda: self._look(due_at))

    def _look(self, due_at: float) -> None:
        self._lags.append(max(0.0, self._now() - due_at))
        self.begin()

    def health(self) -> LoopHealth:
        """Return the lag of the last look, and the most in a minute."""
        lags = self._lags
        return LoopHealth(lag_s=lags[-1] if lags else 0.0, lag_s_max=max(lags, default=0.0))
