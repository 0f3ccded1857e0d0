"""Rolling back: an agent's edits, its shell's too, are taken back together with what it remembers of them.

    python examples/rollback.py

The agent rewrites a module and lets a command delete another. Somebody edits the notes meanwhile. The
session is looked at, rolled back to before the command, and goes on with better advice.
"""

import tempfile
from pathlib import Path

import anyio

from ukemi import Agent, Completed, Policy, Runtime
from ukemi.models import ScriptedModel, call
from ukemi.supervisor.danger.policy import DangerPolicy, DangerRule
from ukemi.tools import shell, write_file

# Nobody is there to be asked whether a file may be deleted; the rollback is the safety net.
POLICY = Policy(danger=DangerPolicy(rules=(DangerRule(tool="shell", then="allow"),)))
SCRIPT = (
    call("write_file", path="app.py", text="print('new')\n"),
    call("shell", command="rm helpers.py; echo cleaned up >> log.txt"),
    "done: and helpers.py was not needed",
)
SECOND = (
    call("write_file", path="app.py", text="print('new')\n"),
    "done: helpers.py is as it was",
)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        await session_on(project_in(folder), Path(folder, "agents.db"))


def project_in(folder: str) -> Path:
    tree = Path(folder, "project")
    tree.mkdir()
    (tree / "app.py").write_text("print('old')\n")
    (tree / "helpers.py").write_text("HELP = 1\n")
    (tree / "notes.txt").write_text("mine\n")
    return tree


async def session_on(tree: Path, store: Path) -> None:
    agent = Agent("builder", model=ScriptedModel(SCRIPT), tools=[write_file, shell])
    async with Runtime(store, agents=[agent], policy=POLICY) as runtime:
        session = await runtime.start("builder", "Modernise this.", working_directory=tree)
        print(await session.outcome())
        (tree / "notes.txt").write_text("mine, edited meanwhile\n")

        preview = await session.rollback(1, dry_run=True)
        print("would take back:", *(f"{each.path} ({each.did})" for each in preview.paths))
        report = await session.rollback(1)
        assert report.clean
        assert (tree / "helpers.py").read_text() == "HELP = 1\n"
        assert (tree / "app.py").read_text() == "print('new')\n"
        assert not (tree / "log.txt").exists()
        assert (tree / "notes.txt").read_text() == "mine, edited meanwhile\n"
        messages = (await session.checkpoint()).messages
        assert "rm helpers.py" not in repr(messages)  # the model does not know of it any more

    # The model's next answers, as a provider would give them.
    agent = Agent("builder", model=ScriptedModel(SECOND), tools=[write_file, shell])
    async with Runtime(store, agents=[agent], policy=POLICY) as runtime:
        session = runtime.session(session.id)
        await session.send("Keep helpers.py, others import it.")
        outcome = await session.outcome()
        assert outcome == Completed("done: helpers.py is as it was")
        print(outcome)


if __name__ == "__main__":
    anyio.run(main)
