"""A process of its own over a store, told by lines what to do; it may be killed at any moment.

python case_child.py talk STORE EFFECTS        one agent; commands on stdin, JSON lines out
python case_child.py load STORE NAME SESSIONS STEPS
python case_child.py steps STORE STEPS BYTES KILL_AT WHEN DELAY_US
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio
from store_faults import FaultyStore, When

from ukemi import Agent, Budget, Runtime, SessionHandle, UkemiError, tool
from ukemi.actors.events import CheckpointStored
from ukemi.models import ScriptedModel, call
from ukemi.stores.sqlite import SqliteStore


def tell(**fields: object) -> None:
    """Write one line at once: what was told before a kill has been told."""
    os.write(1, json.dumps(fields).encode() + b"\n")


# ---------------------------------------------------------------- talk


class Talker:
    """One agent with one slow effect; counts what it asks and what it runs."""

    def __init__(self, effects: Path) -> None:
        self.asked = 0
        self.ran = 0

        @tool
        async def effect() -> str:
            self.ran += 1
            with effects.open("a") as file:
                file.write(f"{os.getpid()}\n")
            await anyio.sleep(60.0)
            return "ok"

        def says(request: Any) -> Any:
            self.asked += 1
            tell(event="asked")
            return call("effect") if request.messages.assistant_count == 0 else "done"

        self.agent = Agent("agent", model=ScriptedModel(says), tools=[effect])

    async def do(self, runtime: Runtime, words: list[str]) -> None:
        """Carry out one command and tell what came of it."""
        try:
            match words:
                case ["resume", session_id]:
                    await runtime.resume(session_id)
                    result: object = "resumed"
                case ["send", session_id, text]:
                    await runtime.session(session_id).send(text)
                    result = "sent"
                case ["outcome", session_id]:
                    result = repr(await runtime.session(session_id).outcome())
                case _:
                    result = f"unknown command {words}"
        except UkemiError as error:
            tell(done=words[0], error=type(error).__name__, text=str(error), **self.counts())
        else:
            tell(done=words[0], result=result, **self.counts())

    def counts(self) -> dict[str, int]:
        return {"asked": self.asked, "ran": self.ran}


async def talk(store: str, effects: str) -> None:
    talker = Talker(Path(effects))
    async with Runtime(store, agents=[talker.agent], adopt=False) as runtime:
        tell(event="ready")
        while line := await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            await talker.do(runtime, line.split())


# ---------------------------------------------------------------- load


class Lag:
    """The longest time for which the event loop did nothing."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def run(self) -> None:
        while True:
            began = time.monotonic()
            await anyio.sleep(0.01)
            self.worst = max(self.worst, time.monotonic() - began - 0.01)


async def load(store: str, name: str, sessions: int, steps: int) -> None:
    """Run sessions whose every step is two writes: the intent and the result."""
    ran = acknowledged = 0

    @tool
    async def write(number: int) -> str:
        nonlocal ran
        ran += 1
        return f"{name} wrote {number}"

    def says(request: Any) -> Any:
        done = request.messages.assistant_count
        return call("write", number=done) if done < steps else "done"

    async def listen(handle: SessionHandle) -> None:
        nonlocal acknowledged
        async for event in handle.events():
            acknowledged += isinstance(event, CheckpointStored)

    agent = Agent(name, model=ScriptedModel(says), tools=[write])
    outcomes: dict[str, str] = {}
    lag = Lag()
    async with Runtime(store, agents=[agent], adopt=False) as runtime:
        async with anyio.create_task_group() as group, anyio.create_task_group() as listeners:
            group.start_soon(lag.run)
            for at in range(sessions):
                budget = Budget(steps=None)
                handle = await runtime.start(name, "go", session_id=f"{name}-{at}", budget=budget)
                listeners.start_soon(listen, handle)
            for at in range(sessions):
                outcome = await runtime.session(f"{name}-{at}").outcome()
                outcomes[f"{name}-{at}"] = type(outcome).__name__
            group.cancel_scope.cancel()
        alerts = runtime.alerts
    tell(ran=ran, acknowledged=acknowledged, outcomes=outcomes, lag=lag.worst, alerts=alerts)


# ---------------------------------------------------------------- steps


async def steps(store: str, count: int, size: int, kill_at: int, when: str, delay_us: int) -> None:
    """Run a session whose last result is large, and die around the commit that stores it.

    ``kill_at`` is the number of the tool's call whose result is being stored; 0: hang after the
    last. ``when`` is before or after the commit; with a delay, a thread kills in the middle of it.
    """
    last = 0
    armed = False

    @tool(effect="read")
    async def produce(number: int) -> str:
        nonlocal last, armed
        last = number
        armed = number == kill_at
        if number > count:
            tell(event="hangs")
            await anyio.sleep_forever()
        return f"{number} " + chr(96 + number % 26) * (size if number == count else 50)

    def on_commit(_: int, moment: When) -> None:
        if not armed or moment != when:
            return
        if not delay_us:
            os.kill(os.getpid(), signal.SIGKILL)
        threading.Thread(target=die_in, args=(delay_us / 1e6,), daemon=True).start()

    def says(request: Any) -> Any:
        return call("produce", number=request.messages.assistant_count + 1)

    agent = Agent("agent", model=ScriptedModel(says), tools=[produce])
    faulty = FaultyStore(SqliteStore(store), on_commit=on_commit)
    async with Runtime(faulty, agents=[agent], adopt=False) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        async for event in handle.events():
            if isinstance(event, CheckpointStored):
                tell(stored=event.counter)


def die_in(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    mode, *rest = sys.argv[1:]
    match mode:
        case "talk":
            anyio.run(talk, rest[0], rest[1])
        case "load":
            anyio.run(load, rest[0], rest[1], int(rest[2]), int(rest[3]))
        case _:
            store, count, size, kill_at, when, delay_us = rest
            anyio.run(steps, store, int(count), int(size), int(kill_at), when, int(delay_us))


if __name__ == "__main__":
    main()
