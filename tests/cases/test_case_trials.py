"""The one call that tries an upstream again: nobody goes with it, and its place is never lost.

From diegosouzapw/OmniRoute#13836, safe-global/safe-client-gateway#3442 and port-labs/ocean#3413.
"""

import anyio
import pytest
from failing import HttpError
from sessions import LoopClock, agent, ended, run_one

from ukemi import Budget, Completed, Policy, RetryPolicy, Runtime, TransientError, current, tool
from ukemi.actors.model import ModelRequest
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.supervisor.policy_limits import BreakerPolicy


def once(request: ModelRequest) -> Reply:
    return call("fetch") if len(request.messages) == 1 else "done"


@pytest.mark.parametrize("end", ["cancelled", "out of time", "refused"])
async def test_a_trial_that_never_settles_does_not_close_the_way(
    store: MemoryStore, end: str
) -> None:
    asked: list[str] = []

    @tool(effect="read", upstream="shop")
    async def fetch() -> str:
        asked.append(current().session_id)
        if len(asked) <= 2:
            raise TransientError("connection refused")
        if asked[-1] == "trial" and end == "refused":
            raise HttpError(400, {}, {"code": "bad_request"})
        if asked[-1] == "trial":
            await anyio.sleep_forever()
        return "goods"

    of = agent(once, [fetch])
    policy = Policy(
        breaker=BreakerPolicy(failures_min=2, open_s=10.0), transient=RetryPolicy(attempts_max=2)
    )
    async with Runtime(store, agents=[of], policy=policy, clock=LoopClock()) as runtime:
        await run_one(runtime, of)  # two failures: it opens
        trial = await runtime.start("agent", "go", session_id="trial", budget=Budget(seconds=30.0))
        await anyio.sleep(20.0)
        assert asked[2:] == ["trial"]
        if end == "cancelled":
            await trial.cancel()
        else:
            await ended(runtime, "trial")
        assert await run_one(runtime, of, session_id="after") == Completed("done")
    assert asked[3:] == ["after"]


async def test_nobody_goes_with_a_trial(store: MemoryStore) -> None:
    down, under_way, most_in_trial = True, 0, 0

    @tool(effect="read", upstream="shop")
    async def fetch() -> str:
        nonlocal under_way, most_in_trial, down
        if down and anyio.current_time() - began < 5.0:
            raise TransientError("connection refused")
        under_way += 1
        if down:
            most_in_trial = max(most_in_trial, under_way)
        try:
            await anyio.sleep(5.0)
        finally:
            under_way -= 1
        down = False
        return "goods"

    of = agent(once, [fetch])
    policy = Policy(breaker=BreakerPolicy(failures_min=20, open_s=10.0))
    began = anyio.current_time()
    async with Runtime(store, agents=[of], policy=policy, clock=LoopClock()) as runtime:
        for at in range(50):
            await runtime.start("agent", "go", session_id=f"s-{at}")
        for at in range(50):
            assert await ended(runtime, f"s-{at}") == Completed("done")
    assert most_in_trial == 1


async def test_places_come_back_from_whoever_is_cancelled(store: MemoryStore) -> None:
    """In the call, in the wait before its repeat, and in the line."""
    under_way = most = 0

    @tool(effect="read", upstream="shop")
    async def fetch() -> str:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        try:
            if current().session_id.startswith("failing"):
                raise TransientError("busy", retry_after=40.0)
            await anyio.sleep(50.0)
        finally:
            under_way -= 1
        return "goods"

    of = agent(once, [fetch])
    policy = Policy(upstream={"shop": {"concurrency": {"calls_max": 2}}})
    names = ["failing-0", "failing-1", "slow-0", "slow-1", "slow-2", "slow-3"]
    async with Runtime(store, agents=[of], policy=policy, clock=LoopClock()) as runtime:
        for name in names:
            await runtime.start("agent", "go", session_id=name)
            await anyio.sleep(1.0)
        for name in names:
            await runtime.session(name).cancel()
        began = anyio.current_time()
        for at in range(4):
            await runtime.start("agent", "go", session_id=f"after-{at}")
        for at in range(4):
            assert await ended(runtime, f"after-{at}") == Completed("done")
        assert anyio.current_time() - began == pytest.approx(100.0, abs=1.0)
    assert most == 2
