"""The alerts of one runtime: the newest are kept, and whoever is to be told is told."""

from ..supervisor.clock import Clock
from .bus import log_event
from .events import AlertRaised
from .teller import Teller

KEPT_MAX = 100
"""Alerts that are kept to be looked at."""


class AlertLog:
    """What somebody should look at.

    Attributes:
        newest: in order, at most `KEPT_MAX`.
        teller: tells the application, where it wants to be told.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.newest: list[str] = []
        self.teller: Teller | None = None

    def keep(self, text: str, session_id: str = "") -> None:
        """Keep an alert that a session tells itself."""
        self.newest.append(text)
        del self.newest[:-KEPT_MAX]
        if self.teller is not None:
            self.teller.tell(text, session_id)

    def notify(self, text: str, session_id: str) -> None:
        """Have the application told of a session that needs a person, each time anew."""
        if self.teller is not None:
            self.teller.tell(text, session_id, again=True)

    def alert(self, text: str) -> None:
        """Raise an alert that is about no session."""
        self.keep(text)
        log_event(AlertRaised(session_id="", at_ms=self._clock.wall_ms(), text=text))
