"""The tasks of all children of a kernel: begun in one place, watched, and ended all together.

On trio they are those of an anyio task group. On asyncio they are bare tasks, since a group makes
eight objects of each, among them an event for those who await it, which nobody does: 30 µs and
1.8 KB. What anyio must find to cancel one as it cancels others is put there by hand, and only where
entering a scope does nothing else; should a release of anyio do it otherwise, the group is taken.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from inspect import CORO_CREATED, getcoroutinestate
from typing import Any, Protocol, final

import anyio

Duty = Callable[[], Awaitable[None]]
Member = Any
"""A task as its crew knows it: a handle of anyio's, or the task's outermost scope."""

# What entering a scope changes of it, where the task has no other.
_CHANGED = {"_active", "_host_task", "_tasks"}


class Crew(Protocol):
    """Where the tasks of children run."""

    async def run(self, duty: Duty) -> None:
        """Run a duty, and wait then until all tasks have ended.

        What a task raises ends the duty and all tasks, and is raised in a group.
        """
        ...

    def start(self, coroutine: Coroutine[Any, Any, None], name: str, context: Context) -> Member:
        """Begin a task that sees these context variables."""
        ...

    def cancel(self, member: Member) -> None:
        """Cancel a task, as if all of it ran in a cancel scope; not before its first step."""
        ...

    def torn_down(self) -> bool:
        """Whether the current task, which is cancelled, is so together with all others."""
        ...

    def close_leaked(self, member: Member) -> bool:
        """Close scopes the current task has left open; tell whether there were any."""
        ...


def make_crew(*, is_trio: bool) -> Crew:
    """Return a crew for the running loop; called in a task without any scope."""
    backend = None if is_trio else sys.modules.get("anyio._backends._asyncio")
    return BareCrew(backend) if backend is not None and entering_is_known(backend) else GroupCrew()


def entering_is_known(backend: Any) -> bool:
    """Tell whether entering a scope does on asyncio just what ``BareCrew`` does by hand."""
    try:
        task, states = asyncio.current_task(), backend._task_states
        fresh, entered = backend.CancelScope(), backend.CancelScope()
        with entered:
            changed = {name for name in _fields(fresh) if _differ(fresh, entered, name)}
            return (
                changed == _CHANGED
                and (entered._active, entered._host_task, entered._tasks) == (True, task, {task})
                and states[task].cancel_scope is entered
                and backend.TaskState(None, entered).cancel_scope is entered
                and entered._cancel_handle is None
                and callable(entered._deliver_cancellation)
            )
    except (AttributeError, KeyError, TypeError):
        return False


def _fields(scope: object) -> set[str]:
    return {*getattr(type(scope), "__slots__", ()), *getattr(scope, "__dict__", ())}


def _differ(one: object, other: object, name: str) -> bool:
    return bool(getattr(one, name) != getattr(other, name))


@final
class GroupCrew:
    """Members of an anyio task group."""

    def __init__(self) -> None:
        self._group = anyio.create_task_group()

    async def run(self, duty: Duty) -> None:
        async with self._group:
            await duty()

    def start(self, coroutine: Coroutine[Any, Any, None], name: str, context: Context) -> Member:
        return self._group.create_task(coroutine, name=name, context=context)

    def cancel(self, member: Member) -> None:
        member.cancel()

    def torn_down(self) -> bool:
        return anyio.current_effective_deadline() == float("-inf")

    def close_leaked(self, member: Member) -> bool:
        # Nothing can be done: the handle's own scope, which closes last, ends the group.
        return False


@final
class BareCrew:
    """Tasks straight from the asyncio loop, each below a scope of its own.

    Args:
        backend: anyio's module for asyncio.
    """

    def __init__(self, backend: Any) -> None:
        self._loop = asyncio.get_running_loop()
        self._scope_of_one = backend.CancelScope
        self._state_of_one = backend.TaskState
        self._states = backend._task_states
        # The loop keeps weak references only.
        self._scopes: dict[asyncio.Task[None], Any] = {}
        self._scope = anyio.CancelScope()
        self._errors: list[BaseException] = []
        self._torn = False
        self._gone: asyncio.Future[None] | None = None
        self._outside = Context()

    async def run(self, duty: Duty) -> None:
        cancelled: asyncio.CancelledError | None = None
        try:
            with self._scope:
                await duty()
        except asyncio.CancelledError as error:
            cancelled = error
            self._tear_down()
        except Exception as error:  # noqa: BLE001
            # Boundary: raised below, when nothing runs any more.
            self._errors.append(error)
            self._tear_down()
        await self._all_gone()
        if self._errors:
            raise BaseExceptionGroup("unhandled errors in a kernel's tasks", self._errors)
        if cancelled is not None:
            raise cancelled

    async def _all_gone(self) -> None:
        with anyio.CancelScope(shield=True):
            while self._scopes:
                self._gone = self._loop.create_future()
                try:
                    await self._gone
                except asyncio.CancelledError:
                    # Somebody cancels all tasks of the loop. Not let out before the last is gone.
                    self._tear_down()

    def start(self, coroutine: Coroutine[Any, Any, None], name: str, context: Context) -> Member:
        loop = self._loop
        factory = loop.get_task_factory()
        if factory is None:
            task = loop.create_task(coroutine, name=name, context=context)
        else:
            task = context.run(_made, loop, factory, coroutine, name)
        scope = self._scopes[task] = self._scope_of_one()
        scope._host_task = task
        scope._tasks.add(task)
        scope._active = True
        self._states[task] = self._state_of_one(None, scope)
        task.add_done_callback(self._ended, context=self._outside)
        if self._torn:
            self.cancel(scope)
        return scope

    def cancel(self, member: Member) -> None:
        task = member._host_task
        if task is None or member.cancel_called:
            return
        if getcoroutinestate(task.get_coro()) is not CORO_CREATED:
            member.cancel()
            return
        # At once it would never take its first step, and its body could not tell of its end.
        member._host_task = None
        member.cancel()
        member._host_task = task
        self._loop.call_soon(self._deliver, member, context=self._outside)

    def _deliver(self, member: Member) -> None:
        """Cancel a task that has taken its first step by now."""
        task = member._host_task
        if task is None:
            return
        if getcoroutinestate(task.get_coro()) is CORO_CREATED:
            self._loop.call_soon(self._deliver, member, context=self._outside)
        elif member._cancel_handle is None:
            member._deliver_cancellation(member)

    def _ended(self, task: asyncio.Task[None]) -> None:
        scope = self._scopes.pop(task)
        scope._active = False
        scope._host_task = None
        scope._tasks.discard(task)
        self._states.pop(task, None)
        if task.cancelled():
            # Before its first step, by somebody else: later ones are its body's to tell.
            self._tear_down()
        elif (error := task.exception()) is not None:
            self._errors.append(error)
            self._tear_down()
        if self._gone is not None and not self._scopes and not self._gone.done():
            self._gone.set_result(None)

    def _tear_down(self) -> None:
        if not self._torn:
            self._torn = True
            self._scope.cancel()
            for scope in tuple(self._scopes.values()):
                self.cancel(scope)

    def torn_down(self) -> bool:
        return self._torn

    def close_leaked(self, member: Member) -> bool:
        task = member._host_task
        if task in member._tasks:  # no scope inside of it is open
            return False
        state = self._states[task]
        while (innermost := state.cancel_scope) is not member:
            innermost.cancel()  # and tasks that run in it
            innermost.__exit__(None, None, None)
        return True


def _made(
    loop: asyncio.AbstractEventLoop, factory: Any, coroutine: Coroutine[Any, Any, None], name: str
) -> asyncio.Task[None]:
    """Make a task as the program's own factory does, but never run its first step at once."""
    eager = getattr(asyncio, "eager_task_factory", None)
    if eager is not None and getattr(factory, "__code__", None) is eager.__code__:
        make = factory.__closure__[0].cell_contents
        task: asyncio.Task[None] = make(coroutine, loop=loop, name=name)
        return task
    return loop.create_task(coroutine, name=name)
