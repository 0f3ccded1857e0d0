"""Limits on sessions: who has a place, who waits, and that waiting costs little and loses nothing."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from sessions import LoopClock, agent, ended, opened, put_history

from ukemi import (
    Completed,
    Policy,
    RateLimited,
    Runtime,
    RuntimeClosed,
    SessionUnknown,
    Stopped,
    current,
    tool,
)
from ukemi.actors.model import ModelRequest
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Said
from ukemi.supervisor.policy_limits import AdmissionPolicy, TenancyPolicy
from ukemi.supervisor.policy_sessions import WaitPolicy


class Jobs:
    """Sessions whose one model request lasts as long as their task says, and who has begun when."""

    def __init__(self) -> None:
        self.began: dict[str, float] = {}
        self.most = 0
        self.now = 0
        self.agent = agent(self.script)

    async def script(self, request: ModelRequest) -> Reply:
        self.began.setdefault(request.session_id, anyio.current_time())
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await anyio.sleep(1.0)
        finally:
            self.now -= 1
        return "done"


def limited(sessions_max: int | None, waiting_max: int = 1000, **more: Any) -> Policy:
    admission = AdmissionPolicy(sessions_max=sessions_max, waiting_max=waiting_max)
    return Policy(admission=admission, **more)


def children(runtime: Runtime) -> int:
    """Return how many sessions have an actor now."""
    (sessions,) = [each for each in runtime.tree().children if each.id == "sessions"]
    return len(sessions.children)


async def test_more_sessions_than_places_run_in_order_and_none_is_lost(store: MemoryStore) -> None:
    jobs = Jobs()
    async with Runtime(store, agents=[jobs.agent], policy=limited(3)) as runtime:
        start = anyio.current_time()
        for at in range(10):
            await runtime.start("agent", "work", session_id=f"s{at}")
        assert anyio.current_time() == start  # acknowledged at once
        await anyio.sleep(0.5)
        assert children(runtime) == 3  # who waits has no task
        for at in range(10):
            assert await ended(runtime, f"s{at}") == Completed("done")
    assert [round(jobs.began[f"s{at}"] - start) for at in range(10)] == [
        0,
        0,
        0,
        1,
        1,
        1,
        2,
        2,
        2,
        3,
    ]
    assert jobs.most == 3


async def test_a_session_that_waits_is_durable(store: MemoryStore) -> None:
    jobs = Jobs()
    async with Runtime(store, agents=[jobs.agent], policy=limited(1)) as runtime:
        for at in range(4):
            await runtime.start("agent", "work", session_id=f"s{at}")
        waiting = runtime.session("s3")
        with anyio.move_on_after(0.1):
            await waiting.outcome()
    assert [await _status(store, f"s{at}") for at in range(4)] == ["running"] * 4
    async with Runtime(store, agents=[jobs.agent], policy=limited(1)) as runtime:
        for at in range(4):
            assert await ended(runtime, f"s{at}") == Completed("done")


async def _status(store: MemoryStore, session_id: str) -> str:
    async with opened(store):
        return (await store.head(session_id)).status


async def test_whoever_waits_for_one_that_waits_is_told_when_the_runtime_is_left(
    store: MemoryStore,
) -> None:
    jobs = Jobs()
    runtime = Runtime(store, agents=[jobs.agent], policy=limited(1, 2))
    raised: list[type[BaseException]] = []

    async def told(wait: Callable[[], Awaitable[object]]) -> None:
        try:
            await wait()
        except RuntimeClosed as error:
            raised.append(type(error))

    async with anyio.create_task_group() as group, runtime:
        for at in range(3):
            await runtime.start("agent", "work", session_id=f"s{at}")
        group.start_soon(told, runtime.session("s2").outcome)
        group.start_soon(told, lambda: runtime.start("agent", "more", session_id="s3"))
        await anyio.sleep(0.1)
    assert raised == [RuntimeClosed] * 2
    async with opened(store):
        with pytest.raises(SessionUnknown):
            await store.head("s3")  # who was not acknowledged is not stored


async def test_a_cancelled_session_leaves_the_line_at_once(store: MemoryStore) -> None:
    jobs = Jobs()
    async with Runtime(store, agents=[jobs.agent], policy=limited(1)) as runtime:
        for at in range(3):
            await runtime.start("agent", "work", session_id=f"s{at}")
        start = anyio.current_time()
        assert await runtime.session("s1").cancel() == Stopped("cancelled")
        assert anyio.current_time() == start
        assert runtime.health().waiting.sessions == 1
        assert await ended(runtime, "s2") == Completed("done")
    assert "s1" not in jobs.began
    assert round(jobs.began["s2"] - start) == 1


async def test_a_message_to_one_that_waits_is_in_its_first_request(store: MemoryStore) -> None:
    jobs = Jobs()
    async with Runtime(store, agents=[jobs.agent], policy=limited(1)) as runtime:
        await runtime.start("agent", "work", session_id="s0")
        waits = await runtime.start("agent", "work", session_id="s1")
        await waits.send("and this")
        assert (await waits.inspect()).status == "running"
        assert await ended(runtime, "s1") == Completed("done")


async def test_parked_sessions_hold_no_place_and_come_back_in_order(store: MemoryStore) -> None:
    @tool(effect="write", danger="money")
    async def pay() -> str:
        return "paid"

    def script(request: ModelRequest) -> Reply:
        return call("pay") if len(request.messages) == 1 else "done"

    asks = agent(script, [pay])
    async with Runtime(store, agents=[asks], policy=limited(1)) as runtime:
        for at in range(5):
            await runtime.start("agent", "work", session_id=f"s{at}")
        await anyio.sleep(1.0)
        requests = await runtime.approvals()
        assert len(requests) == 5
        assert runtime.health().sessions.active == 0
        for request in requests:
            await runtime.decide(request, "approve")
        for at in range(5):
            assert await ended(runtime, f"s{at}") == Completed("done")


async def test_sub_sessions_live_in_their_parents_place(store: MemoryStore) -> None:
    """One place, and a session that waits for its sub-session holds it: the other must not need one."""
    jobs = Jobs()
    child = agent(jobs.script, name="child")

    def script(request: ModelRequest) -> Reply:
        return call("child", task="part") if len(request.messages) == 1 else "whole"

    parent = agent(script, [child.as_tool()], name="parent")
    async with Runtime(store, agents=[parent, child], policy=limited(1)) as runtime:
        for at in range(3):
            await runtime.start("parent", "work", session_id=f"p{at}", tenant=f"t{at}")
        for at in range(3):
            assert await ended(runtime, f"p{at}") == Completed("whole")
    assert jobs.most == 1


async def test_guarded_calls_need_no_place(store: MemoryStore) -> None:
    """A tool of the session that holds the last place may make one and wait for it."""

    async def booked(sku: str) -> str:
        return f"booked {sku}"

    @tool
    async def order() -> str:
        return await runtime.guard(booked, scope=f"order {current().session_id}".replace(" ", "-"))(
            "a"
        )

    def script(request: ModelRequest) -> Reply:
        return call("order") if len(request.messages) == 1 else "done"

    runtime = Runtime(store, agents=[agent(script, [order])], policy=limited(1, 1))
    async with runtime:
        await runtime.start("agent", "work", session_id="s0")
        assert await ended(runtime, "s0") == Completed("done")


async def test_tenants_have_a_number_of_their_own_and_a_new_policy_counts_at_once(
    store: MemoryStore,
) -> None:
    jobs = Jobs()
    policy = limited(
        10, tenancy=TenancyPolicy(sessions_max=2), tenant={"big": {"tenancy": {"sessions_max": 4}}}
    )
    async with Runtime(store, agents=[jobs.agent], policy=policy) as runtime:
        for at in range(8):
            for tenant in ("big", "small"):
                await runtime.start("agent", "w", session_id=f"{tenant}{at}", tenant=tenant)
        await anyio.sleep(0.5)
        assert runtime.health().waiting.by_tenant == {"big": 4, "small": 6}
        assert children(runtime) == 6
        runtime.reload_policy(limited(10))
        await anyio.sleep(0.1)
        assert children(runtime) == 10
        runtime.reload_policy(limited(1))
        await anyio.sleep(0.1)
        assert children(runtime) == 10  # nobody is stopped
        for tenant in ("big", "small"):
            assert await ended(runtime, f"{tenant}7") == Completed("done")


async def test_starts_wait_where_as_many_sessions_wait_as_may(store: MemoryStore) -> None:
    jobs = Jobs()
    acknowledged: list[str] = []

    async def start(runtime: Runtime, name: str) -> None:
        await runtime.start("agent", "work", session_id=name, tenant=name[0])
        acknowledged.append(name)

    async with Runtime(store, agents=[jobs.agent], policy=limited(2, 3)) as runtime:
        async with anyio.create_task_group() as group:
            for at in range(9):
                group.start_soon(start, runtime, f"a{at}")
            await anyio.sleep(0.2)
            group.start_soon(start, runtime, "b0")
            await anyio.sleep(0.3)
            health = runtime.health()
            assert len(acknowledged) == 5
            assert (health.sessions.active, health.waiting.sessions, health.waiting.starts) == (
                2,
                3,
                5,
            )
            await anyio.sleep(0.6)  # two have ended: two starts go on, and b's is one of them
            assert "b0" in acknowledged and len(acknowledged) == 7
        for name in acknowledged:
            assert await ended(runtime, name) == Completed("done")
    assert jobs.began["b0"] - min(jobs.began.values()) <= 2.1
    assert len(acknowledged) == 10


async def test_a_start_that_is_cancelled_while_it_waits_stores_nothing(store: MemoryStore) -> None:
    jobs = Jobs()
    async with Runtime(store, agents=[jobs.agent], policy=limited(1, 1)) as runtime:
        await runtime.start("agent", "work", session_id="s0")
        await runtime.start("agent", "work", session_id="s1")
        with anyio.move_on_after(0.1) as scope:
            await runtime.start("agent", "work", session_id="s2")
        assert scope.cancelled_caught
        assert await ended(runtime, "s1") == Completed("done")
        assert {head.session_id for head in await runtime.sessions()} == {"s0", "s1"}


async def test_no_more_sessions_are_adopted_than_there_is_room_for_and_all_go_on(
    store: MemoryStore,
) -> None:
    jobs = Jobs()
    async with opened(store):
        for at in range(40):
            await put_history(store, f"s{at}", [[Said(1, "work")]])
        clock = LoopClock()
        runtime = Runtime(
            store, agents=[jobs.agent], policy=limited(2, 4), clock=clock, lease_s=3600.0
        )
        await anyio.sleep(20)  # the other's lease is over
        async with runtime:
            assert runtime.health().sessions.in_memory <= 6
            most = 0
            with anyio.fail_after(60):
                while len(await runtime.sessions(status="completed")) < 40:
                    most = max(most, runtime.health().sessions.in_memory)
                    await anyio.sleep(0.25)
        assert most <= 6
    assert jobs.most == 2


async def test_what_is_due_together_comes_back_in_portions(store: MemoryStore) -> None:
    open_at = anyio.current_time() + 50.0
    most = 0

    @tool(effect="read")
    async def busy() -> str:
        nonlocal most
        if anyio.current_time() < open_at:
            raise RateLimited("later", retry_after=90.0)
        most = max(most, runtime.health().sessions.in_memory)
        await anyio.sleep(1.0)
        return "ok"

    def script(request: ModelRequest) -> Reply:
        return call("busy") if len(request.messages) == 1 else "done"

    policy = limited(2, 3, waits=WaitPolicy(park_after_s=5.0))
    runtime = Runtime(store, agents=[agent(script, [busy])], policy=policy, clock=LoopClock())
    async with runtime:
        for at in range(12):
            await runtime.start("agent", "work", session_id=f"s{at}")
        await anyio.sleep(10)
        assert runtime.health().sessions.in_memory == 0
        for at in range(12):
            assert await ended(runtime, f"s{at}") == Completed("done")
        sessions = runtime.health().sessions
        assert (sessions.parked, sessions.woken, sessions.ended) == (12, 12, 12)
    assert 2 <= most <= 5
