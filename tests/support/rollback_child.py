"""Processes that a test of rollbacks kills.

    python rollback_child.py

Reads orders, a line of JSON each: a number K, what to do, the folder, the mode, the checkpoint. An order is
done by a process forked for it, which kills itself right before its K-th operation on a file, or
before or after its K-th commit. The answer is a line of JSON: how many operations there were (K = 0
kills at none), or that it was killed.
"""

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import anyio
from rolled import FREE, TOOLS
from sessions import agent
from store_faults import FaultyStore
from workspace_child import Killer, arm, tell

from ukemi import Policy, Runtime, Snapshots
from ukemi.models import call
from ukemi.stores.records import ToolCall
from ukemi.stores.sqlite import SqliteStore

SESSION = "s"
SCRIPT: list[str | ToolCall] = [
    call("shell", command="printf v2 > a; printf v2 > d/b; printf new > n; rm gone"),
    call("shell", command="printf v3 > a; mkdir m; printf x > m/y; ln -s a l"),
    "done",
]
TREE: dict[str | bytes, str] = {"a": "v1", "d/b": "v1", "gone": "v1", "theirs": "v1"}


def runtime_on(folder: Path, killer: Killer | None = None, **options: Any) -> Runtime:
    def reached(_: int, when: str) -> None:
        if killer is not None:
            killer.reached()

    store = FaultyStore(SqliteStore(folder / "store.db", durability="normal"), on_commit=reached)
    return Runtime(
        store,
        agents=[agent(SCRIPT, TOOLS)],
        policy=Policy(danger=FREE),
        snapshots=Snapshots(path=folder / "store.db-files"),
        durability="normal",
        **options,
    )


async def begin(folder: Path) -> None:
    """Run the session to its end."""
    async with runtime_on(folder) as runtime:
        session = await runtime.start(
            "agent", "go", session_id=SESSION, working_directory=folder / "tree"
        )
        await session.outcome()


async def roll(folder: Path, mode: Any, to: int, killer: Killer) -> None:
    async with runtime_on(folder, killer, adopt=False) as runtime:
        killer.armed = True
        await runtime.session(SESSION).rollback(to, mode)
        killer.armed = False


async def unroll(folder: Path, killer: Killer) -> None:
    async with runtime_on(folder, killer, adopt=False) as runtime:
        killer.armed = True
        await runtime.session(SESSION).rollback(undo=True)
        killer.armed = False


async def recover(folder: Path) -> None:
    """Start again, as after any end of a process, and wait until nothing is left to be done."""
    async with runtime_on(folder) as runtime:
        await runtime.session(SESSION).outcome()


def do(what: str, folder: Path, mode: str, to: int, killer: Killer) -> None:
    match what:
        case "begin":
            anyio.run(begin, folder)
        case "roll":
            anyio.run(roll, folder, mode, to, killer)
        case "unroll":
            anyio.run(unroll, folder, killer)
        case _:
            anyio.run(recover, folder)


def main() -> None:
    for line in sys.stdin:
        kill_at, what, folder, mode, to = json.loads(line)
        process = os.fork()
        if process == 0:
            status = 1
            try:
                killer = Killer(kill_at)
                arm(killer)
                do(what, Path(folder), mode, to, killer)
                tell({"count": killer.count})
                status = 0
            finally:
                if status:
                    traceback.print_exc()
                os._exit(status)
        _, status = os.waitpid(process, 0)
        if status:
            tell({"killed": os.WIFSIGNALED(status), "status": status})


if __name__ == "__main__":
    main()
