"""Each known way in which one child could take the whole runtime down, as a test of its own."""

import gc
import threading
import weakref
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, Self

import anyio
import anyio.lowlevel
import pytest
from anyio import CancelScope
from kernel_log import Log

from ukemi.supervisor import (
    BRUTAL_KILL,
    Abandoned,
    ActorGone,
    ChildSpec,
    ChildTerminated,
    Context,
    Crashed,
    DynamicSpec,
    ErrorClass,
    Kernel,
    KernelNotClosed,
    LateOutcome,
    PermissionDenied,
    RestartType,
    ShutdownFault,
    StartFailed,
    StartTimedOut,
    StillRunning,
    Strategy,
    StuckChild,
    StuckChildEnded,
    SupervisorSpec,
    TransientError,
)
from ukemi.supervisor.exits import members_of


async def idle(ctx: Context[Any]) -> None:
    await anyio.sleep_forever()


def tree(*children: Any, **fields: Any) -> SupervisorSpec:
    return SupervisorSpec(id="root", children=children, **fields)


@asynccontextmanager
async def running(log: Log, spec: Any, **options: Any) -> AsyncGenerator[Kernel]:
    kernel = Kernel(spec, on_report=log.on_report, on_progress=log.on_progress, **options)
    async with kernel:
        yield kernel


class Swallower:
    """Ignores its cancellation until the test lets it go; ``hard`` without even a shield."""

    def __init__(self, *, hard: bool = False) -> None:
        self.hard = hard
        self.let_go = False
        self.event = anyio.Event()

    async def __call__(self, ctx: Context[Any]) -> None:
        while not self.let_go:
            try:
                if self.hard:
                    await anyio.sleep(0.001)
                else:
                    with CancelScope(shield=True):
                        await self.event.wait()
            except anyio.get_cancelled_exc_class():
                continue

    def release(self) -> None:
        self.let_go = True
        self.event.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Left alone after a failed assertion it would keep the loop from ending.
        self.release()


# -- cancellation -------------------------------------------------------------------------------


@pytest.mark.parametrize("hard", [False, True], ids=["shielded", "swallowing"])
async def test_a_child_that_swallows_cancellation_is_given_up(hard: bool) -> None:
    """Named after its shutdown time; its siblings, its slot and its address go on."""
    log, body = Log(), Swallower(hard=hard)

    async def start(ctx: Context[Any]) -> None:
        ctx.ready()
        await (body(ctx) if ctx.incarnation == 1 else anyio.sleep_forever())

    stuck = ChildSpec(id="stuck", start=start, shutdown_s=0.05, wait_ready=True)
    with body:
        async with running(
            log, tree(stuck, ChildSpec(id="b", start=idle)), kill_grace_s=0.05
        ) as kernel:
            root = kernel.supervisor()
            with anyio.fail_after(2.0):
                await root.terminate_child("stuck")
            assert log.of(StuckChild)[0].child == "stuck"
            assert isinstance(log.of(ShutdownFault)[0].reason, Abandoned)
            assert kernel.zombies == ("root/stuck",)
            again = await root.restart_child("stuck")
            assert again.alive
            assert kernel.ref("b").incarnation == 1
            body.release()
            await log.report(StuckChildEnded)
    assert not kernel.zombies


async def test_closing_with_a_swallower_comes_to_an_end() -> None:
    """After ``close_s_max`` its name is reported and raised, and the block is left."""
    log, body = Log(), Swallower()
    kernel = Kernel(
        tree(ChildSpec(id="stuck", start=body, shutdown_s=None), ChildSpec(id="b", start=idle)),
        on_report=log.on_report,
        on_progress=log.on_progress,
        close_s_max=0.2,
    )
    try:
        with pytest.raises(KernelNotClosed) as caught, anyio.fail_after(2.0):
            async with kernel:
                await anyio.lowlevel.checkpoint()
        assert caught.value.names == ("root/stuck",)
        assert log.of(StillRunning)[0].children == ("root/stuck",)
    finally:
        body.release()
    await log.until(lambda: "stuck" in log.exits())


async def test_a_child_that_blocks_in_its_finally_is_given_up() -> None:
    """A clean-up without a deadline of its own is cut off by the shutdown time."""
    log, event = Log(), anyio.Event()

    async def body(ctx: Context[Any]) -> None:
        ctx.ready()
        try:
            await anyio.sleep_forever()
        finally:
            with CancelScope(shield=True):
                await event.wait()

    spec = ChildSpec(id="a", start=body, wait_ready=True, shutdown_s=0.05)
    async with running(log, tree(spec), kill_grace_s=0.01) as kernel:
        with anyio.fail_after(2.0):
            await kernel.supervisor().terminate_child("a")
        assert log.of(StuckChild)[0].after_s == 0.05
        event.set()


async def test_a_child_blocked_in_a_thread_is_given_up() -> None:
    """A thread that cannot be abandoned holds its own child only."""
    log, gate = Log(), threading.Event()

    async def body(ctx: Context[Any]) -> None:
        ctx.ready()
        await anyio.to_thread.run_sync(gate.wait)

    spec = ChildSpec(id="a", start=body, wait_ready=True, shutdown_s=0.05)
    try:
        async with running(log, tree(spec), kill_grace_s=0.01) as kernel:
            with anyio.fail_after(2.0):
                await kernel.supervisor().terminate_child("a")
            assert log.of(StuckChild)[0].child == "a"
            gate.set()
    finally:
        gate.set()


async def test_no_restart_under_a_cancelled_root() -> None:
    """The embedding program is cancelled while a child crashes in a loop: in order, and at once."""
    log = Log()

    async def body(ctx: Context[Any]) -> None:
        await anyio.lowlevel.checkpoint()
        raise ValueError

    children = ChildSpec(id="steady", start=idle), ChildSpec(id="loops", start=body)
    with CancelScope() as scope:
        async with running(log, tree(*children, intensity=None)):
            await log.until(lambda: log.starts("loops") > 20)
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    seen = log.starts("loops")
    assert log.exits()[-1] == ""
    await anyio.lowlevel.checkpoint()
    assert log.starts("loops") == seen


async def test_an_outer_timeout_stops_the_children_in_order() -> None:
    """A cancellation of the caller is not thrown at all children at the same time."""
    log = Log()

    async def body(ctx: Context[Any]) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with ctx.cleanup(1.0):
                await anyio.sleep(0.01)

    with anyio.move_on_after(0.05) as scope:
        async with running(log, tree(*[ChildSpec(id=name, start=body) for name in "abc"])):
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert log.exits() == ["c", "b", "a", ""]


async def test_a_sibling_that_fails_while_others_stop_is_taken() -> None:
    """rest_for_one: b dies in the sweep that a's death began; one sweep, all are up again."""
    log, dying = Log(), anyio.Event()

    async def a(ctx: Context[Any]) -> None:
        if ctx.incarnation == 1:
            await dying.wait()
            raise ValueError

        await anyio.sleep_forever()

    async def b(ctx: Context[Any]) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            if ctx.incarnation == 1:
                raise KeyError("while being stopped")

    children = ChildSpec(id="a", start=a), ChildSpec(id="b", start=b), ChildSpec(id="c", start=b)
    spec = tree(*children, strategy=Strategy.REST_FOR_ONE)
    async with running(log, spec) as kernel:
        dying.set()
        await log.until(lambda: log.starts("c") == 2)
        assert [kernel.ref(name).incarnation for name in "abc"] == [2, 2, 2]
        assert {fault.child for fault in log.of(ShutdownFault)} == {"b", "c"}


async def test_a_clean_up_error_does_not_hide_the_time_out() -> None:
    """The deadline is recorded when it passes, not when an exception arrives."""

    async def body(ctx: Context[Any]) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise KeyError("in the clean-up")

    spec = ChildSpec(id="slow", start=body, wait_ready=True, start_s_max=0.02)
    with pytest.raises(StartFailed) as caught:
        async with Kernel(tree(spec)):
            pytest.fail("it did not become ready")
    assert caught.value.reason == StartTimedOut(0.02)


async def test_an_error_group_counts_as_its_gravest_member() -> None:
    """Groups are flattened: a tool that uses task groups itself is classified like any other."""
    log = Log()

    async def body(ctx: Context[Any]) -> None:
        if ctx.incarnation == 1:
            inner = ExceptionGroup("inner", [PermissionDenied("no"), TransientError("later")])
            raise ExceptionGroup("outer", [TransientError("busy"), inner])
        await anyio.sleep_forever()

    async with running(log, tree(ChildSpec(id="a", start=body))):
        reason = (await log.report(ChildTerminated)).reason
        assert isinstance(reason, Crashed)
        assert (reason.error_class, reason.type_name) == (
            ErrorClass.PERMISSION_DENIED,
            "PermissionDenied",
        )


async def test_an_error_that_cannot_be_shown_is_shown_by_its_type() -> None:
    """Were it let through, the record of one crash would end all children."""
    log = Log()

    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("not even a text")

    async def body(ctx: Context[Any]) -> None:
        if ctx.incarnation == 1:
            raise Mute from Mute()
        await anyio.sleep_forever()

    async with running(log, tree(ChildSpec(id="a", start=body), ChildSpec(id="b", start=idle))):
        reason = (await log.report(ChildTerminated)).reason
        assert isinstance(reason, Crashed)
        assert (reason.type_name.rpartition(".")[2], reason.text) == ("Mute", "Mute")


async def test_a_crash_keeps_no_frame_alive() -> None:
    """Only text is kept of an exception: what its frames held is free again."""
    log = Log()

    class Heavy:
        pass

    seen: list[weakref.ref[Heavy]] = []

    async def body(ctx: Context[Any]) -> None:
        if ctx.incarnation == 1:
            heavy = Heavy()
            seen.append(weakref.ref(heavy))
            raise ValueError("boom")
        await anyio.sleep_forever()

    async with running(log, tree(ChildSpec(id="a", start=body))):
        await log.until(lambda: log.starts("a") == 2)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        gc.collect()
        assert seen[0]() is None
        reason = log.of(ChildTerminated)[0].reason
        assert isinstance(reason, Crashed)
        assert "in test_a_crash_keeps_no_frame_alive.<locals>.body" in reason.traceback_text


async def test_a_listener_that_fails_does_no_harm() -> None:
    """A fault in ``on_report`` must not leave a supervisor half way."""

    async def body(ctx: Context[Any]) -> None:
        if ctx.incarnation == 1:
            raise ValueError
        ctx.ready()
        await anyio.sleep_forever()

    def listener(report: object) -> None:
        raise RuntimeError("in the listener")

    alive = anyio.Event()
    async with Kernel(
        tree(ChildSpec(id="a", start=body)),
        on_report=listener,
        on_progress=lambda told: alive.set() if getattr(told, "incarnation", 0) == 2 else None,
    ) as kernel:
        with anyio.fail_after(2.0):
            await alive.wait()
        assert kernel.ref("a").alive


# -- threads and context ----------------------------------------------------------------------------


async def test_a_thread_that_outlives_its_call_is_reported_later() -> None:
    """The caller is released at once, the effect is told when the thread ends."""
    log, gate, began = Log(), threading.Event(), threading.Event()

    def work(number: int) -> int:
        began.set()
        gate.wait()
        return number + 1

    async def body(ctx: Context[Any]) -> None:
        ctx.ready()
        await ctx.run_blocking(work, 41, name="work")

    spec = ChildSpec(
        id="a", start=body, wait_ready=True, restart=RestartType.TEMPORARY, shutdown_s=1.0
    )
    try:
        async with running(log, tree(spec)) as kernel:
            await anyio.to_thread.run_sync(began.wait)
            with anyio.fail_after(0.5):
                await kernel.supervisor().terminate_child("a")
            assert not log.of(StuckChild)
            gate.set()
            outcome = await log.report(LateOutcome)
            assert (outcome.child, outcome.call, outcome.ok, outcome.value) == (
                "a",
                "work",
                True,
                42,
            )
    finally:
        gate.set()


async def test_closing_does_not_wait_for_a_thread() -> None:
    """It is named as still running, and the block is left."""
    log, gate, began = Log(), threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        gate.wait()

    async def body(ctx: Context[Any]) -> None:
        await ctx.run_blocking(work, name="work")

    try:
        with anyio.fail_after(2.0):
            async with running(log, tree(ChildSpec(id="a", start=body))):
                await anyio.to_thread.run_sync(began.wait)
        assert log.of(StillRunning)[0].threads == ("root/a: work",)
    finally:
        gate.set()


async def test_an_error_of_a_late_thread_is_told_too() -> None:
    """It would be neither raised nor logged by itself."""
    log, gate, began = Log(), threading.Event(), threading.Event()
    heard: list[LateOutcome] = []

    def work() -> None:
        began.set()
        gate.wait()
        raise OSError("the disk is full")

    async def body(ctx: Context[Any]) -> None:
        await ctx.run_blocking(work, on_late=heard.append)

    try:
        async with running(log, tree(ChildSpec(id="a", start=body))) as kernel:
            await anyio.to_thread.run_sync(began.wait)
            await kernel.supervisor().terminate_child("a")
            gate.set()
            outcome = await log.report(LateOutcome)
            assert (outcome.ok, outcome.error) == (False, "OSError: the disk is full")
            assert heard == [outcome]
    finally:
        gate.set()


VARIABLE: ContextVar[str] = ContextVar("VARIABLE", default="nothing")


async def test_context_variables_do_not_leak() -> None:
    """Each child starts with the context of the kernel's start, not with that of its starter."""
    seen: dict[str, str] = {}

    async def body(ctx: Context[Any]) -> None:
        seen[ctx.ref.path] = VARIABLE.get()
        VARIABLE.set(f"set by {ctx.ref.path}")
        ctx.ready()
        await anyio.sleep_forever()

    VARIABLE.set("the program's")
    spec = DynamicSpec(id="pool", template=ChildSpec(id="t", start=body, wait_ready=True))
    async with Kernel(spec) as kernel:
        VARIABLE.set("changed by the caller")
        for name in ("a", "b"):
            await kernel.supervisor().start_child(name)
        kernel.supervisor().kill_child("a")
        await kernel.supervisor().count_children()
    assert seen == {"a": "the program's", "b": "the program's"}


async def test_clean_up_is_shielded_and_bounded() -> None:
    """Awaiting in ``ctx.cleanup`` works while being stopped, and ends at its deadline."""
    done: list[str] = []

    async def body(ctx: Context[Any]) -> None:
        ctx.ready()
        try:
            await anyio.sleep_forever()
        finally:
            with ctx.cleanup(1.0):
                await anyio.sleep(0.01)
                done.append("closed")
            with ctx.cleanup(0.02) as scope:
                await anyio.sleep_forever()
            done.append(f"cut off: {scope.cancelled_caught}")

    async with Kernel(tree(ChildSpec(id="a", start=body, wait_ready=True, shutdown_s=2.0))):
        pass
    assert done == ["closed", "cut off: True"]


async def test_a_killed_child_counts_as_crashed() -> None:
    """Also when it ends well after all: it was killed for a reason."""
    log = Log()

    async def body(ctx: Context[Any]) -> None:
        ctx.ready()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            return

    spec = ChildSpec(
        id="a", start=body, wait_ready=True, restart=RestartType.TRANSIENT, shutdown_s=BRUTAL_KILL
    )
    async with running(log, tree(spec)) as kernel:
        kernel.supervisor().kill_child("a", "it hangs")
        await log.until(lambda: log.starts("a") == 2)
        assert (await log.report(ChildTerminated)).action == "restart"


async def test_a_life_that_was_given_up_cannot_read_its_successors_mail() -> None:
    """Its address is another's by now."""
    log, let_go, errors = Log(), anyio.Event(), list[Exception]()
    got: list[str] = []

    async def body(ctx: Context[Any]) -> None:
        if ctx.incarnation == 1:
            ctx.ready()
            with CancelScope(shield=True):
                await let_go.wait()
                try:
                    await ctx.receive()
                except ActorGone as error:
                    errors.append(error)
            return
        ctx.ready()
        got.append(await ctx.receive())
        await anyio.sleep_forever()

    spec = ChildSpec(id="a", start=body, wait_ready=True)
    async with running(log, tree(spec), kill_grace_s=0.02) as kernel:
        kernel.supervisor().kill_child("a")
        await log.until(lambda: log.starts("a") == 2)
        let_go.set()
        await log.report(StuckChildEnded)
        kernel.ref("a").tell("for the second")
        with anyio.fail_after(2.0):
            while not got:
                await anyio.lowlevel.checkpoint()
    assert got == ["for the second"]
    assert len(errors) == 1


async def test_dl_01_a_deadline_releases_the_caller_not_the_thread() -> None:
    """DL-01, the kernel's part: released in time, others unaffected, the late outcome told."""
    log, gate, effects = Log(), threading.Event(), list[int]()
    gaps: list[float] = []
    ten = anyio.Event()

    def save_note() -> str:
        gate.wait()
        effects.append(1)
        return "saved"

    async def session(ctx: Context[Any]) -> None:
        ctx.ready()
        with anyio.move_on_after(0.1) as scope:
            await ctx.run_blocking(save_note, name="save_note")
        assert scope.cancelled_caught
        await anyio.sleep_forever()

    async def other(ctx: Context[Any]) -> None:
        last = ctx.now()
        while True:
            await anyio.sleep(0.02)
            gaps.append(ctx.now() - last)
            last = ctx.now()
            if len(gaps) == 10:
                ten.set()

    specs = (
        ChildSpec(id="session", start=session, wait_ready=True),
        ChildSpec(id="other", start=other),
    )
    try:
        async with running(log, tree(*specs)) as kernel:
            with anyio.fail_after(2.0):
                await ten.wait()
            assert not effects
            gate.set()
            outcome = await log.report(LateOutcome)
            assert (outcome.call, outcome.ok, outcome.value) == ("save_note", True, "saved")
            assert effects == [1]
            assert kernel.ref("session").incarnation == 1
    finally:
        gate.set()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_system_exit_is_not_held_up(backend: str) -> None:
    """A child that ends the program ends the program."""

    async def body(ctx: Context[Any]) -> None:
        raise SystemExit(3)

    async def main() -> None:
        async with Kernel(tree(ChildSpec(id="a", start=body))):
            await anyio.sleep_forever()

    with pytest.raises(BaseException) as caught:
        anyio.run(main, backend=backend)
    assert [type(error) for error in members_of(caught.value)] == [SystemExit]
