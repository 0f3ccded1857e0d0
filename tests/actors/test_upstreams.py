"""Sessions and a breaker they share: who waits, who is told, and what runs how often."""

import random
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from failing import Upstream
from sessions import LoopClock, agent, ended, run_one
from storm_of_sessions import (
    Storm,
    curve_storm,
    exponential,
    full_jitter,
    runtime_storm,
    stamina_defaults,
)

from ukemi import (
    Completed,
    HandedOver,
    Policy,
    RetryPolicy,
    Runtime,
    Stopped,
    TransientError,
    UsageError,
    tool,
)
from ukemi.actors.upstream_events import BreakerClosed, BreakerHalfOpen, BreakerOpened, UpstreamHeld
from ukemi.models import call
from ukemi.stores.memory import MemoryStore
from ukemi.supervisor.policy_file import parse_policy
from ukemi.supervisor.policy_limits import BreakerPolicy, RetryBudgetPolicy

QUICK = Policy(breaker=BreakerPolicy(failures_min=2, open_s=10.0))


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(f"upstreams-{random.random()}")


def down_until(when: float) -> Upstream:
    def answer(now: float) -> BaseException | str:
        return "goods" if now >= when else TransientError("connection refused")

    return Upstream(answer)


async def test_an_open_breaker_lets_a_call_wait_and_tells_its_states(store: MemoryStore) -> None:
    upstream = down_until(anyio.current_time() + 5.0)
    of = agent([call("fetch"), "done"], [upstream.tool(upstream="shop")])
    async with Runtime(store, agents=[of], policy=QUICK, clock=LoopClock()) as runtime:
        handle = await runtime.start("agent", "go")
        events = [event async for event in handle.events()]
        assert await handle.outcome() == Completed("done")
    told = [
        type(event)
        for event in events
        if isinstance(event, BreakerOpened | BreakerHalfOpen | BreakerClosed)
    ]
    assert told == [BreakerOpened, BreakerHalfOpen, BreakerClosed]
    assert [event.upstream for event in events if isinstance(event, UpstreamHeld)] == ["shop"]
    # Two failures opened it; nobody asked in the ten seconds after the second.
    assert len(upstream.asked_at) == 3
    assert upstream.waits[-1] >= 10.0


async def test_a_write_that_waits_for_its_upstream_runs_once(store: MemoryStore) -> None:
    """It has not begun while it waits: no intent, no doubt, no second run."""
    upstream = down_until(anyio.current_time() + 5.0)
    sent: list[float] = []

    @tool(effect="write", upstream="shop")
    async def order() -> str:
        sent.append(anyio.current_time())
        return "ordered"

    reader = agent([call("fetch"), "done"], [upstream.tool(upstream="shop")], name="reader")
    writer = agent([call("order"), "done"], [order], name="writer")
    async with Runtime(store, agents=[reader, writer], policy=QUICK) as runtime:
        first = await runtime.start("reader", "go")
        async with aclosing(first.events()) as events:
            async for event in events:
                if isinstance(event, BreakerOpened):
                    break
        opened_at = anyio.current_time()
        assert await run_one(runtime, writer) == Completed("done")
        assert await ended(runtime, first.id) == Completed("done")
    assert len(sent) == 1
    assert sent[0] >= opened_at + 10.0


async def test_a_wait_that_outlasts_the_time_budget_hands_over_at_once(store: MemoryStore) -> None:
    upstream = down_until(float("inf"))
    of = agent([call("fetch"), "done"], [upstream.tool(upstream="shop")])
    policy = Policy(
        transient=RetryPolicy(time_budget_s=6.0),
        breaker=BreakerPolicy(failures_min=2, open_s=10.0),
    )
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        began = anyio.current_time()
        outcome = await run_one(runtime, of)
        assert anyio.current_time() - began < 6.0
        # The next session does not ask at all.
        second = await run_one(runtime, of)
        asked = len(upstream.asked_at)
    for each in (outcome, second):
        assert isinstance(each, HandedOver)
        assert each.reason == "blocked"
        assert "time budget" in each.detail
        assert "shop" in each.detail
    assert asked == 2


async def test_models_have_a_breaker_by_their_name(store: MemoryStore) -> None:
    def script(_: object) -> Exception:
        return TransientError("down")

    of = agent(script)
    policy = parse_policy("[upstream.scripted.breaker]\nfailures_min = 2\nopen_s = 500\n")
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        outcome = await run_one(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "blocked"
    assert "scripted is not asked" in outcome.detail


async def test_a_session_cancelled_while_it_waits_or_tries_holds_nobody_up(
    store: MemoryStore,
) -> None:
    """The trial hangs and its session is cancelled: the next one tries, and all go on."""
    began = anyio.current_time()
    asked: list[float] = []
    tried = anyio.Event()

    @tool(effect="read", upstream="shop")
    async def fetch() -> str:
        now = anyio.current_time() - began
        asked.append(now)
        if now < 5.0:
            raise TransientError("down")
        if len(asked) == 3:
            tried.set()
            await anyio.sleep_forever()
        return "goods"

    of = agent([call("fetch"), "done"], [fetch])
    async with Runtime(store, agents=[of], policy=QUICK) as runtime:
        first = await runtime.start("agent", "go")
        await tried.wait()
        others = [await runtime.start("agent", "go") for _ in range(3)]
        waiting = await runtime.start("agent", "go")
        await anyio.sleep(0.2)
        await waiting.cancel()
        assert await ended(runtime, waiting.id) == Stopped("cancelled")
        await first.cancel()
        assert await ended(runtime, first.id) == Stopped("cancelled")
        for each in others:
            assert await ended(runtime, each.id) == Completed("done")
    assert len(asked) == 6


async def test_repeats_of_all_sessions_share_a_budget(store: MemoryStore) -> None:
    """A hundred calls fail: the budget gives twenty repeats and a fifth of the calls, not 300."""
    upstream = down_until(float("inf"))
    of = agent([call("fetch"), "done"], [upstream.tool(upstream="shop")])
    policy = Policy(
        transient=RetryPolicy(time_budget_s=8.0),
        breaker=BreakerPolicy(failures_min=None),
        retry_budget=RetryBudgetPolicy(share_max=0.2, retries_min=20, window_s=10.0),
    )
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        handles = [await runtime.start("agent", "go") for _ in range(100)]
        for handle in handles:
            outcome = await ended(runtime, handle.id)
            assert isinstance(outcome, HandedOver)
            assert outcome.reason == "blocked"
    assert 100 < len(upstream.asked_at) <= 100 + 20 + 20


# ---------------------------------------------------------------- the storm

UNLIMITED = RetryPolicy(attempts_max=None)
NO_BREAKER = Policy(
    transient=UNLIMITED,
    breaker=BreakerPolicy(failures_min=None),
    retry_budget=RetryBudgetPolicy(share_max=None),
)
SESSIONS, DOWN_S = 1000, 60.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
async def test_storm_a_thousand_sessions_neither_hammer_nor_come_back_at_once(seed: int) -> None:
    """An upstream is down for a minute; all complete, and it is asked a few times meanwhile."""
    storm = await runtime_storm(SESSIONS, DOWN_S, Policy(), seed)
    assert storm.done == SESSIONS
    # Each session's first call, which nobody could know would fail, and the trials.
    assert storm.during <= SESSIONS + 10
    # Those who wait come back over twenty seconds.
    assert storm.peak <= 60
    assert storm.last_s <= DOWN_S + 35.0


@pytest.mark.slow
async def test_storm_on_an_upstream_that_answers_slowly_is_recovered_from_as_well() -> None:
    """Answers of twenty seconds, as models give them: the budget of repeats must not starve them."""
    storm = await runtime_storm(SESSIONS, DOWN_S, Policy(), answer_s=20.0)
    assert storm.done == SESSIONS
    assert storm.peak <= 60
    assert storm.last_s <= DOWN_S + 75.0


@pytest.mark.slow
async def test_storm_beside_backoff_without_a_breaker() -> None:
    sessions = SESSIONS // 2
    ours = await runtime_storm(sessions, DOWN_S, Policy())
    alone = await runtime_storm(sessions, DOWN_S, NO_BREAKER)
    curves = [curve_storm(sessions, DOWN_S, each) for each in (exponential, full_jitter)]
    for other in (alone, *curves):
        assert other.during >= 5 * ours.during
        assert other.peak >= ours.peak
    gave_up: Storm = curve_storm(sessions, DOWN_S, stamina_defaults)
    assert gave_up.done == 0


# ---------------------------------------------------------------- reading the policy again


async def test_a_running_session_decides_by_the_policy_that_is_in_force(
    store: MemoryStore, tmp_path: Path
) -> None:
    """Read again in the middle of its attempts; a bad file changes nothing and says where."""
    upstream = down_until(float("inf"))
    of = agent([call("fetch"), "done"], [upstream.tool()])
    file = tmp_path / "policy.toml"
    file.write_text("[transient]\nattempts_max = 'none'\ndelay_s_first = 10\njitter = 0.0\n")
    async with Runtime(store, agents=[of], policy=file) as runtime:
        handle = await runtime.start("agent", "go")
        await anyio.sleep(5.0)
        file.write_text("[tool.fetch.transient]\nattempts_max = 0\n")
        with pytest.raises(UsageError, match=r"policy\.toml: \[tool\.fetch\.transient\]"):
            runtime.reload_policy()
        await anyio.sleep(20.0)
        assert len(upstream.asked_at) == 2  # at 0 and 10 s, and waiting for 30
        file.write_text("[agent.agent.transient]\nattempts_max = 3\n")
        runtime.reload_policy()
        outcome = await ended(runtime, handle.id)
    assert isinstance(outcome, HandedOver)
    assert len(upstream.asked_at) == 3
    assert "attempts: 3" in outcome.detail


async def test_a_tool_s_own_section_holds_for_that_tool_alone(store: MemoryStore) -> None:
    first, second = down_until(float("inf")), down_until(float("inf"))
    tools = [first.tool("first"), second.tool("second")]
    of = agent([[call("first"), call("second")], "done"], tools)
    policy = parse_policy("[tool.first.transient]\nattempts_max = 1\n")
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        await run_one(runtime, of)
    assert (len(first.asked_at), len(second.asked_at)) == (1, 4)
