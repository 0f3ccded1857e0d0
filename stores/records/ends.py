"""Rests and ends: waiting in the store, the audit of an answer, the outcome."""

from typing import Any, Literal

from msgspec import Struct

from .words import Entry, SessionStatus, Spent, Usage


class Parked(Entry, frozen=True, tag="parked"):
    """The session waits in the store alone, until this time on the wall clock.

    None: for a person, however long that takes.
    """

    due_at_ms: int | None
    spent: Spent = Spent()


class Woken(Entry, frozen=True, tag="woken"):
    """Waits that are due at ``due_at_ms`` or before have ended."""

    due_at_ms: int


class AuditFinding(Struct, frozen=True, omit_defaults=True, gc=False):
    """A claim of an answer that is not borne out.

    Attributes:
        kind: ``contradicted`` by the record; an ``undisclosed_substitute``: something else was used
            after a failure, and the answer does not say so; an ``unsupported_value``: a number or
            identifier that comes from nowhere; ``unverified``: nothing supports it.
        claim: the words of the answer.
        why: what the record says instead.
        calls: the calls it rests on, each with its tool and state.
    """

    kind: Literal["contradicted", "undisclosed_substitute", "unsupported_value", "unverified"]
    claim: str
    why: str
    calls: tuple[str, ...] = ()


class Audited(Entry, frozen=True, tag="audit"):
    """An answer was compared with what was executed, and does not agree with it.

    ``corrected``: the model was told what differs and may answer again; else a person is asked.
    """

    n: int
    findings: tuple[AuditFinding, ...]
    corrected: bool = True


class ClaimVerdict(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a judge says of one claim. ``call`` names the call it rests on; empty where none does."""

    claim: str
    verdict: Literal["supported", "contradicted", "unclear"]
    why: str = ""
    call: str = ""


class Assessed(Entry, frozen=True, tag="assess"):
    """A second model was asked about claims of an answer that nothing supports.

    ``digest`` identifies answer and calls, so that the same is not asked twice. ``problem`` says why
    there are no verdicts: it failed, was too slow, or the budget did not allow for it.
    """

    n: int
    digest: str
    verdicts: tuple[ClaimVerdict, ...] = ()
    model: str = ""
    usage: Usage = Usage()
    problem: str = ""


class Ended(Entry, frozen=True, tag="end"):
    """The session reached an outcome; a later message of the user reopens it.

    ``outcome`` is the encoded outcome as plain data, readable without any class.
    """

    status: SessionStatus
    outcome: dict[str, Any]
    spent: Spent = Spent()


class Booked(Entry, frozen=True, tag="spent"):
    """Consumption that rides along with no result, such as a failed model request."""

    spent: Spent
