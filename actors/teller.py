"""Alerts on their way to a hook of the application: stored before they are told, told at least once.

Each is kept in the store until the hook has taken it, so a hook that fails, and a process that dies,
delay it only. The hook is called here and nowhere else: however slow it is, no session waits for it.
"""

from collections.abc import Awaitable, Callable
from functools import partial

import anyio
from msgspec import Struct

from ..stores.base import (
    WARNINGS_MAX,
    Done,
    Store,
    StoreError,
    Warn,
    Warned,
    WarningQuery,
    Written,
)
from ..stores.liveness import owner_is_dead
from ..supervisor import Context
from ..supervisor.clock import Clock
from ..supervisor.logs import log
from .checkpoint import Asked, CheckpointActor
from .events import AlertRaised
from .handover.wording import encodable
from .secrets import Mask

OnAlert = Callable[[AlertRaised], Awaitable[object]]
"""Told of each alert; what it raises means that it was not told."""

HOOK_S_MAX = 30.0
"""Seconds that one call of the hook may take; then it is cancelled, and counts as failed."""

ATTEMPTS_MAX = 10
"""Calls of the hook for one alert in the life of a runtime; the next runtime tries again."""

SAME_S = 60.0
"""Seconds within which the same text is told once: a store that fails says so at each attempt."""

LOOK_S = 10.0
"""Seconds between two looks for alerts that processes left behind which are gone."""

_FOREVER_MS = 1 << 60
_DELAY_S_FIRST = 1.0
_DELAY_S_MAX = 60.0


class _Waiting(Struct):
    """An alert to be told: how often that was tried in vain, and when it is tried next."""

    warn: Warn
    stored: bool
    attempts: int = 0
    due_at: float = 0.0


def delay_s(attempts: int) -> float:
    """Return how long is waited after so many failed attempts."""
    return min(_DELAY_S_FIRST * 2.0 ** (attempts - 1), _DELAY_S_MAX)


class Teller:
    """Tells the alerts of one runtime, one after the other, and those of runtimes that are gone.

    Args:
        hook: the application's.
        owner: names this runtime, as it owns its sessions.
    """

    def __init__(
        self,
        hook: OnAlert,
        store: Store,
        checkpoint: CheckpointActor,
        clock: Clock,
        owner: str,
        mask: Mask,
    ) -> None:
        self._hook = hook
        self._store = store
        self._checkpoint = checkpoint
        self._clock = clock
        self._owner = owner
        self._mask = mask
        self._number = 0
        self._said_at: dict[str, float] = {}
        self._storing = 0
        self._waiting: dict[str, _Waiting] = {}
        self._settled: set[str] = set()
        """Alerts that the store may still have, and that are told here no more."""
        self._stirred = anyio.Event()
        self._changed = anyio.Event()

    # ------------------------------------------------------------ given

    def tell(self, text: str, session_id: str = "", *, again: bool = False) -> None:
        """Have an alert told; it is on its way to the store when this returns.

        Args:
            again: also where the same was told a moment ago.
        """
        if not again and not self._is_new(text):
            return
        self._number += 1
        warn = Warn(
            name=f"{self._owner}.{self._number}",
            owner=self._owner,
            text=encodable(self._mask(text)),
            at_ms=self._clock.wall_ms(),
            session_id=session_id,
        )
        self._storing += 1
        self._checkpoint.submit(Asked(warn, partial(self._stored, warn)))

    def _is_new(self, text: str) -> bool:
        now = self._clock.now()
        said_at = self._said_at.pop(text, None)
        if said_at is not None and now - said_at < SAME_S:
            self._said_at[text] = said_at
            return False
        self._said_at[text] = now
        while len(self._said_at) > WARNINGS_MAX:
            del self._said_at[next(iter(self._said_at))]
        return True

    def _stored(self, warn: Warn, written: Written) -> None:
        """It is durable, or the store fails: then it is told from memory all the same."""
        self._stored_one()
        self._add(_Waiting(warn, isinstance(written, Done)))

    def _stored_one(self) -> None:
        self._storing -= 1
        self._changed.set()

    def _add(self, waiting: _Waiting) -> None:
        self._waiting[waiting.warn.name] = waiting
        while len(self._waiting) > WARNINGS_MAX:
            del self._waiting[next(iter(self._waiting))]
        self._stirred.set()

    # ------------------------------------------------------------ told

    async def run(self, ctx: Context[object]) -> None:
        """Tell what is there, until the runtime stops."""
        look_at = self._clock.now()
        while True:
            self._stirred = anyio.Event()
            if self._clock.now() >= look_at:
                await self._look()
                look_at = self._clock.now() + LOOK_S
            for waiting in self._due():
                await self._attempt(waiting)
            await self._wait(look_at)

    async def _wait(self, look_at: float) -> None:
        """Wait for an alert, for the next attempt, or for the time to look."""
        times = [look_at, *(each.due_at for each in self._waiting.values())]
        with anyio.move_on_after(max(0.0, min(times) - self._clock.now())):
            await self._stirred.wait()

    def _due(self) -> list[_Waiting]:
        now = self._clock.now()
        return [each for each in self._waiting.values() if each.due_at <= now]

    async def _look(self) -> None:
        """Take up what this runtime's predecessors have left behind."""
        try:
            found = await self._left_behind()
        except StoreError:
            return  # looked for again
        for warn in found:
            if warn.name not in self._settled | self._waiting.keys():
                self._add(_Waiting(warn, stored=True))

    async def _left_behind(self) -> list[Warn]:
        """Return the alerts of runtimes that are gone: certainly, or since their lease has ended."""
        every = WarningQuery(owner=self._owner, now_ms=_FOREVER_MS)
        others = [each for each in await self._store.warnings(every) if each.owner != self._owner]
        if not others:
            return []
        dead = {owner for owner in {each.owner for each in others} if owner_is_dead(owner)}
        now = WarningQuery(owner=self._owner, now_ms=self._clock.wall_ms())
        free = {each.name for each in await self._store.warnings(now)}
        return [each for each in others if each.owner in dead or each.name in free]

    async def _attempt(self, waiting: _Waiting) -> None:
        warn = waiting.warn
        event = AlertRaised(
            session_id=warn.session_id, at_ms=warn.at_ms, text=warn.text, name=warn.name
        )
        try:
            with anyio.fail_after(HOOK_S_MAX):
                await self._hook(event)
        except Exception as error:  # noqa: BLE001 - whatever the application's hook raises, it was not told
            self._failed(waiting, error)
        else:
            self._told(waiting)
        self._changed.set()

    def _told(self, waiting: _Waiting) -> None:
        name = waiting.warn.name
        self._waiting.pop(name, None)
        if waiting.stored:
            self._settled.add(name)
            self._storing += 1
            self._checkpoint.submit(Asked(Warned(name=name), partial(self._forgotten, name)))

    def _forgotten(self, name: str, written: Written) -> None:
        self._stored_one()
        if isinstance(written, Done):
            self._settled.discard(name)

    def _failed(self, waiting: _Waiting, error: Exception) -> None:
        """Try again later. It is only logged: an alert about this would go the same way."""
        warn, now = waiting.warn, self._clock.now()
        waiting.attempts += 1
        told = encodable(self._mask(f"{type(error).__name__}: {error}"))
        log("ukemi", "warning", "alert.untold", text=warn.text, error=told)
        waiting.due_at = now + delay_s(waiting.attempts)
        if waiting.attempts >= ATTEMPTS_MAX:
            self._waiting.pop(warn.name, None)
            self._settled.add(warn.name)

    async def rest(self, s_max: float) -> None:
        """Return once each alert was tried and the store has what is to be known of it; at the latest
        after so many seconds."""
        with anyio.move_on_after(s_max):
            while self._storing or any(not each.attempts for each in self._waiting.values()):
                self._changed = anyio.Event()
                await self._changed.wait()
