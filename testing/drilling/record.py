"""What is seen of one run: plain data, so that it crosses from the process it ran in."""

from typing import Literal

from msgspec import Struct

BodyKind = Literal["call", "undo", "probe"]

How = Literal["running", "returned", "raised", "cancelled", "killed"]


class Call(Struct, frozen=True, order=True):
    """Names a call: its session, the number of its message, its index there."""

    session: str
    n: int
    index: int


class BodyRun(Struct, kw_only=True):
    """One time that a body was entered: of a tool, its probe, or its compensation.

    ``said`` is what it returned or raised, ``result`` what it had come to, also where that was not told,
    ``planned``: a fault was planned for it. ``answer`` is what a
    probe told, ``effects_then`` how many effects of the call stood when it did. ``swallowed`` says how it
    answered a cancellation that it should have let through. ``asleep``: it waited for something that
    never came, on purpose of the drill. Seconds are of virtual time.
    """

    kind: BodyKind
    tool: str
    call: Call
    attempt: int
    began_s: float
    elapsed_s: float = 0.0
    how: How = "running"
    said: str = ""
    result: str = ""
    planned: bool = False
    answer: str = ""
    effects_then: int = 0
    swallowed: str = ""
    asleep: bool = False
    visited: bool = False


class Change(Struct, frozen=True):
    """What a call did to the world: ``by`` the body of which kind, 1, -1, or -2 for one undone too many."""

    call: Call
    tool: str
    by: BodyKind
    change: int


class Standing(Struct, frozen=True, kw_only=True):
    """How a call stands in the session's own books; ``undo`` is what became of its undoing."""

    call: Call
    tool: str
    state: str
    arguments: str = ""
    write: bool = False
    attempts: int = 1
    content: str = ""
    undo: str = ""
    undo_content: str = ""


class Leak(Struct, frozen=True, order=True):
    """A planted secret that turned up somewhere: ``raw`` where only the tool's own error or result is meant."""

    secret: str
    where: str
    raw: bool = False


class Ended(Struct, frozen=True, kw_only=True):
    """How the session ended: ``completed``, ``handed_over``, ``stopped`` or ``refused`` (never started)."""

    outcome: str
    reason: str = ""
    detail: str = ""
    answer: str = ""
    frozen: bool = False
    doubts: int = 0


class Request(Struct, frozen=True):
    """A call that a person was asked about, and what was answered."""

    call: Call
    verdict: str


class Seen(Struct, kw_only=True):
    """One run, whole.

    ``struck`` counts how often the planned fault hit; ``lives`` the processes it took. ``restarts`` says why
    the session's own actor died. ``error`` is what
    the runtime itself raised. ``lost`` names checkpoints that had been acknowledged and were gone.
    ``files`` are paths of the workspace that differ at the end. ``replies`` are the model's answers, as
    JSON, where they were to be recorded.
    """

    ended: Ended | None = None
    runs: list[BodyRun] = []
    changes: list[Change] = []
    standings: list[Standing] = []
    leaks: list[Leak] = []
    requests: list[Request] = []
    stuck: list[str] = []
    restarts: list[str] = []
    lost: list[str] = []
    files: list[str] = []
    replies: list[str] = []
    struck: int = 0
    lives: int = 1
    model_calls: int = 0
    store_calls: int = 0
    elapsed_s: float = 0.0
    error: str = ""
