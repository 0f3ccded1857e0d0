"""Sync bodies in threads: released at once, reported once, never in each other's way."""

import asyncio
import contextvars
import gc
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest

from ukemi.actors.tooling.context import CallContext, calling
from ukemi.actors.tooling.threads import LateOutcome, Threads
from ukemi.supervisor.errors import ToolBug, TransientError

pytestmark = pytest.mark.realtime

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


class Late:
    """Collects late outcomes; waits for the event, not for time."""

    def __init__(self) -> None:
        self.outcomes: list[LateOutcome] = []
        self.threads: list[int] = []
        self._news = anyio.Event()

    def __call__(self, outcome: LateOutcome) -> None:
        self.outcomes.append(outcome)
        self.threads.append(threading.get_ident())
        self._news.set()

    async def arrived(self, count: int) -> None:
        with anyio.fail_after(5):
            while len(self.outcomes) < count:
                await self._news.wait()
                self._news = anyio.Event()


class Gate:
    """A body that blocks until the test opens it, and counts its effects."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.open = threading.Event()
        self.effects = 0

    async def reached(self) -> None:
        """Wait until one more body is inside; polled, since it happens in a thread."""
        with anyio.fail_after(5):
            while not self.entered.acquire(blocking=False):  # noqa: ASYNC110
                await anyio.sleep(0.001)

    def __call__(self) -> str:
        self.entered.release()
        assert self.open.wait(10)
        self.effects += 1
        return "done"


async def cut_off(threads: Threads, body: Gate, tool: str = "save_note") -> float:
    """Start a body, cancel its call once it runs, and return how long the release took."""
    start = 0.0
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: threads.run(body, tool=tool))
        await body.reached()
        start = time.perf_counter()
        group.cancel_scope.cancel()
    return time.perf_counter() - start


async def test_DL_01_the_caller_is_released_and_the_outcome_follows() -> None:
    """Deadline 0.3 s, a body of 0.8 s, and another session that must not notice."""
    late, effects, lags, times = Late(), list[str](), list[float](), list[float]()
    threads = Threads(on_late=late)

    def body() -> str:
        time.sleep(0.8)
        effects.append("note")
        return "saved"

    async def ticks() -> None:
        while True:
            before = time.perf_counter()
            await anyio.sleep(0.02)
            lags.append(time.perf_counter() - before - 0.02)

    async with anyio.create_task_group() as group:
        group.start_soon(ticks)
        times.append(time.perf_counter())
        with anyio.move_on_after(0.3) as scope:
            await threads.run(body, tool="save_note")
        times.append(time.perf_counter())
        assert scope.cancelled_caught
        (running,) = threads.running()
        assert (running.tool, running.abandoned, effects) == ("save_note", True, [])
        await late.arrived(1)
        group.cancel_scope.cancel()

    assert times[1] - times[0] < 0.5
    assert effects == ["note"]
    (outcome,) = late.outcomes
    assert (outcome.tool, outcome.value, outcome.error) == ("save_note", "saved", None)
    assert late.threads == [threading.get_ident()], "told on the event loop"
    assert threads.running() == ()
    assert sorted(lags)[len(lags) * 9 // 10] < 0.05
    threads.close()


async def test_DL_01_closing_reports_what_still_runs_and_does_not_wait() -> None:
    gate, late = Gate(), Late()
    threads = Threads(on_late=late)
    context = CallContext(session_id="s-1", agent="a", tool="save_note", call=(3, 0))
    with calling(context):
        await cut_off(threads, gate)
    start = time.perf_counter()
    (running,) = threads.close()
    assert time.perf_counter() - start < 0.1
    assert (running.tool, running.abandoned, running.context) == ("save_note", True, context)
    assert running.since <= anyio.current_time()
    gate.open.set()
    await late.arrived(1)
    assert late.outcomes[0].context == context
    assert threads.close() == ()


async def test_a_late_exception_is_reported_too() -> None:
    gate, late = Gate(), Late()
    threads = Threads(on_late=late)

    def body() -> None:
        gate()
        raise ValueError("too late")

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: threads.run(body, tool="t"))
        await gate.reached()
        group.cancel_scope.cancel()
    gate.open.set()
    await late.arrived(1)
    assert isinstance(late.outcomes[0].error, ValueError)
    threads.close()


async def test_every_outcome_arrives_exactly_once() -> None:
    """Law: bodies cut off at all moments, before, while and after they end."""
    late = Late()
    threads = Threads(per_tool_max=4, on_late=late)
    returned: list[int] = []
    started: list[int] = []

    def body(number: int) -> int:
        time.sleep(0.002)
        return number

    async def call(number: int) -> None:
        with anyio.move_on_after(0.0005 * (number % 8) if number % 10 else None):
            result = await threads.run(
                lambda: body(number), tool="t", on_start=lambda: started.append(number)
            )
            returned.append(result)

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(call, number)
    await late.arrived(len(started) - len(returned))
    assert sorted([*returned, *(int(str(one.value)) for one in late.outcomes)]) == sorted(started)
    assert returned
    assert late.outcomes
    assert threads.running() == ()
    threads.close()


async def test_a_call_that_waits_for_a_thread_has_not_started() -> None:
    gate, started = Gate(), list[str]()
    threads = Threads(per_tool_max=1)
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: threads.run(gate, tool="t"))
        await gate.reached()
        with anyio.move_on_after(0.05):
            await threads.run(lambda: None, tool="t", on_start=lambda: started.append("second"))
        assert started == []
        assert len(threads.running()) == 1
        gate.open.set()
    assert gate.effects == 1
    threads.close()


async def test_calls_get_their_thread_in_order() -> None:
    gate, threads, order = Gate(), Threads(per_tool_max=1), list[int]()

    async def call(number: int) -> None:
        await threads.run(lambda: order.append(number), tool="t")

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: threads.run(gate, tool="t"))
        await gate.reached()
        for number in range(20):
            group.start_soon(call, number)
            await anyio.wait_all_tasks_blocked()
        gate.open.set()
    assert order == list(range(20))
    threads.close()


async def test_stuck_threads_of_one_tool_do_not_starve_the_others() -> None:
    """40 calls of one tool never return: other tools run, and this one says so."""
    gate, late = Gate(), Late()
    threads = Threads(per_tool_max=40, on_late=late)
    for _ in range(40):
        await cut_off(threads, gate, "stuck")
    with anyio.fail_after(2):
        assert await threads.run(lambda: "ran", tool="other") == "ran"
    started: list[int] = []
    with pytest.raises(TransientError, match=r"'stuck' did not start.* 40 threads") as caught:
        await threads.run(gate, tool="stuck", on_start=lambda: started.append(1))
    assert caught.value.may_have_executed == "no"
    assert started == []
    gate.open.set()
    await late.arrived(40)
    assert await threads.run(lambda: "ran", tool="stuck") == "ran"
    threads.close()


def raises(error: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


@pytest.mark.parametrize(
    "error",
    [
        StopIteration(1),
        StopAsyncIteration(),
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        asyncio.CancelledError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_only_a_loop_may_raise_becomes_a_bug(error: BaseException) -> None:
    """A body's own cancellation or exit must not act on the session, the loop or the process."""
    threads = Threads()
    with pytest.raises(ToolBug, match=f"'t' raised {type(error).__name__}") as caught:
        await threads.run(raises(error), tool="t")
    assert caught.value.__cause__ is error
    threads.close()


async def test_context_variables_go_in_and_do_not_come_out() -> None:
    threads = Threads()
    variable.set("outer")

    def body() -> str:
        seen = variable.get()
        variable.set("inner")
        return seen

    assert [await threads.run(body, tool="t") for _ in range(2)] == ["outer", "outer"]
    assert variable.get() == "outer"
    threads.close()


async def test_a_body_may_run_an_event_loop_of_its_own() -> None:
    async def inside() -> str:
        await anyio.lowlevel.checkpoint()
        return "ran"

    threads = Threads()
    assert await threads.run(lambda: anyio.run(inside), tool="t") == "ran"
    assert await threads.run(lambda: asyncio.run(inside()), tool="t") == "ran"
    threads.close()


async def test_threads_are_used_again() -> None:
    threads = Threads()
    names = {await threads.run(threading.get_ident, tool=f"t{n}") for n in range(20)}
    assert len(names) <= 2
    threads.close()


class Heavy:
    """Something to be freed."""


async def test_an_idle_thread_keeps_nothing_alive() -> None:
    threads = Threads()
    seen: list[weakref.ref[Heavy]] = []

    def body(given: Heavy) -> Heavy:
        seen.append(weakref.ref(given))
        result = Heavy()
        seen.append(weakref.ref(result))
        return result

    def call() -> Callable[[], Heavy]:
        given = Heavy()
        return lambda: body(given)

    await threads.run(call(), tool="t")
    await threads.run(lambda: None, tool="t")
    gc.collect()
    assert [reference() for reference in seen] == [None, None]
    threads.close()


async def test_a_listener_that_fails_does_not_hurt_the_loop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gate, told = Gate(), anyio.Event()

    def listener(_: LateOutcome) -> None:
        told.set()
        raise RuntimeError("listener")

    threads = Threads(on_late=listener)
    await cut_off(threads, gate)
    gate.open.set()
    with anyio.fail_after(5):
        await told.wait()
    assert await threads.run(lambda: 1, tool="save_note") == 1
    assert "thread.late_outcome_lost" in caplog.text
    threads.close()


PROGRAM = """
    import threading, time, anyio
    from ukemi.actors.tooling.threads import Threads

    entered, leave = threading.Event(), threading.Event()

    def body():
        entered.set()
        leave.wait({seconds})
        return "late"

    async def main():
        threads = Threads(on_late=print)
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: threads.run(body, tool="stuck"))
            while not entered.is_set():
                await anyio.sleep(0.001)
            group.cancel_scope.cancel()
        print([one.tool for one in threads.close()], flush=True)

    anyio.run(main, backend={backend!r}, backend_options={options!r})
    {after}
    print("over", flush=True)
"""


def run_program(backend: tuple[str, dict[str, object]], seconds: float, after: str) -> str:
    source = PROGRAM.format(seconds=seconds, backend=backend[0], options=backend[1], after=after)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(source)],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_a_stuck_thread_does_not_keep_the_program_from_ending(
    anyio_backend: tuple[str, dict[str, object]],
) -> None:
    start = time.perf_counter()
    assert run_program(anyio_backend, 60, "").split() == ["['stuck']", "over"]
    assert time.perf_counter() - start < 10


def test_an_outcome_after_the_loop_is_gone_hurts_nobody(
    anyio_backend: tuple[str, dict[str, object]],
) -> None:
    after = "leave.set(); time.sleep(0.2); assert threading.active_count() <= 2"
    assert run_program(anyio_backend, 60, after).split() == ["['stuck']", "over"]
