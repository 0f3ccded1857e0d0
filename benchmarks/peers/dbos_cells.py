"""DBOS's cells: an async workflow per session; each model answer and each tool call is a step.

The system database is SQLite; steps are not retried, which is the default. Launching goes on with the
workflows that a dead process has left.
"""
# The library is in an environment of its own, where no type checker looks.
# mypy: disable-error-code="import-not-found, misc, untyped-decorator, no-any-unimported"
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from dbos import DBOS, SetWorkflowID

from ..cells import Meter, cell_main
from ..suite.kill import Effects, GoingOn, kill_and_resume
from ..suite.work import CONTENT, Peak, Steps, at, name_of, sqlite_alike, stored, written_bytes

MODULE = "benchmarks.peers.dbos_cells"

Hook = Callable[[str], object] | None


def open_store(folder: str, durability: str) -> None:
    sqlite_alike(durability)
    DBOS(
        config={
            "name": "bench",
            "system_database_url": f"sqlite:///{Path(folder) / 'store.db'}",
            "run_admin_server": False,
            "log_level": "ERROR",
            # By default it is made of the source; the one of a dead process must be taken up here.
            "application_version": "1",
        }
    )


def workflow(
    *,
    delay_s: float = 0.0,
    asked: Hook = None,
    effect: Hook = None,
    gate: Callable[[], Awaitable[None]] | None = None,
) -> Any:
    """Register and return an agent that calls one tool in each of its steps."""

    @DBOS.step()
    async def model(session: str, step: int, steps: int) -> dict[str, Any]:
        if asked is not None:
            asked(session)
        if gate is not None:
            await gate()
        if delay_s:
            await asyncio.sleep(delay_s)
        if step == steps:
            return {"role": "assistant", "content": "done"}
        call = {"id": f"call-{step}", "name": "look", "arguments": {"at": at(session, step)}}
        return {"role": "assistant", "tool_calls": [call]}

    @DBOS.step()
    async def look(at: str) -> str:
        if effect is not None:
            effect(at)
        return CONTENT

    @DBOS.workflow()
    async def agent(session: str, steps: int) -> int:
        messages: list[dict[str, Any]] = []
        for step in range(steps + 1):
            said = await model(session, step, steps)
            messages.append(said)
            for call in said.get("tool_calls", ()):
                messages.append({"role": "tool", "content": await look(call["arguments"]["at"])})
        return len(messages)

    return agent


async def run(agent: Any, session: str, steps: int) -> None:
    with SetWorkflowID(session):
        handle = await DBOS.start_workflow_async(agent, session, steps)
    assert await handle.get_result() == 2 * steps + 1


async def run_all(agent: Any, sessions: int, steps: int) -> None:
    await asyncio.gather(*(run(agent, name_of(number), steps) for number in range(sessions)))


def launched(measure: Callable[[], Awaitable[dict[str, float]]]) -> dict[str, float]:
    async def measured() -> dict[str, float]:
        DBOS.launch()
        try:
            return await measure()
        finally:
            DBOS.destroy()

    return asyncio.run(measured())


def durable(folder: str, sessions: int, steps: int, durability: str) -> dict[str, float]:
    open_store(folder, durability)
    agent = workflow()

    async def measure() -> dict[str, float]:
        meter = Meter()
        await run_all(agent, sessions, steps)
        return meter.read(sessions * steps)

    return launched(measure)


def length(folder: str, steps: int, sessions: int) -> dict[str, float]:
    marks = Steps()
    inner = Path(folder) / "store"
    inner.mkdir()
    open_store(str(inner), "normal")
    agent = workflow(asked=lambda _: marks.mark())
    load_ms = 0.0

    async def measure() -> dict[str, float]:
        nonlocal load_ms
        meter = Meter()
        for number in range(sessions):
            await run(agent, name_of(number), steps)
            marks.session_ended()
        spent = meter.read(sessions * steps)
        began = time.perf_counter()
        kept = await DBOS.list_workflow_steps_async(name_of(0))
        load_ms = (time.perf_counter() - began) * 1e3
        assert len(kept) == 2 * steps + 1, len(kept)
        return spent

    wrote = written_bytes()
    spent = launched(measure)
    figures = stored(str(inner), sessions, steps, wrote, marks, spent)
    return {**figures, "load_ms": load_ms}


def begin(folder: str, sessions: int, steps: int) -> dict[str, float]:
    open_store(folder, "full")
    agent = workflow(effect=Effects(folder).add)

    async def measure() -> dict[str, float]:
        await run_all(agent, sessions, steps)
        return {}

    return launched(measure)


def resume(folder: str, sessions: int, steps: int) -> dict[str, float]:
    open_store(folder, "full")
    going_on = GoingOn({name_of(number) for number in range(sessions)})
    agent = workflow(asked=going_on.seen, effect=Effects(folder).add, gate=going_on.all_seen)

    async def measure() -> dict[str, float]:
        known = {each.workflow_id for each in await DBOS.list_workflows_async()}

        async def ended(session: str) -> None:
            if session in known:
                handle = await DBOS.retrieve_workflow_async(session)
                assert await handle.get_result() == 2 * steps + 1
            else:  # never stored: begun anew, as its caller would
                await run(agent, session, steps)
            going_on.seen(session)

        await asyncio.gather(*(ended(name_of(number)) for number in range(sessions)))
        return going_on.read()

    return launched(measure)


def killed(folder: str, sessions: int, steps: int, kill_at: int) -> dict[str, float]:
    inner = Path(folder) / "store"
    inner.mkdir()
    given = {"folder": str(inner), "sessions": sessions, "steps": steps}
    return kill_and_resume(MODULE, given, kill_at)


def wait(folder: str, sessions: int, turns: int, seconds: float) -> dict[str, float]:
    open_store(folder, "normal")
    agent = workflow(delay_s=seconds)

    async def measure() -> dict[str, float]:
        peak, meter = Peak(), Meter()
        await run_all(agent, sessions, turns - 1)
        return {**meter.read(sessions * turns), **peak.read(sessions)}

    return launched(measure)


if __name__ == "__main__":
    cell_main(
        {
            "durable": durable,
            "length": length,
            "wait": wait,
            "begin": begin,
            "resume": resume,
            "killed": killed,
        }
    )
