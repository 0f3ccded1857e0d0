"""One attempt of a call: booked, its intent made durable, its body begun with all it is given."""

from collections.abc import Awaitable

import msgspec
from msgspec import Struct

from ..stores.records import Intended
from ..supervisor.failure import Failure
from .agent import subsessions
from .budget import TOOL_CALLS, Budget, Refusal
from .ends import Ended, Prepared
from .nothing import own
from .outcome import Outcome
from .rollback.snapshots import Looking
from .session import Session
from .tooling.context import CallContext, current

INFINITE = float("inf")


class Attempt(Struct, eq=False):
    """One attempt: when it began, whether its body was entered, and where it runs if that is a copy.

    ``deadline`` is on the event loop's clock; None: no limit.
    """

    _session: Session
    _call: Prepared
    number: int
    began_at: float
    entered: bool = False
    deadline: float | None = None
    directory: str | None = None

    def begin(self) -> Awaitable[object]:
        """Begin the body; await what is left of it at once."""
        session, call = self._session, self._call
        tool = call.tool
        if tool.begins_here:
            self.entered = True
            session.began[call.n, call.index] = None
            begun: Awaitable[object] = tool.__wrapped__(**call.arguments)
            return begun
        return tool.begin(
            call.arguments,
            key=call.key,
            secrets=session.installed.toolbox.secrets_for(tool) if tool.marks.secrets else None,
            threads=session.services.threads,
            on_start=self.enter,
        )

    def context(self) -> CallContext:
        """Return what the body may know of its call."""
        session, call = self._session, self._call
        return CallContext(
            session_id=session.id,
            agent=session.installed.name,
            tool=call.tool.name,
            call=(call.n, call.index),
            attempt=self.number,
            key=call.key,
            deadline=self.deadline,
            working_directory=self.directory or session.facts.working_directory,
        )

    def enter(self) -> None:
        """The body is entered: from here on it may have taken effect."""
        self.entered = True
        self._session.began[self._call.n, self._call.index] = None


class Tries(Struct):
    """The attempts of one call: when the first was made, the number of the next, the last failure.

    ``doubtful``: one of those made may have taken effect. ``looks``: at the working directory, around
    those made here. ``held_s``: seconds for which their upstream was not asked.
    """

    first_at: float
    attempt: int
    doubtful: bool
    failure: Failure | None = None
    looks: list[Looking] = []
    held_s: float = 0.0

    def seen(self, ended: Ended) -> Ended:
        """Return the end of the call with what its attempts did to the working directory."""
        if self.held_s:
            ended = msgspec.structs.replace(ended, held_s=self.held_s)
        if not self.looks:
            return ended
        windows = tuple(each.window for each in self.looks if each.window is not None)
        problem = next((each.problem for each in self.looks if each.problem), "")
        return msgspec.structs.replace(ended, windows=windows, no_snapshot=problem)


class Attempting:
    """Attempts of one life of a session."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def book(self, *, again: bool) -> Refusal | None:
        """Book one attempt; the refusal where the budget does not reach for it."""
        account = self._session.account
        if not again:
            return account.take(TOOL_CALLS)
        reserved = account.reserve(tool_calls=1, retries=1)
        if isinstance(reserved, Refusal):
            return reserved
        account.settle(reserved, tool_calls=1, retries=1)
        return None

    async def intend(self, call: Prepared, tries: Tries) -> None:
        """Make the call's intent durable; one that may simply be repeated needs none."""
        session = self._session
        intent = Intended(
            call.n,
            call.index,
            call.tool.name,
            call.digest,
            tries.attempt,
            call.key,
            tries.doubtful,
            tries.looks[-1].root if tries.looks else "",
        )
        session.intended = own(session.intended)
        session.intended[call.id] = None
        # An attempt before this one has begun; this one has not. What that one may have done is
        # in the intent.
        session.began.pop(call.id, None)
        await session.journal.append(intent, session.booked()).wait()

    def deadline(self, began_at: float, limit_s: float | None) -> float | None:
        """Return when a body has to have ended that begins now: by its own limit, and the session's."""
        account = self._session.account
        left_s = account.left("seconds") if account.is_capped else INFINITE
        if limit_s is not None:
            left_s = min(limit_s, left_s)
        return None if left_s == INFINITE else began_at + left_s

    def offer_subsessions(self) -> None:
        """Let bodies that run in this task, and in those it starts, hand work to sub-sessions."""
        subsessions.set(self._subsession)

    async def _subsession(self, agent: str, task: str, budget: Budget | None) -> Outcome:
        """Run a sub-session named after the call that runs, so that a repeat finds the same one."""
        child = self._session.child_name(current().call)
        return await self._session.services.subsession(self._session.id, child, agent, task, budget)
