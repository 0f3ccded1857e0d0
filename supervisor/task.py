"""The wrapper around a child's body: the only code that sees its exceptions and cancellations."""

from typing import cast

from .child import Child, Life
from .context import Context
from .crew import Member
from .exits import (
    NORMAL,
    SHUTDOWN,
    Abandoned,
    ExitReason,
    ForeignCancel,
    IgnoreStart,
    Killed,
    Normal,
    Shutdown,
    ShutdownError,
    StartTimedOut,
    members_of,
)
from .reports import Exited, Ignored, Started, StartFailing, StuckChild
from .services import Services
from .specs import ChildSpec


class Task(Life):
    """A life of a child that is an async function."""

    __slots__ = ("_context", "_member", "_services", "zombie")

    def __init__(self, child: Child, services: Services) -> None:
        super().__init__(child, services.now())
        self._services = services
        # Its task; None while it has none.
        self._member: Member = None
        self._context: Context[object] | None = None
        self.zombie = False

    @property
    def name(self) -> str:
        return self.child.id

    @property
    def supervisor(self) -> str:
        return self.child.owner.label

    @property
    def _spec(self) -> ChildSpec:
        spec = self.child.spec
        assert isinstance(spec, ChildSpec)
        return spec

    def begin(self) -> None:
        if self._services.aborted:
            self._ended(Killed("the kernel is gone"))
            return
        spec = self._spec
        if spec.on_demand:
            self._become_ready(None)
            self._rest()
            return
        if not spec.wait_ready:
            self._become_ready(None)
        self._spawn()

    def _spawn(self) -> None:
        services = self._services
        if services.aborted:
            return
        services.live.add(self)
        member = services.spawn(self._run(), self.child.path)
        if self in services.live:  # with a task factory of the program's own it may be over by now
            self._member = member

    def _rest(self) -> None:
        """Hold no task until a message comes, which may be there already."""
        self._member = None
        if self.child.inbox:
            self._spawn()
        else:
            self.child.waiter = self

    # The waker of an idle child on demand, as its mailbox sees it.
    def done(self) -> bool:
        return not self.alive

    def set_result(self, _result: None, /) -> None:
        self._spawn()

    def _become_ready(self, info: object) -> None:
        if self.ready or not self.alive:
            return
        self.become_ready()
        self.info = info
        if self._services.on_progress is not None:
            self._services.progress(Started(self.child.path, self.n))

    def _report_ready(self, info: object) -> None:
        if not self.ready and self.alive:
            self._become_ready(info)
            # Not at once: a body that fails in the same breath must be seen dead first.
            self._services.loop.call_soon(self.child.owner.child_ready)

    def ask_stop(self) -> None:
        if self.asked is None:
            self.asked = SHUTDOWN
            self._end_or_cancel()

    def kill(self, reason: ExitReason) -> None:
        if self.alive:
            self.asked = reason
            self._end_or_cancel()

    def _end_or_cancel(self) -> None:
        if self._member is not None:
            self._services.crew.cancel(self._member)
        elif self.alive:
            self._ended(self.asked or SHUTDOWN)

    def give_up(self, after_s: float) -> None:
        if not self.alive:
            return
        if self._context is not None:
            self._context.put_back()
        self.zombie = True
        self._services.zombies.add(self)
        self._services.report(
            StuckChild(supervisor=self.supervisor, child=self.name, after_s=after_s)
        )
        asked = self.asked
        self._ended(asked if asked is not None and _overrides(asked) else Abandoned(after_s))

    async def _run(self) -> None:
        context: Context[object] = Context(self, self._services, self._report_ready)
        self._context = context
        passes: BaseException | None = None
        try:
            await self._spec.start(context)
        except (SystemExit, KeyboardInterrupt, GeneratorExit):
            raise  # not ours to hold up
        except BaseException as error:  # noqa: BLE001
            # Boundary: the one place where a child's failure becomes data.
            reason, passes = self._judge(error)
        else:
            reason = NORMAL
        if self._member is not None and self._services.crew.close_leaked(self._member):
            reason = self._leaked(reason)
        self._body_ended(context, reason)
        if passes is not None:
            try:
                raise passes
            finally:
                del passes

    def _judge(self, error: BaseException) -> tuple[ExitReason, BaseException | None]:
        """Return how the life ended, and what must be raised on: on trio every cancellation.

        On asyncio none is: let out, it would end all children, without a trace.
        """
        loop = self._services.loop
        passes = _part(error, loop.cancelled) if loop.is_trio else None
        if all(isinstance(each, loop.cancelled) for each in members_of(error)):
            return self._cancelled(error), passes
        if isinstance(error, ShutdownError):
            return Shutdown(error.detail), passes
        if isinstance(error, IgnoreStart) and not self.ready:
            self.ignored = True
            return NORMAL, passes
        return self._services.explain(error), passes

    def _leaked(self, reason: ExitReason) -> ExitReason:
        """Return how a body ended that left a scope open, which its task cannot outlive."""
        if not isinstance(reason, Normal):
            return reason
        text = "the body left a cancel scope or task group open when it returned"
        return self._services.explain(RuntimeError(text))

    def _cancelled(self, error: BaseException) -> ExitReason:
        if self.asked is not None:
            return self.asked
        if self._services.loop.is_trio or self._services.crew.torn_down():
            # With all children: the kernel itself is being torn down.
            self._services.abort()
            return Killed("the kernel was cancelled")
        return ForeignCancel(str(error))

    def _body_ended(self, context: Context[object], reason: ExitReason) -> None:
        self._services.retire(self)
        context.put_back()
        self._context = None
        if self.zombie:
            self._services.zombie_ended(self, reason)
        elif self.asked is None and isinstance(reason, Normal) and self._spec.on_demand:
            self.child.life_ended()
            self._rest()
        elif self.alive:
            asked = self.asked
            self._ended(asked if asked is not None and _overrides(asked) else reason)

    def _ended(self, reason: ExitReason) -> None:
        self.alive = False
        self.reason = reason
        self.child.life_ended()
        if self._services.on_progress is not None:
            self._services.progress(self._last_word(reason))
        self.child.owner.child_exited(self.child, self)

    def _last_word(self, reason: ExitReason) -> Exited | Ignored | StartFailing:
        path = self.child.path
        if self.ready:
            return Exited(path, self.n, reason)
        return Ignored(path) if self.ignored else StartFailing(path, reason)


def _overrides(asked: ExitReason) -> bool:
    """Whether a life ends with this whatever its body did after it was told."""
    return isinstance(asked, Killed | StartTimedOut)


def _part(error: BaseException, kind: type[BaseException]) -> BaseException | None:
    """Return what of an exception, or of a group of them, is of this kind."""
    if isinstance(error, BaseExceptionGroup):
        return cast("BaseExceptionGroup[BaseException]", error).split(kind)[0]
    return error if isinstance(error, kind) else None
