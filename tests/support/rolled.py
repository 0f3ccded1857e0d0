"""Sessions that work on files of a real tree, and are rolled back."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sessions import agent, ended
from work_trees import Told, make, told

from ukemi import Agent, Outcome, Policy, Runtime, SessionHandle
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models.scripted import Script
from ukemi.supervisor.danger.policy import DangerPolicy, DangerRule
from ukemi.tools import delete_file, read_file, shell, write_file

TOOLS: tuple[AnyTool, ...] = (shell, write_file, delete_file, read_file)


FREE = DangerPolicy(rules=(DangerRule(tool="*", then="allow"),))
"""Nobody is asked: what a rollback takes back is not the matter here."""


class Rig:
    """A tree, and a store beside it."""

    def __init__(self, folder: Path, tree: dict[str | bytes, str]) -> None:
        self.tree = folder / "tree"
        self.store = folder / "store.db"
        self.tree.mkdir()
        make(self.tree, tree)

    @property
    def told(self) -> Told:
        return told(self.tree)

    def text(self, path: str) -> str:
        return (self.tree / path).read_text()

    @asynccontextmanager
    async def runtime(self, of: Agent, **options: Any) -> AsyncGenerator[Runtime]:
        options.setdefault("policy", Policy(danger=FREE))
        async with Runtime(self.store, agents=[of], durability="normal", **options) as runtime:
            yield runtime

    async def start(
        self, runtime: Runtime, of: Agent, **options: Any
    ) -> tuple[SessionHandle, Outcome]:
        """Run a session to its end."""
        session = await runtime.start(of.name, "go", working_directory=self.tree, **options)
        return session, await ended(runtime, session.id, 60)


def worker(script: Script, tools: Sequence[AnyTool] = TOOLS) -> Agent:
    """Return an agent that works on files by a script; what it says after that is its answer."""
    return agent(script, tools)
