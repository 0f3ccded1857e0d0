"""What a session and a call have been through, while they are played."""

from collections import defaultdict

from msgspec import Struct

from ...supervisor.errors import ErrorClass
from ...supervisor.failure import Traits
from ...supervisor.policy import Policy
from .chance import drawn, mixed
from .learning import Subject
from .seen import Asked, Trace
from .worlds import NEVER

_ROLLS = 16
"""Numbers below this name other draws of the same attempt."""


ROLLS_MAX = 2000
"""Decisions and waits of one call, after which it is held never to end: a policy without limits meets what
never comes back."""

UNENDING = "unending"
"""The reason of a session with such a call: the runtime would still be waiting."""


class Fared(Struct, frozen=True, gc=False):
    """How one session fared.

    Attributes:
        outcome: ``completed``, ``stopped``, the reason for which it was handed over, or ``unending``.
        seconds: until then.
        calls: attempts of tools and requests to the model.
        wasted: attempts behind the first of calls that failed all the same.
        in_doubt: writes whose effect nobody knows.
        unsure: its way rests on what the record does not tell.
    """

    outcome: str
    seconds: float
    calls: int
    tokens: int
    retries: int
    wasted: int
    in_doubt: int
    unsure: bool


class PlayedSession:
    """What a session that is played has spent and been told."""

    def __init__(self, trace: Trace, key: int) -> None:
        self.trace = trace
        self.key = key
        self.limits = trace.limits
        self.deadline = trace.at + trace.limits.get("seconds", NEVER)
        self.spent: dict[str, int] = defaultdict(int)
        self.corrections: dict[str, tuple[int, int]] = {}
        self.conclusions: dict[ErrorClass, int] = defaultdict(int)
        self.prunes = 0
        self.stepped_n = -1
        self.over: str | None = None
        self.wasted = 0
        self.in_doubt = 0
        self.series: dict[str, int] = defaultdict(int)
        self.unsure = False

    def books(self, limit: str, amount: int = 1) -> bool:
        """Book some of a limit; if it does not reach, the session is over."""
        used = self.spent[limit] + amount
        most = self.limits.get(limit)
        if most is not None and used > most:
            self.hand_over("budget")
            return False
        self.spent[limit] = used
        return True

    def hand_over(self, reason: str) -> None:
        """End it; the first reason stays."""
        if self.over is None:
            self.over = reason

    def corrections_before(self, subject: str, n: int) -> int:
        rounds, last = self.corrections.get(subject, (0, -1))
        return rounds - 1 if last == n else rounds

    def corrected(self, subject: str, n: int) -> None:
        """Count rounds in a row, as the session's state does."""
        rounds, last = self.corrections.get(subject, (0, -1))
        self.corrections[subject] = (rounds + (last != n), n)
        self.series[subject] += 1

    def succeeded(self, subject: str, n: int) -> None:
        rounds, last = self.corrections.get(subject, (0, -1))
        if not rounds:
            return
        if last == n:
            self.corrections[subject] = (1, last)
        else:
            del self.corrections[subject]
        self.series[subject] = 0


class PlayedCall:
    """One call on its way: its attempts so far."""

    __slots__ = (
        "at",
        "attempt",
        "doubtful",
        "first_at",
        "key",
        "policy",
        "rolls",
        "session",
        "step",
        "subject",
        "traits",
    )

    def __init__(
        self,
        session: PlayedSession,
        at: int,
        step: Asked,
        subject: Subject,
        policy: Policy,
        now: float,
    ) -> None:
        self.session = session
        self.at = at
        self.step = step
        self.subject = subject
        self.policy = policy
        self.traits: Traits = subject.told.traits
        self.first_at = now
        self.key = mixed(session.key, at)
        self.attempt = 1
        self.rolls = _ROLLS
        self.doubtful = False

    @property
    def unending(self) -> bool:
        return self.rolls > ROLLS_MAX

    def roll(self) -> float:
        """Draw a number for the next decision; the same ones in the same order under each policy."""
        self.rolls += 1
        return drawn(self.key, self.rolls)
