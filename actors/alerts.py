"""Which alerts are told: one for each cause in a while, however many sessions meet it."""

from collections.abc import Callable

from ..supervisor.clock import Clock

CAUSES_MAX = 1_000
"""Causes remembered; beyond that, those told longest ago are forgotten first."""


class Alerts:
    """Alerts of one runtime.

    Args:
        keep: given the text of each alert that is told, and the session it is about.
    """

    def __init__(self, clock: Clock, keep: Callable[[str, str], None]) -> None:
        self._clock = clock
        self._keep = keep
        self._told_at: dict[str, float] = {}

    def due(self, cause: str, text: str, every_s: float, session_id: str = "") -> bool:
        """Tell whether an alert about this cause is to be told now; it counts as told then.

        Whoever stores what has led to it does that afterwards: then the alert is durable no later.
        """
        now = self._clock.now()
        told_at = self._told_at.get(cause)
        if told_at is not None and now - told_at < every_s:
            return False
        self._told_at.pop(cause, None)
        while len(self._told_at) >= CAUSES_MAX:
            del self._told_at[next(iter(self._told_at))]
        self._told_at[cause] = now
        self._keep(text, session_id)
        return True
