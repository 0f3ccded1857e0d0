"""The sessions of the store as this runtime drives them: started, opened, spoken to, cancelled."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import anyio
import msgspec
from msgspec import Struct

from ..stores.base import Create, Facts, StoreFailed
from ..stores.records import (
    Answered,
    JournalEntry,
    OnFailure,
    Opened,
    Said,
    ToolCall,
    encode_row,
)
from .accounts import Book
from .admission import SessionsHealth
from .agent import InstalledAgent
from .beginning import check_budget, check_task
from .budget import Budget, limits_of
from .events import SessionStarted
from .handover.wording import encodable
from .inspection import fold
from .journal import Acknowledgement, Blob
from .opening import Opening
from .outcome import outcome_from_data
from .pool import Pool
from .services import Services
from .session import Session
from .taking_over import TakingOver
from .work import Cut

TITLE_MAX = 80


class Change(Struct, frozen=True):
    """Entries for a session, and the posts they apply; ``reopens``: it goes on if it had ended."""

    entries: list[JournalEntry]
    taken: tuple[str, ...] = ()
    reopens: bool = False
    blobs: tuple[Blob, ...] = ()


class Sessions:
    """Opens sessions for the pool, one opening of each at a time."""

    def __init__(
        self,
        services: Services,
        book: Book,
        agents: Mapping[str, InstalledAgent],
        pool: Pool,
    ) -> None:
        self._services = services
        self._book = book
        self._agents = agents
        self.pool = pool
        self.active = pool.active
        self._openings: dict[str, Opening] = {}
        self.taking = TakingOver(services, book, agents, partial(self.resume, by="due"))

    @property
    def agents(self) -> frozenset[str]:
        """Names of the agents whose sessions may run here."""
        return frozenset(self._agents)

    def health(self) -> SessionsHealth:
        """Return how many sessions there are here, and were."""
        pool = self.pool
        return SessionsHealth(
            active=pool.places.admission.held,
            in_memory=len(pool.active),
            parked=pool.parked,
            woken=self.taking.woken,
            ended=pool.ended,
        )

    async def opened(self, session_id: str) -> bool:
        """Wait for whoever opens this session here at the moment; tell whether somebody did.

        Until that is done the store says that it is driven here, and it is not active yet.
        """
        if session_id not in self._openings:
            return False
        async with self._lock(session_id):
            return True

    # ------------------------------------------------------------ starting and opening

    async def start(
        self,
        session_id: str,
        agent: str,
        task: str,
        budget: Budget,
        facts: Facts,
        on_failure: OnFailure = "undo",
        *,
        snapshots: bool = False,
        calls: tuple[ToolCall, ...] = (),
    ) -> Session:
        """Store a new session and start it; it is durable when this returns.

        Where more sessions wait than are kept in memory, it waits before anything is stored.

        Args:
            calls: what a program calls, in place of a model.

        Raises:
            UsageError: no such agent, an empty task, or a budget that cannot be held.
            SessionExists: the id is taken.
            RuntimeClosed: the runtime was left while this waited.
        """
        installed = self.taking.installed(agent)
        check_task(task)
        check_budget(installed, budget)
        # Once it is stored anybody may speak to it: who does so now waits until it is active.
        async with self.pool.places.starting(installed, facts), self._lock(session_id):
            text = encodable(task)
            opened = self._opening(agent, budget, facts, on_failure, snapshots=snapshots)
            entries: list[JournalEntry] = [opened, Said(1, text)]
            if calls:
                entries.append(Answered(2, calls=calls, ledger=True))
            facts = msgspec.structs.replace(facts, title=text[:TITLE_MAX])
            session = await self._create(session_id, installed, entries, budget, facts)
            self.pool.activate(session)
            at_ms = session.now_ms()
            session.emit(SessionStarted(session_id=session_id, at_ms=at_ms, agent=agent))
            await self.pool.places.wake(session)
        return session

    def _opening(
        self, agent: str, budget: Budget, facts: Facts, on_failure: OnFailure, *, snapshots: bool
    ) -> Opened:
        if facts.parent is not None:
            on_failure = self._on_failure(facts.parent, on_failure)
            snapshots = self._kept(facts.parent, snapshots)
        return Opened(
            agent,
            facts.created_at_ms,
            facts.working_directory,
            limits_of(budget),
            facts.parent,
            facts.group,
            facts.tenant,
            on_failure,
            self._services.workspaces.on and snapshots,
            self._services.policies.file,
        )

    async def _create(
        self,
        session_id: str,
        installed: InstalledAgent,
        entries: list[JournalEntry],
        budget: Budget,
        facts: Facts,
    ) -> Session:
        services = self._services
        create = Create(
            session_id=session_id,
            owner=services.ownership.owner,
            facts=facts,
            body=encode_row(entries),
        )
        try:
            done = await services.checkpoint.commit(create)
        except (StoreFailed, anyio.get_cancelled_exc_class()):
            self.taking.strays.add(session_id)  # it may be stored all the same
            raise
        account = self.taking.open_account(session_id, budget, facts)
        state = fold(session_id, entries)
        return Session(services, installed, state, account, facts, epoch=done.epoch, seq=done.seq)

    def _on_failure(self, parent: str, given: OnFailure) -> OnFailure:
        """A sub-session is a part of its parent's task: what freezes that freezes this."""
        above = self.active.get(parent)
        opened = above.state.opened if above is not None else None
        return opened.on_failure if opened is not None and given == "undo" else given

    def _kept(self, parent: str, given: bool) -> bool:
        """A sub-session works where its parent does, and is kept where that is."""
        above = self.active.get(parent)
        opened = above.state.opened if above is not None else None
        return given or (opened is not None and opened.snapshots)

    async def resume(
        self, session_id: str, dead: frozenset[str] = frozenset(), *, by: str = "due"
    ) -> Session:
        """Take a running or parked session of the store over and go on with it.

        Args:
            by: why it is woken, where it is parked; see `SessionWoken`.

        Raises:
            SessionOwned: a living owner drives it.
            UsageError: its agent is unknown here.
        """
        async with self._lock(session_id):
            session = self.active.get(session_id)
            if session is None:
                session = await self.taking.load(session_id, dead, by)
                self.pool.activate(session)
                await self.pool.places.wake(session)
            return session

    async def say(self, session_id: str, text: str) -> Session:
        """Give a session a message of the user; durable when this returns.

        A session that has ended goes on with it.

        Raises:
            SessionOwned: a living owner drives it, in another process.
            UsageError: an empty message, or its agent is unknown here.
        """
        check_task(text)
        async with self._lock(session_id):
            session = await self._awake(session_id)
            n = session.journal.take_n()
            said = Said(n, encodable(text))
            await self._take_up(session, session.journal.append(said))
        return session

    async def _take_up(self, session: Session, stored: Acknowledgement) -> None:
        """Go on with a session once what was given to it is durable."""
        if session.id in self.active:
            await stored.wait()
            return
        self.pool.activate(session)
        try:
            await stored.wait()
        finally:
            # Also where the caller has gone away: what was given is stored, or will be.
            await self.pool.places.wake(session)

    async def change(
        self, session_id: str, make: Callable[[Session], Awaitable[Change]], by: str = "message"
    ) -> bool:
        """Change a session, active or not; durable when this returns. False: nothing was changed.

        Args:
            make: returns the change, from the session as it is then; an empty one is fine. It is
                asked again where the session came to rest while it was at it: the last one counts.

        Raises:
            SessionOwned: a living owner drives it, in another process.
            UsageError: its agent is unknown here.
        """
        async with self._lock(session_id):
            while True:
                session = await self._awake(session_id, by)
                was_active = session.id in self.active
                change = await self._made(session, make, free=not was_active)
                if was_active and change.entries and not session.takes_messages:
                    continue  # it has ended or parked meanwhile, and is to be taken up first
                if change.entries or not was_active:
                    await self._apply(session, change)
                return bool(change.entries)

    async def _made(
        self, session: Session, make: Callable[[Session], Awaitable[Change]], *, free: bool
    ) -> Change:
        try:
            return await make(session)
        except Exception:
            if free:
                await self._apply(session, Change([]))
            raise
        except anyio.get_cancelled_exc_class():
            self.taking.strays.add(session.id)  # it may be ours now, and nobody else would look
            raise

    async def _apply(self, session: Session, change: Change) -> None:
        entries, taken, is_active = change.entries, change.taken, session.id in self.active
        if is_active and not entries:
            return
        if is_active or change.reopens or session.state.status == "running":
            facts = session.facts_after(entries)
            stored = session.journal.append(*entries, taken=taken, blobs=change.blobs, facts=facts)
            await self._take_up(session, stored)
        else:
            await self._put_back(session, *entries, taken=taken, blobs=change.blobs)

    async def _put_back(
        self,
        session: Session,
        *entries: JournalEntry,
        taken: tuple[str, ...] = (),
        blobs: tuple[Blob, ...] = (),
    ) -> Session:
        """Let go of a session that has ended and stays so."""
        status, facts = session.state.status, session.facts
        stored = session.journal.append(
            *entries, blobs=blobs, status=status, facts=facts, taken=taken
        )
        try:
            with self.taking.stray_if_cut_off(session.id):
                await stored.wait()
        finally:
            self._book.close(session.id)
        if session.state.outcome is not None:
            session.outcome = outcome_from_data(session.state.outcome)
        session.ended.set()
        return session

    async def _awake(self, session_id: str, by: str = "message") -> Session:
        """Return a session that takes entries: the active one, or one just loaded."""
        while True:
            session = self.active.get(session_id)
            if session is None:
                session = await self.taking.load(session_id, frozenset(), by)
                if not session.state.unwound.ends:
                    return session
                # It was killed while its effects were undone; it ends before anything else.
                self.pool.activate(session)
                await self.pool.places.wake(session)
            elif session.takes_messages:
                return session
            # It is ending: wait until it has let go, then take it up again.
            await session.retired.wait()

    def _lock(self, session_id: str) -> Opening:
        """One opening of a session at a time."""
        opening = self._openings.get(session_id)
        if opening is None:
            futures = self._services.checkpoint
            opening = self._openings[session_id] = Opening(self._openings, session_id, futures)
        return opening

    async def cancel(self, session_id: str) -> Session:
        """Cancel a session and its sub-sessions; returns once that is stored."""
        session = self.active.get(session_id)
        if session is None:
            async with self._lock(session_id):
                session = self.active.get(session_id)  # somebody else was faster
                if session is None:
                    session = await self.taking.load(session_id, frozenset(), "cancel")
                    if session.state.status in ("completed", "stopped"):
                        return await self._put_back(session)
                    self.pool.activate(session)
                    session.cut_off(Cut("cancelled"))
                    await self.pool.places.wake(session)
        for child in tuple(session.children):
            self.pool.cancel_soon(child)
        self.pool.places.cut_off(session, Cut("cancelled"))
        await session.ended.wait()
        return session
