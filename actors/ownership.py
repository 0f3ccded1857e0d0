"""This process's hold on its sessions: one lease, renewed for all of them together.

An owner that cannot be sure of its lease starts nothing: no model request, no tool. Durations are
taken from the monotonic clock, from before each renewal was sent; the wall clock only tells other
processes when they may take over.
"""

import math

from ..stores.base import Renew
from ..supervisor.clock import Clock
from ..supervisor.errors import UsageError
from .checkpoint import CheckpointActor

LEASE_S = 10.0


def check_lease(lease_s: float) -> float:
    """Return the length of a lease in seconds.

    Raises:
        UsageError: it is no number of seconds above 0.
    """
    number = isinstance(lease_s, (int, float)) and not isinstance(lease_s, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not number or not 0 < lease_s < math.inf:
        raise UsageError(f"lease_s={lease_s!r} must be a number of seconds above 0")
    return float(lease_s)


class Ownership:
    """The lease of one runtime.

    Args:
        owner: unique name of this runtime among all that use the store.
        lease_s: seconds after the last renewal at which others may take its sessions over.
    """

    def __init__(
        self, owner: str, clock: Clock, checkpoint: CheckpointActor, lease_s: float = LEASE_S
    ) -> None:
        self.owner = owner
        self.lease_s = lease_s
        self._clock = clock
        self._checkpoint = checkpoint
        self.sure_until = float("-inf")
        """When the lease may have ended, on the monotonic clock."""
        self.lapses = 0
        """How often the lease had ended before it was renewed: then sessions may have been taken."""

    @property
    def sure(self) -> bool:
        """Whether the lease certainly still runs."""
        return self._clock.now() < self.sure_until

    async def renew(self) -> None:
        """Prolong the lease.

        Raises:
            StoreError: the store failed; the old lease runs on until its end.
        """
        asked_at = self._clock.now()
        until_ms = self._clock.wall_ms() + int(self.lease_s * 1000)
        await self._checkpoint.commit(Renew(owner=self.owner, lease_until_ms=until_ms))
        if self._clock.now() >= self.sure_until:
            self.lapses += 1
        self.sure_until = asked_at + self.lease_s
