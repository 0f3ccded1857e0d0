"""What a caller holds of a session: valid for as long as the runtime, over restarts and ends."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Literal, overload

from ..stores.base import CheckpointUnknown, Head, SessionOwned, Store, StoredSession, StoreError
from ..stores.decisions import Resolve
from ..stores.liveness import owner_is_dead
from ..stores.records import Resulted, RollbackMode
from ..supervisor.clock import Clock
from ..supervisor.errors import UsageError
from .decisions import as_json
from .effects import EffectRecord, records_of
from .end_events import ended
from .events import Event
from .handover.options import option_name
from .inbox import Inbox
from .inspection import (
    Checkpoint,
    Inspection,
    checkpoint_at,
    entries_of,
    fold,
    inspection,
)
from .outcome import Option, Outcome, outcome_from_data
from .pool import RuntimeClosed
from .rollback.rollback import RollbackPreview, RollbackReport
from .rollback.rollbacks import Rollbacks
from .session import Session
from .sessions import Sessions


class SessionHandle:
    """One session, by its id. Calls that change it need it to be free or driven by this runtime."""

    __slots__ = (
        "__weakref__",
        "_clock",
        "_inbox",
        "_known",
        "_rollbacks",
        "_sessions",
        "_store",
        "id",
    )

    def __init__(
        self,
        session_id: str,
        sessions: Sessions,
        store: Store,
        clock: Clock,
        inbox: Inbox,
        rollbacks: Rollbacks,
        session: Session | None = None,
    ) -> None:
        self.id = session_id
        self._rollbacks = rollbacks
        self._sessions = sessions
        self._inbox = inbox
        self._store = store
        self._clock = clock
        self._known = session

    def __repr__(self) -> str:
        return f"<session {self.id}>"

    def _session(self) -> Session | None:
        """The session in memory, if this runtime drives it or has driven it to its last end."""
        active = self._sessions.active.get(self.id)
        if active is not None:
            self._known = active
        return self._known

    async def send(self, text: str) -> None:
        """Give the session a message; stored when this returns.

        A session that has ended goes on with it; one that is running gets it with its next model
        request.

        Raises:
            SessionOwned: another living process drives the session.
            UsageError: the message is empty, or the session's agent is unknown here.
        """
        self._known = await self._sessions.say(self.id, text)

    async def events(self) -> AsyncGenerator[Event]:
        """Yield what happens, from a little before now up to the session's end.

        A reader that is too slow loses events and is told how many. For a session that has ended
        and is not in memory any more, its end is the only event.
        """
        while True:
            session = await self._driven()
            if session is None:
                break
            async with aclosing(session.channel.events()) as events:
                async for event in events:
                    yield event
            if not session.parked:
                return
        outcome = await self.outcome()
        yield ended(self.id, self._clock.wall_ms(), outcome)

    async def outcome(self) -> Outcome:
        """Wait for the session to end and return how, over all the time it is parked.

        Raises:
            SessionOwned: another process drives it, so its end is not known here.
            Fenced: another process has taken it over meanwhile.
        """
        while (session := await self._driven()) is not None:
            await session.ended.wait()
            if session.parked:
                continue
            if session.error is not None:
                raise session.error
            assert session.outcome is not None  # set before `ended`
            return session.outcome
        told = self._sessions.pool.unstored.get(self.id)
        if told is not None:
            return told
        stored = await self._store.load(self.id)
        state = fold(self.id, entries_of(stored))
        if stored.head.status == "running" or state.outcome is None:
            raise SessionOwned(
                f"session {self.id} is driven by {stored.head.owner}; wait for its outcome there"
            )
        return outcome_from_data(state.outcome)

    async def _driven(self) -> Session | None:
        """Return the session as this runtime drives it, or None where it does not.

        One that is parked is waited for until somebody drives it again; so is one that nobody owns,
        where this runtime has to have room for it first.

        Raises:
            RuntimeClosed: the runtime was left meanwhile.
        """
        pool = self._sessions.pool
        while True:
            session = self._session()
            if session is not None and (self.id in pool.active or not session.parked):
                if not await self._is_over(session):
                    return session
                self._known = None  # what is stored since is newer
            self._known = None  # parked, it needs no memory, also where somebody waits for it
            # Before the look at the store: it may be woken in the middle of that.
            stirred = pool.next_life(self.id)
            if not await self._is_left(await self._store.head(self.id)):
                pool.stirred(self.id)
                if self.id in pool.active or await self._sessions.opened(self.id):
                    continue
                return None
            await stirred.wait()
            if pool.closed:
                raise RuntimeClosed(f"session {self.id} is parked; it goes on in another runtime")

    async def _is_left(self, head: Head) -> bool:
        """Tell whether the session is in the store alone, and will be gone on with."""
        if head.status == "parked":
            return True
        sessions = self._sessions
        if (
            head.status != "running"
            or not sessions.pool.places.admission.leaves
            or self.id in sessions.active
            or head.facts.agent not in sessions.agents
        ):
            return False
        if head.owner is None or owner_is_dead(head.owner):
            return True
        lease_until_ms = (await self._store.owners()).get(head.owner, 0)
        return lease_until_ms <= self._clock.wall_ms() and self.id not in sessions.active

    async def _is_over(self, session: Session) -> bool:
        """Tell whether somebody has gone on with the session since it ended here, or was lost.

        A decision may reopen it and it may end again while nobody asks this handle.
        """
        if self.id in self._sessions.active:
            return False
        if session.outcome is None and session.error is None:
            return False
        try:
            head = await self._store.head(self.id)
        except StoreError:
            return False  # what was seen here is all there is to tell
        return head.epoch != session.journal.epoch

    async def inspect(self) -> Inspection:
        """Return where the session stands; changes nothing, works on any session of the store."""
        session = self._session()
        if session is not None and session.outcome is None and not session.parked:
            head = await self._store.head(self.id)
            return inspection(head, session.state, session.account.spent())
        stored = await self._store.load(self.id)
        return inspection(stored.head, fold(self.id, entries_of(stored)))

    async def checkpoint(self, counter: int | None = None) -> Checkpoint:
        """Return a checkpoint exactly as it was; None: the latest that is stored.

        Raises:
            CheckpointUnknown: there is no such counter, or it is no longer kept.
            UsageError: it is no whole number.
        """
        stored = await self._upto(counter)
        if counter is None:
            counter = stored.head.counter
        return checkpoint_at(self.id, entries_of(stored), counter)

    async def result_text(self, counter: int) -> str:
        """Return the whole text of a result, where its checkpoint keeps only an excerpt.

        Raises:
            CheckpointUnknown: there is no such counter, or it is no longer kept.
            BlobUnknown: retention has freed the text.
            UsageError: it is no whole number, or no result was stored with it.
        """
        stored = await self._upto(counter)
        for entry in entries_of(stored):
            if isinstance(entry, Resulted) and entry.counter == counter:
                if entry.blob is None:
                    return entry.content
                return (await self._store.blob(entry.blob)).decode("utf-8", "replace")
        raise UsageError(f"session {self.id} has no result at checkpoint {counter}")

    async def _upto(self, counter: int | None) -> StoredSession:
        """Load the rows up to a checkpoint, or more of them.

        Raises:
            UsageError: it is no whole number.
        """
        if counter is not None and type(counter) is not int:
            raise UsageError(f"counter={counter!r} is no checkpoint: give its whole number")
        try:
            return await self._store.load(self.id, upto=counter)
        except CheckpointUnknown:
            # Results of calls that ran side by side may share a row, which has the last of their
            # counters; the store cannot tell such a checkpoint from one that is not there.
            stored = await self._store.load(self.id)
            if counter is None or not stored.head.oldest_counter <= counter <= stored.head.counter:
                raise
            return stored

    async def resolve(
        self,
        option: str | Option,
        *,
        call: tuple[int, int] | None = None,
        result: str | None = None,
        args: Mapping[str, Any] | None = None,
        by: str = "",
    ) -> None:
        """Say, as a person who has looked, how a call in doubt or a compensation stands, or what
        becomes of a session that was handed over.

        A session with a call in doubt goes on; after the last word on a compensation, it ends as it
        had ended.

        The decision is durable when this returns. Where another process drives the session, that
        process applies it, within a second or so. A question is decided once; the same decision
        again is no error.

        Args:
            option: one of a dossier's, or its name. ``done``: it took effect, with this result; ``not_done``: it did not, and may be
                called again; ``retry``: it did not, and is run again; ``abandon``: leave it, and
                let nobody try again. Of a compensation that failed or is in doubt: ``compensated``:
                it is undone; ``compensate``: run it again; ``abandon``: leave the effect. Of a
                session that was frozen: ``compensate``: undo it all. Of a session that was handed
                over: ``retry``: the failed step is tried again; ``go_on``: with a message;
                ``cancel``: it is given up.
            call: number and index as in `inspect`; None: that of the option, or the only one.
            result: what the call gave, or a remark for the model; of ``go_on``, the message.
            args: other arguments for the call, where the option takes them.
            by: who decides; kept with the decision.

        Raises:
            AlreadyDecided: it was decided otherwise before; the message says by whom and when.
            UsageError: no such option, or no such question; or it has a command of its own.
            SessionUnknown: the store has no such session.
        """
        if isinstance(option, Option):
            name, call = option_name(option), option.call if call is None else call
        else:
            name = option
        said = Resolve(name, call, result, None if args is None else as_json(args))
        self._known = await self._inbox.decide(self.id, said, by)

    @overload
    async def rollback(
        self,
        to: int | None = None,
        mode: RollbackMode = "full",
        *,
        dry_run: Literal[True],
        force: bool = False,
        undo: bool = False,
        by: str = "",
    ) -> RollbackPreview: ...
    @overload
    async def rollback(
        self,
        to: int | None = None,
        mode: RollbackMode = "full",
        *,
        dry_run: Literal[False] = False,
        force: bool = False,
        undo: bool = False,
        by: str = "",
    ) -> RollbackReport: ...
    async def rollback(
        self,
        to: int | None = None,
        mode: RollbackMode = "full",
        *,
        dry_run: bool = False,
        force: bool = False,
        undo: bool = False,
        by: str = "",
    ) -> RollbackPreview | RollbackReport:
        """Take the session back to a checkpoint; how that ended is stored when this returns.

        Only what the session itself changed is taken back. What others changed as well is left alone
        and reported. Nothing else happens where the files cannot go back: then the report says
        ``failed``, and the session is as it was. A session that runs comes to the end of its step
        first. After ``full`` and ``context`` it rests, as `Stopped`, and goes on by `send`.

        Args:
            to: the checkpoint's counter; 0 is the beginning. A ``prune`` may leave it out.
            mode: ``full``: files and conversation. ``soft``: files; the model is told. ``context``:
                the conversation; the model is told which files differ. ``prune``: what the
                conversation has up to there is summed up.
            dry_run: say what it would do, and change nothing.
            force: also where others changed a path of the session's.
            undo: take the last rollback back; ``to`` and ``mode`` are those of that one.
            by: who asks; kept with it.

        Raises:
            UsageError: no such mode or target, or nothing that can be taken back.
            CheckpointUnknown: there is no such checkpoint, or it is kept no more.
            SessionOwned: another living process drives the session.
        """
        if dry_run:
            return await self._rollbacks.preview(self.id, to, mode, force=force, undo=undo)
        self._known, report = await self._rollbacks.begin(
            self.id, to, mode, force=force, undo=undo, by=by
        )
        return report

    async def effects(self) -> list[EffectRecord]:
        """Return what the session has written outside, in the order in which it was begun.

        Read from the store: what is under way shows once it is stored. See `EffectRecord`.
        """
        return records_of(entries_of(await self._store.load(self.id)))

    async def cancel(self) -> Outcome:
        """End all work of the session and of its sub-sessions now; returns once that is stored.

        Results that are there stay. Calls that were running are answered "interrupted", and those
        not safe to repeat are in doubt. A session that has completed stays completed.
        """
        self._known = await self._sessions.cancel(self.id)
        return await self.outcome()
