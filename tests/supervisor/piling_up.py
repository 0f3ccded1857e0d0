"""A program whose tool makes a megabyte of cyclic garbage each step; it prints what stayed of it.

`python piling_up.py BACKEND STEPS` prints a JSON object: by how many bytes the process grew at most, and
how many knots are left. In a process of its own, since a large one's allocator finds room without growing
and keeps what it was given back.
"""

import json
import sys
import weakref

import anyio

from ukemi import Agent, Budget, Runtime, tool
from ukemi.models import Reply, ScriptedModel, call
from ukemi.supervisor.collector import Memory

MIB = 1024 * 1024


class Knot:
    """A megabyte that only the collector can free."""

    def __init__(self) -> None:
        self.ballast = bytearray(MIB)
        self.ballast[::4096] = b"x" * (MIB // 4096)
        self.myself = self


async def main(steps: int) -> None:
    memory = Memory()
    held: list[int] = []
    knots = weakref.WeakSet[Knot]()

    @tool(effect="read")
    async def tie(at: int) -> str:
        """Tie a knot."""
        knots.add(Knot())
        held.append(memory.read())
        return str(at)

    asked = iter(range(steps))

    def say(request: object) -> Reply:
        step = next(asked, None)
        return "done" if step is None else call("tie", at=step)

    agent = Agent("worker", model=ScriptedModel(say), tools=[tie])
    async with Runtime("memory:", agents=[agent]) as runtime:
        handle = await runtime.start("worker", "go", budget=Budget(steps=None))
        await handle.outcome()
    memory.close()
    print(json.dumps({"tied": len(held), "grew": max(held) - held[0], "left": len(knots)}))


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[2]), backend=sys.argv[1])
