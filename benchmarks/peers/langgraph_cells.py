"""LangGraph's cells: a graph of a model and its tools, AsyncSqliteSaver, durability ``sync``.

A checkpoint is stored after each node, so behind each tool message; nodes are not retried.
"""
# The library is in an environment of its own, where no type checker looks.
# mypy: disable-error-code="import-not-found, misc, untyped-decorator, no-any-unimported"
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from ..cells import Meter, cell_main
from ..suite.kill import Effects, GoingOn, kill_and_resume
from ..suite.work import (
    CONTENT,
    TASK,
    Peak,
    Steps,
    at,
    name_of,
    sqlite_alike,
    stored,
    written_bytes,
)

MODULE = "benchmarks.peers.langgraph_cells"
SYNC = {"durability": "sync"}


def graph(
    steps: int,
    *,
    delay_s: float = 0.0,
    asked: Callable[[str], object] | None = None,
    effect: Callable[[str], object] | None = None,
    gate: Callable[[], Awaitable[None]] | None = None,
) -> StateGraph:
    """Return an agent that calls one tool in each of its steps."""

    @tool
    async def look(at: str) -> str:
        """Look something up."""
        if effect is not None:
            effect(at)
        return CONTENT

    async def model(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        session = config["configurable"]["thread_id"]
        if asked is not None:
            asked(session)
        if gate is not None:
            await gate()
        if delay_s:
            await asyncio.sleep(delay_s)
        step = len(state["messages"]) // 2
        if step == steps:
            return {"messages": [AIMessage("done")]}
        call = {"name": "look", "args": {"at": at(session, step)}, "id": f"call-{step}"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    def after_model(state: MessagesState) -> str:
        return "tools" if state["messages"][-1].tool_calls else END

    made = StateGraph(MessagesState)
    made.add_node("model", model)
    made.add_node("tools", ToolNode([look]))
    made.add_edge(START, "model")
    made.add_conditional_edges("model", after_model, ["tools", END])
    made.add_edge("tools", "model")
    return made


async def run(
    compiled: Any, session: str, steps: int, *, given: Any = TASK, **options: Any
) -> None:
    config = {"configurable": {"thread_id": session}, "recursion_limit": 2 * steps + 10}
    messages = None if given is None else {"messages": [("user", given)]}
    found = await compiled.ainvoke(messages, config, **options)
    assert len(found["messages"]) == 2 * steps + 2, len(found["messages"])


async def run_all(compiled: Any, sessions: int, steps: int, **options: Any) -> None:
    names = (name_of(number) for number in range(sessions))
    await asyncio.gather(*(run(compiled, name, steps, **options) for name in names))


def with_store(
    folder: str, made: StateGraph, measure: Callable[[Any, Any], Awaitable[dict[str, float]]]
) -> dict[str, float]:
    async def measured() -> dict[str, float]:
        async with AsyncExitStack() as stack:
            saver = AsyncSqliteSaver.from_conn_string(str(Path(folder) / "store.db"))
            saver = await stack.enter_async_context(saver)
            return await measure(made.compile(checkpointer=saver), saver)

    return asyncio.run(measured())


def durable(folder: str, sessions: int, steps: int, durability: str) -> dict[str, float]:
    sqlite_alike(durability)

    async def measure(compiled: Any, saver: Any) -> dict[str, float]:
        await saver.setup()
        meter = Meter()
        await run_all(compiled, sessions, steps, **SYNC)
        return meter.read(sessions * steps)

    return with_store(folder, graph(steps), measure)


def length(folder: str, steps: int, sessions: int) -> dict[str, float]:
    sqlite_alike("normal")
    marks = Steps()
    inner = Path(folder) / "store"
    inner.mkdir()

    async def measure(compiled: Any, saver: Any) -> dict[str, float]:
        await saver.setup()
        meter = Meter()
        for number in range(sessions):
            await run(compiled, name_of(number), steps, **SYNC)
            marks.session_ended()
        return meter.read(sessions * steps)

    async def load(compiled: Any, _: Any) -> dict[str, float]:
        began = time.perf_counter()
        state = await compiled.aget_state({"configurable": {"thread_id": name_of(0)}})
        took = time.perf_counter() - began
        assert len(state.values["messages"]) == 2 * steps + 2
        return {"load_ms": took * 1e3}

    wrote = written_bytes()
    spent = with_store(str(inner), graph(steps, asked=lambda _: marks.mark()), measure)
    figures = stored(str(inner), sessions, steps, wrote, marks, spent)
    return {**figures, **with_store(str(inner), graph(steps), load)}


def wait(folder: str, sessions: int, turns: int, seconds: float) -> dict[str, float]:
    sqlite_alike("normal")

    async def measure(compiled: Any, saver: Any) -> dict[str, float]:
        await saver.setup()
        peak, meter = Peak(), Meter()
        await run_all(compiled, sessions, turns - 1, **SYNC)
        return {**meter.read(sessions * turns), **peak.read(sessions)}

    return with_store(folder, graph(turns - 1, delay_s=seconds), measure)


def begin(folder: str, sessions: int, steps: int) -> dict[str, float]:
    sqlite_alike("full")
    effects = Effects(folder)

    async def measure(compiled: Any, _: Any) -> dict[str, float]:
        await run_all(compiled, sessions, steps, **SYNC)
        return {}

    return with_store(folder, graph(steps, effect=effects.add), measure)


def resume(folder: str, sessions: int, steps: int) -> dict[str, float]:
    sqlite_alike("full")
    effects = Effects(folder)
    going_on = GoingOn({name_of(number) for number in range(sessions)})

    async def measure(compiled: Any, saver: Any) -> dict[str, float]:
        async with saver.conn.execute("SELECT DISTINCT thread_id FROM checkpoints") as found:
            known = {row[0] for row in await found.fetchall()}

        async def go_on(session: str) -> None:
            # A thread that never had a checkpoint is begun anew, as its caller would.
            given = None if session in known else TASK
            await run(compiled, session, steps, given=given, **SYNC)
            going_on.seen(session)

        await asyncio.gather(*(go_on(name_of(number)) for number in range(sessions)))
        return going_on.read()

    made = graph(steps, asked=going_on.seen, effect=effects.add, gate=going_on.all_seen)
    return with_store(folder, made, measure)


def killed(folder: str, sessions: int, steps: int, kill_at: int) -> dict[str, float]:
    inner = Path(folder) / "store"
    inner.mkdir()
    given = {"folder": str(inner), "sessions": sessions, "steps": steps}
    return kill_and_resume(MODULE, given, kill_at)


def calls(folder: str, sessions: int, steps: int) -> dict[str, float]:
    del folder
    compiled = graph(steps).compile()

    async def measure() -> dict[str, float]:
        meter = Meter()
        await run_all(compiled, sessions, steps)
        return meter.read(sessions * steps)

    return asyncio.run(measure())


if __name__ == "__main__":
    cell_main(
        {
            "durable": durable,
            "length": length,
            "wait": wait,
            "begin": begin,
            "resume": resume,
            "killed": killed,
            "calls": calls,
        }
    )
