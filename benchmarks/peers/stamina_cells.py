"""The limit of B5: an async function that stamina would repeat, and nothing else."""
# The library is in an environment of its own, where no type checker looks.
# mypy: disable-error-code="import-not-found, misc, untyped-decorator, no-any-unimported"
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

import asyncio

import stamina

from ..cells import Meter, cell_main
from ..suite.work import CONTENT, at, name_of


@stamina.retry(on=ConnectionError, attempts=4)
async def look(at: str) -> str:
    return CONTENT


def calls(folder: str, sessions: int, steps: int) -> dict[str, float]:
    """Call it so often in each of so many sessions."""
    del folder

    async def session(name: str) -> None:
        for step in range(steps):
            await look(at(name, step))

    async def measure() -> dict[str, float]:
        meter = Meter()
        await asyncio.gather(*(session(name_of(number)) for number in range(sessions)))
        return meter.read(sessions * steps)

    return asyncio.run(measure())


if __name__ == "__main__":
    cell_main({"calls": calls})
