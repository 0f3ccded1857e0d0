"""Tools with marks of every kind, whose bodies do outside what the plan says."""

import functools
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from ukemi import (
    NOT_DONE,
    BusinessRejected,
    ContentRefused,
    InDoubtTimeout,
    InvalidArgument,
    NotDone,
    PermissionDenied,
    PlanningFailure,
    RateLimited,
    Staged,
    TransientError,
    current,
    tool,
)
from ukemi.actors.tooling.tools import AnyTool

from .outside import Outside, Visit
from .plan import How, Kind

TIMEOUT_S = 5.0


class Odd(Exception):
    """Nobody knows what this means."""


def error(how: How) -> Exception:
    """Return what a body raises that goes so."""
    match how:
        case "transient":
            return TransientError("not now")
        case "limited":
            return RateLimited("too fast", retry_after=2.0)
        case "limited_long":
            return RateLimited("far too fast", retry_after=90.0)
        case "invalid":
            return InvalidArgument("not like this", fields=["what"])
        case "denied":
            return PermissionDenied("you may not")
        case "rejected":
            return BusinessRejected("sold out")
        case "refused":
            return ContentRefused("not a nice word")
        case "planning":
            return PlanningFailure("this leads nowhere")
        case "bug":
            return TypeError("'NoneType' object is not subscriptable")
        case "cut_before" | "cut_after":
            return ConnectionResetError("the line went dead")
        case "timeout_before" | "timeout_after":
            return InDoubtTimeout("no answer")
        case _:
            return Odd("what is this")


SILENT: frozenset[How] = frozenset(("hang_before", "hang_after", "late"))
AFTER: frozenset[How] = frozenset(("ok", "slow", "cut_after", "timeout_after", "hang_after"))


class Toolmaker:
    """Makes the tools of one life."""

    def __init__(self, outside: Outside, life: int) -> None:
        self._outside = outside
        self._life = life

    async def _do(self, kind: Kind, what: str, part: str) -> str:
        outside = self._outside
        with outside.visiting(current(), kind, what, part, self._life) as visit:
            await self._perform(visit)
            return f"{part} {what}"

    async def _perform(self, visit: Visit) -> None:
        outside, how = self._outside, visit.how
        await anyio.sleep(visit.travel_s)
        if how == "late":
            outside.later(visit)
        elif how in AFTER and visit.seen.kind != "read":
            outside.effect(visit)
        if how in SILENT:
            await anyio.sleep(1000.0)
        await anyio.sleep(3.0 if how == "slow" else visit.back_s)
        if how not in ("ok", "slow"):
            raise error(how)

    async def _prepare(self, what: str) -> str:
        """Ready a staged call; what its commit does is what the plan is about."""
        outside = self._outside
        outside.alive(self._life)
        outside.note(f"prepare {what}")
        await anyio.sleep(0.01)
        outside.alive(self._life)
        return f"prepared {what}"

    async def _probe(self, kind: Kind, what: str) -> str | NotDone:
        outside, context = self._outside, current()
        with outside.visiting(context, kind, what, "probe", self._life) as visit:
            await anyio.sleep(visit.travel_s)
            if visit.how not in ("ok", "slow"):
                raise error(visit.how)
            happened = outside.happened(context.session_id, context.call)
            outside.note(f"probed {what} {happened}")
            if happened:
                outside.called_settled(context.session_id, context.call)
                return f"body {what}"
            if happened is None:
                raise TransientError("it is still on its way")
            outside.said_not_done(context.session_id, context.call)
            return NOT_DONE

    def tools(self) -> list[AnyTool]:
        """Return one tool of each kind."""
        do = self._do

        async def undo(what: str) -> str:
            return await do("undoable", what, "undo")

        async def undo_beside(what: str) -> str:
            return await do("beside_undoable", what, "undo")

        async def undo_safe(what: str) -> str:
            return await do("safe_undoable", what, "undo")

        async def undo_keyed(what: str, *, key: str) -> str:
            return await do("undoable_keyed", what, "undo")

        async def look(what: str) -> str | NotDone:
            return await self._probe("probed", what)

        async def commit(what: str) -> str:
            return await do("prepared", what, "commit")

        async def commit_keyed(what: str, *, key: str) -> str:
            return await do("prepared_keyed", what, "commit")

        async def abort(what: str) -> None:
            self._outside.alive(self._life)
            self._outside.note(f"abort {what}")

        async def twin(what: str) -> str:
            return await do("thread_plain", what, "body")

        async def twin_keyed(what: str, *, key: str) -> str:
            return await do("thread_keyed", what, "body")

        @tool(effect="read", timeout_s=TIMEOUT_S, upstream="shop")
        async def read(what: str) -> str:
            return await do("read", what, "body")

        @tool(safe_to_retry=True, timeout_s=TIMEOUT_S)
        async def safe(what: str) -> str:
            return await do("safe", what, "body")

        @tool(safe_to_retry=True, compensate=undo_safe, timeout_s=TIMEOUT_S)
        async def safe_undoable(what: str) -> str:
            return await do("safe_undoable", what, "body")

        @tool(accepts_key=True, timeout_s=TIMEOUT_S, upstream="shop")
        async def keyed(what: str, *, key: str) -> str:
            return await do("keyed", what, "body")

        @tool(probe=look, timeout_s=TIMEOUT_S)
        async def probed(what: str) -> str:
            return await do("probed", what, "body")

        @tool(timeout_s=TIMEOUT_S, secrets=["token"])
        async def plain(what: str, token: str) -> str:
            await do("plain", what, "body")
            return f"body {what} by {token}"

        @tool(compensate=undo, timeout_s=TIMEOUT_S, upstream="shop")
        async def undoable(what: str) -> str:
            return await do("undoable", what, "body")

        @tool(accepts_key=True, compensate=undo_keyed, timeout_s=TIMEOUT_S)
        async def undoable_keyed(what: str, *, key: str) -> str:
            return await do("undoable_keyed", what, "body")

        @tool(danger="money", timeout_s=TIMEOUT_S)
        async def danger(what: str) -> str:
            return await do("danger", what, "body")

        @tool(staged=Staged(commit=commit, abort=abort), timeout_s=TIMEOUT_S)
        async def prepared(what: str) -> str:
            return await self._prepare(what)

        staged = Staged(commit=commit_keyed, abort=abort)

        @tool(staged=staged, accepts_key=True, timeout_s=TIMEOUT_S)
        async def prepared_keyed(what: str, *, key: str) -> str:
            return await self._prepare(what)

        @tool(timeout_s=TIMEOUT_S, overlap=True, accepts_key=True)
        async def beside(what: str, *, key: str) -> str:
            return await do("beside", what, "body")

        @tool(timeout_s=TIMEOUT_S, overlap=True, compensate=undo_beside)
        async def beside_undoable(what: str) -> str:
            return await do("beside_undoable", what, "body")

        @tool(timeout_s=TIMEOUT_S)
        @threaded(twin)
        def thread_plain(what: str) -> str:
            raise AssertionError("its twin runs in its place")

        @tool(timeout_s=TIMEOUT_S, accepts_key=True)
        @threaded(twin_keyed)
        def thread_keyed(what: str, *, key: str) -> str:
            raise AssertionError("its twin runs in its place")

        return [
            *(
                read,
                safe,
                safe_undoable,
                keyed,
                probed,
                plain,
                undoable,
                undoable_keyed,
                danger,
                prepared,
            ),
            *(prepared_keyed, beside, beside_undoable, thread_plain, thread_keyed),
        ]


def threaded(
    twin: Callable[..., Awaitable[Any]],
) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Give a sync body the async one that stands for it in a simulated thread."""

    def give(function: Callable[..., str]) -> Callable[..., str]:
        vars(function)["twin"] = twin
        return function

    return give


def twin_of(body: Callable[..., Any]) -> Callable[[], Awaitable[Any]]:
    """Return the async twin of a sync body as the runtime calls it, its arguments bound."""
    assert isinstance(body, functools.partial)
    twin: Callable[..., Awaitable[Any]] = vars(body.func)["twin"]
    return functools.partial(twin, **body.keywords)
