"""Guarded calls: what a session does around a tool, around a call that a program makes itself.

A scope is a session of the built-in agent ``guard``, which has no model: each call of the program
is written down as a model's would be, runs through the same ledger, gate and budget, and its result
goes back to the program. What is stored decides what the next equal call is given.
"""

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Required, TypedDict, TypeVar, cast

from msgspec import Struct

from ...stores.base import Facts, Head, SessionExists, SessionUnknown
from ...stores.records import Answered, JournalEntry, Said, ToolCall
from ...supervisor.errors import UsageError
from ..agent import GUARD, Agent, InstalledAgent
from ..budget import Budget
from ..decisions import as_json
from ..handle import SessionHandle
from ..handover.wording import encodable
from ..inbox import Inbox
from ..inspection import entries_of, fold
from ..keeper import Keeper
from ..ledger import CallId
from ..model import ModelReply, ModelRequest
from ..naming import check_folder, check_own_id
from ..outcome import Outcome, outcome_from_data
from ..services import Services
from ..session import Session
from ..sessions import Change, Sessions
from ..state import UNFINISHED
from ..text import exact
from ..tooling.companions import read_recorded, readable
from ..tooling.tools import AnyTool, Tool, tool
from .guard_calls import ScopeCall, Wanted, calls_of, error_of

R = TypeVar("R")

CALL_ID_CHARS_MAX = 200


class ScopeOptions(TypedDict, total=False):
    """What names a guarded call's scope; see `Runtime.guard`."""

    scope: Required[str]
    call_id: str
    budget: Budget | None
    group: str | None
    tenant: str | None


class Scope(Struct, frozen=True, kw_only=True):
    """What a program's calls belong to, and what the first of them begins it with."""

    id: str
    call_id: str = ""
    budget: Budget
    group: str | None = None
    tenant: str | None = None


class GuardedResult(Struct, Generic[R], frozen=True, kw_only=True):
    """What a guarded call gave.

    Attributes:
        value: what the tool returned, as it is recorded.
        replayed: the body did not run for this call now: its equal had run before, or a probe or a
            person says that it took effect.
        by: who says so: empty for the body itself, ``probe``, ``late``, ``again``, ``person``.
        call: number and index in the scope.
        attempts: how often the body was started.
    """

    value: R
    replayed: bool
    by: str
    call: CallId
    attempts: int


class NoModel:
    """Stands for the model of an agent whose calls come from a program."""

    name = "none"

    async def complete(self, request: ModelRequest) -> ModelReply:
        raise UsageError(
            f"session {request.session_id} has no model; its calls come from a program"
        )


def guard_agent(tools: Sequence[AnyTool], secrets: Mapping[str, str]) -> InstalledAgent:
    """Return the agent that every scope is a session of."""
    return InstalledAgent(Agent(GUARD, model=NoModel(), tools=tools), secrets)


class Guards:
    """The guarded calls of one runtime.

    Args:
        agents: those of the runtime; the guard among them grows with each tool that is new.
        secrets: by name, for tools that need them.
        handle: returns the handle on a session.
    """

    def __init__(
        self,
        services: Services,
        sessions: Sessions,
        inbox: Inbox,
        keeper: Keeper,
        agents: dict[str, InstalledAgent],
        secrets: Mapping[str, str],
        handle: Callable[[str], SessionHandle],
    ) -> None:
        self._handle = handle
        self._store = services.store
        self._clock = services.clock
        self.mask = services.mask
        self._sessions = sessions
        self._inbox = inbox
        self._keeper = keeper
        self._agents = agents
        self._secrets = secrets

    def known(self, function: Callable[..., Any]) -> AnyTool:
        """Return the tool that a function is, or is made; scopes left unfinished may run it now.

        Raises:
            UsageError: it cannot be a tool, its result cannot be read back, or another has its name.
        """
        toolbox = self._agents[GUARD].toolbox
        name = function.name if isinstance(function, Tool) else getattr(function, "__name__", "")
        if name in toolbox:
            known = toolbox.get(name)
            if function is known or function is known.__wrapped__:
                return known
        made = cast(AnyTool, function) if isinstance(function, Tool) else tool(function)
        result_type_of(made)
        agent = self._agents[GUARD].agent
        self._agents[GUARD] = guard_agent([*agent.tools, made], self._secrets)
        # Whatever could not be gone on with for want of this tool can be now.
        self._keeper.reconsider()
        self._inbox.reconsider()
        return made

    async def call(self, made: AnyTool, scope: Scope, text: str) -> tuple[ScopeCall, bool]:
        """Bring a call to its result; also tell whether this caller is the one it was run for.

        Raises:
            GuardError: it gave no result, or it is not known whether it took effect.
            Failed: the tool's own failure; it certainly had no effect.
            SessionOwned: another process has the scope.
            StoreError: the store fails.
        """
        wanted = Wanted(made, text, scope.call_id)
        mine: CallId | None = None
        began = False
        while True:
            head, calls, outcome = await self._look(scope.id)
            found = wanted.newest_in(calls)
            if mine is not None:
                found = next((each for each in calls if each.id == mine), found)
            elif found is not None and found.standing == "done" and made.marks.effect == "read":
                found = None  # what was read once may have changed
            if found is not None and found.standing == "done":
                return found, began
            if head is not None and await self._goes_on(head):
                # Also one that an earlier process began: its end is the answer.
                mine = found.id if found is not None and found.standing == "unsettled" else mine
                await self._end_of(scope.id)
                continue
            if found is not None and (mine is not None or found.standing != "not_done"):
                raise error_of(scope.id, found, outcome)
            mine = await self._begin(head, wanted, scope)
            began = mine is not None

    async def text_of(self, call: ScopeCall) -> str:
        """Return the whole result of a call."""
        if call.blob is None:
            return call.content
        return (await self._store.blob(call.blob)).decode("utf-8", "replace")

    # ------------------------------------------------------------ the scope as it stands

    async def _look(self, scope: str) -> tuple[Head | None, list[ScopeCall], Outcome | None]:
        """Read the scope from the store; no head where it has not begun.

        Raises:
            UsageError: a session of an agent has this id.
        """
        try:
            stored = await self._store.load(scope)
        except SessionUnknown:
            return None, [], None
        if stored.head.facts.agent != GUARD:
            raise UsageError(
                f"scope {scope!r} is a session of agent {stored.head.facts.agent!r}; "
                "give the scope another name"
            )
        entries = entries_of(stored)
        state = fold(scope, entries)
        outcome = None if state.outcome is None else outcome_from_data(state.outcome)
        return stored.head, calls_of(entries), outcome

    async def _goes_on(self, head: Head) -> bool:
        """Tell whether something is still to happen in the scope, or has since it was read."""
        if head.session_id in self._sessions.active or head.status in UNFINISHED:
            return True
        if head.status == "completed":
            return False
        # What a person has decided while nobody drove it; others here may be about to take it too.
        await self._inbox.take(head.session_id)
        return (await self._store.head(head.session_id)).seq != head.seq

    async def _end_of(self, scope: str) -> None:
        """Wait until the scope rests; go on with it first where nobody does.

        Raises:
            SessionOwned: another living process drives it.
            UsageError: a tool of it is not guarded here.
        """
        await self._inbox.take(scope)
        status = (await self._store.head(scope)).status
        if scope not in self._sessions.active and (
            status == "running" or (status == "parked" and not self._keeper.wakes(scope))
        ):
            await self._sessions.resume(scope, by="call")
        await self._handle(scope).outcome()
        session = self._sessions.active.get(scope)
        if session is not None and session.ended.is_set():
            await session.retired.wait()

    # ------------------------------------------------------------ a new call

    async def _begin(self, head: Head | None, wanted: Wanted, scope: Scope) -> CallId | None:
        """Write a call down, which starts it; None where somebody else was faster."""
        made, asked = wanted.tool, ToolCall(wanted.id, wanted.tool.name, wanted.arguments)
        said = encodable(f"{made.name} {wanted.arguments}")
        if head is None:
            try:
                await self._sessions.start(
                    scope.id,
                    GUARD,
                    said,
                    scope.budget,
                    self._facts(scope),
                    "freeze",
                    calls=(asked,),
                )
            except SessionExists:
                return None
            return FIRST_CALL
        return await self._append(head, said, asked)

    async def _append(self, head: Head, said: str, asked: ToolCall) -> CallId | None:
        begun: list[CallId] = []

        async def make(session: Session) -> Change:
            entries: list[JournalEntry] = []
            is_free = session.id not in self._sessions.active
            if (
                is_free
                and session.journal.seq == head.seq
                and session.state.status not in UNFINISHED
            ):
                n, own = session.journal.take_n(), session.journal.take_n()
                entries = [Said(n, said), Answered(own, calls=(asked,), ledger=True)]
                begun.append((own, 0))
            return Change(entries, reopens=bool(entries))

        await self._sessions.change(head.session_id, make, by="call")
        return begun[0] if begun else None

    def _facts(self, scope: Scope) -> Facts:
        now_ms = self._clock.wall_ms()
        return Facts(
            agent=GUARD,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
            group=scope.group,
            tenant=scope.tenant,
            working_directory=check_folder(None),
        )


FIRST_CALL: CallId = (2, 0)
"""The call that a scope begins with; what was asked for in words is before it."""


class Guarded(Generic[R]):
    """A function as a scope calls it: called with the same arguments it runs once.

    Made by `Runtime.guard`. It may be kept, or made anew for each call: what it knows is in the store.
    """

    def __init__(self, guards: Guards, made: AnyTool, scope: Scope) -> None:
        self._guards = guards
        self._tool = made
        self._scope = scope
        self._result_type = result_type_of(made)

    def __repr__(self) -> str:
        return f"<guarded {self._tool.name} in scope {self._scope.id}>"

    async def __call__(self, *args: Any, **kwargs: Any) -> R:
        """Return the function's result, recorded now or earlier.

        The key and the secrets of the tool are filled in. Cancelled, it returns at once; the call
        itself goes on in the runtime, and calling again gives its result.

        Raises:
            InDoubt: it may have taken effect; a person is asked.
            HandedOverError: a person has to do something first; it certainly had no effect.
            Denied: a rule or a person does not allow it.
            Failed: the tool failed, and certainly had no effect: `InvalidArgument`,
                `BusinessRejected` and so on.
            SessionOwned: another process has the scope.
            StoreError: the store fails; the call may be running.
        """
        return (await self.detailed(*args, **kwargs)).value

    async def detailed(self, *args: Any, **kwargs: Any) -> GuardedResult[R]:
        """Do as calling does; return with the value where it is from."""
        text = self._text(args, kwargs)
        found, began = await self._guards.call(self._tool, self._scope, text)
        recorded = await self._guards.text_of(found)
        where = f"scope {self._scope.id}, call {found.n}.{found.index} {self._tool.name}"
        value = read_recorded(recorded, found.value_type, self._result_type, where=where)
        return GuardedResult(
            value=cast(R, value),
            replayed=found.replayed or not began or found.by != "",
            by=found.by,
            call=found.id,
            attempts=found.attempts,
        )

    def _text(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """Return the arguments as they are recorded.

        Raises:
            InvalidArgument: they are not what the function takes.
            UsageError: they cannot be written as JSON, or hold a secret.
        """
        name = self._tool.name
        try:
            given = inspect.signature(self._tool.__wrapped__).bind_partial(*args, **kwargs)
        except TypeError as error:
            raise UsageError(f"{name}: {error}") from error
        text = as_json(given.arguments)
        if self._guards.mask(text) != text:
            raise UsageError(f"{name}: an argument holds a secret; name it in secrets= of the tool")
        self._tool.check(text)
        return text


def result_type_of(made: AnyTool) -> Any:
    """Return the type that a tool's recorded results are read as; Any where it does not say.

    Raises:
        UsageError: nothing of that type can be read back.
    """
    try:
        found = typing.get_type_hints(inspect.unwrap(made.__wrapped__)).get("return", Any)
    except (NameError, TypeError, AttributeError):
        return Any
    return readable(found, where=f"tool {made.name!r}: its result")


def check_call_id(call_id: str) -> str:
    """Return what tells equal calls of a scope apart.

    Raises:
        UsageError: it is no text, or too long.
    """
    if not isinstance(call_id, str) or len(call_id) > CALL_ID_CHARS_MAX:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(
            f"call_id={call_id!r} must be text of up to {CALL_ID_CHARS_MAX} characters"
        )
    return encodable(call_id)


def scope_of(options: ScopeOptions) -> Scope:
    """Return a scope as it was named.

    Raises:
        UsageError: none was named, by a name that no session can have, or its call_id is no text.
    """
    if "scope" not in options:
        raise UsageError(
            "a guarded call belongs to a scope: give scope=, such as an order's number"
        )
    budget, group, tenant = options.get("budget"), options.get("group"), options.get("tenant")
    return Scope(
        id=check_own_id(options["scope"], "scope"),
        call_id=check_call_id(options.get("call_id", "")),
        budget=budget if budget is not None else Budget(seconds=None, steps=None),
        group=group if group is None else exact(group),
        tenant=tenant if tenant is None else exact(tenant),
    )
