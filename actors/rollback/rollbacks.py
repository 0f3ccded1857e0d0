"""Rollbacks as callers ask for them: looked at beforehand, begun, and waited for."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

import anyio
import msgspec

from ...stores.base import CheckpointUnknown, StoredSession, StoreFailed
from ...stores.records import PathEnd, RollbackMode, RollingBack
from ...stores.workspace import Plan, Window, Workspace
from ...supervisor.errors import UsageError
from ..agent import Agent, InstalledAgent
from ..handover.wording import encodable
from ..inspection import entries_of, fold
from ..ledger import CallId
from ..model import ModelReply, ModelRequest
from ..pruning.pruning import Fits, plan_cut
from ..pruning.summaries import facts_of
from ..services import Services
from ..session import Session
from ..sessions import Change, Sessions
from ..state import UNFINISHED, Rolled, SessionState
from ..tooling.marks import Marks
from ..tooling.toolbox import marks_in
from .rollback import (
    MODES,
    WITH_CONVERSATION,
    WITH_FILES,
    RollbackPreview,
    RollbackReport,
    effects_since,
    planned,
    report_of,
)
from .rolling import check_known
from .rolling_files import plan_files
from .windows import Since, windows_since


class Rollbacks:
    """Rollbacks of the sessions of the store."""

    def __init__(self, services: Services, sessions: Sessions) -> None:
        self._services = services
        self._sessions = sessions

    async def begin(
        self,
        session_id: str,
        to: int | None,
        mode: RollbackMode,
        *,
        force: bool = False,
        undo: bool = False,
        by: str = "",
    ) -> tuple[Session, RollbackReport]:
        """Roll a session back; returns once how it ended is stored, and the session is at rest.

        A session that runs comes to the end of its step first.

        Raises:
            UsageError: no such mode or target, or nothing that can be taken back.
            CheckpointUnknown: there is no such checkpoint, or it is kept no more.
            SessionOwned: another living process drives the session.
        """
        check_wanted(to, mode, force=force, undo=undo)
        if to is not None:
            await self.check_kept(session_id, to)
        found: list[tuple[Session, RollingBack, anyio.Event]] = []
        failed_before = set[CallId]()

        async def make(session: Session) -> Change:
            entry = self._entry(session, to, mode, force=force, undo=undo, by=by)
            done = session.rollbacks[entry.n] = anyio.Event()
            failed_before.clear()
            failed_before.update((e.step.n, e.step.index) for e in session.state.unwound.open)
            found.append((session, entry, done))
            return Change([entry], reopens=True)

        with await self._stand_in(session_id, mode, undo=undo):
            await self._sessions.change(session_id, make, by="rollback")
        session, began, done = found[-1]
        await done.wait()
        ended = session.rolled.get(began.n)
        if ended is None:
            raise session.error or StoreFailed(
                f"session {session_id}: the rollback goes on where the session is taken up again"
            )
        if session.rests:
            await session.retired.wait()
        report = report_of(session_id, began, ended)
        failed = tuple(
            f"call {each.step.n}.{each.step.index} {each.step.tool}: not compensated"
            for each in session.state.unwound.open
            if (each.step.n, each.step.index) not in failed_before
        )
        return session, msgspec.structs.replace(report, kept=(*report.kept, *failed))

    async def _stand_in(
        self, session_id: str, mode: RollbackMode, *, undo: bool
    ) -> AbstractContextManager[None]:
        """Let a session of an agent that is unknown here be rolled back all the same.

        Raises:
            UsageError: it would go on after that, for which its agent is needed.
        """
        head = await self._services.store.head(session_id)
        agent, sessions = head.facts.agent, self._sessions
        if agent in sessions.agents:
            return nullcontext()
        rests = mode in WITH_CONVERSATION and not undo
        if head.status in UNFINISHED and not rests:
            raise UsageError(
                f"session {session_id} is unfinished and goes on after that, for which agent {agent!r} "
                "is needed: give agents=[...], or --module on the command line"
            )
        return _standing_in(sessions, session_id, agent)

    def _entry(
        self,
        session: Session,
        to: int | None,
        mode: RollbackMode,
        *,
        force: bool,
        undo: bool,
        by: str,
    ) -> RollingBack:
        state = session.state
        if state.rolling is not None:
            raise UsageError(f"session {session.id} is being rolled back already")
        undoes = 0
        if undo:
            rolled = last_of(state)
            undoes, mode, to = rolled.began.n, rolled.began.mode, rolled.began.to
        n, at_ms = session.journal.take_n(), session.now_ms()
        return RollingBack(n, mode, to, at_ms, force, undoes, encodable(by))

    # ------------------------------------------------------------ beforehand

    async def check_kept(self, session_id: str, to: int) -> None:
        """Refuse a checkpoint that is not there (any more).

        Raises:
            CheckpointUnknown: so it is.
        """
        head = await self._services.store.head(session_id)
        oldest = head.oldest_counter if head.oldest_counter > 1 else 0
        if to < oldest:
            raise CheckpointUnknown(
                f"checkpoint {to} of session {session_id} is pruned; the oldest kept is {oldest}"
            )
        if to > head.counter:
            raise CheckpointUnknown(
                f"session {session_id} has no checkpoint {to}; its last is {head.counter}"
            )

    async def preview(
        self,
        session_id: str,
        to: int | None,
        mode: RollbackMode,
        *,
        force: bool = False,
        undo: bool = False,
    ) -> RollbackPreview:
        """Return what a rollback would do; the session and its files stay as they are.

        Raises:
            UsageError, CheckpointUnknown: as `begin`.
        """
        check_wanted(to, mode, force=force, undo=undo)
        if to is not None:
            await self.check_kept(session_id, to)
        stored = await self._services.store.load(session_id)
        state = fold(session_id, entries_of(stored))
        if undo:
            return await self._preview_undo(stored, state, force=force)
        if mode == "prune":
            return self._preview_prune(state, to)
        return await self._preview_back(stored, state, to or 0, mode, force=force)

    async def _preview_back(
        self,
        stored: StoredSession,
        state: SessionState,
        asked: int,
        mode: RollbackMode,
        *,
        force: bool,
    ) -> RollbackPreview:
        entries, marks = entries_of(stored), partial(self._marks, stored.head.facts.agent)
        goes_back = mode in WITH_CONVERSATION
        to = state.conversation.mark_at(asked) if goes_back else asked
        since = windows_since(entries, to)
        effects = effects_since(state, entries, to, since, marks, mode)
        if mode in WITH_FILES:
            check_known(since, effects, marks)
        paths = await self._paths(stored, since, force=force or mode == "context")
        return RollbackPreview(
            session_id=state.session_id,
            mode=mode,
            to=asked,
            counter=to,
            paths=paths if mode in WITH_FILES else (),
            effects=effects,
            differing=() if mode in WITH_FILES else tuple(each.path for each in paths),
            messages_dropped=len(state.conversation.dropped_at(to)) if goes_back else 0,
            unknown=since.unknown,
        )

    async def _paths(
        self, stored: StoredSession, since: Since, *, force: bool
    ) -> tuple[PathEnd, ...]:
        if not since.windows:
            return ()
        work = partial(plan_files, since=since, force=force)
        directory = stored.head.facts.working_directory
        plan = await self._services.workspaces.run(directory, work)
        return () if plan is None else planned(plan)

    def _preview_prune(self, state: SessionState, to: int | None) -> RollbackPreview:
        conversation = state.conversation
        position = len(conversation) if to is None else conversation.end_at(to)
        facts = len(facts_of(state))
        plan = plan_cut(conversation, position, summary=conversation.summary, facts=facts)
        dropped = 0 if isinstance(plan, Fits) else plan.cut - len(plan.kept)
        return RollbackPreview(
            session_id=state.session_id,
            mode="prune",
            to=to,
            counter=state.counter,
            messages_dropped=dropped,
        )

    async def _preview_undo(
        self, stored: StoredSession, state: SessionState, *, force: bool
    ) -> RollbackPreview:
        rolled = last_of(state)
        plan: Plan | None = None
        if rolled.ended.restore_id:
            directory = stored.head.facts.working_directory
            work = partial(_undo_plan, rolled=rolled, force=force)
            plan = await self._services.workspaces.run(directory, work)
        earlier = rolled.earlier
        return RollbackPreview(
            session_id=state.session_id,
            mode=rolled.began.mode,
            to=rolled.began.to,
            counter=earlier.conversation.last_mark if earlier else state.counter,
            paths=() if plan is None else planned(plan),
            undoes=rolled.began.n,
        )

    def _marks(self, agent: str, tool: str) -> Marks | None:
        if agent not in self._sessions.agents:
            return None
        return marks_in(self._sessions.taking.installed(agent).toolbox, tool)


class _NoModel:
    """The model of a stand-in: nobody asks it."""

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        raise UsageError(f"session {request.session_id} has no agent here, so no model either")


@contextmanager
def _standing_in(sessions: Sessions, session_id: str, agent: str) -> Generator[None]:
    sessions.taking.stand_ins[session_id] = InstalledAgent(Agent(agent, model=_NoModel()), {})
    try:
        yield
    finally:
        del sessions.taking.stand_ins[session_id]


def _undo_plan(space: Workspace, rolled: Rolled, *, force: bool) -> Plan:
    """Return what taking a restore back would do: each of its paths to what it was before."""
    window = rolled.ended.windows[0]
    touched = space.touched([Window(window.before, window.after)])
    return space.plan_touched(window.before, touched, force=force)


def last_of(state: SessionState) -> Rolled:
    """Return the rollback that can be taken back.

    Raises:
        UsageError: there is none: nothing was rolled back, or the session has gone on since.
    """
    if state.rolled is None:
        raise UsageError(
            f"session {state.session_id} has no rollback that can be taken back: there was none, it "
            "was taken back, or the conversation has gone on since"
        )
    return state.rolled


def check_wanted(to: object, mode: RollbackMode, *, force: object, undo: bool) -> None:
    """Refuse what is no rollback, whatever the caller's types say: it is about to be journaled, and
    an entry of another form could not be read again.

    Raises:
        UsageError: no such mode, or no target where the mode needs one.
    """
    if not isinstance(force, bool):
        raise UsageError(f"force={force!r} is neither True nor False")
    if mode not in MODES:
        raise UsageError(f"mode={mode!r} is unknown; use one of {', '.join(MODES)}")
    if undo:
        if to is not None:
            raise UsageError("an undo takes back the last rollback; leave the checkpoint out")
        return
    if to is None and mode != "prune":
        raise UsageError(
            f"a rollback of mode {mode!r} needs the checkpoint to go back to: give to="
        )
    if to is not None and (not isinstance(to, int) or isinstance(to, bool) or to < 0):
        raise UsageError(f"to={to!r} is no checkpoint: give its counter, 0 for the beginning")
