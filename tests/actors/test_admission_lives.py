"""Places over restarts: of an actor of the tree, of a session's own actor, and of the process."""

import anyio
import pytest
from sessions import LoopClock, agent, ended, opened, put_history

from ukemi import Completed, Policy, Runtime, SessionOwned, Stopped, tool
from ukemi.actors.model import ModelRequest
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Said
from ukemi.supervisor.policy_limits import AdmissionPolicy


def limited(sessions_max: int, waiting_max: int = 100) -> Policy:
    return Policy(admission=AdmissionPolicy(sessions_max=sessions_max, waiting_max=waiting_max))


class Jobs:
    """Sessions whose one model request takes a second; who is at work now."""

    def __init__(self, seconds: float = 1.0) -> None:
        self.now: set[str] = set()
        self.most = 0
        self.seconds = seconds

    async def script(self, request: ModelRequest) -> Reply:
        self.now.add(request.session_id)
        self.most = max(self.most, len(self.now))
        try:
            await anyio.sleep(self.seconds)
        finally:
            self.now.discard(request.session_id)
        return "done"


async def test_who_waits_waits_on_while_the_tree_is_restarted(store: MemoryStore) -> None:
    jobs = Jobs()
    async with Runtime(store, agents=[agent(jobs.script)], policy=limited(2)) as runtime:
        for at in range(6):
            await runtime.start("agent", "go", session_id=f"s{at}")
        await anyio.sleep(0.5)
        kernel = runtime._core.entered.kernel  # pyright: ignore[reportPrivateUsage]
        kernel.supervisor("").kill_child("checkpoint", "a test says so")
        await anyio.sleep(0.2)
        assert runtime.health().sessions.active == 2
        for at in range(6):
            assert await ended(runtime, f"s{at}") == Completed("done")
    assert jobs.most == 2


async def test_a_life_that_was_given_up_takes_no_place_from_the_one_after_it(
    store: MemoryStore,
) -> None:
    """A body ignores its cancellation, and ends when its session has long gone on without it."""
    let_go = anyio.Event()
    begun = 0
    bodies: list[str] = []

    @tool(effect="read", timeout_s=1.0)
    async def stubborn() -> str:
        nonlocal begun
        begun += 1
        if begun == 1:
            with anyio.CancelScope(shield=True):
                await let_go.wait()
            bodies.append("ended")
        return "in time"

    async def script(request: ModelRequest) -> Reply:
        if len(request.messages) == 1:
            return call("stubborn")
        await anyio.sleep(100.0)
        return "done"

    policy = Policy(admission=AdmissionPolicy(sessions_max=1))
    async with Runtime(store, agents=[agent(script, [stubborn])], policy=policy) as runtime:
        await runtime.start("agent", "go", session_id="s0")
        await runtime.start("agent", "go", session_id="s1")
        await anyio.sleep(20.0)
        let_go.set()
        await anyio.sleep(1.0)
        assert bodies == ["ended"]
        shown = runtime.health()
        assert (shown.sessions.active, shown.waiting.sessions) == (1, 1)
        assert await ended(runtime, "s0") == Completed("done")
        assert await ended(runtime, "s1") == Completed("done")


async def test_a_family_that_is_taken_over_waits_for_one_place_together(store: MemoryStore) -> None:
    jobs = Jobs(10.0)
    child = agent(jobs.script, name="child")
    single = agent(jobs.script, name="single")

    def script(request: ModelRequest) -> Reply:
        return call("child", task="part") if len(request.messages) == 1 else "whole"

    agents = [agent(script, [child.as_tool()], name="parent"), child, single]
    async with Runtime(store, agents=agents, policy=limited(2)) as runtime:
        await runtime.start("single", "go", session_id="a0")
        await runtime.start("parent", "go", session_id="p0")
        await anyio.sleep(1.0)
        assert jobs.now == {"a0", "p0.2.0"}
    async with Runtime(store, agents=agents, policy=limited(1)) as runtime:
        await anyio.sleep(1.0)
        assert len(jobs.now) == 1
        first = "a0" if jobs.now == {"a0"} else "p0"
        await ended(runtime, first)
        assert await ended(runtime, "a0") == Completed("done")
        assert await ended(runtime, "p0") == Completed("whole")
    assert jobs.most == 2


@pytest.mark.parametrize("which", ["p0", "p0.2.0"])
async def test_of_a_family_that_waits_each_may_be_cancelled(store: MemoryStore, which: str) -> None:
    jobs = Jobs(10.0)
    child = agent(jobs.script, name="child")

    def script(request: ModelRequest) -> Reply:
        return call("child", task="part") if len(request.messages) == 1 else "whole"

    parent = agent(script, [child.as_tool()], name="parent")
    single = agent(jobs.script, name="single")
    agents = [single, parent, child]
    async with Runtime(store, agents=agents, policy=limited(2)) as runtime:
        await runtime.start("parent", "go", session_id="p0")
        await anyio.sleep(1.0)
    async with Runtime(store, agents=agents, policy=limited(1), adopt=False) as runtime:
        await runtime.start("single", "go", session_id="a0")
        await runtime.resume("p0")
        await runtime.resume("p0.2.0")
        await anyio.sleep(1.0)
        assert jobs.now == {"a0"}
        began = anyio.current_time()
        assert await runtime.session(which).cancel() == Stopped("cancelled")
        assert anyio.current_time() == began
        assert jobs.now == {"a0"}
        assert await ended(runtime, "a0") == Completed("done")
        outcome = await ended(runtime, "p0")
        assert not isinstance(outcome, Completed)
        # Whose sub-session a person has cancelled, that session is blocked.
        assert outcome.reason == ("cancelled" if which == "p0" else "blocked")
        assert await ended(runtime, "p0.2.0") == Stopped("cancelled")
        await anyio.sleep(0.1)
        assert runtime.health().sessions.in_memory == 0


async def test_the_outcome_of_one_that_is_left_in_the_store_can_be_waited_for(
    store: MemoryStore,
) -> None:
    jobs = Jobs()
    async with opened(store):
        for at in range(12):
            await put_history(store, f"s{at}", [[Said(1, "go")]])
        await anyio.sleep(20)  # the other's lease is over
        runtime = Runtime(
            store, agents=[agent(jobs.script)], policy=limited(1, 2), clock=LoopClock()
        )
        async with runtime:
            outcomes: list[object] = []

            async def wait(at: int) -> None:
                outcomes.append(await runtime.session(f"s{at}").outcome())

            with anyio.fail_after(60):
                async with anyio.create_task_group() as group:
                    for at in range(12):
                        group.start_soon(wait, at)
            assert outcomes == [Completed("done")] * 12


async def test_one_that_will_not_be_taken_up_here_is_not_waited_for(store: MemoryStore) -> None:
    async with opened(store):
        await put_history(store, "s0", [[Said(1, "go")]])
        async with Runtime(store, agents=[agent(["done"])], adopt=False) as runtime:
            with pytest.raises(SessionOwned):
                await runtime.session("s0").outcome()
