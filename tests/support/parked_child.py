"""A process with a session whose call must wait, for tests that kill it while that is parked.

    python parked_child.py STORE CALLS WAIT_S (start | wait | leave)

``CALLS`` gets a line for each body that runs: process and wall clock; the first is told to come back
after ``WAIT_S``. ``start`` starts the session, ``wait`` only waits for its outcome, ``leave`` starts it
and leaves the runtime once it is parked. What happens is told on stdout, a JSON line each.
"""

import json
import os
import sys
import time
from pathlib import Path

import anyio

from ukemi import Agent, Completed, Outcome, Policy, RateLimited, Runtime, SessionHandle, tool
from ukemi.actors import SessionParked
from ukemi.models import ScriptedModel, call
from ukemi.stores.base import SessionOwned
from ukemi.supervisor.policy_sessions import WaitPolicy

SESSION = "s-1"
LEASE_S = 2.0


def tell(**fields: object) -> None:
    """Write one line at once: what was told before a kill has been told."""
    os.write(1, (json.dumps(fields) + "\n").encode())


def make_agent(calls: Path, wait_s: float) -> Agent:
    """Return an agent whose only call succeeds the second time it is made, by whatever process."""

    @tool(effect="write")
    def order() -> str:
        with calls.open("a") as file:
            file.write(f"{os.getpid()} {time.time()}\n")
        if len(calls.read_text().splitlines()) == 1:
            raise RateLimited("come back later", retry_after=wait_s)
        return "ordered"

    return Agent("agent", model=ScriptedModel([call("order"), "done"]), tools=[order])


async def outcome_of(handle: SessionHandle) -> Outcome:
    """Wait for the end, also where another process drives the session by now."""
    while True:
        try:
            return await handle.outcome()
        except SessionOwned:
            await anyio.sleep(0.05)  # nobody tells a process what another one does


async def follow(handle: SessionHandle, *, leave: bool) -> None:
    """Tell when the session is parked, and how it ends."""
    try:
        async for event in handle.events():
            if isinstance(event, SessionParked):
                tell(event="parked", due_at_ms=event.due_at_ms)
                if leave:
                    return
    except SessionOwned:
        pass  # this process came so late that the other one had woken it
    outcome = await outcome_of(handle)
    tell(event="ended", answer=outcome.answer if isinstance(outcome, Completed) else repr(outcome))


async def main(store: str, calls: str, wait_s: str, how: str) -> None:
    agent = make_agent(Path(calls), float(wait_s))
    policy = Policy(waits=WaitPolicy(park_after_s=0.1))
    async with Runtime(store, agents=[agent], policy=policy, lease_s=LEASE_S) as runtime:
        if how == "wait":
            tell(event="entered")
            await follow(runtime.session(SESSION), leave=False)
        else:
            handle = await runtime.start("agent", "go", session_id=SESSION)
            await follow(handle, leave=how == "leave")


if __name__ == "__main__":
    store, calls, wait_s, how = sys.argv[1:]
    anyio.run(main, store, calls, wait_s, how)
