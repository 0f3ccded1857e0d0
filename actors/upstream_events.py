"""How upstreams fare, as events: calls that are held back, and breakers."""

from .event_base import BaseEvent


class UpstreamHeld(BaseEvent, frozen=True, tag="upstream.held"):
    """A call or request waits ``wait_s`` seconds before it may go out: its upstream is spared."""

    subject: str
    upstream: str
    wait_s: float


class BreakerOpened(BaseEvent, frozen=True, tag="breaker.opened"):
    """An upstream failed too often: calls to it are held back, those of all sessions."""

    upstream: str
    level = "warning"


class BreakerHalfOpen(BaseEvent, frozen=True, tag="breaker.half_open"):
    """One call tries whether the upstream answers again."""

    upstream: str
    level = "info"


class BreakerClosed(BaseEvent, frozen=True, tag="breaker.closed"):
    """The upstream answers again: calls go through."""

    upstream: str
    level = "info"
