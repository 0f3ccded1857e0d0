"""The process that the sweep over staged calls kills: four sessions that edit a tree each and send mail,
all of it staged.

    python staging_child.py FOLDER [--kill POINT:K]

Points of files count while a commit may be under way. A run that ends clean prints how often it came to each.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import anyio
import msgspec
from sweep_child import Killer, KillingStore
from sweep_log import Effect, Log

from ukemi import Agent, ModelRequest, Runtime, Snapshots, Staged, StagedChange, current, tool
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import Reply, ScriptedModel, call
from ukemi.stores.base import Append, Write, Written
from ukemi.stores.records import Resulted, StagedCheck, decode_row

SESSIONS = tuple(f"s-{number}" for number in range(4))
BEFORE = {"a.txt": "one", "old.txt": "old", "keep.txt": "keep"}
AFTER = {"a.txt": "two", "keep.txt": "keep", "d/new.txt": "new", "d/more.txt": "more"}
_FILE_EVENTS = frozenset(("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod"))


class StagingStore(KillingStore):
    """Knows whether a commit may be under way."""

    committing = 0

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        entries = [
            entry
            for write in writes
            if isinstance(write, Append)
            for entry in decode_row(write.body)
        ]
        written = await super().commit(writes)
        self.committing += sum(isinstance(entry, StagedCheck) for entry in entries)
        self.committing -= sum(isinstance(entry, Resulted) for entry in entries)
        return written


def tools(killer: Killer, effects: Log) -> list[AnyTool]:
    def effect(what: str, tag: str, key: str | None = None) -> None:
        context = current()
        n, index = context.call
        effects.write(
            Effect(tag, what, context.session_id, n, index, key, uuid4().hex, os.getpid())
        )

    @tool(staged=True, safe_to_retry=True)
    def edit(forbidden: bool = False) -> str:
        killer.reached("body-entered")
        folder = Path(current().working_directory)
        assert folder.parts[-2:] != ("trees", current().session_id), "it works on the tree itself"
        if forbidden:
            (folder / ".env").write_text("x")
        (folder / "a.txt").write_text("two")
        (folder / "old.txt").unlink(missing_ok=True)
        (folder / "d").mkdir(exist_ok=True)
        (folder / "d/new.txt").write_text("new")
        (folder / "d/more.txt").write_text("more")
        effect("edit", "body")
        killer.reached("body-effected")
        return "edited"

    def deliver(text: str, result: str, key: str | None) -> str:
        assert result == f"draft of {text}"
        killer.reached("mail-entered")
        effect("keyed" if key else "plain", "sent", key)
        killer.reached("mail-effected")
        return f"sent {text}"

    async def deliver_keyed(text: str, result: str, key: str) -> str:
        return deliver(text, result, key)

    def deliver_plain(text: str, result: str) -> str:
        return deliver(text, result, None)

    async def draft(text: str) -> str:
        return f"draft of {text}"

    mails = {"keyed": Staged(deliver_keyed), "plain": Staged(deliver_plain)}
    return [
        edit,
        *(
            tool(name=name, staged=staged, safe_to_retry=True)(draft)
            for name, staged in mails.items()
        ),
    ]


SCRIPT = (
    call("edit", forbidden=True),
    call("edit"),
    call("keyed", text="a"),
    call("plain", text="b"),
    "done",
)


async def script(request: ModelRequest) -> Reply:
    step: int = getattr(request.messages, "assistant_count")  # noqa: B009
    return SCRIPT[step]


async def run(folder: Path, killer: Killer) -> None:
    store = StagingStore(folder / "store.db", "full", killer)
    effects = Log(folder / "effects.log", synced=True)

    def watch(event: str, _: tuple[object, ...]) -> None:
        if event in _FILE_EVENTS and store.committing > 0:
            killer.reached("file")

    def look(change: StagedChange) -> None:
        del change
        killer.reached("check")

    sys.addaudithook(watch)
    agent = Agent(
        "worker", model=ScriptedModel(script), tools=tools(killer, effects), checks=[look]
    )
    async with Runtime(
        store, agents=[agent], snapshots=Snapshots(path=folder / "files.db")
    ) as runtime:
        known = {head.session_id for head in await runtime.sessions(limit=100)}
        for name in SESSIONS:
            if name not in known:
                tree = folder / "trees" / name
                await runtime.start("worker", "go", session_id=name, working_directory=tree)
        for name in SESSIONS:
            with anyio.fail_after(60):
                await runtime.session(name).outcome()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kill", metavar="POINT:K")
    given = parser.parse_args()
    os.environ["TMPDIR"] = str(given.folder)
    killer = Killer(given.kill)
    anyio.run(run, given.folder, killer)
    print(msgspec.json.encode(dict(killer.counts)).decode())


if __name__ == "__main__":
    main()
