"""Where events go: to the subscribers of their session, and to the log.

Emitting is synchronous and cheap; a full subscriber is skipped, never waited for.
"""

import logging
import sys
from collections import deque
from collections.abc import AsyncGenerator

import anyio
import msgspec

from ..supervisor.logs import structured
from .end_events import ENDS
from .events import Event, EventsDropped

RECENT_MAX = 64
"""Events of a session kept for a subscriber that comes a little late."""

BUFFER_MAX = 10_000
"""Events that wait for one slow subscriber before it loses some."""

_HELD_MAX = RECENT_MAX + 16
"""Events held before those that are too old go, all at once."""

_plain = logging.getLogger("ukemi")
_enabled = _plain.isEnabledFor
_modules = sys.modules
_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


class Subscriber:
    """One reader of a session's events."""

    def __init__(self) -> None:
        self._waiting: deque[Event] = deque()
        self._dropped = 0
        self._woken = anyio.Event()
        self._closed = False

    def put(self, event: Event) -> None:
        """Hand an event over, or count it as lost; how the session ended is never lost."""
        last = isinstance(event, ENDS)
        if len(self._waiting) >= BUFFER_MAX and not last:
            self._dropped += 1
            return
        if self._dropped:
            lost = EventsDropped(session_id=event.session_id, count=self._dropped)
            self._waiting.append(lost)
            self._dropped = 0
        self._waiting.append(event)
        self._woken.set()

    def close(self) -> None:
        """No more events will come."""
        self._closed = True
        self._woken.set()

    async def next(self) -> Event | None:
        """Wait for the next event; None once no more will come."""
        while not self._waiting:
            if self._closed:
                return None
            self._woken = anyio.Event()
            await self._woken.wait()
        return self._waiting.popleft()


class Channel:
    """The events of one session."""

    __slots__ = ("_closed", "_recent", "_subscribers")

    def __init__(self) -> None:
        self._recent: list[Event] = []  # a deque would take its whole kilobyte at once
        self._subscribers: tuple[Subscriber, ...] = ()
        self._closed = False

    @property
    def watched(self) -> bool:
        """Whether anybody listens."""
        return bool(self._subscribers)

    def emit(self, event: Event) -> None:
        """Give an event to everybody who listens, and to the log."""
        recent = self._recent
        if len(recent) >= _HELD_MAX:
            del recent[:-RECENT_MAX]
        recent.append(event)
        for subscriber in self._subscribers:
            subscriber.put(event)
        # What `structured` asks first, here without a call: on the way of every event.
        if "structlog" in _modules or _enabled(_LEVELS[event.level]):
            log_event(event)

    def close(self) -> None:
        """No more events will come: the session is driven elsewhere, or the runtime is gone."""
        self._closed = True
        for subscriber in self._subscribers:
            subscriber.close()

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield recent events, then those that come, up to the session's end."""
        subscriber = Subscriber()
        for recent in _since_its_start(self._recent)[-RECENT_MAX:]:
            subscriber.put(recent)
        if self._closed:
            subscriber.close()
        self._subscribers = (*self._subscribers, subscriber)
        try:
            while (event := await subscriber.next()) is not None:
                yield event
                if isinstance(event, ENDS):
                    return
        finally:
            self._subscribers = tuple(each for each in self._subscribers if each is not subscriber)


def _since_its_start(recent: list[Event]) -> list[Event]:
    """Return the events of the session's last turn: those before it end with the end of another."""
    before = [at for at, event in enumerate(recent[:-1], 1) if isinstance(event, ENDS)]
    return recent[before[-1] :] if before else recent


def log_event(event: Event) -> None:
    """Log an event: its fields to structlog where that is configured, else as a line to `logging`."""
    level = event.level
    if (structlog := structured()) is not None:
        fields = msgspec.structs.asdict(event)
        getattr(structlog.get_logger("ukemi"), level)(event.event, **fields)
    elif _plain.isEnabledFor(_LEVELS[level]):
        _plain.log(_LEVELS[level], "%s %s", event.event, event)
