"""What a rollback would do, and what it has done, in data. Pure.

Where the conversation goes back to, which windows of the working directory lie behind that, and which
effects outside no snapshot can take back.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, get_args

from msgspec import Struct

from ...stores.records import (
    Intended,
    JournalEntry,
    Late,
    PathEnd,
    PathEnding,
    Resulted,
    RollbackMode,
    RolledBack,
    RollingBack,
    StagedResult,
    TreeWindow,
    Undone,
    UndoStep,
)
from ...stores.workspace import Left, Plan, Report, path_text
from ...stores.workspace.plans import CONFLICTS
from ..ledger import CallId
from ..state import SessionState
from ..tooling.marks import Marks

MODES: tuple[RollbackMode, ...] = get_args(RollbackMode)
WITH_FILES = frozenset[RollbackMode](("full", "soft"))
WITH_CONVERSATION = frozenset[RollbackMode](("full", "context"))

PATHS_KEPT_MAX = 1_000
"""Paths of a rollback that its record names; the others are counted."""

PATHS_TOLD_MAX = 50
"""Paths that the model is told of."""

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


# ---------------------------------------------------------------- which windows lie behind a target


class Since(Struct, frozen=True):
    """What the journal knows of the working directory behind a checkpoint.

    ``root`` is the tree to go back to; empty where nothing is known. ``windows`` are in order of
    time; one whose ``after`` is empty lasts until now. ``calls`` are the windows of each call.
    ``unknown`` are calls that have none.
    """

    root: str
    windows: tuple[TreeWindow, ...]
    calls: dict[CallId, tuple[TreeWindow, ...]]
    unknown: tuple[str, ...]


class _Seen(Struct):
    """A journal as it is read for windows; ``blind``: a call without a look came before the first."""

    to: int
    counter: int = 0
    before: str = ""
    windows: list[TreeWindow] = []
    calls: dict[CallId, tuple[TreeWindow, ...]] = {}
    unknown: dict[CallId, str] = {}
    began: dict[CallId, list[int]] = {}
    tools: dict[CallId, str] = {}
    blind: bool = False

    @property
    def behind(self) -> bool:
        return self.counter >= self.to

    def intended(self, entry: Intended) -> None:
        call = (entry.n, entry.index)
        self.tools[call] = entry.tool
        if entry.root:
            # Should nothing be heard of its end: all that changed until the next look may be its own.
            self.began.setdefault(call, []).append(len(self.windows))
            self.windows.append(TreeWindow(entry.root, "", True))

    def ended(
        self, call: CallId, windows: tuple[TreeWindow, ...], problem: str, after: int
    ) -> None:
        """Take the end of a call: its windows stand for what its last intents had opened.

        Those of an earlier life stay open: nobody looked after them.
        """
        opened = self.began.pop(call, [])
        is_behind = after > self.to
        known = len(opened) - len(windows) if is_behind else 0
        for at in opened[max(known, 0) :]:
            self.windows[at] = TreeWindow("", "")
        if not is_behind:
            self.before = windows[-1].after if windows else self.before
            return
        if windows:
            self.windows += windows
            self.calls[call] = windows
        elif problem:
            self.unknown[call] = problem
            self.blind = self.blind or not any(each.before for each in self.windows)


def windows_since(entries: Iterable[JournalEntry], to: int) -> Since:
    """Return what the journal knows of the working directory behind this checkpoint."""
    seen = _Seen(to)
    for entry in entries:
        match entry:
            case Intended():
                seen.intended(entry)
            case Resulted():
                seen.counter = max(seen.counter, entry.counter)
                call = (entry.n, entry.index)
                seen.ended(call, entry.windows, entry.no_snapshot, entry.counter)
            case Late() if entry.windows or entry.no_snapshot:
                call = (entry.n, entry.index)
                after = seen.counter + 1 if seen.behind else 0
                seen.ended(call, entry.windows, entry.no_snapshot, after)
            case RolledBack() | Undone() if entry.windows and seen.behind:
                seen.windows += entry.windows
            case _:
                pass
    windows = _closed([each for each in seen.windows if each.before])
    first = windows[0].before if windows else ""
    root = seen.before if seen.blind and seen.before else first
    unknown = tuple(
        f"call {n}.{index} {seen.tools.get((n, index), '')}: {why}"
        for (n, index), why in seen.unknown.items()
    )
    return Since(root, tuple(windows), seen.calls, unknown)


def _closed(windows: list[TreeWindow]) -> list[TreeWindow]:
    """Let a window whose end is not known last until the next look."""
    found: list[TreeWindow] = []
    following = ""
    for each in reversed(windows):
        after = each.after or following
        found.append(TreeWindow(each.before, after, each.shared, each.uncovered))
        following = each.before
    return found[::-1]


def root_at(entries: Iterable[JournalEntry], counter: int) -> str:
    """Return the tree as it was at a checkpoint; empty where it was not kept."""
    before = ""
    for entry in entries:
        if isinstance(entry, Resulted) and entry.counter > counter:
            break
        if isinstance(entry, Resulted | Late | RolledBack | Undone) and entry.windows:
            before = entry.windows[-1].after
    return before or windows_since(entries, counter).root


def _roots_in(entry: Intended | Resulted | Late | RolledBack | Undone) -> list[str]:
    if isinstance(entry, Intended):
        return [entry.root] if entry.root else []
    return [root for each in entry.windows for root in (each.before, each.after)]


def needed_roots(entries: Iterable[JournalEntry], oldest: int, unsettled_n: int) -> set[str]:
    """Return the trees that a session may still be taken back to, and those of its staged changes.

    Args:
        oldest: counter of the oldest checkpoint that is kept.
        unsettled_n: what calls of this message, or a later one, did may still be undone.
    """
    needed: set[str] = set()
    last, counter = "", 0
    for entry in entries:
        if isinstance(entry, StagedResult) and entry.tree and counter + 1 >= oldest:
            # For its commit, where that is still to come, and for people to look at.
            needed |= {entry.base, entry.tree}
        if not isinstance(entry, Intended | Resulted | Late | RolledBack | Undone):
            continue
        roots = _roots_in(entry)
        if isinstance(entry, Resulted):
            counter = max(counter, entry.counter)
        if not roots:
            continue
        # An intent comes before the checkpoint its call makes.
        if counter + 1 >= oldest or entry.n >= unsettled_n:
            needed.update(roots)
        last = roots[-1]
    return needed | {last} if last else needed


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


def kept_words(effects: Iterable[RollbackEffect], unknown: Sequence[str]) -> tuple[str, ...]:
    """Name what stays of what was done behind the target."""
    named = [
        f"call {each.n}.{each.index} {each.tool}"
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


# ---------------------------------------------------------------- what the model is told


def note_of(mode: RollbackMode, to: int, paths: Sequence[PathEnd], kept: Sequence[str]) -> str:
    """Return what the model has to know of the side that did not go back; empty: nothing.

    Args:
        paths: what became of each, or for CONTEXT what would have.
    """
    changed, left = changed_of(paths), [each.path for each in left_of(paths)]
    match mode:
        case "soft":
            lines = _soft_lines(to, changed, left)
        case "context":
            lines = _context_lines(to, [*changed, *left])
        case "full":
            lines = _full_lines(to, left)
        case "prune":
            return ""
    if kept and mode != "soft":
        lines.append("This was done after that and is still in effect; do not do it again:")
        lines += [f"- {each}" for each in kept[:PATHS_TOLD_MAX]]
        if not lines[0]:
            lines[0] = f"The session was taken back to checkpoint {to}."
    return "\n".join(line for line in lines if line) if any(lines) else ""


def _soft_lines(to: int, changed: Sequence[str], left: Sequence[str]) -> list[str]:
    if not changed and not left:
        return []
    lines = [
        f"Files were taken back to how they were at checkpoint {to}; this conversation was not."
    ]
    if changed:
        lines.append(f"Reverted: {_named(changed)}. What you did to them since is undone.")
    if left:
        lines.append(f"Left as they are: {_named(left)}.")
    lines.append("Read a file again before you rely on it or change it.")
    return lines


def _context_lines(to: int, differing: Sequence[str]) -> list[str]:
    if not differing:
        return [""]
    return [
        f"This conversation was taken back to checkpoint {to}; the files were not.",
        f"They differ from what it shows: {_named(differing)}.",
        "Read a file again before you rely on it or change it.",
    ]


def _full_lines(to: int, left: Sequence[str]) -> list[str]:
    if not left:
        return [""]
    return [
        f"The session was taken back to checkpoint {to}.",
        f"These files are not as they were then: {_named(left)}. Read them before you rely on them.",
    ]


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - PATHS_TOLD_MAX} more" if len(paths) > PATHS_TOLD_MAX else ""
    return ", ".join(paths[:PATHS_TOLD_MAX]) + more
