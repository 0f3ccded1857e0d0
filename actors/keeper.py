"""The timers actor: keeps the lease alive, takes over sessions whose owner is gone, and asks the
store for people's decisions.

What is due is found in the store, so a restart forgets nothing.
"""

from collections.abc import Callable, Sequence
from contextlib import aclosing

import anyio
from msgspec import Struct

from ..stores.base import (
    HeadQuery,
    SessionOwned,
    SessionUnknown,
    Store,
    StoreError,
    StoreFailed,
)
from ..stores.liveness import owner_is_dead
from ..stores.records import SessionStatus
from ..supervisor import Context
from ..supervisor.clock import Clock
from ..supervisor.collector import COLLECTOR
from .heads import each_head
from .inbox import Inbox
from .ownership import Ownership
from .sessions import Sessions
from .steady import SteadyWall

PARKED: frozenset[SessionStatus] = frozenset({"parked"})

ADOPTED_MAX = 1000
"""Sessions looked for at a time; while there are more, the next look follows at once."""


ASK_S = 1.0
"""Seconds between two questions to the store which decisions wait."""

TELL_EVERY_S = 30.0
"""Seconds between two looks for requests that people could not be told of."""

ADOPTED_AT_ONCE = 64
"""Sessions taken over side by side: their claims share a commit."""


class Tick(Struct, frozen=True):
    """Time to look after the lease."""


class Look(Struct, frozen=True):
    """Time to wake what is due."""


class Ask(Struct, frozen=True):
    """Time to ask which decisions of people wait."""


class Room(Struct, frozen=True):
    """There is room again for sessions that were left in the store."""


Wake = Tick | Look | Ask | Room


class Keeper:
    """Keeps what this runtime owns, and adopts what nobody owns any more.

    Args:
        raise_alert: told what somebody should look at.
        adopts: False leaves alone what others have left behind.
        tells: whether people are told of requests from here.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        ownership: Ownership,
        sessions: Sessions,
        inbox: Inbox,
        raise_alert: Callable[[str], None],
        steady: SteadyWall,
        *,
        adopts: bool = True,
        tells: bool = False,
    ) -> None:
        self._store = store
        self._clock = clock
        self._ownership = ownership
        self._sessions = sessions
        self._inbox = inbox
        self._raise_alert = raise_alert
        self._adopts = adopts
        self._tells = tells
        self._tell_at = 0.0
        self._told_up_to: str | None = None
        self._refused: set[str] = set()
        self._steady = steady
        self._parked_here: set[str] = set()
        self._ctx: Context[Wake] | None = None

    async def run(self, ctx: Context[Wake]) -> None:
        """Renew the lease three times in its length; ready once it is held."""
        self._ctx = ctx
        await self._ownership.renew()
        ctx.ready()
        if ctx.incarnation > 1:
            # The checkpoint actor died: a session may be stored of which nobody here has heard.
            await self.adopt(frozenset({self._ownership.owner}))
        ctx.after(0.0, Look())
        ctx.after(self._ownership.lease_s / 3, Tick())
        ctx.after(ASK_S, Ask())
        while True:
            message = await ctx.receive()
            if isinstance(message, Ask):
                ctx.after(ASK_S, Ask())
                await self.take_decisions()
                continue
            if isinstance(message, Look | Room):
                await self._look(message, ctx)
                continue
            ctx.after(self._ownership.lease_s / 3, Tick())
            try:
                await self._ownership.renew()
                await self._take_strays()
                if self._adopts:
                    await self.adopt()
            except StoreError as error:
                self._raise_alert(f"the lease could not be renewed: {error}")
            await self._wake_due(ctx)
            await self._look_after()
            await self._have_told()

    async def _look(self, message: Look | Room, ctx: Context[Wake]) -> None:
        if isinstance(message, Room) and self._adopts:
            try:
                await self.adopt()
            except StoreError as error:
                self._raise_alert(f"sessions nobody drives could not be looked for: {error}")
        await self._wake_due(ctx)

    def _come_back(self) -> None:
        """Look again once there is room; what is left in the store meanwhile, others may take."""
        self._sessions.pool.places.admission.tell_room(self._there_is_room)

    def _there_is_room(self) -> None:
        if self._ctx is not None:
            self._ctx.after(0.0, Room())

    async def _have_told(self) -> None:
        """Wake parked sessions with a request that people could not be told of; they try again."""
        now = self._clock.now()
        if not self._tells or now < self._tell_at:
            return
        self._tell_at = now + TELL_EVERY_S
        query = HeadQuery(status=PARKED, asking="untold", after=self._told_up_to, limit=ADOPTED_MAX)
        try:
            heads = await self._store.heads(query)
        except StoreError as error:
            self._raise_alert(f"requests nobody was told of could not be looked for: {error}")
            return
        # Those that fail again and again must not keep the others from being told.
        self._told_up_to = heads[-1].session_id if len(heads) == ADOPTED_MAX else None
        known = self._sessions.agents
        ids = [
            head.session_id
            for head in heads
            if head.facts.agent in known and self._is_ours(head.session_id)
        ]
        await self._wake_all([each for each in ids if each not in self._sessions.active], "tell")

    async def take_decisions(self) -> None:
        """Have the decisions applied that wait for sessions of this runtime, or of nobody."""
        try:
            waiting = await self._inbox.waiting()
        except StoreError:
            return  # asked again soon; that the store fails is told by the next tick
        room = self._sessions.pool.places.admission.room()
        for session_id in waiting:
            if not self._is_ours(session_id):
                continue
            if session_id not in self._sessions.active:
                room -= 1
                if room < 0:
                    continue  # asked for again in a second
            self._inbox.take_soon(session_id)

    # ------------------------------------------------------------ parked sessions

    def expect(self, session_id: str, due_at_ms: int | None) -> None:
        """A session was parked here: look for it no later than when it is due."""
        if not self._adopts:
            self._parked_here.add(session_id)
        if due_at_ms is None:
            return  # only a person can wake it
        left_s = self._steady.left_s(due_at_ms)
        if self._ctx is not None and left_s < self._ownership.lease_s:
            self._ctx.after(max(0.0, left_s), Look())

    async def _wake_due(self, ctx: Context[Wake]) -> None:
        """Wake what is due, and come back for what will be before the next tick.

        The store knows all due times, by an index; only those of the next seconds are looked at.
        """
        now_ms = self._steady.now_ms()
        due: list[str] = []
        later_ms: list[int] = []
        room = self._sessions.pool.places.admission.room()
        try:
            async with aclosing(each_head(self._store, self._soon(now_ms))) as heads:
                async for head in heads:
                    if head.session_id in self._refused or not self._is_ours(head.session_id):
                        continue
                    due_at_ms = head.facts.due_at_ms or 0
                    if due_at_ms > now_ms:
                        later_ms.append(due_at_ms)
                    elif len(due) < room:
                        due.append(head.session_id)
                    else:
                        self._come_back()
                        break
        except StoreError as error:
            self._raise_alert(f"parked sessions could not be looked for: {error}")
            return
        await self._wake_all(due, "due")
        if later_ms:
            ctx.after(max(0.0, self._steady.left_s(min(later_ms))), Look())

    async def _wake_all(self, ids: Sequence[str], by: str) -> None:
        self._parked_here.difference_update(ids)
        await self._adopt_all(ids, frozenset(), [], by)

    async def _adopt_all(
        self, ids: Sequence[str], dead: frozenset[str], adopted: list[str], by: str = "due"
    ) -> None:
        """Take sessions over, some of them side by side; a task for each would cost as much again."""
        left = iter(ids)
        many = len(ids) > ADOPTED_AT_ONCE

        async def adopt_some() -> None:
            for session_id in left:
                await self._adopt_one(session_id, dead, adopted, by)
                if many:
                    COLLECTOR.keep()  # nearly all that is new are their conversations

        async with anyio.create_task_group() as group:
            for _ in ids[:ADOPTED_AT_ONCE]:
                group.start_soon(adopt_some)

    def _soon(self, now_ms: int) -> HeadQuery:
        before_ms = now_ms + int(self._ownership.lease_s * 1000)
        return HeadQuery(status=PARKED, due_before_ms=before_ms, limit=ADOPTED_MAX)

    def _is_ours(self, session_id: str) -> bool:
        mine = self._parked_here
        return self._adopts or session_id in mine or session_id in self._sessions.active

    async def _look_after(self) -> None:
        """Tell those who wait for a parked session that another process drives it now."""
        pool = self._sessions.pool
        for session_id in pool.awaited:
            try:
                head = await self._store.head(session_id)
            except StoreError:
                continue
            if head.status != "parked":
                pool.stirred(session_id)

    def wakes(self, session_id: str) -> bool:
        """Tell whether a parked session is woken from here once it is due."""
        return self._is_ours(session_id)

    def reconsider(self) -> None:
        """Try again, at the next look, what could not be taken over so far."""
        self._refused.clear()

    async def adopt(self, dead: frozenset[str] = frozenset()) -> list[str]:
        """Take over running sessions without a living owner; returns those that were taken.

        No more than there is room for: the others stay as they are until there is.

        Args:
            dead: owners whose sessions are taken besides those found to be dead.
        """
        adopted: list[str] = []
        while True:
            owners = await self._store.owners()
            gone = dead | {owner for owner in owners if owner_is_dead(owner)}
            known = self._refused | self._sessions.active.keys()
            limit = ADOPTED_MAX + len(known)
            ids = await self._store.orphans(self._clock.wall_ms(), gone, limit)
            new = [each for each in ids if each not in known]
            # Ours, of which nobody here has heard, are few, and nobody else would take them.
            taken = new if dead else new[: self._sessions.pool.places.admission.room()]
            await self._adopt_all(taken, gone, adopted)
            self._sessions.pool.places.admission.leaves = len(taken) < len(new)
            if len(taken) < len(new):
                self._come_back()
                return adopted
            # Those that a failing store kept from us are new again at the next look, not at once.
            settled = self._refused | self._sessions.active.keys()
            if len(ids) < limit or settled.isdisjoint(new):
                return adopted

    async def _take_strays(self) -> None:
        """Go on with sessions that were stored as ours when their caller had gone already."""
        strays = self._sessions.taking.strays
        for session_id in sorted(strays):
            try:
                head = await self._store.head(session_id)
            except SessionUnknown:
                head = None  # it was not stored
            strays.discard(session_id)
            ours = head is not None and head.owner == self._ownership.owner
            if ours and session_id not in self._sessions.active:
                settled = await self._adopt_one(session_id, frozenset(), [])
                if not settled:
                    strays.add(session_id)

    async def _adopt_one(
        self, session_id: str, dead: frozenset[str], adopted: list[str], by: str = "due"
    ) -> bool:
        """Take a session over, or say why not; False where it is to be tried again."""
        try:
            await self._sessions.resume(session_id, dead, by=by)
            adopted.append(session_id)
        except SessionOwned:
            pass  # somebody else was faster
        except StoreFailed as error:
            # It says nothing of the session, which is looked for again at the next tick.
            self._raise_alert(f"session {session_id} could not be resumed yet: {error}")
            return False
        except Exception as error:  # noqa: BLE001 - whatever is stored in one must not keep others
            # It stays as it is in the store; one that cannot be taken must not keep others waiting.
            self._refused.add(session_id)
            self._raise_alert(f"session {session_id} could not be resumed: {error}")
        return True
