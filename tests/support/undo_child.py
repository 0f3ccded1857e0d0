"""The process that the sweep over compensations kills: six sessions that book five things each, fail, and
undo it all.

    python undo_child.py FOLDER --server PORT [--kill POINT:K]

Points count from the first unwinding on. A run that ends clean prints how often it came to each.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import msgspec
from sweep_child import Killer, KillingStore
from sweep_log import Effect
from sweep_server import Connection

from ukemi import Agent, BusinessRejected, ModelRequest, Runtime, current, tool
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import Reply, ScriptedModel, call
from ukemi.stores.base import Append, Write, Written
from ukemi.stores.records import Unwinding, decode_row

SESSIONS = tuple(f"u-{number}" for number in range(6))
KINDS = ("plain", "keyed", "safe", "plain_blocking", "keyed_blocking")
"""How a compensation may be repeated, and where it runs; a tool is called as its compensation is."""


def order_of(session_id: str) -> tuple[str, ...]:
    """Return what a session books, in order."""
    first = SESSIONS.index(session_id) % len(KINDS)
    return (*KINDS[first:], *KINDS[:first])


class UndoKiller(Killer):
    """Counts from the first unwinding on."""

    armed = False

    def due(self, point: str) -> bool:
        return self.armed and super().due(point)


class UndoStore(KillingStore):
    """Tells the killer when the first session begins to undo what it did."""

    def __init__(self, path: Path, killer: UndoKiller) -> None:
        super().__init__(path, "full", killer)
        self._armed_by = killer

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        for write in writes if not self._armed_by.armed else ():
            if isinstance(write, Append):
                entries = decode_row(write.body)
                self._armed_by.armed |= any(isinstance(each, Unwinding) for each in entries)
        return await super().commit(writes)


def tools(killer: Killer, effects: Connection) -> list[AnyTool]:
    """Return a tool of each kind; booking is safe to repeat, so that no doubt freezes anything."""

    def undo(what: str, result: str, key: str | None = None) -> str:
        context = current()
        assert context.undo and result == f"{what} is booked"
        killer.reached("undo-entered")
        n, index = context.call
        effect = Effect(what, what, context.session_id, n, index, key, uuid4().hex, os.getpid())
        effects.book(effect, kill=killer.due("undo-booked"))
        killer.reached("undo-effected")
        return f"{what} is cancelled"

    async def plain(what: str, result: str) -> str:
        return undo(what, result)

    async def keyed(what: str, result: str, *, key: str) -> str:
        return undo(what, result, key)

    def plain_blocking(what: str, result: str) -> str:
        return undo(what, result)

    def keyed_blocking(what: str, result: str, *, key: str) -> str:
        return undo(what, result, key)

    compensations: dict[str, Any] = {
        "plain": plain,
        "keyed": keyed,
        "safe": tool(name="undo_safe", safe_to_retry=True)(plain),
        "plain_blocking": plain_blocking,
        "keyed_blocking": keyed_blocking,
    }

    async def book(what: str) -> str:
        return f"{what} is booked"

    @tool(safe_to_retry=True)
    async def ticket() -> str:
        raise BusinessRejected("sold out")

    booked = [
        tool(name=kind, safe_to_retry=True, compensate=compensation)(book)
        for kind, compensation in compensations.items()
    ]
    return [*booked, ticket]


async def script(request: ModelRequest) -> Reply:
    step: int = getattr(request.messages, "assistant_count")  # noqa: B009
    booked = order_of(request.session_id)
    if step < len(booked):
        return call(booked[step], what=booked[step])
    return call("ticket") if step == len(booked) else "blocked, because it is sold out"


async def run(folder: Path, port: int, killer: UndoKiller) -> None:
    store = UndoStore(folder / "store.db", killer)
    effects = Connection(port, str(folder))
    agent = Agent("worker", model=ScriptedModel(script), tools=tools(killer, effects))
    async with Runtime(store, agents=[agent]) as runtime:
        known = {head.session_id for head in await runtime.sessions(limit=100)}
        for name in SESSIONS:
            if name not in known:
                await runtime.start("worker", "book it all", session_id=name)
        for name in SESSIONS:
            with anyio.fail_after(60):
                await runtime.session(name).outcome()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kill", metavar="POINT:K")
    parser.add_argument("--server", type=int, required=True, metavar="PORT")
    given = parser.parse_args()
    killer = UndoKiller(given.kill)
    anyio.run(run, given.folder, given.server, killer)
    print(msgspec.json.encode(dict(killer.counts)).decode())


if __name__ == "__main__":
    main()
