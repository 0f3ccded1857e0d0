"""Looks around whatever may write into a session's working directory.

What changed between the two looks counts as the session's, and only that is ever rolled back. A look
that fails takes nothing from the call it was for: the result says that it is not known what it did.
"""

from collections.abc import Mapping

import anyio
from msgspec import Struct

from ...stores.records import TreeWindow
from ..closing import CannotTell, texts_of
from ..ends import Prepared
from ..events import AlertRaised
from ..session import Session
from ..text import clean, shorten
from ..tooling.tools import AnyTool
from ..workspaces import Watch

CUT_OFF_S_MAX = 10.0
"""Seconds that the look behind a call which was cut off may take; the session is to end now."""

ALERT_EVERY_S = 60.0
PROBLEM_CHARS_MAX = 300


class Looking(Struct, eq=False):
    """The looks around one attempt: what may be written (None: anything), and what was found."""

    paths: tuple[str, ...] | None
    root: str = ""
    window: TreeWindow | None = None
    problem: str = ""


def is_looked_at(session: Session, tool: AnyTool) -> bool:
    """Whether there is a look around calls of this tool: it may write there, and that is kept."""
    opened = session.state.opened
    if not tool.marks.workspace or opened is None or not opened.snapshots:
        return False
    return session.services.workspaces.on


class Taking:
    """Looks around the calls of one life of a session.

    Calls side by side share a chain of looks: what changes until the first of them ends counts as
    that one's, what changes then until the next ends as the next one's. So windows never overlap.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = anyio.Lock()
        self._under_way: list[Looking] = []
        self._watch: Watch | None = None
        self._root = ""
        self._uncovered = 0

    async def begin(self, call: Prepared) -> Looking | None:
        """Look before an attempt; None where its tool does not write there, or nothing is kept."""
        if not is_looked_at(self._session, call.tool):
            return None
        looking = Looking(paths_of(call.tool, call.arguments))
        async with self._lock:
            # A look at everything is under way with that call: what is there belongs to it.
            known = any(each.paths is None for each in self._under_way)
            if not known or not self._root:
                self._root = await self._look(looking, looking.paths)
            looking.root = self._root
            if self._watch is None:
                session = self._session
                directory = session.facts.working_directory
                self._watch = session.services.workspaces.watch(session.id, directory)
            self._under_way.append(looking)
        return looking

    async def end(self, looking: Looking) -> None:
        """Look after an attempt: its window, or why there is none."""
        try:
            async with self._lock:
                await self._after(looking)
        finally:
            self._under_way.remove(looking)
            if not self._under_way and self._watch is not None:
                self._session.services.workspaces.leave(self._watch)
                self._watch = None

    async def _after(self, looking: Looking) -> None:
        before, self._root = self._root, ""
        if not before:
            looking.problem = looking.problem or "the look before it failed"
            return
        limit_s = CUT_OFF_S_MAX if self._session.cut is not None else None
        with anyio.move_on_after(limit_s) as scope:
            self._root = await self._look(looking, self._all_paths())
        if scope.cancelled_caught:
            looking.problem = "the session was cut off, and there was no time for it"
        elif self._root:
            shared = self._watch is not None and self._watch.shared
            looking.window = TreeWindow(before, self._root, shared, self._uncovered)

    def _all_paths(self) -> tuple[str, ...] | None:
        """Return what the calls under way may have written."""
        found: dict[str, None] = {}
        for each in self._under_way:
            if each.paths is None:
                return None
            found.update(dict.fromkeys(each.paths))
        return tuple(found)

    async def _look(self, looking: Looking, paths: tuple[str, ...] | None) -> str:
        """Return the tree's digest; empty, with the problem noted, where it could not be kept."""
        session = self._session
        directory = session.facts.working_directory
        try:
            snapshot = await session.services.workspaces.look(directory, paths)
        except Exception as error:  # noqa: BLE001 - a full disk must not take a call's result along
            text = session.services.mask(clean(f"{type(error).__name__}: {error}").text)
            looking.problem = shorten(text, PROBLEM_CHARS_MAX, unit="chars").text
            self._raise_alert(looking.problem)
            return ""
        self._uncovered = snapshot.uncovered
        return snapshot.root

    def _raise_alert(self, problem: str) -> None:
        session = self._session
        directory = session.facts.working_directory
        text = f"no snapshot of {directory} (session {session.id}): {problem}"
        if session.services.alerts.due(f"snapshots {directory}", text, ALERT_EVERY_S):
            session.emit(AlertRaised(session_id=session.id, at_ms=session.now_ms(), text=text))


def paths_of(tool: AnyTool, arguments: Mapping[str, object]) -> tuple[str, ...] | None:
    """Return the only paths a call may write, by its tool's own words; None: any."""
    named = tool.marks.paths
    if isinstance(named, str):
        given = arguments.get(named)
        return (given,) if isinstance(given, str) else None
    try:
        return texts_of(tool, "paths", named, arguments) or None
    except CannotTell:
        return None
