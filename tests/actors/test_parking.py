"""Long waits: parked in the store, woken when due, with what is left of attempts and time."""

import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager

import anyio
import pytest
from sessions import LoopClock, agent, assert_paired, ended, journal, opened, requests

from ukemi import (
    Agent,
    Budget,
    Completed,
    HandedOver,
    Policy,
    RateLimited,
    Runtime,
    Stopped,
    TransientError,
    tool,
)
from ukemi.actors import Event, SessionParked, SessionWoken
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import ScriptedModel, call
from ukemi.stores.base import Head
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Intended, Parked, Resulted, Retried, Woken
from ukemi.supervisor.policy_failures import RetryPolicy
from ukemi.supervisor.policy_sessions import WaitPolicy

HOUR = 3600.0
PATIENT = RetryPolicy(attempts_max=4, time_budget_s=3 * HOUR)
LONG = Policy(transient=PATIENT, rate_limited=PATIENT)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(secrets.token_hex(8))


class Wall(LoopClock):
    """A wall clock that somebody puts forward by a day at some time."""

    def __init__(self, jumps_at: float, by_ms: int = 86_400_000) -> None:
        self._jumps_at, self._by_ms = jumps_at, by_ms

    def wall_ms(self) -> int:
        return super().wall_ms() + (self._by_ms if self.now() >= self._jumps_at else 0)


class Upstream:
    """Tools that are told to come back later, so many times; and when they were called."""

    def __init__(self, refusals: int = 1, wait_s: float = HOUR) -> None:
        self.at: list[float] = []
        self._refusals, self._wait_s = refusals, wait_s

    def _answer(self) -> str:
        self.at.append(anyio.current_time())
        if len(self.at) <= self._refusals:
            raise RateLimited("come back later", retry_after=self._wait_s, may_have_executed="no")
        return "there"

    def tools(self) -> list[AnyTool]:
        @tool(effect="read")
        async def fetch() -> str:
            return self._answer()

        @tool(effect="write")
        async def order() -> str:
            return self._answer()

        return [fetch, order]

    @property
    def gaps(self) -> list[float]:
        return [b - a for a, b in zip(self.at, self.at[1:], strict=False)]


@asynccontextmanager
async def running(
    store: MemoryStore, of: Agent, policy: Policy = LONG, clock: LoopClock | None = None
) -> AsyncGenerator[Runtime]:
    async with Runtime(store, agents=[of], policy=policy, clock=clock or LoopClock()) as runtime:
        yield runtime


async def parked(runtime: Runtime, session_id: str = "s-1") -> Head:
    """Wait until a session is parked; return its head."""
    with anyio.fail_after(HOUR):
        async with aclosing(runtime.session(session_id).events()) as events:
            async for event in events:
                if isinstance(event, SessionParked):
                    break
    (head,) = await runtime.sessions(status="parked")
    return head


@pytest.mark.parametrize("name", ["fetch", "order"])
async def test_a_call_due_in_an_hour_parks_its_session(store: MemoryStore, name: str) -> None:
    upstream = Upstream()
    of = agent([call(name), "done"], upstream.tools())
    async with running(store, of) as runtime:
        began = anyio.current_time()
        handle = await runtime.start("agent", "go", session_id="s-1")
        head = await parked(runtime)
        assert anyio.current_time() - began < 1.0
        assert (head.owner, head.status) == (None, "parked")
        assert (await handle.inspect()).status == "parked"
        assert await ended(runtime, "s-1", 2 * HOUR) == Completed("done")
        (head,) = await runtime.sessions()
        assert head.facts.due_at_ms is None
    # Never before the server's own wait, and soon after it.
    assert HOUR <= upstream.gaps[0] < HOUR + 31
    assert_paired(requests(of)[-1].messages)


async def test_nothing_of_a_parked_session_is_left_in_memory(store: MemoryStore) -> None:
    of = agent([call("fetch"), "done"], Upstream().tools())
    async with running(store, of) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        await parked(runtime)
        await anyio.sleep(1.0)
        assert "s-1" not in repr(runtime.tree())
        assert not runtime._core.running.sessions.active  # pyright: ignore[reportPrivateUsage]


async def test_who_waits_for_the_outcome_waits_over_the_parking(store: MemoryStore) -> None:
    of = agent([call("fetch"), "done"], Upstream(refusals=2).tools())
    events: list[Event] = []
    async with running(store, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")

        async def listen() -> None:
            events.extend([event async for event in handle.events()])

        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            with anyio.fail_after(3 * HOUR):
                assert await handle.outcome() == Completed("done")
    kinds = [each.event for each in events if isinstance(each, SessionParked | SessionWoken)]
    assert kinds == ["session.parked", "session.woken"] * 2
    assert events[-1].event == "session.completed"


@pytest.mark.parametrize("name", ["fetch", "order"])
async def test_a_restart_in_the_middle_changes_nothing(store: MemoryStore, name: str) -> None:
    """The due time is stored; attempts and the time they took go on, they are not given anew."""
    upstream = Upstream(refusals=10)
    tools = upstream.tools()
    async with running(store, agent([call(name), "done"], tools)) as runtime:
        await runtime.start("agent", "go", session_id="s-1", budget=Budget(seconds=60))
        await parked(runtime)
    await anyio.sleep(HOUR / 2)
    async with running(store, agent([call(name), "done"], tools)) as runtime:
        outcome = await ended(runtime, "s-1", 5 * HOUR)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "blocked"
    assert "time budget" in outcome.detail or "10800" in outcome.detail
    # Two waits of an hour and a bit fit into three hours, a third would not.
    assert len(upstream.at) == 3
    assert all(HOUR <= gap < HOUR + 31 for gap in upstream.gaps)
    async with opened(store):
        entries = await journal(store, "s-1")
    assert [each.number for each in entries if isinstance(each, Retried)] == [1, 2, 3]
    assert [each.attempt for each in entries if isinstance(each, Intended)] == (
        [1, 2, 3] if name == "order" else []
    )
    assert sum(isinstance(each, Parked) for each in entries) == 2
    assert sum(isinstance(each, Woken) for each in entries) == 2


async def test_one_that_came_due_while_nobody_was_there_goes_on_at_once(store: MemoryStore) -> None:
    upstream = Upstream()
    of = agent([call("fetch"), "done"], upstream.tools())
    async with running(store, of) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        await parked(runtime)
    await anyio.sleep(5 * HOUR)
    async with running(store, of) as runtime:
        began = anyio.current_time()
        assert await ended(runtime, "s-1") == Completed("done")
        assert anyio.current_time() - began < 1.0


async def test_a_model_that_is_limited_parks_too(store: MemoryStore) -> None:
    busy = RateLimited("come back later", retry_after=HOUR)
    of = Agent("agent", model=ScriptedModel([busy, "hello"]))
    async with running(store, of) as runtime:
        began = anyio.current_time()
        await runtime.start("agent", "go", session_id="s-1")
        await parked(runtime)
        assert await ended(runtime, "s-1", 2 * HOUR) == Completed("hello")
        assert HOUR <= anyio.current_time() - began < HOUR + 31


async def test_ck_01_a_wall_clock_that_jumps_wakes_nobody_early(store: MemoryStore) -> None:
    upstream = Upstream()
    of = agent([call("fetch"), "done"], upstream.tools())
    clock = Wall(anyio.current_time() + 100.0)
    async with running(store, of, clock=clock) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        assert await ended(runtime, "s-1", 2 * HOUR) == Completed("done")
    assert HOUR <= upstream.gaps[0] < HOUR + 31


async def test_a_short_wait_is_waited_in_memory(store: MemoryStore) -> None:
    of = agent([call("fetch"), "done"], Upstream(wait_s=30.0).tools())
    async with running(store, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        events = [event async for event in handle.events()]
    assert not [each for each in events if isinstance(each, SessionParked)]


@pytest.mark.parametrize(("park_after_s", "parks"), [(10.0, True), (None, False)])
async def test_what_is_long_is_the_policy_s(
    store: MemoryStore, park_after_s: float | None, parks: bool
) -> None:
    policy = Policy(rate_limited=PATIENT, waits=WaitPolicy(park_after_s=park_after_s))
    of = agent([call("fetch"), "done"], Upstream(wait_s=100.0).tools())
    async with running(store, of, policy) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        events = [event async for event in handle.events()]
        assert await handle.outcome() == Completed("done")
    assert any(isinstance(each, SessionParked) for each in events) is parks


# ---------------------------------------------------------------- woken by people


async def test_a_message_wakes_at_once_and_the_call_is_given_up(store: MemoryStore) -> None:
    """Not repeated before the server's time: the model learns of the failure and of the message."""
    upstream = Upstream()
    of = agent([call("order"), "then not"], upstream.tools())
    async with running(store, of) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        await parked(runtime)
        began = anyio.current_time()
        await runtime.session("s-1").send("leave it")
        assert await ended(runtime, "s-1") == Completed("then not")
        assert anyio.current_time() - began < 1.0
        assert not (await runtime.session("s-1").inspect()).in_doubt
    assert len(upstream.at) == 1
    async with opened(store):
        (result,) = [e for e in await journal(store, "s-1") if isinstance(e, Resulted)]
    assert (result.state, result.error_class, result.attempts) == ("failed", "rate_limited", 1)
    assert "the user has spoken" in result.content


async def test_a_message_does_not_cut_the_model_s_own_wait_short(store: MemoryStore) -> None:
    busy = RateLimited("come back later", retry_after=HOUR)
    of = Agent("agent", model=ScriptedModel([busy, "hello"], record=True))
    async with running(store, of) as runtime:
        began = anyio.current_time()
        await runtime.start("agent", "go", session_id="s-1")
        await parked(runtime)
        await runtime.session("s-1").send("are you there?")
        assert await ended(runtime, "s-1", 2 * HOUR) == Completed("hello")
        assert HOUR <= anyio.current_time() - began
    assert len(requests(of)[-1].messages) == 2


async def test_resuming_a_parked_session_goes_on_with_its_wait(store: MemoryStore) -> None:
    """A runtime that adopts nothing wakes it all the same, and not before it is due."""
    upstream = Upstream()
    of = agent([call("order"), "done"], upstream.tools())
    async with running(store, of) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        await parked(runtime)
    async with Runtime(store, agents=[of], policy=LONG, clock=LoopClock(), adopt=False) as runtime:
        for _ in range(2):
            await runtime.resume("s-1")
            await parked(runtime)
            await anyio.sleep(HOUR / 4)
            assert len(upstream.at) == 1
        assert await ended(runtime, "s-1", 2 * HOUR) == Completed("done")
    assert HOUR <= upstream.gaps[0] < HOUR + 31
    async with opened(store):
        assert len([each for each in await journal(store, "s-1") if isinstance(each, Parked)]) == 3


async def test_cancelling_a_parked_session_ends_it_at_once(store: MemoryStore) -> None:
    upstream = Upstream()
    of = agent([call("order"), "done"], upstream.tools())
    async with running(store, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        await parked(runtime)
        assert await handle.cancel() == Stopped("cancelled")
        assert not (await handle.inspect()).in_doubt  # it certainly did not run
        await anyio.sleep(2 * HOUR)
    assert len(upstream.at) == 1


async def test_a_runtime_that_is_left_lets_go_of_who_waits(store: MemoryStore) -> None:
    of = agent([call("fetch"), "done"], Upstream().tools())
    raised: list[BaseException] = []
    async with anyio.create_task_group() as group, running(store, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")

        async def wait() -> None:
            try:
                await handle.outcome()
            except Exception as error:  # noqa: BLE001 - the test looks at it
                raised.append(error)

        await parked(runtime)
        group.start_soon(wait)
        await anyio.sleep(1.0)
    assert [type(each).__name__ for each in raised] == ["RuntimeClosed"]


# ---------------------------------------------------------------- several at once


async def test_calls_side_by_side_wait_for_the_last_of_them(store: MemoryStore) -> None:
    at: dict[str, list[float]] = {"a": [], "b": [], "c": []}
    waits = {"a": HOUR, "b": 2 * HOUR, "c": 0.0}

    @tool(effect="read", overlap=True)
    async def fetch(name: str) -> str:
        at[name].append(anyio.current_time())
        if waits[name] and len(at[name]) == 1:
            raise RateLimited("later", retry_after=waits[name])
        return name

    of = agent([[call("fetch", name=name) for name in at], "done"], [fetch])
    async with running(store, of) as runtime:
        await runtime.start("agent", "go", session_id="s-1", budget=Budget(steps=1))
        assert await ended(runtime, "s-1", 4 * HOUR) == Completed("done")
    assert [len(each) for each in at.values()] == [2, 2, 1]
    assert at["b"][1] - at["b"][0] >= 2 * HOUR
    assert_paired(requests(of)[-1].messages)


async def test_many_sessions_come_due_together_and_each_by_itself(store: MemoryStore) -> None:
    asked: dict[str, list[float]] = {}

    @tool(effect="read")
    async def fetch(name: str, wait_s: float) -> str:
        asked.setdefault(name, []).append(anyio.current_time())
        if len(asked[name]) == 1:
            raise RateLimited("later", retry_after=wait_s)
        return name

    def script(name: str, wait_s: float) -> Callable[[], Agent]:
        return lambda: agent([call("fetch", name=name, wait_s=wait_s), "done"], [fetch], name=name)

    agents = [script(f"a{i}", 100.0 + 7.0 * (i % 10))() for i in range(30)]
    policy = Policy(rate_limited=RetryPolicy(time_budget_s=None, jitter=0.0))
    async with Runtime(store, agents=agents, policy=policy, clock=LoopClock()) as runtime:
        for each in agents:
            await runtime.start(each.name, "go", session_id=each.name)
        for each in agents:
            assert await ended(runtime, each.name) == Completed("done")
    for i in range(30):
        first, second = asked[f"a{i}"]
        assert 0 <= second - first - (100.0 + 7.0 * (i % 10)) < 1.1


async def test_a_sub_session_waits_in_memory(store: MemoryStore) -> None:
    child = agent([call("fetch"), "fetched"], Upstream().tools(), name="child")
    chief = agent(
        [call("child", task="fetch it"), "done"],
        [child.as_tool(budget=Budget(seconds=None))],
        name="chief",
    )
    policy = LONG
    async with Runtime(store, agents=[chief, child], policy=policy, clock=LoopClock()) as runtime:
        await runtime.start("chief", "go", session_id="c", budget=Budget(seconds=None))
        await anyio.sleep(100.0)
        assert not await runtime.sessions(status="parked")
        assert await ended(runtime, "c", 2 * HOUR) == Completed("done")


# ---------------------------------------------------------------- a kill in a short wait


async def test_a_restart_in_a_short_wait_goes_on_with_it(store: MemoryStore) -> None:
    at: list[float] = []

    @tool(effect="read")
    async def fetch() -> str:
        at.append(anyio.current_time())
        if len(at) == 1:
            raise TransientError("busy", retry_after=50.0)
        return "there"

    of = agent([call("fetch"), "done"], [fetch])
    with anyio.move_on_after(10.0):
        async with running(store, of) as runtime:
            await runtime.start("agent", "go", session_id="s-1")
            await runtime.session("s-1").outcome()
    async with running(store, of) as runtime:
        assert await ended(runtime, "s-1") == Completed("done")
    assert 50.0 <= at[1] - at[0] < 52.0
    async with opened(store):
        (result,) = [e for e in await journal(store, "s-1") if isinstance(e, Resulted)]
    assert result.attempts == 2
