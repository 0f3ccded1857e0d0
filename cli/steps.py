"""A session as the steps a person thinks in: what they are.

Each call stands below the message that asked for it, with its retries, its result and what came late.
"""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..actors.outcome import DoubtfulCall
from ..stores.records import CallState, Spent, Usage


class Retry(Struct, frozen=True):
    """An attempt that failed: what it was taken for, from what, and what followed.

    ``directive`` is ``retry`` where another followed after ``wait_s``; ``detail`` says why not.
    """

    number: int
    error_class: str
    wait_s: float
    elapsed_s: float
    message: str
    directive: str = "retry"
    detail: str = ""
    retry_after: float | None = None
    evidence: tuple[str, ...] = ()


class CallStep(Struct, kw_only=True):
    """One call. ``state`` is ``open`` where it has no result yet, ``running`` where it began."""

    n: int
    index: int
    tool: str
    arguments: str
    problem: str | None = None
    state: CallState | Literal["open", "running"] = "open"
    checkpoint: int | None = None
    attempts: int = 0
    elapsed_s: float = 0.0
    error_class: str | None = None
    content: str = ""
    blob: str | None = None
    replayed: bool = False
    still_running: bool = False
    key: str | None = None
    late: str | None = None
    settled: CallState | None = None
    undone: str | None = None
    approval: str | None = None
    staged: str | None = None
    retries: list[Retry] = []
    sub_session: "SessionTree | None" = None


class UserStep(Struct, frozen=True, tag_field="step", tag="user"):
    """A message of the user."""

    n: int
    text: str


class NoteStep(Struct, frozen=True, tag_field="step", tag="note"):
    """Something the runtime told the model."""

    n: int
    text: str
    about: str


class PruneStep(Struct, frozen=True, tag_field="step", tag="prune"):
    """From here on the model sees less: what for, by whom it was summed up, and the summary."""

    n: int
    why: str
    by: str
    summary: str
    shortened: int = 0


class RollbackStep(Struct, frozen=True, tag_field="step", tag="rollback"):
    """The session was rolled back here, or could not be; the model sees what is left from here on."""

    n: int
    mode: str
    to: int | None
    state: str
    text: str


class ModelStep(Struct, tag_field="step", tag="model"):
    """A message of the model; ``answered`` is False where its attempts failed so far."""

    n: int
    text: str = ""
    finish: str = ""
    usage: Usage = Usage()
    calls: list[CallStep] = []
    retries: list[Retry] = []
    answered: bool = True


class DecisionStep(Struct, frozen=True, tag_field="step", tag="decision"):
    """A person's decision has reached the session; ``problem`` says why it changed nothing."""

    about: str
    text: str
    by: str
    at_ms: int
    problem: str


class EndStep(Struct, frozen=True, tag_field="step", tag="end"):
    """The session ended here; a later message reopened it if more steps follow.

    ``frozen`` is why nothing was undone that would have been.
    """

    status: str
    outcome: dict[str, Any]
    frozen: str | None = None


Step = UserStep | NoteStep | DecisionStep | PruneStep | RollbackStep | ModelStep | EndStep


class SessionTree(Struct, kw_only=True):
    """A session as a tree of steps, with its budget and where it stands.

    ``unfinished``: it runs, by its status, and nobody drives it. ``driven_by``: who does, in words.
    """

    session_id: str
    agent: str
    status: str
    checkpoint: int
    title: str
    created_at_ms: int
    updated_at_ms: int
    working_directory: str
    parent: str | None
    owner: str | None
    unfinished: bool = False
    driven_by: str | None = None
    damaged: str | None
    limits: dict[str, float]
    spent: dict[str, float]
    steps: list[Step]
    in_doubt: list[DoubtfulCall]
    outcome: dict[str, Any] | None
    sub_sessions: "list[SessionTree]"


def spent_of(spent: Spent) -> dict[str, float]:
    """Return consumption by the names of the limits."""
    values: dict[str, float] = msgspec.structs.asdict(spent)
    return values
