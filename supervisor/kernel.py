"""The runtime: one crew of tasks for a whole tree, its root, its timers, and the way out.

The crew lives in a task of its own that no cancellation of the embedding program reaches. So when
the program is cancelled, its ``async with`` block ends, and the children are stopped in order, each
within its time; they are not all torn down at once.
"""

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Self

import anyio
from anyio import CancelScope
from msgspec import Struct

from .address import Ref
from .child import Child, Life
from .clock import Clock, SystemClock
from .collector import COLLECTOR, CollectorCare, check_care
from .crew import make_crew
from .errors import ErrorClass, UsageError
from .exits import SHUTDOWN, ExitReason, Killed, StartFailure, classify_simply
from .handle import Supervisor
from .loops import Block, OneShot, current_loop
from .machine import Machine
from .refusals import KernelNotClosed, StartFailed, TreeGaveUp
from .reports import Progress, Report, StillRunning
from .services import Services
from .specs import ChildType, DynamicSpec, SupervisorSpec
from .timers import Timers

COLLECTOR_EVERY_S = 1.0
"""Seconds between two looks at the collector, where nothing else asks for one."""


class TreeNode(Struct, frozen=True, kw_only=True):
    """One child in the picture of the live tree."""

    id: str
    type: ChildType
    state: str  # "starting", "running", "restarting" or "down"
    incarnation: int
    waiting: int  # messages in the mailbox
    children: tuple["TreeNode", ...] = ()


class _Top:
    """What the root supervisor has for a parent."""

    path = label = ""

    def __init__(self, services: Services, on_change: Callable[[], None]) -> None:
        self.services = services
        self._on_change = on_change

    def child_exited(self, child: Child, life: Life) -> None:
        self._on_change()

    def child_ready(self) -> None:
        self._on_change()


class Kernel:
    """Run a tree of supervised children for as long as the ``async with`` block lasts.

    Entering starts the tree; leaving stops it in order. If the root supervisor gives up, the block
    is cancelled and ``TreeGaveUp`` raised when it ends.

    Args:
        spec: the root supervisor.
        clock: where times come from.
        classify: turns an exception into an error class, for restart tables.
        clean: applied to the text and traceback of every crash, to take secrets out.
        on_report: called with what supervisors report. Synchronous; must return quickly.
        on_progress: called with every start and end of a life; for logs and tests.
        close_s_max: seconds that leaving may take. What still runs then is reported by name and
            left behind; ``KernelNotClosed`` is raised, unless an exception is on its way already.
        kill_grace_s: seconds a killed child may take to notice.
        collector: ``tuned`` looks after the process's garbage collector while the block lasts, for
            the sake of thousands of children that wait; see `collector.py`. It touches nothing where
            the program has set thresholds of its own.

    Raises:
        StartFailed: on entering: a child could not start. Nothing is left running.
        TreeGaveUp: on leaving: the root supervisor ended by itself.
        KernelNotClosed: on leaving: some children do not end.
    """

    def __init__(
        self,
        spec: SupervisorSpec | DynamicSpec,
        *,
        clock: Clock | None = None,
        classify: Callable[[BaseException], ErrorClass] = classify_simply,
        clean: Callable[[str], str] | None = None,
        on_report: Callable[[Report], None] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        close_s_max: float = 10.0,
        kill_grace_s: float = 0.2,
        collector: CollectorCare = "untouched",
    ) -> None:
        self._services = Services(
            clock=clock or SystemClock(),
            classify=classify,
            clean=clean,
            on_report=on_report,
            on_progress=on_progress,
            kill_grace_s=kill_grace_s,
        )
        self._services.find = self._find
        self._services.abort = self._abort
        self._services.idle = self._changed
        self._close_s_max = close_s_max
        self._tunes_collector = check_care(collector)
        self._root = Child(_Top(self._services, self._changed), spec, spec.id)
        self._waiter: OneShot | None = None
        self._body: Block | None = None
        self._closing = False
        self._served = False
        self._left: tuple[str, ...] | None = None
        self._fatal: BaseException | None = None

    # -- the block ------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if self._body is not None:
            raise UsageError("a Kernel is entered once; make a new one")
        services = self._services
        loop = current_loop()
        services.bind(loop)
        self._body = Block(loop)
        opened = loop.future()
        loop.detach(self._serve(opened), f"kernel {self._root.id}")
        try:
            with CancelScope(shield=True):
                await opened
            await self._start_root()
        except BaseException:
            await self._shut(kill=True)
            raise
        self._body.enter()
        if self._root.life is not None and not self._root.life.alive:
            self._body.cancel()
        return self

    async def _start_root(self) -> None:
        machine = self._root.life = Machine(self._root, self._services, "")
        machine.begin()
        await self._until(lambda: machine.ready or not machine.alive, None)
        if not machine.ready:
            reason = machine.reason or SHUTDOWN
            if isinstance(reason, StartFailure):
                raise StartFailed(reason.child, reason.cause)
            raise StartFailed(self._root.id, reason)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        assert self._body is not None
        gave_up = self._gave_up()
        left: tuple[str, ...] = ()
        try:
            left = await self._shut()
        finally:
            # It swallows the cancellation of a tree that gave up, which is raised below, and no other.
            swallowed = self._body.leave(kind, error, trace)
        if self._fatal is not None:
            raise self._fatal
        if gave_up is not None and (error is None or swallowed):
            raise TreeGaveUp(self._root.id, gave_up)
        if left and error is None:
            raise KernelNotClosed(left, self._close_s_max)
        return swallowed

    def _gave_up(self) -> ExitReason | None:
        life = self._root.life
        return life.reason if life is not None and not life.alive and not self._closing else None

    # -- the task that owns the crew ------------------------------------------------------------

    async def _serve(self, opened: OneShot) -> None:
        services = self._services
        services.crew = make_crew(is_trio=services.loop.is_trio)
        user: object = None
        if self._tunes_collector:
            user = COLLECTOR.enter(services.loop.closed)
            self._look_after_collector()
        try:
            with CancelScope(shield=True):
                await services.crew.run(partial(self._serve_timers, opened))
        except services.loop.cancelled:
            # Somebody cancels all tasks of the loop: it is being torn down.
            if services.loop.is_trio:
                raise
        except BaseException as error:  # noqa: BLE001
            # SystemExit of a child, or a fault of ours: it belongs to the embedding program.
            self._fatal = error
        finally:
            # Before its time if the crew was torn down: by the above, or since a task of it was
            # cancelled before its first step, when its wrapper could not yet tell. None of its
            # tasks runs any more.
            if self._tunes_collector:
                COLLECTOR.leave(user)
            self._served = True
            services.live.clear()
            self._abort()
            self._changed()

    async def _serve_timers(self, opened: OneShot) -> None:
        opened.set_result(None)
        services = self._services
        await services.timers.serve(services.loop, services.now)

    def _look_after_collector(self) -> None:
        COLLECTOR.look()
        services = self._services
        services.timers.at(services.now() + COLLECTOR_EVERY_S, self._look_after_collector)

    def _abort(self) -> None:
        """End everything at once: nothing is started any more."""
        if not self._services.aborted:
            self._services.aborted = True
            if self._root.life is not None and self._root.life.alive:
                self._root.life.kill(Killed("the kernel was cancelled"))

    # -- the way out ----------------------------------------------------------------------------

    async def _shut(self, *, kill: bool = False) -> tuple[str, ...]:
        """Stop the tree in order and within ``close_s_max``; return what still runs then."""
        self._closing = True
        services = self._services
        machine = self._root.life
        if isinstance(machine, Machine):
            if kill:
                machine.kill(Killed("the kernel did not start"))
            elif machine.alive:
                machine.stop(SHUTDOWN)
        deadline = services.now() + self._close_s_max
        cancelled: BaseException | None = None
        while True:
            try:
                left = await self._stopped(deadline)
                break
            except services.loop.cancelled as error:
                if services.loop.is_trio:
                    raise
                # asyncio cancels a task through every shield. Let out, the crew would run on alone.
                cancelled = error
        if cancelled is not None:
            raise cancelled
        return left

    async def _stopped(self, deadline: float) -> tuple[str, ...]:
        """Wait until the tree, which was told to stop, has done so; end it where it has not."""
        services = self._services
        machine = self._root.life
        left: tuple[str, ...] = ()
        with CancelScope(shield=True):
            await self._until(self._all_ended, deadline)
            services.hurried = True
            if machine is not None and machine.alive:
                machine.kill(Killed("not stopped within close_s_max"))
            await self._until(self._all_ended, services.now() + services.kill_grace_s)
            if self._left is None:  # else this was cancelled after it had been told
                self._left = self._report_left()
            left = self._left
            services.timers.stop()
            if not left:
                await self._until(lambda: self._served, None)
        return left

    def _all_ended(self) -> bool:
        life = self._root.life
        return self._served or ((life is None or not life.alive) and not self._services.live)

    def _report_left(self) -> tuple[str, ...]:
        services = self._services
        left = sorted(f"{task.supervisor}/{task.name}" for task in services.live)
        threads = sorted(services.threads.values())
        if left or threads:
            services.report(
                StillRunning(
                    supervisor=self._root.id,
                    child="",
                    children=tuple(left),
                    threads=tuple(threads),
                )
            )
        return tuple(left)

    async def _until(self, condition: Callable[[], bool], deadline: float | None) -> None:
        """Wait for the tree to change until the condition holds or the time has come."""
        services = self._services
        # Not by our own timers: they may be gone by now.
        seconds = None if deadline is None else deadline - services.now()
        with anyio.move_on_after(seconds):
            while not condition():
                self._waiter = services.loop.future()
                await self._waiter

    def _changed(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
        if self._gave_up() is not None and self._body is not None:
            self._body.cancel()

    # -- what one can do with it ----------------------------------------------------------------

    @property
    def timers(self) -> Timers:
        """The kernel's deadlines: ``after(seconds, callback)``, ``at(when, callback)``."""
        return self._services.timers

    @property
    def zombies(self) -> tuple[str, ...]:
        """Names of children that were given up and still run."""
        return tuple(sorted(f"{z.supervisor}/{z.name}" for z in self._services.zombies))

    def now(self) -> float:
        """Return the kernel's monotonic seconds."""
        return self._services.now()

    def ref(self, path: str) -> Ref[Any]:
        """Return the address of a child: ids from below the root, joined by ``/``.

        The child need not exist yet, and the address stays valid over restarts.
        """
        return Ref(self._services, path)

    def supervisor(self, path: str = "") -> Supervisor:
        """Return a handle on a supervisor; the empty path is the root."""
        return Supervisor(self._services, self._machine, path)

    def waiting(self, path: str) -> int:
        """Return how many messages a child has waiting; 0 where there is no such child."""
        child = self._find(path)
        return len(child.inbox or ()) if child is not None else 0

    def tree(self) -> TreeNode:
        """Return a picture of the tree as it is now."""
        return _picture(self._root)

    def _machine(self, path: str) -> Machine | None:
        child = self._find(path)
        life = child.life if child is not None else None
        return life if isinstance(life, Machine) and life.alive else None

    def _find(self, path: str) -> Child | None:
        child: Child | None = self._root
        for part in path.split("/") if path else ():
            life = child.life if child is not None else None
            child = life.kids.get(part) if isinstance(life, Machine) else None
        return child


def _picture(child: Child) -> TreeNode:
    life = child.life
    kids = life.kids.values() if isinstance(life, Machine) else ()
    return TreeNode(
        id=child.id,
        type=child.type,
        state=child.activity.value if life is None or life.ready else "starting",
        incarnation=child.n,
        waiting=len(child.inbox or ()),
        children=tuple(_picture(kid) for kid in kids),
    )
