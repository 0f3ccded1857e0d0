"""Sessions begun by an application, and sub-sessions begun by a session."""

from collections.abc import Callable

import anyio

from ..stores.base import Facts, Head, SessionUnknown, Store, StoreError
from ..stores.records import OnFailure
from ..supervisor.clock import Clock
from ..supervisor.errors import ToolBug, UsageError
from .budget import Budget
from .handle import SessionHandle
from .inspection import entries_of, fold
from .naming import check_id
from .outcome import Completed, Outcome
from .session import Session
from .sessions import Sessions
from .text import exact

Handles = Callable[[str, Session | None], SessionHandle]
"""Returns the handle on a session, by its id and what is in memory of it."""

_DEFAULT = Budget()
"""What a session is given that is given none."""


class Starting:
    """Begins sessions, and finds the sub-sessions that were begun before."""

    def __init__(self, store: Store, clock: Clock, sessions: Sessions, handle: Handles) -> None:
        self._store = store
        self._clock = clock
        self._sessions = sessions
        self._handle = handle

    async def start(
        self,
        name: str,
        agent: str,
        task: str,
        budget: Budget | None,
        folder: str,
        parent: str | None = None,
        group: str | None = None,
        tenant: str | None = None,
        *,
        on_failure: OnFailure = "undo",
        snapshots: bool = False,
    ) -> SessionHandle:
        """Start a session whose names were checked; it is durable when this returns."""
        now_ms = self._clock.wall_ms()
        facts = Facts(
            agent=agent,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
            parent=parent,
            group=group if group is None else exact(group),
            tenant=tenant if tenant is None else exact(tenant),
            working_directory=folder,
        )
        session = await self._sessions.start(
            name, agent, task, budget or _DEFAULT, facts, on_failure, snapshots=snapshots
        )
        return self._handle(name, session)

    async def subsession(
        self, parent: str, session_id: str, agent: str, task: str, budget: Budget | None
    ) -> Outcome:
        """Start a sub-session or find the one this call has started before; wait for its end."""
        sessions = self._sessions
        try:
            handle = await self._find(parent, session_id, agent)
            if handle is None:
                folder = sessions.active[parent].facts.working_directory
                name = check_id(session_id)
                handle = await self.start(name, agent, task, budget, folder, parent)
            outcome = await handle.outcome()
            if not isinstance(outcome, Completed):
                await self._close_above(parent, session_id)
            return outcome
        except anyio.get_cancelled_exc_class():
            sessions.pool.cancel_soon(session_id)
            raise
        except UsageError as error:
            # The model did not choose any of this: it is not the model's to correct.
            raise ToolBug(f"the sub-session could not be run: {error}") from error

    async def _close_above(self, parent: str, session_id: str) -> None:
        """What was refused for good to a sub-session is refused to whom it worked for, too."""
        above = self._sessions.active.get(parent)
        if above is None:
            return
        try:
            stored = await self._store.load(session_id)
        except StoreError:
            return  # with a store that fails, neither of them goes on
        if closed := fold(session_id, entries_of(stored)).closed:
            above.closed_below[session_id] = tuple(closed)

    async def _find(self, parent: str, session_id: str, agent: str) -> SessionHandle | None:
        try:
            head = await self._store.head(session_id)
        except SessionUnknown:
            return None
        _check_child(head, parent, agent)
        active = self._sessions.active.get(session_id)
        if active is None and head.status == "running":
            active = await self._sessions.resume(session_id, by="resume")
        return self._handle(session_id, active)


def _check_child(head: Head, parent: str, agent: str) -> None:
    if head.facts.parent != parent or head.facts.agent != agent:
        raise UsageError(
            f"session {head.session_id} is no sub-session of {parent} with agent {agent}; "
            "give sessions of your own other names"
        )
