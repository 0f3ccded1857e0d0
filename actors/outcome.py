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


EffectStanding = Literal[
    "kept",
    "frozen",
    "to be undone",
    "compensated",
    "rolled back",
    "not rolled back",
    "compensation failed",
    "compensation in doubt",
    "abandoned",
]
"""How an effect stands at a session's end. ``kept``: nothing was to be done about it."""

UndoneVerdict = Literal["nothing to undo", "all", "some", "none"]
"""How much of what a session did is undone. ``all`` leaves nothing in effect, not even what its tool
keeps; ``nothing to undo``: it is not known to have done anything but what its tools keep. Calls in
doubt do not count: whether they did something is a question of its own."""


class EffectEnd(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one effect of a session stands.

    ``detail`` is what its compensation returned, or its error, and ``attempts`` how often that was
    tried. ``may_have_run``: it failed without saying that it had no effect. ``by``: ``person`` where
    somebody settled it.
    """

    n: int
    index: int
    tool: str
    standing: EffectStanding
    arguments: str = ""
    detail: str = ""
    attempts: int = 0
    may_have_run: bool = False
    by: str = ""


class FileChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that a session has ``added``, ``changed`` or ``removed``; ``shared``: others wrote there too."""

    path: str
    change: str
    shared: bool = False


class Option(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something a person can do about a session.

    Attributes:
        name: the option of `resolve`; ``new_session`` and ``rollback`` have commands of their own.
        what: what it does, and what comes before it.
        command: the line to type; words in capitals are to be filled in.
        code: the same in code.
        call: which call it is about, by number and index; None: the session.
        needs: what has to be given with it.
    """

    name: str
    what: str
    command: str = ""
    code: str = ""
    call: tuple[int, int] | None = None
    needs: tuple[str, ...] = ()


class Dossier(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything a person needs to decide. The first five are always there.

    Attributes:
        failed_step: what failed, in words.
        input: what it was called with.
        upstream_error: what the other side said, cleaned of secrets.
        tried: recovery already tried, one line each.
        options: what can be done, as the session stood when it ended.
        questions: what is open for a person.
        findings: where the agent's answer and what was executed differ.
        effects: what the session did outside, and how each stands.
        undone: how much of that is undone.
        files: what the session changed in its working directory, where that is kept; ``files_more``
            counts those that are not listed.
        frozen: why nothing was undone that would have been.
        budget: each limit over the session as ``used of cap``.
        unsaved: what the store did not take, where it is the store that failed.
        file: where this dossier was written to, since the store did not take it.
    """

    failed_step: str
    input: str
    upstream_error: str
    tried: tuple[str, ...]
    options: tuple[Option, ...]
    questions: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    in_doubt: tuple[DoubtfulCall, ...] = ()
    effects: tuple[EffectEnd, ...] = ()
    undone: UndoneVerdict = "nothing to undo"
    files: tuple[FileChange, ...] = ()
    files_more: int = 0
    frozen: str | None = None
    budget: dict[str, str] = {}
    unsaved: str | None = None
    file: str | None = None


class Completed(
    Struct,
    frozen=True,
    tag_field="outcome",
    tag="completed",
    omit_defaults=True,
    repr_omit_defaults=True,
):
    """The agent answered, and nothing speaks against the answer.

    ``unverified`` are claims of the answer that nothing supports either, in its own words.
    """

    answer: str
    unverified: tuple[str, ...] = ()


class HandedOver(Struct, frozen=True, tag_field="outcome", tag="handed_over"):
    """A person is needed; ``reason`` says why, the dossier what for."""

    reason: Reason
    dossier: Dossier
    detail: str = ""


class Stopped(
    Struct,
    frozen=True,
    tag_field="outcome",
    tag="stopped",
    omit_defaults=True,
    repr_omit_defaults=True,
):
    """Cancelled, denied or rolled back on purpose, or imported so; a message of the user reopens the session.

    ``undone`` says how much of what the session did is undone.
    """

    reason: Literal["cancelled", "denied", "rolled_back", "imported"]
    undone: UndoneVerdict = "nothing to undo"


Outcome = Completed | HandedOver | Stopped


def outcome_to_data(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as plain data, for the journal and for ``--json``."""
    data: dict[str, Any] = msgspec.to_builtins(outcome)
    return data


def outcome_from_data(data: dict[str, Any]) -> Outcome:
    """Read an outcome back; options that an older version stored are sentences without a name."""
    dossier = data.get("dossier")
    if dossier is not None and any(isinstance(each, str) for each in dossier["options"]):
        options = [_option(each) for each in dossier["options"]]
        data = {**data, "dossier": {**dossier, "options": options}}
    outcome: Outcome = msgspec.convert(data, Outcome)
    return outcome


def _option(stored: Any) -> Any:
    return {"name": "", "what": stored} if isinstance(stored, str) else stored
