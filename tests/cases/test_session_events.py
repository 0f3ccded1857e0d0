"""Events: all of them, in order, to everybody who listens; who is too slow is told so."""

from contextlib import aclosing

import anyio
from sessions import PATIENT, agent, ended, run_one

from ukemi import Budget, Completed, HandedOver, Runtime, SessionHandle, Stopped, tool
from ukemi.actors.bus import BUFFER_MAX, RECENT_MAX
from ukemi.actors.end_events import SessionCompleted, SessionHandedOver, SessionStopped
from ukemi.actors.events import (
    CallFinished,
    CallStarted,
    CheckpointStored,
    Event,
    EventsDropped,
    ModelAnswered,
    ModelAsked,
    ModelPiece,
    SessionResumed,
    SessionStarted,
)
from ukemi.models import Hang, Pieces, call
from ukemi.stores.memory import MemoryStore


async def collect(handle: SessionHandle, into: list[Event], pieces: bool = False) -> None:
    """Note every event up to the end; without the pieces of answers where they are not wanted."""
    async with aclosing(handle.events()) as events:
        async for event in events:
            if pieces or not isinstance(event, ModelPiece):
                into.append(event)


async def test_no_event_is_missed_from_the_start(store: MemoryStore) -> None:
    @tool
    async def step() -> str:
        return "ok"

    of = agent([call("step"), call("step"), "done"], [step])
    seen: list[Event] = []
    async with Runtime(store, agents=[of], policy=PATIENT) as runtime:
        handle = await runtime.start("agent", "go")
        await collect(handle, seen)
    assert [type(each) for each in seen] == [
        SessionStarted,
        *[ModelAsked, ModelAnswered, CallStarted, CallFinished, CheckpointStored] * 2,
        ModelAsked,
        ModelAnswered,
        SessionCompleted,
    ]
    assert [each.counter for each in seen if isinstance(each, CheckpointStored)] == [1, 2]


async def test_a_listener_that_comes_at_the_end_still_sees_a_short_session_whole(
    store: MemoryStore,
) -> None:
    of = agent(["done"])
    seen: list[Event] = []
    async with Runtime(store, agents=[of], policy=PATIENT) as runtime:
        handle = await runtime.start("agent", "go")
        await ended(runtime, handle.id)
        await collect(handle, seen)
    assert [type(each) for each in seen] == [
        SessionStarted,
        ModelAsked,
        ModelAnswered,
        SessionCompleted,
    ]


async def test_every_listener_sees_the_same(store: MemoryStore) -> None:
    @tool(effect="read")
    async def step() -> str:
        await anyio.sleep(0.1)
        return "ok"

    of = agent([*[call("step")] * 5, "done"], [step])
    seen: list[list[Event]] = [[] for _ in range(5)]
    async with (
        Runtime(store, agents=[of], policy=PATIENT) as runtime,
        anyio.create_task_group() as group,
    ):
        handle = await runtime.start("agent", "go")
        for each in seen:
            group.start_soon(collect, handle, each)
    assert all(each == seen[0] for each in seen)
    assert len(seen[0]) == 1 + 5 * 5 + 3


async def test_one_that_goes_away_disturbs_nobody(store: MemoryStore) -> None:
    @tool(effect="read")
    async def step() -> str:
        await anyio.sleep(0.1)
        return "ok"

    of = agent([*[call("step")] * 5, "done"], [step])
    stays: list[Event] = []
    async with (
        Runtime(store, agents=[of], policy=PATIENT) as runtime,
        anyio.create_task_group() as group,
    ):
        handle = await runtime.start("agent", "go")
        group.start_soon(collect, handle, stays)
        with anyio.move_on_after(0.25):
            await collect(handle, [])
        async with aclosing(handle.events()) as events:
            assert isinstance(await anext(events), SessionStarted)
        assert await ended(runtime, handle.id) == Completed("done")
    assert isinstance(stays[-1], SessionCompleted)


async def test_a_slow_listener_loses_events_is_told_how_many_and_slows_nobody(
    store: MemoryStore,
) -> None:
    steps = 2_200

    @tool(effect="read")
    async def step() -> str:
        return "ok"

    of = agent(
        lambda request: call("step") if len(request.messages) < 2 * steps else "done", [step]
    )
    seen: list[Event] = []
    fast: list[Event] = []
    async with Runtime(store, agents=[of], policy=PATIENT) as runtime:
        handle = await runtime.start("agent", "go", budget=Budget(steps=None, seconds=None))

        async def slow() -> None:
            async with aclosing(handle.events()) as events:
                async for event in events:
                    seen.append(event)
                    if len(seen) == 1:
                        await runtime_done.wait()

        runtime_done = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(slow)
            group.start_soon(collect, handle, fast, True)
            assert await ended(runtime, handle.id) == Completed("done")
            runtime_done.set()
            group.cancel_scope.deadline = anyio.current_time() + 10.0
    total = len(fast)
    assert total > BUFFER_MAX
    assert not [each for each in fast if isinstance(each, EventsDropped)]
    dropped = [each.count for each in seen if isinstance(each, EventsDropped)]
    assert dropped
    assert len(seen) - len(dropped) + sum(dropped) == total
    # Whoever reads to the end learns how it ended, however slow he was.
    assert isinstance(seen[-1], SessionCompleted)


async def test_a_late_listener_to_a_long_session_gets_the_newest(store: MemoryStore) -> None:
    @tool(effect="read")
    async def step() -> str:
        return "ok"

    of = agent([*[call("step")] * 50, "done"], [step])
    seen: list[Event] = []
    async with Runtime(store, agents=[of], policy=PATIENT) as runtime:
        handle = await runtime.start("agent", "go")
        await ended(runtime, handle.id)
        await collect(handle, seen)
    assert len(seen) <= RECENT_MAX + 1
    assert isinstance(seen[-1], SessionCompleted)
    counters = [each.counter for each in seen if isinstance(each, CheckpointStored)]
    assert counters == list(range(counters[0], 51))


async def test_pieces_are_streamed_to_who_listens(store: MemoryStore) -> None:
    of = agent([Pieces(["one ", "two ", "three"], delay_s=0.5)])
    at: list[tuple[float, str]] = []
    async with Runtime(store, agents=[of], policy=PATIENT) as runtime:
        handle = await runtime.start("agent", "go")
        async for event in handle.events():
            if isinstance(event, ModelPiece):
                at.append((anyio.current_time(), event.text))
        assert await handle.outcome() == Completed("one two three")
    assert at == [(0.5, "one "), (1.0, "two "), (1.5, "three")]


async def test_the_end_of_an_ended_session_in_another_runtime_is_its_only_event(
    store: MemoryStore,
) -> None:
    of = agent(["done"])
    async with Runtime(store, agents=[of], policy=PATIENT) as runtime:
        await run_one(runtime, of, session_id="s-1")
    seen: list[Event] = []
    async with Runtime(store, agents=[of], policy=PATIENT) as runtime:
        await collect(runtime.session("s-1"), seen)
    assert [type(each) for each in seen] == [SessionCompleted]


async def test_each_kind_of_end_is_the_last_event(store: MemoryStore) -> None:
    hanging, failing = agent([Hang()], name="hanging"), agent([KeyError("x")], name="failing")
    async with Runtime(store, agents=[hanging, failing], policy=PATIENT) as runtime:
        stopped: list[Event] = []
        handle = await runtime.start("hanging", "go")
        async with anyio.create_task_group() as group:
            group.start_soon(collect, handle, stopped)
            await anyio.sleep(1.0)
            await handle.cancel()
        handed_over: list[Event] = []
        await collect(await runtime.start("failing", "go"), handed_over)
    assert isinstance(stopped[-1], SessionStopped)
    assert stopped[-1].outcome == Stopped("cancelled")
    assert isinstance(handed_over[-1], SessionHandedOver)
    assert isinstance(handed_over[-1].outcome, HandedOver)


async def test_after_the_end_a_message_begins_a_new_stream(store: MemoryStore) -> None:
    of = agent(["done", "again"], delay_s=0.5)
    async with Runtime(store, agents=[of], policy=PATIENT) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        first: list[Event] = []
        await collect(handle, first)
        await handle.send("once more")
        second: list[Event] = []
        await collect(handle, second)
        assert await handle.outcome() == Completed("again")
    assert isinstance(first[-1], SessionCompleted)
    assert [type(each) for each in second].count(SessionCompleted) == 1
    assert isinstance(second[0], SessionResumed)


async def test_events_of_one_session_do_not_reach_the_listener_of_another(
    store: MemoryStore,
) -> None:
    of = agent(lambda request: f"I am {request.session_id}", delay_s=0.1)
    seen: dict[str, list[Event]] = {f"s-{at}": [] for at in range(20)}
    async with (
        Runtime(store, agents=[of], policy=PATIENT) as runtime,
        anyio.create_task_group() as group,
    ):
        for name, into in seen.items():
            group.start_soon(collect, await runtime.start("agent", "go", session_id=name), into)
    for name, events in seen.items():
        assert {each.session_id for each in events} == {name}
