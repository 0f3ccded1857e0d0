"""What all supervisors and children of one kernel share."""

import math
from collections.abc import Callable, Coroutine
from contextvars import Context as ContextVars
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Protocol

from .clock import Clock, SystemClock
from .crew import Crew, Member
from .exits import Classify, Crashed, ExitReason, crashed, members_of
from .logs import log
from .loops import Loop
from .reports import Progress, Report, StuckChildEnded
from .timers import Timers

if TYPE_CHECKING:
    from .child import Child


class Running(Protocol):
    """A task of a child, as the kernel's books see it."""

    @property
    def name(self) -> str: ...
    @property
    def supervisor(self) -> str: ...


class Services:
    """Loop, time, timers, the tasks and the books of one kernel."""

    def __init__(
        self,
        *,
        clock: Clock,
        classify: Classify,
        clean: Callable[[str], str] | None,
        on_report: Callable[[Report], None] | None,
        on_progress: Callable[[Progress], None] | None,
        kill_grace_s: float,
    ) -> None:
        self.clock = clock
        self.now: Callable[[], float] = clock.now
        self.timers = Timers()
        self.kill_grace_s = kill_grace_s
        self.aborted = False
        # No time is left: a supervisor that is killed takes all below it along at once.
        self.hurried = False
        self.live: set[Running] = set()
        self.zombies: set[Running] = set()
        self.threads: dict[object, str] = {}
        self.on_progress = on_progress
        self._classify = classify
        self._clean = clean
        self._on_report = on_report
        self._context: ContextVars = copy_context()
        self.loop: Loop
        self.crew: Crew
        self.abort: Callable[[], None] = _nothing
        self.idle: Callable[[], None] = _nothing
        self.find: Callable[[str], Child | None] = _nobody

    def bind(self, loop: Loop) -> None:
        """Take up a loop; called once, inside of it, before anything is started."""
        self.loop = loop
        self._context = loop.context()
        if type(self.clock) is SystemClock:
            # The same time without anyio's look-up of the backend, which costs more than the heap.
            self.now = loop.now

    def spawn(self, coroutine: Coroutine[Any, Any, None], name: str) -> Member:
        """Start a task of a child, with fresh context variables."""
        return self.crew.start(coroutine, name, self._context.copy())

    def report(self, report: Report) -> None:
        if self._on_report is not None:
            self.call(self._on_report, report)

    def progress(self, progress: Progress) -> None:
        if self.on_progress is not None:
            self.call(self.on_progress, progress)

    def call(self, callback: Callable[..., object], *args: object) -> None:
        """Call what the embedding program gave us."""
        try:
            callback(*args)
        except Exception as error:  # noqa: BLE001
            # Boundary: a fault in a listener must not leave a supervisor half way.
            name = getattr(callback, "__qualname__", repr(callback))
            kind = type(error).__name__
            log("ukemi.supervisor", "error", "callback.failed", callback=name, error_type=kind)

    def explain(self, error: BaseException) -> Crashed:
        """Make a record of an exception, cancellations in it left out."""
        members = members_of(error)
        errors = [each for each in members if not isinstance(each, self.loop.cancelled)]
        return crashed(errors or members, self._classify, self._clean)

    def retire(self, task: Running) -> None:
        """Note that a task has ended; closing waits for the last."""
        self.live.discard(task)
        if not self.live:
            self.idle()

    def zombie_ended(self, task: Running, reason: ExitReason) -> None:
        self.zombies.discard(task)
        self.report(StuckChildEnded(supervisor=task.supervisor, child=task.name, reason=reason))

    def deadline(self, seconds: float | None) -> float:
        return math.inf if seconds is None else self.now() + seconds


def _nothing() -> None:
    return None


def _nobody(_path: str) -> None:
    return None
