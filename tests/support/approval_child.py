"""The process that the sweep over approvals kills: sessions that ask, and a person who answers.

    python approval_child.py FOLDER [--kill POINT:K]

A run that ends clean prints how often it came to each point.
"""

import argparse
import os
from pathlib import Path
from uuid import uuid4

import anyio
import msgspec
from sweep_child import Killer, KillingStore
from sweep_log import Effect, Log

from ukemi import Agent, ApprovalRequest, ModelRequest, Policy, Runtime, current, tool
from ukemi.models import Reply, ScriptedModel, call
from ukemi.supervisor.danger.policy import DangerPolicy

SESSIONS = ("approve", "edit", "deny", "expire", "both")
"""Sessions, named after what the person says; ``both`` asks about two calls of one message."""

EXPIRES_S = 1.5
POLICY = Policy(
    danger=DangerPolicy(),
    tool={"late": {"danger": {"expires_s": EXPIRES_S}}},
)


def agent_of(killer: Killer, effects: Log) -> Agent:
    def body(amount: int, name: str) -> str:
        context = current()
        killer.reached("effect-entered")
        n, index = context.call
        tag = f"{name} {amount}"
        effects.write(
            Effect(tag, name, context.session_id, n, index, None, uuid4().hex, os.getpid())
        )
        killer.reached("effect-done")
        return f"paid {amount}"

    @tool(danger="money")
    async def pay(amount: int) -> str:
        return body(amount, "pay")

    @tool(danger="money")
    async def late(amount: int) -> str:
        return body(amount, "late")

    return Agent("clerk", model=ScriptedModel(script), tools=[pay, late])


async def script(request: ModelRequest) -> Reply:
    step: int = getattr(request.messages, "assistant_count")  # noqa: B009
    if step:
        return "That is all."
    match request.session_id:
        case "both":
            return [call("pay", amount=1), call("pay", amount=2)]
        case "expire":
            return call("late", amount=1)
        case _:
            return call("pay", amount=1)


async def person(runtime: Runtime, killer: Killer) -> None:
    """Answer what is asked, as often as it takes."""
    while True:
        for request in await runtime.approvals():
            killer.reached("person")
            await answer(runtime, request)
        await anyio.sleep(0.02)


async def answer(runtime: Runtime, request: ApprovalRequest) -> None:
    match request.session_id:
        case "approve":
            await runtime.decide(request, "approve", by="ann")
        case "edit":
            await runtime.decide(request, "approve", args={"amount": 7}, by="ann")
        case "deny":
            await runtime.decide(request, "deny", by="ann")
        case "both":
            first = request.request.endswith(":2.0")
            await runtime.decide(request, "deny" if first else "approve", by="ann")
        case _:
            return


async def run(folder: Path, killer: Killer) -> None:
    store = KillingStore(folder / "store.db", "full", killer)
    effects, told = Log(folder / "effects.log", synced=True), Log(folder / "told.log", synced=True)

    async def tell(request: ApprovalRequest) -> None:
        killer.reached("telling")
        told.write(request)

    agent = agent_of(killer, effects)
    async with Runtime(store, agents=[agent], policy=POLICY, on_approval=tell) as runtime:
        known = {head.session_id for head in await runtime.sessions(limit=100)}
        for name in SESSIONS:
            if name not in known:
                await runtime.start("clerk", "pay", session_id=name)
        async with anyio.create_task_group() as group:
            group.start_soon(person, runtime, killer)
            for name in SESSIONS:
                with anyio.fail_after(60):
                    await runtime.session(name).outcome()
            group.cancel_scope.cancel()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kill", metavar="POINT:K")
    given = parser.parse_args()
    killer = Killer(given.kill)
    anyio.run(run, given.folder, killer)
    print(msgspec.json.encode(dict(killer.counts)).decode())


if __name__ == "__main__":
    main()
