"""How many calls of one upstream may be under way: who waits, for how long, and who does not."""

import anyio
import pytest
from sessions import LoopClock, agent, ended, run_one

from ukemi import Completed, Policy, Runtime, Stopped, TransientError, tool
from ukemi.actors.model import ModelRequest
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.supervisor.policy_failures import RetryPolicy

JOB_S = 10.0


class Service:
    """A tool whose calls take ten seconds; it counts them."""

    def __init__(self, *, fails: int = 0) -> None:
        self.now = self.most = self.calls = 0
        self.fails = fails

        @tool(effect="read", upstream="service", safe_to_retry=True)
        async def job() -> str:
            self.calls += 1
            self.now += 1
            self.most = max(self.most, self.now)
            try:
                await anyio.sleep(JOB_S)
            finally:
                self.now -= 1
            if self.calls <= self.fails:
                raise TransientError("not now")
            return "done"

        self.agent = agent(self.script, [job])

    def script(self, request: ModelRequest) -> Reply:
        return call("job") if len(request.messages) == 1 else "done"


def limited(calls_max: int | None, **more: object) -> Policy:
    return Policy(upstream={"service": {"concurrency": {"calls_max": calls_max}}}, **more)  # type: ignore[arg-type]


async def start(runtime: Runtime, number: int) -> None:
    for at in range(number):
        await runtime.start("agent", "go", session_id=f"s{at}", tenant=f"t{at % 3}")


async def test_health_tells_calls_and_waits_of_an_upstream(store: MemoryStore) -> None:
    service = Service()
    runtime = Runtime(store, agents=[service.agent], policy=limited(2), clock=LoopClock())
    async with runtime:
        await start(runtime, 5)
        await anyio.sleep(4.0)
        shown = runtime.health().upstreams["service"]
        assert (shown.breaker, shown.calls, shown.waiting, shown.oldest_s) == ("closed", 2, 3, 4.0)
        for at in range(5):
            assert await ended(runtime, f"s{at}") == Completed("done")
        shown = runtime.health().upstreams["service"]
        assert (shown.calls, shown.waiting, shown.oldest_s) == (0, 0, 0.0)
    assert service.most == 2


async def test_a_long_wait_for_a_place_uses_up_no_time_of_retries(store: MemoryStore) -> None:
    """The last call waits 90 s, its first attempt fails, and there are 15 s for retries: two attempts."""
    service = Service()
    retry = RetryPolicy(time_budget_s=15.0, delay_s_first=1.0, jitter=0.0)
    policy = limited(1, transient=retry)
    async with Runtime(store, agents=[service.agent], policy=policy, clock=LoopClock()) as runtime:
        await start(runtime, 9)
        await anyio.sleep(8 * JOB_S + 5.0)
        service.fails = service.calls  # the one under way now is the last session's
        assert await ended(runtime, "s8") == Completed("done")
    assert service.calls == 10


@pytest.mark.parametrize("waits", [True, False])
async def test_a_call_that_is_cut_off_gives_its_place_or_its_wait_up(
    store: MemoryStore, waits: bool
) -> None:
    service = Service()
    async with Runtime(store, agents=[service.agent], policy=limited(1)) as runtime:
        began = anyio.current_time()
        await start(runtime, 3)
        await anyio.sleep(1.0)
        assert await runtime.session("s1" if waits else "s0").cancel() == Stopped("cancelled")
        assert await ended(runtime, "s2") == Completed("done")
        took_s = anyio.current_time() - began
        assert took_s == pytest.approx(2 * JOB_S if waits else 1.0 + 2 * JOB_S)
        assert runtime.health().upstreams["service"].calls == 0


async def test_a_failing_call_gives_its_place_up_while_it_waits_for_its_repeat(
    store: MemoryStore,
) -> None:
    service = Service(fails=1)
    retry = RetryPolicy(delay_s_first=30.0, delay_s_max=30.0, jitter=0.0)
    async with Runtime(
        store, agents=[service.agent], policy=limited(1, transient=retry)
    ) as runtime:
        began = anyio.current_time()
        await start(runtime, 2)
        assert await ended(runtime, "s1") == Completed("done")
        assert anyio.current_time() - began == pytest.approx(2 * JOB_S)
        assert await ended(runtime, "s0") == Completed("done")


async def test_a_new_limit_counts_at_once(store: MemoryStore) -> None:
    service = Service()
    async with Runtime(store, agents=[service.agent], policy=limited(1)) as runtime:
        await start(runtime, 6)
        await anyio.sleep(1.0)
        runtime.reload_policy(limited(4))
        await anyio.sleep(1.0)
        assert service.now == 4
        runtime.reload_policy(limited(None))
        await anyio.sleep(1.0)
        assert service.now == 6


async def test_without_a_limit_nothing_is_counted(store: MemoryStore) -> None:
    service = Service()
    async with Runtime(store, agents=[service.agent]) as runtime:
        assert await run_one(runtime, service.agent) == Completed("done")
        assert runtime.health().upstreams["service"].calls == 0
