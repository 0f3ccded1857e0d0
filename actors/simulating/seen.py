"""What a record shows of the world: attempts as they were made, and calls as they would end in fair
weather."""

from typing import Literal

from msgspec import Struct

from ...supervisor.errors import ErrorClass, MayHaveExecuted
from ...supervisor.failure import MODEL_TRAITS, Traits

Weather = Literal["up", "down", "limited"]
"""What an attempt says about the other side: it answered, it did not, it had too much to do."""

WEATHER: dict[ErrorClass, Weather] = {
    ErrorClass.TRANSIENT: "down",
    ErrorClass.IN_DOUBT_TIMEOUT: "down",
    ErrorClass.RATE_LIMITED: "limited",
}
"""Failures that pass, and say nothing about the call: another time would have done."""

CORRECTED = frozenset({ErrorClass.INVALID_ARGUMENT, ErrorClass.CONTEXT_OVERFLOW})
"""Failures that the model amends its call for, or that its conversation is pruned for."""


class Seen(Struct, frozen=True, gc=False):
    """One attempt that came to an end.

    Attributes:
        subject: the tool, or ``model NAME``.
        begin: when it was made, in seconds of the wall clock.
        took_s: how long it took.
        error_class, executed, retry_after: of its failure; None, "" and None where it succeeded.
    """

    subject: str
    begin: float
    took_s: float
    weather: Weather
    error_class: ErrorClass | None = None
    executed: MayHaveExecuted = "no"
    retry_after: float | None = None


class Fault(Struct, frozen=True, gc=False):
    """How a call ends whatever the weather: its arguments are wrong, a rule refuses it, ...

    ``ran``: its body did.
    """

    error_class: ErrorClass
    executed: MayHaveExecuted = "no"
    ran: bool = True


class Asked(Struct, frozen=True, gc=False):
    """One call that a session made, or one request to its model.

    Attributes:
        subject: the tool, or ``model NAME``.
        n: the message it stands in; calls of one message share it.
        fault: how it ends; None: it succeeds.
        took_s: what an attempt took that was not hindered; None where that is not known.
        beside: it ran side by side with the one before it.
    """

    subject: str
    n: int
    is_model: bool = False
    fault: Fault | None = None
    took_s: float | None = None
    tokens: int = 0
    beside: bool = False


class Told(Struct, frozen=True, gc=False):
    """What the record tells of a tool or a model: its upstream, None where it has none, and marks."""

    upstream: str | None
    traits: Traits
    writes: bool


def model_told(name: str) -> Told:
    """Return what is known of a model: it is its own upstream."""
    return Told(name, MODEL_TRAITS, writes=False)


End = Literal["completed", "open", "handed_over", "stopped"]
"""How a trace ends. ``open``: a failure cut it off, or the record ends; what would have followed is not known.
``handed_over`` and ``stopped``: no failure of a call was the reason, so no policy for failures helps."""


class Trace(Struct, frozen=True, kw_only=True):
    """A session as it is recorded, up to its first end.

    Attributes:
        at: when it was started, in seconds of the wall clock.
        later: calls after that end, where a person or a message made it go on to completion.
        duration_s: seconds until the end; None while there is none.
        calls, wasted, in_doubt: attempts made, those among them of calls that failed all the same behind
            the first, and writes whose effect was not known at the end.
        lost: those of the last that no failure left in doubt, but the death of a process.
    """

    session_id: str
    agent: str
    at: float
    steps: tuple[Asked, ...]
    end: End
    reason: str = ""
    limits: dict[str, float] = {}
    later: tuple[Asked, ...] = ()
    duration_s: float | None = None
    outcome: str = "unfinished"
    tokens: int = 0
    calls: int = 0
    wasted: int = 0
    in_doubt: int = 0
    lost: int = 0
