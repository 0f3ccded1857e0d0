"""What is said: the session's beginning, messages, and what the model sees of them later."""

from typing import Literal

from msgspec import Struct

from .words import Entry, Usage

OnFailure = Literal["undo", "freeze"]
"""What becomes of a session's effects when it ends other than completed, before a person looks."""


class ToolCall(Struct, frozen=True, omit_defaults=True, gc=False):
    """A call the model asked for.

    ``arguments`` is always the text of one valid JSON object. Where the model's own text was not
    (cut off, malformed), it is ``{}`` and ``problem`` says why the call must be refused.
    """

    id: str
    name: str
    arguments: str = "{}"
    problem: str | None = None


class Opened(Entry, frozen=True, tag="open"):
    """The session exists. ``limits`` is its own budget as plain data, None values left out.

    ``on_failure`` says what becomes of its effects where it ends other than completed.
    ``snapshots``: its working directory is kept before and after what may write there.
    ``policy``: the file of the policy in force, its whole path; empty where it came from none.
    """

    agent: str
    at_ms: int
    working_directory: str = ""
    limits: dict[str, float] = {}  # noqa: RUF012 - msgspec makes a new one for each
    parent: str | None = None
    group: str | None = None
    tenant: str | None = None
    on_failure: OnFailure = "undo"
    snapshots: bool = False
    policy: str = ""


class Said(Entry, frozen=True, tag="user"):
    """A message of the user."""

    n: int
    text: str


class Noted(Entry, frozen=True, tag="note"):
    """Something the runtime tells the model: a budget running out, a late outcome, an answer."""

    n: int
    text: str
    about: str = ""


class Answered(Entry, frozen=True, tag="model"):
    """A message of the model.

    ``raw`` holds the provider's own blocks (JSON) in the form named by ``raw_format``, so that they
    go back unchanged. ``ledger``: the runtime that stored this writes an intent before it runs a
    write, so a call without one did not execute. Histories from elsewhere do not promise that.
    ``held_s``: seconds for which the provider was not asked, since others could not reach it.
    """

    n: int
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    usage: Usage = Usage()
    model: str = ""
    raw: bytes | None = None
    raw_format: str = ""
    ledger: bool = False
    held_s: float = 0.0


class Restarted(Entry, frozen=True, tag="restart"):
    """The trajectory began again at a checkpoint: the model sees the conversation up to there, what
    a person or the runtime said since, and ``hint``. The branch that was left stays in the journal;
    what its calls did stays done."""

    n: int
    counter: int
    hint: str


class Pruned(Entry, frozen=True, tag="prune"):
    """The model sees less of the conversation from here on; the originals stay in the journal.

    Positions are those of the messages the model saw before. Of the first ``cut``, those at ``kept``
    stay word for word, and ``summary`` stands for the others. Of the rest, results at ``shortened``
    are shown to so many characters. ``by``: who wrote the summary, ``digest`` (the runtime, from its
    records) or ``model``. ``why``: ``overflow``, where the model refused, ``limit``, where it would
    have, ``person`` on request. ``calls`` counts what is left out by now, for each tool: calls that
    succeeded, and others.
    """

    n: int
    cut: int
    kept: tuple[int, ...]
    summary: str
    by: str = "digest"
    why: str = "overflow"
    shortened: tuple[tuple[int, int], ...] = ()
    calls: dict[str, tuple[int, int]] = {}  # noqa: RUF012 - as above


class FellBack(Entry, frozen=True, tag="fallback"):
    """Another agent takes the task over, in a sub-session named after ``n``; ``why`` the plan failed."""

    n: int
    agent: str
    why: str = ""


class Progressed(Entry, frozen=True, tag="progress"):
    """What the agent's own ``progress`` function returned has changed; only its digest is kept."""

    digest: str
