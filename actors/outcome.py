"""How a session ends: a closed union, and the dossier a handover carries."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..supervisor.decide import Reason


class DoubtfulCall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call whose effect is unknown: where it is in the journal and what was asked for."""

    n: int
    index: int
    tool: str
    arguments: str
    key: str | None = None
    still_running: bool = False


class Dossier(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything a person needs to decide. The first five are always there.

    Attributes:
        failed_step: what failed, in words.
        input: what it was called with.
        upstream_error: what the other side said, cleaned of secrets.
        tried: recovery already tried, one line each.
        options: what can be done now.
    """

    failed_step: str
    input: str
    upstream_error: str
    tried: tuple[str, ...]
    options: tuple[str, ...]
    in_doubt: tuple[DoubtfulCall, ...] = ()
    effects: tuple[str, ...] = ()
    budget: dict[str, str] = {}
    unsaved: str | None = None


class Completed(Struct, frozen=True, tag_field="outcome", tag="completed"):
    """The agent answered, and nothing speaks against the answer."""

    answer: str


class HandedOver(Struct, frozen=True, tag_field="outcome", tag="handed_over"):
    """A person is needed; ``reason`` says why, the dossier what for."""

    reason: Reason
    dossier: Dossier
    detail: str = ""


class Stopped(Struct, frozen=True, tag_field="outcome", tag="stopped"):
    """Cancelled or denied on purpose; a message of the user reopens the session."""

    reason: Literal["cancelled", "denied"]


Outcome = Completed | HandedOver | Stopped


def outcome_to_data(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as plain data, for the journal and for ``--json``."""
    data: dict[str, Any] = msgspec.to_builtins(outcome)
    return data


def outcome_from_data(data: dict[str, Any]) -> Outcome:
    """Read an outcome back."""
    outcome: Outcome = msgspec.convert(data, Outcome)
    return outcome
