"""Sub-sessions, shared budgets, and actors that die: who is restarted, who goes on undisturbed."""

import random
from functools import partial
from typing import Any

import anyio
import pytest
from sessions import (
    PATIENT,
    LoopClock,
    agent,
    answers,
    assert_paired,
    ended,
    journal,
    opened,
    requests,
    results,
    run_one,
)
from store_faults import Fault, FaultyStore

from ukemi import (
    Agent,
    Budget,
    Completed,
    HandedOver,
    Policy,
    Runtime,
    Stopped,
    TransientError,
    tool,
)
from ukemi.actors.events import SessionRestarted
from ukemi.actors.model import ModelRequest, NoteMessage
from ukemi.models import Hang, Pieces, ScriptedModel, call
from ukemi.models.scripted import Reply
from ukemi.stores.base import Fenced
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Intended, Resulted
from ukemi.supervisor import Supervisor
from ukemi.supervisor.policy_sessions import RestartPolicy


def supervisor(runtime: Runtime, path: str) -> Supervisor:
    """Return a handle on a supervisor of the runtime's own tree, to break things with."""
    kernel = runtime._core.entered.kernel  # pyright: ignore[reportPrivateUsage]
    return kernel.supervisor(path)


# ---------------------------------------------------------------- sub-sessions


class TestSubSessions:
    def family(self, child_script: Any, *, calls: int = 1, **limits: Any) -> tuple[Agent, Agent]:
        child = agent(child_script, name="child")
        delegate = child.as_tool(**limits)
        asks = [call("child", task=f"task {at}") for at in range(calls)]
        return agent([asks, "final"], [delegate], name="parent"), child

    async def test_its_answer_is_the_result(self, store: MemoryStore) -> None:
        parent, child = self.family(["the child's answer"])
        async with Runtime(store, agents=[parent, child], policy=PATIENT) as runtime:
            assert await run_one(runtime, parent, session_id="p") == Completed("final")
            (head,) = await runtime.sessions(parent="p")
        assert (head.session_id, head.status, head.facts.agent) == ("p.2.0", "completed", "child")
        assert [each.content for each in results(requests(parent)[1].messages)] == [
            "the child's answer"
        ]

    async def test_one_that_does_not_complete_is_told_as_a_refusal(
        self, store: MemoryStore
    ) -> None:
        parent, child = self.family([KeyError("boom")])
        async with Runtime(store, agents=[parent, child], policy=PATIENT) as runtime:
            outcome = await run_one(runtime, parent, session_id="p")
        assert isinstance(outcome, HandedOver)
        (result,) = results(requests(parent)[1].messages)
        assert result.is_error
        assert "child did not complete the task" in result.content

    async def test_it_is_cancelled_with_its_parent(self, store: MemoryStore) -> None:
        parent, child = self.family([Hang()], calls=3)
        async with Runtime(store, agents=[parent, child], policy=PATIENT) as runtime:
            handle = await runtime.start("parent", "go", session_id="p")
            await anyio.sleep(1.0)
            assert len(await runtime.sessions(parent="p")) == 3
            assert await handle.cancel() == Stopped("cancelled")
            for at in range(3):
                assert await ended(runtime, f"p.2.{at}", 1.0) == Stopped("cancelled")
            assert "'p" not in repr(runtime.tree())
            assert_paired((await handle.checkpoint()).messages)

    async def test_a_grandchild_is_cancelled_with_the_root(self, store: MemoryStore) -> None:
        leaf = agent([Hang()], name="leaf")
        middle = agent([call("leaf", task="t")], [leaf.as_tool()], name="middle")
        root = agent([call("middle", task="t")], [middle.as_tool()], name="root")
        async with Runtime(store, agents=[root, middle, leaf], policy=PATIENT) as runtime:
            handle = await runtime.start("root", "go", session_id="r")
            await anyio.sleep(1.0)
            await handle.cancel()
            for name in ("r.2.0", "r.2.0.2.0"):
                assert await ended(runtime, name, 1.0) == Stopped("cancelled")

    async def test_its_time_is_the_parent_s_too(self, store: MemoryStore) -> None:
        parent, child = self.family([Hang()], budget=Budget(seconds=3600.0))
        async with Runtime(store, agents=[parent, child], policy=PATIENT) as runtime:
            began = anyio.current_time()
            outcome = await run_one(runtime, parent, budget=Budget(seconds=5.0), session_id="p")
            assert anyio.current_time() - began <= 5.1
            await ended(runtime, "p.2.0", 1.0)
        assert isinstance(outcome, HandedOver)
        assert outcome.reason == "budget"
        assert "seconds of session p" in outcome.detail

    async def test_its_own_shorter_time_ends_it_alone(self, store: MemoryStore) -> None:
        parent, child = self.family([Hang()], budget=Budget(seconds=2.0))
        async with Runtime(store, agents=[parent, child], policy=PATIENT) as runtime:
            await run_one(runtime, parent, budget=Budget(seconds=60.0), session_id="p")
            assert anyio.current_time() <= 2.1
            outcome = await ended(runtime, "p.2.0")
        assert isinstance(outcome, HandedOver)
        assert "seconds of session p.2.0" in outcome.detail

    async def test_a_time_that_runs_out_counts_up_to_its_end(self, store: MemoryStore) -> None:
        parent, child = self.family([Hang()], budget=Budget(seconds=2.0))
        async with Runtime(store, agents=[parent, child], policy=PATIENT) as runtime:
            await run_one(runtime, parent, session_id="p")
            outcome = await ended(runtime, "p.2.0")
        assert isinstance(outcome, HandedOver)
        assert "2 of 2" in outcome.detail

    @pytest.mark.parametrize("others", [0, 150], ids=["alone", "among many"])
    async def test_after_a_kill_the_same_sub_session_goes_on(
        self, store: MemoryStore, others: int
    ) -> None:
        """Its own steps are not taken again, and no second one is started beside it."""
        ran: list[int] = []

        @tool
        async def effect(number: int) -> str:
            ran.append(number)
            await anyio.sleep(1.0)
            return "ok"

        def says(request: ModelRequest) -> Reply:
            done = answers(request)
            return call("effect", number=done) if done < 4 else "child done"

        child = agent(says, [effect], name="child")
        parent = agent([call("child", task="t"), "final"], [child.as_tool()], name="parent")
        other = agent(["x"], name="other")
        agents = [parent, child, other]
        with anyio.move_on_after(2.5):
            async with Runtime(store, agents=agents, policy=PATIENT) as runtime:
                await runtime.start("parent", "go", session_id="p")
                await anyio.sleep_forever()
        async with Runtime(store, agents=agents, policy=PATIENT, adopt=False) as runtime:
            for at in range(others):
                await run_one(runtime, other, session_id=f"o-{at}")
        async with Runtime(store, agents=agents, policy=PATIENT) as runtime:
            first = await ended(runtime, "p")
            # The call that was cut off is in doubt in the child; a person lets it go on.
            assert isinstance(first, HandedOver)
            inner = await ended(runtime, "p.2.0")
            assert isinstance(inner, HandedOver)
            assert inner.reason == "in_doubt"
            heads = await runtime.sessions(parent="p")
        assert [head.session_id for head in heads] == ["p.2.0"]
        assert ran == [0, 1, 2]

    async def test_after_a_kill_a_safe_sub_session_completes_and_so_does_its_parent(
        self, store: MemoryStore
    ) -> None:
        ran: list[int] = []

        @tool(effect="read")
        async def look(number: int) -> str:
            ran.append(number)
            await anyio.sleep(1.0)
            return "ok"

        def says(request: ModelRequest) -> Reply:
            done = answers(request)
            return call("look", number=done) if done < 4 else "child done"

        child = agent(says, [look], name="child")
        parent = agent([call("child", task="t"), "final"], [child.as_tool()], name="parent")
        with anyio.move_on_after(2.5):
            async with Runtime(store, agents=[parent, child], policy=PATIENT) as runtime:
                await runtime.start("parent", "go", session_id="p")
                await anyio.sleep_forever()
        async with Runtime(store, agents=[parent, child], policy=PATIENT) as runtime:
            assert await ended(runtime, "p") == Completed("final")
        assert ran == [0, 1, 2, 2, 3]
        assert results(requests(parent)[-1].messages)[0].content == "child done"

    async def test_a_sub_session_that_ended_before_the_kill_is_not_run_again(
        self, store: MemoryStore
    ) -> None:
        """Its answer is found, although its parent died before it could write it down."""
        child = agent(["the answer"], name="child")
        parent = agent([call("child", task="t"), "final"], [child.as_tool()], name="parent")
        faulty = FaultyStore(store)
        clock = LoopClock()
        with anyio.move_on_after(1.0):
            async with Runtime(
                faulty, agents=[parent, child], policy=PATIENT, clock=clock
            ) as runtime:
                faulty.on_commit = partial(hang_at_parent_result, faulty)
                await runtime.start("parent", "go", session_id="p")
                await anyio.sleep_forever()
        await anyio.sleep(10.0)
        async with Runtime(store, agents=[parent, child], policy=PATIENT, clock=clock) as runtime:
            assert await ended(runtime, "p") == Completed("final")
        assert len(requests(child)) == 1

    async def test_a_parent_started_by_hand_bounds_its_children_too(
        self, store: MemoryStore
    ) -> None:
        root = agent([Hang()], name="root")
        leaf = agent(lambda _: call("missing"), name="leaf")
        async with Runtime(store, agents=[root, leaf], policy=PATIENT) as runtime:
            await runtime.start("root", "go", session_id="r", budget=Budget(model_calls=3))
            await anyio.sleep(0.1)
            await runtime.start("leaf", "go", session_id="l", parent="r")
            outcome = await ended(runtime, "l")
        assert isinstance(outcome, HandedOver)
        assert outcome.reason == "budget"
        assert "model_calls of session r" in outcome.detail


def hang_at_parent_result(faulty: FaultyStore, number: int, when: str) -> None:
    """Hold back every commit once the child has ended."""
    assert isinstance(faulty.inner, MemoryStore)
    child = faulty.inner._data.sessions.get("p.2.0")  # pyright: ignore[reportPrivateUsage]
    if when == "before" and child is not None and child.place.status == "completed":
        faulty.plan.append(Fault(at=number, hang=True, always=True))


# ---------------------------------------------------------------- budgets shared and told


@pytest.mark.parametrize("kind", ["group", "tenant"])
async def test_a_group_or_tenant_is_one_account(store: MemoryStore, kind: str) -> None:
    looping = agent(lambda _: call("nothing"), [nothing()], name="loop")
    shared: dict[str, Any] = {f"{kind}s": {"a": Budget(model_calls=10, seconds=None)}}
    async with Runtime(store, agents=[looping], policy=PATIENT, **shared) as runtime:
        options: dict[str, Any] = {kind: "a"}
        handles = [await runtime.start("loop", "go", **options) for _ in range(3)]
        other = await runtime.start("loop", "go", budget=Budget(model_calls=20))
        outcomes = [await ended(runtime, each.id) for each in handles]
        last = await ended(runtime, other.id)
        used = [head.facts.spent.model_calls for head in await runtime.sessions()]
    assert all(isinstance(each, HandedOver) for each in outcomes)
    for each in outcomes:
        assert isinstance(each, HandedOver)
        assert f"model_calls of {kind} a: 10 of 10" in each.detail
    assert isinstance(last, HandedOver)
    assert "model_calls of session" in last.detail
    assert max(used) == 20
    assert sum(used) == 30
    # A restart does not refill it.
    async with Runtime(store, agents=[looping], policy=PATIENT, **shared) as runtime:
        handle = await runtime.start("loop", "go", **options)
        again = await ended(runtime, handle.id)
        head = next(each for each in await runtime.sessions() if each.session_id == handle.id)
    assert isinstance(again, HandedOver)
    assert head.facts.spent.model_calls == 0


def nothing() -> Any:
    @tool(effect="read", name="nothing")
    async def nothing_() -> str:
        return "nothing"

    return nothing_


async def test_the_soft_share_is_told_to_the_model_once(store: MemoryStore) -> None:
    def says(request: ModelRequest) -> Reply:
        if any(isinstance(each, NoteMessage) for each in request.messages):
            told.append(answers(request))
        return call("nothing") if answers(request) < 9 else "done"

    told: list[int] = []
    of = agent(says, [nothing()])
    async with Runtime(store, agents=[of], policy=PATIENT) as runtime:
        assert await run_one(runtime, of, budget=Budget(steps=10)) == Completed("done")
    notes = [each for each in requests(of)[-1].messages if isinstance(each, NoteMessage)]
    assert len(notes) == 1
    assert "steps" in notes[0].text and "8 of 10" in notes[0].text
    assert told[0] == 8


# ---------------------------------------------------------------- actors that die


class BrokenSource(random.Random):
    """A source of chance that raises when it is told to, once."""

    broken = False

    def random(self) -> float:
        if self.broken:
            self.broken = False
            raise RuntimeError("broken")
        return 0.5


class Dying:
    """A model whose actor, not whose request, is killed: by the test, or by a fault of ours."""

    def __init__(self, times: int) -> None:
        self.source = BrokenSource()
        self.left = times
        self.asked = 0

    def agent(self, name: str = "dying") -> Agent:
        return Agent(name, model=ScriptedModel(self.says), tools=[nothing()])

    def says(self, request: ModelRequest) -> Reply:
        self.asked += 1
        if answers(request) == 0:
            return call("nothing")
        if self.left:
            self.left -= 1
            # The model fails in passing, and what draws the wait before the next attempt is broken:
            # a fault of the session's own code, not of the request.
            self.source.broken = True
            return TransientError("busy")
        return "survived"


def steady(steps: int = 50) -> Agent:
    @tool(effect="read")
    async def tick() -> str:
        await anyio.sleep(0.1)
        return "tick"

    def says(request: ModelRequest) -> Reply:
        return call("tick") if answers(request) < steps else "steady"

    return agent(says, [tick], name="steady")


async def test_a_session_actor_that_crashes_is_restarted_and_goes_on(store: MemoryStore) -> None:
    dying, others = Dying(times=2), steady()
    events: list[object] = []
    async with Runtime(
        store, agents=[dying.agent(), others], policy=PATIENT, random_source=dying.source
    ) as runtime:
        await runtime.start("steady", "go", session_id="other")
        handle = await runtime.start("dying", "go", session_id="d")

        async def listen() -> None:
            async for event in handle.events():
                events.append(event)

        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            assert await ended(runtime, "d") == Completed("survived")
        assert await ended(runtime, "other") == Completed("steady")
    assert len([each for each in events if isinstance(each, SessionRestarted)]) == 2
    assert dying.asked == 4


async def test_over_its_intensity_it_is_handed_over_while_others_go_on(store: MemoryStore) -> None:
    dying, others = Dying(times=1000), steady()
    policy = Policy(restarts=RestartPolicy(intensity=3, period_s=60.0), planning=PATIENT.planning)
    async with Runtime(
        store, agents=[dying.agent(), others], policy=policy, random_source=dying.source
    ) as runtime:
        await runtime.start("steady", "go", session_id="other")
        await runtime.start("dying", "go", session_id="d")
        outcome = await ended(runtime, "d")
        (head,) = [each for each in await runtime.sessions() if each.session_id == "d"]
        assert await ended(runtime, "other") == Completed("steady")
        (other,) = [each for each in await runtime.sessions() if each.session_id == "other"]
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "restarts"
    assert head.status == "handed_over"
    assert (head.facts.reason, head.owner) == ("restarts", None)
    assert dying.asked == 1 + 4
    assert other.epoch == 1
    # A person mends the fault and sends a message: it goes on as any other.
    dying.left = 0
    async with Runtime(
        store, agents=[dying.agent(), others], policy=PATIENT, random_source=dying.source
    ) as runtime:
        await runtime.session("d").send("mended, go on")
        assert await ended(runtime, "d") == Completed("survived")


async def test_a_crash_while_a_write_runs_leaves_the_write_in_doubt(store: MemoryStore) -> None:
    """The actor is killed with the body under way: what the body did is not known."""
    ran: list[float] = []

    @tool
    async def effect() -> str:
        ran.append(anyio.current_time())
        await anyio.sleep(5.0)
        return "done"

    of = agent([call("effect"), "finished"], [effect])
    async with Runtime(store, agents=[of], policy=PATIENT) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        await anyio.sleep(1.0)
        supervisor(runtime, "sessions").kill_child("s-1", "by the test")
        outcome = await ended(runtime, "s-1")
        assert isinstance(outcome, HandedOver)
        assert outcome.reason == "in_doubt"
        (doubt,) = (await runtime.session("s-1").inspect()).in_doubt
        assert doubt.tool == "effect"
        await runtime.session("s-1").send("go on")
        assert await ended(runtime, "s-1") == Completed("finished")
    assert len(ran) == 1
    async with opened(store):
        entries = await journal(store, "s-1")
    assert sum(isinstance(each, Intended) for each in entries) == 1
    assert sum(isinstance(each, Resulted) for each in entries) == 1


@pytest.mark.parametrize("victim", ["checkpoint", "budget", "timers"])
async def test_when_a_service_dies_everything_behind_it_resumes(
    store: MemoryStore, victim: str
) -> None:
    """rest_for_one: sessions go on from what is stored, and nothing is done twice or lost."""
    ran: dict[str, list[int]] = {}

    @tool(effect="read")
    async def look(number: int, who: str) -> str:
        ran.setdefault(who, []).append(number)
        await anyio.sleep(0.5)
        return "ok"

    def says(request: ModelRequest) -> Reply:
        done = answers(request)
        return call("look", number=done, who=request.session_id) if done < 10 else "done"

    of = agent(says, [look])
    async with Runtime(store, agents=[of], policy=PATIENT, clock=LoopClock()) as runtime:
        for at in range(20):
            await runtime.start("agent", "go", session_id=f"s-{at}")
        for _ in range(2):
            await anyio.sleep(1.3)
            supervisor(runtime, "").kill_child(victim, "by the test")
        for at in range(20):
            assert await ended(runtime, f"s-{at}", 60.0) == Completed("done")
            checkpoint = await runtime.session(f"s-{at}").checkpoint()
            assert checkpoint.checkpoint_counter == 10
            assert_paired(checkpoint.messages)
        # The runtime is as good as new: more sessions can be started.
        assert await run_one(runtime, of, session_id="later") == Completed("done")
    for who, numbers in ran.items():
        assert sorted(set(numbers)) == list(range(10)), who
        assert len(numbers) <= 12, who


async def test_writes_survive_the_death_of_the_checkpoint_actor_without_running_again(
    store: MemoryStore,
) -> None:
    ran: list[int] = []

    @tool
    async def effect(number: int) -> str:
        ran.append(number)
        return "ok"

    def says(request: ModelRequest) -> Reply:
        done = answers(request)
        return call("effect", number=done) if done < 10 else "done"

    of = agent(says, [effect], delay_s=0.1)
    async with Runtime(store, agents=[of], policy=PATIENT) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        for at in (0.25, 0.3, 0.4):
            await anyio.sleep(at)
            supervisor(runtime, "").kill_child("checkpoint", "by the test")
        assert await ended(runtime, "s-1", 60.0) == Completed("done")
    assert ran == list(range(10))


@pytest.mark.parametrize("at", range(2, 12))
async def test_the_checkpoint_actor_dies_in_its_kth_commit(store: MemoryStore, at: int) -> None:
    """Whether the row arrived or not: it is acknowledged once, and no effect is repeated."""
    ran: list[int] = []

    @tool
    async def effect(number: int) -> str:
        ran.append(number)
        return "ok"

    def says(request: ModelRequest) -> Reply:
        done = answers(request)
        return call("effect", number=done) if done < 4 else "done"

    of = agent(says, [effect])
    faulty = FaultyStore(store)
    killed: list[str] = []
    async with Runtime(faulty, agents=[of], policy=PATIENT) as runtime:

        def kill(number: int, when: str) -> None:
            if number == at + base and when == moment and not killed:
                killed.append(when)
                supervisor(runtime, "").kill_child("checkpoint", "by the test")

        base = faulty.commits
        for moment in ("before", "after"):
            killed.clear()
            base, faulty.on_commit = faulty.commits, kill
            ran.clear()
            await runtime.start("agent", "go", session_id=f"s-{moment}")
            assert await ended(runtime, f"s-{moment}", 60.0) == Completed("done")
            assert ran == list(range(4))
            checkpoint = await runtime.session(f"s-{moment}").checkpoint()
            assert checkpoint.checkpoint_counter == 4


# ---------------------------------------------------------------- taken over by another


@pytest.mark.parametrize(
    "where", ["model", "planning", "read", "write", "parallel", "waiting", "to wait"]
)
async def test_a_session_taken_over_stops_before_its_next_request_or_body(
    store: MemoryStore, where: str
) -> None:
    """Fenced: whatever it was doing, nothing of it happens here any more, and callers are told."""
    after: list[str] = []
    scripts: dict[str, Any] = {
        "model": [Pieces(["late"], delay_s=20.0), "x"],
        "planning": [Pieces([""], calls=[call("write")], delay_s=20.0), "x"],
        "read": [call("read"), call("read"), "x"],
        "write": [call("write"), call("write"), "x"],
        "parallel": [[call("read"), call("both"), call("both")], call("read"), "x"],
        "waiting": [TransientError("busy", retry_after=20.0), "x"],
        "to wait": [call("busy"), "x"],
    }
    taken = False

    def body(name: str, **marks: Any) -> Any:
        async def run() -> str:
            if taken:
                after.append(name)
            await anyio.sleep(30.0)
            return name

        return tool(name=name, **marks)(run)

    @tool(effect="read")
    async def busy() -> str:
        if taken:
            after.append("busy")
        raise TransientError("busy", retry_after=20.0)

    tools = [body("read", effect="read"), body("write"), body("both", overlap=True), busy]
    of = agent(scripts[where], tools)
    clock = LoopClock()
    faulty = FaultyStore(store)
    async with Runtime(faulty, agents=[of], policy=PATIENT, clock=clock, lease_s=10.0) as first:
        handle = await first.start("agent", "go", session_id="s-1")
        await anyio.sleep(1.0)
        before = len(requests(of))
        # Its process stands still, as far as the store can tell: no lease is renewed.
        faulty.plan.append(Fault(at=faulty.commits + 1, hang=True, always=True, error=None))
        await anyio.sleep(15.0)
        thief = agent(lambda _: Hang(), tools)
        async with Runtime(store, agents=[thief], policy=PATIENT, clock=clock) as second:
            await anyio.sleep(1.0)
            (head,) = await second.sessions()
            assert head.epoch == 2
            taken = True
            faulty.plan.clear()
            faulty.release()
            with anyio.fail_after(60.0), pytest.raises(Fenced, match="s-1"):
                await handle.outcome()
            assert len(requests(of)) == before
            assert after == []
            (head,) = await second.sessions()
            assert head.epoch == 2
