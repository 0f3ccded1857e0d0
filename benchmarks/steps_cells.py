"""What `benchmarks.steps` measures, one cell in a process of its own."""

import asyncio
import time
from pathlib import Path

import anyio

from ukemi import Agent, Budget, Completed, ModelRequest, Runtime, tool
from ukemi.models import Hang, Reply, ScriptedModel, call

from . import limit
from .cells import Meter, cell_main, rss_bytes

CONTENT = "x" * 700
"""What the tool returns; with the model's message in front of it a step's row is 0.9 KB."""

NO_LIMIT = Budget(seconds=None, steps=None)


@tool(effect="read")
async def look(at: str) -> str:
    """Look something up."""
    return CONTENT


@tool
async def put(at: str) -> str:
    """Change something."""
    return CONTENT


def agent(name: str, steps: int) -> Agent:
    """Return an agent that calls one tool in each of its steps."""

    def script(request: ModelRequest) -> Reply:
        step = getattr(request.messages, "assistant_count", 0)
        return call(name, at=f"{request.session_id}/{step}") if step < steps else "done"

    return Agent("worker", model=ScriptedModel(script), tools=[look, put])


async def run_all(runtime: Runtime, sessions: int) -> None:
    async def one(number: int) -> None:
        handle = await runtime.start("worker", "go", session_id=f"s-{number}", budget=NO_LIMIT)
        outcome = await handle.outcome()
        assert isinstance(outcome, Completed), outcome

    async with anyio.create_task_group() as group:
        for number in range(sessions):
            group.start_soon(one, number)


def ukemi(
    folder: str, sessions: int, steps: int, durability: str = "full", name: str = "look"
) -> dict[str, float]:
    """Steps of many sessions at once, from the first start to the last end."""

    async def measure() -> dict[str, float]:
        path = Path(folder) / "store.db"
        agents = [agent(name, steps)]
        async with Runtime(path, agents=agents, durability=durability) as runtime:
            meter = Meter()
            await run_all(runtime, sessions)
            return meter.read(sessions * steps)

    return anyio.run(measure)


def aiosqlite(
    folder: str, sessions: int, steps: int, durability: str, sizes: list[int]
) -> dict[str, float]:
    """The same bytes by group commit alone."""
    return asyncio.run(limit.measure(Path(folder), sessions, steps, durability, sizes))


def length(folder: str, sessions: int, steps: int) -> dict[str, float]:
    """CPU of a step early and late in long sessions, which take their steps side by side."""
    marks: list[tuple[int, float]] = []

    async def measure() -> None:
        path = Path(folder) / "store.db"
        long = agent("look", steps)
        complete = long.model.complete
        asked = 0

        async def counted(request: ModelRequest) -> object:
            nonlocal asked
            if asked % sessions == 0:
                marks.append((asked // sessions, time.process_time()))
            asked += 1
            return await complete(request)

        long.model.complete = counted  # type: ignore[assignment,method-assign]  # pyright: ignore[reportAttributeAccessIssue]
        async with Runtime(path, agents=[long], durability="normal") as runtime:
            await run_all(runtime, sessions)

    anyio.run(measure)
    window = steps // 10

    def cpu_us(first: int) -> float:
        (a, from_s), (b, to_s) = marks[first], marks[first + window]
        return (to_s - from_s) / ((b - a) * sessions) * 1e6

    return {"early": cpu_us(10), "late": cpu_us(steps - window)}


def waiting(folder: str, sessions: int) -> dict[str, float]:
    """Memory of sessions that wait for their model."""

    async def measure() -> dict[str, float]:
        still = Agent("worker", model=ScriptedModel(lambda _: Hang()), tools=[look])
        path = Path(folder) / "store.db"
        async with Runtime(path, agents=[still], durability="normal") as runtime:
            before = rss_bytes()
            for number in range(sessions):
                await runtime.start("worker", "go", session_id=f"s-{number}", budget=NO_LIMIT)
            await anyio.sleep(0.5)  # the last ones on their way to the model
            return {"bytes_per_session": (rss_bytes() - before) / sessions}

    return anyio.run(measure)


def tasks(folder: str, sessions: int) -> dict[str, float]:
    """Memory of bare anyio tasks that wait."""
    del folder

    async def measure() -> dict[str, float]:
        before = held = rss_bytes()
        async with anyio.create_task_group() as group:
            for _ in range(sessions):
                group.start_soon(anyio.sleep_forever)
            await anyio.sleep(0.5)
            held = rss_bytes() - before
            group.cancel_scope.cancel()
        return {"bytes_per_session": held / sessions}

    return anyio.run(measure)


if __name__ == "__main__":
    cell_main(
        {
            "ukemi": ukemi,
            "aiosqlite": aiosqlite,
            "length": length,
            "waiting": waiting,
            "tasks": tasks,
        }
    )
