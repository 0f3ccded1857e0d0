"""CK-01: durations come from the monotonic clock; the wall clock may jump as it likes."""

import random

import anyio
from sessions import agent, ended, journal, opened, run_one

from ukemi import Agent, Budget, HandedOver, Policy, Runtime, TransientError, tool
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import Hang, call
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Booked, Ended, Resulted, Retried
from ukemi.supervisor.policy_failures import RetryPolicy

JUMPS = ((2.0, 3_600_000), (5.0, -7_200_000))


class JumpingClock:
    """A steady monotonic clock beside a wall clock that somebody keeps setting."""

    def __init__(self) -> None:
        self.began = anyio.current_time()

    def now(self) -> float:
        return anyio.current_time()

    def wall_ms(self) -> int:
        passed = anyio.current_time() - self.began
        jumped = sum(by for at, by in JUMPS if passed >= at)
        return 1_700_000_000_000 + int(passed * 1000) + jumped


class FullRoll(random.Random):
    """Chance that always draws the longest wait, so that a backoff of 8 s is one of 8 s."""

    def random(self) -> float:
        return 1.0


class Failing:
    """A tool that fails every time it is called, and one that never answers."""

    def __init__(self) -> None:
        self.tried_at: list[float] = []

    def agent(self, name: str) -> Agent:
        @tool(effect="read")
        async def fail() -> str:
            self.tried_at.append(anyio.current_time())
            raise TransientError("busy")

        @tool(effect="read", timeout_s=10.0)
        async def hang() -> str:
            self.tried_at.append(anyio.current_time())
            await anyio.sleep_forever()
            return "never"

        return agent([call(name)], [fail, hang])


def policy(time_budget_s: float | None = 60.0, attempts_max: int | None = None) -> Policy:
    retry = RetryPolicy(
        attempts_max=attempts_max, delay_s_first=8.0, delay_s_max=8.0, time_budget_s=time_budget_s
    )
    return Policy(transient=retry, in_doubt_timeout=retry)


def runtime_on(store: MemoryStore, of: Agent, policy: Policy) -> Runtime:
    roll = FullRoll()
    return Runtime(store, agents=[of], policy=policy, clock=JumpingClock(), random_source=roll)


async def test_CK_01_the_backoff_is_eight_seconds_of_monotonic_time(store: MemoryStore) -> None:
    failing = Failing()
    of = failing.agent("fail")
    async with runtime_on(store, of, policy(attempts_max=2, time_budget_s=None)) as runtime:
        await run_one(runtime, of)
    first, second = failing.tried_at
    assert second - first == 8.0


async def test_CK_01_the_deadline_of_the_step_is_ten_seconds_of_monotonic_time(
    store: MemoryStore,
) -> None:
    failing = Failing()
    of = failing.agent("hang")
    async with runtime_on(store, of, policy(attempts_max=1)) as runtime:
        began = anyio.current_time()
        outcome = await run_one(runtime, of)
        assert anyio.current_time() - began == 10.0
    assert isinstance(outcome, HandedOver)
    assert "10 s" in outcome.dossier.upstream_error


async def test_CK_01_the_time_budget_of_retries_ends_at_sixty_seconds(store: MemoryStore) -> None:
    """Checked before sleeping: the wait that would end at 64 s is not begun."""
    failing = Failing()
    of = failing.agent("fail")
    async with runtime_on(store, of, policy()) as runtime:
        outcome = await run_one(runtime, of)
    began = failing.tried_at[0]
    assert [at - began for at in failing.tried_at] == [8.0 * k for k in range(8)]
    assert isinstance(outcome, HandedOver)
    assert "60 s" in outcome.detail


async def test_CK_01_the_session_s_own_budget_ends_at_sixty_seconds(store: MemoryStore) -> None:
    failing = Failing()
    of = failing.agent("fail")
    async with runtime_on(store, of, policy(time_budget_s=None)) as runtime:
        began = anyio.current_time()
        outcome = await run_one(runtime, of, budget=Budget(seconds=60.0))
        assert abs(anyio.current_time() - began - 60.0) < 1e-6
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "budget"
    assert "seconds" in outcome.detail
    assert "60 of 60" in outcome.detail


async def test_CK_01_no_recorded_duration_is_negative(store: MemoryStore) -> None:
    failing = Failing()
    of = failing.agent("fail")
    async with runtime_on(store, of, policy()) as runtime:
        await run_one(runtime, of, session_id="s-1")
    async with opened(store):
        entries = await journal(store, "s-1")
    durations = [
        *(each.elapsed_s for each in entries if isinstance(each, Resulted | Retried)),
        *(each.wait_s for each in entries if isinstance(each, Retried)),
        *(each.spent.seconds for each in entries if isinstance(each, Resulted | Ended | Booked)),
    ]
    assert len(durations) >= 16
    assert min(durations) >= 0.0
    elapsed = [each.elapsed_s for each in entries if isinstance(each, Retried)]
    assert elapsed == [8.0 * k for k in range(8)]


async def test_CK_01_the_order_of_records_is_a_counter(store: MemoryStore) -> None:
    """Retries are numbered, rows have sequence numbers, checkpoints count up: no time needed."""
    failing = Failing()
    of = failing.agent("fail")
    async with runtime_on(store, of, policy()) as runtime:
        await run_one(runtime, of, session_id="s-1")
        (head,) = await runtime.sessions()
        assert head.facts.updated_at_ms < head.facts.created_at_ms  # the wall clock did jump
    async with opened(store):
        stored = await store.load("s-1")
        entries = await journal(store, "s-1")
    assert [row.seq for row in stored.rows] == list(range(1, len(stored.rows) + 1))
    assert [each.number for each in entries if isinstance(each, Retried)] == list(range(1, 9))


async def test_CK_01_a_restart_goes_on_with_what_is_left_of_the_budget(store: MemoryStore) -> None:
    """40 of 60 s were consumed; a pause of an hour and another clock change nothing of that."""
    of = agent([call("wait"), call("wait"), Hang()], [waiting(20.0)])
    with anyio.move_on_after(41.0):
        async with runtime_on(store, of, policy()) as runtime:
            handle = await runtime.start("agent", "go", budget=Budget(seconds=60), session_id="s-1")
            await handle.outcome()
    await anyio.sleep(3600.0)
    async with runtime_on(store, of, policy()) as runtime:
        began = anyio.current_time()
        outcome = await ended(runtime, "s-1")
        took = anyio.current_time() - began
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "budget"
    # What was consumed since the last row is not known: at most that is given again.
    assert 19.0 <= took <= 20.0


def waiting(seconds: float) -> AnyTool:
    @tool(effect="read")
    async def wait() -> str:
        await anyio.sleep(seconds)
        return "waited"

    return wait
