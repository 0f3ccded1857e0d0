"""Which looks at the working directory lie behind a checkpoint, and which trees a session needs. Pure."""

from collections.abc import Iterable

from msgspec import Struct

from ...stores.records import (
    Intended,
    JournalEntry,
    Late,
    Resulted,
    RolledBack,
    StagedResult,
    TreeWindow,
    Undone,
)
from ..ledger import CallId


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
