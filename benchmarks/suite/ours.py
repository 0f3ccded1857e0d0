"""Ukemi's cells: one workload each, measured in a process of its own."""

import gc
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

import anyio

from ukemi import (
    Agent,
    Budget,
    Completed,
    HandedOver,
    ModelRequest,
    Outcome,
    Runtime,
    SessionHandle,
    tool,
)
from ukemi.models import Reply, ScriptedModel, call
from ukemi.stores import Durability, SqliteStore
from ukemi.supervisor import CollectorCare

from ..cells import Meter, cell_main, rss_bytes
from . import limits
from .kill import Effects, GoingOn, kill_and_resume
from .work import CONTENT, TASK, Peak, Steps, at, name_of, stored, written_bytes

NO_LIMIT = Budget(seconds=None, steps=None)
STARTERS = 1_000
"""Starts that are under way at once: each of them waits until its session is stored."""
HELD_S = 3_600.0
MODULE = "benchmarks.suite.ours"

Effect = Literal["read", "write"]
Seen = Callable[[str], object]


@tool(effect="read")
async def look(at: str) -> str:
    """Look something up."""
    return CONTENT


@tool
async def put(at: str) -> str:
    """Change something."""
    return CONTENT


def agent(tool_name: str, steps: int, *, delay_s: float = 0.0, seen: Seen | None = None) -> Agent:
    """Return an agent that calls one tool in each of its steps; its model tells ``seen`` that it is asked."""
    return Agent("worker", model=worker(tool_name, steps, delay_s, seen), tools=[look, put])


def worker(tool_name: str, steps: int, delay_s: float, seen: Seen | None) -> ScriptedModel:
    def say(request: ModelRequest) -> Reply:
        if seen is not None:
            seen(request.session_id)
        step = getattr(request.messages, "assistant_count", 0)
        return call(tool_name, at=at(request.session_id, step)) if step < steps else "done"

    return ScriptedModel(say, delay_s=delay_s)


async def run_all(runtime: Runtime, sessions: int) -> None:
    """Start all sessions at once, and wait for the ends of all."""
    numbers = iter(range(sessions))
    handles: list[SessionHandle] = []

    async def starter() -> None:
        for number in numbers:
            name = name_of(number)
            handles.append(await runtime.start("worker", TASK, session_id=name, budget=NO_LIMIT))

    async with anyio.create_task_group() as group:
        for _ in range(min(sessions, STARTERS)):
            group.start_soon(starter)
    for handle in handles:
        outcome = await handle.outcome()
        assert isinstance(outcome, Completed), outcome


def durable(
    folder: str, sessions: int, steps: int, durability: Durability, tool_name: str = "look"
) -> dict[str, float]:
    """B1: durable steps of many sessions, from the first start to the last stored end."""

    async def measure() -> dict[str, float]:
        store = SqliteStore(Path(folder) / "store.db", durability=durability)
        async with Runtime(store, agents=[agent(tool_name, steps)]) as runtime:
            meter = Meter()
            await run_all(runtime, sessions)
            return meter.read(sessions * steps)

    return anyio.run(measure)


def body_bytes(folder: str) -> dict[str, float]:
    """How many bytes a step's rows have: the limits store as many."""

    async def measure(name: str) -> list[float]:
        path = Path(folder) / f"{name}.db"
        async with Runtime(path, agents=[agent(name, 20)]) as runtime:
            await run_all(runtime, 1)
        store = SqliteStore(path)
        await store.open()
        rows = (await store.load(name_of(0))).rows
        await store.close()
        # The first row is the start's, the last one the end's.
        per_step = (len(rows) - 2) // 20
        bodies = [len(row.body) for row in rows[1 : 1 + 20 * per_step]]
        return [sum(bodies[place::per_step]) / 20 for place in range(per_step)]

    (read,) = anyio.run(measure, "look")
    intent, result = anyio.run(measure, "put")
    return {"read": read, "intent": intent, "result": result}


def length(folder: str, steps: int, sessions: int) -> dict[str, float]:
    """B2: sessions of one length, one after another."""
    marks = Steps()
    inner = Path(folder) / "store"
    inner.mkdir()

    async def measure() -> dict[str, float]:
        long = agent("look", steps, seen=lambda _: marks.mark())
        store = SqliteStore(inner / "store.db", durability="normal")
        async with Runtime(store, agents=[long]) as runtime:
            meter = Meter()
            for number in range(sessions):
                name = name_of(number)
                handle = await runtime.start("worker", TASK, session_id=name, budget=NO_LIMIT)
                await handle.outcome()
                marks.session_ended()
            return meter.read(sessions * steps)

    async def load() -> float:
        async with Runtime(inner / "store.db", agents=[agent("look", steps)]) as runtime:
            began = time.perf_counter()
            checkpoint = await runtime.session(name_of(0)).checkpoint()
            took = time.perf_counter() - began
            assert len(checkpoint.messages) == 2 * steps + 2, len(checkpoint.messages)
            return took * 1e3

    wrote = written_bytes()
    spent = anyio.run(measure)
    figures = stored(str(inner), sessions, steps, wrote, marks, spent)
    return {**figures, "load_ms": anyio.run(load)}


def wait(
    folder: str, sessions: int, turns: int, seconds: float, collector: CollectorCare = "tuned"
) -> dict[str, float]:
    """B3: each session waits for its model, time after time, with a read in between."""

    async def measure() -> dict[str, float]:
        waiting = agent("look", turns - 1, delay_s=seconds)
        store = SqliteStore(Path(folder) / "store.db", durability="normal")
        async with Runtime(store, agents=[waiting], collector=collector) as runtime:
            peak, meter = Peak(), Meter()
            await run_all(runtime, sessions)
            return {**meter.read(sessions * turns), **peak.read(sessions)}

    return anyio.run(measure)


def hold(folder: str, sessions: int) -> dict[str, float]:
    """B3: what a session holds that waits for its first answer."""

    async def measure() -> dict[str, float]:
        store = SqliteStore(Path(folder) / "store.db", durability="normal")
        async with Runtime(store, agents=[agent("look", 1, delay_s=HELD_S)]) as runtime:
            before = rss_bytes()
            async with anyio.create_task_group() as group:
                numbers = iter(range(sessions))

                async def starter() -> None:
                    for number in numbers:
                        await runtime.start("worker", TASK, session_id=name_of(number))

                for _ in range(STARTERS):
                    group.start_soon(starter)
            await anyio.sleep(0.5)  # the last ones on their way to the model
            gc.collect()
            return {"held_bytes_per_session": (rss_bytes() - before) / sessions}

    return anyio.run(measure)


def _acting_agent(
    folder: str, steps: int, effect: Effect, going_on: GoingOn | None = None
) -> Agent:
    effects = Effects(folder)

    @tool(name="put", effect=effect)
    async def put_outside(at: str) -> str:
        """Change something outside."""
        effects.add(at)
        return CONTENT

    async def say(request: ModelRequest) -> Reply:
        assert going_on is not None
        going_on.seen(request.session_id)
        await going_on.all_seen()
        step = getattr(request.messages, "assistant_count", 0)
        return call("put", at=at(request.session_id, step)) if step < steps else "done"

    model = worker("put", steps, 0.0, None) if going_on is None else ScriptedModel(say)
    return Agent("worker", model=model, tools=[put_outside])


def begin(folder: str, sessions: int, steps: int, effect: Effect = "write") -> dict[str, float]:
    """B4, the process that is killed."""

    async def measure() -> None:
        acting = _acting_agent(folder, steps, effect)
        async with Runtime(Path(folder) / "store.db", agents=[acting]) as runtime:
            await run_all(runtime, sessions)

    anyio.run(measure)
    return {}


def resume(folder: str, sessions: int, steps: int, effect: Effect = "write") -> dict[str, float]:
    """B4, the one that goes on; it measures from opening the store on."""

    async def measure() -> dict[str, float]:
        names = {name_of(number) for number in range(sessions)}
        going_on = GoingOn(set(names))
        ends: list[Outcome] = []
        acting = _acting_agent(folder, steps, effect, going_on)
        async with Runtime(Path(folder) / "store.db", agents=[acting]) as runtime:

            async def ended(name: str) -> None:
                ends.append(await runtime.session(name).outcome())
                going_on.seen(name)

            async with anyio.create_task_group() as group:
                for name in names:
                    group.start_soon(ended, name)
        completed = sum(isinstance(end, Completed) for end in ends)
        doubts = sum(isinstance(end, HandedOver) and end.reason == "in_doubt" for end in ends)
        assert completed + doubts == sessions, ends
        return {**going_on.read(), "completed": float(completed), "in_doubt": float(doubts)}

    return anyio.run(measure)


def killed(
    folder: str, sessions: int, steps: int, kill_at: int, effect: Effect = "write"
) -> dict[str, float]:
    """B4: killed in the middle and gone on with; between, aiosqlite alone reads the same rows."""
    inner = Path(folder) / "store"
    inner.mkdir()
    rows = partial(limits.read_rows, folder, str(inner / "store.db"), sessions)
    given = {"folder": str(inner), "sessions": sessions, "steps": steps, "effect": effect}
    return kill_and_resume(MODULE, given, kill_at, at_kill=rows)


def killed_reading(folder: str, sessions: int, steps: int, kill_at: int) -> dict[str, float]:
    """B4 with a tool that may be repeated, so that no call is in doubt and every session goes on."""
    figures = killed(folder, sessions, steps, kill_at, effect="read")
    assert figures["completed"] == sessions, figures
    del figures["in_doubt"]
    figures["repeated"] = figures.pop("duplicated")
    return figures


def calls(folder: str, sessions: int, steps: int) -> dict[str, float]:
    """B5: what a tool call costs where nothing is stored, the model's turn included."""

    async def measure() -> dict[str, float]:
        async with Runtime("memory:", agents=[agent("look", steps)]) as runtime:
            meter = Meter()
            await run_all(runtime, sessions)
            return meter.read(sessions * steps)

    return anyio.run(measure)


if __name__ == "__main__":
    cell_main(
        {
            "durable": durable,
            "body_bytes": body_bytes,
            "length": length,
            "wait": wait,
            "hold": hold,
            "begin": begin,
            "resume": resume,
            "killed": killed,
            "killed_reading": killed_reading,
            "calls": calls,
        }
    )
