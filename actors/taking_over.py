"""Sessions of the store taken into memory: read, claimed, folded, with their accounts open."""

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager

import anyio

from ..stores.base import Claim, Facts, HeadQuery, SessionUnknown, StoreFailed
from ..stores.liveness import owner_is_dead
from ..stores.records import Spent, Woken
from ..supervisor.errors import UsageError
from .accounts import NOTHING, Book
from .agent import GUARD, InstalledAgent
from .beginning import check_guarded
from .budget import Account, Budget, budget_from
from .events import SessionResumed, SessionWoken
from .heads import each_head
from .inspection import entries_of, fold
from .services import Services
from .session import Session

Resume = Callable[[str, frozenset[str]], Awaitable[Session]]
"""Goes on with a session: its id, and owners that are known to be dead."""


class TakingOver:
    """Takes sessions from the store.

    Args:
        resume: goes on with another session, where that one has to be there first.
    """

    def __init__(
        self,
        services: Services,
        book: Book,
        agents: Mapping[str, InstalledAgent],
        resume: Resume,
    ) -> None:
        self._services = services
        self._book = book
        self._agents = agents
        self._resume = resume
        self.strays: set[str] = set()
        self.woken = 0
        """How many parked sessions were taken up again here."""
        self.stand_ins: dict[str, InstalledAgent] = {}
        """Agents without tools, by session: for what needs none, where its own agent is unknown."""

    def installed(self, name: str) -> InstalledAgent:
        """Return an agent by name.

        Raises:
            UsageError: this runtime has no such agent.
        """
        if name not in self._agents:
            known = ", ".join(sorted(self._agents.keys() - {GUARD})) or "none"
            raise UsageError(f"agent {name!r} is unknown here; agents= has: {known}")
        return self._agents[name]

    @contextmanager
    def stray_if_cut_off(self, session_id: str) -> Generator[None]:
        """Note a session that may be ours in the store although its caller never learned of it."""
        try:
            yield
        except (StoreFailed, anyio.get_cancelled_exc_class()):
            self.strays.add(session_id)
            raise

    async def load(self, session_id: str, dead: frozenset[str], by: str = "due") -> Session:
        services = self._services
        # Read it first: what cannot be read here stays with whoever can.
        stored = await services.store.load(session_id)
        head = stored.head
        installed = self.stand_ins.get(session_id) or self.installed(head.facts.agent)
        if head.owner is not None and owner_is_dead(head.owner):
            dead |= {head.owner}  # its lease may last; it cannot come back
        if head.facts.parent is not None:
            await self._parent_first(head.facts.parent, dead)
        if installed.is_guard:
            check_guarded(installed, fold(session_id, entries_of(stored)))
        claim = Claim(
            session_id=session_id,
            owner=services.ownership.owner,
            now_ms=services.clock.wall_ms(),
            dead=dead,
        )
        with self.stray_if_cut_off(session_id):
            done = await services.checkpoint.commit(claim)
            if done.seq != stored.head.seq:
                stored = await services.store.load(session_id)
            state = fold(session_id, entries_of(stored))
            limits = state.opened.limits if state.opened else {}
            account = self.open_account(
                session_id, budget_from(limits), stored.head.facts, state.spent
            )
            if done.has_children:
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
        self.woken += 1
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
            await self._resume(parent, dead)

    async def _count_children(self, session_id: str, account: Account) -> None:
        query = HeadQuery(parent=session_id)
        async for head in each_head(self._services.store, query):
            account.adopt(head.facts.spent)

    def open_account(
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
