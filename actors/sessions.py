"""The sessions of the store as this runtime drives them: started, opened, spoken to, cancelled."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager

import anyio
import msgspec
from msgspec import Struct

from ..stores.base import (
    Claim,
    Create,
    Facts,
    Head,
    HeadQuery,
    SessionUnknown,
    Store,
    StoreFailed,
)
from ..stores.liveness import owner_is_dead
from ..stores.records import (
    Answered,
    JournalEntry,
    OnFailure,
    Opened,
    Said,
    Spent,
    ToolCall,
    Woken,
    encode_row,
)
from ..supervisor.errors import UsageError
from .accounts import NOTHING, Book
from .agent import GUARD, InstalledAgent
from .budget import Account, Budget, budget_from
from .events import SessionResumed, SessionStarted, SessionWoken
from .handover.wording import encodable
from .inspection import entries_of, fold
from .journal import Acknowledgement, Blob
from .outcome import outcome_from_data
from .pool import Pool
from .services import Services
from .session import Session
from .state import SessionState
from .work import Cut

TITLE_MAX = 80


class NotGuarded(UsageError):
    """A scope has an unfinished call of a tool that is not guarded in this runtime."""


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
        self._locks: dict[str, tuple[anyio.Lock, int]] = {}
        self.strays: set[str] = set()
        self.stand_ins: dict[str, InstalledAgent] = {}
        """Agents without tools, by session: for what needs none, where its own agent is unknown."""

    @property
    def agents(self) -> frozenset[str]:
        """Names of the agents whose sessions may run here."""
        return frozenset(self._agents)

    async def opened(self, session_id: str) -> bool:
        """Wait for whoever opens this session here at the moment; tell whether somebody did.

        Until that is done the store says that it is driven here, and it is not active yet.
        """
        if session_id not in self._locks:
            return False
        async with self._lock(session_id):
            return True

    # ------------------------------------------------------------ starting and opening

    def installed(self, name: str) -> InstalledAgent:
        """Return an agent by name.

        Raises:
            UsageError: this runtime has no such agent.
        """
        if name not in self._agents:
            known = ", ".join(sorted(self._agents.keys() - {GUARD})) or "none"
            raise UsageError(f"agent {name!r} is unknown here; agents= has: {known}")
        return self._agents[name]

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

        Args:
            calls: what a program calls, in place of a model.

        Raises:
            UsageError: no such agent, an empty task, or a budget that cannot be held.
            SessionExists: the id is taken.
        """
        installed = self.installed(agent)
        check_task(task)
        check_budget(installed, budget)
        text = encodable(task)
        opened = Opened(
            agent,
            facts.created_at_ms,
            facts.working_directory,
            budget.limits(),
            facts.parent,
            facts.group,
            facts.tenant,
            self._on_failure(facts.parent, on_failure),
            self._services.workspaces.on and self._kept(facts.parent, snapshots),
        )
        entries: list[JournalEntry] = [opened, Said(1, text)]
        if calls:
            entries.append(Answered(2, calls=calls, ledger=True))
        facts = msgspec.structs.replace(facts, title=text[:TITLE_MAX])
        create = Create(
            session_id=session_id,
            owner=self._services.ownership.owner,
            facts=facts,
            body=encode_row(entries),
        )
        with self._stray_if_cut_off(session_id):
            done = await self._services.checkpoint.commit(create)
        account = self._open_account(session_id, budget, facts)
        state = fold(session_id, entries)
        session = Session(
            self._services, installed, state, account, facts, epoch=done.epoch, seq=done.seq
        )
        self.pool.activate(session)
        session.emit(SessionStarted(session_id=session_id, at_ms=session.now_ms(), agent=agent))
        await self.pool.wake(session)
        return session

    def _on_failure(self, parent: str | None, given: OnFailure) -> OnFailure:
        """A sub-session is a part of its parent's task: what freezes that freezes this."""
        above = self.active.get(parent or "")
        opened = above.state.opened if above is not None else None
        return opened.on_failure if opened is not None and given == "undo" else given

    def _kept(self, parent: str | None, given: bool) -> bool:
        """A sub-session works where its parent does, and is kept where that is."""
        above = self.active.get(parent or "")
        opened = above.state.opened if above is not None else None
        return given or (opened is not None and opened.snapshots)

    @contextmanager
    def _stray_if_cut_off(self, session_id: str) -> Generator[None]:
        """Note a session that may be ours in the store although its caller never learned of it."""
        try:
            yield
        except (StoreFailed, anyio.get_cancelled_exc_class()):
            self.strays.add(session_id)
            raise

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
                session = await self._load(session_id, dead, by)
                self.pool.activate(session)
                await self.pool.wake(session)
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
            await self.pool.wake(session)

    async def change(
        self, session_id: str, make: Callable[[Session], Awaitable[Change]], by: str = "message"
    ) -> bool:
        """Change a session, active or not; durable when this returns. False: nothing was changed.

        Args:
            make: returns the change, from the session as it is then; an empty one is fine.

        Raises:
            SessionOwned: a living owner drives it, in another process.
            UsageError: its agent is unknown here.
        """
        async with self._lock(session_id):
            session = await self._awake(session_id, by)
            try:
                change = await make(session)
            except Exception:
                await self._apply(session, Change([]))
                raise
            except anyio.get_cancelled_exc_class():
                self.strays.add(session_id)  # it may be ours now, and nobody else would look
                raise
            await self._apply(session, change)
            return bool(change.entries)

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
        await stored.wait()
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
                session = await self._load(session_id, frozenset(), by)
                if not session.state.unwound.ends:
                    return session
                # It was killed while its effects were undone; it ends before anything else.
                self.pool.activate(session)
                await self.pool.wake(session)
            elif session.takes_messages:
                return session
            # It is ending: wait until it has let go, then take it up again.
            await session.retired.wait()

    async def _load(self, session_id: str, dead: frozenset[str], by: str = "due") -> Session:
        services = self._services
        head = await services.store.head(session_id)
        installed = self.stand_ins.get(session_id) or self.installed(head.facts.agent)
        if head.owner is not None and owner_is_dead(head.owner):
            dead |= {head.owner}  # its lease may last; it cannot come back
        if head.facts.parent is not None:
            await self._parent_first(head.facts.parent, dead)
        # Read it first: what cannot be read here stays with whoever can.
        stored = await services.store.load(session_id)
        if installed.is_guard:
            check_guarded(installed, fold(session_id, entries_of(stored)))
        claim = Claim(
            session_id=session_id,
            owner=services.ownership.owner,
            now_ms=services.clock.wall_ms(),
            dead=dead,
        )
        with self._stray_if_cut_off(session_id):
            done = await services.checkpoint.commit(claim)
            if done.seq != stored.head.seq:
                stored = await services.store.load(session_id)
            state = fold(session_id, entries_of(stored))
            limits = state.opened.limits if state.opened else {}
            account = self._open_account(
                session_id, budget_from(limits), stored.head.facts, state.spent
            )
            await self._count_children(session_id, account)
        session = Session(
            services,
            installed,
            state,
            account,
            stored.head.facts,
            epoch=done.epoch,
            seq=stored.head.seq,
        )
        session.emit(
            SessionResumed(session_id=session_id, at_ms=session.now_ms(), counter=state.counter)
        )
        if state.status == "parked":
            self._woken(session, by)
        return session

    def _woken(self, session: Session, by: str) -> None:
        """Note that a parked session goes on, and which of its waits have ended."""
        due_at_ms = session.facts.due_at_ms or 0
        is_due = self._services.steady.left_s(due_at_ms) <= 0
        session.journal.ride(Woken(due_at_ms if is_due else 0))
        session.emit(SessionWoken(session_id=session.id, at_ms=session.now_ms(), by=by))

    async def _parent_first(self, parent: str, dead: frozenset[str]) -> None:
        """A sub-session lives within the limits of its parent, so that account must be open."""
        try:
            head = await self._services.store.head(parent)
        except SessionUnknown:
            return
        if head.status == "running":
            await self.resume(parent, dead)

    async def _count_children(self, session_id: str, account: Account) -> None:
        query = HeadQuery(parent=session_id)
        async for head in each_head(self._services.store, query):
            account.adopt(head.facts.spent)

    def _open_account(
        self, session_id: str, budget: Budget, facts: Facts, own: Spent = NOTHING
    ) -> Account:
        return self._book.open(
            session_id,
            budget,
            parent=facts.parent,
            group=facts.group,
            tenant=facts.tenant,
            own=own,
            counted=facts.spent,
        )

    @asynccontextmanager
    async def _lock(self, session_id: str) -> AsyncGenerator[None]:
        """One opening of a session at a time; the lock goes when nobody wants it."""
        lock, users = self._locks.get(session_id, (anyio.Lock(), 0))
        self._locks[session_id] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[session_id]
            if users == 1:
                del self._locks[session_id]
            else:
                self._locks[session_id] = (lock, users - 1)

    async def cancel(self, session_id: str) -> Session:
        """Cancel a session and its sub-sessions; returns once that is stored."""
        session = self.active.get(session_id)
        if session is None:
            async with self._lock(session_id):
                session = self.active.get(session_id)  # somebody else was faster
                if session is None:
                    session = await self._load(session_id, frozenset(), "cancel")
                    if session.state.status in ("completed", "stopped"):
                        return await self._put_back(session)
                    self.pool.activate(session)
                    session.cut_off(Cut("cancelled"))
                    await self.pool.wake(session)
        for child in tuple(session.children):
            self.pool.cancel_soon(child)
        session.cut_off(Cut("cancelled"))
        await session.ended.wait()
        return session


async def each_head(store: Store, query: HeadQuery) -> AsyncGenerator[Head]:
    """Yield every head a query finds, page by page."""
    while True:
        page = await store.heads(query)
        for head in page:
            yield head
        if len(page) < query.limit:
            return
        query = msgspec.structs.replace(query, after=page[-1].session_id)


def check_task(text: str) -> None:
    """Refuse a task or message without content.

    Raises:
        UsageError: it is no text, or there is nothing in it.
    """
    if not isinstance(text, str) or not text.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"task {text!r} is empty; say what the agent should do")


def check_guarded(installed: InstalledAgent, state: SessionState) -> None:
    """Refuse to go on with a scope whose unfinished calls are of tools that are not guarded here.

    Raises:
        NotGuarded: one is; whoever guards it goes on with the scope.
    """
    unsettled = {call.name for turn in state.conversation.open for call in turn.answered.calls}
    unsettled |= {entry.tool for entry in state.ledger.open.values()}
    for name in sorted(unsettled):
        if name not in installed.toolbox:
            raise NotGuarded(
                f"its tool {name!r} is not guarded here; give it in Runtime(guarded=[...])"
            )


def check_budget(installed: InstalledAgent, budget: Budget) -> None:
    """Refuse what is no budget, and a limit in dollars on a model that does not know its prices.

    Raises:
        UsageError: such a limit could not be held.
    """
    if not isinstance(budget, Budget):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"budget={budget!r} is no Budget; give Budget(...)")
    if budget.cost_usd is not None and getattr(installed.model, "prices", None) is None:
        raise UsageError(
            f"budget cost_usd={budget.cost_usd:g} cannot be held: the model of agent "
            f"{installed.name!r} has no prices; give it prices=Prices(...)"
        )
