"""What a rollback would do, and what it has done, in data. Pure.

What becomes of each path, and of the effects outside that no snapshot can take back.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, get_args

from msgspec import Struct

from ...stores.records import (
    Allowed,
    Answered,
    JournalEntry,
    Judged,
    PathEnd,
    PathEnding,
    Resulted,
    RollbackMode,
    RolledBack,
    RollingBack,
    UndoStep,
)
from ...stores.workspace import Left, Plan, Report, path_text
from ...stores.workspace.plans import CONFLICTS
from ..ledger import CallId
from ..state import SessionState
from ..tooling.marks import Marks
from .windows import Since

MODES: tuple[RollbackMode, ...] = get_args(RollbackMode)
WITH_FILES = frozenset[RollbackMode](("full", "soft"))
WITH_CONVERSATION = frozenset[RollbackMode](("full", "context"))

PATHS_KEPT_MAX = 1_000
"""Paths of a rollback that its record names; the others are counted."""

ARGUMENTS_CHARS_MAX = 300
"""Characters of a call's arguments that tell the model which call it was."""

EffectWay = Literal["files", "compensate", "kept", "in doubt"]
"""What becomes of an effect behind the target: it is in the files, and goes the way they go; it is
compensated; it stays."""


class RollbackEffect(Struct, frozen=True, kw_only=True):
    """A write behind the target, and what a rollback does about it."""

    n: int
    index: int
    tool: str
    way: EffectWay
    detail: str = ""


class RollbackPreview(Struct, frozen=True, kw_only=True):
    """What a rollback would do; nothing is changed yet.

    Attributes:
        to: the checkpoint asked for, ``counter`` where the conversation goes to: the last step that
            was whole by then.
        paths: what becomes of each path of the session's: ``restored``, ``deleted``, a ``conflict``
            (others changed it as well: left alone unless forced), or ``not covered``.
        effects: the writes behind the target.
        differing: for ``context``, the paths that will not be as the conversation shows them.
        messages_dropped: messages that the model will not see any more.
        unknown: calls behind the target of which no snapshot says what they did to the files.
        undoes: the rollback that would be taken back; 0: none.
    """

    session_id: str
    mode: RollbackMode
    to: int | None
    counter: int
    paths: tuple[PathEnd, ...] = ()
    effects: tuple[RollbackEffect, ...] = ()
    differing: tuple[str, ...] = ()
    messages_dropped: int = 0
    unknown: tuple[str, ...] = ()
    undoes: int = 0

    @property
    def clean(self) -> bool:
        """Whether everything behind the target would be taken back."""
        return not self.unknown and not left_of(self.paths) and not _kept(self.effects)


class RollbackReport(Struct, frozen=True, kw_only=True):
    """What a rollback did.

    Attributes:
        number: names it in the journal.
        state: ``done``; ``failed``: nothing is changed, ``error`` says why; ``stuck``: some paths
            are changed and could not be put back.
        paths: what became of each path, ``paths_more`` counts those that are not listed.
        kept: effects behind the target that are still there, in words.
    """

    session_id: str
    number: int
    mode: RollbackMode
    to: int | None
    counter: int
    state: Literal["done", "failed", "stuck"]
    paths: tuple[PathEnd, ...] = ()
    paths_more: int = 0
    kept: tuple[str, ...] = ()
    messages_dropped: int = 0
    error: str = ""
    undoes: int = 0

    @property
    def clean(self) -> bool:
        """Whether everything behind the target is taken back."""
        return self.state == "done" and not left_of(self.paths) and not self.kept


def report_of(session_id: str, began: RollingBack, ended: RolledBack) -> RollbackReport:
    """Return what the journal says of a rollback."""
    return RollbackReport(
        session_id=session_id,
        number=began.n,
        mode=began.mode,
        to=began.to,
        counter=ended.counter,
        state=ended.state,
        paths=ended.paths,
        paths_more=ended.paths_more,
        kept=ended.kept,
        messages_dropped=ended.messages_dropped,
        error=ended.error,
        undoes=began.undoes,
    )


CHANGED: frozenset[PathEnding] = frozenset(("restored", "deleted"))


def changed_of(paths: Iterable[PathEnd]) -> tuple[str, ...]:
    """Return the paths that are put back."""
    return tuple(each.path for each in paths if each.did in CHANGED)


def left_of(paths: Iterable[PathEnd]) -> tuple[PathEnd, ...]:
    """Return the paths that are not as they were at the target."""
    return tuple(each for each in paths if each.did not in CHANGED and each.did != "as wanted")


def _kept(effects: Iterable[RollbackEffect]) -> bool:
    return any(each.way in ("kept", "in doubt") for each in effects)


# ---------------------------------------------------------------- effects behind a target


def effects_since(
    state: SessionState,
    entries: Iterable[JournalEntry],
    to: int,
    since: Since,
    marks: Callable[[str], Marks | None],
    mode: RollbackMode,
) -> tuple[RollbackEffect, ...]:
    """Return the writes behind a checkpoint, and what a rollback of this mode does about each."""
    at = {(each.n, each.index): each.counter for each in entries if isinstance(each, Resulted)}
    found = [
        _effect(call, effect.tool, since, marks(effect.tool), mode)
        for call, effect in state.effects.items()
        if at.get(call, 0) > to and effect.state not in ("compensated", "rolled_back")
    ]
    doubts = [
        RollbackEffect(n=n, index=index, tool=entry.tool, way="in doubt")
        for (n, index), entry in state.in_doubt.items()
        if at.get((n, index), 0) > to
    ]
    return (*found, *doubts)


def _effect(
    call: CallId, tool: str, since: Since, marks: Marks | None, mode: RollbackMode
) -> RollbackEffect:
    n, index = call
    way: EffectWay = "kept"
    detail = ""
    if call in since.calls:
        way = "files"
    elif marks is not None and marks.compensate is not None and mode == "full":
        way = "compensate"
    elif marks is None:
        detail = "its tool is not known here"
    return RollbackEffect(n=n, index=index, tool=tool, way=way, detail=detail)


def compensations_of(effects: Iterable[RollbackEffect]) -> tuple[UndoStep, ...]:
    """Return the compensations to be run, the latest effect first."""
    chosen = [each for each in effects if each.way == "compensate"]
    return tuple(UndoStep(each.n, each.index, each.tool, "compensate") for each in reversed(chosen))


def asked_in(entries: Iterable[JournalEntry]) -> dict[CallId, str]:
    """Return the arguments that each call ran with: the model's, or those that a person has set."""
    found: dict[CallId, str] = {}
    for entry in entries:
        match entry:
            case Answered():
                found |= {(entry.n, at): call.arguments for at, call in enumerate(entry.calls)}
            case Judged(arguments=str() as changed) | Allowed(arguments=str() as changed):
                found[entry.n, entry.index] = changed
            case _:
                pass
    return found


def kept_words(
    effects: Iterable[RollbackEffect],
    unknown: Sequence[str],
    asked: Mapping[CallId, str] = MappingProxyType({}),
) -> tuple[str, ...]:
    """Name what stays of what was done behind the target.

    Args:
        asked: the arguments of calls, for a reader who does not see the calls any more.
    """
    named = [
        f"call {each.n}.{each.index} {each.tool}"
        + asked.get((each.n, each.index), "")[:ARGUMENTS_CHARS_MAX]
        + (" (not known whether it took effect)" if each.way == "in doubt" else "")
        + (f": {each.detail}" if each.detail else "")
        for each in effects
        if each.way in ("kept", "in doubt") and not _is_named(each, unknown)
    ]
    return (*named, *(f"{each} (no snapshot)" for each in unknown))


def _is_named(effect: RollbackEffect, unknown: Sequence[str]) -> bool:
    start = f"call {effect.n}.{effect.index} "
    return any(each.startswith(start) for each in unknown)


# ---------------------------------------------------------------- paths


def planned(plan: Plan) -> tuple[PathEnd, ...]:
    """Return what a plan does to each path."""
    steps = [
        PathEnd(path_text(step.path), "deleted" if step.deletes else "restored")
        for step in plan.steps
    ]
    return tuple(sorted([*steps, *map(_left, plan.left)], key=lambda each: each.path))


def ended_paths(report: Report) -> tuple[PathEnd, ...]:
    """Return what became of each path of a restore."""
    steps = [
        PathEnd(
            path_text(one.path),
            "conflict" if one.did == "changed meanwhile" else one.did,
            one.detail or ("changed meanwhile" if one.did == "changed meanwhile" else ""),
        )
        for one in report.outcomes
    ]
    return tuple(sorted([*steps, *map(_left, report.left)], key=lambda each: each.path))


def _left(left: Left) -> PathEnd:
    why = f"{left.why}: {left.detail}" if left.detail else left.why
    in_use = left.why == "holds what others made"
    did: PathEnding = "conflict" if left.why in CONFLICTS or in_use else "not covered"
    return PathEnd(path_text(left.path), did, why)
