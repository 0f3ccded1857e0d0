"""What a runtime tells of itself, and that a slow store holds starts back rather than filling memory."""

import time
from collections.abc import Sequence
from types import SimpleNamespace

import anyio
import msgspec
import pytest
from sessions import LoopClock, agent, ended

from ukemi import Completed, Policy, Runtime, TransientError, UsageError, tool
from ukemi.actors.health import LAG_KEPT, Health, LagMeter
from ukemi.actors.model import ModelRequest
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.base import Create, Write, Written
from ukemi.stores.memory import MemoryStore
from ukemi.supervisor.policy_failures import RetryPolicy
from ukemi.supervisor.policy_limits import AdmissionPolicy, BreakerPolicy


async def test_a_quiet_runtime_is_all_zeros_and_can_be_written_as_json(store: MemoryStore) -> None:
    runtime = Runtime(store, agents=[agent(["done"])])
    with pytest.raises(UsageError, match="not running"):
        runtime.health()
    async with runtime:
        health = runtime.health()
        assert health.sessions.active == health.waiting.sessions == health.threads == 0
        assert set(health.mailboxes) == {"checkpoint", "budget", "timers"}
        assert health.breakers_open == ()
        assert msgspec.json.decode(msgspec.json.encode(health), type=Health) == health
    assert runtime.health().sessions.active == 0  # also after it was left


async def test_sessions_are_counted_over_their_lives(store: MemoryStore) -> None:
    gate = anyio.Event()

    async def script(request: ModelRequest) -> Reply:
        await gate.wait()
        return "done"

    async with Runtime(store, agents=[agent(script)]) as runtime:
        for at in range(3):
            await runtime.start("agent", "go", session_id=f"s{at}")
        shown = runtime.health().sessions
        assert (shown.active, shown.in_memory, shown.ended) == (3, 3, 0)
        gate.set()
        for at in range(3):
            assert await ended(runtime, f"s{at}") == Completed("done")
        await anyio.sleep(0.1)
        shown = runtime.health().sessions
        assert (shown.active, shown.in_memory, shown.ended) == (0, 0, 3)


async def test_an_open_breaker_is_named(store: MemoryStore) -> None:
    @tool(effect="read", upstream="shop")
    async def stock() -> str:
        raise TransientError("down")

    policy = Policy(
        breaker=BreakerPolicy(failures_min=2), transient=RetryPolicy(delay_s_first=5.0, jitter=0.0)
    )
    of = agent(lambda request: call("stock") if len(request.messages) == 1 else "done", [stock])
    async with Runtime(store, agents=[of], policy=policy, clock=LoopClock()) as runtime:
        for at in range(4):
            await runtime.start("agent", "go", session_id=f"s{at}")
        await anyio.sleep(6.0)
        health = runtime.health()
        assert health.breakers_open == ("shop",)
        assert health.upstreams["shop"].breaker == "open"
        assert health.upstreams["shop"].held >= 1


# ---------------------------------------------------------------- the lag of the loop


class Hands:
    """Timers that a test fires by hand, as late as it likes."""

    def __init__(self) -> None:
        self.time = 0.0
        self.due: list[tuple[float, object]] = []

    def now(self) -> float:
        return self.time

    def at(self, when: float, callback: object) -> object:
        self.due.append((when, callback))
        return SimpleNamespace(cancel=lambda: None)

    def fire(self, late: float) -> None:
        when, callback = self.due.pop(0)
        self.time = when + late
        assert callable(callback)
        callback()


def test_the_lag_is_how_late_a_timer_fires_and_the_worst_of_a_minute_is_kept() -> None:
    hands = Hands()
    meter = LagMeter(hands, hands.now)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    assert meter.health().lag_s_max == 0.0
    meter.begin()
    for late in (0.0, 0.5, 0.25):
        hands.fire(late)
    assert (meter.health().lag_s, meter.health().lag_s_max) == (0.25, 0.5)
    for _ in range(LAG_KEPT):
        hands.fire(0.0)
    assert meter.health().lag_s_max == 0.0


@pytest.mark.realtime
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_body_that_blocks_the_loop_shows(store: MemoryStore) -> None:
    """Blocked over the next look, for 0.6 s or what is left of it: at least 0.2 s late."""
    async with Runtime(store, agents=[agent(["done"])]) as runtime:
        await anyio.sleep(0.7)
        time.sleep(0.6)  # noqa: ASYNC251 - this is what a bad tool does
        await anyio.sleep(0.2)
        assert 0.2 <= runtime.health().loop.lag_s_max < 5.0


# ---------------------------------------------------------------- a store that is slow


class SlowStore(MemoryStore):
    """Takes its time for each commit; remembers how many sessions were asked of it at once."""

    def __init__(self, name: str, commit_s: float) -> None:
        super().__init__(name)
        self._commit_s = commit_s
        self.creates_max = 0

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        self.creates_max = max(self.creates_max, sum(isinstance(each, Create) for each in writes))
        await anyio.sleep(self._commit_s)
        return await super().commit(writes)


STARTS = 10_000
PLACES, WAITING = 200, 300


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_ten_thousand_starts_over_a_slow_store_keep_a_few_hundred_in_memory() -> None:
    """And every one of them is acknowledged, and comes to its end."""
    store = SlowStore("slow", 0.05)
    admission = AdmissionPolicy(sessions_max=PLACES, waiting_max=WAITING)
    of = agent(lambda request: "done", record=False)
    seen: list[int] = []
    boxes: list[int] = []
    acknowledged = 0

    async with Runtime(store, agents=[of], policy=Policy(admission=admission)) as runtime:

        async def start(at: int) -> None:
            nonlocal acknowledged
            await runtime.start("agent", "go", session_id=f"s{at}")
            acknowledged += 1

        async def watch() -> None:
            while acknowledged < STARTS:
                health = runtime.health()
                seen.append(health.sessions.in_memory)
                boxes.append(health.mailboxes["checkpoint"])
                await anyio.sleep(0.05)

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            for at in range(STARTS):
                group.start_soon(start, at)
        for at in range(0, STARTS, 997):
            assert await ended(runtime, f"s{at}") == Completed("done")
        await anyio.sleep(60.0)
        assert runtime.health().sessions.ended == STARTS
    assert max(seen) <= PLACES + WAITING
    assert store.creates_max <= WAITING
    assert max(boxes) <= PLACES + WAITING + 10
    assert max(seen) >= PLACES  # and the places were used
