"""One failure as data: what `classify` answers and everything above decides by."""

from typing import Literal

from msgspec import Struct

from .errors import ErrorClass, MayHaveExecuted

Stage = Literal["args", "call", "response"]


class Failure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What went wrong, once, at the tool or model boundary; text only, no exception is kept.

    ``retry_after`` is in seconds from when the error was received; ``evidence`` names what the
    class was concluded from, strongest first.
    """

    error_class: ErrorClass
    message: str = ""
    type_name: str = ""
    retry_after: float | None = None
    fields: tuple[str, ...] = ()
    may_have_executed: MayHaveExecuted = "maybe"
    evidence: tuple[str, ...] = ()
    traceback: str = ""


class Traits(Struct, frozen=True, kw_only=True):
    """The few marks of a call that the decision needs; the supervisor never sees a tool."""

    safe_to_retry: bool = False
    accepts_key: bool = False
    undone: bool = False
    """What it did is undone where its session does not complete: so whether it did it matters."""
    is_model: bool = False
    """The call is a request to the session's model: what is too large is the conversation."""

    @property
    def repeatable(self) -> bool:
        """Whether repeating the call can do no harm, even if the first attempt took effect."""
        return self.safe_to_retry or self.accepts_key

    @property
    def leaves_doubt(self) -> bool:
        """Whether somebody has to know if an attempt that is not repeated took effect."""
        return not self.safe_to_retry or self.undone


MODEL_TRAITS = Traits(safe_to_retry=True, is_model=True)
"""A model request changes nothing outside, so it is as repeatable as a read."""
