"""An event loop whose clock jumps, whose ready tasks run in a drawn order, and which can be killed.

In each round it takes what is ready at its start, as asyncio does, and runs it in an order drawn from
the seed, as trio does: nothing may rely on which of two ready tasks is first. Bare callbacks keep their
order among themselves. Killed, it runs nothing more: what was under way stays where it is for ever.
"""

import asyncio
import heapq
import sys
import warnings
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from contextvars import Context
from random import Random
from typing import Any, TypeVar

from anyio._backends import _asyncio as anyio_backend

from ukemi.supervisor import loops

T = TypeVar("T")

ROUNDS_MAX = 100_000
"""Rounds of one life; more is a loop that is busy with nothing."""

ROUND_S = 1e-6
"""What a round takes: work is not free, and a deadline ends what never waits."""


THREAD = "thread"
"""Name of the tasks that stand for threads: a process may leave those behind."""


class Killed(BaseException):
    """The process is dead from here on."""


class Stuck(Exception):
    """Nothing is ready, and nothing ever will be; or it goes on and on."""


class _Task(asyncio.Task[Any]):
    """A task that knows how many came before it: addresses differ from run to run."""

    number = 0


class WorldLoop(asyncio.BaseEventLoop):
    """The loop of one life.

    Args:
        dice: draws the order.
        start_s: what its clock shows first.
        kill_at: the round before which the process is killed; 0: never.
    """

    def __init__(self, dice: Random, start_s: float = 0.0, kill_at: int = 0) -> None:
        super().__init__()
        self.dead = False
        self.rounds = 0
        self.stuck = ""
        self._dice = dice
        self._time = start_s
        self._kill_at = kill_at
        self._tasks = 0
        self.set_task_factory(self._task)
        self.set_exception_handler(_tell_nobody)

    def time(self) -> float:
        return self._time

    def kill(self) -> None:
        """Run nothing more: not even what is ready in this round."""
        self.dead = True
        self.stop()

    def _task(
        self,
        loop: asyncio.AbstractEventLoop,
        coro: Any,
        context: Context | None = None,
    ) -> _Task:
        task = _Task(coro, loop=loop, context=context)
        self._tasks += 1
        task.number = self._tasks
        return task

    def _write_to_self(self) -> None:
        """Nobody else runs here who could be asleep."""

    def _process_events(self, event_list: object) -> None:
        """There is nothing outside."""

    def _run_once(self) -> None:
        me: Any = self  # asyncio declares none of its queues
        ready: deque[Any] = me._ready
        scheduled: list[Any] = me._scheduled
        self.rounds += 1
        self._time += ROUND_S
        if self.rounds == self._kill_at:
            self.kill()
            return
        while scheduled and scheduled[0]._cancelled:
            heapq.heappop(scheduled)._scheduled = False
        if not ready:
            if not scheduled:
                self.stuck = "nothing is left that could ever wake anything"
            elif scheduled[0]._when > self._time:
                self._time = scheduled[0]._when
        if self.rounds > ROUNDS_MAX:
            self.stuck = f"still busy after {ROUNDS_MAX} rounds"
        if self.stuck:
            self.stop()
            return
        while scheduled and scheduled[0]._when <= self._time:
            handle = heapq.heappop(scheduled)
            handle._scheduled = False
            ready.append(handle)
        batch = list(ready)
        ready.clear()
        for handle in self._ordered(batch) if len(batch) > 1 else batch:
            if self.dead:
                return
            if not handle._cancelled:
                handle._run()

    def _ordered(self, batch: list[Any]) -> Iterable[Any]:
        tasks: list[tuple[int, Any]] = []
        others: deque[Any] = deque()
        for handle in batch:
            whose = getattr(handle._callback, "__self__", None)
            if isinstance(whose, _Task):
                tasks.append((whose.number, handle))
            else:
                others.append(handle)
        # Sets of tasks have no order of their own: what they wake is put in order first.
        tasks.sort(key=lambda each: each[0])
        order: list[Any] = [handle for _, handle in tasks]
        order += [None] * len(others)
        self._dice.shuffle(order)
        return (others.popleft() if each is None else each for each in order)


def live(loop: WorldLoop, main: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T | None, list[str]]:
    """Run a coroutine on this loop to its end, or to the death of the process.

    Returns what it returned, and the names of the tasks it left behind.

    Raises:
        Stuck: it does not end.
        Exception: what it raises.
    """
    task = loop.create_task(main())
    task.add_done_callback(lambda _: loop.stop())
    try:
        loop.run_forever()
        left = [] if loop.dead else _names(asyncio.all_tasks(loop) - {task})
        if loop.dead:
            return None, []
        if not task.done():
            raise Stuck(loop.stuck)
        return task.result(), left
    finally:
        bury(loop)


def _names(tasks: Iterable[asyncio.Task[Any]]) -> list[str]:
    names = (each.get_name() for each in tasks if not each.done())
    return sorted(each for each in names if each != THREAD)


def bury(loop: WorldLoop) -> None:
    """Let go of everything a loop held. What runs on its way out reaches nobody any more."""
    loop.dead = True
    me: Any = loop
    hook, sys.unraisablehook = sys.unraisablehook, _tell_nobody
    asyncio.events._set_running_loop(loop)  # scopes ask where they are when they are left
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a coroutine made in a last word is awaited by nobody
            _close_all(loop)
            me._ready.clear()
            me._scheduled.clear()
            _forget(loop)
    finally:
        asyncio.events._set_running_loop(None)
        sys.unraisablehook = hook
    loop.close()


def _close_all(loop: WorldLoop) -> None:
    generators: list[Any] = list(getattr(loop, "_asyncgens"))  # noqa: B009
    for task in sorted(asyncio.all_tasks(loop), key=lambda each: getattr(each, "number", 0)):
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
        _close(loop, task)
    for generator in generators:
        _finish(generator.aclose())


def _forget(loop: WorldLoop) -> None:
    """Have nobody keep the tasks that were killed: they end nowhere, so that nobody lets go of them.

    What anyio knows of a task leads back to the task, by its scope, so that its weak keys keep it.
    """
    states: Any = getattr(anyio_backend, "_task_states")  # noqa: B009
    detached: set[asyncio.Task[None]] = getattr(loops, "_AsyncioLoop")._detached  # noqa: B009
    for task in {*states, *detached}:
        if task.get_loop() is loop:
            states.pop(task, None)
            detached.discard(task)


def _close(loop: WorldLoop, task: asyncio.Task[Any]) -> None:
    coroutine: Any = task.get_coro()
    asyncio.tasks._enter_task(loop, task)
    try:
        for _ in range(50):  # one that awaits in its clean-up is told again
            try:
                coroutine.close()
            except BaseException:  # noqa: BLE001, S112 - a dead process's last words
                continue
            return
    finally:
        asyncio.tasks._leave_task(loop, task)


def _finish(closing: Any) -> None:
    """Take an asynchronous generator to its end, whatever it still waits for."""
    for _ in range(50):
        try:
            closing.send(None)
        except BaseException:  # noqa: BLE001 - as above
            return


def _tell_nobody(*about: object) -> None:
    """Errors that nobody fetches are those of tasks that were killed."""
