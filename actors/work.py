"""Bodies under way: run with a limit, cut off together, given up where they do not end.

A limit is a timer in the kernel's one heap that cancels the body's own scope; the time-out is
noted when the timer fires, so an error from a body's clean-up cannot hide it.
"""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Self, TypeVar, TypeVarTuple

import anyio
from msgspec import Struct

from ..supervisor import Timer, Timers
from ..supervisor.errors import Failed, ToolBug, message_of
from ..supervisor.loops import ScopeStack, close_leaked, scopes_of_task
from .budget import Refusal
from .nothing import NO_DICT, own

T = TypeVar("T")
Given = TypeVarTuple("Given")

GRACE_S = 1.0
"""Seconds a cancelled body has for its clean-up before the session goes on without it."""


class Cut(Struct, frozen=True):
    """Why all work of a session ends now; ``limit`` names the budget, where that is the reason."""

    kind: str  # "cancelled" | "budget" | "fenced"
    limit: Refusal | None = None


class CutOff(Exception):
    """The session was cut off while this body ran, or before it began."""

    def __init__(self, cut: Cut) -> None:
        super().__init__(cut.kind)
        self.cut = cut


class TimedOut(Exception):
    """The body did not end within its own limit."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"no end within {limit_s:g} s")
        self.limit_s = limit_s


class ForeignCancellation(Exception):
    """The body was cancelled by something in it, not by us: a library cancelled a future.

    Let through, it would be taken for our own cancellation and nobody would learn of it.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} was cancelled by something inside it")


class BodyExit(ToolBug):
    """The body called `sys.exit`, which is meant for a program of its own."""

    def __init__(self, what: str, code: object) -> None:
        super().__init__(f"{what} called sys.exit({code!r})")


class BodyPanic(ToolBug):
    """The body raised what is no `Exception`: a panic of an extension, a test's own "failed".

    Let through, it would end the session's actor, whose restart asks again and again.
    """

    def __init__(self, what: str, error: BaseException) -> None:
        super().__init__(f"{what} raised {type(error).__name__}: {message_of(error)}")


class LeakedScope(ToolBug):
    """The body returned with a cancel scope or task group still open.

    Such a scope belongs to the task that opened it, which is the session's: keep it open in a task
    of your own, and hand the call what it needs.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} left a cancel scope or task group open when it returned")


class Superseded(Exception):
    """The body ended after its session had given it up and gone on; nothing may follow."""

    def __init__(self, value: object = None, error: Exception | None = None) -> None:
        super().__init__("given up")
        self.value = value
        self.error = error


class _Body:
    """One body under way, in a scope of its own."""

    __slots__ = ("cancelled", "expired", "leaked", "scope", "what")

    def __init__(self, what: str, scope: anyio.CancelScope) -> None:
        self.what = what
        self.scope = scope
        self.cancelled = False
        """Its scope was cancelled, by whoever ends the body; nobody else can get at it."""
        self.expired = False
        self.leaked = False
        """It left a scope open inside of its own; that has been closed."""

    def leave(self, error: BaseException | None) -> bool:
        """The body is over: close its scope; tell whether that swallows what the body raised."""
        self.leaked = close_leaked(self.scope)
        return _exit(self.scope, error)


class _Standing(_Body):
    """Body after body in one scope that stays open: one for each costs more than all else here.

    It closes only where it was cancelled; then the next body opens another.
    """

    __slots__ = ("_stack", "busy", "open")

    def __init__(self) -> None:
        self._stack: ScopeStack | None = None
        self.open = False
        self.busy = False
        """A body runs in it, or others run side by side in tasks of their own."""

    def enter(self, make: Callable[[], anyio.CancelScope]) -> None:
        """Open the scope, for the next body and those after it."""
        self.cancelled = self.expired = False
        self.scope = make()
        self.scope.__enter__()
        self._stack = scopes_of_task()
        self.open = True

    def leave(self, error: BaseException | None) -> bool:
        self.busy = False
        scope, stack = self.scope, self._stack
        self.leaked = (stack is None or stack.cancel_scope is not scope) and close_leaked(scope)
        return self.cancelled and self.close(error)

    def close(self, error: BaseException | None) -> bool:
        """Close the scope, as the innermost of the task; tell whether it swallows the error."""
        if not self.open:
            return False
        self.open, self._stack = False, None
        return _exit(self.scope, error)


def _exit(scope: anyio.CancelScope, error: BaseException | None) -> bool:
    """Close a scope; tell whether it swallows what ended its block."""
    trace = None if error is None else error.__traceback__
    return bool(scope.__exit__(None if error is None else type(error), error, trace))


class Work:
    """The bodies of one life of a session.

    Inside of its ``with`` block the bodies share a scope, one after the other; those that run in
    other tasks than the block's must do so `side_by_side`.

    Args:
        on_stuck: told the name of a body that did not end within ``GRACE_S`` after being cancelled.
        scope: the class of scopes.
    """

    __slots__ = (
        "_bodies",
        "_graces",
        "_on_stuck",
        "_scope",
        "_standing",
        "_timers",
        "closed",
        "cut",
    )

    def __init__(
        self,
        timers: Timers,
        on_stuck: Callable[[str], None],
        scope: type[anyio.CancelScope] = anyio.CancelScope,
    ) -> None:
        self._timers = timers
        self._on_stuck = on_stuck
        self._bodies: list[_Body] = []
        self._graces: dict[_Body, Timer] = NO_DICT
        self._scope = scope
        self._standing: _Standing | None = None
        self.cut: Cut | None = None
        self.closed = False

    def __enter__(self) -> Self:
        self._standing = _Standing()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        standing, self._standing = self._standing, None
        return standing is not None and standing.close(error)

    @contextmanager
    def side_by_side(self) -> Generator[None]:
        """In this block bodies run in other tasks, so that each needs a scope of its own."""
        standing = self._standing
        if standing is None:
            yield
            return
        before, standing.busy = standing.busy, True
        try:
            yield
        finally:
            standing.busy = before

    def cut_off(self, cut: Cut) -> None:
        """End all bodies and start no more; the first reason stays."""
        if self.cut is None:
            self.cut = cut
            for body in tuple(self._bodies):
                self._cancel(body)

    async def run(
        self,
        function: Callable[[*Given], Awaitable[T]],
        *given: *Given,
        what: str,
        limit_s: float | None = None,
    ) -> T:
        """Run a body with what it is given, and return its value.

        Raises:
            CutOff: the session was cut off; the body may have taken effect if it had begun.
            TimedOut: ``limit_s`` seconds passed.
            Superseded: the session has gone on without this body.
            Exception: whatever the body raises.
        """
        if self.cut is not None:
            raise CutOff(self.cut)
        standing = self._standing
        if standing is None or standing.busy:
            body = self._alone(what)
        else:
            if not standing.open:
                standing.enter(self._scope)
            standing.busy = True
            standing.what = what
            body = standing
        timer = None
        if limit_s is not None:
            timer = self._timers.after(limit_s, partial(self._expire, body))
        self._bodies.append(body)
        try:
            try:
                value = await function(*given)
            except BaseException as error:
                if not body.leave(error):
                    raise
            else:
                body.leave(None)
                if self.closed:
                    raise Superseded(value)
                if body.leaked:
                    raise LeakedScope(what)
                return value
        except Superseded:
            raise
        except SystemExit as error:
            # A wrapped command line that means to end its own program must not end this one.
            raise BodyExit(what, error.code) from error
        except anyio.get_cancelled_exc_class() as error:
            if anyio.current_effective_deadline() == float("-inf"):
                raise  # a scope of ours: the session is being stopped
            raise ForeignCancellation(what) from error
        except Exception as error:
            self._explain(body, limit_s, error)
            if not isinstance(error, Failed):  # that is the tool's own word
                # The session is being stopped, perhaps: what a body then raises on its way out is what
                # it, or a library of its, made of that.
                await anyio.lowlevel.checkpoint_if_cancelled()
            raise
        except (KeyboardInterrupt, GeneratorExit):
            raise  # the program is being ended, or this coroutine closed
        except BaseException as error:
            if anyio.current_effective_deadline() == float("-inf"):
                raise  # a cancellation of ours may be among what is raised together
            panic = BodyPanic(what, error)
            self._explain(body, limit_s, panic)
            raise panic from error
        finally:
            self._bodies.remove(body)
            if timer is not None:
                timer.cancel()
            if self._graces:
                self._calm(body)
        self._explain(body, limit_s, None)
        raise AssertionError("a scope swallowed a cancellation that nobody asked for")

    def _alone(self, what: str) -> _Body:
        """Open a scope of its own for a body that runs beside others, or within one."""
        body = _Body(what, self._scope())
        body.scope.__enter__()
        return body

    def _calm(self, body: _Body) -> None:
        """The body has ended in time, if it was cancelled."""
        grace = self._graces.pop(body, None)
        if grace is not None:
            grace.cancel()

    def _explain(self, body: _Body, limit_s: float | None, error: Exception | None) -> None:
        """Raise what ended the body, where it was not the body itself."""
        if self.closed:
            raise Superseded(error=error) from error
        if not body.cancelled:
            return
        if body.expired:
            raise TimedOut(limit_s or 0.0) from error
        if self.cut is not None:
            raise CutOff(self.cut) from error

    def _expire(self, body: _Body) -> None:
        body.expired = True
        self._cancel(body)

    def _cancel(self, body: _Body) -> None:
        body.cancelled = True
        body.scope.cancel()
        if body not in self._graces:
            self._graces = own(self._graces)
            self._graces[body] = self._timers.after(GRACE_S, lambda: self._stuck(body))

    def _stuck(self, body: _Body) -> None:
        if body in self._bodies and not self.closed:
            self.closed = True
            self._on_stuck(body.what)


def contained(what: str, function: Callable[[], T]) -> T:
    """Call a user's plain function beside a body; what ends more than its call is that call's bug.

    Raises:
        BodyExit, BodyPanic, ForeignCancellation: as for bodies. Nothing is waited for in it, so a
            cancellation raised here is none of ours.
        Exception: whatever the function raises.
    """
    try:
        return function()
    except (Exception, KeyboardInterrupt, GeneratorExit):
        raise
    except SystemExit as error:
        raise BodyExit(what, error.code) from error
    except anyio.get_cancelled_exc_class() as error:
        raise ForeignCancellation(what) from error
    except BaseException as error:
        raise BodyPanic(what, error) from error


async def pause(work: Work, delay_s: float) -> None:
    """Wait before a retry; a cut ends the wait."""
    try:
        await work.run(anyio.sleep, delay_s, what="wait before a retry")
    except CutOff:
        return
