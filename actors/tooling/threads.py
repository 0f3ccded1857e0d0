"""Sync bodies in worker threads, and what becomes of those that outlive their call.

A thread cannot be stopped from outside. What can be promised: the caller is released at once when
it is cancelled, the thread stays on record until its body ends, and how it ended is reported once.

The threads are our own. anyio's are not daemons on asyncio, so one stuck body would keep the
interpreter from exiting; and its default limit of 40 is shared, so 40 stuck bodies of one tool
would stop all others. Here each tool has its own limit and the threads are daemons.
"""

import asyncio
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable
from contextvars import Context, copy_context
from queue import Empty, SimpleQueue
from typing import Any, TypeVar, cast

import anyio
from anyio.lowlevel import current_token
from msgspec import Struct

from ...supervisor.errors import ToolBug, TransientError, message_of
from ...supervisor.logs import log
from .context import CallContext, current_or_none

T = TypeVar("T")

PER_TOOL_MAX = 16
IDLE_S_MAX = 10.0


class RunningThread(Struct, frozen=True):
    """A body that is still running. ``since`` is on the event loop's clock."""

    tool: str
    since: float
    abandoned: bool
    context: CallContext | None = None


class LateOutcome(Struct, frozen=True):
    """How a body ended after its call had been cancelled: ``error``, or else ``value``."""

    tool: str
    since: float
    value: object = None
    error: BaseException | None = None
    context: CallContext | None = None


class _Job:
    """One body on its way through a thread."""

    __slots__ = (
        "abandoned",
        "body",
        "call",
        "context",
        "done",
        "error",
        "post",
        "since",
        "tool",
        "value",
    )

    def __init__(self, tool: str, body: Callable[[], object]) -> None:
        self.tool = tool
        self.body: Callable[[], object] | None = body
        self.context: Context | None = copy_context()
        self.call = current_or_none()
        self.post = _poster()
        self.done = anyio.Event()
        self.since = anyio.current_time()
        self.abandoned = False
        self.value: object = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Run the body; in the worker thread."""
        context, body = cast(Context, self.context), cast(Callable[[], object], self.body)
        self.context = self.body = None
        try:
            context.run(_leave_event_loop)
            self.value = context.run(body)
        except BaseException as error:  # noqa: BLE001 the boundary of the thread: it all goes to the caller
            self.error = _presentable(self.tool, error)

    def late(self) -> LateOutcome:
        return LateOutcome(self.tool, self.since, self.value, self.error, self.call)


class Threads:
    """Worker threads for sync bodies; belongs to one event loop.

    Args:
        per_tool_max: bodies of one tool at a time, those that outlived their call included. The
            threads in all are bounded by this times the number of tools.
        on_late: told on the event loop, once each, how a body ended whose call had been cancelled.
    """

    def __init__(
        self,
        *,
        per_tool_max: int = PER_TOOL_MAX,
        on_late: Callable[[LateOutcome], None] | None = None,
    ) -> None:
        self._per_tool_max = per_tool_max
        self._on_late = on_late
        self._limits: dict[str, anyio.CapacityLimiter] = {}
        self._jobs: dict[int, _Job] = {}
        self._stuck: Counter[str] = Counter()
        self._workers = _Workers()

    async def run(
        self, body: Callable[[], T], *, tool: str, on_start: Callable[[], None] | None = None
    ) -> T:
        """Run a body in a thread, with a copy of the caller's context variables.

        Cancelling the call releases the caller at once. If the body had started, it is kept in
        `running` until it ends, and its outcome goes to ``on_late``. While all threads of the tool
        are taken, calls wait in order; they have not started and may be cancelled without effect.

        Raises:
            TransientError: every thread of this tool is stuck in a call that was cut off; the body
                did not start.
            ToolBug: the body raised what only an event loop or an interpreter may raise, such as
                SystemExit, StopIteration or a cancellation.
            Exception: what else the body raises.
        """
        self._refuse_if_stuck(tool)
        limit = self._limits.get(tool)
        if limit is None:
            limit = self._limits[tool] = anyio.CapacityLimiter(self._per_tool_max)
        job = _Job(tool, body)
        await limit.acquire_on_behalf_of(job)
        # From here to the wait nothing can be interrupted: a body that starts is on record.
        job.since = anyio.current_time()
        self._jobs[id(job)] = job
        if on_start is not None:
            on_start()
        self._workers.submit(job, self._ended)
        answered = False
        try:
            await job.done.wait()
            answered = True
        finally:
            if not answered:
                self._abandon(job)
        if job.error is not None:
            try:
                raise job.error
            finally:
                del job  # its traceback holds this frame, and this frame held it
        return cast(T, job.value)

    def running(self) -> tuple[RunningThread, ...]:
        """Return the bodies that run now, the longest first; ``abandoned`` ones nobody awaits."""
        return tuple(
            RunningThread(job.tool, job.since, job.abandoned, job.call)
            for job in self._jobs.values()
        )

    def close(self) -> tuple[RunningThread, ...]:
        """Send idle threads home and return the bodies still running; waits for nothing.

        Their threads end with their bodies or with the process, whichever is first.
        """
        self._workers.close()
        return self.running()

    def _refuse_if_stuck(self, tool: str) -> None:
        stuck = self._stuck[tool]
        if stuck >= self._per_tool_max:
            raise TransientError(
                f"tool {tool!r} did not start: all of its {stuck} threads are still busy with "
                "calls that were cut off"
            )

    def _abandon(self, job: _Job) -> None:
        """The caller was cancelled: it goes on, the body does too, or has ended just now."""
        job.abandoned = True
        if job.done.is_set():
            self._report(job)
        else:
            self._stuck[job.tool] += 1

    def _ended(self, job: _Job) -> None:
        """Take in a finished body; on the event loop."""
        del self._jobs[id(job)]
        self._limits[job.tool].release_on_behalf_of(job)
        job.done.set()
        if job.abandoned:
            self._stuck[job.tool] -= 1
            self._report(job)

    def _report(self, job: _Job) -> None:
        if self._on_late is None:
            return
        try:
            self._on_late(job.late())
        except Exception:  # noqa: BLE001 an event loop must not die of a listener
            log("ukemi", "error", "thread.late_outcome_lost", tool=job.tool, exc_info=True)


class _Workers:
    """Daemon threads that are used again while there is work, and leave when there is none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: deque[SimpleQueue[_Task | None]] = deque()
        self._closed = False

    def submit(self, job: _Job, ended: Callable[[_Job], None]) -> None:
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is not None:
            inbox.put((job, ended))
            return
        inbox = cast("SimpleQueue[_Task | None]", SimpleQueue())
        inbox.put((job, ended))
        threading.Thread(
            target=self._work, args=(inbox,), name=f"ukemi tool {job.tool}", daemon=True
        ).start()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, deque()
        for inbox in idle:
            inbox.put(None)

    def _work(self, inbox: "SimpleQueue[_Task | None]") -> None:
        while (task := self._next(inbox)) is not None:
            job, ended = task
            job.run()
            with self._lock:
                if not self._closed:
                    self._idle.append(inbox)
                closed = self._closed
            job.post(ended, job)
            del task, job, ended  # an idle thread must not keep the last result alive
            if closed:
                return

    def _next(self, inbox: "SimpleQueue[_Task | None]") -> "_Task | None":
        try:
            return inbox.get(timeout=IDLE_S_MAX)
        except Empty:
            with self._lock:
                if inbox in self._idle:
                    self._idle.remove(inbox)
                    return None
            return inbox.get()  # taken off the list a moment ago: a task is on its way


_Task = tuple[_Job, Callable[[_Job], None]]


def _poster() -> Callable[..., None]:
    """Return a function that calls another one on this event loop, from any thread.

    Once the loop is gone it does nothing: nobody is left to be told.
    """
    native = current_token().native_token
    call: Callable[..., Any]
    if isinstance(native, asyncio.AbstractEventLoop):
        call = native.call_soon_threadsafe
    else:
        call = cast(Any, native).run_sync_soon  # trio's token; trio itself may not be installed

    def post(function: Callable[..., None], *args: object) -> None:
        try:
            call(function, *args)
        except RuntimeError:
            return  # asyncio: the loop is closed; trio: RunFinishedError

    return post


def _leave_event_loop() -> None:
    """Make the copied context say that this thread runs no event loop."""
    sniffio = sys.modules.get("sniffio")
    if sniffio is not None:
        sniffio.current_async_library_cvar.set(None)


def _presentable(tool: str, error: BaseException) -> BaseException:
    """Keep exceptions that mean something to an event loop from acting on ours."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration | StopAsyncIteration):
        return error
    bug = ToolBug(f"the body of tool {tool!r} raised {type(error).__name__}: {message_of(error)}")
    bug.__cause__ = error
    return bug
