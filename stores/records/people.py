"""People: what they are asked, and what they decide."""

from typing import Literal

from ..decisions import Decision
from .words import Entry


class Decided(Entry, frozen=True, tag="decided"):
    """A person's decision has reached the session; the entries behind it are what it did.

    ``about`` names the question and how often it was asked: ``call 2.0#1``. ``by`` is who decided,
    ``at_ms`` when. ``problem`` says why it changed nothing; the question can be decided again then.
    ``decision`` is None where its bytes could not be read.
    """

    about: str
    decision: Decision | None
    at_ms: int
    by: str = ""
    problem: str = ""


class Requested(Entry, frozen=True, tag="request"):
    """A person is asked whether a call may run; durable before anybody is told.

    ``digest`` is that of the canonical arguments, to which the answer is bound. ``number``: how often
    this call was asked about. ``arguments`` are as people are shown them: cleaned, and cut short where
    they are long. ``rule`` is the line of the policy that asks. ``expires_at_ms``: from when on nobody
    can approve it, on the wall clock. ``wave`` holds the indexes of the calls of this message that run
    side by side with it.
    """

    n: int
    index: int
    tool: str
    digest: str
    arguments: str
    at_ms: int
    expires_at_ms: int | None = None
    number: int = 1
    category: str = ""
    risk: str = ""
    rule: str = ""
    wave: tuple[int, ...] = ()


class Judged(Entry, frozen=True, tag="judge"):
    """A request for approval is decided, or nobody decided it in time.

    Where it is approved, ``digest`` names what may run, and ``arguments`` is its text where a person
    has changed it. ``by`` is who decided, ``at_ms`` when, ``why`` a remark.
    """

    n: int
    index: int
    verdict: Literal["approved", "denied", "expired"]
    at_ms: int
    number: int = 1
    digest: str = ""
    arguments: str | None = None
    by: str = ""
    why: str = ""
