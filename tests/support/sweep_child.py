"""The process that a kill sweep kills: twenty sessions on one store, killed at a chosen point.

    python sweep_child.py FOLDER --server PORT [--kill POINT:K] [--normal] [--uvloop]

Effects are requests to a server outside. A point is a place in the code; the process sends itself
SIGKILL when it gets there for the K-th time. At ``tool-booked`` it has the server do that, once the
effect is booked and before it is answered. ``clock:K`` is SIGKILL after K milliseconds, wherever everybody is. A run that ends clean
prints how often it came to each point.
"""

import argparse
import os
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import anyio
import msgspec
from store_faults import FaultyStore, When
from sweep_log import Effect, Line, Log, Told, digest_of, result_digest, unpaired
from sweep_plan import LONG_CHARS, SESSIONS, STEPS, shape, tag
from sweep_server import Connection

from ukemi import (
    NOT_DONE,
    Agent,
    Completed,
    ModelRequest,
    NotDone,
    Policy,
    Runtime,
    SessionHandle,
    current,
    tool,
)
from ukemi.actors.events import CheckpointStored
from ukemi.actors.model import UserMessage
from ukemi.actors.tooling.tools import AnyTool, Tool
from ukemi.models import Reply, ScriptedModel, call
from ukemi.stores.base import Append, Write, Written
from ukemi.stores.records import Resulted, decode_row
from ukemi.stores.sqlite import Durability, SqliteStore
from ukemi.supervisor.policy_sessions import StoragePolicy


class Killer:
    """Counts how often each point was reached, and kills this process at the planned one."""

    def __init__(self, plan: str | None) -> None:
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._point, _, number = (plan or "").partition(":")
        self._number = int(number or 0)
        if self._point == "clock":
            threading.Thread(target=self._after, daemon=True).start()

    def reached(self, point: str) -> None:
        """Say where this process is."""
        if self.due(point):
            os.kill(os.getpid(), signal.SIGKILL)

    def due(self, point: str) -> bool:
        """Say that this process comes to a point now; True if it is to be killed there."""
        with self._lock:
            self.counts[point] += 1
            return point == self._point and self.counts[point] == self._number

    def _after(self) -> None:
        time.sleep(self._number / 1000)
        os.kill(os.getpid(), signal.SIGKILL)


class Outside:
    """The server and the files by which the outside knows what happened."""

    def __init__(self, folder: Path, port: int) -> None:
        self.effects = Connection(port, str(folder))
        self.told = Log(folder / "told.log")
        self.wrong = Log(folder / "wrong.log")


class KillingStore(FaultyStore):
    """A SQLite store in which the process dies, and which remembers what it was asked to store."""

    def __init__(self, path: Path, durability: Durability, killer: Killer) -> None:
        self._sqlite = SqliteStore(path, durability=durability)
        super().__init__(self._sqlite, on_commit=self._at)
        self._killer = killer
        self.results: dict[tuple[str, int], str] = {}

    async def open(self) -> None:
        await super().open()
        writer = self._sqlite._writer  # pyright: ignore[reportPrivateUsage]
        assert writer is not None

        def trace(connection: sqlite3.Connection) -> None:
            connection.set_trace_callback(self._statement)

        await writer.run(trace)

    async def commit(self, writes: Sequence[Write]) -> list[Written]:
        for write in writes:
            if isinstance(write, Append):
                self._remember(write)
        return await super().commit(writes)

    def _remember(self, write: Append) -> None:
        for entry in decode_row(write.body):
            if isinstance(entry, Resulted):
                self.results[write.session_id, entry.counter] = result_digest(
                    entry.n, entry.index, entry.content, entry.state, entry.blob
                )

    def _at(self, number: int, when: When) -> None:
        self._killer.reached(f"commit-{when}")

    def _statement(self, text: str) -> None:
        # In the writer's thread: all rows of the transaction are in, the COMMIT is not.
        if text == "COMMIT":
            self._killer.reached("commit-inside")


# ---------------------------------------------------------------- tools


def tools(killer: Killer, outside: Outside) -> list[AnyTool]:
    """Return tools of every kind; each has its effect outside the process."""

    def body(at: str, key: str | None = None) -> str:
        context = current()
        killer.reached("tool-entered")
        nonce = uuid4().hex
        n, index = context.call
        effect = Effect(at, context.tool, context.session_id, n, index, key, nonce, os.getpid())
        counted = outside.effects.book(effect, kill=killer.due("tool-booked"))
        killer.reached("tool-effected")
        return shown(at, counted)

    def shown(at: str, nonce: str) -> str:
        return f"{at} {nonce} {'.' * 300}"

    async def look_up(at: str) -> str | NotDone:
        killer.reached("probe-asked")
        found = outside.effects.find(at)
        return NOT_DONE if found is None else shown(at, found)

    async def asynchronous(at: str) -> str:
        return body(at)

    async def asynchronous_with_key(at: str, *, key: str) -> str:
        return body(at, key)

    def blocking(at: str) -> str:
        return body(at)

    def blocking_with_key(at: str, *, key: str) -> str:
        return body(at, key)

    async def long(at: str) -> str:
        return body(at) + "-" * LONG_CHARS

    return [
        tool(name="look", effect="read")(asynchronous),
        tool(name="look_blocking", effect="read")(blocking),
        tool(name="look_long", effect="read")(long),
        tool(name="put", safe_to_retry=True)(asynchronous),
        tool(name="fan_put", safe_to_retry=True, overlap=True)(asynchronous),
        tool(name="book", accepts_key=True)(asynchronous_with_key),
        tool(name="fan_book", accepts_key=True, overlap=True)(asynchronous_with_key),
        tool(name="book_blocking", accepts_key=True)(blocking_with_key),
        tool(name="wire", probe=look_up)(asynchronous),
        tool(name="wire_blocking", probe=look_up)(blocking),
        tool(name="mail")(asynchronous),
        tool(name="fan_mail", overlap=True)(asynchronous),
        tool(name="mail_blocking")(blocking),
    ]


def kill_around_bodies(killer: Killer) -> None:
    """Add the points right before a body is entered and right after it has returned."""
    bodies: Any = Tool
    original = bodies.begin

    async def surrounded(
        tool: AnyTool, arguments: Mapping[str, object], **others: object
    ) -> object:
        killer.reached("tool-before")
        result: object = await original(tool, arguments, **others)
        killer.reached("tool-returned")
        return result

    bodies.begin = surrounded


# ---------------------------------------------------------------- model


def model(killer: Killer, outside: Outside) -> ScriptedModel:
    """Return the model that plays the script, and looks at every history it is given."""

    async def script(request: ModelRequest) -> Reply:
        killer.reached("model-before")
        messages = list(request.messages)
        wrong = unpaired(messages)
        if wrong is not None:
            outside.wrong.write(Line(f"{request.session_id} asked its model unpaired: {wrong}"))
        # No result that a model has been shown may be lost again. What a user says is stored when
        # `send` returns; a model may see it a moment before.
        while len(messages) > 1 and isinstance(messages[-1], UserMessage):
            messages.pop()
        seen = Told("asked", request.session_id, len(messages), digest_of(messages))
        outside.told.write(seen)
        step = getattr(request.messages, "assistant_count", -1)
        # Some answers take longer, so that sessions meet in ever other commits.
        await anyio.sleep(Random(f"{request.session_id} {step}").choice((0, 0, 0.001, 0.004)))
        killer.reached("model-after")
        if step >= STEPS:
            return f"{request.session_id} is done"
        called = shape(request.session_id, step)
        return [
            call(name, at=tag(request.session_id, step, index)) for index, name in enumerate(called)
        ]

    return ScriptedModel(script)


# ---------------------------------------------------------------- sessions


async def drive(
    runtime: Runtime, store: KillingStore, session_id: str, known: bool, outside: Outside
) -> None:
    """Start a session or find it again, and send it on until it has completed."""
    if known:
        handle = runtime.session(session_id)
    else:
        handle = await runtime.start(
            "worker", f"do your steps, {session_id}", session_id=session_id
        )
        outside.told.write(Told("started", session_id))
    while True:
        await follow(handle, store, outside)
        outcome = await handle.outcome()
        said = type(outcome).__name__
        if not isinstance(outcome, Completed):
            said += f":{outcome.reason}"
        outside.told.write(Told("ended", session_id, value=said))
        if isinstance(outcome, Completed):
            return
        await handle.send("go on")
        outside.told.write(Told("said", session_id))


async def follow(handle: SessionHandle, store: KillingStore, outside: Outside) -> None:
    """Write down each checkpoint that is reported as stored, up to the session's end."""
    async for event in handle.events():
        if isinstance(event, CheckpointStored):
            # Unknown here where the row came from an earlier life: then it is no news.
            value = store.results.get((handle.id, event.counter))
            if value is None:
                continue
            outside.told.write(Told("checkpoint", handle.id, event.counter, value))


async def run(folder: Path, port: int, durability: Durability, killer: Killer) -> None:
    outside = Outside(folder, port)
    kill_around_bodies(killer)
    store = KillingStore(folder / "store.db", durability, killer)
    agent = Agent("worker", model=model(killer, outside), tools=tools(killer, outside))
    # Every checkpoint is kept, so that every acknowledged one can be looked for at the end.
    policy = Policy(storage=StoragePolicy(checkpoints_kept=None))
    async with Runtime(store, agents=[agent], policy=policy) as runtime:
        known = {head.session_id for head in await runtime.sessions(limit=1000)}
        async with anyio.create_task_group() as group:
            for name in SESSIONS:
                group.start_soon(drive, runtime, store, name, name in known, outside)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kill", metavar="POINT:K")
    parser.add_argument("--server", type=int, required=True, metavar="PORT")
    parser.add_argument("--normal", action="store_true", help="durability normal instead of full")
    parser.add_argument("--uvloop", action="store_true")
    given = parser.parse_args()
    killer = Killer(given.kill)
    durability: Durability = "normal" if given.normal else "full"
    options = {"use_uvloop": given.uvloop}
    anyio.run(run, given.folder, given.server, durability, killer, backend_options=options)
    print(msgspec.json.encode(dict(killer.counts)).decode())


if __name__ == "__main__":
    main()
