"""A child's bare task is cancelled just as a task of an anyio group is, on every loop.

Each body notes what it sees of its cancellation. The same body runs below both crews, and on trio
below a group: all must note the same.
"""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest
from kernel_log import Log

import ukemi.supervisor.crew as crews
from ukemi.supervisor import (
    ChildSpec,
    ChildTerminated,
    Context,
    Crashed,
    DynamicSpec,
    Kernel,
    RestartType,
    ShutdownFault,
    SupervisorSpec,
)
from ukemi.supervisor.crew import BareCrew, GroupCrew, entering_is_known, make_crew

Notes = list[object]
Body = Callable[[Context[Any], Notes], Awaitable[None]]
CREWS = ["bare", "group"]


def unknown(_backend: object) -> bool:
    return False


@pytest.fixture(params=CREWS)
def crew(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    kind: str = request.param
    if kind == "group":
        monkeypatch.setattr(crews, "entering_is_known", unknown)
    yield kind


async def rounds() -> None:
    """Let all others run for a few rounds of the loop."""
    for _ in range(10):
        await anyio.lowlevel.checkpoint()


async def try_again(notes: Notes, what: str) -> None:
    """Wait in a clean-up without a shield; note whether that is cut off at once."""
    try:
        await rounds()
        notes.append(f"{what}: not cut off")
    except anyio.get_cancelled_exc_class():
        notes.append(f"{what}: cut off")
        raise


async def without_scope(ctx: Context[Any], notes: Notes) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        notes.append(ctx.stop_asked)
        notes.append(anyio.current_effective_deadline())
        await try_again(notes, "clean-up")


async def swallowing(ctx: Context[Any], notes: Notes) -> None:
    for number in range(3):
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            notes.append(number)


async def cleaning_up(ctx: Context[Any], notes: Notes) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        with ctx.cleanup(60) as scope:
            notes.append(anyio.current_effective_deadline() < float("inf"))
            await rounds()
            notes.append("cleaned up")
        notes.append(scope.cancelled_caught)
        await try_again(notes, "after it")


async def shielded(ctx: Context[Any], notes: Notes) -> None:
    with anyio.CancelScope(shield=True):
        while ctx.stop_asked is None:
            await rounds()
        await rounds()
        notes.append("not disturbed")
    notes.append(anyio.current_effective_deadline())
    await try_again(notes, "below the shield")


async def nested(ctx: Context[Any], notes: Notes) -> None:
    with anyio.move_on_after(60):
        with anyio.move_on_after(60):
            await anyio.sleep_forever()
        notes.append("went on")
    notes.append("went on")


async def timed_out_before(ctx: Context[Any], notes: Notes) -> None:
    with anyio.move_on_after(0) as scope:
        await anyio.sleep_forever()
    notes.append(scope.cancelled_caught)
    await without_scope(ctx, notes)


async def with_tasks(ctx: Context[Any], notes: Notes) -> None:
    async def beside() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            notes.append("beside")
            await try_again(notes, "beside")

    async with anyio.create_task_group() as group:
        group.start_soon(beside)
        await anyio.sleep_forever()


async def in_a_thread(ctx: Context[Any], notes: Notes) -> None:
    """No scope of the body's is open: the thread asks for the one that the task was given."""

    def work() -> None:
        pause = threading.Event()
        for _ in range(400):
            anyio.from_thread.check_cancelled()
            pause.wait(0.005)
        notes.append("the thread was never told")

    try:
        await anyio.to_thread.run_sync(work)
    except anyio.get_cancelled_exc_class():
        notes.append("the thread was told")
        raise


BODIES: list[Body] = [
    without_scope,
    swallowing,
    cleaning_up,
    shielded,
    nested,
    timed_out_before,
    with_tasks,
    in_a_thread,
]

SEEN: dict[str, Notes] = {
    "without_scope": ["Shutdown()", "-inf", "clean-up: cut off"],
    "swallowing": [0, 1, 2],
    "cleaning_up": [True, "cleaned up", False, "after it: cut off"],
    "shielded": ["not disturbed", "-inf", "below the shield: cut off"],
    "nested": [],
    "timed_out_before": [True, "Shutdown()", "-inf", "clean-up: cut off"],
    "with_tasks": ["beside", "beside: cut off"],
    "in_a_thread": ["the thread was told"],
}


def shown(notes: Notes) -> Notes:
    return [each if isinstance(each, bool | int) else _text(each) for each in notes]


def _text(note: object) -> str:
    text = str(note)
    return "Shutdown()" if text.startswith("Shutdown(") else text


def pool(**fields: Any) -> DynamicSpec:
    return DynamicSpec(id="pool", intensity=None, **fields)


@pytest.mark.parametrize("body", BODIES, ids=lambda each: each.__name__)
async def test_what_a_body_sees_of_its_cancellation(body: Body, crew: str) -> None:
    log, notes = Log(), Notes()

    async def start(ctx: Context[Any]) -> None:
        await body(ctx, notes)

    async with Kernel(pool(), on_report=log.on_report) as kernel:
        root = kernel.supervisor()
        root.start_child_soon(ChildSpec(id="a", start=start))
        await rounds()
        await root.terminate_child("a")
    assert shown(notes) == SEEN[body.__name__]
    # One that swallows its cancellation and returns has ended normally, which is told of.
    assert len(log.of(ShutdownFault)) == (body is swallowing)


async def test_a_task_cancelled_before_its_first_step_takes_that_step(crew: str) -> None:
    notes = Notes()

    async def start(ctx: Context[Any]) -> None:
        notes.append("began")
        with anyio.CancelScope():  # noqa: ASYNC100 - leaving a scope passes a cancellation on, too
            notes.append(anyio.current_effective_deadline())
        await without_scope(ctx, notes)

    async with Kernel(pool()) as kernel:
        root = kernel.supervisor()
        root.start_child_soon(ChildSpec(id="a", start=start))
        root.stop_child_soon("a")
        await root.wait_child("a")
    assert shown(notes) == ["began", "-inf", *SEEN["without_scope"]]


async def test_a_child_can_have_itself_stopped(crew: str) -> None:
    notes = Notes()

    async def start(ctx: Context[Any]) -> None:
        kernel.supervisor().stop_child_soon("a")
        notes.append(anyio.current_effective_deadline())
        await without_scope(ctx, notes)

    async with Kernel(pool()) as kernel:
        kernel.supervisor().start_child_soon(ChildSpec(id="a", start=start))
        await kernel.supervisor().wait_child("a")
    assert shown(notes) == ["-inf", *SEEN["without_scope"]]


@pytest.mark.parametrize("then", ["returns", "raises", "is stopped"])
async def test_a_scope_left_open_is_the_end_of_that_child_alone(
    then: str, anyio_backend: Any
) -> None:
    """And what runs in it is ended too. On trio the run itself breaks up."""
    if anyio_backend[0] == "trio":
        pytest.skip("trio watches over this itself")
    log, notes = Log(), Notes()

    async def beside() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            notes.append("beside has ended")

    async def leave_open(ctx: Context[Any]) -> None:
        anyio.CancelScope().__enter__()
        group = await anyio.create_task_group().__aenter__()
        group.start_soon(beside)
        await rounds()
        if then == "raises":
            raise ValueError("of its own")
        if then == "is stopped":
            await anyio.sleep_forever()

    async with Kernel(pool(), on_report=log.on_report) as kernel:
        root = kernel.supervisor()
        root.start_child_soon(ChildSpec(id="b", start=lambda ctx: anyio.sleep_forever()))
        root.start_child_soon(ChildSpec(id="a", start=leave_open, restart=RestartType.TEMPORARY))
        if then == "is stopped":
            await rounds()
            root.stop_child_soon("a")
        await root.wait_child("a")
        await rounds()
        assert notes == ["beside has ended"]
        assert kernel.ref("b").alive
    if then == "is stopped":
        assert not log.reports
    else:
        reason = log.of(ChildTerminated)[0].reason
        assert isinstance(reason, Crashed)
        assert ("left a cancel scope" in reason.text) == (then == "returns")


async def test_an_asyncio_timeout_inside_of_a_child_is_not_misled(
    anyio_backend: Any, crew: str
) -> None:
    """It counts the cancellations of its task, as ``asyncio.TaskGroup`` does."""
    if anyio_backend[0] == "trio":
        pytest.skip("asyncio's own")
    notes = Notes()

    async def start(ctx: Context[Any]) -> None:
        try:
            async with asyncio.timeout(0):
                await anyio.sleep_forever()
        except TimeoutError:
            notes.append("timed out")
        try:
            async with asyncio.timeout(60):
                await anyio.sleep_forever()
        except TimeoutError:
            notes.append("timed out again")

    async with Kernel(pool()) as kernel:
        kernel.supervisor().start_child_soon(ChildSpec(id="a", start=start))
        await rounds()
        await kernel.supervisor().terminate_child("a")
    assert notes == ["timed out"]


async def test_nothing_is_kept_of_tasks_that_have_ended(anyio_backend: Any) -> None:
    """Anyio's table of tasks is one of weak references; a scope that was left in it holds its task."""
    if anyio_backend[0] == "trio":
        pytest.skip("asyncio's own")
    states = sys.modules["anyio._backends._asyncio"].__dict__["_task_states"]

    async def start(ctx: Context[Any]) -> None:
        anyio.CancelScope().__enter__()
        if len(children()) > 5:
            await anyio.sleep_forever()

    def children() -> list[str]:
        return [task.get_name() for task in states if task.get_name().startswith("child")]

    async with Kernel(pool()) as kernel:
        root = kernel.supervisor()
        for number in range(10):
            id = f"child {number}"
            root.start_child_soon(ChildSpec(id=id, start=start, restart=RestartType.TEMPORARY))
        assert len(children()) == 10
        for number in range(10):
            await root.terminate_child(f"child {number}")
        await rounds()
        assert not children()


async def test_which_crew_is_taken(anyio_backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release of anyio that does more when a scope is entered gets its own task group back."""
    kinds: list[type] = []

    async def look() -> None:
        kinds.append(type(make_crew(is_trio=anyio_backend[0] == "trio")))

    async with anyio.create_task_group() as group:
        group.start_soon(look)
    if anyio_backend[0] == "trio":
        assert kinds == [GroupCrew]
        return
    backend = sys.modules["anyio._backends._asyncio"]
    known = await asyncio.get_running_loop().create_task(asked(backend))
    assert known
    for name in ("_task_states", "TaskState"):
        with monkeypatch.context() as changed:
            changed.delattr(backend, name)
            assert not entering_is_known(backend)
    enter = backend.CancelScope.__enter__

    def more(scope: Any) -> Any:
        entered = enter(scope)
        scope._shield = not scope._shield
        return entered

    with monkeypatch.context() as changed:
        changed.setattr(backend.CancelScope, "__enter__", more)
        assert not await asyncio.get_running_loop().create_task(asked(backend))


async def asked(backend: Any) -> bool:
    return entering_is_known(backend) and isinstance(make_crew(is_trio=False), BareCrew)


async def slow_to_stop(_: object) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.01)


@pytest.mark.parametrize("rounds", range(1, 6))
def test_who_is_cancelled_on_the_way_out_leaves_nothing_behind(rounds: int) -> None:
    async def program() -> None:
        leaving = asyncio.Event()

        async def inside() -> None:
            spec = SupervisorSpec(id="root", children=(ChildSpec(id="a", start=slow_to_stop),))
            async with Kernel(spec):
                await asyncio.sleep(0)
                leaving.set()

        task = asyncio.create_task(inside())
        async with asyncio.timeout(60):
            await leaving.wait()
        for _ in range(rounds):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(program())
