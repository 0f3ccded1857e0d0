"""The limit of B5: a loop whose model and tool are async functions that stamina would repeat, and nothing else."""
# The library is in an environment of its own, where no type checker looks.
# mypy: disable-error-code="import-not-found, misc, untyped-decorator, no-any-unimported"
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

import asyncio
from typing import Any

import stamina

from ..cells import Meter, cell_main
from ..suite.work import CONTENT, at, name_of


@stamina.retry(on=ConnectionError, attempts=4)
async def look(at: str) -> str:
    return CONTENT


@stamina.retry(on=ConnectionError, attempts=4)
async def model(session: str, messages: list[dict[str, Any]], steps: int) -> dict[str, Any]:
    step = len(messages) // 2
    if step == steps:
        return {"role": "assistant", "content": "done"}
    call = {"id": f"call-{step}", "name": "look", "arguments": {"at": at(session, step)}}
    return {"role": "assistant", "tool_calls": [call]}


async def run(session: str, steps: int) -> None:
    messages: list[dict[str, Any]] = []
    while (said := await model(session, messages, steps)).get("tool_calls"):
        (call,) = said["tool_calls"]
        result = await look(**call["arguments"])
        messages += [said, {"role": "tool", "tool_call_id": call["id"], "content": result}]
    assert len(messages) == 2 * steps, len(messages)


def calls(folder: str, sessions: int, steps: int) -> dict[str, float]:
    del folder

    async def measure() -> dict[str, float]:
        meter = Meter()
        await asyncio.gather(*(run(name_of(number), steps) for number in range(sessions)))
        return meter.read(sessions * steps)

    return asyncio.run(measure())


if __name__ == "__main__":
    cell_main({"calls": calls})
