"""AutoGen core's cells: a session is an agent of the single-threaded runtime, which stores nothing.

The agent asks an agent of tools for each call, as AutoGen's own loop does, and waits for its model itself.
"""
# The library is in an environment of its own, where no type checker looks.
# mypy: disable-error-code="import-not-found, misc, untyped-decorator, no-any-unimported"
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

import asyncio
import json
from dataclasses import dataclass

from autogen_core import (
    AgentId,
    FunctionCall,
    MessageContext,
    RoutedAgent,
    SingleThreadedAgentRuntime,
    message_handler,
)
from autogen_core.models import FunctionExecutionResult
from autogen_core.tool_agent import ToolAgent
from autogen_core.tools import FunctionTool

from ..cells import Meter, cell_main
from ..suite.work import CONTENT, Peak, at, name_of


@dataclass
class Task:
    steps: int
    delay_s: float = 0.0


@dataclass
class Answer:
    results: int


async def look(at: str) -> str:
    """Look something up."""
    return CONTENT


class Worker(RoutedAgent):
    def __init__(self) -> None:
        super().__init__("Works.")
        self._results: list[FunctionExecutionResult] = []

    @message_handler
    async def work(self, message: Task, ctx: MessageContext) -> Answer:
        tools = AgentId("tools", "default")
        for step in range(message.steps + 1):
            if message.delay_s:
                await asyncio.sleep(message.delay_s)
            if step < message.steps:
                arguments = json.dumps({"at": at(self.id.key, step)})
                call = FunctionCall(id=f"call-{step}", name="look", arguments=arguments)
                result = await self.send_message(
                    call, tools, cancellation_token=ctx.cancellation_token
                )
                self._results.append(result)
        return Answer(len(self._results))


async def run_all(sessions: int, task: Task) -> None:
    runtime = SingleThreadedAgentRuntime()
    await Worker.register(runtime, "worker", Worker)
    tools = [FunctionTool(look, "Look something up.")]
    await ToolAgent.register(runtime, "tools", lambda: ToolAgent("Tools.", tools))
    runtime.start()

    async def one(session: str) -> None:
        answer = await runtime.send_message(task, AgentId("worker", session))
        assert answer.results == task.steps, answer

    await asyncio.gather(*(one(name_of(number)) for number in range(sessions)))
    await runtime.stop_when_idle()


def wait(folder: str, sessions: int, turns: int, seconds: float) -> dict[str, float]:
    del folder

    async def measure() -> dict[str, float]:
        peak, meter = Peak(), Meter()
        await run_all(sessions, Task(turns - 1, seconds))
        return {**meter.read(sessions * turns), **peak.read(sessions)}

    return asyncio.run(measure())


def calls(folder: str, sessions: int, steps: int) -> dict[str, float]:
    del folder

    async def measure() -> dict[str, float]:
        meter = Meter()
        await run_all(sessions, Task(steps))
        return meter.read(sessions * steps)

    return asyncio.run(measure())


if __name__ == "__main__":
    cell_main({"wait": wait, "calls": calls})
