"""The sessions this runtime owns: started, opened from the store, woken, and let go.

All sessions live below one dynamic supervisor. A session has a task only while it takes its turn;
one that has ended is nothing but its rows in the store.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial

import anyio
import msgspec

from ..stores.base import (
    Claim,
    Create,
    Facts,
    Fenced,
    Head,
    HeadQuery,
    SessionUnknown,
    Store,
    StoreError,
    StoreFailed,
)
from ..stores.liveness import owner_is_dead
from ..stores.records import JournalEntry, Opened, Said, Spent, encode_row
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
from ..supervisor.errors import ErrorClass, UkemiError, UsageError
from ..supervisor.exits import ExitReason
from ..supervisor.policy import RestartPolicy
from .accounts import NOTHING, Book
from .agent import InstalledAgent
from .budget import Account, Budget, budget_from
from .dossier import Trouble
from .events import MessageReceived, SessionRestarted, SessionResumed, SessionStarted
from .inspection import entries_of, fold
from .life import Life
from .outcome import outcome_from_data
from .retention import ROWS_MIN, retain
from .services import Services
from .session import Session
from .wording import encodable
from .work import Cut

TITLE_MAX = 80
NEVER_RESTARTED = frozenset({ErrorClass.PERMISSION_DENIED, ErrorClass.CANCELLED})


class RuntimeClosed(UkemiError):
    """The runtime was left while the session was unfinished; it can be resumed."""


class Sessions:
    """Every session this runtime drives.

    Args:
        supervisor: returns the dynamic supervisor of the sessions, once the tree runs.
    """

    def __init__(
        self,
        services: Services,
        book: Book,
        agents: Mapping[str, InstalledAgent],
        supervisor: Callable[[], Supervisor],
    ) -> None:
        self._services = services
        self._book = book
        self._agents = agents
        self._supervisor = supervisor
        self._locks: dict[str, tuple[anyio.Lock, int]] = {}
        self._restarts: tuple[RestartPolicy, RestartTable] | None = None
        self.active: dict[str, Session] = {}
        self.closing = False

    # ------------------------------------------------------------ starting and opening

    def installed(self, name: str) -> InstalledAgent:
        """Return an agent by name.

        Raises:
            UsageError: this runtime has no such agent.
        """
        if name not in self._agents:
            known = ", ".join(sorted(self._agents)) or "none"
            raise UsageError(f"agent {name!r} is unknown here; agents= has: {known}")
        return self._agents[name]

    async def start(
        self, session_id: str, agent: str, task: str, budget: Budget, facts: Facts
    ) -> Session:
        """Store a new session and start it; it is durable when this returns.

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
        )
        entries: list[JournalEntry] = [opened, Said(1, text)]
        facts = msgspec.structs.replace(facts, title=text[:TITLE_MAX])
        create = Create(
            session_id=session_id,
            owner=self._services.ownership.owner,
            facts=facts,
            body=encode_row(entries),
        )
        done = await self._services.checkpoint.commit(create)
        account = self._open_account(session_id, budget, facts)
        state = fold(session_id, entries)
        session = Session(
            self._services, installed, state, account, facts, epoch=done.epoch, seq=done.seq
        )
        self._activate(session)
        session.emit(SessionStarted(session_id=session_id, at_ms=session.now_ms(), agent=agent))
        await self._wake(session)
        return session

    async def resume(self, session_id: str, dead: frozenset[str] = frozenset()) -> Session:
        """Take a running session of the store over and go on with it.

        Raises:
            SessionOwned: a living owner drives it.
            UsageError: its agent is unknown here.
        """
        async with self._lock(session_id):
            session = self.active.get(session_id)
            if session is None:
                session = await self._load(session_id, dead)
                self._activate(session)
                await self._wake(session)
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
            stored = session.journal.append(said)
            if session_id not in self.active:
                self._activate(session)
                await self._wake(session)
        await stored.wait()
        session.emit(
            MessageReceived(session_id=session_id, at_ms=session.now_ms(), n=n, text=said.text)
        )
        return session

    async def append(self, session_id: str, make: Callable[[Session], list[JournalEntry]]) -> None:
        """Add entries to a session, active or not; one that has ended stays so."""
        async with self._lock(session_id):
            session = await self._awake(session_id)
            entries = make(session)
            if session_id in self.active or session.state.status == "running":
                stored = session.journal.append(*entries)
                if session_id not in self.active:
                    self._activate(session)
                    await self._wake(session)
                await stored.wait()
            else:
                await self._put_back(session, *entries)

    async def _put_back(self, session: Session, *entries: JournalEntry) -> Session:
        """Let go of a session that has ended and stays so."""
        status, facts = session.state.status, session.facts
        await session.journal.append(*entries, status=status, facts=facts).wait()
        self._book.close(session.id)
        if session.state.outcome is not None:
            session.outcome = outcome_from_data(session.state.outcome)
        session.ended.set()
        return session

    async def _awake(self, session_id: str) -> Session:
        """Return a session that takes entries: the active one, or one just loaded."""
        while (session := self.active.get(session_id)) is not None:
            if session.takes_messages:
                return session
            # It is ending: wait until it has let go, then take it up again.
            await session.retired.wait()
        return await self._load(session_id, frozenset())

    async def _load(self, session_id: str, dead: frozenset[str]) -> Session:
        services = self._services
        head = await services.store.head(session_id)
        installed = self.installed(head.facts.agent)
        if head.owner is not None and owner_is_dead(head.owner):
            dead |= {head.owner}  # its lease may last; it cannot come back
        if head.facts.parent is not None:
            await self._parent_first(head.facts.parent, dead)
        claim = Claim(
            session_id=session_id,
            owner=services.ownership.owner,
            now_ms=services.clock.wall_ms(),
            dead=dead,
        )
        done = await services.checkpoint.commit(claim)
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
        return session

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

    # ------------------------------------------------------------ living

    def specs(self) -> Iterable[ChildSpec]:
        """The children of the supervisor at each of its starts: every active session."""
        return [self._spec(session) for session in self.active.values()]

    def _activate(self, session: Session) -> None:
        self.active[session.id] = session
        parent = self.active.get(session.facts.parent or "")
        if parent is not None:
            parent.children.add(session.id)

    async def _wake(self, session: Session) -> None:
        """Start the session's actor, once the one of its last turn is gone."""
        while True:
            supervisor = self._supervisor()
            try:
                supervisor.start_child_soon(self._spec(session))
            except AlreadyStarted:
                await supervisor.wait_child(session.id)
            except SupervisorGone:
                return  # it is being restarted, and will ask for `specs` itself
            else:
                return

    def _spec(self, session: Session) -> ChildSpec:
        return ChildSpec(
            id=session.id,
            start=partial(self._live, session),
            restart=self._restart_table(),
            mailbox_max=1,
        )

    def _restart_table(self) -> RestartTable:
        """Return the table of the policy, made anew when the policy has changed."""
        policy = self._services.policy().restarts
        if self._restarts is not None and self._restarts[0] is policy:
            return self._restarts[1]
        again = RestartRule(
            restart=True, delay_s_first=policy.delay_s_first, delay_s_max=policy.delay_s_max
        )
        table = {each: again for each in ErrorClass if each not in NEVER_RESTARTED}
        self._restarts = (policy, table)
        return table

    async def _live(self, session: Session, ctx: Context[object]) -> None:
        """One life of the session's actor, and what follows the last one."""
        session.lives += 1
        if session.lives > 1:
            await self._recover(session)
        if session.outcome is None and session.error is None:
            await Life(session).run(ctx)
        await self._tidy(session)
        self._retire(session)

    async def _recover(self, session: Session) -> None:
        """Store what the last life could not, before anything else happens."""
        why = f"life {session.lives} of its actor"
        session.emit(SessionRestarted(session_id=session.id, at_ms=session.now_ms(), reason=why))
        try:
            await session.journal.recover(await self._services.store.head(session.id))
        except Fenced as error:
            session.lose(error)

    def _retire(self, session: Session) -> None:
        """The session has ended, or is another's now: keep nothing of it."""
        if self.active.get(session.id) is session:
            del self.active[session.id]
        self._book.close(session.id)
        for child in session.children:
            self.cancel_soon(child)
        session.retired.set()

    async def _tidy(self, session: Session) -> None:
        kept = self._services.policy().storage.checkpoints_kept
        if session.error is not None or session.journal.seq < ROWS_MIN:
            return
        try:
            rewrite = retain(await self._services.store.load(session.id), kept)
            if rewrite is not None:
                await self._services.checkpoint.commit(rewrite)
        except StoreError:
            return  # somebody goes on with it already, or the store fails: nothing is lost

    # ------------------------------------------------------------ ending

    def cancel_soon(self, session_id: str) -> None:
        """Cut an active session off; its life settles what is open."""
        session = self.active.get(session_id)
        if session is not None and not self.closing:
            session.cut_off(Cut("cancelled"))

    async def cancel(self, session_id: str) -> Session:
        """Cancel a session and its sub-sessions; returns once that is stored."""
        session = self.active.get(session_id)
        if session is None:
            async with self._lock(session_id):
                session = self.active.get(session_id)  # somebody else was faster
                if session is None:
                    session = await self._load(session_id, frozenset())
                    if session.state.status in ("completed", "stopped"):
                        return await self._put_back(session)
                    self._activate(session)
                    session.cut_off(Cut("cancelled"))
                    await self._wake(session)
        for child in tuple(session.children):
            self.cancel_soon(child)
        session.cut_off(Cut("cancelled"))
        await session.ended.wait()
        return session

    def give_up_body(self, session_id: str, what: str) -> None:
        """A body does not end: leave it behind, so that the session can go on."""
        try:
            self._supervisor().kill_child(session_id, f"{what} did not end when it was cancelled")
        except (ChildNotFound, SupervisorGone):
            return

    def gave_up(self, session_id: str, reason: ExitReason) -> None:
        """The supervisor restarts this session no more: hand it over."""
        session = self.active.get(session_id)
        if session is None or self.closing:
            return
        burial = ChildSpec(
            id=f"{session_id}!",
            start=partial(self._bury, session, reason),
            restart=RestartType.TEMPORARY,
        )
        try:
            self._supervisor().start_child_soon(burial)
        except (AlreadyStarted, SupervisorGone, ActorGone):
            return

    async def _bury(self, session: Session, reason: ExitReason, ctx: Context[object]) -> None:
        """Store that a session is handed over since its actor keeps dying; tell it in any case."""
        trouble = Trouble(
            reason="restarts", detail=describe(reason), step="the session's own actor"
        )
        try:
            await session.journal.recover(await self._services.store.head(session.id))
            await Life(session).settle("the session is handed over to a person")
            outcome = session.handed_over(trouble)
            await session.end(outcome).wait()
        except Exception as error:  # noqa: BLE001 - whatever fails here, the outcome is told
            unsaved = session.unsaved_text(error)
            outcome = session.handed_over(trouble, unsaved=unsaved)
            session.journal.abandon(StoreFailed(f"session {session.id}: {error}"))
        session.announce(outcome)
        self._retire(session)

    def close(self) -> None:
        """The runtime is gone: tell whoever still waits for a session of it."""
        for session in tuple(self.active.values()):
            if not session.ended.is_set():
                session.lose(RuntimeClosed(f"session {session.id} goes on in another runtime"))


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


def check_budget(installed: InstalledAgent, budget: Budget) -> None:
    """Refuse a limit in dollars on a model that does not know its prices.

    Raises:
        UsageError: such a limit could not be held.
    """
    if budget.cost_usd is not None and getattr(installed.model, "prices", None) is None:
        raise UsageError(
            f"budget cost_usd={budget.cost_usd:g} cannot be held: the model of agent "
            f"{installed.name!r} has no prices; give it prices=Prices(...)"
        )
