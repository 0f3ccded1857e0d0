"""The kernel in one breath: start, tell, ask, crash, restart, add, time, stop."""

from collections.abc import Callable
from typing import Any

import pytest
from virtual_time import VIRTUAL_BACKENDS, virtual_backend

from ukemi.supervisor import (
    ActorGone,
    ChildSpec,
    Context,
    DynamicSpec,
    Kernel,
    Reply,
    Report,
    RestartType,
    Strategy,
    SupervisorSpec,
)


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual_backend(request.param)


Message = tuple[int, Reply[int]] | str


async def doubler(ctx: Context[Message]) -> None:
    while True:
        message = await ctx.receive()
        match message:
            case str():
                raise RuntimeError(message)
            case number, reply:
                reply.set(2 * number)


TREE = SupervisorSpec(
    id="root",
    strategy=Strategy.REST_FOR_ONE,
    intensity=3,
    children=(
        ChildSpec(id="a", start=doubler),
        ChildSpec(id="b", start=doubler),
        DynamicSpec(id="pool"),
    ),
)


def double(number: int) -> Callable[[Reply[int]], Message]:
    def build(reply: Reply[int]) -> Message:
        return number, reply

    return build


async def test_a_tree_lives() -> None:
    """A crash in the middle restarts it and those after it; addresses go on working."""
    reports: list[Report] = []
    async with Kernel(TREE, on_report=reports.append) as kernel:
        a, b = kernel.ref("a"), kernel.ref("b")
        assert await b.ask(double(1), 1.0) == 2
        b.tell("boom")
        assert await b.ask(double(2), 1.0) == 4
        assert (a.incarnation, b.incarnation) == (1, 2)
        pool = kernel.supervisor("pool")
        spec = ChildSpec(
            id="x", start=doubler, restart=RestartType.TEMPORARY, on_demand=True, shutdown_s=1.0
        )
        x = pool.start_child_soon(spec)
        assert await x.ask(double(3), 1.0) == 6
        assert (await pool.count_children()).active == 1
        fired: list[float] = []
        began = kernel.now()
        kernel.timers.after(60.0, lambda: fired.append(kernel.now() - began))
        await pool.terminate_child("x")
        assert not x.alive
        with pytest.raises(ActorGone):
            x.tell("anybody?")
    assert [report.child for report in reports] == ["b"]
    assert not fired
