"""The trio side of ``loops``; loaded on trio only."""

import contextvars
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any

import trio


class TrioOneShot:
    """A future for one waiter, straight on trio's scheduler."""

    __slots__ = ("_done", "_result", "_task")

    def __init__(self) -> None:
        self._done = False
        self._result: Any = None
        self._task: trio.lowlevel.Task | None = None

    def done(self) -> bool:
        return self._done

    def set_result(self, result: Any, /) -> None:
        self._done = True
        self._result = result
        if self._task is not None:
            trio.lowlevel.reschedule(self._task)
            self._task = None

    def __await__(self) -> Generator[Any, None, Any]:
        return self._wait().__await__()

    async def _wait(self) -> Any:
        if not self._done:
            self._task = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._abort)
        return self._result

    def _abort(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._task = None
        self._done = True  # nobody waits any more: a late result is dropped
        return trio.lowlevel.Abort.SUCCEEDED


class TrioLoop:
    """See ``loops.Loop``."""

    is_trio = True
    cancelled: type[BaseException] = trio.Cancelled

    def closed(self) -> bool:
        # trio runs every task to its end before it ends itself.
        return False

    def __init__(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self.now: Callable[[], float] = trio.current_time
        self.future = TrioOneShot

    def context(self) -> contextvars.Context:
        return contextvars.copy_context()

    def call_soon(self, callback: Callable[[], object]) -> None:
        self._token.run_sync_soon(callback)

    def call_from_thread(self, callback: Callable[[], object]) -> bool:
        try:
            self._token.run_sync_soon(callback)
        except trio.RunFinishedError:
            return False
        return True

    def detach(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        trio.lowlevel.spawn_system_task(
            partial(_run, coroutine), name=name, context=contextvars.copy_context()
        )

    def task(self) -> object:
        return trio.lowlevel.current_task()

    def is_over(self, task: object) -> bool:
        return False


async def _run(coroutine: Coroutine[Any, Any, None]) -> None:
    await coroutine
