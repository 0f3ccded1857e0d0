"""The few things anyio does not offer, once for asyncio (and uvloop) and once for trio.

A one-shot future made from the loop itself is several times cheaper than an ``anyio.Event`` per
sleep. The service task is detached: it is no child of the caller's scopes, so a cancellation of the
caller reaches the children in order, through their supervisors, and never all at once.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from types import TracebackType
from typing import Any, Protocol

import anyio

from .errors import UsageError

Callback = Callable[[], object]


class OneShot(Protocol):
    """A future for one waiter."""

    def done(self) -> bool: ...
    def set_result(self, result: Any, /) -> None: ...
    def __await__(self) -> Generator[Any, None, Any]: ...


class Loop(Protocol):
    """What the kernel needs of an event loop."""

    is_trio: bool
    cancelled: type[BaseException]

    def now(self) -> float: ...
    def closed(self) -> bool:
        """Whether the loop is no more, so that none of its tasks will take another step."""
        ...

    def future(self) -> OneShot: ...
    def context(self) -> Context:
        """Return a copy of the caller's context variables, fit for callbacks and tasks."""
        ...

    def call_soon(self, callback: Callback) -> None:
        """Call back in the next round of the loop."""
        ...

    def call_from_thread(self, callback: Callback) -> bool:
        """Call back in the loop's thread; False if the loop is no more."""
        ...

    def detach(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        """Run a coroutine as a task that nobody's cancellation reaches."""
        ...

    def task(self) -> object:
        """Return the running task."""
        ...

    def is_over(self, task: Any) -> bool:
        """Whether a task has ended; on trio never, which lets none end with a scope open."""
        ...


class _AsyncioLoop:
    is_trio = False
    cancelled: type[BaseException] = asyncio.CancelledError
    # The loop keeps weak references only.
    _detached: set[asyncio.Task[None]] = set()  # noqa: RUF012 - shared on purpose

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.now = _clock_of(self._loop)
        self.closed = self._loop.is_closed
        self.future: Callable[[], OneShot] = self._loop.create_future
        self._context = self.context()

    def context(self) -> Context:
        # Where sniffio is installed, anyio asks it which library runs. It knows by this variable,
        # which `anyio.run` sets, or by the running task: under `asyncio.run`, in a bare callback,
        # there is neither.
        context = copy_context()
        sniffio = sys.modules.get("sniffio")
        if sniffio is not None:
            context.run(sniffio.current_async_library_cvar.set, "asyncio")
        return context

    def call_soon(self, callback: Callback) -> None:
        self._loop.call_soon(callback, context=self._context)

    def call_from_thread(self, callback: Callback) -> bool:
        try:
            self._loop.call_soon_threadsafe(callback, context=self._context)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def detach(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        task = self._loop.create_task(coroutine, name=name)
        self._detached.add(task)
        task.add_done_callback(self._detached.discard)

    def task(self) -> object:
        return asyncio.current_task()

    def is_over(self, task: Any) -> bool:
        return bool(task is not None and task.done())


def _clock_of(loop: asyncio.AbstractEventLoop) -> Callable[[], float]:
    """Return the loop's clock; of the stock one what it asks itself, since time is asked so often."""
    stock = getattr(loop.time, "__func__", None) is asyncio.BaseEventLoop.time
    return time.monotonic if stock else loop.time


def current_loop() -> Loop:
    """Return the running loop's kind."""
    if anyio.get_cancelled_exc_class() is not asyncio.CancelledError:
        from ._trio import TrioLoop

        return TrioLoop()
    return _AsyncioLoop()


class Block:
    """The block in which an embedding program has something of ours entered.

    An async generator that holds one, such as a fixture, may be closed in another task. That is fine
    if the one which entered it is over by then: nobody is left in the scope.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._task = loop.task()
        self._scope = anyio.CancelScope()

    def enter(self) -> None:
        self._scope.__enter__()

    def cancel(self) -> None:
        # The scope of a task that is over would try again for ever.
        if not self._loop.is_over(self._task):
            self._scope.cancel()

    def leave(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Tell whether the error was a cancellation of ours, which goes no further.

        Raises:
            UsageError: another task entered it, and goes on.
        """
        if self._loop.is_trio or self._loop.task() is self._task:
            return bool(self._scope.__exit__(kind, error, trace))
        if self._loop.is_over(self._task):
            return False
        raise UsageError(
            "an `async with` block was left in another task than entered it, which still runs; "
            "close an async generator that holds one in the task that began it"
        ) from error


class ScopeStack(Protocol):
    """What anyio keeps of a task's open scopes on asyncio: the innermost."""

    cancel_scope: object


def scopes_of_task() -> ScopeStack | None:
    """Return the current task's scopes on asyncio; None on trio, or should anyio hide them."""
    backend = sys.modules.get("anyio._backends._asyncio")
    states = getattr(backend, "_task_states", None)
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no asyncio here
        return None
    return states.get(task) if states is not None and task is not None else None


def close_leaked(scope: anyio.CancelScope) -> bool:
    """Close scopes that were opened inside of ``scope`` in this task and never closed.

    On asyncio they would stay the task's innermost for good, and its child would crash over them
    when it ends. Tells whether there were any. On trio the run itself watches over this.
    """
    leaked = False
    while (innermost := _innermost_scope()) is not None and innermost is not scope:
        leaked = True
        innermost.__exit__(None, None, None)
    return leaked


def _innermost_scope() -> Any:
    """The current task's innermost scope on asyncio; None on trio, or should anyio hide it."""
    return getattr(scopes_of_task(), "cancel_scope", None)
