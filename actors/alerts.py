"""Which alerts are told: one for each cause in a while, however many sessions meet it."""

from collections.abc import Callable

from ..supervisor.clock import Clock

CAUSES_MAX = 1_000
"""Causes remembered; beyond that, those told longest ago are forgotten first."""


class Alerts:
    """Alerts of one runtime.

    Args:
        keep: given the text of each alert that is told, and the session it is about.
        notify: the same for what is no alert, and is told to the application's hook alone.
    """

    def __init__(
        self, clock: Clock, keep: Callable[[str, str], None], notify: Callable[[str, str], None]
    ) -> None:
        self._clock = clock
        self._keep = keep
        self._notify = notify
        self._told_at: dict[str, float] = {}

    def due(self, cause: str, text: str, every_s: float, session_id: str = "") -> bool:
        """Tell whether an alert about this cause is to be told now; it counts as told then.

        Whoever stores what has led to it does that afterwards: then the alert is durable no later.
        """
        is_due = self._is_due(cause, every_s)
        if is_due:
            self._keep(text, session_id)
        return is_due

    def notify(self, cause: str, text: str, every_s: float, session_id: str) -> None:
        """Tell the hook of how a session has ended, once for each cause in a while."""
        if self._is_due(f"end {cause}", every_s):
            self._notify(text, session_id)

    def _is_due(self, cause: str, every_s: float) -> bool:
        now = self._clock.now()
        told_at = self._told_at.get(cause)
        if told_at is not None and now - told_at < every_s:
            return False
        self._told_at.pop(cause, None)
        while len(self._told_at) >= CAUSES_MAX:
            del self._told_at[next(iter(self._told_at))]
        self._told_at[cause] = now
        return True
