"""The active sessions and their actors: woken, restarted, given up, and let go.

All sessions live below one dynamic supervisor. A session has a task only while it takes its turn;
one that waits for its place has none yet, and one that has ended is nothing but its rows in the store.
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial

import anyio
import msgspec
from anyio import to_thread

from ..stores.base import Fenced, Forget, Pack, Rewrite, StoreError, StoreFailed
from ..supervisor import (
    ActorGone,
    AlreadyStarted,
    ChildNotFound,
    ChildSpec,
    Context,
    RestartRule,
    RestartTable,
    RestartType,
    Supervisor,
    SupervisorGone,
    describe,
)
from ..supervisor.errors import ErrorClass, UkemiError
from ..supervisor.exits import ExitReason
from ..supervisor.policy_sessions import RestartPolicy
from .accounts import Book
from .admission import Admission
from .events import AlertRaised, CallStuck, SessionRestarted
from .handover.dossier import Trouble
from .handover.file import place_of, write_dossier
from .life import Life
from .nothing import own
from .outcome import HandedOver, Outcome
from .places import Places
from .retention import PACKED_ROWS_MIN, ROWS_MIN, oldest_kept, retain
from .services import Services
from .session import Session
from .work import Cut

TIDY_S_MAX = 4.0
"""Seconds that applying the retention may keep a runtime from being left."""

ALERT_EVERY_S = 60.0
"""Seconds between alerts about sessions of one agent that die."""

NEVER_RESTARTED = frozenset({ErrorClass.PERMISSION_DENIED, ErrorClass.CANCELLED})


class RuntimeClosed(UkemiError):
    """The runtime was left while the session was unfinished; another one can resume it."""


class _Turn:
    """Begins a life of a session; a bound method with its argument would take four times as much."""

    __slots__ = ("_pool", "_session")

    def __init__(self, pool: "Pool", session: Session) -> None:
        self._pool = pool
        self._session = session

    def __call__(self, ctx: Context[object]) -> Awaitable[None]:
        return self._pool.live(self._session, ctx)


class Pool:
    """Every session this runtime drives at the moment.

    Args:
        supervisor: the dynamic one of the sessions.
    """

    def __init__(self, services: Services, book: Book, supervisor: Supervisor) -> None:
        self._services = services
        self._book = book
        self._supervisor = supervisor
        self._restarts: tuple[RestartPolicy, RestartTable] | None = None
        self.active: dict[str, Session] = {}
        admission = Admission(services.clock, services.policies, services.checkpoint)
        self.places = Places(admission, self.active, self._begin, self._begin_soon)
        self.unstored: dict[str, Outcome] = {}
        """Ends that were told here and that the store did not take: it says that those sessions run."""
        self.closing = self.closed = False
        self.parked = self.ended = 0
        """How many sessions were parked and came to their end here."""
        self._awaited: dict[str, anyio.Event] = {}

    def specs(self) -> Iterable[ChildSpec]:
        """The children of the supervisor at each of its starts: every session that has its turn."""
        return [
            self._spec(session)
            for session in self.active.values()
            if not self.places.waits(session.id)
        ]

    def activate(self, session: Session) -> None:
        """Drive a session from here on; its parent, where that is active too, takes it along."""
        self.active[session.id] = session
        self.unstored.pop(session.id, None)
        self.stirred(session.id)
        parent = self.active.get(session.facts.parent or "")
        if parent is not None:
            parent.children = own(parent.children)
            parent.children[session.id] = None
            session.above = parent

    # ------------------------------------------------------------ beginning

    def _begin_soon(self, session: Session) -> None:
        """Start a session's actor from where nobody may wait."""
        if self.closing:
            return
        try:
            self._supervisor.start_child_soon(self._spec(session))
        except AlreadyStarted:
            self.start_aside(f"{session.id}!wake", partial(self._begin_aside, session))
        except SupervisorGone:
            pass  # it is being restarted, and will ask for `specs` itself

    async def _begin_aside(self, session: Session, ctx: Context[object]) -> None:
        await self._begin(session)

    async def _begin(self, session: Session) -> None:
        """Start the session's actor, once the one of its last turn is gone."""
        while True:
            try:
                self._supervisor.start_child_soon(self._spec(session))
            except AlreadyStarted:
                await self._supervisor.wait_child(session.id)
            except SupervisorGone:
                return  # it is being restarted, and will ask for `specs` itself
            else:
                return

    def _spec(self, session: Session) -> ChildSpec:
        return ChildSpec(
            id=session.id,
            start=_Turn(self, session),
            restart=self._restart_table(),
            mailbox_max=1,
        )

    def _restart_table(self) -> RestartTable:
        """Return the table of the policy, made anew when the policy has changed."""
        policy = self._services.policies.current.restarts
        if self._restarts is not None and self._restarts[0] is policy:
            return self._restarts[1]
        again = RestartRule(
            restart=True, delay_s_first=policy.delay_s_first, delay_s_max=policy.delay_s_max
        )
        table = {each: again for each in ErrorClass if each not in NEVER_RESTARTED}
        self._restarts = (policy, table)
        return table

    async def live(self, session: Session, ctx: Context[object]) -> None:
        """One life of the session's actor, and what follows the last one."""
        session.lives += 1
        life = session.lives
        if life > 1:
            await self._recover(session)
        if session.state.status == "parked" and session.lives > 1:
            session.parked = True  # the last life died between storing that and telling it
            session.ended.set()
        if session.outcome is None and session.error is None and not session.parked:
            await Life(session).run(ctx)
        if session.lives != life:
            return  # given up while a body did not end: a later life has the session
        if not session.parked and session.journal.seq >= ROWS_MIN:
            await self._tidy(session)
        self._retire(session)
        if session.parked:
            self.parked += 1
            self._services.parked(session.id, session.facts.due_at_ms)

    async def _recover(self, session: Session) -> None:
        """Store what the last life could not, before anything else happens."""
        why = f"life {session.lives} of its actor"
        session.emit(SessionRestarted(session_id=session.id, at_ms=session.now_ms(), reason=why))
        try:
            await session.journal.recover(await self._services.store.head(session.id))
        except Fenced as error:
            session.lose(error)
            return
        if session.final is not None and session.outcome is None and await self._over(session):
            session.announce(session.final)  # it died between storing its end and telling it

    async def _over(self, session: Session) -> bool:
        return (await self._services.store.head(session.id)).status != "running"

    def _retire(self, session: Session) -> None:
        """The session has ended, or is another's now: keep nothing of it."""
        if self.active.get(session.id) is session:
            del self.active[session.id]
        self._book.close(session.id)
        for child in session.children:
            self.cancel_soon(child)
        self.ended += session.outcome is not None
        session.retired.set()
        session.release()
        self.places.leave(session.id)

    async def _tidy(self, session: Session) -> None:
        kept = self._services.policies.current.storage.checkpoints_kept
        if session.error is not None or session.installed.is_guard:
            return  # it is another's, or its old results are what equal calls are given
        try:
            # The runtime may be left as soon as the outcome is told.
            with anyio.move_on_after(TIDY_S_MAX, shield=True):
                write = await self._retention(session, kept)
                if write is not None:
                    await self._services.checkpoint.commit(write)
                if session.journal.seq >= PACKED_ROWS_MIN and not isinstance(write, Rewrite):
                    await self._services.checkpoint.commit(Pack(session_id=session.id))
        except StoreError:
            return  # somebody goes on with it already, or the store fails: nothing is lost

    async def _retention(self, session: Session, kept: int | None) -> Rewrite | Forget | None:
        """Return what gives up the old checkpoints of a session that has ended, if anything does."""
        state, journal = session.state, session.journal
        if not state.surplus:
            oldest = oldest_kept(state.counter, kept)
            forget = Forget(
                session_id=session.id, epoch=journal.epoch, seq=journal.seq, oldest_counter=oldest
            )
            return forget if oldest > 1 else None
        stored = await self._services.store.load(session.id)
        return retain(stored, kept, state if journal.seq == stored.head.seq else None)

    # ------------------------------------------------------------ ending

    def cancel_soon(self, session_id: str) -> None:
        """Cut an active session off; its life settles what is open."""
        session = self.active.get(session_id)
        if session is not None and not self.closing:
            self.places.cut_off(session, Cut("cancelled"))

    def give_up_body(self, session_id: str, what: str) -> None:
        """A body does not end: leave it behind, so that the session can go on."""
        session = self.active.get(session_id)
        if session is not None:
            session.emit(CallStuck(session_id=session_id, at_ms=session.now_ms(), tool=what))
        try:
            self._supervisor.kill_child(session_id, f"{what} did not end when it was cancelled")
        except (ChildNotFound, SupervisorGone):
            return

    def gave_up(self, session_id: str, reason: ExitReason) -> None:
        """The supervisor restarts this session no more: hand it over."""
        session = self.active.get(session_id)
        if session is None or self.closing:
            return
        agent = session.installed.name
        text = f"agent {agent}: sessions die: {describe(reason)} (first: session {session_id})"
        if self._services.alerts.due(f"restarts {agent}", text, ALERT_EVERY_S, session_id):
            session.emit(AlertRaised(session_id=session_id, at_ms=session.now_ms(), text=text))
        self.start_aside(f"{session_id}!", partial(self._bury, session, reason))

    async def _bury(self, session: Session, reason: ExitReason, ctx: Context[object]) -> None:
        """Store that a session is handed over since its actor keeps dying; tell it in any case."""
        trouble = Trouble(
            reason="restarts", detail=describe(reason), step="the session's own actor"
        )
        try:
            await session.journal.recover(await self._services.store.head(session.id))
            outcome = session.final
            if outcome is None or not await self._over(session):
                life = Life(session)
                await life.settle("the session is handed over to a person")
                outcome = await life.unwind(session.handed_over(trouble))
                await session.end(outcome).wait()
        except Exception as error:  # noqa: BLE001 - whatever fails here, the outcome is told
            outcome = await self._put_aside(session, session.unstored(trouble, error))
            self.unstored[session.id] = outcome
            session.journal.abandon(StoreFailed(f"session {session.id}: {error}"))
        session.announce(outcome)
        self._retire(session)

    async def _put_aside(self, session: Session, outcome: HandedOver) -> HandedOver:
        """Write a handover that the store does not take beside it, and say where; tell of it anyhow."""
        where = "it is in no file"
        if self._services.store_file is not None:
            place = place_of(self._services.store_file, session.id)
            dossier = msgspec.structs.replace(outcome.dossier, file=str(place))
            named = msgspec.structs.replace(outcome, dossier=dossier)
            facts = session.facts
            write = partial(write_dossier, place, session.id, facts.agent, facts.title, named)
            try:
                await to_thread.run_sync(write)
            except OSError as error:
                where = f"it could not be written to {place}: {error}"
            else:
                outcome, where = named, f"it is in {place}"
        text = f"session {session.id}: the store does not take its dossier; {where}"
        if self._services.alerts.due(f"unstored {session.id}", text, ALERT_EVERY_S, session.id):
            session.emit(AlertRaised(session_id=session.id, at_ms=session.now_ms(), text=text))
        return outcome

    # ------------------------------------------------------------ waiting for parked ones

    @property
    def awaited(self) -> list[str]:
        """Parked sessions whose next life, or whose end, somebody waits for."""
        return list(self._awaited)

    def next_life(self, session_id: str) -> anyio.Event:
        """Return what is set once the session is driven again, here or elsewhere."""
        return self._awaited.setdefault(session_id, anyio.Event())

    def stirred(self, session_id: str) -> None:
        """A parked session is parked no more, whoever drives it; nobody waits for that now."""
        event = self._awaited.pop(session_id, None)
        if event is not None:
            event.set()

    def close(self) -> None:
        """The runtime is gone: tell whoever still waits for a session of it."""
        self.closed = True
        self.places.admission.close(
            RuntimeClosed("the runtime was left before the session was started")
        )
        for session_id in self.awaited:
            self.stirred(session_id)
        for session in tuple(self.active.values()):
            if not session.ended.is_set():
                session.lose(
                    RuntimeClosed(
                        f"the runtime was left before session {session.id} ended; "
                        "it goes on where a runtime opens its store again"
                    )
                )

    def start_aside(self, name: str, start: Callable[[Context[object]], Awaitable[object]]) -> None:
        """Run a short job beside the sessions, once; nothing where the pool is not running."""
        spec = ChildSpec(id=name, start=start, restart=RestartType.TEMPORARY)
        try:
            self._supervisor.start_child_soon(spec)
        except (AlreadyStarted, SupervisorGone, ActorGone):
            return
