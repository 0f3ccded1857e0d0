"""People's decisions on their way to a session: through the store, whoever drives it.

Given in code or on a command line, a decision is posted first and is durable then. Whoever owns the
session takes it, in the row that applies it: at once where it is free or driven here, else when its
owner next asks the store what waits (`keeper`).
"""

from functools import partial

import msgspec

from ..stores.base import (
    AlreadyDecided,
    Post,
    PostQuery,
    SessionOwned,
    StoreFailed,
)
from ..stores.decisions import Decision
from ..stores.records import Decided
from ..supervisor import Context
from ..supervisor.errors import UsageError
from .beginning import NotGuarded
from .bus import log_event
from .decisions import already_decided, entries_for, is_applied, post_of, repeats, unreadable
from .events import AlertRaised
from .inspection import entries_of, fold
from .services import Services
from .session import Session
from .sessions import Change, Sessions
from .state import SessionState

WAITING_MAX = 1000
"""Decisions looked for at a time; what is more is looked for when these were applied."""

ALERT_EVERY_S = 60.0
"""Seconds between alerts about the same decision."""


class Inbox:
    """Posts decisions, and applies those of sessions that this runtime may drive."""

    def __init__(self, services: Services, sessions: Sessions) -> None:
        self._services = services
        self._sessions = sessions
        self._left: set[tuple[str, str]] = set()

    # ------------------------------------------------------------ given here

    async def decide(self, session_id: str, said: Decision, by: str) -> Session | None:
        """Store a decision, and apply it where the session is driven here or free.

        Returns the session where it is driven here now. The same decision twice is no error.

        Raises:
            AlreadyDecided: the question was decided otherwise before; says by whom and when.
            RequestClosed: the request for approval is not open (any more).
            UsageError: no such option or question, or it ceased to fit before it was applied.
            SessionUnknown: the store has no such session.
        """
        services = self._services
        about = None
        try:
            state = await self._state(session_id)
            post = post_of(state, said, by, services.clock.wall_ms())
            about = post.about
            await services.checkpoint.commit(post)
        except AlreadyDecided as error:
            if not repeats(error, said):
                raise already_decided(session_id, error) from error
        try:
            problems = await self._take(session_id)
        except NotGuarded:
            return None  # a runtime that has its tools takes it
        if about in problems:
            raise UsageError(problems[about])
        return self._sessions.active.get(session_id)

    async def _state(self, session_id: str) -> SessionState:
        session = self._sessions.active.get(session_id)
        if session is not None:
            return session.state
        return fold(session_id, entries_of(await self._services.store.load(session_id)))

    async def take(self, session_id: str) -> Session | None:
        """Apply the decisions that wait for a session; those of one that is owned elsewhere stay.

        Returns the session where it is driven here now.

        Raises:
            StoreError: the store failed, or the session cannot be read; its decisions wait on.
        """
        await self._take(session_id)
        return self._sessions.active.get(session_id)

    # ------------------------------------------------------------ given anywhere

    async def waiting(self) -> list[str]:
        """Return the sessions that this runtime may drive and for which a decision waits.

        Raises:
            StoreError: the store failed.
        """
        services = self._services
        query = PostQuery(
            owner=services.ownership.owner,
            now_ms=services.clock.wall_ms(),
            agents=self._sessions.agents,
            limit=WAITING_MAX + len(self._left),
        )
        posts = [each.post for each in await services.store.posts(query)]
        return list(
            dict.fromkeys(
                post.session_id for post in posts if (post.session_id, post.about) not in self._left
            )
        )

    def take_soon(self, session_id: str) -> None:
        """Apply what waits for a session beside everything else; at most one at a time for each."""
        if not self._sessions.pool.closing:
            self._sessions.pool.start_aside(
                f"{session_id}!decisions", partial(self._take_aside, session_id)
            )

    async def _take_aside(self, session_id: str, ctx: Context[object]) -> None:
        try:
            await self._take(session_id)
        except StoreFailed:
            return  # looked for again
        except Exception as error:  # noqa: BLE001 - what is stored in one must not be tried every second
            query = PostQuery(session_id=session_id)
            for posted in await self._services.store.posts(query):
                self._leave(posted.post, f"could not be applied: {error}")

    def reconsider(self) -> None:
        """Try again what could not be applied here so far."""
        self._left.clear()

    # ------------------------------------------------------------ applying

    async def _take(self, session_id: str) -> dict[str, str]:
        """Apply what waits, a row for each; return those that changed nothing, and why."""
        problems: dict[str, str] = {}
        if session_id not in self._sessions.active:
            head = await self._services.store.head(session_id)
            if head.facts.agent not in self._sessions.agents:
                return problems  # a runtime that has its agent takes it
        try:
            while await self._waits(session_id) and await self._sessions.change(
                session_id, partial(self._next, problems), by="decision"
            ):
                pass
        except SessionOwned:
            pass  # its owner takes it
        return problems

    async def _waits(self, session_id: str) -> bool:
        """Tell whether there is something to apply, before the session is claimed for it."""
        session = self._sessions.active.get(session_id)
        posts = await self._services.store.posts(PostQuery(session_id=session_id))
        state = None if session is None else session.state
        return any(self._is_new(state, each.post) for each in posts)

    def _is_new(self, state: SessionState | None, post: Post) -> bool:
        """Tell whether a post is to be applied; one that is behind the session is being stored."""
        if (post.session_id, post.about) in self._left:
            return False
        return state is None or not is_applied(state, post.about)

    async def _next(self, problems: dict[str, str], session: Session) -> Change:
        """Return what the first of the posts does that is new to the session as it is now."""
        for posted in await self._services.store.posts(PostQuery(session_id=session.id)):
            post = posted.post
            if not self._is_new(session.state, post):
                continue
            try:
                entries = unreadable(post) if posted.damaged else entries_for(session, post)
            except msgspec.DecodeError as error:
                self._leave(post, f"is of a kind that this version does not know: {error}")
                continue
            decided = entries[0]
            assert isinstance(decided, Decided)  # as decisions makes them
            if decided.problem:
                problems[post.about] = decided.problem
                self._alert(post, f"changed nothing: {decided.problem}")
            return Change(entries, (post.about,), reopens=len(entries) > 1)
        return Change([])

    def _leave(self, post: Post, why: str) -> None:
        """Look at a post no more; it waits for another runtime, or the next start."""
        self._left.add((post.session_id, post.about))
        self._alert(post, why)

    def _alert(self, post: Post, what: str) -> None:
        by = f" by {post.by}" if post.by else ""
        text = f"session {post.session_id}: the decision about {post.about}{by} {what}"
        services = self._services
        cause = f"decision {post.session_id} {post.about}"
        if services.alerts.due(cause, text, ALERT_EVERY_S, post.session_id):
            at_ms = services.clock.wall_ms()
            self._log(AlertRaised(session_id=post.session_id, at_ms=at_ms, text=text))

    def _log(self, event: AlertRaised) -> None:
        """Tell it where the session's events are told, if it is driven here."""
        session = self._sessions.active.get(event.session_id)
        (session.emit if session is not None else log_event)(event)
