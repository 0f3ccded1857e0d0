"""A session's effects are undone before it ends other than completed: one after the other, once each.

That it is unwinding is stored before the first compensation runs, and the session's end is stored
after the last. So a process killed at any point leaves a session that goes on with this, before
anything else, at its next start.

Neither a cancellation nor a spent budget ends an unwinding: each attempt has a limit of time of its
own, and so have the attempts of one compensation together.
"""

from collections.abc import Sequence
from functools import partial

from ...stores.base import StoreError
from ...stores.records import Frozen, Noted, Undone, Unwinding
from ...supervisor.errors import UkemiError
from ..end_events import SessionFrozen, SessionUnwinding
from ..events import AlertRaised
from ..handover.file_changes import file_changes
from ..handover.wording import clipped
from ..ledger import CallId
from ..outcome import (
    EffectEnd,
    FileChange,
    HandedOver,
    Outcome,
    outcome_from_data,
    outcome_to_data,
)
from ..rollback.notes import PATHS_TOLD_MAX
from ..rollback.rollback import left_of
from ..rollback.rolling_files import restore_name, roll_files
from ..rollback.windows import Since
from ..session import Session
from ..state import UNFINISHED
from ..tooling.marks import Marks
from ..tooling.toolbox import marks_in
from ..work import Work
from .compensating import Compensating, Recorded, finished, read_recorded
from .plan import NO_SNAPSHOT, Freeze, ends_of, outcome_with, plan_of, said_of_unwinding
from .unwound import Undo

ALERT_EVERY_S = 60.0
"""Seconds between alerts about compensations of one tool."""


class Unwinder:
    """Undoes the effects of one session, in one life of it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        # Its own: what cuts the session's work off does not end this.
        work = Work(
            session.services.timers, lambda what: session.services.give_up(session.id, what)
        )
        self._compensating = Compensating(session, work)

    async def before_end(self, outcome: Outcome) -> Outcome:
        """Undo what is to be undone before a session ends so (`Session.undoes_before` says whether
        anything is); return the outcome with that told.

        Where an unwinding is under way already, the session ends as was decided when that began.

        Raises:
            StoreError: it cannot be stored how far this has come.
        """
        session = self._session
        running, frozen = session.state.unwound.running, session.state.unwound.frozen
        session.ending = True
        session.stop_clock()  # the budget is the agent's, and this is not its work
        if running is not None:
            outcome = outcome_from_data(running.outcome) if running.outcome else outcome
        elif session.cut is not None or session.state.status in UNFINISHED:
            await self._begin(outcome)
        elif frozen is not None:
            session.journal.ride(frozen)  # it had ended so before, and ends so again
        return await self._finish(outcome)

    async def go_on(self) -> None:
        """Undo what a person has asked for, of a session that goes on after that."""
        running = self._session.state.unwound.running
        assert running is not None
        recorded = await self._undo_all()
        await self._session.journal.append(self._note(running, self._ends(recorded))).wait()

    async def _begin(self, outcome: Outcome) -> None:
        """Decide what is undone, and store that."""
        session = self._session
        found = plan_of(session.state, self._marks)
        at_ms = session.now_ms()
        if isinstance(found, Freeze):
            session.journal.ride(Frozen(found.why, found.steps))
            session.emit(
                SessionFrozen(
                    session_id=session.id, at_ms=at_ms, why=found.why, effects=len(found.steps)
                )
            )
        elif found:
            entry = Unwinding(found, outcome_to_data(outcome))
            await session.journal.append(entry, session.booked()).wait()
            session.emit(SessionUnwinding(session_id=session.id, at_ms=at_ms, effects=len(found)))

    async def _finish(self, outcome: Outcome) -> Outcome:
        session = self._session
        running = session.state.unwound.running
        recorded = None
        if running is not None:
            recorded = await self._undo_all()
        elif isinstance(outcome, HandedOver):
            recorded = await self._recorded()
        ends = self._ends(recorded)
        if running is not None:
            session.journal.ride(self._note(running, ends))
        files = await self._files(recorded) if isinstance(outcome, HandedOver) else ()
        return outcome_with(outcome, session.state, ends, files)

    async def _files(self, recorded: Recorded | None) -> Sequence[FileChange]:
        """Return what the session changed in its files; nothing where that cannot be read."""
        session = self._session
        workspaces = session.services.workspaces
        if recorded is None or not recorded.windows or not workspaces.on:
            return ()
        look = partial(file_changes, windows=recorded.windows)
        try:
            return await workspaces.run(session.facts.working_directory, look)
        except (OSError, UkemiError):
            return ()  # `ukemi rollback --dry-run` says what is wrong with what was kept

    async def _recorded(self) -> Recorded | None:
        """Read what the effects were; None where the store fails.

        A list of effects without arguments is better than a session that cannot end.
        """
        try:
            return await read_recorded(self._session)
        except StoreError:
            return None

    def _ends(self, recorded: Recorded | None) -> list[EffectEnd]:
        session = self._session
        inputs: dict[CallId, str] = {}
        if recorded is not None:
            mask = session.services.mask
            inputs = {call: mask(text) for call, text in recorded.arguments.items()}
        return ends_of(session.state, inputs)

    def _note(self, running: Unwinding, ends: Sequence[EffectEnd]) -> Noted:
        text = said_of_unwinding(running, ends)
        return Noted(self._session.journal.take_n(), text, "unwound")

    def _marks(self, tool: str) -> Marks | None:
        return marks_in(self._session.installed.toolbox, tool)

    # ------------------------------------------------------------ one after the other

    async def _undo_all(self) -> Recorded:
        recorded = await read_recorded(self._session)
        for undo in self._session.state.unwound.left:
            if undo.step.how == "rollback":
                await self._roll_back(undo, recorded)
            else:
                await self._compensate(undo, recorded)
        return recorded

    async def _roll_back(self, undo: Undo, recorded: Recorded) -> None:
        """Take the files back to before a call, and store that; what others changed is left, and named."""
        session, step = self._session, undo.step
        call = (step.n, step.index)
        result = recorded.results.get(call)
        ended = Undone(step.n, step.index, "not_rolled_back", NO_SNAPSHOT)
        if result is not None and result.windows:
            since = Since(result.windows[0].before, result.windows, {call: result.windows}, ())
            ended = await self._files_back(undo, since)
        await session.journal.append(ended).wait()
        recorded.windows.extend(ended.windows)  # it was read before this

    async def _files_back(self, undo: Undo, since: Since) -> Undone:
        session, step = self._session, undo.step
        workspaces = session.services.workspaces
        name = restore_name(session.id, f"{step.n}.{step.index}")
        try:
            await session.ensure_owned()
            walk = partial(roll_files, workspaces.files.files, since=since, name=name, force=False)
            files = await workspaces.run(session.facts.working_directory, walk)
        except StoreError:
            raise
        except (OSError, UkemiError) as error:
            text = session.services.mask(clipped(str(error)))
            return Undone(step.n, step.index, "not_rolled_back", f"not rolled back: {text}")
        left = left_of(files.paths)
        back = files.state == "done" and not left
        named = [f"{each.path}: {each.detail or each.did}" for each in left[:PATHS_TOLD_MAX]]
        return Undone(
            step.n,
            step.index,
            "rolled_back" if back else "not_rolled_back",
            f"left as they are: {'; '.join(named)}" if left else "",
            windows=files.windows,
        )

    async def _compensate(self, undo: Undo, recorded: Recorded) -> None:
        """Bring one compensation to its end, and store that; a failed one is no second effect."""
        session = self._session
        ended = await self._compensating.compensate(undo, recorded)
        await session.journal.append(ended).wait()
        session.emit(finished(session.id, session.now_ms(), undo.step.tool, ended))
        if ended.state in ("failed", "in_doubt"):
            self._raise_alert(undo, ended)

    def _raise_alert(self, undo: Undo, ended: Undone) -> None:
        session, step = self._session, undo.step
        how = "failed" if ended.state == "failed" else "is in doubt"
        text = (
            f"session {session.id}: the compensation of call {step.n}.{step.index} {step.tool} "
            f"{how}: {ended.content[:200]}"
        )
        if session.services.alerts.due(
            f"compensation {step.tool}", text, ALERT_EVERY_S, session.id
        ):
            session.emit(AlertRaised(session_id=session.id, at_ms=session.now_ms(), text=text))
