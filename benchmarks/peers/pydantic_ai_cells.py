"""Pydantic AI on DBOS: an agent with the capability DBOSDurability, run in a workflow per session.

The model's answers are steps by themselves; the tool is made one, as its documentation says.
"""
# The library is in an environment of its own, where no type checker looks.
# mypy: disable-error-code="import-not-found, misc, untyped-decorator, no-any-unimported"
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

import asyncio

from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits

from ..cells import Meter, cell_main
from ..suite.work import CONTENT, at, name_of
from .dbos_cells import launched, open_store


def durable(folder: str, sessions: int, steps: int, durability: str) -> dict[str, float]:
    open_store(folder, durability)

    def say(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        session, step = str(messages[0].parts[0].content), len(messages) // 2
        if step == steps:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(
            parts=[ToolCallPart("look", {"at": at(session, step)}, tool_call_id=f"call-{step}")]
        )

    agent = Agent(FunctionModel(say), name="worker", capabilities=[DBOSDurability()])

    @agent.tool_plain
    @DBOS.step()
    async def look(at: str) -> str:
        """Look something up."""
        return CONTENT

    @DBOS.workflow()
    async def work(session: str) -> int:
        found = await agent.run(session, usage_limits=UsageLimits(request_limit=None))
        return len(found.all_messages())

    async def one(session: str) -> None:
        with SetWorkflowID(session):
            handle = await DBOS.start_workflow_async(work, session)
        assert await handle.get_result() == 2 * steps + 2

    async def measure() -> dict[str, float]:
        meter = Meter()
        await asyncio.gather(*(one(name_of(number)) for number in range(sessions)))
        return meter.read(sessions * steps)

    return launched(measure)


if __name__ == "__main__":
    cell_main({"durable": durable})
