"""A supervisor or a child that is killed: what ends how, in which order, and in what time."""

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio import CancelScope
from kernel_log import Log

from ukemi.supervisor import (
    BRUTAL_KILL,
    Abandoned,
    ChildSpec,
    Context,
    DynamicSpec,
    Exited,
    Kernel,
    KernelNotClosed,
    Killed,
    Shutdown,
    ShutdownFault,
    SupervisorSpec,
)


async def idle(ctx: Context[Any]) -> None:
    await anyio.sleep_forever()


class Deaf:
    """A body that ends when the test says so, and not when it is cancelled."""

    def __init__(self) -> None:
        self.event = anyio.Event()

    async def __call__(self, ctx: Context[Any]) -> None:
        with CancelScope(shield=True):
            await self.event.wait()


def workers(ids: str, body: Any = idle) -> list[ChildSpec]:
    return [ChildSpec(id=id, start=body) for id in ids]


def sup(id: str, *children: Any, **fields: Any) -> SupervisorSpec:
    return SupervisorSpec(id=id, children=children, **fields)


def ends(log: Log) -> list[tuple[str, str]]:
    """Return who ended and how, in order."""
    return [
        (each.path, type(each.reason).__name__.lower())
        for each in log.progress
        if isinstance(each, Exited)
    ]


def kernel_of(spec: Any, log: Log, **options: Any) -> Kernel:
    return Kernel(spec, on_report=log.on_report, on_progress=log.on_progress, **options)


async def test_supervisors_below_a_killed_one_stop_theirs_in_order() -> None:
    """As OTP's do that lose their parent: its own children are killed, theirs are shut down."""
    log = Log()
    inner = sup("inner", *workers("xy"), sup("deep", *workers("z")))
    tree = sup("root", sup("outer", *workers("a"), inner, *workers("b")))
    async with kernel_of(tree, log) as kernel:
        kernel.supervisor().kill_child("outer")
        await log.until(lambda: log.starts("outer") == 2)
        ended = ends(log)
    assert sorted(ended[:-1]) == [
        ("outer/a", "killed"),
        ("outer/b", "killed"),
        ("outer/inner", "killed"),
        ("outer/inner/deep", "shutdown"),
        ("outer/inner/deep/z", "shutdown"),
        ("outer/inner/x", "shutdown"),
        ("outer/inner/y", "shutdown"),
    ]
    assert ended[-1] == ("outer", "killed")
    below = [path for path, _ in ended if path.startswith("outer/inner")]
    order = ["inner/deep/z", "inner/deep", "inner/y", "inner/x", "inner"]
    assert below == [f"outer/{each}" for each in order]


async def test_who_is_not_done_within_the_grace_time_is_killed_after_all() -> None:
    """A child that takes its time keeps those before it waiting no longer than that."""
    log, deaf = Log(), Deaf()
    inner = sup("inner", *workers("a"), ChildSpec(id="deaf", start=deaf, shutdown_s=None))
    tree = sup("root", sup("outer", inner))
    async with kernel_of(tree, log, kill_grace_s=0.5) as kernel:
        kernel.supervisor().kill_child("outer")
        await log.until(lambda: log.starts("outer") == 2)
        deaf.event.set()
    assert ("outer/inner/a", "killed") in ends(log)


async def test_closing_without_time_left_takes_all_along_at_once() -> None:
    """What is killed since ``close_s_max`` is over waits for nothing, however deep it is."""
    log, deaf = Log(), Deaf()
    tree = sup(
        "root",
        sup("outer", sup("inner", *workers("ab"))),
        ChildSpec(id="deaf", start=deaf, shutdown_s=None),
    )
    with pytest.raises(KernelNotClosed) as caught:
        async with kernel_of(tree, log, close_s_max=0.02, kill_grace_s=0.5):
            pass
    deaf.event.set()
    assert caught.value.names == ("root/deaf",)
    assert {each for each in ends(log) if "inner/" in each[0]} == {
        ("outer/inner/a", "killed"),
        ("outer/inner/b", "killed"),
    }


@pytest.mark.parametrize(
    ("shutdown_s", "expected"), [(BRUTAL_KILL, Killed), (1.0, Shutdown), (None, Shutdown)]
)
async def test_a_child_that_is_told_to_leave_ends_as_its_specification_says(
    shutdown_s: Any, expected: type
) -> None:
    """It is forgotten, not restarted, and that is no fault."""
    log = Log()
    spec = DynamicSpec(id="pool", template=ChildSpec(id="t", start=idle, shutdown_s=shutdown_s))
    async with kernel_of(spec, log) as kernel:
        pool = kernel.supervisor()
        await pool.start_child("a")
        pool.stop_child_soon("a")
        assert isinstance(await pool.wait_child("a"), expected)
        assert await pool.which_children() == []
    assert log.starts("a") == 1
    assert not log.of(ShutdownFault)


@pytest.mark.parametrize(("shutdown_s", "expected"), [(BRUTAL_KILL, Killed), (0.01, Abandoned)])
async def test_a_child_that_does_not_leave_is_given_up(shutdown_s: Any, expected: type) -> None:
    """After its time, or the grace time where it was killed."""
    log, deaf = Log(), Deaf()
    spec = DynamicSpec(id="pool", template=ChildSpec(id="t", start=deaf, shutdown_s=shutdown_s))
    async with kernel_of(spec, log, kill_grace_s=0.02) as kernel:
        pool = kernel.supervisor()
        await pool.start_child("a")
        await anyio.lowlevel.checkpoint()
        pool.stop_child_soon("a")
        assert isinstance(await pool.wait_child("a"), expected)
        deaf.event.set()
