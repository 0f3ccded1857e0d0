"""Staged calls: an agent's edits are checked before they reach the working directory, its mails before they go.

    python examples/staging.py

The agent breaks a file, tries to write a key into another, and is told why neither was committed; then
it does both properly. Of two mails, the one that names a price nobody has allowed is never sent.
"""

import tempfile
from pathlib import Path

import anyio

from ukemi import Agent, Completed, Runtime, Staged, StagedChange, tool
from ukemi.actors import ChangeDecided
from ukemi.models import ScriptedModel, call
from ukemi.tools import write_file

drafts = dict[int, str]()
sent = dict[str, str]()


async def deliver(result: int, key: str) -> str:
    """Send a draft; the same key never sends a second mail."""
    sent[key] = drafts.pop(result)
    return "sent"


async def throw_away(result: int) -> None:
    """Forget a draft; there may be none any more."""
    drafts.pop(result, None)


@tool(staged=Staged(commit=deliver, abort=throw_away))
async def send_mail(to: str, text: str) -> int:
    """Send a mail."""
    number = max(drafts, default=0) + 1
    drafts[number] = f"{to}: {text}"
    return number


def compiles(change: StagedChange) -> str | None:
    """Let no file through that Python cannot read."""
    for file in change.files:
        if file.path.endswith(".py"):
            try:
                compile(file.after() or b"", file.path, "exec")
            except SyntaxError as error:
                return f"{file.path}, line {error.lineno}: {error.msg}"
    return None


async def no_prices(change: StagedChange) -> str | None:
    """Let no mail through that names a price."""
    text = str(change.arguments.get("text", ""))
    return "a mail must not name prices" if change.tool == "send_mail" and "$" in text else None


SCRIPT = (
    call("write_file", path="app.py", text="def price(:\n"),
    call("write_file", path="conf.py", text="KEY = 'AKIA" + "Q7R2T9W4X1Z8B5N3'\n"),
    call("write_file", path="app.py", text="def price():\n    return 3\n"),
    call("send_mail", to="ann", text="It costs $3."),
    call("send_mail", to="ann", text="It is ready."),
    "Done: app.py is written, and Ann knows.",
)


async def main(folder: Path) -> None:
    tree = folder / "project"
    tree.mkdir()
    agent = Agent(
        "clerk",
        model=ScriptedModel(SCRIPT),
        tools=[write_file.staged(), send_mail],
        checks=[compiles, no_prices],
    )
    async with Runtime(folder / "agents.db", agents=[agent]) as runtime:
        session = await runtime.start("clerk", "Write it, and tell Ann", working_directory=tree)
        async for event in session.events():
            if isinstance(event, ChangeDecided):
                print(f"{event.tool}: {event.verdict}{event.why and f' ({event.why})'}")
        assert isinstance(await session.outcome(), Completed)
    assert [path.name for path in tree.iterdir()] == ["app.py"]
    assert list(sent.values()) == ["ann: It is ready."]
    assert not drafts


with tempfile.TemporaryDirectory() as temporary:
    anyio.run(main, Path(temporary))
