"""Cancellation: it passes through, ends everything at once, and is counted nowhere."""

from collections.abc import Awaitable, Callable

import anyio
import pytest
from sessions import agent, assert_paired, ended, journal, opened, requests, results

from ukemi import (
    Agent,
    Completed,
    HandedOver,
    Outcome,
    Policy,
    Runtime,
    SessionHandle,
    Stopped,
    TransientError,
    UkemiError,
    tool,
)
from ukemi.actors.model import ModelRequest
from ukemi.models import Hang, call
from ukemi.models.scripted import Reply, Script
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Resulted, Retried
from ukemi.supervisor.policy_failures import RetryPolicy

# ---------------------------------------------------------------- CA-01


class Work:
    """CA-01's work: it takes 10 s, and the policy repeats nearly everything five times."""

    policy = Policy(transient=RetryPolicy(attempts_max=5, delay_s_first=1.0, delay_s_max=1.0))

    def __init__(self) -> None:
        self.attempts = 0
        self.ended_at: float | None = None

    def agent(self) -> Agent:
        @tool(effect="read")
        async def work() -> str:
            self.attempts += 1
            try:
                await anyio.sleep(10.0)
            finally:
                self.ended_at = anyio.current_time()
            return "done"

        return agent(lambda _: call("work"), [work])


class Caller:
    """Somebody who runs a session and waits for it, and notes what he gets to see."""

    def __init__(self, store: MemoryStore, work: Work) -> None:
        self.store = store
        self.work = work
        self.entered = anyio.Event()
        self.leave = anyio.Event()
        self.saw: BaseException | None = None

    async def run(self) -> None:
        try:
            async with Runtime(
                self.store, agents=[self.work.agent()], policy=self.work.policy
            ) as runtime:
                handle = await runtime.start("agent", "go", session_id="s-1")
                self.entered.set()
                await handle.outcome()
        except BaseException as error:
            self.saw = error
            raise

    async def run_and_shut_down(self) -> None:
        async with Runtime(
            self.store, agents=[self.work.agent()], policy=self.work.policy
        ) as runtime:
            await runtime.start("agent", "go", session_id="s-1")
            self.entered.set()
            await self.leave.wait()


async def cancel_the_group(caller: Caller) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(caller.run)
        await caller.entered.wait()
        await anyio.sleep_until(1.0)
        group.cancel_scope.cancel()


async def outer_timeout(caller: Caller) -> None:
    with pytest.raises(TimeoutError):
        with anyio.fail_after(1.0 - anyio.current_time()):
            await caller.run()


async def shut_down(caller: Caller) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(caller.run_and_shut_down)
        await caller.entered.wait()
        await anyio.sleep_until(1.0)
        caller.leave.set()


VARIANTS: list[Callable[[Caller], Awaitable[None]]] = [cancel_the_group, outer_timeout, shut_down]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda each: each.__name__)
class TestCA01:
    async def test_CA_01_the_work_ends_at_once(
        self, store: MemoryStore, variant: Callable[[Caller], Awaitable[None]]
    ) -> None:
        work = Work()
        await variant(Caller(store, work))
        assert work.ended_at is not None
        assert work.ended_at <= 1.1
        assert anyio.current_time() <= 1.1

    async def test_CA_01_one_attempt_and_no_retry_record(
        self, store: MemoryStore, variant: Callable[[Caller], Awaitable[None]]
    ) -> None:
        work = Work()
        await variant(Caller(store, work))
        await anyio.sleep(30.0)
        assert work.attempts == 1
        async with opened(store):
            entries = await journal(store, "s-1")
        assert not [each for each in entries if isinstance(each, Retried | Resulted)]

    async def test_CA_01_the_caller_sees_the_cancellation_itself(
        self, store: MemoryStore, variant: Callable[[Caller], Awaitable[None]]
    ) -> None:
        caller = Caller(store, Work())
        await variant(caller)
        if variant is not shut_down:
            assert isinstance(caller.saw, anyio.get_cancelled_exc_class())

    async def test_CA_01_the_session_is_unfinished_and_goes_on_in_the_next_runtime(
        self, store: MemoryStore, variant: Callable[[Caller], Awaitable[None]]
    ) -> None:
        work = Work()
        await variant(Caller(store, work))
        async with Runtime(store, agents=[work.agent()], policy=work.policy) as runtime:
            (head,) = await runtime.sessions()
            assert head.status == "running"
            await anyio.sleep(0.5)
            assert work.attempts == 2  # a read may run again


async def test_CA_01_somebody_else_who_waits_learns_of_the_shutdown(store: MemoryStore) -> None:
    """Not a wait for ever, and not a wrapped error of the work."""
    work = Work()
    seen: list[BaseException] = []
    events: list[str] = []

    async def wait(handle: SessionHandle) -> None:
        try:
            await handle.outcome()
        except Exception as error:  # noqa: BLE001 - what it is, is looked at below
            seen.append(error)

    async def listen(handle: SessionHandle) -> None:
        async for event in handle.events():
            events.append(event.event)

    async with anyio.create_task_group() as group:
        group.cancel_scope.deadline = anyio.current_time() + 5.0
        async with Runtime(store, agents=[work.agent()], policy=work.policy) as runtime:
            handle = await runtime.start("agent", "go", session_id="s-1")
            group.start_soon(wait, handle)
            group.start_soon(listen, handle)
            await anyio.sleep(1.0)
    assert anyio.current_time() < 2.0
    assert len(seen) == 1
    assert isinstance(seen[0], UkemiError)
    assert "s-1" in str(seen[0])
    assert "session.started" in events


async def test_CA_01_a_tool_that_cancels_itself_is_a_failure_and_not_a_cancellation(
    store: MemoryStore,
) -> None:
    """A deadline of the tool's own is its own affair; the session hears of it as of any error."""

    @tool(effect="read")
    async def slow() -> str:
        with anyio.fail_after(0.1):
            await anyio.sleep(10.0)
        return "never"

    @tool(effect="read")
    async def flaky() -> str:
        tries.append(anyio.current_time())
        if len(tries) < 3:
            raise TransientError("not yet")
        return "at last"

    tries: list[float] = []
    of = agent([[call("slow"), call("flaky")], "done"], [slow, flaky])
    async with Runtime(store, agents=[of], policy=Work.policy) as runtime:
        handle = await runtime.start("agent", "go")
        outcome = await ended(runtime, handle.id)
        history = (await handle.checkpoint()).tool_history
    assert not isinstance(outcome, Stopped)
    by_tool = {each.tool: each for each in history}
    assert (by_tool["flaky"].state, by_tool["flaky"].attempts) == ("succeeded", 3)
    assert by_tool["slow"].state == "failed"


@pytest.mark.parametrize("hangs_in", ["model", "tool", "retry"])
async def test_CA_01_cancelling_the_session_ends_it_wherever_it_waits(
    store: MemoryStore, hangs_in: str
) -> None:
    @tool(effect="read")
    async def hang() -> str:
        await anyio.sleep_forever()
        return "never"

    @tool(effect="read")
    async def fail() -> str:
        raise TransientError("busy", retry_after=50.0)

    scripts: dict[str, Script] = {
        "model": [Hang()],
        "tool": [call("hang")],
        "retry": [call("fail")],
    }
    of = agent(scripts[hangs_in], [hang, fail])
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go")
        await anyio.sleep(1.0)
        before = anyio.current_time()
        assert await handle.cancel() == Stopped("cancelled")
        assert anyio.current_time() - before <= 0.1
        assert_paired((await runtime.session(handle.id).checkpoint()).messages)


# ---------------------------------------------------------------- CA-03


class Parallel:
    """CA-03: three tools of 1, 2 and 3 seconds side by side, and a model that is counted."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.finished: list[str] = []
        self.asked_at: list[float] = []

    def agent(self) -> Agent:
        @tool(overlap=True)
        async def wait(name: str, seconds: float) -> str:
            self.ran.append(name)
            await anyio.sleep(seconds)
            self.finished.append(name)
            return f"{name} done"

        def script(_: ModelRequest) -> Reply:
            self.asked_at.append(anyio.current_time())
            if len(self.asked_at) == 1:
                return [call("wait", name=f"t{at}", seconds=float(at)) for at in (1, 2, 3)]
            return "went on"

        return agent(script, [wait])


async def ca_03(store: MemoryStore) -> tuple[Parallel, Agent]:
    work = Parallel()
    of = work.agent()
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        await anyio.sleep(1.5)
        assert await handle.cancel() == Stopped("cancelled")
        assert anyio.current_time() < 1.7
        await anyio.sleep(5.0)
        assert work.finished == ["t1"]
        assert "s-1" not in repr(runtime.tree())
        await handle.send("go on")
        assert await ended(runtime, "s-1") == Completed("went on")
    return work, of


async def test_CA_03_no_model_request_until_the_resume(store: MemoryStore) -> None:
    work, _ = await ca_03(store)
    assert len(work.asked_at) == 2
    assert work.asked_at[1] >= 6.5


async def test_CA_03_what_was_there_stays_and_the_others_are_interrupted(
    store: MemoryStore,
) -> None:
    work, of = await ca_03(store)
    first, second, third = results(requests(of)[1].messages)
    assert (first.content, first.is_error) == ("t1 done", False)
    for each in (second, third):
        assert each.is_error
        assert each.content.startswith("interrupted, effect unknown")
    assert sorted(work.ran) == ["t1", "t2", "t3"]


async def test_CA_03_within_the_grace_time_nothing_of_the_session_is_left(
    store: MemoryStore,
) -> None:
    work = Parallel()
    of = work.agent()
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        await anyio.sleep(1.5)
        await handle.cancel()
        await anyio.sleep(1.0)
        assert "s-1" not in repr(runtime.tree())
        assert runtime.threads_running() == ()
        await anyio.sleep(5.0)
    assert work.finished == ["t1"]


async def test_CA_03_the_resumed_request_is_paired(store: MemoryStore) -> None:
    _, of = await ca_03(store)
    assert_paired(requests(of)[1].messages)


async def test_CA_03_cancelling_again_changes_nothing(store: MemoryStore) -> None:
    work = Parallel()
    of = work.agent()
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        await anyio.sleep(1.5)
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(handle.cancel)
        assert await handle.cancel() == Stopped("cancelled")
    async with opened(store):
        entries = await journal(store, "s-1")
    assert len([each for each in entries if isinstance(each, Resulted)]) == 3


async def test_CA_03_cancelling_a_parked_session_several_times_at_once_ends_it_once(
    store: MemoryStore,
) -> None:
    """Each caller would take it over for itself; then the first would find itself fenced out."""
    of = agent([RuntimeError("nobody knows this")])
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        assert isinstance(await ended(runtime, "s-1"), HandedOver)
        outcomes: list[Outcome] = []

        async def cancel() -> None:
            outcomes.append(await handle.cancel())

        with anyio.fail_after(10.0):
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(cancel)
        assert outcomes == [Stopped("cancelled")] * 3


async def test_CA_03_cancelling_a_completed_session_leaves_it_completed(
    store: MemoryStore,
) -> None:
    of = agent(["done", "done again"])
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        assert await ended(runtime, "s-1") == Completed("done")
        with anyio.fail_after(10.0):
            assert await handle.cancel() == Completed("done")
            assert await runtime.session("s-1").outcome() == Completed("done")
        await handle.send("once more")
        assert await ended(runtime, "s-1") == Completed("done again")
