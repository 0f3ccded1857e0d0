"""A session is rolled back: by its own life, between two steps, before anything else.

That it is asked for is stored first; how it ended, and with it the conversation that goes back, last. So
a process killed at any point leaves a session whose next life does what is left of it. Files go
first: where they cannot, nothing else does.
"""

from collections.abc import Awaitable, Callable
from functools import partial

from ...stores.base import StoreError
from ...stores.records import JournalEntry, PathEnd, RolledBack, RollingBack, Unwinding
from ...stores.workspace import Workspace
from ...supervisor.errors import UkemiError, UsageError
from ..events import AlertRaised, SessionRolledBack
from ..handover.dossier import Trouble
from ..handover.wording import clipped
from ..inspection import entries_of
from ..outcome import Stopped, outcome_to_data
from ..pruning.pruner import prune_session
from ..session import Session
from ..state import POLICY
from ..tooling.marks import Marks
from ..tooling.toolbox import marks_in
from .notes import note_of
from .rollback import (
    PATHS_KEPT_MAX,
    WITH_CONVERSATION,
    WITH_FILES,
    RollbackEffect,
    asked_in,
    changed_of,
    compensations_of,
    effects_since,
    kept_words,
    left_of,
    planned,
)
from .rolling_files import FilesEnd, plan_files, restore_name, roll_files, unroll_files
from .windows import Since, windows_since

SETTLED = "the session is rolled back"


class Rolling:
    """Rollbacks of one life of a session.

    Args:
        settle: answers every open call without running anything.
    """

    def __init__(self, session: Session, settle: Callable[[str], Awaitable[None]]) -> None:
        self._session = session
        self._settle = settle

    async def take(self, began: RollingBack) -> None:
        """Roll the session back, or go on with that; how it ended is stored when this returns.

        Raises:
            StoreError: the store fails; a later life goes on with it.
        """
        if began.mode in WITH_CONVERSATION:
            await self._settle(SETTLED)
        entries: list[JournalEntry]
        try:
            entries = await self._done(began)
        except StoreError:
            raise
        except (OSError, UkemiError) as error:
            entries = [RolledBack(began.n, "failed", error=self._said(error))]
        session = self._session
        await session.journal.append(*entries, session.booked()).wait()
        ended = entries[0]
        assert isinstance(ended, RolledBack)  # as they are made here
        self._tell(began, ended)

    def _said(self, error: Exception) -> str:
        return self._session.services.mask(clipped(str(error) or type(error).__name__))

    def _tell(self, began: RollingBack, ended: RolledBack) -> None:
        session = self._session
        session.emit(
            SessionRolledBack(
                session_id=session.id,
                at_ms=session.now_ms(),
                mode=began.mode,
                counter=ended.counter,
                state=ended.state,
                paths=len(changed_of(ended.paths)),
                left=len(left_of(ended.paths)),
            )
        )
        if ended.state == "stuck":
            text = f"session {session.id}: {ended.error}"
            session.emit(AlertRaised(session_id=session.id, at_ms=session.now_ms(), text=text))
        session.rolled_back(ended)

    # ------------------------------------------------------------ by mode

    async def _done(self, began: RollingBack) -> list[JournalEntry]:
        """Do it, all but what is stored of it: how it ended first, then what follows."""
        if began.undoes:
            return [await self._unroll(began)]
        if began.mode == "prune":
            return [await self._prune(began)]
        return await self._roll(began)

    async def _prune(self, began: RollingBack) -> RolledBack:
        state = self._session.state
        before = len(state.conversation)
        await prune_session(self._session, upto=began.to)
        dropped = before - len(state.conversation)
        return RolledBack(began.n, "done", state.counter, messages_dropped=dropped)

    async def _unroll(self, began: RollingBack) -> RolledBack:
        """Take the last rollback back."""
        session = self._session
        rolled = session.state.rolled
        if rolled is None or rolled.began.n != began.undoes:
            raise UsageError(f"rollback {began.undoes} cannot be taken back any more")
        files = FilesEnd("done")
        if rolled.ended.restore_id:
            name, restore_id = restore_name(session.id, str(began.n)), rolled.ended.restore_id
            undo = partial(unroll_files, restore_id=restore_id, name=name, force=began.force)
            files = await self._walk(undo)
        if files.state != "done":
            return self._not_done(began, files, session.state.counter)
        earlier = rolled.earlier
        counter = earlier.conversation.last_mark if earlier else session.state.counter
        note = note_of("soft", counter, files.paths, ()) if began.mode == "soft" else ""
        ran_on = earlier is not None and earlier.outcome is None
        return RolledBack(
            began.n,
            "done",
            counter,
            note,
            session.journal.take_n() if note else 0,
            paths=files.paths[:PATHS_KEPT_MAX],
            paths_more=max(0, len(files.paths) - PATHS_KEPT_MAX),
            restore_id=files.restore_id,
            windows=files.windows,
            outcome=outcome_to_data(Stopped("rolled_back")) if ran_on else None,
        )

    async def _roll(self, began: RollingBack) -> list[JournalEntry]:
        session, mode = self._session, began.mode
        to = began.to or 0
        if mode in WITH_CONVERSATION:
            to = session.state.conversation.mark_at(to)
        entries = entries_of(await session.services.store.load(session.id))
        since = windows_since(entries, to)
        effects = effects_since(session.state, entries, to, since, self._marks, mode)
        if mode in WITH_FILES:
            check_known(since, effects, self._marks)
        files = await self._files(began, since)
        if files.state != "done":
            return [self._not_done(began, files, session.state.counter)]
        steps = compensations_of(effects)
        kept = kept_words(effects, since.unknown)
        # The model does not see these calls any more.
        note = note_of(mode, to, files.paths, kept_words(effects, since.unknown, asked_in(entries)))
        ended = self._ended(began, to, files, kept, note)
        if not steps:
            return [ended]
        outcome = None if session.state.spoken else ended.outcome
        return [ended, Unwinding(steps, outcome, "rollback")]

    async def _files(self, began: RollingBack, since: Since) -> FilesEnd:
        """Take the files back; for a conversation alone, find out which differ from it then."""
        if not since.windows:
            return FilesEnd("done")
        if began.mode == "context":
            return FilesEnd("done", await self._differing(since))
        name = restore_name(self._session.id, str(began.n))
        return await self._walk(partial(roll_files, since=since, name=name, force=began.force))

    async def _walk(self, work: Callable[..., FilesEnd]) -> FilesEnd:
        session = self._session
        await session.ensure_owned()
        workspaces = session.services.workspaces
        files = workspaces.files.files

        def walk(space: Workspace) -> FilesEnd:
            return work(files, space)

        return await workspaces.run(session.facts.working_directory, walk)

    async def _differing(self, since: Since) -> tuple[PathEnd, ...]:
        session = self._session
        work = partial(plan_files, since=since, force=True)
        plan = await session.services.workspaces.run(session.facts.working_directory, work)
        return () if plan is None else planned(plan)

    def _marks(self, tool: str) -> Marks | None:
        return marks_in(self._session.installed.toolbox, tool)

    # ------------------------------------------------------------ how it ended

    def _ended(
        self, began: RollingBack, to: int, files: FilesEnd, kept: tuple[str, ...], note: str
    ) -> RolledBack:
        session, mode = self._session, began.mode
        by_policy = began.by == POLICY
        if by_policy:
            note = "\n".join(each for each in (began.why, note) if each)
        goes_back = mode in WITH_CONVERSATION
        rests = goes_back and not by_policy
        return RolledBack(
            began.n,
            "done",
            to,
            session.services.mask(note),
            session.journal.take_n() if note else 0,
            paths=files.paths[:PATHS_KEPT_MAX] if mode in WITH_FILES else (),
            paths_more=max(0, len(files.paths) - PATHS_KEPT_MAX) if mode in WITH_FILES else 0,
            restore_id=files.restore_id,
            windows=files.windows,
            undone=files.undone,
            kept=kept,
            messages_dropped=len(session.state.conversation.dropped_at(to)) if goes_back else 0,
            outcome=outcome_to_data(Stopped("rolled_back")) if rests else None,
        )

    def _not_done(self, began: RollingBack, files: FilesEnd, counter: int) -> RolledBack:
        """Return the end of a rollback whose files could not go back: nothing else does then."""
        bad = [each for each in files.paths if each.did == "failed"]
        why = (
            "; ".join(f"{each.path}: {each.detail}" for each in bad[:5]) or "files were in the way"
        )
        outcome = None
        if files.state == "failed":
            error = f"the files could not be taken back, and are as they were before: {why}"
        else:
            error = f"the files could be taken back only in part, and not be put back: {why}"
            outcome = outcome_to_data(self._session.handed_over(self._stuck(began, files, error)))
        return RolledBack(
            began.n,
            files.state,
            counter,
            error=self._session.services.mask(error),
            paths=files.paths[:PATHS_KEPT_MAX],
            paths_more=max(0, len(files.paths) - PATHS_KEPT_MAX),
            restore_id=files.restore_id,
            outcome=outcome,
        )

    def _stuck(self, began: RollingBack, files: FilesEnd, error: str) -> Trouble:
        lines = [f"{each.path}: {each.did} {each.detail}".rstrip() for each in files.paths]
        return Trouble(
            reason="blocked",
            detail=error,
            step=f"roll back to checkpoint {began.to}",
            input="\n".join(lines[:PATHS_KEPT_MAX]),
        )


def check_known(
    since: Since, effects: tuple[RollbackEffect, ...], marks: Callable[[str], Marks | None]
) -> None:
    """Refuse to take files back where no look says anything of what was done to them.

    Raises:
        UsageError: so it is.
    """
    if since.windows:
        return
    blind = list(since.unknown)
    for each in effects:
        declared = marks(each.tool)
        if declared is not None and declared.workspace:
            blind.append(f"call {each.n}.{each.index} {each.tool}")
    if blind:
        raise UsageError(
            f"there is no snapshot of what was done to the files ({blind[0]}); only the "
            'conversation can be taken back: mode="context"'
        )
