"""The OpenAI Agents SDK's cells: an agent with one tool, its SQLiteSession, tracing off.

The session stores a turn's items behind it. There is no cell of B3 and B4: the SDK does not go on with
a run by itself.
"""
# The library is in an environment of its own, where no type checker looks.
# mypy: disable-error-code="import-not-found, misc, untyped-decorator, no-any-unimported"
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

import asyncio
import itertools
from pathlib import Path
from typing import Any

from agents import (
    Agent,
    Model,
    ModelResponse,
    Runner,
    SQLiteSession,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from ..cells import Meter, cell_main
from ..suite.work import CONTENT, TASK, at, name_of, sqlite_alike

set_tracing_disabled(True)


@function_tool
async def look(at: str) -> str:
    """Look something up."""
    return CONTENT


class Scripted(Model):
    """Calls the tool so many times, then says that it is done. One for each session."""

    def __init__(self, session: str, steps: int) -> None:
        self._session, self._steps = session, steps
        self._count = itertools.count()

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        step = next(self._count)
        if step < self._steps:
            arguments = f'{{"at": "{at(self._session, step)}"}}'
            output: Any = ResponseFunctionToolCall(
                arguments=arguments, call_id=f"call-{step}", name="look", type="function_call"
            )
        else:
            text = ResponseOutputText(text="done", type="output_text", annotations=[], logprobs=[])
            output = ResponseOutputMessage(
                id="m", role="assistant", status="completed", type="message", content=[text]
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


async def run(name: str, steps: int, session: SQLiteSession | None) -> None:
    agent = Agent(name="worker", model=Scripted(name, steps), tools=[look])
    found = await Runner.run(agent, TASK, session=session, max_turns=steps + 2)
    assert found.final_output == "done"
    assert len(found.new_items) == 2 * steps + 1, len(found.new_items)


def durable(folder: str, sessions: int, steps: int, durability: str) -> dict[str, float]:
    sqlite_alike(durability)
    path = Path(folder) / "store.db"

    async def one(name: str) -> None:
        session = SQLiteSession(name, path)
        await run(name, steps, session)
        session.close()

    async def measure() -> dict[str, float]:
        meter = Meter()
        await asyncio.gather(*(one(name_of(number)) for number in range(sessions)))
        return meter.read(sessions * steps)

    return asyncio.run(measure())


def calls(folder: str, sessions: int, steps: int) -> dict[str, float]:
    del folder

    async def measure() -> dict[str, float]:
        meter = Meter()
        await asyncio.gather(*(run(name_of(n), steps, None) for n in range(sessions)))
        return meter.read(sessions * steps)

    return asyncio.run(measure())


if __name__ == "__main__":
    cell_main({"durable": durable, "calls": calls})
