"""Who takes his turns: a session that has a place, in whose line the others stand, and who needs none.

A sub-session lives in its parent's place, and the calls of a program that are guarded need none:
whoever waits for their end may hold the last one.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext

from ..stores.base import Facts
from .admission import Admission, Start
from .agent import InstalledAgent
from .session import Session
from .work import Cut


class Places:
    """The active sessions as they wait for their turns.

    Args:
        active: every session in memory, by id.
        begin: starts a session's actor, and waits for that of its last turn where it must.
        begin_soon: the same from where nobody may wait.
    """

    def __init__(
        self,
        admission: Admission,
        active: Mapping[str, Session],
        begin: Callable[[Session], Awaitable[None]],
        begin_soon: Callable[[Session], None],
    ) -> None:
        self.admission = admission
        self._active = active
        self._begin = begin
        self._begin_soon = begin_soon
        self._held_back: dict[str, list[str]] = {}
        """Sub-sessions whose parent waits for its place, by parent."""

    # ------------------------------------------------------------ looking

    def waits(self, session_id: str) -> bool:
        """Tell whether an active session waits for its place, or for that of its parent."""
        if self.admission.waits(session_id):
            return True
        session = self._active.get(session_id)
        parent = None if session is None else session.facts.parent
        return parent is not None and session_id in self._held_back.get(parent, ())

    def tenant_of(self, session_id: str) -> str:
        """Return whose session an active one is: for a sub-session, that of the first above it."""
        tenant = None
        while tenant is None and (session := self._active.get(session_id)) is not None:
            tenant, session_id = session.facts.tenant, session.facts.parent or ""
        return tenant or ""

    # ------------------------------------------------------------ coming and going

    def starting(
        self, installed: InstalledAgent, facts: Facts
    ) -> AbstractAsyncContextManager[None] | Start:
        """Return a block in which one more session may be stored and taken into memory.

        Raises:
            RuntimeClosed: on entering: the runtime was left meanwhile.
        """
        if installed.is_guard or facts.parent in self._active:
            return nullcontext()
        return Start(self.admission, facts.tenant or "")

    async def wake(self, session: Session) -> None:
        """Have a session go on: at once, or when there is a place for it."""
        parent = self._active.get(session.facts.parent or "")
        if parent is not None and session.cut is None and self.waits(parent.id):
            self._held_back.setdefault(parent.id, []).append(session.id)
        elif parent is not None or session.installed.is_guard or session.cut is not None:
            await self._begin(session)
        elif self.admission.take_free(session.id, session.facts.tenant or ""):
            await self._go(session)
        else:
            served = self.admission.ask(session.id, session.facts.tenant or "")
            self._go_on([each for each in served if each != session.id])
            if session.id in served:
                await self._go(session)

    async def _go(self, session: Session) -> None:
        await self._begin(session)
        if self._held_back:
            self._release_children(session.id)

    def cut_off(self, session: Session, cut: Cut) -> None:
        """End all work of a session; one that waits for a place needs none to settle that."""
        session.cut_off(cut)
        if self.waits(session.id):
            together = self._held_back.get(session.facts.parent or "", [])
            if session.id in together:
                together.remove(session.id)
            served = self.admission.leave(session.id)
            self._go_on([session.id, *served])

    def leave(self, session_id: str) -> None:
        """A session is here no more: its place is another's."""
        if self._held_back:
            self._held_back.pop(session_id, None)
        self._go_on(self.admission.leave(session_id))

    def policy_changed(self) -> None:
        """Let sessions go on for which a new policy has places."""
        self._go_on(self.admission.serve())

    def _go_on(self, ids: Iterable[str]) -> None:
        for session_id in ids:
            session = self._active.get(session_id)
            if session is not None:
                self._begin_soon(session)
                self._release_children(session_id)

    def _release_children(self, session_id: str) -> None:
        self._go_on(self._held_back.pop(session_id, ()))
